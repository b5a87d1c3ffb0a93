"""The choice of the reader for a file, by the extension of its name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import BinaryIO

from agrad.engine.data.tables import Table, names_given, unreadable


def open_table(path: str, names: Sequence[str] = (), stream: BinaryIO | None = None) -> Table:
    """The table in a file, or of CSV in a `stream` that is called `path`. `names`: for columns that have none.

    Raises AgradError.
    """
    ending = os.path.splitext(path)[1].lower() if stream is None else ""
    if ending not in (".npy", ".npz", ".parquet", ".pq"):
        from agrad.engine.data.csv_reader import CsvTable  # here, as below, since a run reads one kind

        return CsvTable(path, names, stream)
    try:
        with open(path, "rb"):
            pass
    except (OSError, ValueError) as problem:
        raise unreadable(path, problem) from None
    if names and ending != ".npy":
        raise names_given(path)
    if ending in (".parquet", ".pq"):
        from agrad.engine.data.parquet import ParquetTable

        return ParquetTable(path)
    from agrad.engine.data.numpy_files import NpyTable, NpzTable

    return NpyTable(path, names) if ending == ".npy" else NpzTable(path)
