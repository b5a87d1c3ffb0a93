"""The choice of the reader for a file, by the extension of its name, and the table in a folder of files."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from copy import copy
from glob import has_magic, iglob
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from agrad.engine import data
from agrad.engine.data.tables import Piece, Table, Wanted, names_given, unreadable
from agrad.engine.data.text_tables import ending_of
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import np

if TYPE_CHECKING:
    from agrad.engine.data.csv_tables import TextForm

_PARQUET = (".parquet", ".pq")
_JSON = (".jsonl", ".ndjson", ".json")
_STDIN = "<stdin>"  # as a path with `files`: these are a copy of it, which can be read more than once
KINDS = ("csv", "jsonl", "arrow")  # of what has no name
BINARY = (*_PARQUET, ".arrow", ".arrows", ".feather", ".ipc", ".npy", ".npz")


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
    try:
        ending = f".{kind}" if kind is not None else ending_of(path) if stream is None else _ending_found(stream)
    except OSError as problem:
        raise unreadable(path, problem) from None
    if stream is None and (files or is_folder(path)):

        @contextmanager
        def opened(file: str) -> Iterator[Table]:
            with open(file, "rb") if path == _STDIN else nullcontext() as whole:
                shown = path if whole else file
                with closing(open_table(shown, names, whole, form, fast=fast, kind=kind)) as table:
                    yield table

        return FolderTable(path, opened, files)
    if stream is None:
        refuse_system(path)
    if ending not in BINARY and ending not in _JSON:
        return data.csv_tables.CsvTable(path, names, stream, block=block, fast=fast, form=form)
    if stream is None:
        try:
            open(path, "rb").close()
        except (OSError, ValueError) as problem:
            raise unreadable(path, problem) from None
    if ending == ".npy":
        return data.numpy_files.NpyTable(path, names)
    if names:
        raise names_given(path)
    if ending == ".npz":
        return data.numpy_files.NpzTable(path)
    if ending in _JSON:
        return data.json_lines.JsonLinesTable(path, stream, form or data.csv_tables.TextForm())
    kind_of_file = data.arrow.ParquetTable if ending in _PARQUET else data.arrow.ArrowTable
    found = kind_of_file(path) if stream is None else data.arrow.ArrowStream(path, stream)
    found.na = form.na if form is not None else ()
    return found


def _ending_found(stream: BinaryIO) -> str:
    """The extension of the kind that a stream begins like: JSON lines and Arrow; empty for any other."""
    peek = getattr(stream, "peek", None)
    head = peek(16) if peek is not None else b""
    if head.startswith((b"ARROW1\0\0", b"\xff\xff\xff\xff")):
        return ".arrow"
    return ".jsonl" if head.lstrip().startswith(b"{") else ""


# Folders

_MOST = 20_000  # files and folders that are looked at


class _Part(NamedTuple):
    """A part of a file, and what is to be added to its columns."""

    table: Table
    part: Any
    fixed: dict[str, str]
    before: int  # bytes of the files before


class FolderTable(Table):
    """A folder of files, or a pattern such as `data/*.csv`: the rows of each file in the order of their names.

    The folders of partitions, such as `year=2024`, are columns too. All files must have the columns of the first, in
    any order. Names that begin with `.` or `_` are skipped, as Hive and pyarrow's datasets skip them. `opened`: opens
    one file, for a `with`; `files`: those, if known.
    """

    def __init__(
        self, path: str, opened: Callable[[str], AbstractContextManager[Table]], files: Sequence[str] = ()
    ) -> None:
        super().__init__(path)
        self.opened = opened
        self.files = [*files] or require_files(path)
        endings = sorted({ending_of(file) for file in self.files})
        if len(endings) > 1:
            message = f"{path} has files of several kinds: {' '.join(endings)}"
            raise AgradError("file", message, fixes=[Hint(f"name those of one kind: '{path}/*{endings[0]}'")])
        self.sizes = [os.path.getsize(file) for file in self.files]
        self.size = self.total = sum(self.sizes)
        self.first = self.files[0]
        with opened(self.first) as first:
            self.own, self.typed, self.nameless = list(first.names), first.typed, first.nameless
            self.unsure = first.unsure
        self.fixed = _partition(path, self.first)
        self.names = [*self.own, *(name for name in self.fixed if name not in self.own)]

    def parts(self, wanted: Wanted) -> Iterator[_Part]:
        """See Table."""
        before = 0
        for file, size in zip(self.files, self.sizes, strict=True):
            fixed = _partition(self.path, file)
            if list(fixed) != list(self.fixed):
                raise AgradError("file", f"{file} is in other partitions than {self.first}")
            with self.opened(file) as table:
                table.groups = self.groups  # of its only file
                inside = self._inside(table, wanted, fixed)
                for part in table.parts(inside):
                    yield _Part(table, part, fixed, before)
            before += size

    def part(self, file: str, groups: tuple[int, int] | None = None) -> FolderTable:
        """The table of one of its files, or of some row groups of it: the columns are those of the whole."""
        one = copy(self)
        one.files, one.groups = [file], groups
        one.sizes = [os.path.getsize(file)]
        one.size = one.total = one.sizes[0]
        return one

    def texts(self) -> set[str]:
        """See Table."""
        is_number = data.csv_tables.Dialect().is_number
        fixed = {name for name, text in self.fixed.items() if name not in self.own and not is_number(text)}
        with self.opened(self.first) as first:
            return first.texts() | fixed

    def _inside(self, table: Table, wanted: Wanted, fixed: dict[str, str]) -> Wanted:
        """What is wanted of one file. Raises AgradError for a column that it has not, or not as it is expected."""
        for name in wanted.names:
            if name not in self.own or table.names.count(name) == 1:
                continue
            message = f"{table.path} has no column {name}, which {self.first} has"
            raise AgradError("file", message, notes=[table.listing()])
        if table.nameless and len(table.names) != len(self.own):
            message = f"{table.path} has {len(table.names)} columns, and {self.first} has {len(self.own)}"
            raise AgradError("file", message)
        own = [name for name in wanted.numbers if name in self.own]
        copied = [name for name in wanted.copied if name in self.own]
        return Wanted(own, copied, wanted.texts, wanted.tolerant)

    def piece(self, part: _Part, wanted: Wanted) -> Piece:
        """See Table."""
        table = part.table
        piece = table.piece(part.part, self._inside(table, wanted, part.fixed))
        for name, text in part.fixed.items():
            if name in wanted.names and name not in self.own:
                piece.columns[name] = self._fixed(name, text, piece.rows, wanted.is_text(name))
        piece.columns = {name: piece.columns[name] for name in wanted.names}
        done = piece.done / table.total if table.total else 0.0
        piece.done = part.before + int(done * table.size)
        return piece

    def _fixed(self, name: str, text: str, rows: int, as_text: bool) -> Any:
        if as_text:
            return [text] * rows
        try:
            return np.full(rows, float(text))
        except ValueError:
            raise AgradError("file", f"{self.path}: the partition {name}={text} is not a number") from None


def is_folder(path: str) -> bool:
    """Whether a path is that of a folder, or a pattern that no file has for its name."""
    return os.path.isdir(path) or (has_magic(path) and not os.path.exists(path))


def files_of(path: str) -> list[str]:
    """The files in a folder and the folders in it, or those that match a pattern, in the order of their names."""
    if not os.path.isdir(path):
        matching = list(islice(iglob(path, recursive=True), _MOST + 1))
        _require_few(path, len(matching))
        return sorted(file for file in matching if os.path.isfile(file))
    found, seen = [], 0
    for folder, inner, names in os.walk(path):
        seen += len(inner) + len(names)
        _require_few(path, seen)
        inner[:] = sorted(name for name in inner if name[0] not in "._")
        found += [os.path.join(folder, name) for name in names if name[0] not in "._"]
    return sorted(found)


def require_files(path: str) -> list[str]:
    """The same; AgradError of kind `file` if there are none, or one is no file, or the system's."""
    refuse_system(path)
    files = files_of(path)
    if not files:
        raise AgradError("file", f"{path} has no files", fixes=[Hint("name a folder with .csv or .parquet files")])
    for file in files:
        try:
            ordinary = stat.S_ISREG(os.stat(file).st_mode)
        except OSError as problem:
            raise unreadable(file, problem) from None
        if not ordinary:  # who names a pipe wants to wait for it, who names a folder does not
            raise AgradError("file", f"cannot read {file}: it is not a regular file")
    return files


def refuse_system(path: str) -> None:
    """Refuse what the system tells of itself. Raises AgradError of kind `file`."""
    if of_system(path):
        raise AgradError("file", f"cannot read {path}: it belongs to the system")


def of_system(path: str | os.PathLike[str]) -> bool:
    """Whether in a file, or a folder, the system tells of itself, the environment too; a link is what it leads to.

    A pipe or a device does not, and /dev/shm has the files of users.
    """
    real = f"{os.path.realpath(path)}/"
    if not real.startswith(("/proc/", "/sys/", "/dev/")) or real.startswith("/dev/shm/"):
        return False
    return os.path.isfile(path) or os.path.isdir(path)


def _require_few(path: str, count: int) -> None:
    """Refuse more files than are looked at. Raises AgradError of kind `file`."""
    if count > _MOST:
        message = f"{path} has more than {_MOST} files and folders"
        raise AgradError("file", message, fixes=[Hint("name a folder inside of it, or files by a pattern")])


def _partition(path: str, file: str) -> dict[str, str]:
    """The columns that the folders between a folder and a file stand for."""
    folders = os.path.relpath(file, path).split(os.sep)[:-1] if os.path.isdir(path) else []
    parted = [folder.partition("=") for folder in folders]
    return {name: text for name, equals, text in parted if equals and name}
