"""Values with units as plain numbers of these, and back: for what draws numbers, or computes them row by row."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.graph import Units
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.units.infer import Inference
from agrad.engine.units.quantity import ONE, bare, over, unit_of
from agrad.engine.units.unit import Unit, named
from agrad.engine.values import format_number


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
        elif not work.equal(found.dim, self.unit.dim):
            one, other = (named(dim) for dim in (self.unit.dim, work.solid(found)))
            raise AgradError("unit", f"{one} and {other} have no common unit")
        if not isinstance(value, Tensor) or self.unit is None or not self.unit.symbols:
            return value
        number = bare(value) if self.unit.factor == 1 else bare(value) / float(self.unit.factor)
        return number - float(self.unit.zero) if self.unit.zero else number

    def of(self, number: Any, name: str | None = None) -> Any:
        """A number of the unit as a value, with its graph, and with a name in messages."""
        if not Units.exist:
            return number
        unit, number = self.unit or ONE, bare(number if isinstance(number, Tensor) else tensor(number))
        number = number + float(unit.zero) if unit.zero else number
        value = number if unit.factor == 1 else bare(number * float(unit.factor))
        value.node.recorded, value.node.unit, value.node.name = True, unit, name
        return value
