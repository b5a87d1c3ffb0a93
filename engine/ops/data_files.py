"""Data from files: `load_csv`, `load_npy`, and `chunks` for a file that is larger than memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from agrad.engine import data
from agrad.engine.core.arguments import is_sequence, small, truth_of
from agrad.engine.core.context import afford, current, note_read, require_files, scope
from agrad.engine.core.dispatch import in_family
from agrad.engine.core.graph import collecting_later, leaf
from agrad.engine.core.tensor import Tensor, bare, tensor
from agrad.engine.errors import AgradError, BadEntry, Hint, MissingFile, OtherForm
from agrad.engine.ops import tables
from agrad.engine.text import counted
from agrad.engine.values import Array, describe, np, whole

if TYPE_CHECKING:
    from pathlib import Path

    from agrad.engine.data.csv_tables import TextForm
    from agrad.engine.data.tables import Table, Wanted

Columns: TypeAlias = "tuple[str | int, ...]"  # names, or numbers from 0

_, composed = in_family("files")
NONE = "none: the result is a leaf"
_FORM = "delimiter=None, decimal=None, comments=None, skip=0, header=None, na=None, encoding=None"
_SMALL, _LEAST = 2**14, 2**16  # bytes to read at once: at least, and for pyarrow
_BYTES_OF_ROW = 16  # about as many as a short row has


class Chunks:
    """The rows of numbers in a file, so many at a time. Every iteration reads the file anew."""

    __slots__ = ("columns", "form", "path", "rows")

    def __init__(self, path: Path, rows: int, columns: Columns | None, form: TextForm | None = None) -> None:
        self.path = path
        self.rows = rows
        self.columns = columns
        self.form = form

    def __iter__(self) -> Iterator[Tensor]:
        """Arrays of so many rows; the last may have fewer. Raises AgradError of kind `file`."""
        require_files("chunks")
        note_read(str(self.path))
        return map(tensor, _chunks_of_array(self) if _is_npy(self.path) else _chunks_of_csv(self))

    def __str__(self) -> str:
        return f'chunks("{self.path}", {self.rows}{_columns_typed(self.columns)}{_form_typed(self.form)})'


def unreadable(path: str | Path, folders: bool = False) -> str:
    """Why what is there is no file that a script reads, links followed; empty for a file, and where nothing is."""
    is_folder = os.path.isdir(path)
    if (is_folder and not folders) or not os.path.exists(path):
        return "it is a folder" if is_folder else ""
    if not is_folder and not os.path.isfile(path):
        return "it is not a regular file"
    return "it belongs to the system" if data.formats.of_system(path) else ""


def existing(name: str, path: Any, folders: bool = False) -> Path:
    """The path of a file, or a folder of them, that can be read, for the function `name`.

    Raises AgradError of kind `file`.
    """
    from pathlib import Path  # not at the start: a calculation does not read files

    require_files(name)
    if not isinstance(path, str | Path):
        several = [f'{name}("{one}")' for one in path] if isinstance(path, tuple) else []
        given = "several" if several else describe(path)
        raise AgradError("type", f"{name} needs the name of one file, not {given}", fixes=several[:1])
    if not str(path).strip():
        raise AgradError("file", f"{name}: that is not the name of a file")
    try:
        there = Path(path).expanduser()
        why, found = unreadable(there, folders), there.exists()
    except (OSError, ValueError, RuntimeError):  # no file can have such a name, or there is no such home
        found, why = False, ""
    if why:
        raise AgradError("file", f"{name}: {path} cannot be read: {why}")
    if found:
        note_read(str(there))
        return there
    raise AgradError("file", f"{name}: there is no file {path}", facts=MissingFile(str(path)))


def _columns_of(name: str, given: Any) -> Columns | None:
    """Columns as they were given: one or several, each by its name, or by its number from 0."""
    if given is None:
        return None
    several = given if is_sequence(given) else (given,)
    if not len(several):
        raise AgradError("arity", f"{name}: no columns are given")
    return tuple(one if isinstance(one, str) else small(name, "the number of a column", one) for one in several)


def _as_typed(columns: Columns) -> str:
    shown = [str(one) if isinstance(one, int) else f'"{one}"' for one in columns]
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"


def _form(name: str, header: Any = None, skip: Any = 0, na: Any = None, **texts: Any) -> TextForm | None:
    """What a call says of a file of text; None for nothing. Raises AgradError."""
    if header is na is None and skip == 0 and not any(given is not None for given in texts.values()):
        return None
    for what, given in texts.items():
        if given is not None and not isinstance(given, str):
            raise AgradError("type", f'{name}: {what} is a text such as ";", not {describe(given)}')
    several = () if na is None else tuple(na) if is_sequence(na) else (na,)
    if not all(isinstance(one, str) for one in several):
        raise AgradError("type", f'{name}: na is a text such as "NA", or several of these, not {describe(na)}')
    try:
        has_names = None if header is None else truth_of(name, "header", header)
        return data.csv_tables.TextForm(**texts, skip=whole(skip, f"{name}: skip"), header=has_names, na=several)
    except AgradError as problem:
        problem.message = f"{name}: {problem.message.removeprefix(f'{name}: ')}"
        raise


def _form_typed(form: TextForm | None) -> str:
    """What is said of a file of text, as the rest of a call."""
    if form is None:
        return ""
    names = ("delimiter", "decimal", "comments", "encoding")
    given = [(name, getattr(form, name)) for name in names]
    texts = [f', {what}="{text}"'.replace("\t", "tab") for what, text in given if text is not None]
    texts += [f", skip={form.skip}"] if form.skip else []
    texts += [f", header={int(form.header)}"] if form.header is not None else []
    return "".join([*texts, f", na={_as_typed(form.na)}"] if form.na else texts)


def _places_of(name: str, table: Table, columns: Columns | None) -> list[int]:
    """The numbers, from 0, of the chosen columns. Raises AgradError of kind `name` for a column that is not there."""
    by_name = [one for one in columns or () if isinstance(one, str)]
    table.require_each(by_name)
    width = len(table.names)
    places = [table.names.index(one) if isinstance(one, str) else one for one in columns or range(width)]
    for place in places:
        if not -width <= place < width:
            there = f"{table.path} has {counted(width, 'column')}: there is no column {place}"
            raise AgradError("name", f"{name}: {there}", notes=[f"valid are {-width} to {width - 1}"])
    if not by_name:
        table.require_sure()
    return [place % width for place in places]


def _number_columns(table: Table) -> None:
    """Name the columns of a text by their numbers, from 1: several may have one name in the file."""
    if isinstance(table, data.csv_tables.CsvTable):
        table.names = [str(place + 1) for place in range(len(table.names))]


def _named_if_possible(table: Table, places: list[int]) -> Columns:
    """Some columns: by their names, if they have some."""
    unlike = not table.unsure and len(set(table.names)) == len(table.names)
    named = unlike and not table.nameless and all(map(_is_simple, table.names))
    return tuple([table.names[place] if named else place for place in places])


def _is_simple(text: str) -> bool:
    """Whether it can be typed between quotes unchanged."""
    return text.isprintable() and not set(text) & {'"', "\\"}


def _matrices(
    name: str, path: Path, columns: Columns | None, form: TextForm | None = None, rest: str = "", block: int = 0
) -> Iterator[Array]:
    """The numbers of a table, some rows at a time, of text read from so many bytes. Raises AgradError of kind `file`.

    `rest`: the rest of the call after the path.
    """
    rows, fast = 0, False if 0 < block < _LEAST else None
    with _named(name, path), closing(data.formats.open_table(str(path), form=form, block=block, fast=fast)) as table:
        texts = table.texts()
        known = [place for place, one in enumerate(table.names) if one not in texts] if texts else []
        numbers = _named_if_possible(table, known)
        with _fixes_typed(f'{name}("{path}"{rest}', columns, form, known, numbers):
            places = _places_of(name, table, columns)
            _number_columns(table)
            wanted = data.tables.Wanted([table.names[place] for place in places])
            for part in table.parts(wanted):
                matrix = table.matrix(part, wanted)
                rows += len(matrix)
                yield matrix
        if not rows:
            raise AgradError("file", f"there are no numbers in {path}")


@contextmanager
def _fixes_typed(
    typed: str, columns: Columns | None, form: TextForm | None, known: Sequence[int] = (), numbers: Columns = ()
) -> Iterator[None]:
    """Give an error in a file fixes that begin as the call was `typed`, and go on as its form was.

    `known`: the columns of numbers, and `numbers` how they are given.
    """
    try:
        yield
    except AgradError as problem:
        facts = problem.facts
        is_text = isinstance(facts, BadEntry) and facts.column is not None and facts.column not in known

        def again(**changes: Any) -> str:
            from dataclasses import replace  # here, since few calls fail

            changed = replace(form or data.csv_tables.TextForm(), **changes)
            return f"{typed}{_columns_typed(columns)}{_form_typed(changed)})"

        if not _is_simple(typed.partition('"')[2].rpartition('"')[0]):
            pass
        elif isinstance(facts, BadEntry) and facts.decimal:
            problem.fixes = [again(decimal=facts.decimal)]
        elif isinstance(facts, BadEntry) and facts.damaged:
            problem.fixes = [again(encoding="cp1252")]
        elif isinstance(facts, BadEntry) and facts.missing is not None and not (is_text and known):
            problem.fixes = [again(na=(*(form.na if form is not None else ()), facts.missing)), *problem.fixes]
        elif columns is None and is_text and known:
            problem.fixes = [f"{typed}, columns={_as_typed(numbers)}{_form_typed(form)})"]
        elif isinstance(facts, OtherForm):
            problem.fixes = [again(**{facts.option: one}) for one in facts.values]
        raise


def _columns_typed(columns: Columns | None) -> str:
    return "" if columns is None else f", columns={_as_typed(columns)}"


@contextmanager
def _named(name: str, path: Path) -> Iterator[None]:
    """Begin the message of an error in a file with the function that reads it, and the place if it has one."""
    try:
        yield
    except AgradError as problem:
        if problem.kind != "file":
            raise
        if problem.row and isinstance(facts := problem.facts, BadEntry) and facts.line is not None:
            problem.labels.clear()
            mark = ":" if facts.column is None else ","
            problem.message = f"{path}, line {facts.line}{mark} {problem.message}"
        problem.message = f"{name}: {problem.message}"
        raise


def _chunks_of_csv(chunks: Chunks) -> Iterator[Array]:
    block = min(max(_SMALL, _BYTES_OF_ROW * chunks.rows), data.tables.BYTES)
    waiting: list[Array] = []  # fewer rows than a chunk has
    count = 0
    for matrix in _matrices("chunks", chunks.path, chunks.columns, chunks.form, f", {chunks.rows}", block):
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
        raise AgradError("file", f"chunks: {chunks.path} holds one number, not rows")
    if chunks.columns is not None:
        fixes = [Hint("piece[:, columns] of each piece")]
        raise AgradError("file", f"chunks: {chunks.path} is not a CSV file", fixes=fixes)
    for start in range(0, len(array), chunks.rows):
        yield array[start : start + chunks.rows]


def _array(name: str, path: Path, mapped: bool = False) -> Any:
    with _named(name, path):
        return data.numpy_files.load_array(str(path), mapped)


def _is_npy(path: Path) -> bool:
    """Whether a file has an array saved by numpy, by its first bytes."""
    try:
        with path.open("rb") as file:
            return file.read(6) == b"\x93NUMPY"
    except OSError:
        return False  # the reader of its rows raises the error


@composed(signature=f"path; columns=None, {_FORM}, units=False", derivative=NONE)
def load_csv(path: Any, columns: Any, units: Any, **form_of: Any) -> tables.Table:
    """The table in a CSV file, one row per line. t.speed, t["speed m/s"] and t[0] are columns of a table t, and t[0] is
    not the first row: that is t[0, :]. t[2:5] are rows, t[t.x > 0] those in which it is true; t.columns are the
    names, tensor(t) is the matrix of all columns. A column whose first entry is no number holds texts. columns: the
    name of a column, or its number from 0, or several of these. units: whether columns such as "speed (m/s)" have the
    units at the ends of their names, and are called what is before: t.speed. delimiter, decimal: found in the file,
    if not given; comments: "none" if lines that begin with # are rows; skip: lines to skip; header: whether the first
    row has the names, which must be said where it has numbers too; na: "NA", or several such texts, for missing
    numbers, which become nan; encoding: of a text that is not UTF-8. It reads .gz, .zst, .jsonl, .arrow and .parquet
    files, and folders of them, too.

    """
    form = _form("load_csv", **form_of)
    table = _table(existing("load_csv", path, folders=True), _columns_of("load_csv", columns), form)
    return tables.measured(table) if truth_of("load_csv", "units", units) else table


def load_matrix(path: str) -> Tensor:
    """All numbers in a file for `load_csv`, as a matrix. Raises AgradError of kind `file` for an entry that is none."""
    from array import array

    data, width = array("d"), 0  # eight bytes per number, also while it grows
    for matrix in _matrices("load_csv", existing("load_csv", path, folders=True), None):
        data.frombytes(matrix.tobytes())
        width = matrix.shape[1]
        if len(data) > current().limits.entries:
            afford("load_csv", (len(data) // width, width))
    return tensor(np.frombuffer(data).reshape(-1, width))


def _table(path: Path, columns: Columns | None, form: TextForm | None) -> tables.Table:
    """The columns of a table in a file. Raises AgradError of kind `file`."""
    fixed = _fixes_typed(f'load_csv("{path}"', columns, form)
    opened = data.formats.open_table
    with _named("load_csv", path), fixed, collecting_later(), closing(opened(str(path), form=form, fast=None)) as table:
        places = _places_of("load_csv", table, columns)
        names, texts = list(table.names), table.texts()
        _number_columns(table)
        chosen = [(table.names[place], names[place]) for place in places]  # here, and what the file calls it
        numbers = [name for name, known in chosen if known not in texts]
        wanted = data.tables.Wanted(numbers, [name for name, known in chosen if known in texts], texts=True)
        pieces = _pieces(table, wanted)
        known = dict(chosen)
        with scope(place=current().origin):  # which is not looked for again for each
            read = {name: _as_column(known[name], [columns.pop(name) for columns in pieces]) for name in known}
    return tables.Table([known for _, known in chosen], [read[name] for name, _ in chosen], path.name)


def _pieces(table: Table, wanted: Wanted) -> list[dict[str, Any]]:
    """The columns of a table, some rows at a time. Raises AgradError of kind `file` if there are no rows."""
    rows, pieces = 0, []
    for part in table.parts(wanted):
        piece = table.piece(part, wanted)
        rows += piece.rows
        if rows * len(wanted.names) > current().limits.entries:
            afford("load_csv", (rows, len(wanted.names)))
        texts = {name: table.as_texts(name, piece.columns[name]) for name in wanted.copied}
        pieces.append({**piece.columns, **texts})
    if not rows:
        raise AgradError("file", f"there are no rows in {table.path}")
    return pieces


def _as_column(name: str, parts: list[Any]) -> Tensor | tables.Texts:
    """The parts of a column in one."""
    if isinstance(parts[0], list):
        texts = [text for part in parts for text in part]
        try:
            "".join(filter(None, texts)).encode()
        except UnicodeEncodeError:  # of bytes that are not UTF-8, which the reader keeps
            problem = OtherForm("encoding", ("cp1252",))
            raise AgradError("file", f"the texts of the column {name} are not UTF-8", facts=problem) from None
        return tables.Texts(name, texts)
    return bare(leaf(np.concatenate(parts) if len(parts) > 1 else parts[0].copy()))


def load_text(path: Any, delimiter: Any, skiprows: Any) -> Tensor:
    """The numbers in a text file, as `numpy.loadtxt` reads them: without comments, and axes of one entry."""
    name = "np.loadtxt"
    file, skipped = existing(name, path), whole(skiprows, f"{name}: skiprows")
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")[max(skipped, 0) :]
        # For a file without numbers, numpy gives a warning.
        is_empty = not any(line.partition("#")[0].strip() for line in lines)
        found = np.empty(0) if is_empty else np.loadtxt(lines, delimiter=delimiter)
    except UnicodeDecodeError:
        raise AgradError("file", f"{name}: {file} is not UTF-8 text") from None
    except OSError as problem:
        raise AgradError("file", f"{name}: cannot read {file}: {problem.strerror}") from None
    except (ValueError, TypeError) as problem:
        raise AgradError("file", f"{name}: {file}: {str(problem).partition(';')[0].rstrip('.')}") from None
    afford(name, found.shape)
    return tensor(found)


@composed(derivative=NONE)
def load_npy(path: Any, /) -> Tensor:
    """The array in a file saved by numpy."""
    array = _array("load_npy", existing("load_npy", path))
    afford("load_npy", array.shape)
    return tensor(array)


@composed(signature=f"path; rows, columns=None, {_FORM}")
def chunks(path: Any, rows: Any, columns: Any, **form_of: Any) -> Chunks:
    """The rows of a file for load_csv or load_npy, a fixed number at a time, for loops over more data than fits in
    memory. The last array may have fewer rows. The others: as for load_csv.

    derivative: none: the arrays are leaves
    """
    form = _form("chunks", **form_of)
    file, count = existing("chunks", path, folders=True), whole(rows, "chunks: the number of rows")
    if count < 1:
        raise AgradError("domain", "chunks: a chunk must have at least one row")
    return Chunks(file, count, _columns_of("chunks", columns), form)
