"""Numbers from files: whole, or piece by piece where a file is larger than memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from agrad.engine.core.context import current
from agrad.engine.core.limits import afford
from agrad.engine.core.op import composed
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import Array, describe, np, whole

if TYPE_CHECKING:
    from pathlib import Path

FAMILY = "files"
NONE = "none: the result is a leaf"
_SHOWN = 20  # characters of an entry in a message


def require_files(what: str) -> None:
    """Refuse `what` where files are switched off. Raises AgradError of kind `file`."""
    if not current().files.on:
        raise AgradError("file", f"{what}: files are switched off")


def note_read(path: str) -> None:
    """Record that a file is about to be read, if that is asked for."""
    seen = current().files.seen
    if seen is not None:
        with suppress(OSError, ValueError):  # a file that cannot be read is reported where it is read
            found = os.stat(path)
            seen[path] = [found.st_size, found.st_mtime_ns]


class Table:
    """The rows of numbers in a file, walked through so many at a time. Every walk reads the file anew."""

    __slots__ = ("path", "rows")

    def __init__(self, path: Path, rows: int) -> None:
        self.path = path
        self.rows = rows

    def __iter__(self) -> Iterator[Tensor]:
        """Arrays of so many rows; the last may have fewer. Raises AgradError of kind `file`."""
        require_files("chunks")
        note_read(str(self.path))
        return map(tensor, _saved_pieces(self) if _is_saved(self.path) else _written_pieces(self))

    def __str__(self) -> str:
        return f'chunks("{self.path}", {self.rows})'


def _existing(name: str, path: Any) -> Path:
    from pathlib import Path  # not at the start: a calculation reads no file

    require_files(name)
    if not isinstance(path, str | Path):
        raise AgradError("type", f"{name} needs the name of a file, not {describe(path)}")
    if not str(path).strip():
        raise AgradError("file", f"{name}: that names no file")
    try:
        there = Path(path).expanduser()
        if there.is_file():
            note_read(str(there))
            return there
        found, is_folder = there.exists(), there.is_dir()
    except (OSError, ValueError, RuntimeError):  # no system has such a name, or such a home
        found = is_folder = False
    if found:
        what = "a folder" if is_folder else "no ordinary file"
        raise AgradError("file", f"{name}: {path} cannot be read: it is {what}")
    raise AgradError("file", f"{name}: there is no file {path}")


def _rows(name: str, path: Path) -> Iterator[list[float]]:
    """The rows of a file of text, one at a time. Raises AgradError of kind `file` with the place of what is wrong."""
    width, names = 0, True  # names: whether this may still be the line of names
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                entries = line.split(",")
                try:
                    row = list(map(float, entries))
                except ValueError:
                    if line.isspace():
                        continue
                    if names and all(_number(entry) is None for entry in entries):
                        names = False
                        continue
                    raise _no_number(f"{name}: {path}, line {number}", entries) from None
                if width and len(row) != width:
                    raise AgradError("file", f"{name}: {path}, line {number} has {_entries(len(row))}, not {width}")
                width, names = len(row), False
                yield row
    except OSError as error:
        raise AgradError("file", f"{name}: {path} cannot be read: {error.strerror}") from None
    except UnicodeError:
        raise AgradError("file", f"{name}: {path} is not text in UTF-8") from None
    if not width:
        raise AgradError("file", f"{name}: there are no numbers in {path}")


def _number(entry: str) -> float | None:
    try:
        return float(entry)
    except ValueError:
        return None


def _no_number(where: str, entries: list[str]) -> AgradError:
    """What to say of a line in which an entry is no number: the first such."""
    column = next(place for place, entry in enumerate(entries) if _number(entry) is None)
    text = entries[column].strip()
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    what = f'"{shown}" is no number' if text else "nothing stands there"
    return AgradError("file", f"{where}, column {column + 1}: {what}")


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def _gathered(name: str, rows: Iterable[list[float]]) -> Array | None:
    """Rows as a matrix, eight bytes a number also while it grows; None if there are none."""
    from array import array

    data, width = array("d"), 0
    for row in rows:
        data.extend(row)
        width = len(row)
        if len(data) > current().limits.entries:
            afford(name, (len(data) // width, width))
    return np.frombuffer(data).reshape(-1, width) if data else None


def _written_pieces(table: Table) -> Iterator[Array]:
    rows = _rows("chunks", table.path)
    while (piece := _gathered("chunks", islice(rows, table.rows))) is not None:
        yield piece


def _saved_pieces(table: Table) -> Iterator[Array]:
    array = _saved("chunks", table.path, lambda: np.load(table.path, mmap_mode="r", allow_pickle=False))
    if not array.ndim:
        raise AgradError("file", f"chunks: {table.path} holds one number, and no rows")
    for start in range(0, len(array), table.rows):
        yield array[start : start + table.rows]


def _is_saved(path: Path) -> bool:
    """Whether numpy saved a file, as its first bytes tell."""
    try:
        with path.open("rb") as file:
            return file.read(6) == b"\x93NUMPY"
    except OSError:
        return False  # why it cannot be read is said where its rows are


def _saved(name: str, path: Path, read: Callable[[], Any]) -> Any:
    """The array that numpy's reader finds. Raises AgradError of kind `file`."""
    try:
        array = read()
    except MemoryError:
        raise
    except Exception:  # what a damaged file leads numpy's reader to is not documented
        array = None
    if not isinstance(array, np.ndarray):
        raise AgradError("file", f"{name}: {path} is no array that numpy saved")
    return array


@composed(
    "load_csv",
    "path",
    family=FAMILY,
    doc="The numbers of a file, separated by commas, a row a line. A first line of names is passed over.",
    derivative=NONE,
    example="",
)
def load_csv(path: Any) -> Tensor:
    """See the entry."""
    return tensor(_gathered("load_csv", _rows("load_csv", _existing("load_csv", path))))


@composed("load_npy", "path", family=FAMILY, doc="The array in a file that numpy saved.", derivative=NONE, example="")
def load_npy(path: Any) -> Tensor:
    """See the entry."""
    file = _existing("load_npy", path)

    def read() -> Any:
        with file.open("rb") as stream:
            return np.load(stream, allow_pickle=False)

    return tensor(_saved("load_npy", file, read))


@composed(
    "chunks",
    "path; rows",
    family=FAMILY,
    doc="The rows of a file that load_csv or load_npy could read, so many at a time: for a loop over what is larger "
    "than memory. The last array may have fewer rows.",
    derivative="none: the arrays are leaves",
    example="",
)
def chunks(path: Any, rows: Any) -> Table:
    """See the entry."""
    file, count = _existing("chunks", path), whole(rows, "chunks: the number of rows")
    if count < 1:
        raise AgradError("domain", "chunks: there must be at least one row in a piece")
    return Table(file, count)
