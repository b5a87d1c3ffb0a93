"""Matrices at a prompt: their rows under each other, their columns aligned on the points, folded between columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agrad.engine.values import MANY, format_number, format_value


def format_rows(array: Any, precision: int | None = 10, width: int | None = None) -> str:
    """An array of two axes or more, its rows under each other and its columns aligned on the points.

    A matrix that is wider than `width` is folded between columns, each part below what selects it, such as `[:, 0:8]`.
    An array that `format_value` shows in part, and one without entries, is as it is there.
    """
    if array.ndim < 2 or not array.size or array.size > MANY:
        return format_value(array, precision)
    rows = array.reshape(-1, array.shape[-1])
    columns = [_aligned([format_number(float(entry), precision) for entry in column]) for column in rows.T]
    room = None if width is None else width - 2 * array.ndim
    if room is None or array.ndim > 2 or sum(map(_extent, columns)) <= room:
        return _nested([", ".join(row).rstrip() for row in _rows_of(columns)], array.shape[:-1])
    parts, start = [], 0
    while start < len(columns):
        end = start + 1
        while end < len(columns) and sum(map(_extent, columns[start : end + 1])) <= room:
            end += 1
        texts = [", ".join(row).rstrip() for row in _rows_of(columns[start:end])]
        parts.append(f"[:, {start}:{end}]\n{_nested(texts, array.shape[:-1])}")
        start = end
    return "\n".join(parts)


def _extent(column: list[str]) -> int:
    return max(map(len, column)) + len(", ")


def _aligned(texts: list[str]) -> list[str]:
    """Numbers padded so that their points, or their ends where they have none, are below each other."""
    before = [min(text.find(sign) if sign in text else len(text) for sign in (".", "e")) for text in texts]
    return [" " * (max(before) - size) + text for size, text in zip(before, texts, strict=True)]


def _rows_of(columns: list[list[str]]) -> Iterator[list[str]]:
    """The rows of a table, each entry behind the blanks that the one before it lacks."""
    widths = [max(map(len, column)) for column in columns]
    for row in zip(*columns, strict=True):
        gaps = [0, *(width - len(text) for width, text in zip(widths, row, strict=True))]
        yield [" " * gap + text for gap, text in zip(gaps, row, strict=False)]


def _nested(rows: list[str], shape: tuple[int, ...], depth: int = 1) -> str:
    """Rows in the brackets of an array whose axes but the last have this shape."""
    if len(shape) == 1:
        return "[" + f",\n{' ' * depth}".join(f"[{row}]" for row in rows) + "]"
    step = len(rows) // shape[0]
    parts = [_nested(rows[at : at + step], shape[1:], depth + 1) for at in range(0, len(rows), step)]
    return "[" + f",\n{' ' * depth}".join(parts) + "]"
