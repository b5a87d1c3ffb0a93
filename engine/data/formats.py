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
) -> Table:
    """The table in a file or a folder, or of CSV in a `stream` that is called `path`.

    `names`: for columns that have none; `form`: what is known of a file of text; `block`, `fast`: see CsvTable;
    `files`: those that make up the table, where they have been listed already. Raises AgradError.
    """
    ending = ending_of(path) if stream is None else ""
    if stream is None and (files or os.path.isdir(path) or "*" in path or "?" in path or "[" in path):
        from agrad.engine.data.folders import FolderTable, is_folder  # here, as below, since a run reads one kind

        if files or is_folder(path):
            return FolderTable(path, lambda file: open_table(file, names, None, form, fast=fast), files)
    if ending not in BINARY and ending not in _JSON:
        from agrad.engine.data.csv_reader import CsvTable

        return CsvTable(path, names, stream, block=block, fast=fast, form=form)
    try:
        with open(path, "rb"):
            pass
    except (OSError, ValueError) as problem:
        raise unreadable(path, problem) from None
    if names and ending != ".npy":
        raise names_given(path)
    return _typed(path, names, ending)


def _typed(path: str, names: Sequence[str], ending: str) -> Table:
    """The table in a file whose extension gives its kind."""
    if ending in _JSON:
        from agrad.engine.data.json_lines import JsonLinesTable

        return JsonLinesTable(path)
    if ending in _PARQUET:
        from agrad.engine.data.parquet import ParquetTable

        return ParquetTable(path)
    if ending in _ARROW:
        from agrad.engine.data.parquet import ArrowTable

        return ArrowTable(path)
    from agrad.engine.data.numpy_files import NpyTable, NpzTable

    return NpyTable(path, names) if ending == ".npy" else NpzTable(path)
