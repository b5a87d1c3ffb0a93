"""The syntax tree: the structure of a text, before its names are looked up.

Every node has the span it was read from. Trees can be as deep as a text is long, so no function may walk one
by recursion; `repr`, `==` and `hash` of a node do not look at its children.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeAlias, dataclass_transform

from agrad.engine.struct import StructType
from agrad.grammar.diagnostics import Span


def _last(*, kw_only: bool) -> Any:
    """A field that stands behind those of a class that inherits it, and is given by its name."""


@dataclass_transform(frozen_default=True, field_specifiers=(_last,))
class _NodeType(StructType):
    """Puts the `span`, which every node has, behind the fields of its kind."""

    def __new__(cls, *of: Any) -> StructType:
        made = super().__new__(cls, *of)
        made.fields = (*[field for field in made.fields if field != "span"], "span")
        type.__setattr__(made, "__match_args__", made.fields)
        return made


class Node(metaclass=_NodeType):
    """A part of a text, and where it was read; to the type checker it is immutable."""

    span: Span = _last(kw_only=True)

    def __init__(self, *values: Any, **named: Any) -> None:
        for name, value in zip(type(self).fields, values, strict=False):
            setattr(self, name, value)
        for name, value in named.items():
            setattr(self, name, value)

    def changed(self, **named: Any) -> Self:
        """A copy with other values in some fields."""
        return type(self)(**{name: getattr(self, name) for name in type(self).fields} | named)

    def __repr__(self) -> str:
        """The kind of node and its source text; not its children."""
        span: Span | None = getattr(self, "span", None)
        return f"{type(self).__name__}({span.text if span else ''!r})"


class Expr(Node):
    """What has a value, or stands where a value may stand."""


class Statement(Node):
    """What runs."""


class Number(Expr):
    """`2`, `.5`, `1e-3`; also `True` and `False`."""

    value: float


class String(Expr):
    """`"text"`, its escapes resolved; also a word that a command takes as it is, as in `graph d as dot`."""

    value: str


class Formatted(Node):
    """One `{…}` of an f-string.

    `conversion` is the `!r` behind the value, `spec` what follows the colon; `text` the source, which is shown before
    the value if `debug` (`{x=}`).
    """

    value: Expr
    conversion: str
    spec: str
    text: str
    debug: bool


class FString(Expr):
    """`f"loss {loss:.4f}"`: alternating texts and formatted values."""

    parts: tuple[str | Formatted, ...]


class Name(Expr):
    """A name, in any position: `x`, a parameter, the target of an assignment."""

    id: str


class NoneLiteral(Expr):
    """`None`."""


class EllipsisLiteral(Expr):
    """`...`, as in `x[..., 0]`."""


class List(Expr):
    """`[1, 2, 3]`. `apart`: whether it stays a list, and does not become a vector."""

    items: tuple[Expr, ...]
    apart: bool


class Tuple(Expr):
    """`(2, 3)` or, without brackets, `q, r`."""

    items: tuple[Expr, ...]


class Starred(Expr):
    """`*xs` in a call, a list or a target: the entries in its place."""

    value: Expr


class Unary(Expr):
    """`-x`, `+x`, `not x`."""

    op: str
    operand: Expr


class Binary(Expr):
    """`x + y` and the other arithmetic: `+ - * / // % ** @ ±`. `^` has become `**`, and the `±` of `x ± 5%` is `±%`;
    that of `x ± 0.1 t(8)` is `± t`, with both numbers in a tuple at its right.

    `sign` is the place of `·` or `×`, which are read as `*`; None of what was written as it is read.
    """

    op: str
    left: Expr
    right: Expr
    sign: Span | None


class Quantity(Expr):
    """`3 km`: a number, or several, with a unit; a product where the first name of that has a value, if not `sure`."""

    value: Expr
    unit: str
    sure: bool


class Conversion(Expr):
    """`x to km/h`."""

    value: Expr
    unit: str


class Compare(Expr):
    """`a < b <= c`, `a in b`, `a is not b`: the first operand, then each operator with the operand after it."""

    first: Expr
    rest: tuple[tuple[str, Expr], ...]


class Near(Expr):
    """`a ~= b +- t`: equal within an absolute tolerance, or a relative one that the interpreter sets."""

    left: Expr
    right: Expr
    tolerance: Expr | None


class IsNone(Expr):
    """`a is None`, and negated `a is not None`."""

    operand: Expr
    negated: bool


class Logic(Expr):
    """`a and b`, `a or b`."""

    op: str
    left: Expr
    right: Expr


class Conditional(Expr):
    """`then if test else other`."""

    test: Expr
    then: Expr
    other: Expr


class Call(Expr):
    """`f(x, axis=0)`."""

    function: Expr
    arguments: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...]


class Attribute(Expr):
    """`x.grad`."""

    value: Expr
    name: str


class Slice(Expr):
    """`1:`, `a:b:2`: only inside an index."""

    start: Expr | None
    stop: Expr | None
    step: Expr | None


class Index(Expr):
    """`x[i]`; with a comma the index is a `Tuple`."""

    value: Expr
    index: Expr


# A tuple as a target holds targets only, and one Starred with a target; the builder checks that.
Target: TypeAlias = Name | Index | Attribute | Tuple


class Evaluate(Statement):
    """A bare expression: its value is printed, unless a `;` follows it (`silent`)."""

    value: Expr
    silent: bool


class Assign(Statement):
    """`x = 3`, `a = b = 3`, `q, r = qr(A)`."""

    targets: tuple[Target, ...]
    value: Expr


class Augment(Statement):
    """`x += 1`; the operator is stored without its `=`."""

    target: Target
    op: str
    value: Expr


class Variable(Statement):
    """`var x = 2`: a leaf that requires grad."""

    name: Name
    value: Expr


class For(Statement):
    """`for i in range(3): …`."""

    target: Target
    iterable: Expr
    body: Body


class While(Statement):
    """`while c: …`."""

    test: Expr
    body: Body


class If(Statement):
    """`if`, each `elif` (all in `branches`), and `else`."""

    branches: tuple[tuple[Expr, Body], ...]
    otherwise: Body


class Parameter(Node):
    """A parameter of a `def`, with its default if it has one; also `*rest`, `**options`, and `*` alone."""

    name: str
    default: Expr | None


class Define(Statement):
    """`def f(x): …`; the one-line `def f(x) = x**2` has a single `Return` as its body."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Body


class Return(Statement):
    """`return`, `return x`."""

    value: Expr | None


class Break(Statement):
    """`break`."""


class Continue(Statement):
    """`continue`."""


class Pass(Statement):
    """`pass`."""


class NoGrad(Statement):
    """`no_grad: …`."""

    body: Body


PRINTED = frozenset({"sep", "end", "flush"})  # the options of print


class Print(Statement):
    """`print x, y`, and `print(x, y, sep=", ", end="")` as a whole statement."""

    arguments: tuple[Expr, ...]
    options: tuple[tuple[str, Expr], ...]


class Assert(Statement):
    """`assert test, message`."""

    test: Expr
    message: Expr | None


class Fails(Statement):
    """`fails freed: …`: the body must fail with an error of that kind."""

    kind: str
    body: Body


class Time(Statement):
    """`time: …`: the body, and how long it takes."""

    body: Body


class Delete(Statement):
    """`del x, y`, `del xs[0]`, `del x.grad`."""

    targets: tuple[Name | Index | Attribute, ...]


class Unknowns(Expr):
    """An expression and the names that a command gives values: `solve x**2 == 2 for x from 1`, `plot x for x in 0..2`.

    Without names: an expression whose names need no value, as in `formula x**2`.
    """

    names: tuple[Name, ...]
    value: Expr


class Each(Expr):
    """An expression for each of some values: `1/k**2 for k in 1..9`, alone in the brackets of a call or a list.

    `last`: the last of the whole numbers that begin with `values`; None where `values` are all of them. `conditions`:
    which of them count. `apart`: whether the results stay several values, as a `tuple` or a `list`, and do not become
    an array. A second `for` is an Each in the place of the value, whose results are put together if the outer one is
    `flat`.
    """

    value: Expr
    target: Target
    values: Expr
    last: Expr | None
    conditions: tuple[Expr, ...]
    apart: str
    flat: bool


class Lambda(Expr):
    """`lambda x: x**2`: a function without a name."""

    parameters: tuple[Parameter, ...]
    value: Expr


class Command(Statement):
    """A command on the graph or the session, such as `backward d retain`.

    `options` are pairs in the order written; a flag has no value, a word such as `dot` is a `String`.
    """

    word: str
    operands: tuple[Expr, ...]
    options: tuple[tuple[str, Expr | None], ...]


class Python(Statement):
    """A statement of Python's reading: a tree of CPython's, which is used up when its code is made.

    `places` finds offsets; `commands` are agrad's in it, by where they begin. Its code fills in the rest: its
    `parts`, the names that it reads, binds, and writes into, those that its functions bind, the attributes that it
    reads, and whether it deletes any.
    """

    tree: Any
    places: Any
    commands: dict[int, tuple[Statement, ...]]
    parts: tuple[Node, ...]
    reads: set[str]
    binds: set[str]
    written: set[str]
    globals: set[str]
    attributes: set[str]
    deletes: bool
    shown: bool  # whether its value is the answer of a session


Body: TypeAlias = tuple[Statement, ...]


def blocks(statement: Statement) -> list[Body]:
    """The blocks inside a statement that run as a part of it."""
    match statement:
        case If(branches, otherwise):
            return [*(block for _, block in branches), otherwise]
        case For() | While() | NoGrad() | Time():
            return [statement.body]
    return []


def nodes(tree: object) -> Iterator[Node]:
    """All nodes of a tree, or of several, without recursion."""
    waiting = [tree]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting += part
        elif isinstance(part, Node):
            yield part
            waiting += [getattr(part, name) for name in type(part).fields]


def standing_for(trees: Mapping[str, Expr]) -> Callable[[Any], Any]:
    """For `replaced`: names stand for trees."""
    return lambda node: trees.get(node.id) if isinstance(node, Name) else None


def replaced(tree: Any, change: Callable[[Any], Any]) -> Any:
    """The tree, in which each node, from the outside in, has become what `change` makes of it; None: it stays.

    What stays is the same object, with other nodes inside; what has been made is not searched.
    """
    waiting = list[Node]()

    def part(found: Any) -> Any:
        if isinstance(found, tuple):  # of nodes, or of pairs with nodes: no deeper than the grammar says
            return tuple([part(one) for one in found])
        if not isinstance(found, Node):
            return found
        made = change(found)
        if made is None:
            waiting.append(found)
        return found if made is None else made

    whole = part(tree)
    while waiting:
        node = waiting.pop()
        for field in type(node).fields:
            setattr(node, field, part(getattr(node, field)))
    return whole


# What trees say of names: which are read, which are bound, and which may be read before they are.

# Commands whose first operand is not computed before they run: the name of a `set` need not have a value, and the
# expression of a `check` is computed many times.
UNEVALUATED = frozenset({"set", "check"})
BINDING = frozenset({"solve", "fit", "minimize", "maximize"})  # commands that give names values
_WRITES = (Index, Attribute)


def operands_of(node: Command) -> list[Any]:
    """What is computed before a command runs: its operands, and the values of its options."""
    operands = node.operands[1:] if node.word in UNEVALUATED else node.operands
    return [*operands, *(value for _, value in node.options if value is not None)]


def given_to(node: Command, given: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any]]:
    """The operands of a command, and its options; True of an option without a value."""
    count = len(node.operands) - (node.word in UNEVALUATED)
    rest = iter(given[count:])
    return [*given[:count]], {name: next(rest) if value is not None else True for name, value in node.options}


def names_of(target: Any) -> Iterator[str]:
    """The names that a target binds."""
    waiting = [target]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Starred):
            waiting.append(one.value)
        elif isinstance(one, Tuple):
            waiting += one.items[::-1]
        elif isinstance(one, Name):
            yield one.id


def loads(tree: Any, inside: bool = False) -> Iterator[Name]:
    """The names that are looked up, in order; `inside`: in functions as well, and their parameters."""
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        kind = type(node)
        if kind is Name:
            if node.id != "print" and node.id[0] != ".":
                yield node
        elif kind is tuple:
            waiting += node[::-1]
        elif isinstance(node, Node):
            parts = _PARTS.get(kind)
            if inside and kind in _FUNCTIONS:
                parts = None
            waiting += (
                [getattr(node, name) for name in kind.fields[::-1]] if parts is None else parts(node, inside)[::-1]
            )


_FUNCTIONS = (Lambda, Define)
# The parts of a node in the order in which they are computed, without the names that it binds; else all of them.
_PARTS: dict[type, Callable[[Any, bool], list[Any]]] = {
    Assign: lambda node, inside: [node.value, *filter(None, map(_written, node.targets))],
    Variable: lambda node, inside: [node.value],
    For: lambda node, inside: [node.iterable, _written(node.target), node.body],
    Each: lambda node, inside: [node.values, node.last, *((*node.conditions, node.value) if inside else ())],
    Unknowns: lambda node, inside: [node.value] if inside else [],
    **dict.fromkeys(_FUNCTIONS, lambda node, inside: [one.default for one in node.parameters]),
    Command: lambda node, inside: operands_of(node),
    Delete: lambda node, inside: [one for one in node.targets if not isinstance(one, Name)],
    Python: lambda node, inside: [Name(name, span=node.span) for name in sorted(node.reads)],
}


def _written(target: Any) -> Any:
    """What of a target is computed."""
    if isinstance(target, Tuple):
        return tuple(filter(None, map(_written, target.items)))
    return None if isinstance(target, Name | Starred) else target


def binds(node: Any) -> set[str]:
    """The names that a statement binds, those of the statements in it apart."""
    kind = type(node)
    return {*_BINDS[kind](node)} if kind in _BINDS else set()


_BINDS: dict[type, Callable[[Any], Iterable[str]]] = {
    Assign: lambda node: [name for target in node.targets for name in names_of(target)],
    Augment: lambda node: names_of(node.target),
    For: lambda node: names_of(node.target),
    Variable: lambda node: [node.name.id],
    Define: lambda node: [node.name],
    Delete: lambda node: [target.id for target in node.targets if isinstance(target, Name)],
    Python: lambda node: node.binds,
    Command: lambda node: (
        [one.value for one in node.operands[1:] if node.word == "use"]
        + [
            name.id
            for one in (nodes(node.operands) if node.word in BINDING else ())
            for name in ((one.names or loads(one.value)) if isinstance(one, Unknowns) else ())  # one of several
        ]
    ),
}


def bound(body: Any) -> set[str]:
    """The names that statements bind, those in functions and classes apart."""
    found: set[str] = set()
    waiting: list[Any] = [*body]
    while waiting:
        node = waiting.pop()
        found |= binds(node)
        for block in [node.body] if isinstance(node, Fails) else blocks(node):
            waiting += block
    return found


def given(tree: Any) -> tuple[set[str], set[str]]:
    """The names that a statement binds, also in functions, and those that it may write into."""
    names: set[str] = set()
    written: set[str] = set()
    for one in nodes(tree):
        if not isinstance(one, Statement):
            continue
        if not isinstance(one, Delete):
            names |= binds(one)
        if isinstance(one, Python):
            written |= one.written
        if isinstance(one, Python | Define | If | While | NoGrad | Fails | Time):
            continue
        own = [one.iterable, one.target] if isinstance(one, For) else [one]
        if any(_writes(part) for part in own):
            written |= {name.id for name in loads(tuple(own), True)}
    return names, written


def _writes(tree: Any) -> bool:
    """Whether a statement may write into a value."""
    targets = [*getattr(tree, "targets", ()), getattr(tree, "target", None)]
    if any(isinstance(one, _WRITES) for target in targets for one in nodes(target)):
        return True
    calls = (one.function for one in nodes(tree) if isinstance(one, Call))
    return any(isinstance(one, Attribute) and one.name.endswith("_") for one in calls)


def loose(body: Sequence[Any], names: set[str]) -> list[str]:
    """Which names that a function binds may be read before that: they may have a value outside of it."""
    found: set[str] = set()
    for node in body if names else ():
        names = names - found
        found |= {one.id for one in loads(node, True) if one.id in names}
        if isinstance(node, Assign | Augment | Variable | Define):
            names = names - binds(node)
    return sorted(found)
