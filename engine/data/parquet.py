"""Parquet files, by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agrad.engine.data.arrow import pyarrow, require_pyarrow
from agrad.engine.data.tables import BYTES, NOTHING, ROWS, Column, Numbers, Piece, Table, Wanted
from agrad.engine.errors import AgradError


class ParquetTable(Table):
    """A Parquet file, by pyarrow. Its nulls are rows that cannot be read."""

    typed = True

    def __init__(self, path: str) -> None:
        super().__init__(path)
        pa = require_pyarrow(f"reading {path}")
        try:
            self.file = pyarrow("parquet").ParquetFile(path, pre_buffer=False, buffer_size=BYTES)
            self.names = list(self.file.schema_arrow.names)
            self.total = int(self.file.metadata.num_rows)
        except (pa.ArrowException, OSError, ValueError):  # the last, for names that are not UTF-8
            raise AgradError("file", f"{path} is not a Parquet file, or is incomplete") from None

    def close(self) -> None:
        """See Table."""
        self.file.close()

    def parts(self, wanted: Wanted) -> Iterator[tuple[int, Any]]:
        """The first row of each piece, and its rows as pyarrow arrays."""
        start = 0
        try:
            for batch in self.file.iter_batches(ROWS, columns=wanted.names or self.names[:1], use_threads=False):
                yield start, batch
                start += batch.num_rows
        except (pyarrow().ArrowException, OSError, ValueError) as problem:
            reason = str(problem).splitlines()[0]
            raise AgradError("file", f"{self.path} cannot be read after row {start}: {reason}") from None

    def piece(self, part: tuple[int, Any], wanted: Wanted) -> Piece:
        """See Table."""
        start, batch = part
        columns: dict[str, Column] = {}
        piece = Piece(columns, batch.num_rows, start + batch.num_rows, lambda row: self.at_row(start + row + 1))
        for name in wanted.names:
            column = batch.column(batch.schema.get_field_index(name))
            if wanted.is_text(name):
                columns[name] = column
                continue
            columns[name] = self._numbers(name, column)
            if column.null_count:
                self._refuse(name, column, piece, wanted.tolerant)
        return piece

    def _numbers(self, name: str, column: Any) -> Numbers:
        pa, kind = pyarrow(), column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            if not pa.types.is_boolean(kind):
                raise AgradError("file", f"{self.path}: the column {name} holds {kind}, not numbers")
            column = column.cast(pa.int8())
        numbers: Numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return numbers

    @staticmethod
    def _refuse(name: str, column: Any, piece: Piece, tolerant: bool) -> None:
        """Mark the rows with an empty entry. Raises AgradError of kind `file` unless they are tolerated."""
        empty = column.is_null().to_numpy(zero_copy_only=False)
        problem = AgradError("file", f"column {name}: {NOTHING}", row=True, **piece.place(int(empty.argmax())))
        if not tolerant:
            raise problem
        piece.bad = empty if piece.bad is None else piece.bad | empty
        piece.problem = piece.problem or problem
