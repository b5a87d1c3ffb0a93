"""A derivative multiplied with many directions: several at once where there are rules for that, else one by one.

Where a Jacobian or a Hessian would be too long entry by entry, it is made of such products, each of which is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from agrad.engine.compile.derive import NotBatched
from agrad.engine.program.ir import spans
from agrad.engine.values import Array, Shape, Value, np, size_of

Product: TypeAlias = "Callable[[tuple[Value, ...], Sequence[Value]], tuple[Any, Sequence[Value]]]"
_AT_ONCE = 2**17  # entries of an intermediate result of several products
_KEPT = 2**18  # entries of directions that are kept


class Products:
    """Products of a function's derivative at some values with directions, which consist of parts of these shapes.

    `one` gives the specialisation by which a product is computed, and its parts; `several`, which may raise NotBatched,
    those of several along a new first axis. None where these have no rules, or gain nothing.
    """

    def __init__(self, one: Product, several: Product | None, shapes: Sequence[Shape], largest: int) -> None:
        """`largest`: entries of an intermediate result."""
        self.one, self.several, self.shapes = one, several, shapes
        self.at_once = max(1, _AT_ONCE // largest)
        self._kept: tuple[Any, list[list[Value]]] | None = None

    def of(self, values: tuple[Value, ...], vectors: Sequence[Array]) -> Array | Iterable[Array]:
        """The products with vectors, each as a vector, of which there may be more; all as rows, if made at once."""
        count = min(len(vectors), self.at_once)
        if self.several is not None and count > 1:
            try:
                given = [self.several(values, parts)[1] for parts in self._batches(vectors, count)]
                found = [np.concatenate([np.reshape(x, (count, -1)) for x in one], axis=1) for one in given]
                return found[0] if len(found) == 1 else np.concatenate(found)
            except NotBatched:
                self.several = None
        each = (self.one(values, parts_of(vector, self.shapes))[1] for vector in vectors)
        return (np.concatenate([*map(np.ravel, one)]) for one in each)

    def _batches(self, vectors: Sequence[Array], count: int) -> list[list[Value]]:
        """The vectors, so many at a time, the last filled up with zeros; kept for the next call unless large."""
        if self._kept is not None and self._kept[0] is vectors:
            return self._kept[1]
        filled = np.zeros((-(-len(vectors) // count) * count, sum(map(size_of, self.shapes))))
        filled[: len(vectors)] = vectors
        parts = list(zip(spans(map(size_of, self.shapes)), self.shapes, strict=True))
        found: list[list[Value]] = [
            [np.ascontiguousarray(rows[:, x.start : x.stop]).reshape(count, *shape) for x, shape in parts]
            for rows in filled.reshape(-1, count, filled.shape[1])
        ]
        if filled.size <= _KEPT:
            self._kept = vectors, found
        return found


def parts_of(flat: Array, shapes: Sequence[Shape]) -> list[Value]:
    """Numbers and arrays of some shapes, of all their entries."""
    parts = zip(spans(map(size_of, shapes)), shapes, strict=True)
    return [flat[one.start : one.stop].reshape(shape) if shape else float(flat[one.start]) for one, shape in parts]


def blocks(matrix: Array, rows: Sequence[Shape], columns: Sequence[Shape]) -> list[list[Value]]:
    """The parts of a matrix, by parts of these shapes of what its rows and its columns stand for."""
    by_row, by_column = [
        [(slice(one.start, one.stop), x) for one, x in zip(spans(map(size_of, shapes)), shapes, strict=True)]
        for shapes in (rows, columns)
    ]
    return [
        [matrix[i, j].copy().reshape(a + b) if a + b else float(matrix[i, j][0, 0]) for j, b in by_column]
        for i, a in by_row
    ]
