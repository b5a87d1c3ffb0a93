"""`Op`, the row: one operation, and everything that is derived from it; and `OPS`, the table of rows.

    mul = row("mul", family="arithmetic", scalar=operator.mul,
              rules={"x": ("y", lambda g, out, x, y: g * y), "y": ("x", lambda g, out, x, y: g * x)}, …)

A rule is the vector-Jacobian product for one operand, `(g, out, x, y, …, **attributes)`: the incoming gradient, the
result, the operands. It is written in terms of operations, so that on plain values it computes, and on Tensors it
builds the graph of the gradient. Each rule declares what it reads of `out` and the operands: that is what a
node saves. Rules ignore broadcasting, which the backward pass undoes once.

The facts for passes, listings, backends and help are in the row of the operation as well: see `Op`.

The function that is called, `mul(x, y)`, is a closure made for the row: see `dispatch`, where rows are added, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from agrad.engine.errors import AgradError, OneTooMany
from agrad.engine.struct import Struct, computed
from agrad.engine.text import divided
from agrad.engine.values import Shape, describe
from agrad.lazy import Rows, rare

Function: TypeAlias = Callable[..., Any]
Reach: TypeAlias = Literal["pointwise", "whole", "part", "mixed"]
Role: TypeAlias = Literal["", "copy", "view", "tied", "opaque", "adding", "loop", "truths", "involution"]

# PyTorch's names of the first operand, and of the second.
FIRST, SECOND = ("self", "input"), ("other", "exponent", "mat2", "target", "weight")


def onward(g: Any, out: Any, *operands: Any) -> Any:
    """The rule of an operand that is only added: the cotangent unchanged. It need not be called."""
    return g


def flat(*_: Any, **__: Any) -> float:
    """The rule of a step function, whose derivative is exactly 0; a number stands for an array of equal entries."""
    return 0.0


# How a function is called, as one line of text, and the binding of arguments to it.

# PyTorch's names for attributes with another name in NumPy, and so in agrad.
ALIASES = {
    "dim": "axis",
    "dims": "axis",
    "keepdim": "keepdims",
    "steps": "num",
    "correction": "ddof",
    "p": "ord",
    "min": "lo",
    "max": "hi",
    "min_val": "lo",
    "max_val": "hi",
    "negative_slope": "slope",
    "diagonal": "k",
}
REQUIRED = object()  # the default of an attribute that has none
# The usual defaults, for which `ast` need not be loaded.
_USUAL = {"": REQUIRED, "None": None, "True": True, "False": False, "()": (), "-1": -1, "0": 0, "1": 1}


class Signature(Struct, eq=False, frozen=False):
    """How a function is called: `x, y` or `x; axis=None, keepdims=False` or `*xs; axis=0` or `x; *shape`.

    Before the semicolon are the operands (a star: one argument, a sequence of them), after it the attributes; a
    starred attribute takes all further arguments: reshape(x, 2, 3).
    """

    name: str
    text: str
    operands: tuple[str, ...] = computed()
    variadic: bool = computed()
    attributes: dict[str, Any] = computed()
    gathers: str | None = computed()

    def __post_init__(self) -> None:
        operands, _, attributes = self.text.partition(";")
        self.operands = tuple(name.strip(" *") for name in operands.split(",") if name.strip())
        self.variadic = "*" in operands
        self.attributes, self.gathers = {}, None
        for part in filter(None, (part.strip() for part in divided(attributes))):
            name, _, default = part.partition("=")
            if name.startswith("*"):
                name = self.gathers = name[1:]
            self.attributes[name] = _USUAL[default] if default in _USUAL else rare.ast.literal_eval(default)

    @property
    def usage(self) -> str:
        """As it is typed: sum(x, axis=None, keepdims=False)."""
        parts = [
            part.strip().removesuffix("=()") for text in self.text.split(";") for part in divided(text) if part.strip()
        ]
        return f"{self.name}({', '.join(parts)})"

    def of_python(self) -> Any:
        """The same for `inspect`, and so for `help` and editors."""
        parameter = rare.inspect.Parameter
        kind = parameter.POSITIONAL_OR_KEYWORD
        made = [parameter(name, kind) for name in self.operands]
        if self.gathers is not None:
            made.append(parameter(self.gathers, parameter.VAR_POSITIONAL))
            kind = parameter.KEYWORD_ONLY
        for name, default in self.attributes.items():
            if name != self.gathers:
                made.append(parameter(name, kind, default=parameter.empty if default is REQUIRED else default))
        return rare.inspect.Signature(made)

    def bind(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The operands, and every attribute by name; AgradError of kind `arity` if they do not fit."""
        if self.variadic:
            operands, rest = self._sequence(args), args[1:]
        else:
            given = list(args[: len(self.operands)])
            for name in self.operands[len(given) :]:
                if name not in keywords:
                    raise self._error(f"{self.name} needs {name}: {self.usage}")
                given.append(keywords[name])
                keywords = {key: value for key, value in keywords.items() if key != name}
            operands, rest = tuple(given), args[len(self.operands) :]
        if not self.attributes and not rest and not keywords:
            return operands, {}
        return operands, self.attributes_of(rest, keywords)

    def attributes_of(self, rest: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        """Every attribute by name, from the arguments after the operands."""
        attrs = self.attributes.copy()
        if rest and self.gathers is not None:
            attrs[self.gathers] = as_one(rest[0]) if len(rest) == 1 else rest
        elif rest and len(rest) > len(attrs):
            extra = len(rest) - len(attrs)
            count = "one argument" if extra == 1 else f"{extra} arguments"
            facts = OneTooMany() if extra == 1 else None
            raise AgradError("arity", f"{self.name} got {count} too many: {self.usage}", facts=facts)
        elif rest:
            attrs.update(zip(attrs, rest, strict=False))
        for given, value in keywords.items():
            name = given if given in attrs else ALIASES.get(given, given)
            if name not in attrs:
                raise self._error(f"{self.name} has no argument {given}: {self.usage}")
            attrs[name] = as_one(value) if name == self.gathers else value
        if REQUIRED in self.attributes.values():
            for name, value in attrs.items():
                if value is REQUIRED:
                    raise self._error(f"{self.name} needs {name}: {self.usage}")
        return attrs

    def _sequence(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operands of a function of a sequence: the entries of its first argument."""
        if not args or isinstance(args[0], str) or not hasattr(args[0], "__iter__"):
            what = describe(args[0]) if args else "nothing"
            raise AgradError("type", f"{self.name} takes a list of values, not {what}: {self.usage}")
        operands = tuple(args[0])
        if not operands:
            raise self._error(f"{self.name} of an empty list: {self.usage}")
        return operands

    def _error(self, message: str) -> AgradError:
        return AgradError("arity", message)


def as_one(given: Any) -> Any:
    """A tuple that was given as one argument, as a list: a tuple holds arguments that were given one by one."""
    return [*given] if type(given) is tuple and given else given


def bound(name: str, form: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function called with its operands, and every attribute by name."""
    signature = Signature(name, form)

    def call(*args: Any, **keywords: Any) -> Any:
        operands, attributes = signature.bind(args, keywords)
        return function(*operands, **attributes)

    call.__name__ = name
    call.form = signature  # type: ignore[attr-defined]  # as a method has it
    return call


# What a row states for others to use


class Operator(Struct):
    """How an operation is written as an operator. A higher precedence binds more tightly; comparisons have 0."""

    sign: str
    precedence: int
    method: str  # Python's method for it, without the underscores: "add"
    is_right: bool = False  # whether x ** y ** z is x ** (y ** z)


class Identity(Struct):
    """The simpler form of an operation of two operands, bit for bit, if one of them is a known number."""

    operand: str
    number: float
    becomes: str = ""  # the equivalent operation of the other operand; the other operand itself if empty


class Kink(Struct):
    """A place where a function is not smooth, not finite or not defined: its value and derivative there, in words."""

    at: str
    value: str
    derivative: str


class Remedy(Struct):
    """Where a function of one number, or its derivative, is inf or nan, and what to write instead.

    `operand`: what is written for its operand, `{0}`; `does`: what that does, in words.
    """

    holds: Callable[[float], bool]
    operand: str
    does: str


class Failure(Struct):
    """What notes and errors say where an operation, or its derivative, is not finite, and where it is refused."""

    remedy: Remedy | None = None
    logarithm: str = ""  # the function that is its logarithm, and does not underflow
    undefined: Callable[..., tuple[str, str] | None] | None = None  # operands -> why a result is nan, what to write
    no_derivative: str = ""  # why it has none where that is nan
    # Where the value is nan, and so is the derivative here: what PyTorch divides by in the derivative that it computes
    beyond: Function | None = None
    refused: Callable[[Shape], str] | None = None  # operand's shape -> what to write where numpy refuses the operand


class Entry(Struct, eq=False, frozen=False, kw_only=True):
    """A function that users can call: its signature, description, derivative in words, and a tested example."""

    name: str
    family: str
    signature: Signature
    doc: str
    call: Function
    derivative: str = ""
    example: str = ""
    pure: bool = False  # whether the result depends on the arguments alone, without a side effect
    total: bool = False  # whether no value of the arguments, of given shapes, makes it raise or emit a note
    kinks: tuple[Kink, ...] = ()
    domain: str = ""  # where it is defined, in words; empty for all numbers
    shares: bool = False  # whether the result shares the data of the operand in PyTorch; here it is a copy


class Op(Entry, eq=False, frozen=False, kw_only=True):
    """One operation.

    `reach` says which entries of an operand a gradient reaches when it reaches some entries of the result only
    ("not selected contributes exactly 0"): `pointwise`, the same entries; `whole` and `part`, those that the rule
    moves the reached entries to, `part` when it leaves entries out; `mixed`, all.

    `role` says what few operations are: a `copy` of its operand, where only the graph differs; a `view`, as which
    programs keep the result of `array`; `tied` to the node that is its attribute `on`, with the operand as its value;
    `opaque`, a function of the user, its attribute `applied`, which no program has; `adding` entries into zeros, from
    where `getitem` with its attributes takes them; a `loop`, so many times (`count`) a `body`; `truths`, where each
    entry is 1 or 0; an `involution`, which applied twice gives the operand.
    """

    title: str  # as in dumps and grad_fn
    scalar: Function | None  # on floats; may raise what IEEE lists
    array: Function  # on arrays
    rules: tuple[Function | None, ...]  # one vjp an operand, None where there is no derivative
    reads: tuple[str, ...]  # what each rule (or its `selects`) reads: names of operands, and "out"
    selects: tuple[Function | None, ...] | None  # (out, x, …) -> 1 where the operand was selected, else 0
    reach: Reach
    prepare: Function | None  # operands and attributes as given -> attributes for forward and rules
    scatter: Function | None  # (buffer, g, fresh, **attributes): adds a gradient into a buffer, in place
    adapt: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None = None  # operands as given, some of them truths -> those
    operator: Operator | None = None
    role: Role = ""
    commutes: bool = False  # whether x and y may be exchanged, also in the sign of zero
    identities: tuple[Identity, ...] = ()
    keeps_numbers: bool = False  # whether it returns a single number unchanged
    moves_entries: bool = False  # whether `array` only moves, adds and multiplies entries, and so takes symbols too
    # (operand's shape, attributes) -> the axes over which it sums the entries, and what the sums are divided by
    sums: Callable[..., tuple[Shape, float]] | None = None
    # On arrays of symbols, one an entry, where `array` does not take them: the expansion into numbers, or None if that
    # is too long. Its derivatives must be those of the rules. Where a row may raise, the expansion may instead give an
    # entry that is not finite: then the operation is computed as a whole.
    entries: Function | None = None
    # On arrays of symbols, as `entries`, for source code that is written after differentiation: the value alone, which
    # may round otherwise, and of larger arrays. None where there is no such expansion.
    unrolled: Function | None = None
    python: str = ""  # the operation on floats as an expression of Python
    # (operand's shape, result's shape, attributes) -> an expression on an array, with `np_sum` for numpy's sum, or None
    python_arrays: Callable[..., str | None] | None = None
    lower: Function | None = None  # on the symbols of machine code; if None, `array` or `scalar` takes them
    # (factors of the only operand, a matrix; whether these are of its transpose) -> the result, or None: see `Factors`
    by_factors: Function | None = None
    # Where each entry along `axis` is computed from the one before it: a function of the operands that gives the first
    # one, and one of the last entry and the operands.
    runs: tuple[Function, Function] | None = None
    # (operands, attributes, n) -> the operation on n values at once, along a new first axis, or None. An operand is the
    # value, whether it has that axis, and its shape without. Pointwise rows need none.
    batched: Function | None = None
    parts: Function | None = None  # of many operands: (g, attributes) -> the cotangents of all at once, of a plain g
    formula: Function | None = None  # on terms: how it is written on paper, if not by its operator or its name
    fails: Failure = Failure()
    # What scaling it obeys, and so what units it takes and gives, as text in the manner of einsum: "a, b -> a/b". A
    # letter is any unit, 1 none, `-` an operand that is not looked at; a star stands for all operands from there on. Or
    # a function of operands and attributes that gives the text. The default refuses all units.
    units: str | Function = "1* -> 1"
    variadic: bool = computed()
    python_raises: bool = computed()  # whether that expression raises where IEEE 754 has an answer: divided by 0
    keeps: tuple[tuple[bool, ...], ...] = computed()  # for each rule: which operands it reads, then out
    known: dict[tuple[bool, ...], tuple[tuple[int, ...], bool]] = computed()  # what `read_by` found so far
    lacks_rules: bool = computed()  # whether there is no derivative by some operand
    rules_of_scalars: tuple[Any, Any] | None = computed()  # both, if it is one of two floats; of one, the other is None

    def __post_init__(self) -> None:
        self.variadic = self.signature.variadic
        operands = self.signature.operands
        self.known, self.python_raises = {}, "/" in self.python or "%" in self.python
        self.lacks_rules = None in self.rules
        self.keeps = tuple(tuple(name in reads.split() for name in (*operands, "out")) for reads in self.reads)
        simple = self.scalar is not None and not self.signature.attributes and not self.variadic
        plain = simple and len(operands) <= 2 and self.selects is None and not {None, flat} & {*self.rules}
        self.rules_of_scalars = (self.rules[0], self.rules[1] if len(operands) == 2 else None) if plain else None

    @property
    def differentiable(self) -> bool:
        """Whether any operand has a rule."""
        return any(rule is not None for rule in self.rules)

    def rule(self, position: int) -> Function | None:
        """The vjp for one operand; a sequence of operands shares one rule."""
        return self.rules[0 if self.variadic else position]

    def attributes_at(self, position: int, attrs: dict[str, Any] | None) -> dict[str, Any]:
        """The attributes of a node, as the rule for one operand takes them."""
        return {**(attrs or {}), "which": position} if self.variadic else attrs or {}

    def read_by(self, live: tuple[bool, ...]) -> tuple[tuple[int, ...], bool]:
        """The positions of the operands that the rules for the `live` ones read, and whether they read the result."""
        if live not in self.known:
            rules = [self.keeps[0][:1] * len(live) + self.keeps[0][-1:]] * len(live) if self.variadic else self.keeps
            keeps = [keep for keep, on in zip(rules, live, strict=True) if on]
            read = [position for position in range(len(live)) if any(keep[position] for keep in keeps)]
            self.known[live] = tuple(read), any(keep[-1] for keep in keeps)
        return self.known[live]


OPS: Rows[Op] = Rows()  # every operation
FUNCTIONS: Rows[Entry] = Rows()  # every function that a user can call: most operations, and compositions of them
OPERATORS: dict[str, Operator] = {}  # those of the operations that have one, by name
VIEWERS: set[Function] = set()  # those of them whose result shares the data of its operand in PyTorch, once imported
