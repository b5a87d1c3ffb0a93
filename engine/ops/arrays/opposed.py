"""Why sums and products of entries are nan though no entry is: inf - inf, and 0 * inf; and at which places."""

from __future__ import annotations

from typing import Any

from agrad.engine.values import format_number, np

Why = tuple[str, str]  # what the operation does, and what may be written instead
_FINITE = "where(isfinite(x), x, 0)   leaves out entries that are not finite"


def added(x: Any) -> Why | None:
    """Of a sum: the first inf and the first -inf."""
    pair = [_first(x == end) for end in (np.inf, -np.inf)]
    if None in pair:
        return None
    told = f"inf at {pair[0]} and -inf at {pair[1]}" if x.ndim == 1 else "inf and -inf"  # perhaps of another row
    return f"adds {told}", _FINITE


def multiplied(x: Any) -> Why | None:
    """Of a product of entries: the first 0 and the first that is infinite."""
    zero, infinite = _first(x == 0.0), _first(np.abs(x) == np.inf)
    if zero is None or infinite is None:
        return None
    entry = format_number(float(x[np.abs(x) == np.inf][0]))
    told = f"0 at {zero} by {entry} at {infinite}" if x.ndim == 1 else f"0 by {entry}"  # perhaps of another row
    return f"multiplies {told}", _FINITE


def paired(x: Any, y: Any) -> Why | None:
    """Of a product of two matrices or vectors: the entries that meet in the first entry of the result that is nan."""
    if x.ndim > 2 or y.ndim > 2:
        return None
    rows, columns = np.atleast_2d(x), y if y.ndim == 2 else y[:, None]
    with np.errstate(all="ignore"):
        bad = np.argwhere(np.isnan(rows @ columns))
        if not len(bad):
            return None
        row, column = map(int, bad[0])
        products = rows[row] * columns[:, column]

    def sides(k: Any) -> tuple[str, str]:
        return _shown(int(k) if x.ndim == 1 else (row, int(k))), _shown(int(k) if y.ndim == 1 else (int(k), column))

    meeting = np.flatnonzero(np.isnan(products) & ~np.isnan(rows[row]) & ~np.isnan(columns[:, column]))
    if len(meeting):
        k = meeting[0]
        left, right = (format_number(float(entry)) for entry in (rows[row, k], columns[k, column]))
        at = sides(k)
        return f"multiplies {left} at {at[0]} by {right} at {at[1]}", _FINITE
    ends = [np.flatnonzero(products == end) for end in (np.inf, -np.inf)]
    if not all(map(len, ends)):
        return None
    up, down = (" by ".join(sides(places[0])) for places in ends)
    return f"adds inf and -inf: the products of the entries {up}, and {down}", _FINITE


def _first(holds: Any) -> str | None:
    places = np.argwhere(np.atleast_1d(holds))
    return _shown(tuple(map(int, places[0]))) if len(places) else None


def _shown(place: int | tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, place))}]" if isinstance(place, tuple) else f"[{place}]"
