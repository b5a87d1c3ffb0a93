"""The units of computed values: linear equations over the graph, in which the powers of units are unknown or known.

Each operation states what it takes and gives (`Op.units`). A dimension is a product of powers, of base dimensions and
of unknowns (integers here), which are eliminated one by one: A. Kennedy, "Dimension types", ESOP 1994. The unit of 0,
inf and nan is unknown: 0 is any length as well as any time. A function that is traced adds equations between what is
known of its arguments and of what it uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from itertools import accumulate, pairwise
from math import isfinite
from typing import Any, ClassVar, NamedTuple

from agrad.engine.core.dispatch import operand
from agrad.engine.core.graph import Node, Units, by_seq
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint, Instead, Label
from agrad.engine.units.rules import rule_of
from agrad.engine.units.unit import NAMED, ONE, Powers, Unit, find, named, of_entries, read, si, spelled, times
from agrad.engine.values import Value, np, shape_of
from agrad.lazy import pattern

_NONE: Powers = {}


class Quantity(NamedTuple):
    """What is known of a value: its dimension, the unit that it is shown in, if one was carried here, and the symbols.

    `weight`: how often the origin of a scale such as °C is in it: 1 in a point of the scale, 0 in a difference.
    """

    dim: Mapping[Any, Fraction]
    shown: Unit | None
    symbols: Powers
    weight: Fraction = Fraction(0)
    entries: tuple[Quantity, ...] = ()  # of an array: those along the last axis, where they have units of their own

    @property
    def apart(self) -> tuple[Quantity, ...]:
        """That of each entry, or of all."""
        return self.entries or (self,)


_NUMBER = Quantity(_NONE, None, _NONE)


def _of_unit(unit: Unit) -> Quantity:
    if unit.zero is not None:
        return Quantity(unit.dim, unit, {"K": Fraction(1)}, Fraction(1))
    return Quantity(unit.dim, unit if unit.text else None, unit.symbols, entries=tuple(map(_of_unit, unit.entries)))


class Inference:
    """The units of the nodes behind some values. `is_apart`: numbers of different units may be put in one array."""

    open: ClassVar[list[Inference]] = []  # of the functions that are being called

    @classmethod
    def current(cls, is_apart: bool = False) -> Inference:
        """That of the function which is being called, or else a new one."""
        return cls.open[-1] if cls.open else cls(is_apart)

    def __init__(self, is_apart: bool = False) -> None:
        self.is_apart = is_apart
        self.known: dict[Node, Quantity] = {}
        self._solved: dict[int, Mapping[Any, Fraction]] = {}  # unknowns that were eliminated
        self._made: dict[tuple[Any, ...], tuple[Quantity, Sequence[Quantity]]] = {}  # by a rule, of operands
        self._count = 0

    def unknown(self) -> Quantity:
        """A new one."""
        self._count += 1
        return Quantity({self._count: Fraction(1)}, None, _NONE)

    def reduced(self, dim: Mapping[Any, Fraction]) -> Mapping[Any, Fraction]:
        """A dimension in terms of what is not eliminated."""
        while any(name in self._solved for name in dim):
            dim = times(*[(self._solved.get(name, {name: Fraction(1)}), power) for name, power in dim.items()])
        return dim

    def equal(self, a: Mapping[Any, Fraction], b: Mapping[Any, Fraction]) -> bool:
        """Let two dimensions be equal; whether they can be."""
        if a is b:
            return True
        apart = self.reduced(times((a, 1), (b, -1)))
        free = next((name for name in apart if type(name) is int), None)
        if free is not None:
            rest = {name: power for name, power in apart.items() if name != free}
            self._solved[free] = times((rest, -1 / apart[free]))
            return True
        return not apart

    def alike(self, a: Quantity, b: Quantity) -> bool:
        """Let two values have the same dimension, entry by entry; whether they can."""
        count = max(len(a.apart), len(b.apart))
        pairs = [x.apart * (1 if x.entries else count) for x in (a, b)]
        return len({*map(len, pairs)}) == 1 and all(self.equal(x.dim, y.dim) for x, y in zip(*pairs, strict=True))

    def agree(self, one: Quantity, other: Quantity, message: str, fix: str = "") -> None:
        """Let two values have the same units. Raises AgradError, with both in the message, and the other in the fix."""
        if not self.alike(one, other):
            dims = [[self.solid(x) for x in found.apart] for found in (one, other)]
            fixes = [Hint(fix.format(", ".join(si(dim).text or "1" for dim in dims[1])))] if fix else []
            raise AgradError("unit", message.format(*[", ".join(map(named, each)) for each in dims]), fixes=fixes)

    def of(self, nodes: Iterable[Node]) -> None:
        """Infer over the nodes behind these. Raises AgradError of kind `unit` at the first that cannot be."""
        for node in behind(nodes, self.known):
            self.known[node] = self._of_node(node)

    def quantity(self, value: Any) -> Quantity:
        """What is known of a value, with a graph or without."""
        node = getattr(value, "node", None)
        if node is None:
            return self._of_value(value)
        self.of([node])
        return self.known[node]

    def _of_node(self, node: Node) -> Quantity:
        unit = node.unit
        if unit is not None:
            return _of_unit(unit)
        if node.op is None or not node.inputs:
            is_lost = node.op is not None or (node.storage is not None and node.storage.roots)
            return self.unknown() if is_lost else self._of_value(node.value)
        op, known = node.op, self.known
        operands = [known[x] if isinstance(x, Node) else self._of_value(x) for x in node.inputs]
        rule = op.units(node.inputs, node.attrs or {}) if callable(op.units) else op.units
        key = (rule, *map(id, operands))
        if key not in self._made:
            found = self._of_entries(node, operands)
            found = found or self._by_rule(node, [self._alone(node, x) for x in operands])
            if self.is_apart or any(x.weight or x.entries for x in operands):  # then it depends on the operation, too
                return found
            self._made[key] = found, operands  # which are kept, so that no other has their identity
        return self._made[key][0]

    def _of_entries(self, node: Node, operands: Sequence[Quantity]) -> Quantity | None:
        """What is known of a result whose entries have units of their own; None where all have to have one."""
        op, has_entries = node.op, any(x.entries for x in operands)
        assert op is not None
        if has_entries and op.reach == "pointwise":
            count = max(len(x.entries) for x in operands)
            each = zip(*[x.apart * (1 if x.entries else count) for x in operands], strict=True)
            return self._gathered([self._by_rule(node, one) for one in each])
        if op.name not in _MOVED or not (has_entries or (self.is_apart and op.name in ("stack", "concat"))):
            return None
        # What moves entries moves their numbers in the same way.
        pool, shapes = (
            [one for x in operands for one in x.apart],
            [x.shape if isinstance(x, Node) else shape_of(x) for x in node.inputs],
        )
        first = accumulate([len(x.apart) for x in operands], initial=0)
        numbers = [
            np.broadcast_to(start + (np.arange(len(x.entries)) if x.entries else 0), shape)
            for start, shape, x in zip(first, shapes, operands, strict=False)
        ]
        moved = np.asarray(op.array(*numbers, **(node.attrs or {})))
        entries = []
        for column in np.reshape(moved, (-1, moved.shape[-1] if moved.ndim else 1)).T:
            entry, *others = [pool[int(place)] for place in np.unique(column)] or [self.unknown()]
            if not all(self.alike(entry, other) for other in others):
                return None
            entries.append(entry)
        return self._gathered(entries) if entries else None

    def _gathered(self, entries: Sequence[Quantity]) -> Quantity:
        """Entries in one array: of one unit, or of their own."""
        dims = [self.reduced(x.dim) for x in entries]
        if dims.count(dims[0]) < len(dims):
            return Quantity({"": Fraction(1)}, None, _NONE, entries=tuple(entries))
        return next((x for x in entries if x.shown is not None), entries[0])

    def _alone(self, node: Node, found: Quantity) -> Quantity:
        """What is known of an operand that has to have one unit."""
        for before, other in pairwise(found.entries):
            if not self.equal(before.dim, other.dim):
                words = [named(self.solid(x)) for x in (before, other)]
                message = f"{words[0]} and {words[1]} cannot {_done(node)}"
                raise _at(node, AgradError("unit", message, labels=[Label(node.origin, "here")]))
        return self._gathered(found.apart)

    def _by_rule(self, node: Node, operands: Sequence[Quantity]) -> Quantity:
        """What the rule of an operation tells."""
        assert node.op is not None
        letters, powers = rule_of(node.op, node.inputs, node.attrs or {})
        bound: dict[str, Quantity] = {"1": _NUMBER}
        for place, (letter, found) in enumerate(zip(letters, operands, strict=True)):
            first = bound.setdefault(letter, found)
            if letter != "-" and not self.equal(first.dim, found.dim):
                raise self._misfit(node, letters, operands, place)
            if first.shown is None and found.shown is not None and letter not in "-1":
                bound[letter] = found
        if [*powers.values()] == [1]:
            return self._weighed(node, operands, bound[next(iter(powers))])
        dim = times(*[(bound[letter].dim, power) for letter, power in powers.items()])
        symbols = times(*[(bound[letter].symbols, power) for letter, power in powers.items()])
        return self._weighed(node, operands, Quantity(dim, None, symbols))

    def _of_value(self, value: Value | None) -> Quantity:
        """A number has no unit, but for 0, inf and nan, which may have any."""
        if type(value) is float:
            return _NUMBER if value and isfinite(value) else self.unknown()
        entries = np.asarray(0.0 if value is None else value)
        is_free = ~np.isfinite(entries) | (entries == 0.0)
        if self.is_apart and entries.ndim == 1 and is_free.any():
            return self._gathered([self.unknown() if one else _NUMBER for one in is_free])
        return self.unknown() if is_free.all() else _NUMBER

    def _weighed(self, node: Node, operands: Sequence[Quantity], found: Quantity) -> Quantity:
        """How often the origin of °C is in a result; the sum of two temperatures is refused."""
        weights = [x.weight for x in operands]
        if not any(weights):
            return found
        name = node.op.name  # type: ignore[union-attr]
        weight = Fraction(0)
        if name in ("add", "sub"):
            weight = weights[0] + (weights[1] if name == "add" else -weights[1])
        elif name in ("mul", "div") and type(node.inputs[1]) is float:
            weight = weights[0] * (Fraction(node.inputs[1]) if name == "mul" else 1 / Fraction(node.inputs[1]))
        elif name == "mul" and type(node.inputs[0]) is float:
            weight = weights[1] * Fraction(node.inputs[0])
        elif name == "neg":
            weight = -weights[0]
        elif name in _MOVED_ALIKE and found.shown is not None:
            weight = max(weights)
        scale: Unit | None = next(x.shown for x in operands if x.weight and x.shown is not None)
        if not weight:
            scale = find("K") if found.shown is not None else None
        return found._replace(shown=scale, weight=weight)

    # Results

    def is_known(self, found: Quantity) -> bool:
        """Whether no unknown is left in the dimension of a value."""
        return not any(type(name) is int for x in found.apart for name in self.reduced(x.dim))

    def unit(self, node: Node) -> Unit:
        """The unit that a value is shown in. Raises AgradError where it is no single temperature, such as 2*20 °C."""
        return of_entries([self._unit(node, found) for found in self.known[node].apart])

    def _unit(self, node: Node, found: Quantity) -> Unit:
        dim = self.solid(found)
        if found.weight not in (0, 1):
            scale = found.shown.text if found.shown is not None else ""
            place = [Label(node.origin, f"has {float(found.weight):g} times the zero of {scale}")]
            fixes = [Hint("10 °C + 1 K   adds a difference"), Hint("(x to K)   counts from absolute zero")]
            message = "a sum of temperatures depends on where their scale begins"
            facts = Instead(scale, ("K",)) if node.op is not None and node.op.name == "add" else None
            raise _at(node, AgradError("unit", message, labels=place, fixes=fixes, facts=facts))
        if found.shown is not None:
            return found.shown
        unit = si(dim)
        units = [(find(name), power) for name, power in found.symbols.items()]
        if len(units) == 1 and units[0][0] is not None and units[0][1] == 1 and units[0][0].dim == dim:
            return units[0][0]  # `2*x` is in what x is in
        if len(unit.symbols) == 1 and (unit.symbols.keys() <= {*NAMED.split()} or [*dim.values()] == [1]):
            return unit  # `10 V/(5 Ω)` is in A
        if 0 < len(units) <= 3 and all(one is not None for one, _ in units):
            coherent = all(one.factor == 1 for one, _ in units)  # type: ignore[union-attr]
            bases = [name for one, _ in units for name in one.dim]  # type: ignore[union-attr]
            if (coherent or len({*bases}) == len(bases)) and times(*[(o.dim, p) for o, p in units]) == dim:  # type: ignore[union-attr]
                ordered = dict(sorted(found.symbols.items(), key=lambda pair: pair[1] < 0))
                with suppress(AgradError):  # its factor may be beyond the range of float64
                    return read(spelled(ordered))
        return unit

    def text(self, quantity: Quantity) -> str:
        """What unit a value has, in an error."""
        dim = self.solid(quantity)
        if quantity.shown is not None:
            return f"is in {quantity.shown.text}"
        return f"is in {si(dim).text}" if dim else "has no unit"

    def solid(self, quantity: Quantity) -> Powers:
        """The dimension of a value without what is unknown of it."""
        return {name: power for name, power in self.reduced(quantity.dim).items() if type(name) is not int}

    def _not_a_number(self, node: Node, place: int, found: Quantity) -> AgradError:
        """The error for an operand that has a unit where a number is needed."""
        assert node.op is not None
        word, text, fixes, facts = named(self.solid(found)), _text(node, place), list[str](), None
        if node.op.name == "pow":
            of_base = place == 0
            message = f"a power of {word} needs a constant exponent" if of_base else f"an exponent is no {word[2:]}"
        else:
            message = f"{node.op.name} takes a number, not {word}"
            unit = found.shown or si(self.solid(found))
            fixes = [Hint(f"x/(1 {unit.text})   is a number")]
            facts = Instead(text, (f"{text if text.isidentifier() else f'({text})'}/(1 {unit.text})",))
        labels = [Label(_origin(node, place), f"{text} {self.text(found)}")]
        return _at(node, AgradError("unit", message, labels=labels, fixes=fixes, facts=facts))

    def _misfit(self, node: Node, letters: Sequence[str], operands: Sequence[Quantity], place: int) -> AgradError:
        """The error for an operand whose unit does not fit the operation."""
        assert node.op is not None
        first, last = letters.index(letters[place]), operands[place]
        if letters[place] == "1":
            return self._not_a_number(node, place, last)
        pair = [operands[first], last]
        words = [named(self.solid(x)) for x in pair]
        message = f"{words[0]} and {words[1]} cannot {_done(node)}"
        labels = [Label(node.origin, "here")]
        for at, quantity in zip((first, place), pair, strict=True):
            labels.append(Label(_origin(node, at), f"{_text(node, at)} {self.text(quantity)}"))
        fixes, facts = [], None
        for at, other, one in ((first, pair[1], pair[0]), (place, pair[0], pair[1])):
            if not self.reduced(one.dim) and type(node.inputs[at]) is float:
                unit = other.shown or si(self.solid(other))
                units = [unit] if node.op.name != "add" or unit.zero is None else []
                if unit.zero is not None and node.op.name in ("add", "sub"):  # a difference, of degrees as large
                    units = [read("K" if unit.factor == 1 else "°R"), *units]
                typed = tuple(f"{_text(node, at)} {one.text}" for one in units)
                fixes += [Hint(one) for one in typed]
                facts = Instead(_text(node, at), typed)
        whole = node.origin.text if node.origin is not None and node.op.name == "sub" else ""
        if raised := _RAISED.fullmatch(whole):  # `5 m s-1`, and `5 m-3`, which may be a difference
            others = facts.new if facts is not None and not raised[1].split()[2:] and "·" not in raised[1] else ()
            differences = [f"{whole.removesuffix(facts.old)}{one}" for one in others] if facts is not None else []
            fixes, facts = [], Instead(whole, (f"{raised[1]}^{raised[2]}", *differences))
        return _at(node, AgradError("unit", message, labels=labels, fixes=fixes, facts=facts))


_RAISED = pattern(r"([^/]*\d[^/]*[^\W\d_])(-\d)")


class Function:
    """The units of the arguments of a function, and of its result.

    `given`: for each argument, its value, or a list of values that are in its unit; of none, it is unknown, and follows
    from the function. An array may have entries of different units.
    A function that is called within another one adds its equations to those of that. Raises AgradError of kind `unit`.
    """

    y: Any  # the result, with its graph
    result: Quantity

    def __init__(self, *given: Any) -> None:
        self.work = Inference.current(is_apart=True)
        self.arguments = [self._common(x) if isinstance(x, list) else self.work.quantity(operand(x)) for x in given]

    def _common(self, values: Sequence[Any]) -> Quantity:
        found = self.work.unknown()
        for value in values:
            other = self.work.quantity(operand(value))
            self.agree(found, other, "{} and {} are no places of one variable")
            found = next((one for one in other.apart if one.shown is not None), found) if found.shown is None else found
        return found

    def agree(self, one: Quantity, other: Quantity, message: str) -> None:
        """Let two values have the same units. Raises AgradError with what they are in the message."""
        self.work.agree(one, other, message, "({})   are the units that are needed")

    @contextmanager
    def given(self, arguments: Sequence[Tensor]) -> Iterator[None]:
        """Call the function within this, on placeholders."""
        for x, found in zip(arguments, self.arguments, strict=True):
            self.of(x, found)
        Inference.open.append(self.work)
        try:
            yield
        finally:
            Inference.open.pop()

    def inferred(self, y: Any) -> Any:
        """What a call has given, without the unit that is inferred of it."""
        self.y, self.result = y, self.work.quantity(y)
        return bare(y)

    @property
    def units(self) -> tuple[Unit, Unit]:
        """Those in which the arguments, and the result, are told of."""
        every = [
            [x.shown or si(self.work.solid(x)) for one in some for x in one.apart]
            for some in (self.arguments, [self.result])
        ]
        return of_entries(every[0]), of_entries(every[1])

    def argument(self, x: Any, place: int = 0) -> Any:
        """What is like an argument, with the unit of that, such as a place at which the result is zero."""
        return self.of(x, self.arguments[place])

    def value(self, y: Any, power: int = 0) -> Any:
        """What is like the result, times a power of the first argument: 1 for an integral."""
        return self.of(y, self.times(self.result, power) if power else self.work.quantity(y))

    def of(self, value: Any, found: Quantity) -> Any:
        """A value of which this was inferred."""
        has_unit = any(map(self.work.solid, found.apart))
        if not has_unit and not (isinstance(value, Tensor) and value.node.recorded):
            return value
        x = value if isinstance(value, Tensor) else tensor(value)
        self.work.known[x.node] = found
        if self.work.is_known(found):
            x.node.recorded, x.node.unit = True, self.work.unit(x.node) if has_unit else ONE
        return x

    def times(self, one: Quantity, power: int) -> Quantity:
        """That of another value, times a power of that of the first argument: 1 for an integral, -1 for a slope."""
        x = self.arguments[0]
        apart = [
            Quantity(times((y.dim, 1), (x.dim, power)), None, times((y.symbols, 1), (x.symbols, power)))
            for y in one.apart
        ]
        return apart[0] if not one.entries else one._replace(entries=tuple(apart))


def bare(x: Any) -> Any:
    """Numbers in SI units without these, with their graph: for a solver, which gives its results the units."""
    if not Units.exist or not isinstance(x, Tensor):
        return x
    copy = OPS["clone"].call(x)
    copy.node.unit = ONE
    return copy


# What only chooses, moves or averages entries: where all of these are moved by a number, so is the result.
_MOVED_ALIKE = frozenset(
    "expand reshape permute swap transpose flip roll getitem clone own stop depends mean amax amin lower_middle "
    "upper_middle median windows where maximum minimum clip concat stack entries_at put_at take_along put_along "
    "index_put".split()
)
# What only moves entries.
_MOVED = frozenset("expand reshape permute swap transpose flip roll getitem concat stack".split())
_DONE = {
    "add": "be added",
    "sub": "be subtracted",
    **dict.fromkeys(["less", "less_equal", "greater", "greater_equal", "equal", "not_equal"], "be compared"),
    **dict.fromkeys(["maximum", "minimum", "clip"], "be compared"),
    **dict.fromkeys(["concat", "stack"], "be in one array"),
}


def _done(node: Node) -> str:
    name = node.op.name  # type: ignore[union-attr]
    return _DONE.get(name, f"go together in {name}")


def _at(node: Node, error: AgradError) -> AgradError:
    """An error about the operation of a node."""
    error.at = node.origin
    return error


def _origin(node: Node, place: int) -> Any:
    operand = node.inputs[place]
    return (operand.origin if isinstance(operand, Node) else None) or node.origin


def _text(node: Node, place: int) -> str:
    operand = node.inputs[place]
    if isinstance(operand, Node):
        return operand.spell()
    return f"{operand:g}" if type(operand) is float else "the other side"


def behind(nodes: Iterable[Node], known: Mapping[Node, Quantity]) -> list[Node]:
    """The nodes that are not known yet, in the order in which they were made."""
    found: set[Node] = set()
    rest = [node for node in nodes if node not in known]
    while rest:
        node = rest.pop()
        if node not in found and node not in known:
            found.add(node)
            if node.unit is None:
                rest += [x for x in node.inputs if isinstance(x, Node)]
    return sorted(found, key=by_seq)
