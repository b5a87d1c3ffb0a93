"""Files of columns with types, Parquet and Arrow (IPC, Feather), by pyarrow. Their nulls are empty entries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, BinaryIO

from agrad.engine.data.tables import (
    BYTES,
    NOTHING,
    ROWS,
    Column,
    Numbers,
    Piece,
    Table,
    Wanted,
    numbers_of,
    pyarrow,
    require_pyarrow,
)
from agrad.engine.data.text_tables import ahead
from agrad.engine.errors import AgradError, BadEntry, Hint
from agrad.engine.values import np


class BatchTable(Table):
    """A file of record batches. Its nulls are rows that cannot be read."""

    typed = True
    na: Collection[str] = ()  # what stands for missing numbers: of all, only "", which is null
    schema: Any  # of pyarrow, without structs: each of their fields is a column a.b

    def _take_schema(self, schema: Any) -> None:
        """Note the columns."""
        self.is_nested = any(pyarrow().types.is_struct(field.type) for field in schema)
        self.schema = _flattened(schema.empty_table()).schema if self.is_nested else schema
        self.names = list(self.schema.names)

    def _flat(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Batches with the fields of structs as columns."""
        for batch in batches:
            yield from _flattened(pyarrow().Table.from_batches([batch])).to_batches() if self.is_nested else [batch]

    def texts(self) -> set[str]:
        """See Table: those of a type that is not read as numbers."""
        return {field.name for field in self.schema if not _is_number(field.type)}

    def _parts_of(self, batches: Iterable[Any], wanted: Wanted, start: int = 0) -> Iterator[tuple[int, Any]]:
        """The first row of each piece of some batches, the first of which begins at the row `start`, and its rows.

        Raises AgradError of kind `file`.
        """
        names = wanted.names or self.names[:1]
        try:
            for batch in self._flat(batches):
                some = batch.select(names)
                for first in range(0, some.num_rows, ROWS):
                    yield start + first, some.slice(first, ROWS)
                start += some.num_rows
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
            if column.null_count and "" in self.na:
                piece.missing += column.null_count
            elif column.null_count:
                empty = column.is_null().to_numpy(zero_copy_only=False)
                place, facts = piece.place(int(empty.argmax())), BadEntry(None, None, missing="")
                problem = AgradError("file", f"column {name}: {NOTHING}", row=True, facts=facts, **place)
                piece.refuse(problem, empty, wanted.tolerant)
        return piece

    def _numbers(self, name: str, column: Any) -> Numbers:
        pa, kind = pyarrow(), column.type
        if pa.types.is_dictionary(kind):
            column, kind = column.cast(kind.value_type), kind.value_type
        if pa.types.is_null(kind):
            return np.full(len(column), np.nan)
        if not _is_number(kind):
            fixes = [Hint("write it as numbers, such as seconds")] if pa.types.is_temporal(kind) else []
            raise AgradError("file", f"{self.path}: the column {name} holds {kind}, not numbers", fixes=fixes)
        if pa.types.is_boolean(kind):
            column = column.cast(pa.int8())
        if kind != pa.float64():  # since a cast loads pyarrow's functions, which takes longer than to read a small file
            column = column.cast(pa.float64(), safe=False)
        return numbers_of(column)


def _flattened(table: Any) -> Any:
    """A table of pyarrow without structs: a field b of a struct a is a column a.b."""
    while any(pyarrow().types.is_struct(field.type) for field in table.schema):
        table = table.flatten()
    return table


def _is_number(kind: Any) -> bool:
    """Whether the entries of a column of that type are read as numbers."""
    types = pyarrow().types
    if types.is_dictionary(kind):
        return _is_number(kind.value_type)
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    return any(test(kind) for test in tests)


class ParquetTable(BatchTable):
    """A Parquet file."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        pa = require_pyarrow(f"reading {path}")
        try:
            self.file = pyarrow("parquet").ParquetFile(path, pre_buffer=False, buffer_size=BYTES)
            self._take_schema(self.file.schema_arrow)
            self.total = int(self.file.metadata.num_rows)
        except (pa.ArrowException, OSError, ValueError):  # the last, for names that are not UTF-8
            raise AgradError("file", f"{path} is not a Parquet file, or is incomplete") from None

    def close(self) -> None:
        """See Table."""
        self.file.close()

    def row_groups(self) -> list[tuple[int, int]]:
        """See Table."""
        metadata = self.file.metadata
        found = []
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            sizes = [group.column(place).total_compressed_size for place in range(group.num_columns)]
            found.append((group.num_rows, sum(sizes)))
        return found

    def parts(self, wanted: Wanted) -> Iterator[tuple[int, Any]]:
        """The first row of each piece, and its rows as pyarrow arrays."""
        metadata = self.file.metadata
        first, last = self.groups or (0, metadata.num_row_groups)
        start = sum(metadata.row_group(place).num_rows for place in range(first))
        names, groups = wanted.names or self.names[:1], list(range(first, last))
        batches = self.file.iter_batches(ROWS, row_groups=groups, columns=names, use_threads=False)
        yield from self._parts_of(batches, wanted, start)


class ArrowTable(BatchTable):
    """An Arrow file, also called Feather or IPC: with an index of its batches, or a stream of them.

    Each batch has its own memory map: the pages of a single map would all stay in memory.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        pa = require_pyarrow(f"reading {path}")
        with open(path, "rb") as file:
            self.indexed = file.read(6) == b"ARROW1"
        try:
            with pa.memory_map(path) as source:
                opened = self._opened(source)
                self._take_schema(opened.schema)
                self.count = opened.num_record_batches if self.indexed else None
        except (pa.ArrowException, OSError, ValueError):
            raise AgradError("file", f"{path} is not an Arrow file, or is incomplete") from None

    def _opened(self, source: Any) -> Any:
        ipc = pyarrow("ipc")
        return ipc.open_file(source) if self.indexed else ipc.open_stream(source)

    def _batches(self) -> Iterator[Any]:
        pa = pyarrow()
        if self.count is None:
            with pa.OSFile(self.path) as source:
                yield from self._opened(source)
            return
        for place in range(self.count):
            with pa.memory_map(self.path) as source:
                yield self._opened(source).get_batch(place)

    def parts(self, wanted: Wanted) -> Iterator[tuple[int, Any]]:
        """The first row of each piece, and its rows as pyarrow arrays."""
        yield from self._parts_of(self._batches(), wanted)


class ArrowStream(BatchTable):
    """Arrow that is read from a stream, such as standard input: a stream of batches, or a file with an index."""

    def __init__(self, path: str, stream: BinaryIO) -> None:
        super().__init__(path)
        pa = require_pyarrow(f"reading {path}")
        first = stream.read(8)  # a file has the same stream inside: after a mark of 8 bytes, and before its index
        rest = stream if first == b"ARROW1\0\0" else ahead(first, stream)
        try:
            self.batches = pyarrow("ipc").open_stream(pa.PythonFile(rest, mode="r"))
        except (pa.ArrowException, OSError, ValueError):
            raise AgradError("file", f"{path} is not a stream of Arrow, or is incomplete") from None
        self._take_schema(self.batches.schema)

    def parts(self, wanted: Wanted) -> Iterator[tuple[int, Any]]:
        """See ArrowTable."""
        yield from self._parts_of(self.batches, wanted)
