"""Numbers in lists of lists, as text."""

from __future__ import annotations

from collections.abc import Sequence

from agrad.engine.values import Shape, size_of


def nested(entries: Sequence[str], shapes: Sequence[Shape]) -> list[str]:
    """Entries as a text for each shape: the entry itself, or in brackets, row by row."""
    parts, begin = [], 0
    for shape in shapes:
        end = begin + size_of(shape)
        parts.append(_nested(entries[begin:end], shape))
        begin = end
    return parts


def _nested(entries: Sequence[str], shape: Shape) -> str:
    if not shape:
        return entries[0]
    step = size_of(shape[1:])
    rows = [_nested(entries[place * step : (place + 1) * step], shape[1:]) for place in range(shape[0])]
    return f"[{', '.join(rows)}]"
