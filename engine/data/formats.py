"""The choice of the reader for a file, by the extension of its name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

from agrad.engine.data.streams import ending_of
from agrad.engine.data.tables import Table, names_given, unreadable

if TYPE_CHECKING:
    from agrad.engine.data.dialect import TextForm

_PARQUET = (".parquet", ".pq")
_ARROW = (".arrow", ".arrows", ".feather", ".ipc")
_JSON = (".jsonl", ".ndjson", ".json")
KINDS = ("csv", "jsonl", "arrow")  # of what has no name
BINARY = (*_PARQUET, *_ARROW, ".npy", ".npz")


def open_table(
    path: str,
    names: Sequence[str] = (),
    stream: BinaryIO | None = None,
    form: TextForm | None = None,
    *,
    block: int = 0,
    fast: bool | None = True,
    files: Sequence[str] = (),
    kind: str | None = None,
) -> Table:
    """The table in a file or a folder, or in a `stream` that is called `path`.

    `names`: for columns that have none; `form`: what is known of a file of text; `block`, `fast`: see CsvTable;
    `files`: those that make up the table, where they have been listed already; `kind`: KINDS, whatever the name. Raises
    AgradError.
    """
    ending = f".{kind}" if kind is not None else ending_of(path) if stream is None else _ending_found(stream)
    if stream is None and (files or os.path.isdir(path) or "*" in path or "?" in path or "[" in path):
        from agrad.engine.data.folders import FolderTable, is_folder  # here, as below, since a run reads one kind

        if files or is_folder(path):
            return FolderTable(path, lambda file: open_table(file, names, None, form, fast=fast, kind=kind), files)
    if ending not in BINARY and ending not in _JSON:
        from agrad.engine.data.csv_reader import CsvTable

        return CsvTable(path, names, stream, block=block, fast=fast, form=form)
    if stream is None:
        try:
            with open(path, "rb"):
                pass
        except (OSError, ValueError) as problem:
            raise unreadable(path, problem) from None
    if names and ending != ".npy":
        raise names_given(path)
    return _typed(path, names, ending, stream, form)


def _ending_found(stream: BinaryIO) -> str:
    """The extension of the kind that a stream begins like: JSON lines and Arrow; empty for any other."""
    peek = getattr(stream, "peek", None)
    head = peek(16) if peek is not None else b""
    if head.startswith((b"ARROW1\0\0", b"\xff\xff\xff\xff")):
        return ".arrow"
    return ".jsonl" if head.lstrip().startswith(b"{") else ""


def _typed(path: str, names: Sequence[str], ending: str, stream: BinaryIO | None, form: TextForm | None) -> Table:
    """The table in a file, or a stream, whose extension gives its kind."""
    if ending in _JSON:
        from agrad.engine.data.json_lines import JsonLinesTable

        return JsonLinesTable(path, stream, form=form)
    if ending in _PARQUET or ending in _ARROW:
        from agrad.engine.data.parquet import ArrowStream, ArrowTable, BatchTable, ParquetTable

        kind = ParquetTable if ending in _PARQUET else ArrowTable
        found: BatchTable = ArrowStream(path, stream) if stream is not None else kind(path)
        found.na = form.na if form is not None else ()
        return found
    from agrad.engine.data.numpy_files import NpyTable, NpzTable

    return NpyTable(path, names) if ending == ".npy" else NpzTable(path)
