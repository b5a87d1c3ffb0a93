"""The Hessian of a compiled function: only the second derivatives that can differ from 0 are computed.

Each entry of the gradient is differentiated over its own part of the graph, which is small if values are coupled in a
chain. The matrix is symmetric, and one half is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from agrad.engine.autodiff.reverse import walk
from agrad.engine.compile.lower.plan import Lowered
from agrad.engine.compile.lower.scalarise import scalarised
from agrad.engine.compile.specializations import Specialization, Specializations, is_of_data
from agrad.engine.core.graph import Node, collect, leading_to
from agrad.engine.core.limits import afford
from agrad.engine.core.tensor import Tensor
from agrad.engine.program.ir import Diverged
from agrad.engine.program.passes import optimised
from agrad.engine.program.trace import as_graph, check_kept, checked, extract, gradient_of, trace
from agrad.engine.values import Array, Shape, Value, np, size_of

Product: TypeAlias = "Callable[[tuple[Value, ...], Sequence[Value]], Sequence[Value]]"


class Hessian:
    """The Hessian of a function by some of its arguments, which have these shapes.

    `product` gives the Hessian times a direction.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        names: Sequence[str],
        shapes: Sequence[Shape],
        wrt: Sequence[int],
        backend: str,
        product: Product,
    ) -> None:
        self.function = f
        self.names = names
        self.shapes = shapes
        self.wrt = wrt
        self.backend = backend
        self.product = product
        self.specializations = Specializations(self._specialized)
        self.is_dense = False  # no program of numbers: then it is made of products with directions

    def call(self, values: tuple[Value, ...]) -> Array:
        """The matrix by all entries of what it is differentiated by."""
        if not self.is_dense:
            try:
                used, found = self._found(_flat(values))
            except Diverged:  # a singular matrix, of which only the operation itself knows the result
                pass
            except _Dense:
                self.is_dense = True
            else:
                return used.matrix(found)
        return self._by_products(values)

    def _by_products(self, values: tuple[Value, ...]) -> Array:
        """The same, a row for each entry: the product with a direction that has a 1 there."""
        shapes = [self.shapes[place] for place in self.wrt]
        size = sum(map(size_of, shapes))
        afford("the Hessian", (size, size))
        matrix = np.empty((size, size))
        for row in range(size):
            unit = np.zeros(size)
            unit[row] = 1.0
            matrix[row] = np.concatenate([np.ravel(x) for x in self.product(values, _split(unit, shapes))])
        return matrix

    def blocks(self, matrix: Array) -> list[list[Value]]:
        """The parts of the matrix, by each two of what it is differentiated by."""
        shapes = [self.shapes[place] for place in self.wrt]
        ends = np.cumsum([0, *map(size_of, shapes)]).tolist()
        parts = [(slice(*ends[place : place + 2]), shape) for place, shape in enumerate(shapes)]
        return [[_block(matrix[i, j], a + b) for j, b in parts] for i, a in parts]

    def _found(self, flat: tuple[float, ...]) -> tuple[_Specialization, Array]:
        """The specialisation that holds, and the second derivatives that vary."""
        used = next(iter(self.specializations.known), None)
        if isinstance(used, _Specialization) and used.native is not None and not used.checks:
            return used, np.frombuffer(used.native.packed(*flat))
        used, found = self.specializations.found(flat)
        assert isinstance(used, _Specialization)
        return used, np.fromiter(found, np.float64, len(found))

    def _specialized(self, flat: tuple[Value, ...]) -> Specialization:
        """The program of the second derivatives that vary, and their pattern."""
        values = _split(np.array(flat), self.shapes)
        traced = trace(self.function, values, self.names, self.wrt)
        check_kept(traced, self.function, values, self.wrt, self.names)
        program = optimised(traced, again=True)
        gradient_of(program, values, ())  # raises the error for a result that is not a number
        numbers = program if program.is_scalar else scalarised(program)
        if numbers is None:
            raise _Dense
        starts = [sum(map(size_of, self.shapes[:place])) for place in self.wrt]
        places = [
            start + entry
            for start, place in zip(starts, self.wrt, strict=True)
            for entry in range(size_of(self.shapes[place]))
        ]
        gradient = optimised(gradient_of(numbers, flat, places), again=True)
        with as_graph(gradient, flat, places) as (results, xs):
            count = 1 + len(places)
            new = _Specialization(results[1:count], [xs[place].node for place in places], self.backend)
            found = extract([*new.varying, *results[count:]], xs, [given.name for given in numbers.inputs])
        new.settle(optimised(checked(found, gradient.checks)))
        return new


class _Dense(Exception):
    """Raised if there is no program of numbers for a function of arrays."""


class _Specialization(Specialization):
    """A specialisation, and the places of its second derivatives in the matrix."""

    def __init__(self, gradient: Sequence[Tensor], xs: Sequence[Node], backend: str) -> None:
        self.constant = np.zeros((len(xs), len(xs)))
        self.varying: list[Tensor] = []
        places: list[tuple[int, int]] = []
        order = {x: number for number, x in enumerate(xs)}
        for row, entry in enumerate(gradient):
            for column, second in _second(entry.node, row, order):
                if isinstance(second, Tensor) and second.node.recorded:
                    self.varying.append(second)
                    places.append((row, column))
                else:
                    number = float(second.value if isinstance(second, Tensor) else second)
                    self.constant[row, column] = self.constant[column, row] = number
        size = len(xs)
        rows, columns = np.array(places, dtype=int).reshape(-1, 2).T
        apart = np.flatnonzero(rows != columns)
        self.places = np.concatenate([rows * size + columns, (columns * size + rows)[apart]])
        self.which = np.concatenate([np.arange(len(places)), apart])
        self.wanted = backend

    def settle(self, program: Any) -> None:
        """Set the program of the second derivatives that vary."""
        size = len(program.steps)
        super().__init__(lambda: program, lambda: Lowered(program), size, self.wanted, is_of_data(program))

    def matrix(self, found: Array) -> Array:
        """The Hessian, with the computed values of the second derivatives that vary."""
        full = self.constant.copy()
        full.reshape(-1)[self.places] = found[self.which]
        return full


def _second(entry: Node, row: int, order: dict[Node, int]) -> Iterator[tuple[int, Any]]:
    """The derivatives of an entry of the gradient, up to the diagonal."""
    if not entry.requires_grad:
        return
    behind = collect([entry])
    targets = [x for x in behind if order.get(x, len(order)) <= row]
    leading = leading_to(behind, targets)
    if entry in leading:
        for x, second in walk(leading, {entry: 1.0}, True, targets).items():
            yield order[x], second


def _flat(values: Sequence[Value]) -> tuple[float, ...]:
    """All entries of all values."""
    if len(values) == 1 and not isinstance(values[0], float):
        return tuple(values[0].ravel().tolist())
    return tuple([x for value in values for x in ([value] if isinstance(value, float) else value.ravel().tolist())])


def _split(flat: Array, shapes: Sequence[Shape]) -> list[Value]:
    """Numbers and arrays of some shapes, of all their entries."""
    values: list[Value] = []
    taken = 0
    for shape in shapes:
        part = flat[taken : taken + size_of(shape)]
        values.append(part.reshape(shape) if shape else float(part[0]))
        taken += len(part)
    return values


def _block(part: Array, shape: Shape) -> Value:
    return part.copy().reshape(shape) if shape else float(part[0, 0])
