"""Values with units: how they are made, converted, asked for their units, and taken as plain numbers of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial
from math import inf, pi
from typing import Any

from agrad.engine.core.context import current, remember_entry
from agrad.engine.core.dispatch import operand
from agrad.engine.core.graph import Guard, Node, Units, alive, roots_of
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint, Instead, Label, Note
from agrad.engine.units.infer import Inference, Quantity, bare, behind
from agrad.engine.units.unit import ONE, Unit, find, named, names, quotient, read, si
from agrad.engine.values import Value, format_number, np, shape_of

_TURNS = frozenset("rev turn revolution rpm".split())
_ANGLES = _TURNS | {*"rad radian deg degree ° arcmin arcminute arcsec arcsecond gon gradian".split()}


def quantity(value: Any, unit: str) -> Tensor:
    """A leaf that is so many of a unit: `quantity(3, "km")`. Its number is in SI units.

    A value that is computed is multiplied by the unit; one with an uncertainty keeps it. Raises AgradError of kind
    `unit` for a text that is no unit, and for a value that has a unit already.
    """
    return of_unit(operand(value), read(unit))


def of_unit(value: Any, unit: Unit | None) -> Tensor:
    """The same of a unit; without one, a leaf of the number."""
    if unit is None:
        return value if isinstance(value, Tensor) else tensor(value)
    u, node = None, value.node if isinstance(value, Tensor) else None
    if node is not None:
        if node.unit is not None:
            fixes = [Hint(f"x to {unit.text}")]
            raise AgradError("unit", f"{node.spell()} is in {node.unit.text} already", fixes=fixes)
        if node.recorded and (node.op is not None or node.uncertainty is None or node.name is not None):
            if unit.zero:
                raise AgradError("unit", f"a computed value cannot be a point of the scale {unit.text}")
            return value * of_unit(1.0, unit)  # type: ignore[no-any-return]
        u = node.uncertainty
    made = tensor(to_si(value.value if isinstance(value, Tensor) else value, unit))
    if u is not None:
        made.node.extra, made.node.requires_grad = u, True
        u.u = u.u * float(unit.factor)
    Units.exist = True
    made.node.recorded, made.node.unit = True, unit
    return made


def like(number: Value, other: Tensor) -> Tensor:
    """A number in SI units, as one of the unit of another value."""
    made = tensor(number)
    keep(other.node, made.node)
    return made


def common(values: Sequence[Any], message: str = "{} and {} cannot be compared") -> Unit | None:
    """The unit of the first of some values that has one, which all have to fit. Raises AgradError of kind `unit`."""
    work = Inference.current()
    first, *others = map(work.quantity, values)
    for other in others:
        work.agree(first, other, message)
    return next((unit for value in values if (unit := unit_of(value, work)) is not None), None)


def require(value: Any, unit: Unit, message: str) -> None:
    """Refuse a value of another dimension than a unit. Raises AgradError with both in the message."""
    work, fix = Inference(), "1 {}   has the unit that is needed" if unit.dim else ""
    work.agree(work.quantity(value), Quantity(unit.dim, None, {}), message, fix)


def measured(value: Any, u: Any) -> tuple[Any, Any, Unit | None]:
    """A value and its uncertainty as numbers, with the unit; as they are, where the value was computed or has a name.

    An uncertainty is a difference, also of a scale such as °C. Raises AgradError of kind `unit`.
    """
    own, by = unit_of(value), unit_of(u)
    if own is None and by is None:
        return value, u, None
    if own is None or by is None or own.dim != by.dim:
        of, its = (one.text if one else "no unit" for one in (own, by))
        fixes = [Hint(f"1.2 ± 0.3 {of if own else its}")]
        raise AgradError("unit", f"the value is in {of}, and its uncertainty in {its}", fixes=fixes)
    u = u.value - float((by.zero or 0) * by.factor)
    node = value.node
    if node.op is None and node.name is None and node.uncertainty is None:
        return value.value, u, own
    return value, u, None


def define(name: str, *amount: Any) -> None:
    """Add a unit of one's own, as so much of others: `define("smoot", quantity(1.7018, "m"))`; else, a dimension.

    Raises AgradError of kind `unit` for a name that is a unit already, and for a value that is no exact amount.
    """
    own, one = current().units, {name: Fraction(1)}
    if not (name.isascii() and name.replace("_", "").isalpha()):
        raise AgradError("unit", f"the name of a unit has letters only, and `{name}` has others")
    made = Unit(one, Fraction(1), one)
    for value in amount:
        number, unit = getattr(value, "value", value), unit_of(value) or ONE
        number = unit.of_si(number) if type(number) is float else number
        if getattr(value, "requires_grad", False) or type(number) is not float or not 0.0 < number < inf or unit.zero:
            raise AgradError(
                "unit", "a unit is one positive number of others, without uncertainty", fixes=[f"unit {name} = 2 m"]
            )
        made = Unit(one, Fraction(repr(number)) * unit.factor, unit.dim)
    if (before := find(name)) is not None and (before != made or not (amount or name in own)):
        is_prefixed = name not in own and name not in names()
        reading = f"{before.meaning or 'a base unit'}{', with a prefix' if is_prefixed else ''}"
        raise AgradError("unit", f"`{name}` is a unit already: {reading}", fixes=[Hint(f"unit my_{name} = …")])
    remember_entry(own, name)
    own[name], Units.exist = made, True


def to_si(value: Value, unit: Unit) -> Value:
    """Numbers of a unit in SI units; of an array, with one rounding more."""
    return unit.to_si(value) if type(value) is float else (value + float(unit.zero or 0)) * float(unit.factor)


def in_unit(value: Value, unit: Unit | None) -> Value:
    """Numbers in SI units as numbers of a unit; as they are without one."""
    if unit is None:
        return value
    if type(value) is float:
        return unit.of_si(value)
    if unit.entries:
        columns = zip(np.moveaxis(np.asarray(value), -1, 0), unit.entries, strict=True)
        return np.stack([np.asarray(in_unit(column, one)) for column, one in columns], axis=-1)
    if unit.factor == 1 and not unit.zero:
        return value
    return np.reshape([unit.of_si(x) for x in np.ravel(value).tolist()], shape_of(value))


def scaled(value: Any, unit: Unit | None, power: int = 1) -> Any:
    """Differences, such as uncertainties, in SI units as numbers of a power of a unit; as they are without one."""
    if value is not None and unit is not None and unit.entries:
        return in_unit(value, unit._replace(entries=tuple(one._replace(zero=None) for one in unit.entries)))
    return value if value is None or unit is None or unit.factor == 1 else value * float(unit.factor**-power)


def unit_of(value: Any, work: Inference | None = None) -> Unit | None:
    """The unit of a value; None of one that has none. `work` knows some already. Raises AgradError of kind `unit`."""
    if not Units.exist or not isinstance(value, Tensor):
        return None
    work = work or Inference()
    work.of([value.node])
    found = work.unit(value.node)
    return found if found.symbols or found.zero is not None else None


def inferred(work: Inference, node: Node, root: Node | None = None) -> Unit:
    """The unit of a value, or of the derivative of another by it.

    Of the sum of two temperatures, as it is on the way to their mean, it is the kelvin.
    """
    work.of([node])
    found = work.known[node]
    own = work.unit(node) if {part.weight for part in found.apart} <= {0, 1} else si(work.solid(found))
    return own if root is None else over(inferred(work, root), [own])


def infer(nodes: Sequence[Node]) -> list[Unit]:
    """The units of nodes, `ONE` where there is none. Raises AgradError of kind `unit`."""
    work = Inference()
    work.of(nodes)
    return [work.unit(node) for node in nodes]


def conditions(guard: Guard | None, since: int = 0) -> list[Node]:
    """The nodes that were read by guards since a moment."""
    found = []
    while guard is not None and guard.seq > since:
        found += [guard.node] if guard.node is not None else []
        guard = guard.parent
    return found


def checked(nodes: Iterable[Node], kept: Iterable[Node]) -> None:
    """Check the units behind some nodes, and remember those of others. Raises AgradError of kind `unit`.

    The former are of numbers that were looked at, such as where a search begins, which may have units of their own.
    """
    work, kept = Inference(), list(kept)
    for node in kept:
        lost = [leaf for leaf in alive(roots_of(node)) if leaf.unit is not None] if node.op is None else []
        if lost and node.unit is None:
            name = node.spell()
            message = f"{name} was computed from {lost[0].spell()} without recording, so that its unit is not known"
            labels, fixes = [Label(node.origin)] if node.origin else [], [Hint("compute it outside no_grad")]
            raise AgradError("unit", message, labels=labels, fixes=fixes)
    Inference(is_apart=True).of(nodes)
    work.of(kept)
    listener = current().listener
    for node, found in [*work.known.items()] if listener is not None else ():
        is_new = node.op is OPS["mul"] and node.unit is None
        turns = [name for name in found.symbols if name in _TURNS] if is_new else []
        if turns and listener is not None and any(type(x) is float and abs(x) in (pi, 2 * pi) for x in node.inputs):
            message = f"{turns[0]} is of angles, of which a turn has 2*pi: {node.spell()} counts these twice"
            labels = [Label(node.origin)] if node.origin is not None else []
            listener(Note(message, labels=labels, fixes=[Hint("leave out 2*pi: a turn is an angle already")]))
    for node in kept:
        if node.op is not None and node.unit is None and work.is_known(work.known[node]):
            node.unit = work.unit(node)


def plain_only(values: Iterable[Any], what: str) -> None:
    """Refuse values with units, or computed from such. Raises AgradError of kind `unit`."""
    if not Units.exist:
        return
    nodes = [x.node for x in values if isinstance(x, Tensor)]
    found = next(
        (x for x in behind(nodes, {}) if x.unit is not None and (x.unit.symbols or x.unit.zero is not None)), None
    )
    if found is not None:
        one = found.unit.text
        message = f"{what} takes numbers without units, and {found.spell()} is in {one}"
        raise AgradError("unit", message, fixes=[Hint(f"{found.name or 'x'}/(1 {one})   is the number of {one}")])


def plain_number(value: Tensor) -> None:
    """Refuse to take the number out of a value with a unit. Raises AgradError of kind `unit`."""
    unit = unit_of(value)
    if unit is not None:
        name = value.node.spell()
        index, one = next(((f"[..., {k}]", x) for k, x in enumerate(unit.entries) if x.text), ("", unit))
        fixes = [f"{name}{index}/(1 {one.text})"] if value.node.name else [Hint(f"x{index}/(1 {one.text})")]
        raise AgradError("unit", f"{name} is in {unit.text}: as a number it would not say of what", fixes=fixes)


def fitting(node: Node, value: Any, adds: bool = True) -> None:
    """Refuse to write a value into a leaf of another unit, or to multiply one by a unit. Raises AgradError."""
    own, new = node.unit or ONE, unit_of(value) or ONE
    is_zero = adds and getattr(value, "value", value) == 0.0 if np.ndim(getattr(value, "value", value)) == 0 else False
    if not is_zero and new.dim != (own.dim if adds else {}):
        has = f"is in {own.text}" if node.unit else "has no unit"
        other = f"this is in {new.text}" if new.symbols else "this has none"
        raise AgradError(
            "unit", f"{node.spell()} {has}, and {other}", fixes=[Hint(f"1 {own.text}")] if own.text else []
        )


def converted(value: Any, unit: str) -> Tensor:
    """The same value, shown in another unit: `x to km/h`. Raises AgradError of kind `unit` where that does not fit."""
    to, work, value = read(unit), Inference.current(), operand(value)
    if not isinstance(value, Tensor) or not Units.exist:
        raise AgradError(
            "unit", f"a number without a unit is not converted to {to.text}", fixes=[Hint(f"x*(1 {to.text})")]
        )
    work.of([value.node])
    found = work.known[value.node]
    own = work.unit(value.node)
    if not work.equal(found.dim, to.dim):
        message = f"{value.node.spell()} is {named(own.dim)}, in {own.text}: that is not converted to {to.text}"
        raise AgradError("unit", message if own.symbols else f"{value.node.spell()} has no unit to convert")
    if to.zero and found.weight != 1:
        text = value.node.spell()
        point = f"({-float(to.zero):g} {to.text} + {text})"  # the temperature that is so far from absolute zero
        message = f"a difference of temperatures has no zero, as {to.text} has"
        raise AgradError("unit", message, fixes=[Hint("x to K   is the difference")], facts=Instead(text, (point,)))
    text, listener = value.node.spell(), current().listener
    counts, turned = f"{text} to rev/s   counts turns", f"2*pi*({text}) to {to.text}   is of so many turns"
    for angles, turns, fix in ((own, to, counts), (to, own, turned)):
        is_angle = any(name.removesuffix("s") in _ANGLES for name in angles.symbols)
        is_told = is_angle and (angles is own or value.node.op is None)  # 2*pi*f counts angles
        if listener is not None and is_told and any(name.endswith(("Hz", "hertz")) for name in turns.symbols):
            message = "1 Hz is 1 rad/s, and no turn a second, since angles have no dimension"
            listener(Note(f"{message}: {angles.text} is of angles", fixes=[Hint(fix)]))
    copy: Tensor = OPS["clone"].call(value)
    copy.node.unit = to
    return copy


def with_unit(result: Tensor, y: Tensor, xs: Sequence[Tensor], seed: Any = None) -> Tensor:
    """A derivative of y by some values, times a seed, with its unit."""
    if result.node.unit is None:
        found, factor = slopes(y, xs), unit_of(seed)
        # Also of none: what is behind it is not looked at.
        result.node.unit = found if factor is None else over(found, [over(ONE, [factor])])
        result.node.recorded = True
    return result


def over_unit(value: Any, unit: Unit | None) -> Any:
    """A value as the number of a unit, with its graph; as it is without one."""
    if unit is None or not unit.symbols:
        return value
    factors = [float(one.factor) for one in unit.entries] if unit.entries else float(unit.factor)
    number = bare(value) if factors == 1.0 else bare(value) / (np.array(factors) if unit.entries else factors)
    return number - float(unit.zero) if unit.zero else number


def slopes(y: Tensor, xs: Sequence[Tensor]) -> Unit:
    """The unit of the derivative of y by some values: of y, over that of each."""
    unit, *units = infer([x.node for x in (y, *xs)])
    return over(unit, units)


def over(unit: Unit, units: Sequence[Unit]) -> Unit:
    """One unit over others, of which equal ones are one with a power."""
    if any(one.entries for one in (unit, *units)):
        raise AgradError("unit", "derivatives of values in different units are taken one by one", fixes=[Hint("y[0]")])
    unit, powers = unit._replace(zero=None), dict[str, list[Unit]]()
    for one in units:
        powers.setdefault(one.text, []).append(one._replace(zero=None))
    for equal in powers.values():
        unit = quotient(unit, equal[0], len(equal))
    return unit


def note_gradients(root: Node, targets: Iterable[Node], fresh: bool) -> None:
    """Remember the units of gradients that are added to leaves. Raises AgradError where another has another unit."""
    targets, log = list(targets), current().undo_log
    unit, *units = infer([root, *targets])
    for node, below in zip(targets, units, strict=True):
        found, before = over(unit, [below]), node.grad_unit
        has_more = not fresh and node.grad is not None and node.grad.value is not None
        if has_more and (before or ONE).dim != found.dim:
            has = f"is in {before.text}" if before else "has no unit"
            message = f"the gradient of {node.spell()} {has}, and that to be added is in {found.text or 'none'}"
            raise AgradError("unit", message, fixes=["zero_grad"])
        if not has_more and before != found:
            if log is not None:
                log.remember(("grad unit", node), partial(setattr, node, "grad_unit", before))
            node.grad_unit = found if found.symbols or found.factor != 1 else None


def keep(node: Node, alias: Node, is_difference: bool = False) -> None:
    """Give another node the same unit, without the zero of its scale if it is a difference."""
    work = Inference()
    work.of([node])
    found = work.unit(node)
    found = si(found.dim) if found.zero is not None and is_difference else found
    is_number = work.is_known(work.known[node]) and any(leaf.unit for leaf in alive(roots_of(node)))
    if found.symbols or found.zero is not None or is_number:
        alias.recorded, alias.unit = True, found


class Scale:
    """The unit of numbers along an axis, or in a column: as it is given, or else that of the first value."""

    def __init__(self, unit: Unit | None = None) -> None:
        self.unit = unit  # None as long as there is no value, or only such as 0, which have any

    def text(self, *below: Scale) -> str:
        """The unit, or that of a derivative by what is in others; empty for none."""
        return over(self.unit or ONE, [one.unit or ONE for one in below]).text

    def named(self, name: str, *below: Scale) -> str:
        """A name with the unit, as it stands at an axis or above a column."""
        unit = self.text(*below)
        return f"{name} ({unit})" if unit else name

    def told(self, number: float, precision: int | None = None, *below: Scale) -> str:
        """A number with the unit, in a text."""
        return f"{format_number(number, precision)} {self.text(*below)}".rstrip()

    def numbers(self, value: Any) -> Any:
        """A value as numbers of the unit, with its graph. Raises AgradError of kind `unit` for one of another."""
        if not Units.exist or not isinstance(value, Tensor | float):
            return value
        work = Inference()
        found = work.quantity(value)
        if found.entries:
            message, fixes = "values in different units have no common unit", [Hint("plot t, y[:, 0]")]
            raise AgradError("unit", message, fixes=fixes)
        if self.unit is None:
            self.unit = (unit_of(value, work) or ONE) if work.is_known(found) else None
        else:
            work.agree(Quantity(self.unit.dim, None, {}), found, "{} and {} have no common unit")
        return over_unit(value, self.unit) if isinstance(value, Tensor) else value

    def of(self, number: Any, name: str | None = None) -> Any:
        """A number of the unit as a value, with its graph, and with a name in messages."""
        if not Units.exist:
            return number
        unit, number = self.unit or ONE, bare(number if isinstance(number, Tensor) else tensor(number))
        number = number + float(unit.zero) if unit.zero else number
        value = number if unit.factor == 1 else bare(number * float(unit.factor))
        value.node.recorded, value.node.unit, value.node.name = True, unit, name
        return value
