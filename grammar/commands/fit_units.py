"""The units of a fit: those of its parameters follow from the models, from what was measured, and from the starts.

The numbers of a fit are in these units, so that all that is said of it is, too. A temperature counts from absolute
zero: what was measured in °C is in K, and a parameter only in °C if it begins in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from agrad.engine.core.arguments import number_of
from agrad.engine.core.graph import Units
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Label
from agrad.engine.program.trace import infer_units, traced
from agrad.engine.units.infer import Function, Quantity
from agrad.engine.units.quantity import Scale, scaled, unit_of
from agrad.engine.units.unit import ONE, Powers, Unit, named, si, times, without_zero
from agrad.grammar.diagnostics import Source
from agrad.grammar.runtime.operations import as_array
from agrad.grammar.session.rowwise import Rowwise
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.errors.messages import corrected
from agrad.grammar.syntax.parser import parse_expression


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
        return [Scale(unit).of(x) for x, unit in zip(xs, self.parameters, strict=True)]

    def alike(self, x: Any, value: Any) -> Any:
        """A number in SI units, with the unit of another value."""
        return x if self.known is None else self.known.of(x, self.known.work.quantity(value))

    def option(self, given: Given, unit: Unit | None, power: int = 1) -> Any:
        """The numbers of the value of an option, in a power of a unit. Raises AgradError of kind `unit`."""
        return scaled(given.number() - float(self.zero(given, unit, power)), unit, power)

    def scale(self, unit: Unit | None, given: Given | None = None) -> Scale:
        """That of numbers in a unit; of a difference that is given, also in one such as °C. Raises AgradError."""
        unit = unit or ONE
        return Scale(unit if given is None else unit._replace(zero=self.zero(given, unit) / unit.factor or None))

    def zero(self, given: Given, unit: Unit | None, power: int = 1) -> Fraction:
        """Where the scale that a difference is given in begins, such as °C, in SI units. Raises AgradError."""
        if self.known is None:
            return Fraction(0)
        shown = required(self.known, Quantity(times((_dim(unit), power)), None, {}), given).shown
        return (shown.zero or 0) * shown.factor if shown is not None else Fraction(0)


class Given(NamedTuple):
    """A value that a fit is given: the words before it in an error, and how it is written, or the command if it is not.

    `changed`: what was typed, with another text in its place; `beside`: how that is written which it has to agree with.
    """

    said: str
    value: Any
    written: ast.Expr | ast.Command
    changed: Callable[[str], str]
    beside: ast.Expr | None = None

    @classmethod
    def read(cls, said: str, text: str, changed: Callable[[str], str], value: Any = None) -> Given:
        """A number in a text, which may have been read. Raises AgradError."""
        value = Rowwise().evaluate(text, is_given=True) if value is None else value
        number_of("fit", said.partition(" ")[0], value, True)
        return cls(said, as_array(value), parse_expression(Source("expression", text)), changed)

    def number(self) -> Any:
        """Its number, or an array, in SI units, without its graph."""
        return self.value.value if isinstance(self.value, Tensor) else self.value


def _dim(unit: Unit | None) -> Powers:
    return {} if unit is None else unit.dim


def scales_of(
    models: Sequence[Callable[..., Any]],
    starts: Mapping[str, Any],
    measured: Sequence[Given],
    given: Mapping[str, Sequence[Given]],
    used: Sequence[Unit | None],
) -> Scales:
    """The units of a fit that is asked for. Raises AgradError of kind `unit` where no units fit.

    `starts`: numbers for the parameters, None for any; `given`: where each begins, and its bounds. Where none of these
    says the unit of a parameter, it is that of what was measured, or of what is `used` by the models, or else the one
    of SI.
    """
    if not Units.exist:
        return Scales([None] * len(starts), [None] * len(models))
    known, examples = Function(*[[] for _ in starts]), [1.0 if x is None else x for x in starts.values()]
    for model, y in zip(models, measured, strict=True):
        infer_units(known, model, examples, [*starts])
        required(known, known.result, y)
    for name, of in zip(starts, known.arguments, strict=True):
        for one in given[name]:
            required(known, of, one)
    begun = [[unit_of(one.value, known.work) for one in given[name]] for name in starts]
    shown = [next(filter(None, units), None) for units in begun]
    for of in known.arguments:
        known.work.equal(of.dim, {})  # of what nothing determines
    units = [without_zero(unit_of(y.value, known.work)) for y in measured]
    usual = [unit for unit in (*units, *map(without_zero, used)) if unit is not None]
    dims = [known.work.solid(of) for of in known.arguments]
    same = [next((unit for unit in usual if unit.dim == dim), si(dim)) if dim else None for dim in dims]
    scales = Scales([one or other for one, other in zip(shown, same, strict=True)], units, known)
    for model in models if any(unit is not None and unit.zero for unit in shown) else ():
        with traced(lambda *xs, f=model: Scale().numbers(f(*scales.entered(xs))), examples, names=[*starts]):
            pass  # sums of temperatures are refused
    return scales if scales.is_mixed else scales._replace(measured=units[:1] * len(units))


def required(known: Function, wanted: Quantity, given: Given) -> Quantity:
    """What is known of a value. Raises AgradError of kind `unit` where it has not the dimension that is wanted."""
    work, written, beside = known.work, given.written, given.beside
    found = work.quantity(given.value)
    if work.alike(found, wanted):
        return found
    own, other = (work.solid(one) for one in (found, wanted))
    unit = si(other).text
    labels = [Label(written.span)] + ([Label(beside.span, work.text(wanted))] if beside is not None else [])
    fix = given.changed(_in_unit(written, own, unit))
    if own and not other and beside is not None and beside.span.source is written.span.source:
        term = next(filter(None, map(_bare_term, ast.nodes(beside))), None)
        fix = fix if term is None else corrected(term.span, f"{term.span.text} {si(own).text}")
    raise AgradError("unit", f"fit: {given.said} {named(own)}, not {named(other)}", labels=labels, fixes=[fix])


def _bare_term(node: ast.Node) -> ast.Number | None:
    """The number without a unit that names are added to, as in `a*x + 3`: 0 has any unit, and `exp(a*x)` none."""
    sides = (node.left, node.right) if isinstance(node, ast.Binary) and node.op in ("+", "-") else ()
    is_free = any(re.search(r"[^\W\d]", re.sub(r"\w+\([^()]*\)", "", one.span.text)) for one in sides)
    return next((one for one in sides if isinstance(one, ast.Number) and one.value and is_free), None)


def _in_unit(written: ast.Expr | ast.Command, own: Powers, unit: str) -> str:
    """What is written, with its numbers in another unit."""
    if isinstance(written, ast.Command):
        return f"1 {unit}".rstrip()
    if isinstance(written, ast.Quantity):
        written, own = written.value, {}
    text = written.span.text
    if isinstance(written, ast.Number | ast.List) and not own:
        return f"{text} {unit}".rstrip()
    text = text if isinstance(written, ast.Name) else f"({text})"
    return text + f"/(1 {si(own).text})" * bool(own) + f"*(1 {unit})" * bool(unit)
