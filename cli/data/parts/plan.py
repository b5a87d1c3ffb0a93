"""The parts of the input of `agrad map`, and the names of the files that they are written to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from glob import has_magic

from agrad.engine.data.folders import files_of, is_folder
from agrad.engine.data.formats import open_table
from agrad.engine.data.streams import ending_of
from agrad.engine.errors import AgradError, Hint

ENDINGS = {"csv": ".csv", "json": ".jsonl", "npy": ".npy", "npz": ".npz", "arrow": ".arrow", "parquet": ".parquet"}
_FORMS = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".npy": "npy", ".npz": "npz"}
_FORMS |= {".parquet": "parquet", ".pq": "parquet"}
_TEXT = (".csv", ".tsv", ".txt", ".dat")
_FORMS |= dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), "arrow")


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the input, or some row groups of it (from, up to), and the file for its results, below the folder."""

    name: str
    file: str
    groups: tuple[int, int] | None
    size: int  # bytes of the input


def form_of_input(files: Sequence[str]) -> str:
    """The form in which results are written like their input: CSV for all files of text."""
    return _FORMS.get(ending_of(files[0]), "csv")


def inputs(path: str) -> list[str]:
    """The files of the input. Raises AgradError of kind `file` if there are none."""
    files = files_of(path) if is_folder(path) else [path]
    if not files:
        raise AgradError("file", f"{path} has no files", fixes=[Hint("name a folder with .csv or .parquet files")])
    return files


def planned(path: str, files: Sequence[str], form: str, most: float) -> list[Part]:
    """The parts in the order of the rows. Parquet files of more than `most` bytes are divided at their row groups.

    Raises AgradError of kind `file` where two would be written to one file.
    """
    root = _root(path)
    found: list[Part] = []
    for file in files:
        stem = _stem(os.path.relpath(file, root))
        try:
            size = os.path.getsize(file)
        except OSError:  # opening it says why
            size = 0
        groups = list(_groups(file, most)) if size > most else []
        if len(groups) < 2:
            found.append(Part(stem + ENDINGS[form], file, None, size))
            continue
        width = len(str(len(groups) - 1))
        found += [
            Part(f"{stem}-{place:0{width}}{ENDINGS[form]}", file, group, bytes_)
            for place, (group, bytes_) in enumerate(groups)
        ]
    _require_unlike(found)
    return found


def _root(path: str) -> str:
    """The folder below which the names of the results are like those of the input."""
    if os.path.isdir(path):
        return path
    folder = os.path.dirname(path)
    while has_magic(folder) and not os.path.exists(folder):
        folder = os.path.dirname(folder)
    return folder or "."


def _stem(name: str) -> str:
    """The name of a file without the extensions of its kind and its compression: `a.b` of `a.b.csv.gz`."""
    ending = ending_of(name)
    known = ending in _FORMS or ending in _TEXT
    return name[: name.lower().rindex(ending)] if known else name


def _groups(file: str, most: float) -> Iterator[tuple[tuple[int, int], int]]:
    """Row groups of a Parquet file, in runs of at least so many bytes where they are smaller, and the bytes of each."""
    with closing(open_table(file)) as table:
        sizes = [size for _, size in table.row_groups()]
    start = total = 0
    for place, size in enumerate(sizes):
        total += size
        if total >= most or place + 1 == len(sizes):
            yield (start, place + 1), total
            start, total = place + 1, 0


def _require_unlike(parts: Sequence[Part]) -> None:
    """Refuse two parts with the results in one file. Raises AgradError of kind `file`."""
    seen: dict[str, str] = {}
    for part in parts:
        if part.name in seen:
            message = f"the results of {seen[part.name]} and of {part.file} would both be called {part.name}"
            raise AgradError("file", message, fixes=[Hint("name the files of one of them by a pattern: 'data/*.csv'")])
        seen[part.name] = part.file
