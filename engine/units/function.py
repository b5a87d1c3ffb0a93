"""The units of functions that are traced: equations between what is known of their arguments and of what they use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.units.infer import Inference, Quantity
from agrad.engine.units.quantity import ONE
from agrad.engine.units.unit import times


class Function:
    """The units of the arguments of a function, and of its result.

    `given`: for each argument, its value, or a list of values that are in its unit; of none, it is unknown, and follows
    from the function. An array may have entries of different units.
    A function that is called within another one adds its equations to those of that. Raises AgradError of kind `unit`.
    """

    result: Quantity

    def __init__(self, *given: Any) -> None:
        self.work = Inference.current(is_apart=True)
        self.arguments = [self._common(x) if isinstance(x, list) else self.work.quantity(x) for x in given]

    def _common(self, values: Sequence[Any]) -> Quantity:
        found = self.work.unknown()
        for value in values:
            other = self.work.quantity(value)
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

    def infer(self, y: Any) -> None:
        """Infer what a call has given."""
        self.result = self.work.quantity(y)

    def of(self, value: Any, found: Quantity) -> Any:
        """A value of which this was inferred, such as an argument at which the result is zero."""
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
