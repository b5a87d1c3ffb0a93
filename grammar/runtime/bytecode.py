"""Instructions: what a syntax tree becomes before it runs.

A statement is compiled once and may run many times. Its code is flat, so that neither the length nor the depth of an
expression costs Python's stack anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, auto
from typing import Any, TypeAlias

from agrad.grammar.diagnostics import Span


class Do(IntEnum):
    """The instructions. In brackets: what stands with each; `→` what it leaves on the stack."""

    STATEMENT = auto()  # a statement begins
    CONSTANT = auto()  # [value] → value
    LOAD = auto()  # [name] → its value
    MODULE = auto()  # [name, prefix] → a function or constant spelled torch.name
    STORE = auto()  # [name, whether the value was computed from the name's old value] value →
    UNARY = auto()  # [function] x → f(x)
    BINARY = auto()  # [function] x y → f(x, y)
    CHAIN = auto()  # [function, label] x y → y, or 0 and jump: one link of a < b < c
    NEAR = auto()  # [whether there is a tolerance] x y (t) → whether x is near y
    IS_NONE = auto()  # [negated] x → whether it is None
    NOT = auto()  # x → whether it is false
    CALL = auto()  # [count, keywords] f x … → f(x, …)
    METHOD = auto()  # [name, count, keywords] x y … → x.name(y, …)
    ATTRIBUTE = auto()  # [name] x → x.name
    SET_ATTRIBUTE = auto()  # [name] value x →
    INDEX = auto()  # x i → x[i]
    SET_INDEX = auto()  # value x i →
    AUGMENT = auto()  # [symbol] x v → x changed in place
    SLICE = auto()  # a b c → a:b:c
    LIST = auto()  # [count] x … → vector or matrix
    TUPLE = auto()  # [count] x … → tuple
    UNPACK = auto()  # [count] tuple → its entries, the first on top
    FORMAT = auto()  # [parts] x … → text
    JUMP = auto()  # [label]
    JUMP_IF_FALSE = auto()  # [label] x →
    AND = auto()  # [label] x → x and jump if it is false, else nothing
    OR = auto()  # [label] x → x and jump if it is true, else nothing
    COPY = auto()  # [depth] x … → x … x
    POP = auto()  # x →
    ITERATE = auto()  # [Loop, where its turns may be run as a program] x → an iterator
    NEXT = auto()  # [label] iterator → iterator and the next value, or nothing and jump
    RETURN = auto()  # x → the value of the function
    DEFINE = auto()  # [Definition] defaults … → (binds the name)
    NO_GRAD = auto()  # recording off, until
    END_NO_GRAD = auto()
    SHOW = auto()  # [Evaluate] x → (prints it)
    PRINT = auto()  # [count] x … → (prints them)
    ASSERT = auto()  # [kind of test] x (y (t)) message →
    FAILS = auto()  # [kind, Code]
    TIME = auto()  # [Code]
    DELETE = auto()  # [name]
    VARIABLE = auto()  # [name] value → (binds a leaf)
    COMMAND = auto()  # [command, operands, options] values … →


Instruction: TypeAlias = "tuple[Do, Any, Span]"


@dataclass(slots=True, eq=False)
class Label:
    """A place in the code to jump to."""

    position: int = -1


@dataclass(slots=True, eq=False)
class Code:
    """The instructions of a statement or of a function's body."""

    instructions: list[Instruction] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Definition:
    """A function as written: its code and parameters; the values of defaults come when `def` runs."""

    name: str
    parameters: tuple[str, ...]
    defaults: int  # how many of the last parameters have one
    code: Code
    span: Span


@dataclass(slots=True, eq=False)
class Loop:
    """A `for` with one counter, as written; and what a turn of it is as a program, once that is known."""

    counter: str
    body: Any
    turn: Any = None
    refused: bool = False
