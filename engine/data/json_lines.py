"""JSON lines: an object on each line, whose fields are columns.

pyarrow reads a block if it is installed and all that is asked for are numbers; otherwise, and if it refuses a block,
Python's `json` reads it, which knows the place of each entry. true and false are 1 and 0, as in Parquet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from agrad.engine.data.csv_tables import TextForm
from agrad.engine.data.tables import NOTHING, Column, Piece, Wanted, pyarrow
from agrad.engine.data.text_tables import Block, TextTable
from agrad.engine.errors import AgradError, BadEntry, Hint, Label, Span
from agrad.engine.text import truncate
from agrad.engine.values import np

_SHOWN = 20  # characters of an entry in a message


class JsonLinesTable(TextTable):
    """A file of JSON lines, or a stream of them. The columns are the fields of the objects in its first block."""

    what = "JSON lines"

    fast = True

    def __init__(self, path: str, stream: BinaryIO | None, form: TextForm) -> None:
        self.na = frozenset(form.na)
        self.nested: set[str] = set()  # columns that are fields of objects in fields
        super().__init__(path, stream, 0, form.encoding)

    def _begin(self) -> None:
        """See TextTable."""
        if self.head.lstrip()[:1] == b"[":
            message = f"{self.path} is one array of JSON, not an object on each line"
            raise AgradError("file", message, fixes=[Hint(f"jq -c '.[]' {self.path} > lines.jsonl")])
        self.first = next(self.blocks, None)
        fields: dict[str, None] = {}
        for _, row in self._rows(self.first) if self.first is not None else ():
            fields.update(dict.fromkeys(row))
        self.names = list(fields)
        if not fields:
            raise AgradError("file", f"{self.path} is empty")

    def texts(self) -> set[str]:
        """See Table: those whose first entry that is not null is neither a number nor a boolean."""
        first: dict[str, Any] = {}
        for _, row in self._rows(self.first) if self.first is not None else ():
            first = {name: entry for name, entry in row.items() if entry is not None} | first
        return {name for name in self.names if not isinstance(first.get(name), float | int)}

    def _table_of_arrow(self, pa: Any, block: Block, wanted: Wanted) -> Any:
        """See TextTable: columns of numbers."""
        names = wanted.names
        if not names or any(map(wanted.is_text, names)) or not self.nested.isdisjoint(names):
            return None
        fast = pyarrow("json")
        table = fast.read_json(
            pa.BufferReader(block.data),
            fast.ReadOptions(use_threads=False, block_size=len(block.data) + 1),
            fast.ParseOptions(
                explicit_schema=pa.schema([(name, pa.float64()) for name in names]), unexpected_field_behavior="ignore"
            ),
        )
        table = table.select(names)
        missing = "" not in self.na and any(column.null_count for column in table.columns)
        infinite = any(np.isinf(column.to_numpy()).any() for column in table.columns)  # of 1e400?
        return None if missing or infinite else table

    def _by_hand(self, block: Block, wanted: Wanted) -> Piece:
        """See TextTable: one entry at a time. Raises AgradError of kind `file`, with the place."""
        rows = list(self._rows(block))
        columns: dict[str, Column] = {}
        piece = Piece(columns, len(rows), block.done, lambda row: self._place(block, row))
        faults: list[tuple[int, str, str]] = []
        for name in wanted.names:
            entries = [row.get(name) for _, row in rows]
            if wanted.is_text(name):
                columns[name] = [_text(entry) for entry in entries]
            else:
                bad = [row for row, entry in enumerate(entries) if _bad(entry)]
                columns[name] = np.array([np.nan if _bad(entry) else entry for entry in entries], dtype=np.float64)
                faults += [(row, name, _reason(entries[row])) for row in bad if not self._stands_for_none(entries[row])]
                piece.missing += sum(self._stands_for_none(entries[row]) for row in bad)
        if faults:
            row, name, reason = min(faults, key=lambda one: one[0])
            span, missing = self._span(block, rows[row][0]), "" if reason is NOTHING else None
            facts = BadEntry(span.source.first_line, self.names.index(name), missing=missing)
            problem = AgradError("file", f"column {name}: {reason}", labels=[Label(span)], row=True, facts=facts)
            piece.refuse(problem, [row for row, _, _ in faults], wanted.tolerant)
        return piece

    def _stands_for_none(self, entry: Any) -> bool:
        """Whether an entry stands for a missing number: one of the texts that were given, or null for an empty one."""
        return ("" if entry is None else entry.strip() if isinstance(entry, str) else None) in self.na

    def _rows(self, block: Block) -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects of a block, and the line of each, from 0. Raises AgradError of kind `file`."""
        for line, data in enumerate(block.data.split(b"\n")):
            if not data.strip():
                continue
            try:
                row = json.loads(data, object_pairs_hook=_once, parse_constant=_Constant)
                if isinstance(row, dict) and dict in map(type, row.values()):
                    flat = _once([*_flattened(row)])
                    self.nested |= flat.keys() - row.keys()
                    row = flat
            except (ValueError, RecursionError) as problem:
                reason = str(problem).partition(": line 1")[0] if isinstance(problem, ValueError) else "it is too deep"
                reason = reason.partition(" for integer")[0]
                message, labels = f"this line is not JSON: {reason}", [Label(self._span(block, line))]
                raise AgradError("file", message, labels=labels) from None
            if not isinstance(row, dict):
                message = 'this line is not an object of JSON, such as {"x": 1}'
                raise AgradError("file", message, labels=[Label(self._span(block, line))])
            yield line, row

    def _span(self, block: Block, line: int) -> Span:
        return self._line(block, line, block.data.split(b"\n")[line].rstrip(b"\r"))

    def _place(self, block: Block, row: int) -> dict[str, Any]:
        return {"labels": [Label(self._span(block, list(self._rows(block))[row][0]))]}


class _Constant(float):
    """`Infinity`, which a file may say; 1e400, which is infinite for Python too, is no number here."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Raises ValueError where it has a field twice."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the field {truncate(max(names, key=names.count), _SHOWN)} is there twice")
    return row


def _flattened(row: dict[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """The fields of a row, and those of an object in the field a as a.b."""
    for name, entry in row.items():
        if isinstance(entry, dict):
            yield from _flattened(entry, f"{above}{name}.")
        else:
            yield f"{above}{name}", entry


def _bad(entry: Any) -> bool:
    """Whether an entry is not a number."""
    if isinstance(entry, int):
        return entry.bit_length() > 1023
    return not isinstance(entry, float) or (abs(entry) == np.inf and type(entry) is float)


def _reason(entry: Any) -> str:
    if entry is None:
        return NOTHING
    kinds: dict[type, str] = {str: "a text", dict: "an object", list: "an array"}
    what = kinds.get(type(entry), "too large")
    return f"{truncate('it' if type(entry) is float else json.dumps(entry), _SHOWN)} is {what}, not a number"


def _text(entry: Any) -> str | None:
    """An entry as it is copied."""
    return entry if isinstance(entry, str) or entry is None else json.dumps(entry)
