"""Numbers from files: `load_csv`, `load_npy`, and `chunks` for a file that is larger than memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from agrad.engine.core.context import current
from agrad.engine.core.limits import afford
from agrad.engine.core.op import composed
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, BadEntry, MissingFile
from agrad.engine.values import Array, describe, np, whole

if TYPE_CHECKING:
    from pathlib import Path

FAMILY = "files"
NONE = "none: the result is a leaf"
_SMALL, _LEAST = 2**14, 2**16  # bytes to read at once: at least, and for pyarrow
_BYTES_OF_ROW = 16  # about as many as a short row has


def require_files(what: str) -> None:
    """Refuse `what` where files are switched off. Raises AgradError of kind `file`."""
    if not current().files.on:
        raise AgradError("file", f"{what}: file access is switched off")


def note_read(path: str) -> None:
    """Record that a file is about to be read, if that is asked for."""
    seen = current().files.seen
    if seen is not None:
        with suppress(OSError, ValueError):  # a file that cannot be read is reported where it is read
            found = os.stat(path)
            seen[path] = [found.st_size, found.st_mtime_ns]


class Chunks:
    """The rows of numbers in a file, so many at a time. Every iteration reads the file anew."""

    __slots__ = ("path", "rows")

    def __init__(self, path: Path, rows: int) -> None:
        self.path = path
        self.rows = rows

    def __iter__(self) -> Iterator[Tensor]:
        """Arrays of so many rows; the last may have fewer. Raises AgradError of kind `file`."""
        require_files("chunks")
        note_read(str(self.path))
        return map(tensor, _chunks_of_array(self) if _is_npy(self.path) else _chunks_of_csv(self))

    def __str__(self) -> str:
        return f'chunks("{self.path}", {self.rows})'


def _existing(name: str, path: Any) -> Path:
    from pathlib import Path  # not at the start: a calculation reads no file

    require_files(name)
    if not isinstance(path, str | Path):
        raise AgradError("type", f"{name} needs the name of a file, not {describe(path)}")
    if not str(path).strip():
        raise AgradError("file", f"{name}: that is not the name of a file")
    try:
        there = Path(path).expanduser()
        if there.is_file():
            note_read(str(there))
            return there
        found, is_folder = there.exists(), there.is_dir()
    except (OSError, ValueError, RuntimeError):  # no system has such a name, or such a home
        found = is_folder = False
    if found:
        what = "a folder" if is_folder else "not a regular file"
        raise AgradError("file", f"{name}: {path} cannot be read: it is {what}")
    raise AgradError("file", f"{name}: there is no file {path}", facts=MissingFile(str(path)))


def _matrices(name: str, path: Path, block: int = 0) -> Iterator[Array]:
    """The numbers of a CSV file, some rows at a time, read from so many bytes. Raises AgradError of kind `file`."""
    from agrad.engine.data.csv_reader import CsvTable  # here, as below: a calculation reads no file
    from agrad.engine.data.tables import Wanted

    rows, fast = 0, False if 0 < block < _LEAST else None
    with _named(name, path), closing(CsvTable(str(path), block=block, fast=fast)) as table:
        table.use_places()
        table.names = [str(place + 1) for place in range(table.width)]
        for part in table.parts(Wanted(table.names)):
            matrix = table.matrix(part)
            rows += len(matrix)
            yield matrix
        if not rows:
            raise AgradError("file", f"there are no numbers in {path}")


@contextmanager
def _named(name: str, path: Path) -> Iterator[None]:
    """Begin the message of an error in a file with the function that reads it, and the place if it has one."""
    try:
        yield
    except AgradError as problem:
        if problem.kind != "file":
            raise
        if problem.row and isinstance(facts := problem.facts, BadEntry):
            problem.labels.clear()
            mark = ":" if facts.column is None else ","
            problem.message = f"{path}, line {facts.line}{mark} {problem.message}"
        problem.message = f"{name}: {problem.message}"
        raise


def _chunks_of_csv(chunks: Chunks) -> Iterator[Array]:
    from agrad.engine.data.tables import BYTES

    block = min(max(_SMALL, _BYTES_OF_ROW * chunks.rows), BYTES)
    waiting: list[Array] = []  # fewer rows than a chunk has
    count = 0
    for matrix in _matrices("chunks", chunks.path, block):
        start = 0
        while count + len(matrix) - start >= chunks.rows:
            stop = start + chunks.rows - count
            yield np.concatenate([*waiting, matrix[start:stop]])
            waiting, count, start = [], 0, stop
        if start < len(matrix):
            waiting.append(matrix[start:])
            count += len(matrix) - start
    if waiting:
        yield np.concatenate(waiting)


def _chunks_of_array(chunks: Chunks) -> Iterator[Array]:
    array = _array("chunks", chunks.path, mapped=True)
    if not array.ndim:
        raise AgradError("file", f"chunks: {chunks.path} holds one number, and no rows")
    for start in range(0, len(array), chunks.rows):
        yield array[start : start + chunks.rows]


def _array(name: str, path: Path, mapped: bool = False) -> Any:
    from agrad.engine.data.numpy_files import load_array

    with _named(name, path):
        return load_array(str(path), mapped)


def _is_npy(path: Path) -> bool:
    """Whether numpy saved an array in a file, as its first bytes tell."""
    try:
        with path.open("rb") as file:
            return file.read(6) == b"\x93NUMPY"
    except OSError:
        return False  # the reader of its rows says why it cannot be read


@composed(
    "load_csv",
    "path",
    family=FAMILY,
    doc="The numbers of a CSV file, one row per line. A header line is skipped.",
    derivative=NONE,
    example="",
)
def load_csv(path: Any) -> Tensor:
    """See the entry."""
    from array import array

    data, width = array("d"), 0  # eight bytes a number, also while it grows
    for matrix in _matrices("load_csv", _existing("load_csv", path)):
        data.frombytes(matrix.tobytes())
        width = matrix.shape[1]
        if len(data) > current().limits.entries:
            afford("load_csv", (len(data) // width, width))
    return tensor(np.frombuffer(data).reshape(-1, width))


@composed("load_npy", "path", family=FAMILY, doc="The array in a file that numpy saved.", derivative=NONE, example="")
def load_npy(path: Any) -> Tensor:
    """See the entry."""
    array = _array("load_npy", _existing("load_npy", path))
    afford("load_npy", array.shape)
    return tensor(array)


@composed(
    "chunks",
    "path; rows",
    family=FAMILY,
    doc="The rows of a file for load_csv or load_npy, a fixed number at a time, for loops over more data than fits in "
    "memory. The last array may have fewer rows.",
    derivative="none: the arrays are leaves",
    example="",
)
def chunks(path: Any, rows: Any) -> Chunks:
    """See the entry."""
    file, count = _existing("chunks", path), whole(rows, "chunks: the number of rows")
    if count < 1:
        raise AgradError("domain", "chunks: a chunk must have at least one row")
    return Chunks(file, count)
