"""JSON lines: an object on each line, whose fields are columns.

pyarrow reads a block if it is installed and all that is asked for are numbers; otherwise, and if it refuses a block,
Python's `json` reads it, which knows the place of each entry. true and false are 1 and 0, as in Parquet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import nan
from typing import Any, BinaryIO

from agrad.engine.data.csv_tables import TextForm
from agrad.engine.data.tables import NOTHING, Wanted, pyarrow
from agrad.engine.data.text_tables import SHOWN, Block, Row, TextTable
from agrad.engine.errors import AgradError, Hint, Label, Span
from agrad.engine.text import truncate


class JsonLinesTable(TextTable):
    """A file of JSON lines, or a stream of them. The columns are the fields of the objects in its first block."""

    what = "JSON lines"

    fast = True

    def __init__(self, path: str, stream: BinaryIO | None, form: TextForm) -> None:
        self.na = frozenset(form.na)
        super().__init__(path, stream, 0, form.encoding)

    def _begin(self) -> None:
        """See TextTable."""
        if self.head.lstrip()[:1] == b"[":
            message = f"{self.path} is one array of JSON, not an object on each line"
            raise AgradError("file", message, fixes=[Hint(f"jq -c '.[]' {self.path} > lines.jsonl")])
        self.first = next(self.blocks, Block(b"", 1, 0))
        fields: dict[str, None] = {}
        for _, row, _ in self._rows(self.first):
            fields.update(dict.fromkeys(row))
        self.names = list(fields)
        if not fields:
            raise AgradError("file", f"{self.path} is empty")

    def texts(self) -> set[str]:
        """See Table: those whose first entry that is not null is neither a number nor a boolean."""
        first: dict[str, Any] = {}
        for _, row, _ in self._rows(self.first):
            first = {name: entry for name, entry in row.items() if entry is not None} | first
        return {name for name in self.names if not isinstance(first.get(name), float | int)}

    def _table_of_arrow(self, pa: Any, block: Block, wanted: Wanted) -> Any:
        """See TextTable: columns of numbers."""
        names = wanted.names
        if not names or any(map(wanted.is_text, names)):
            return None
        fast = pyarrow("json")
        table = fast.read_json(
            pa.BufferReader(block.data),
            fast.ReadOptions(use_threads=False, block_size=len(block.data) + 1),
            fast.ParseOptions(
                explicit_schema=pa.schema([(name, pa.float64()) for name in names]), unexpected_field_behavior="ignore"
            ),
        )
        if any(column.null_count for column in table.columns):
            return None  # the fields of objects in fields are null to pyarrow, too
        return table.select(names)

    def convert(self, entry: Any) -> float:
        """See TextTable."""
        if isinstance(entry, float | int):
            return float(entry)
        if self._is_missing(entry):
            return nan
        raise ValueError

    def _columns(self, rows: Sequence[dict[str, Any]], wanted: Wanted) -> Iterator[tuple[str, list[Any]]]:
        """See TextTable: a field that an object has not is null."""
        for name in wanted.names:
            yield name, [row.get(name) for row in rows]

    def _copied(self, entries: list[Any]) -> list[str | None]:
        """See TextTable."""
        return [entry if isinstance(entry, str) or entry is None else json.dumps(entry) for entry in entries]

    def _is_missing(self, entry: Any) -> bool:
        """See TextTable: null stands for an empty entry."""
        return ("" if entry is None else entry.strip() if isinstance(entry, str) else None) in self.na

    def _wrong(self, entry: Any) -> tuple[str, dict[str, Any]]:
        """See TextTable."""
        if entry is None:
            return NOTHING, {"missing": ""}
        kinds: dict[type, str] = {str: "a text", dict: "an object", list: "an array"}
        what = kinds.get(type(entry), "too large")
        return f"{truncate('it' if type(entry) is float else json.dumps(entry), SHOWN)} is {what}, not a number", {}

    def _rows(self, block: Block) -> Iterator[Row]:
        """See TextTable: the objects of a block."""
        for line, data in enumerate(block.data.split(b"\n")):
            if not data.strip():
                continue
            try:
                row = json.loads(data, object_pairs_hook=_once, parse_constant=_Constant)
                if isinstance(row, dict) and dict in map(type, row.values()):
                    row = _once([*_flattened(row)])
            except (ValueError, RecursionError) as problem:
                reason = str(problem).partition(": line 1")[0] if isinstance(problem, ValueError) else "it is too deep"
                reason = reason.partition(" for integer")[0]
                raise self._no_object(block, line, f"this line is not JSON: {reason}") from None
            if not isinstance(row, dict):
                raise self._no_object(block, line, 'this line is not an object of JSON, such as {"x": 1}')
            yield line, row, line + 1

    def _no_object(self, block: Block, line: int, message: str) -> AgradError:
        return AgradError("file", message, labels=[Label(self._span(block, (line, {}, line + 1), None))])

    def _span(self, block: Block, row: Row, entry: int | None) -> Span:
        """See TextTable: always the whole line."""
        return self._line(block, row[0], block.data.split(b"\n")[row[0]].rstrip(b"\r"))


class _Constant(float):
    """`Infinity` or `NaN`: 1e400 is infinite for Python too, and is no number here."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Raises ValueError where it has a field twice."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the field {truncate(max(names, key=names.count), SHOWN)} is there twice")
    return row


def _flattened(row: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The fields of a row, and those of an object in the field a as a.b."""
    for name, entry in row.items():
        if isinstance(entry, dict):
            yield from _flattened(entry, f"{above}{name}.")
        else:
            yield f"{above}{name}", entry
