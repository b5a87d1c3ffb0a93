"""The sums over points that least squares need, for one set of parameters: of parts of the data, and joined.

The sums of parts are joined two by two in a binary tree, whose leaves are the parts in their order. So the result has
the same bits whoever computes which part, and in which groups they are joined, as long as each is a node of the tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from math import sqrt
from typing import Any, NamedTuple

from agrad.engine.errors import AgradError
from agrad.engine.values import Array, np

# For some parameters: of each piece of the data a new table, what was measured, and the standard uncertainties of
# that, if they are known. The rows of the table are the derivatives of the model, and its values.
Pieces = Callable[[Array], Iterable[tuple[Array, Array, "Array | float | None"]]]

GROUP = 16  # parts whose sums may be joined by themselves: a power of 2, so that they are a node of the tree
_CONDITION = 1e3  # of J, its columns scaled to length 1, up to which R follows from sums of products
_TINY = 1e-140  # length of a column, from which on its products are above the smallest numbers
_PRODUCTS = 200_000  # of entries of two matrices, for the same
_ENTRIES = 8192  # of a vector or matrix, up to which BLAS starts no threads: their number would show in the last digits


class Ask(NamedTuple):
    """What is to be summed: at the parameters p, R piece by piece, or the products; and what was measured."""

    p: Array
    by_pieces: bool
    moments: bool = True


class Sums:
    """The sums over some points: products of the columns of [J | r], or R of a QR decomposition of that.

    `count`, `mean`, `spread`: of what was measured, its number, its mean and the squares of the differences from that;
    `rss`: the sum of the squares of r, unweighted.
    """

    def __init__(self, ask: Ask) -> None:
        size = len(ask.p) + 1
        self.by_pieces, self.moments = ask.by_pieces, ask.moments
        self.table = np.zeros((size, size))  # R, or the products, without those of r with J
        self.rss = 0.0
        self.is_weighted = False
        self.count, self.mean, self.spread = 0, 0.0, 0.0

    def take(self, table: Array, y: Array, sigma: Array | float | None) -> None:
        """Add a piece of the data, whose table is written over. Raises AgradError of kind `domain`."""
        if not len(y):
            return
        if self.moments:
            mean = float(np.mean(y))
            self._take_moments(len(y), mean, _square(y - mean))
        table[-1] -= y
        self.rss += _square(table[-1])
        if sigma is not None:
            self.is_weighted = True
            if not np.all((np.asarray(sigma) > 0) & np.isfinite(sigma)):
                raise AgradError("domain", "fit: sigma must be positive and finite: a number, or one for each point")
            table /= sigma
        if self.by_pieces:
            self._take_rows(table)
        else:
            self._take_products(table)

    def joined(self, other: Sums) -> Sums:
        """New sums, over these points and others, which come after them."""
        found = copy(self)
        found._take_moments(other.count, other.mean, other.spread)
        found.rss += other.rss
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
        length = max(min(_PRODUCTS // len(table) ** 2, _ENTRIES // 2), 1)
        for begin in range(0, table.shape[1], length):
            part = table[:, begin : begin + length]
            self.table[:-1] += part[:-1] @ part.T
            self.table[-1, -1] += part[-1] @ part[-1]

    def factor(self) -> Array | None:
        """R of [J | r]: None where the products do not give it to ten digits, not finite where J or r is not."""
        return self.table if self.by_pieces else _from_products(self.table)


def _square(x: Array) -> float:
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


class Tree:
    """The sums of parts, joined as they come: few of them are kept, one for each level of the tree."""

    def __init__(self) -> None:
        self.nodes: list[tuple[int, Sums]] = []  # with the number of parts in each, from left to right

    def add(self, sums: Sums) -> None:
        """Add those of the next part, or of as many parts as those before."""
        count = 1
        while self.nodes and self.nodes[-1][0] == count:
            sums = self.nodes.pop()[1].joined(sums)
            count *= 2
        self.nodes.append((count, sums))

    def total(self) -> Sums:
        """All of them joined. There must be one."""
        _, found = self.nodes.pop()
        while self.nodes:
            found = self.nodes.pop()[1].joined(found)
        return found


def joined(several: Iterable[Sums]) -> Sums:
    """The sums of parts that follow each other: of all, or of a group as `GROUP` says."""
    tree = Tree()
    for sums in several:
        tree.add(sums)
    return tree.total()


def summed(ask: Ask, pieces: Iterable[tuple[Array, Array, Any]]) -> Sums:
    """The sums over the pieces of one part."""
    sums = Sums(ask)
    for table, y, sigma in pieces:
        sums.take(table, y, sigma)
    return sums
