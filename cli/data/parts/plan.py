"""The parts of the input of `agrad map`, and the names of the files that they are written to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from glob import has_magic

from agrad.engine.data.formats import files_of, is_folder, open_table
from agrad.engine.data.tables import unreadable
from agrad.engine.data.text_tables import ending_of
from agrad.engine.errors import AgradError, Hint

ENDINGS = {"csv": ".csv", "json": ".jsonl", "npy": ".npy", "npz": ".npz", "arrow": ".arrow", "parquet": ".parquet"}
_FORMS = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".npy": "npy", ".npz": "npz"}
_FORMS |= {".parquet": "parquet", ".pq": "parquet"}
_TEXT = (".csv", ".tsv", ".txt", ".dat")
_FORMS |= dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), "arrow")


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the input, or some row groups of it (from, up to), and the file for its results, below the folder."""

    file: str
    groups: tuple[int, int] | None
    size: int  # bytes of the input
    name: str = ""


def form_of_input(files: Sequence[str]) -> str:
    """The form in which results are written like their input: CSV for all files of text."""
    return _FORMS.get(ending_of(files[0]), "csv")


def inputs(path: str) -> list[str]:
    """The files of the input. Raises AgradError of kind `file` if there are none."""
    if not is_folder(path):
        try:
            os.stat(path)
        except (OSError, ValueError) as problem:
            raise unreadable(path, problem) from None
        return [path]
    files = files_of(path)
    if not files:
        raise AgradError("file", f"{path} has no files", fixes=[Hint("name a folder with .csv or .parquet files")])
    return files


def in_files(files: Sequence[str], most: float) -> Iterator[list[Part]]:
    """The parts of each file, without names: Parquet files of more than `most` bytes are divided at row groups."""
    for file in files:
        try:
            size = os.path.getsize(file)
        except OSError:  # opening it says why
            size = 0
        groups = list(_groups(file, most)) if size > most else []
        yield [Part(file, *one) for one in groups] if len(groups) > 1 else [Part(file, None, size)]


def planned(path: str, files: Sequence[str], form: str, most: float) -> list[Part]:
    """The parts in the order of the rows, with the names of their results: see `in_files`.

    Raises AgradError of kind `file` where two would be written to one file.
    """
    root = _root(path)
    found: list[Part] = []
    for parts in in_files(files, most):
        stem, width = _stem(os.path.relpath(parts[0].file, root)), len(str(len(parts) - 1))
        for place, part in enumerate(parts):
            number = f"-{place:0{width}}" if len(parts) > 1 else ""
            found.append(replace(part, name=f"{stem}{number}{ENDINGS[form]}"))
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
