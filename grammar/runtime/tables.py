"""Tables in the language: their columns as attributes, their indices, their rows in arithmetic.

A table is `engine/ops/tables`'s. Where the language needs an array, it takes its matrix.
"""

from __future__ import annotations

from typing import Any

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError, Hint, Label, Note, UnknownColumn, WrongAttribute
from agrad.engine.ops.tables import Table, Texts, as_operand, column, matrix
from agrad.grammar.diagnostics import Span
from agrad.grammar.runtime import attributes
from agrad.grammar.values.lists import List


def attribute(value: Any, name: str) -> Any:
    """`t.name`: a column, the names of all, or what the matrix has. Raises AgradError."""
    if isinstance(value, Texts):
        return attributes.attribute(as_operand(value), name)
    if name == "columns":
        return value.columns
    if name in value.columns or not _is_of_arrays(name):
        return _advised(value, name)
    return (len(value), len(value.columns)) if name == "shape" else attributes.attribute(matrix(value), name)


def callee(value: Any, name: str) -> Any:
    """The array that `t.name(…)` is a method of. Raises AgradError where there is no such method."""
    if isinstance(value, Table) and (name in value.columns or not _is_of_arrays(name)):
        _advised(value, name)
        message = f"{name} is a column, and no function: leave out the brackets"
        raise AgradError("type", message, fixes=[Hint(f".{name}")], facts=WrongAttribute(f"{name}()", (f".{name}",)))
    return as_operand(value)


def _is_of_arrays(name: str) -> bool:
    return name in attributes.ATTRIBUTES or name in attributes.METHODS or name in FUNCTIONS


def entry(table: Table, index: Any) -> Any:
    """`t[index]`, where lists are as they are written: of names, or of numbers. Raises AgradError."""
    parts = tuple(map(_plain, index)) if isinstance(index, tuple) else _plain(index)
    return _advised(table, parts) if isinstance(parts, str) else table[parts]


def _plain(index: Any) -> Any:
    if type(index) is not List:
        return index
    return list(index) if any(isinstance(part, str) for part in index) else index.stacked()


def _advised(table: Table, name: str) -> Any:
    """The column of that name. Raises AgradError, whose facts say which columns there are."""
    try:
        return column(table, name)
    except AgradError as problem:
        if isinstance(problem.facts, UnknownColumn):  # columns of numbers first, which a fix may compute with
            columns = sorted(table.columns, key=lambda one: isinstance(table[:, table.columns.index(one)], Texts))
            problem.facts = UnknownColumn(name, tuple(columns), False)
        raise


def note_on(table: Table, index: Any, span: Span) -> Note | None:
    """What to say of an index that is a column of a table and would be a row of a matrix; None if it cannot be."""
    number = index if isinstance(index, float) else getattr(index, "value", None)
    if not isinstance(number, float) or not number.is_integer():
        return None
    place = int(number)
    if not (-len(table) <= place < len(table) and -len(table.columns) <= place < len(table.columns)):
        return None
    message = f"one index of a table is a column, here {table.columns[place]}, and not a row"
    name = span.text.partition("[")[0]
    has_texts = any(isinstance(table[:, one], Texts) for one in range(len(table.columns)))
    end = place + 1 if place != -1 else ""
    row = f"{name}[{place}:{end}]" if has_texts else f"{name}[{place}, :]"
    fixes = [Hint(f"{name}[:, {place}]   says the column"), Hint(f"{row}   is the row")]
    return Note(message, labels=[Label(span)], fixes=fixes)
