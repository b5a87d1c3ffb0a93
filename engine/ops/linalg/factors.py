"""Systems of equations with one matrix: its factors are kept as long as the matrix is, for those that follow.

A backward pass solves a system with the transpose of the matrix, for each operand, and a loop may solve many with the
same one. LAPACK's functions for that come with SciPy; without it, each system is solved by itself.
"""

from __future__ import annotations

import weakref
from functools import cache
from typing import Any, NamedTuple

from agrad.engine.errors import AgradError
from agrad.engine.extras import linear_algebra
from agrad.engine.values import Array, np, require_room

_FEWEST = 32  # rows; with fewer, numpy's function takes no longer
_MOST = 64  # matrices at a time
_EPSILON = 2.0**-52
_ALONE = 10_000  # entries that one thread factorises
_STACK = 2**26 + 2**20  # bytes for its threads: more than is kept of what was freed, so that the system is asked


class _Factors(NamedTuple):
    """Those of a matrix."""

    matrix: Array  # as it was then: it may have been written since
    lu: Array  # of a lower triangle, its transpose
    rows: Any  # those that were exchanged; None for a lower triangle


_KNOWN: dict[int, tuple[weakref.ref[Any], _Factors]] = {}  # by the identity of the array that has the data


def solved(x: Array, y: Array) -> Array | None:
    """The solution of one system x @ s = y; None where there is nothing to gain, or x is singular."""
    if x.ndim != 2 or y.ndim > 2 or len(x) < _FEWEST or not y.size:
        return None
    lapack = _lapack()
    if lapack is None:
        return None
    is_turned = not x.flags.c_contiguous
    matrix = x.T if is_turned else x
    factors = _factors(lapack, matrix) if matrix.flags.c_contiguous else None
    if factors is None:
        return None
    if factors.rows is None and y.ndim == 2:  # transposed, so that LAPACK's order of entries is numpy's
        return linear_algebra("_fblas").dtrsm(1.0, factors.lu, y.T, side=1, trans_a=is_turned).T  # type: ignore[no-any-return]
    if factors.rows is None:
        found, failed = lapack.dtrtrs(factors.lu, y, trans=not is_turned)
    else:
        found, failed = lapack.dgetrs(factors.lu, factors.rows, y, trans=is_turned)
    return None if failed else np.ascontiguousarray(found)


@cache
def _lapack() -> Any:
    try:
        return linear_algebra("_flapack")
    except AgradError:
        return None


def _factors(lapack: Any, matrix: Array) -> _Factors | None:
    owner: Any = matrix if matrix.base is None else matrix.base
    found = _KNOWN.get(id(owner))
    if found is not None and found[0]() is owner and np.array_equal(found[1].matrix, matrix):
        return found[1]
    copy = matrix.copy()
    if not matrix[0, 1:].any() and not np.triu(matrix, 1).any():
        factors = _Factors(copy, copy.T, None)
    else:
        if copy.size > _ALONE:
            require_room(_STACK)
        lu, rows, _ = lapack.dgetrf(copy)
        factors = _Factors(copy, lu, rows)
    pivots = np.abs(factors.lu.diagonal())
    if not pivots.min() > len(pivots) * _EPSILON * pivots.max():  # nearly singular, or nan: numpy's function says what
        return None
    if len(_KNOWN) < _MOST and isinstance(owner, np.ndarray):
        number = id(owner)
        _KNOWN[number] = weakref.ref(owner, lambda _: _KNOWN.pop(number, None)), factors
    return factors
