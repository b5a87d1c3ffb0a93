"""Values from files on the command line: `x=@data.csv`, a column `x=@data.csv:speed`, `x=@x.npy`."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import Array, format_shape, np
from agrad.grammar.diagnostics import suggest
from agrad.grammar.runtime.builtins import FUNCTIONS
from agrad.grammar.runtime.operations import adapted


def from_file(word: str) -> Tensor:
    """The numbers in a file: all of them, or, behind a colon, the column of that name or number (from 0).

    Raises AgradError of kind `file`.
    """
    path, colon, column = word.rpartition(":")
    if not colon or os.path.exists(word) or "/" in column or os.sep in column:
        path, column = word, ""
    if column and not path.endswith(".npy"):
        return _array(np.fromiter(_column(path, column), dtype=np.float64))
    load = "load_npy" if path.endswith(".npy") else "load_csv"
    array: Tensor = FUNCTIONS[load].call(path)
    if not column:
        return array
    if len(array.shape) != 2:
        what = {0: "one number", 1: "a vector"}.get(len(array.shape), f"an array of shape {format_shape(array.shape)}")
        raise AgradError("file", f"{path} is {what}, which has no column {column}", fixes=[f"@{path}   for all of it"])
    count = array.shape[1]
    if not (column.isdecimal() and int(column) < count):
        raise AgradError("file", f"{path} has no column {column}: there are {count}, counted from 0")
    return _array(np.ascontiguousarray(array.value[:, int(column)]))  # type: ignore[index]


def _array(numbers: Array) -> Tensor:
    array: Tensor = adapted(numbers)
    return array


def _column(path: str, column: str) -> Iterator[float]:
    """The entries below a name, or at a place; what else stands on the lines need not be numbers."""
    try:
        with open(os.path.expanduser(path), encoding="utf-8-sig", newline="") as file:
            yield from _entries(path, column, csv.reader(file))
    except FileNotFoundError:
        raise AgradError("file", f"there is no file {path}") from None
    except OSError as problem:
        raise AgradError("file", f"cannot read {path}: {problem.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise AgradError("file", f"cannot read {path}: it is no CSV in UTF-8") from None


def _entries(path: str, column: str, rows: Iterator[list[str]]) -> Iterator[float]:
    first = [entry.strip() for entry in next(rows, [])]
    named = column in first and not all(map(_is_number, first))
    place = first.index(column) if named else int(column) if column.isdecimal() else len(first)
    if place >= len(first):
        listed = ", ".join(first) if len(first) <= 20 else f"{len(first)}, counted from 0"
        fixes = [f"@{path}:{name}" for name in suggest(column, first)]
        raise AgradError("file", f"{path} has no column {column}; its columns are {listed}", fixes=fixes)
    if not named and _is_number(first[place]):
        yield float(first[place])
    for number, row in enumerate(rows, 2):
        if not row:
            continue
        if place >= len(row):
            raise AgradError("file", f"line {number} of {path} has no column {column}")
        if not _is_number(row[place]):
            raise AgradError("file", f"line {number} of {path}: {row[place].strip()!r} in column {column} is no number")
        yield float(row[place])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
