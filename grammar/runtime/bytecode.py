"""Bytecode: the instructions that a syntax tree is compiled to, and the frames that run them.

A statement is compiled once and may run many times. Code is flat, so that neither a long nor a deeply nested
expression uses Python's stack.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any, TypeAlias

from agrad.engine.core.context import current
from agrad.grammar.diagnostics import Span


class Staging(Enum):
    """Whether a loop body that does something may be compiled, and how that is staged.

    Each instruction, attribute, method and command declares it where it is defined. The stager refuses whatever has no
    declaration, so that a new one with a side effect runs in every iteration.
    """

    NEVER = "never"  # it has a side effect, or its result does not depend on its operands alone
    AS_IS = "as it is"  # it works on proxies as on values, and has no side effect
    BY_RULE = "by rule"  # the stager has a rule of its own for it


_NEVER, _AS_IS, _BY_RULE = Staging


class Do(IntEnum):
    """The instructions. In brackets: the detail of each; `→` what it leaves on the stack."""

    staging: Staging

    def __new__(cls, staging: Staging = Staging.NEVER) -> Do:
        """Number the instructions in order."""
        do = int.__new__(cls, len(cls.__members__) + 1)
        do._value_ = len(cls.__members__) + 1
        do.staging = staging
        return do

    STATEMENT = _AS_IS  # a statement begins
    CONSTANT = _AS_IS  # [value] → value
    LOAD = _BY_RULE  # [name] → its value
    MODULE = _BY_RULE  # [name, prefix] → a function or constant spelled torch.name
    STORE = _BY_RULE  # [name, whether the value was computed from the name's old value] value →
    UNARY = _AS_IS  # [function] x → f(x)
    BINARY = _AS_IS  # [function] x y → f(x, y)
    SIGN = _AS_IS  # [spans of x and y] x y → x y; refuses `·` and `×` of two arrays, which are other products on paper
    WHOLE = _AS_IS  # x y → x y; notes a remainder of a whole number beyond 2**53
    CHAIN = _AS_IS  # [function, label] x y → y, or 0 and jump: one link of a < b < c
    NEAR = _NEVER  # [whether there is a tolerance] x y (t) → whether x is near y
    IS_NONE = _AS_IS  # [negated] x → whether it is None
    NOT = _AS_IS  # x → whether it is false
    CALL = _BY_RULE  # [count, keywords] f x … → f(x, …)
    METHOD = _BY_RULE  # [name, count, keywords] x y … → x.name(y, …)
    ATTRIBUTE = _BY_RULE  # [name] x → x.name
    SET_ATTRIBUTE = _BY_RULE  # [name] value x →
    INDEX = _BY_RULE  # x i → x[i]
    SET_INDEX = _BY_RULE  # value x i →
    AUGMENT = _BY_RULE  # [symbol] x v → x changed in place
    AUGMENT_ENTRY = _BY_RULE  # [symbol, expression, text] x i y v → x i, and y = x[i] changed: in place in a list
    WRITABLE = _AS_IS  # [expression, text of the write] x → x; refuses a copy of a part of something
    NO_NUMBER = _AS_IS  # [expression, method] x → x; refuses a plain number
    DELETE_INDEX = _NEVER  # x i → (removes the entry of a list)
    TEST = _NEVER  # [in, not in, is, is not] x y → whether that holds
    STAR = _NEVER  # [* or **] x → a Star, whose entries take its place in a call, a list or a tuple
    BRACES = _NEVER  # [dict or set, count] x … → a dictionary or a set
    SLICE = _AS_IS  # a b c → a:b:c
    LIST = _AS_IS  # [count, kind] x … → vector, matrix or list
    TUPLE = _AS_IS  # [count] x … → tuple
    UNPACK = _AS_IS  # [count] tuple → its entries, the first on top
    UNPACK_REST = _NEVER  # [count, place] tuple → its entries, of which one is a list of those that are left
    FORMAT = _NEVER  # [parts] x … → text
    JUMP = _BY_RULE  # [label]
    JUMP_IF_FALSE = _AS_IS  # [label] x →
    AND = _AS_IS  # [label] x → x and jump if it is false, else nothing
    OR = _AS_IS  # [label] x → x and jump if it is true, else nothing
    COPY = _AS_IS  # [depth] x … → x … x
    POP = _AS_IS  # x →
    ITERATE = _BY_RULE  # [Loop, or None] x → an iterator
    NEXT = _AS_IS  # [label] iterator → iterator and the next value, or nothing and jump
    RETURN = _AS_IS  # x → the value of the function
    DEFINE = _NEVER  # [Definition] defaults … → (binds the name)
    CLASS = _NEVER  # [name, whether it has a base, Code] (base) → (binds the name)
    OF_UNKNOWN = _NEVER  # [the code of an expression, the names in it] → the function of the name without a value
    LAMBDA = _NEVER  # [Definition] defaults … → the function
    EACH = _NEVER  # [Definition, whether there is a last value, apart, flat] values (last) → the value of it for each
    NO_GRAD = _BY_RULE  # [a switch, and its value] switched, such as recording off, until
    END_NO_GRAD = _BY_RULE
    SHOW = _BY_RULE  # [Evaluate] x → (prints it)
    PRINT = _NEVER  # [count] x … separator end → (prints them)
    ASSERT = _NEVER  # [kind of test] x (y (t)) message →
    FAILS = _NEVER  # [kind, Code]
    TIME = _NEVER  # [Code]
    DELETE = _NEVER  # [name] (deletes it)
    NOTE = _NEVER  # [messages] (notes them)
    UNUSED = _NEVER  # [name] x → x; notes that the name is not sorted, unless it was a list
    IMPORT = _NEVER  # [whose methods are meant from now on, names of modules that are not there]
    VARIABLE = _NEVER  # [name] value → (binds a leaf)
    COMMAND = _BY_RULE  # [command, operands, options] values … →


Instruction: TypeAlias = "tuple[Do, Any, Span]"


class Label:
    """A place in the code to jump to."""

    __slots__ = ("position",)

    def __init__(self) -> None:
        self.position = -1


class Code:
    """The instructions of a statement or of a function's body."""

    __slots__ = ("instructions",)

    def __init__(self, instructions: list[Instruction] | None = None) -> None:
        self.instructions = [] if instructions is None else instructions


class Frame:
    """A call of a function, or the top level, while it runs."""

    __slots__ = ("code", "pc", "scopes", "stack", "statement", "switches")

    def __init__(self, code: Code, scopes: tuple[dict[str, Any], ...]) -> None:
        self.code = code
        self.statement = current().statement  # the one around the call, which goes on after it
        self.pc = 0
        self.scopes = scopes  # where names are looked up: innermost first, the session's last
        self.stack: list[Any] = []
        self.switches: list[tuple[str, bool]] = []  # what was on outside each `with` that is entered


def popped(stack: list[Any], count: int) -> list[Any]:
    """Take so many values off a stack, the last on top."""
    start = len(stack) - count
    found = stack[start:]
    del stack[start:]
    return found


class Definition:
    """A function as written: its code and parameters; the values of defaults come when `def` runs."""

    __slots__ = ("code", "defaulted", "kind", "name", "options", "parameters", "placed", "rest", "span")

    def __init__(
        self,
        name: str,
        parameters: tuple[str, ...],
        defaulted: tuple[str, ...],
        code: Code,
        span: Span,
        kind: str = "",
    ) -> None:
        """`parameters` as typed: also `*rest`, `**options`, and `*`, behind which all are given by name."""
        self.name = name
        stars = [place for place, one in enumerate(parameters) if one[:1] == "*"]
        self.placed = stars[0] if stars else len(parameters)  # how many may be given by place
        self.rest = self.options = ""  # the names of `*rest` and `**options`
        for place in stars:
            if parameters[place][:2] == "**":
                self.options = parameters[place][2:]
            else:
                self.rest = parameters[place][1:]
        self.parameters = tuple([one for one in parameters if one[:1] != "*"]) if stars else parameters
        self.defaulted = defaulted  # those that have a default
        self.code = code
        self.span = span
        self.kind = kind  # in a class: `static`, `property` and the like, by the name of the decorator


class Spread(tuple[str, ...]):
    """The names of the keyword arguments of a call with `*xs` or `**options` among its arguments."""

    __slots__ = ()


class Loop:
    """A `for` with one counter, as written, and its compiled iteration once there is one."""

    __slots__ = ("body", "compiled", "counter", "in_function", "ran", "refused", "staged")

    def __init__(self, counter: str, body: Any, in_function: bool) -> None:
        self.counter = counter
        self.body = body
        self.in_function = in_function
        self.compiled: Any = None
        self.staged = 0  # how often its body was staged
        self.ran = 0  # iterations that ran compiled
        self.refused = False  # whether its body cannot be staged
