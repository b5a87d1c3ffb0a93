"""`Op`, the row: one operation, and everything that is derived from it; and `OPS`, the table of rows.

    @row("mul", "x, y", family="arithmetic",
         scalar=operator.mul, array=operator.mul,
         rules={"x": ("y", lambda g, out, x, y: g * y), "y": ("x", lambda g, out, x, y: g * x)}, …)

A rule is the vector-Jacobian product for one operand, `(g, out, x, y, …, **attributes)`: the incoming gradient, the
result, the operands. It is written in terms of operations, so that on plain values it computes, and on Tensors it
builds the graph of the gradient. Each rule declares what it reads of `out` and the operands: that is what a
node saves. Rules ignore broadcasting, which the backward pass undoes once.

The facts for passes, listings, backends and help are in the row of the operation as well: see `OpFacts`.

The function that is called, `mul(x, y)`, is a closure made for the row: see `dispatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, Unpack

from agrad.engine.core.dispatch import OPS as OPS
from agrad.engine.core.dispatch import caller, choose_all
from agrad.engine.core.facts import Domain, EntryFacts, Identity, Kink, Operator, OpFacts, Remedy
from agrad.engine.core.graph import Node
from agrad.engine.core.limits import exhausted
from agrad.engine.core.signature import Signature
from agrad.engine.struct import Struct, computed
from agrad.engine.values import Shape

Function: TypeAlias = Callable[..., Any]
Reach: TypeAlias = Literal["pointwise", "whole", "part", "mixed"]

# PyTorch's names of the first operand, and of the second.
FIRST, SECOND = ("self", "input"), ("other", "exponent", "mat2", "target", "weight")


def onward(g: Any, out: Any, *operands: Any) -> Any:
    """The rule of an operand that is only added: the cotangent unchanged. It need not be called."""
    return g


class Entry(Struct, eq=False, frozen=False, kw_only=True):
    """A function that users can call: its signature, description, derivative in words, and a tested example."""

    name: str
    family: str
    signature: Signature
    doc: str
    derivative: str
    example: str
    samples: tuple[Any, ...]  # tuples of operands, a dict of attributes at the end, for the gradient tests
    pure: bool  # whether the result depends on the arguments alone, without a side effect
    total: bool  # whether no value of the arguments, of given shapes, makes it raise or emit a note
    call: Function
    kinks: tuple[Kink, ...] = ()
    domain: Domain | None = None  # None where it is defined for all numbers
    shares: bool = False  # whether the result shares the data of the operand in PyTorch; here it is a copy


class Op(Entry, eq=False, frozen=False, kw_only=True):
    """One operation.

    `reach` says which entries of an operand a gradient reaches when it reaches some entries of the result only
    ("not selected contributes exactly 0"): `pointwise`, the same entries; `whole` and `part`, those that the rule
    moves the reached entries to, `part` when it leaves entries out; `mixed`, all.
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
    gives_truths: bool = False  # whether each entry of the result is 1 or 0: whether something holds
    commutes: bool = False  # whether x and y may be exchanged, also in the sign of zero
    identities: tuple[Identity, ...] = ()
    is_involution: bool = False  # whether applied twice it gives the operand
    keeps_numbers: bool = False  # whether it returns a single number unchanged
    is_copy: bool = False  # whether it gives its operand, and only the graph differs
    is_view: bool = False  # whether `array` gives a view of the operand, which programs keep as a view
    tied_by: str = ""  # an attribute with a node that the result stays connected to; its value is the operand
    is_opaque: bool = False  # whether it is a function of the user, which its attribute names: no program has it
    moves_entries: bool = False  # whether `array` only moves, adds and multiplies entries, and so takes symbols too
    # attributes -> the operation, and its attributes, that takes the entries which this adds into zeros
    transpose_of: Callable[..., tuple[str, dict[str, Any]]] | None = None
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
    python_raises: bool = False  # whether that expression raises where IEEE 754 has an answer
    # (operand's shape, result's shape, attributes) -> an expression on an array, with `np_sum` for numpy's sum, or None
    python_arrays: Callable[..., str | None] | None = None
    lower: Function | None = None  # on the symbols of machine code; if None, `array` or `scalar` takes them
    native: Function | None = None  # on arrays, by machine code that it makes of its attributes
    repeats: Callable[..., tuple[Any, int]] | None = None  # attributes -> a program that it runs, and how often
    loop: Callable[..., tuple[Any, int] | None] | None = None  # attributes -> machine code for that, and how often
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
    # What notes and errors say where it, or its derivative, is not finite.
    remedy: Remedy | None = None
    logarithm: str = ""  # the function that is its logarithm, and does not underflow
    undefined: Callable[..., tuple[str, str] | None] | None = None  # operands -> why a result is nan, and what to write
    no_derivative: str = ""  # why it has none where that is nan
    # Where the value is nan, and so is the derivative here: what PyTorch divides by in the derivative that it computes
    beyond: Function | None = None
    refused: Callable[[Shape], str] | None = None  # operand's shape -> what to write where numpy refuses the operand
    variadic: bool = computed()
    keeps: tuple[tuple[bool, ...], ...] = computed()  # for each rule: which operands it reads, then out
    known: dict[tuple[bool, ...], tuple[tuple[bool, ...], bool]] = computed()  # what `read_by` found so far
    rules_of_scalars: tuple[Any, Any] | None = computed()  # both, if it is one of two floats; of one, the other is None
    straight: bool = computed()  # whether the backward pass needs only the rules

    def __post_init__(self) -> None:
        self.variadic = self.signature.variadic
        operands = self.signature.operands
        self.known = {}
        self.keeps = tuple(tuple(name in reads.split() for name in (*operands, "out")) for reads in self.reads)
        self.straight = not self.variadic and self.selects is None and self.scatter is None and self.reach != "part"
        simple = self.scalar is not None and not self.signature.attributes and not self.variadic
        plain = simple and len(operands) <= 2 and self.selects is None and None not in self.rules
        self.rules_of_scalars = (self.rules[0], self.rules[1] if len(operands) == 2 else None) if plain else None
        self.call = caller(self)
        self.call.__name__ = self.name
        self.call.__doc__ = self.doc

    @property
    def differentiable(self) -> bool:
        """Whether any operand has a rule."""
        return any(rule is not None for rule in self.rules)

    def rule(self, position: int) -> Function | None:
        """The vjp for one operand; a sequence of operands shares one rule."""
        return self.rules[0 if self.variadic else position]

    def read_by(self, live: tuple[bool, ...]) -> tuple[tuple[bool, ...], bool]:
        """Which operands, and whether the result, are read by the rules for the `live` operands."""
        found = self.known.get(live)
        if found is None:
            self.known[live] = found = self._read_by(live)
        return found

    def _read_by(self, live: tuple[bool, ...]) -> tuple[tuple[bool, ...], bool]:
        if self.variadic:
            *operands, out = self.keeps[0]
            return (operands[0] and any(live),) * len(live), out and any(live)
        keeps = [keep for keep, on in zip(self.keeps, live, strict=True) if on]
        return tuple(any(keep[position] for keep in keeps) for position in range(len(live))), any(k[-1] for k in keeps)

    def read_in(self, node: Node) -> tuple[tuple[bool, ...], bool]:
        """The same for the operands of a node of this operation."""
        return self.read_by(self.live(node.inputs))

    def live(self, operands: Sequence[object]) -> tuple[bool, ...]:
        """The operands that need a gradient: nodes that require one and have a rule."""
        if self.variadic:
            some = self.rules[0] is not None
            return tuple([some and type(x) is Node and x.requires_grad for x in operands])
        pairs = zip(operands, self.rules, strict=True)
        return tuple([type(x) is Node and x.requires_grad and rule is not None for x, rule in pairs])


FUNCTIONS: dict[str, Entry] = {}  # every function that a user can call: most operations, and compositions of them


def row(
    name: str,
    signature: str,
    *,
    family: str,
    array: Function,
    scalar: Function | None = None,
    rules: Mapping[str, tuple[str, Function]] | None = None,
    selects: Mapping[str, Function] | None = None,
    reach: Reach = "pointwise",
    prepare: Function | None = None,
    scatter: Function | None = None,
    title: str | None = None,
    total: bool | None = None,
    samples: tuple[Any, ...] = (),
    doc: str,
    derivative: str = "",
    example: str = "",
    **facts: Unpack[OpFacts],
) -> Function:
    """Add an operation to the table and return what is called. `rules` and `selects` go by operand name.

    The family `internal` is for operations that only rules use. An operation is pure. `total` says whether it never
    raises for values of given shapes; by default, that is true if it is computed on floats as in IEEE 754.
    """
    rules = rules or {}
    called = Signature(name, signature)
    OPS[name] = op = Op(
        name=name,
        title=title or "".join(part.capitalize() for part in name.split("_")),
        family=family,
        signature=called,
        scalar=scalar,
        array=array,
        rules=tuple(rules[operand][1] if operand in rules else None for operand in called.operands),
        reads=tuple(rules[operand][0] if operand in rules else "" for operand in called.operands),
        selects=tuple((selects or {}).get(operand) for operand in called.operands) if selects else None,
        reach=reach,
        prepare=prepare,
        scatter=scatter,
        samples=samples,
        pure=True,
        total=scalar is not None if total is None else total,
        doc=doc,
        derivative=derivative,
        example=example,
        call=row,  # replaced at once by the closure made for the row
        **facts,
    )
    if family != "internal":
        FUNCTIONS[name] = op
    return op.call


def composed(
    name: str,
    signature: str,
    *,
    family: str,
    doc: str,
    derivative: str = "",
    example: str = "",
    samples: tuple[Any, ...] = (),
    data: tuple[str, ...] = (),
    alone: Function | None = None,
    pure: bool = False,
    total: bool = False,
    **facts: Unpack[EntryFacts],
) -> Callable[[Function], Function]:
    """Decorator: a function made of operations (or one that makes values) as an entry of the table.

    It is called with its operands, and with every attribute by name. An attribute is a choice that a replay must find
    unchanged, unless it is among the `data`: these are computed with like operands. `alone`: an operation that the
    function is where there are operands alone. Only a `pure` function may be
    staged, one that makes the same of the same and has no side effect; `total` says that no value makes it raise.
    """

    def register(function: Function) -> Function:
        called = Signature(name, signature)

        def call(*args: Any, **keywords: Any) -> Any:
            if alone is not None and len(args) == len(called.operands) and not keywords:
                return alone(*args)
            operands, attrs = called.bind(args, keywords)
            if attrs:
                choose_all(value for key, value in attrs.items() if key not in data)
            try:
                return function(*operands, **attrs) if not called.variadic else function(operands, **attrs)
            except MemoryError as error:
                raise exhausted(name, error) from None

        call.__name__, call.__doc__ = name, doc
        if alone is not None:
            call.alone = alone  # type: ignore[attr-defined]
        FUNCTIONS[name] = Entry(
            name=name,
            family=family,
            signature=called,
            doc=doc,
            derivative=derivative,
            example=example,
            samples=samples,
            pure=pure,
            total=total,
            call=call,
            **facts,
        )
        return call

    return register
