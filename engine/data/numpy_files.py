"""Files saved by numpy: `.npy`, an array, and `.npz`, an archive of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from os import fstat
from typing import Any
from warnings import catch_warnings, simplefilter
from zipfile import ZipFile

from agrad.engine.data.tables import BYTES, ROWS, Piece, Table, Wanted, column_names, names_given
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import Shape, format_shape, np, size_of


def load_array(path: str, mapped: bool = False) -> Any:
    """The array in a `.npy` file; `mapped`: left in the file until its entries are used.

    Raises AgradError of kind `file`.
    """
    with _or_refused(f"{path} is not an array saved by numpy, or is incomplete"), open(path, "rb") as stream:
        shape, order, kind = header(stream, fstat(stream.fileno()).st_size, path)
        if mapped:
            return np.memmap(path, kind, "r", stream.tell(), shape, order)
        return entries(stream, shape, order, kind)


def header(stream: Any, size: int, what: str) -> tuple[Shape, Any, np.dtype[Any]]:
    """The shape, the order and the type of the array in a stream of that size.

    Raises ValueError and others for what is none, and AgradError of kind `file` for objects, and where entries follow
    that the header does not know of.
    """
    with catch_warnings():
        simplefilter("ignore")  # Python's about the text of a damaged header, NumPy's about one of Python 2
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_column, kind = read(stream)
    if version == (3, 0) and kind.names:
        kind.names = tuple([name.encode("latin1").decode() for name in kind.names])
    if kind.hasobject:
        raise AgradError("file", f"{what} holds objects of Python's pickle, which is code that agrad does not run")
    missing = size_of(shape) * kind.itemsize - (size - stream.tell())
    if missing > 0 or min(shape, default=0) < 0:
        raise EOFError
    if missing < 0:
        raise AgradError("file", f"{what} is damaged: it is longer than its header says")
    return shape, "F" if by_column else "C", kind


def entries(stream: Any, shape: Shape, order: Any, kind: np.dtype[Any]) -> Any:
    """The array whose header has been read."""
    return np.frombuffer(stream.read(size_of(shape) * kind.itemsize), kind).reshape(shape, order=order)


@contextmanager
def _or_refused(message: str) -> Iterator[None]:
    """Raise AgradError of kind `file` for whatever a reader raises.

    zipfile, zlib, bz2, lzma and numpy each have errors of their own, and raise others for damaged files.
    """
    try:
        yield
    except (MemoryError, AgradError):  # such as a limit of time
        raise
    except Exception:
        raise AgradError("file", message) from None


class NpyTable(Table):
    """A `.npy` file: an array of rows and columns, a vector as one column, or a structured array by its fields."""

    def __init__(self, path: str, given: Sequence[str]) -> None:
        super().__init__(path)
        array = load_array(path, mapped=True)
        self.dtype = array.dtype
        self.by_column = len(array.shape) == 2 and array.flags.f_contiguous and not array.flags.c_contiguous
        if len(array.shape) not in (1, 2) or (self.dtype.names and len(array.shape) == 2):
            shape = format_shape(array.shape)
            raise AgradError("file", f"{path} holds an array of shape {shape}; rows and columns are needed")
        fields = list(self.dtype.names or ())
        if fields and given:
            raise names_given(path)
        self.width = 1 if len(array.shape) == 1 else int(array.shape[1])
        self.names = fields or column_names(path, self.width, given)
        self.nameless = not fields and not given
        self.total = self.rows = int(array.shape[0])

    def parts(self, wanted: Wanted) -> Iterator[tuple[int, int]]:
        """The first row of each piece, and the one after its last."""
        step = max(1, min(ROWS, BYTES // max(self.dtype.itemsize * (1 if self.by_column else self.width), 1)))
        for name in wanted.names:
            kind = self.dtype[name] if self.dtype.names else self.dtype
            if kind.kind not in "biuf" or kind.shape:
                raise AgradError("file", f"{self.path}: the column {name} holds {kind}, not numbers")
        for start in range(0, self.rows, step):
            yield start, min(start + step, self.rows)

    def piece(self, part: tuple[int, int], wanted: Wanted) -> Piece:
        """See Table. Each piece has its own memory map: the pages of a single map would all stay in memory."""
        start, stop = part
        with _or_refused(f"{self.path} has become shorter while it was read"):
            array = np.load(self.path, mmap_mode="r", allow_pickle=False)[start:stop]
        parts = array if array.dtype.names else dict(zip(self.names, np.atleast_2d(array.T), strict=True))
        columns = {name: np.array(parts[name], dtype=np.float64) for name in wanted.names}
        return Piece(columns, stop - start, stop, lambda row: self.at_row(start + row + 1))


class NpzTable(Table):
    """A `.npz` file: an array for each column, read in a stream, so that they need not fit into memory."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        with _or_refused(f"{path} is not an archive saved by numpy"):
            self.opened = ExitStack()  # the archive, and the columns that are read
            self.zip = self.opened.enter_context(ZipFile(path))
        self.names = [name.removesuffix(".npy") for name in self.zip.namelist() if name.endswith(".npy")]

    def close(self) -> None:
        """See Table."""
        self.opened.close()

    def parts(self, wanted: Wanted) -> Iterator[Any]:
        """The bytes of each column in a piece."""
        columns = {name: self._column(name) for name in wanted.names or self.names[:1]}
        lengths = {name: rows for name, (_, _, rows) in columns.items()}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name} {rows}" for name, rows in lengths.items())
            raise AgradError("file", f"{self.path}: the columns have different lengths: {listed}")
        self.total = rows = next(iter(lengths.values()), 0)
        for start in range(0, rows, ROWS):
            stop = min(start + ROWS, rows)
            data = {}
            for name, (stream, kind, _) in columns.items():
                with _or_refused(f"{self.path} is damaged: {name} ends before its {rows} rows"):
                    found = stream.read((stop - start) * kind.itemsize)
                    if len(found) != (stop - start) * kind.itemsize:
                        raise EOFError
                data[name] = np.frombuffer(found, kind)
            yield start, stop, data

    def _column(self, name: str) -> tuple[Any, np.dtype[Any], int]:
        """The bytes of a column, the type of its entries, and how many there are."""
        entry = self.zip.getinfo(f"{name}.npy")
        if entry.flag_bits & 1:
            raise AgradError("file", f"{self.path}: {name} is encrypted, and agrad does not read encrypted archives")
        with _or_refused(f"{self.path}: {name} is not an array saved by numpy"):
            try:
                stream = self.opened.enter_context(self.zip.open(entry))
            except NotImplementedError:
                message = f"{self.path}: {name} is compressed in a way that Python does not know"
                fixes = [Hint("save it with numpy.savez or numpy.savez_compressed")]
                raise AgradError("file", message, fixes=fixes) from None
            shape, _, kind = header(stream, entry.file_size, f"{self.path}: {name}")
        if len(shape) != 1:
            raise AgradError("file", f"{self.path}: {name} has the shape {format_shape(shape)}, and is not a column")
        if kind.kind not in "biuf":
            raise AgradError("file", f"{self.path}: the column {name} holds {kind}, not numbers")
        return stream, kind, int(shape[0])

    def piece(self, part: Any, wanted: Wanted) -> Piece:
        """See Table."""
        start, stop, data = part
        columns = {name: data[name].astype(np.float64) for name in wanted.names}
        return Piece(columns, stop - start, stop, lambda row: self.at_row(start + row + 1))
