"""Values from files on the command line: `x=@data.csv`, a column `x=@data.csv:speed`, `x=@x.npy`, a pipe `x=@-`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from stat import S_ISFIFO

from agrad.cli.main import reading_input, shown_name
from agrad.engine.core.tensor import Tensor
from agrad.engine.data.formats import open_table
from agrad.engine.data.tables import Wanted
from agrad.engine.errors import AgradError, Hint, OtherForm
from agrad.engine.ops.data_files import load_matrix
from agrad.engine.values import Array, format_bytes, format_shape, np
from agrad.grammar.diagnostics import suggest
from agrad.grammar.runtime.builtins import FUNCTIONS
from agrad.grammar.runtime.operations import adapted
from agrad.lazy import rare


def from_file(word: str, memory: float = 1e9) -> Tensor:
    """The numbers in a file: all of them, or, after a colon, the column of that name or number (from 0).

    `memory`: the bytes that a pipe may have. Raises AgradError of kind `file`.
    """
    path, column = _parted(word)
    if is_pipe(path):
        return _from_pipe(path, column, int(memory))
    try:
        return _column(path, column) if column and not path.endswith(".npy") else _all(path, column)
    except AgradError as problem:
        # Of a first row that may have the names or be data: how to type which it is.
        if isinstance(problem.facts, OtherForm) and problem.facts.option == "header":
            chosen = f"[:, {column}]" if column else ""
            typed = [f'load_csv("{path}", header={value}){chosen}' for value in problem.facts.values]
            problem.fixes = [Hint(f"'{one if column else f'tensor({one})'}'") for one in typed]
        raise


def is_pipe(path: str) -> bool:
    """Whether what stands there can be read only once: `-`, /dev/stdin behind a `|`, the shell's <(…)."""
    return path == "-" or (os.path.exists(path) and S_ISFIFO(os.stat(path).st_mode))


@contextmanager
def copied(path: str) -> Iterator[str]:
    """The name of a file that is a copy of what a pipe gives, as long as it is needed. Raises AgradError."""
    with ExitStack() as stack:
        if os.path.isdir("/proc/self/fd"):  # where a file needs no name, nothing of it can stay
            file = stack.enter_context(rare.tempfile.TemporaryFile())
            copy = f"/proc/self/fd/{file.fileno()}"
        else:
            copy = os.path.join(stack.enter_context(rare.tempfile.TemporaryDirectory()), "data")
            file = stack.enter_context(open(copy, "wb"))
        with reading_input(), ExitStack() as opened:
            stream = sys.stdin.buffer if path == "-" else opened.enter_context(open(path, "rb"))
            rare.shutil.copyfileobj(stream, file)
            file.flush()
        yield copy


def _from_pipe(path: str, column: str, most: int) -> Tensor:
    """The numbers that `-`, /dev/stdin or the shell's <(…) gives: those of a file that is a copy of it."""
    with rare.tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "data.csv")
        with open(copy, "wb") as file:
            file.write(_piped(path, most))
        try:
            return _column(copy, column) if column else _all(copy, "")
        except AgradError as problem:
            problem.message = problem.message.replace(copy, shown_name(path))
            raise


@cache
def _piped(path: str, most: int) -> bytes:
    """What a pipe gives, once for all the columns that are taken of it. Raises AgradError of kind `limit`."""
    with reading_input(), open(sys.stdin.fileno() if path == "-" else path, "rb", closefd=path != "-") as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise AgradError("limit", f"{shown_name(path)} has more than {format_bytes(most)}")
    return data


def _all(path: str, column: str) -> Tensor:
    """The numbers in a matrix of text, or in an array that numpy saved; or a column of it."""
    load = FUNCTIONS["load_npy"].call if path.endswith(".npy") else load_matrix
    try:
        array: Tensor = load(path)
    except AgradError as problem:
        if problem.row:
            problem.fixes = [Hint(f"@{path}:0   for one column of it, by its name or number")]
        raise
    if not column:
        return array
    if len(array.shape) != 2:
        what = {0: "one number", 1: "a vector"}.get(len(array.shape), f"an array of shape {format_shape(array.shape)}")
        fixes = [Hint(f"@{path}   for all of it")]
        raise AgradError("file", f"{path} is {what}, which has no column {column}", fixes=fixes)
    count = array.shape[1]
    if not (column.isdecimal() and int(column) < count):
        raise AgradError("file", f"{path} has no column {column}: there are {count}, counted from 0")
    return _array(np.ascontiguousarray(array.value[:, int(column)]))  # type: ignore[index]


def _parted(word: str) -> tuple[str, str]:
    """The path of a file, and the column after a colon, if there is one; the name of either may have colons."""
    if os.path.exists(os.path.expanduser(word)):
        return word, ""
    colons = [place for place, letter in enumerate(word) if letter == ":"]
    for place in reversed(colons):
        if os.path.isfile(os.path.expanduser(word[:place])):
            return word[:place], word[place + 1 :]
    path, colon, column = word.rpartition(":")
    is_path = not colon or "/" in column or os.sep in column  # as in C:\data, where that file is missing
    return (word, "") if is_path else (path, column)


def _array(numbers: Array) -> Tensor:
    array: Tensor = adapted(numbers)
    return array


def _column(path: str, column: str) -> Tensor:
    """The numbers in a column of a table. The other columns may hold texts."""
    with closing(open_table(os.path.expanduser(path), fast=None)) as table:
        column = table.named(column)
        if column not in table.names:
            fixes = [Hint(f"@{path}:{name}") for name in suggest(column, table.names)]
            raise AgradError("file", f"{path} has no column {column}; {table.listing()}", fixes=fixes)
        table.require(column)
        wanted = Wanted([column])
        columns = [table.piece(part, wanted).columns[column] for part in table.parts(wanted)]
    if not any(map(len, columns)):
        raise AgradError("file", f"there are no rows in {path}")
    return _array(np.concatenate(columns))
