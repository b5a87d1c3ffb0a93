"""Sums over points of which least squares are made: by parts of the data, each of which is read once.

The sums of parts are joined two by two in a binary tree, whose leaves are the parts in their order: so errors of
rounding stay small, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from math import isfinite, sqrt
from typing import Any, NamedTuple

from agrad.engine.errors import AgradError
from agrad.engine.ops.solvers.losses import Loss
from agrad.engine.values import Array, np

# For some parameters: of each piece of the data a new table, what was measured, and the standard uncertainties of
# that, if they are known. The rows of the table are the derivatives of the model, and its values.
Pieces = Callable[[Array], Iterable[tuple[Array, Array, "Array | float | None"]]]
Bends = Callable[[Array], Iterable[Array]]  # of each piece the second derivatives: for each parameter, a row for each

_CONDITION = 1e3  # of J, its columns scaled to length 1, up to which R follows from sums of products
_TINY = 1e-140  # length of a column, from which on its products are above the smallest numbers
_PRODUCTS = 200_000  # of entries of two matrices, for the same
_LEAST_BEND = 0.1  # of a loss, as a part of its weight: a search needs a bend that is positive
_ENTRIES = 8192  # of a vector or matrix, up to which BLAS starts no threads: their number would show in the last digits


class Ask(NamedTuple):
    """What is to be summed: at the parameters p, R piece by piece, or the products; and what was measured."""

    p: Array
    by_pieces: bool
    moments: bool = True
    loss: Loss | None = None


class Covariance(NamedTuple):
    """That of measurements that are correlated: the variances, what makes them independent, and the log determinant."""

    variances: Array
    whitening: Array
    log: float

    @classmethod
    def of(cls, matrix: Array) -> Covariance:
        """That of a matrix. Raises AgradError of kind `domain` where it is none."""
        is_symmetric = np.isfinite(matrix).all() and np.allclose(matrix, matrix.T, rtol=1e-9, atol=0)
        try:
            left = np.linalg.cholesky(matrix if is_symmetric else -np.eye(1))
        except np.linalg.LinAlgError:
            why = "not positive definite" if is_symmetric else "not symmetric"
            raise AgradError("domain", f"fit: the matrix in sigma is no covariance of measurements: {why}") from None
        log = 2.0 * float(np.sum(np.log(np.diag(left))))
        return cls(np.diag(matrix).copy(), np.linalg.inv(left), log)


class Sums:
    """The sums over some points: products of the columns of [J | r], or R of a QR decomposition of that.

    `count`, `mean`, `spread`: of what was measured, its number, its mean and the squares of the differences from that;
    `rss`: the sum of the squares of r, unweighted; `chi2`: of r divided by its uncertainties, and `logs` the sum of the
    logarithms of the squares of these.

    With a loss, the rows of the table are such that its products are the slope of half the cost, and a bend that is
    positive; `bend` is the true one, `meat` the products of the slopes of the points, `beyond` the number of residuals
    over the scale.
    """

    def __init__(self, ask: Ask) -> None:
        size = len(ask.p) + 1
        self.by_pieces, self.moments = ask.by_pieces, ask.moments
        self.table = np.zeros((size, size))  # R, or the products, without those of r with J
        self.rss = self.chi2 = self.logs = self.cost = 0.0
        self.is_weighted = False
        self.loss, self.beyond = ask.loss, 0
        self.bend, self.meat = np.zeros((2, size - 1, size - 1))
        self.count, self.mean, self.spread = 0, 0.0, 0.0

    def take(self, table: Array, y: Array, sigma: Any) -> None:
        """Add a piece of the data, whose table is written over. Raises AgradError of kind `domain`."""
        if not len(y):
            return
        if self.moments:
            mean = float(np.mean(y))
            self._take_moments(len(y), mean, square(y - mean))
        table[-1] -= y
        self.rss += square(table[-1])
        if sigma is not None:
            self.is_weighted = True
            table = self._divided(table, sigma)
        self.chi2 += square(table[-1])
        if self.loss is not None:
            self._take_slopes(table, self.loss)
        if self.by_pieces:
            self._take_rows(table)
        else:
            self._take_products(table)

    def _divided(self, table: Array, sigma: Any) -> Array:
        """A table whose columns have the variance 1."""
        if isinstance(sigma, Covariance):
            self.logs += sigma.log
            return np.array(table @ sigma.whitening.T)
        if not np.all((np.asarray(sigma) > 0) & np.isfinite(sigma)):
            raise AgradError("domain", "fit: sigma must be positive and finite: a number, or one for each point")
        self.logs += 2.0 * float(np.sum(np.log(np.broadcast_to(sigma, table.shape[1]))))
        table /= sigma
        return table

    def _take_slopes(self, table: Array, loss: Loss) -> None:
        """Add the cost of the residuals, and make rows of the table of which the products are its slope and bend."""
        slopes, residuals = table[:-1], table[-1]
        cost, weight, bend = loss.of(residuals)
        self.cost += float(np.einsum("i->", cost))
        self.beyond += int(np.count_nonzero(np.abs(residuals) > loss.scale))
        half = weight * residuals
        for begin in range(0, len(half), self._length):
            here = slice(begin, begin + self._length)
            self.bend += (slopes[:, here] * bend[here]) @ slopes[:, here].T
            self.meat += (slopes[:, here] * half[here] ** 2) @ slopes[:, here].T
        root = np.sqrt(np.maximum(bend, _LEAST_BEND * weight))
        slopes *= root
        residuals *= np.divide(weight, root, out=np.zeros_like(root), where=root > 0.0)

    def joined(self, other: Sums) -> Sums:
        """New sums, over these points and others, which come after them."""
        found = copy(self)
        found._take_moments(other.count, other.mean, other.spread)
        for name in ("rss", "chi2", "logs", "cost", "beyond", "bend", "meat"):
            setattr(found, name, getattr(self, name) + getattr(other, name))
        found.is_weighted = self.is_weighted or other.is_weighted
        if self.by_pieces:
            found._take_rows(other.table.T)
        else:
            found.table = self.table + other.table
        return found

    def _take_moments(self, count: int, mean: float, spread: float) -> None:
        """Add those of other points (Chan, Golub and LeVeque, The American Statistician 37, 1983)."""
        total, distance = max(self.count + count, 1), mean - self.mean
        self.spread += spread + distance**2 * self.count * count / total
        self.mean += distance * count / total
        self.count += count

    def _take_rows(self, table: Array) -> None:
        """Add the columns of a table, as rows of [J | r], to its QR decomposition."""
        size = len(table)
        length = max(_ENTRIES // size - size, size)
        for begin in range(0, table.shape[1], length):
            whole = np.concatenate([self.table.T, table[:, begin : begin + length]], axis=1)
            self.table = np.array(np.linalg.qr(whole.T, mode="r"))

    def _take_products(self, table: Array) -> None:
        """Add the products of the rows of a table, in matrices for which BLAS starts no threads.

        Those of J with [J | r], and of r with itself: of a matrix with itself, BLAS computes one half, which takes
        twice as long where there are few rows.
        """
        for begin in range(0, table.shape[1], self._length):
            part = table[:, begin : begin + self._length]
            self.table[:-1] += part[:-1] @ part.T
            self.table[-1, -1] += part[-1] @ part[-1]

    @property
    def _length(self) -> int:
        """The number of rows of which products are added at once."""
        return max(min(_PRODUCTS // len(self.table) ** 2, _ENTRIES // 2), 1)

    def factor(self) -> Array | None:
        """R of [J | r]: None where the products do not give it to ten digits, not finite where J or r is not.

        With a loss, the square of the length of its last column is the cost.
        """
        found = self.table if self.by_pieces else _from_products(self.table)
        return found if found is None or self.loss is None else _of_cost(found, self.cost)


def square(x: Array) -> float:
    """The sum of the squares of a vector; BLAS would start threads."""
    return float(np.einsum("i,i", x, x))


def _from_products(gram: Array) -> Array | None:
    """R of [J | r] from the products of the columns of J with it, and of r with r; None where that loses digits."""
    scale = np.sqrt(np.diag(gram)[:-1])
    if not np.isfinite(gram).all() or not np.all(scale > _TINY):
        return None
    normed = gram[:-1, :-1] / np.outer(scale, scale)
    if np.linalg.cond(normed) > _CONDITION**2:
        return None
    left = np.linalg.cholesky(normed)
    factor = np.zeros_like(gram)
    factor[:-1, :-1] = left.T * scale
    factor[:-1, -1] = np.linalg.solve(left, gram[:-1, -1] / scale)
    factor[-1, -1] = sqrt(max(gram[-1, -1] - float(np.sum(factor[:-1, -1] ** 2)), 0.0))
    return factor


def _of_cost(factor: Array, cost: float) -> Array:
    """R of a slope and a bend that have this cost; where they promise to lower it below 0, the bend is made larger."""
    found = factor.copy()
    promised = square(found[:-1, -1])
    if promised > cost > 0.0:
        ratio = sqrt(promised / cost)
        found[:-1, :-1] *= ratio
        found[:-1, -1] /= ratio
    found[-1, -1] = sqrt(max(cost - square(found[:-1, -1]), 0.0)) if isfinite(cost) else cost
    return found


def joined(several: Iterable[Sums]) -> Sums:
    """The sums of all parts, in their order. There must be one.

    They are joined as they come: few are kept, one for each level of the tree.
    """
    nodes: list[tuple[int, Sums]] = []  # with the number of parts in each, from left to right
    for sums in several:
        found, count = sums, 1
        while nodes and nodes[-1][0] == count:
            found = nodes.pop()[1].joined(found)
            count *= 2
        nodes.append((count, found))
    _, found = nodes.pop()
    while nodes:
        found = nodes.pop()[1].joined(found)
    return found


def summed(ask: Ask, pieces: Iterable[tuple[Array, Array, Any]]) -> Sums:
    """The sums over the pieces of one part."""
    sums = Sums(ask)
    for table, y, sigma in pieces:
        sums.take(table, y, sigma)
    return sums


Total = Callable[[Ask], Sums]  # over all points
