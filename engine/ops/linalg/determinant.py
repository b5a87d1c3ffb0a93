"""Derivatives of the determinant, of all orders, exact also where the matrix is singular.

The determinant is a polynomial of degree one in each entry. Its (m+1)-th derivative in the directions G1, …, Gm, with
the last direction left open, is a matrix that is symmetric and linear in G1, …, Gm: one operation of A, G1, …, Gm,
whose own derivatives are the same operation with one direction more, or with one exchanged. m = 0: the cofactors.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from string import ascii_lowercase
from typing import Any

from agrad.engine.core.dispatch import row
from agrad.engine.core.op import Function
from agrad.engine.ops.linalg.expansions import determinant as expanded
from agrad.engine.ops.linalg.expansions import each
from agrad.engine.values import np, shape_of

_UNROLLED = 5  # rows of a matrix whose minors are written down
_AFFORDABLE = 2_000_000  # entries of all minors together, up to which they are computed one by one


def _form(*xs: Any) -> Any:
    a, *directions = xs
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in xs))
    if batch:
        spread = [np.broadcast_to(x, batch + x.shape[-2:]) for x in xs]
        results = np.empty(batch + a.shape[-2:])
        for place in np.ndindex(*batch):
            results[place] = _form(*(x[place] for x in spread))
        return results
    if not directions:
        value = np.linalg.det(a)
        if np.isfinite(value) and value != 0.0:
            return value * np.linalg.inv(a).T
    size, cost = len(a), 1.0
    for m in range(len(xs)):
        cost *= max(size - m, 0) ** 2
    if cost * max(size - len(xs), 1) ** 2 <= _AFFORDABLE or not np.isfinite(a).all():
        return _by_minors(a, *directions)
    return _by_singular_values(a, *directions)


def _minors(a: Any) -> Any:
    """Every matrix with one row and one column struck out: two leading axes more, for the row and the column."""
    size = a.shape[-1]
    others = np.array([[other for other in range(size) if other != one] for one in range(size)], dtype=int)
    others = others.reshape(size, size - 1)
    return a[..., others[:, None, :, None], others[None, :, None, :]]


def _by_minors(a: Any, *directions: Any, determinant: Function = lambda minors: np.linalg.det(minors)) -> Any:
    """Signed minors; with directions, their derivatives in these."""
    size = a.shape[-1]
    if size <= len(directions):
        return np.zeros(a.shape)
    minors = _minors(a)
    if directions:
        *first, last = (_minors(direction) for direction in directions)
        values = np.add.reduce(_by_minors(minors, *first, determinant=determinant) * last, axis=(-2, -1))
    else:
        values = determinant(minors)
    return values * (-1.0) ** np.add.outer(np.arange(size), np.arange(size))


def _unrolled(*xs: Any) -> Any:
    """The form of symbols; None for matrices that are too large."""

    def form(*each_one: Any) -> Any:
        return _by_minors(*each_one, determinant=lambda minors: expanded(minors, _UNROLLED))

    return each(form, *xs, most=_UNROLLED)


def _by_singular_values(a: Any, *directions: Any) -> Any:
    """The same through A = U S V': a derivative of det(S) is a sum over permutations of the directions.

    A term takes one entry of each direction, in different rows and columns, and the product of the singular values of
    all other rows.
    """
    u, s, vt = np.linalg.svd(a)
    size, order = len(s), len(directions) + 1
    rotated = [u.T @ direction @ vt.T for direction in directions]
    rest = _products_of_others(s, order)
    result = np.zeros((size, size))
    letters = "abcdefghijklmnopqrstuvwxyz"[:order]
    for targets in permutations(range(order)):
        operands = [rest, *rotated]
        entries = [letters[place] + letters[targets[place]] for place in range(order)]
        sign = _sign(targets)
        if targets[-1] == order - 1:
            terms = np.einsum(f"{letters},{','.join(entries[:-1])}->{letters[-1]}", *operands) if rotated else rest
            result[np.diag_indices(size)] += sign * terms
        else:
            result += sign * np.einsum(f"{letters},{','.join(entries[:-1])}->{entries[-1]}", *operands)
    return np.linalg.det(u) * np.linalg.det(vt) * (u @ result @ vt)


def _products_of_others(s: Any, order: int) -> Any:
    """For each choice of `order` different places, the product of the entries of s at all others; 0 where two agree."""
    size = len(s)
    grid = np.indices((size,) * order).reshape(order, -1)
    chosen = np.zeros((grid.shape[1], size), dtype=int)
    for places in grid:
        chosen[np.arange(grid.shape[1]), places] += 1
    products = np.prod(np.where(chosen > 0, 1.0, s), axis=1)
    return np.where(chosen.max(axis=1) > 1, 0.0, products).reshape((size,) * order)


def _sign(targets: tuple[int, ...]) -> float:
    inversions = sum(a > b for place, a in enumerate(targets) for b in targets[place + 1 :])
    return -1.0 if inversions % 2 else 1.0


def _rule(g: Any, out: Any, *xs: Any, which: int) -> Any:
    a, *directions = xs
    if which == 0:
        return minor_form([a, *directions, g])
    others = [direction for place, direction in enumerate(directions, 1) if place != which]
    return minor_form([a, *others, g])


def _of_factors(factors: Any, turned: bool) -> Any:
    """The cofactors of a regular matrix: its determinant times its inverse, transposed."""
    value, inverse = factors.determinant, factors.inverse(not turned)
    return value * inverse if inverse is not None and np.isfinite(value) and value != 0.0 else None


def _units(operands: Sequence[Any], attrs: Any) -> str:
    """A cofactor is a product of entries; a direction is in the place of one of them."""
    letters = ascii_lowercase[: len(operands)]
    return f"{', '.join(letters)} -> a^{shape_of(operands[0])[-1] - len(operands)}{letters[1:]}"


minor_form: Function = row(
    "minor_form",
    "*xs",
    units=_units,
    title="Cofactors",
    array=_form,
    unrolled=_unrolled,
    rules={"xs": ("xs", _rule)},
    by_factors=_of_factors,
    doc="The matrix of the cofactors, or its derivative in given directions.",
)
