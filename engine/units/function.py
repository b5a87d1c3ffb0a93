"""The units of functions that are traced: equations between what is known of their arguments and of what they use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from agrad.engine.core.graph import Node
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.units.infer import Inference, Quantity
from agrad.engine.units.quantity import ONE
from agrad.engine.units.unit import named, times


class Function:
    """The units of the arguments of a function, and of its result.

    `given`: for each argument, values that are in its unit; of none, it is unknown, and follows from the function.
    `is_one`: the entries of the result have one unit.
    A function that is called within another one adds its equations to those of that. Raises AgradError of kind `unit`.
    """

    result: Quantity

    def __init__(self, *given: Sequence[Any], is_one: bool = True) -> None:
        self.is_one = is_one
        self.work = Inference.current()
        self.arguments = [self._common(values) for values in given]

    def _common(self, values: Sequence[Any]) -> Quantity:
        found = self.work.unknown()
        for value in values:
            other = self.work.quantity(value)
            if not self.work.equal(found.dim, other.dim):
                words = [named(self.work.solid(one)) for one in (found, other)]
                raise AgradError("unit", f"{words[0]} and {words[1]} are no places of one variable")
            found = other if found.shown is None else found
        return found

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
        """Infer what a call has given: of a list, each entry by itself where nothing is asked of all of them."""
        node = getattr(y, "node", None)
        if node is not None and node.op is OPS["stack"] and not self.is_one:
            self.work.of([x for x in node.inputs if isinstance(x, Node)])
        else:
            self.result = self.work.quantity(y)

    def of(self, value: Any, found: Quantity) -> Any:
        """A value of which this was inferred, such as an argument at which the result is zero."""
        x = value if isinstance(value, Tensor) else tensor(value)
        self.work.known[x.node] = found
        if self.work.is_known(x.node):
            x.node.recorded, x.node.unit = True, self.work.unit(x.node) if self.work.solid(found) else ONE
        return x

    def of_any(self, entries: Tensor) -> None:
        """A vector of numbers of different units, each in SI units, of which only a solver takes the entries."""
        entries.node.unit = ONE

    def product(self) -> Quantity:
        """That of an integral: of the result times the argument."""
        x, y = self.arguments[0], self.result
        return Quantity(times((x.dim, 1), (y.dim, 1)), None, times((y.symbols, 1), (x.symbols, 1)))
