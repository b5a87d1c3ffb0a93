"""The units of a fit: those of its parameters follow from the models, from what was measured, and from the starts.

The numbers of a fit are in these units, so that all that is said of it is, too. A temperature counts from absolute
zero: what was measured in °C is in K.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agrad.engine.core.graph import Units
from agrad.engine.errors import AgradError, Instead, Label
from agrad.engine.program.trace import traced
from agrad.engine.units.function import Function
from agrad.engine.units.infer import Quantity
from agrad.engine.units.quantity import scaled, unit_of
from agrad.engine.units.unit import Powers, Unit, named, si, times
from agrad.grammar.commands.registry import Call
from agrad.grammar.runtime.operations import as_array
from agrad.grammar.syntax import ast


class Scales(NamedTuple):
    """The units in which the numbers of a fit are: of each parameter, and of each set of data; None of plain numbers.

    `known`: the units of the arguments of the models; None where nothing has a unit.
    """

    parameters: Sequence[Unit | None]
    measured: Sequence[Unit | None]
    known: Function | None = None

    @property
    def is_mixed(self) -> bool:
        """Whether sets of data have different dimensions, so that the squares of their residuals have no sum."""
        return any(_dim(unit) != _dim(self.measured[0]) for unit in self.measured)

    def entered(self, xs: Sequence[Any]) -> list[Any]:
        """The parameters of a model, with units, of their numbers."""
        if self.known is None:
            return [*xs]
        of = zip(xs, self.parameters, self.known.arguments, strict=True)
        return [self.known.of(scaled(x, unit, -1), found) for x, unit, found in of]

    def alike(self, x: Any, value: Any) -> Any:
        """A number in SI units, with the unit of another value."""
        return x if self.known is None else self.known.of(x, self.known.work.quantity(value))

    def option(self, call: Call, word: str, value: Any, unit: Unit | None, power: int = 1) -> Any:
        """The numbers of the value of an option, in a power of a unit. Raises AgradError of kind `unit`."""
        if self.known is None:
            return value
        wanted = Quantity(times((_dim(unit), power)), None, {})
        shown = _required(call, self.known, wanted, f"{word} is", call.options[word], call.option(word)).shown
        if shown is not None and shown.zero:  # a difference, also of a scale such as °C
            value = value - float(shown.zero * shown.factor)
        return scaled(value, unit, power)


def _dim(unit: Unit | None) -> Powers:
    return {} if unit is None else unit.dim


def scales_of(call: Call, asked: Any, starts: Mapping[str, Any], used: Sequence[Any]) -> Scales:
    """The units of a fit that is asked for. Raises AgradError of kind `unit` where no units fit.

    `starts`: numbers for the parameters, None for any. Where neither a start nor a bound says the unit of a parameter,
    it is that of what was measured, or of what is `used` by the models, or else the one of SI.
    """
    if not Units.exist:
        return Scales([None] * len(starts), [None] * len(asked.models))
    known, examples = Function(*[()] * len(starts)), [1.0 if x is None else x for x in starts.values()]

    def called(*xs: Any) -> Any:
        with known.given(xs):
            value = as_array(model(*asked.every(xs)))
        known.infer(value)
        return value

    for place, y in enumerate(asked.measured):
        model, beside, written = asked.models[place], call.operand(2 * place), call.operand(2 * place + 1)
        with traced(called, examples, names=[*starts], has_units=True):
            _required(call, known, known.result, f"{written.span.text} is", y, written, beside)
    given = [_shown(call, known, name, of) for name, of in zip(starts, known.arguments, strict=True)]
    for of in known.arguments:
        known.work.equal(of.dim, {})  # of what nothing determines
    measured = [_without_zero(unit_of(y, known.work)) for y in asked.measured]
    usual = [unit for unit in (*measured, *map(_without_zero, map(unit_of, used))) if unit is not None]
    dims = [known.work.solid(of) for of in known.arguments]
    same = [next((unit for unit in usual if unit.dim == dim), si(dim)) if dim else None for dim in dims]
    scales = Scales([one or other for one, other in zip(given, same, strict=True)], measured, known)
    return scales if scales.is_mixed else scales._replace(measured=measured[:1] * len(measured))


def _without_zero(unit: Unit | None) -> Unit | None:
    return si(unit.dim) if unit is not None and unit.zero is not None else unit


def _shown(call: Call, known: Function, name: str, of: Quantity) -> Unit | None:
    """The unit that a parameter begins in, or is bounded in. Raises AgradError of kind `unit` for any other one."""
    value, pair = call.options.get(f"from {name}", call.names.get(name)), call.option(f"in {name}")
    given = [] if value is None else [(f"{name} starts at", value, call.option(f"from {name}"))]
    if isinstance(pair, ast.Tuple):
        ends = zip(call.options[f"in {name}"], pair.items, strict=True)
        given += [(f"{name} is bounded by", end, written) for end, written in ends]
    for one in given:
        _required(call, known, of, *one)
    found = (_without_zero(unit_of(as_array(value), known.work)) for _, value, _ in given)
    return next((unit for unit in found if unit is not None), None)


def _required(
    call: Call, known: Function, wanted: Quantity, said: str, value: Any, written: Any, beside: Any = None
) -> Quantity:
    """What is known of a value. Raises AgradError of kind `unit` where it has not the dimension that is wanted.

    `said`: the words before it in the error; `written`: how it is written, None of what a parameter is now; `beside`:
    how that is written which it has to agree with.
    """
    work, found = known.work, known.work.quantity(as_array(value))
    if work.equal(found.dim, wanted.dim):
        return found
    own, other = (work.solid(one) for one in (found, wanted))
    message, unit = f"fit: {said} {named(own)}, not {named(other)}", si(other).text
    if written is None:
        raise call.wrong("unit", message, started(call, {said.partition(" ")[0]: f"1 {unit}".rstrip()}))
    labels = [Label(written.span)] + ([Label(beside.span, work.text(wanted))] if beside is not None else [])
    facts = Instead(written.span.text, (_in_unit(written, own, unit),))
    problem = AgradError("unit", message, labels=labels, facts=facts)
    problem.at = written.span
    raise problem


def _in_unit(written: ast.Expr, own: Powers, unit: str) -> str:
    """What is written, with its numbers in another unit."""
    if isinstance(written, ast.Quantity):
        written, own = written.value, {}
    text = written.span.text
    if isinstance(written, ast.Number | ast.List) and not own:
        return f"{text} {unit}".rstrip()
    text = text if isinstance(written, ast.Name) else f"({text})"
    return text + f"/(1 {si(own).text})" * bool(own) + f"*(1 {unit})" * bool(unit)


def started(call: Call, texts: Mapping[str, str]) -> str:
    """The command with more starts."""
    typed, span = call.node.span.text, call.node.span
    given = [one.span.end - span.start for word, one in call.node.options if one and word.startswith("from ")]
    end, more = max(given, default=len(typed)), ", ".join(f"{name}={text}" for name, text in texts.items())
    return f"{typed[:end]}{',' if given else ' from'} {more}{typed[end:]}"
