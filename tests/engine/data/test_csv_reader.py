"""The rules of CSV, which are the same for `load_csv`, `chunks`, `map` and `x=@data.csv:column`."""

import math
import re
from contextlib import closing

import numpy as np
import pytest
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.cli.data.at_file import from_file
from agrad.engine.data.csv_tables import CsvTable
from agrad.engine.data.formats import open_table
from agrad.engine.data.tables import Wanted, numbers_of

GOOD = {
    "plain": "1,2\n3,4\n",
    "a line of names": "x,y\n1,2\n3,4\n",
    "quotes": 'x,"y"\n"1","2"\n3,"4\n"\n',
    "a byte order mark": "\ufeffx,y\n1,2\n3,4\n",
    "a byte order mark before numbers": "\ufeff1,2\n3,4\n",
    "line ends of Windows": "x,y\r\n1,2\r\n3,4\r\n",
    "empty lines": "\n  \nx,y\n\n1,2\n   \n\n3,4\n\n",
    "blanks around entries": " x , y\n 1, 2\n3 ,4 \n",
    "no last line end": "1,2\n3,4",
}
BAD = {
    "an entry that is a word": ("x,y\n1,2\n\n3,four\n", 4, '"four" is not a number'),
    "digits with a low line between them, as in names": ("x,y\n1,2\n2024_1,4\n", 3, '"2024_1" is not a number'),
    "what Excel writes for an error, which is no comment": ("x,y\n1,2\n#DIV/0!,4\n", 3, '"#DIV/0!" is not a number'),
    "an empty entry": ("1,2\n3,\n", 2, "the entry is empty"),
    "an entry too many": ("1,2\n3,4,5\n", 2, "3 entries, not 2"),
    "an entry too few": ("x,y\n1,2\n3\n", 3, "1 entry, not 2"),
    "fewer entries than names": ("x,y,z\n1,2\n", 2, "2 entries, not 3"),
    "what only pyarrow takes for a number": ("1,2\n3,nan(1)\n", 2, '"nan(1)" is not a number'),
    "bytes that are not UTF-8": ("1,2\n3,\udcff\n", 2, "this is not UTF-8 text"),
    "a number that is too large": (
        "1,-inf\n3,-1e400\n",
        2,
        '"-1e400" is too large: a float64 holds numbers up to 1.8e308',
    ),
}


def read_by_load_csv(path):
    return ag.load_csv(path).tolist()


def read_by_chunks(path):
    return [row for rows in ag.chunks(path, 1) for row in rows.tolist()]


def read_by_map(path):
    with closing(open_table(path)) as table:
        wanted = Wanted(table.names)
        pieces = [table.piece(part, wanted) for part in table.parts(wanted)]
    return [list(map(float, row)) for piece in pieces for row in zip(*piece.columns.values(), strict=True)]


def read_by_column(path):
    return [list(row) for row in zip(from_file(f"{path}:0").tolist(), from_file(f"{path}:1").tolist(), strict=True)]


READERS = [read_by_load_csv, read_by_chunks, read_by_map, read_by_column]


@each("text", GOOD.values())
@each("read", READERS)
def test_all_read_the_same_numbers(file, read, text):
    assert read(file(text)) == [[1, 2], [3, 4]]


@each("text, line, reason", BAD.values())
@each("read", READERS)
def test_all_refuse_the_same_with_the_place(file, read, text, line, reason):
    caught = refuses(lambda: read(file(text)))
    assert caught.message.endswith(reason)
    assert (caught.kind, caught.facts.line) == ("file", line)
    if "UTF-8" not in reason:  # for which there is an option, that not all readers can name
        assert bool(caught.fixes) == (reason == "the entry is empty")


@each(
    "text, message",
    [("", "is empty"), ("1,2\r3,4\r", "write it with \\n"), ('1,2\n"' + "3" * 140_000, "1 entry, not 2")],
)
@each("read", READERS)
def test_all_refuse_a_file_that_is_no_table(file, read, text, message):
    refuses(lambda: read(file(text)), re.escape(message))


def test_a_first_line_with_some_numbers_names_columns_only_where_names_are_used(file):
    path = file("x,2019\n1,2\n")
    assert read_by_map(path) == [[1, 2]]
    assert from_file(f"{path}:2019").tolist() == [2]
    for read in (read_by_chunks, read_by_column, ag.load_csv):
        with pytest.raises(ag.AgradError, match="may have the names of the columns, or be data") as caught:
            read(path)
    assert caught.value.fixes == [f'load_csv("{path}", header=1)', f'load_csv("{path}", header=0)']
    assert ag.load_csv(path, header=1)["2019"].tolist() == [2]
    assert list(ag.load_csv(path, header=0).c0) == ["x", "1"]
    assert ag.load_csv(file("2018,2019\n1,2\n"), header=1)["2019"].tolist() == [2]


def test_two_columns_of_one_name_are_refused_where_the_name_is_used(file):
    path = file("x,y,x\n1,2,3\n")
    assert read_by_load_csv(path) == [[1, 2, 3]]
    assert from_file(f"{path}:y").tolist() == [2]
    refuses(lambda: from_file(f"{path}:x"), "has 2 columns x")


@each("read", READERS)
def test_a_file_that_pyarrow_reads_has_the_same_numbers(file, read, monkeypatch):
    monkeypatch.setattr("agrad.engine.ops.data_files._LEAST", 0)
    monkeypatch.setattr("agrad.engine.data.csv_tables.LARGE", 0)
    numbers = np.random.default_rng(0).normal(size=(300, 2)) * 10.0 ** np.arange(-150, 150)[:, None]
    numbers[7] = math.inf, -math.inf
    assert read(file("".join(f"{x!r},{y!r}\n" for x, y in numbers.tolist()))) == numbers.tolist()
    refuses(lambda: read(file("1,2\n" * 300 + "1e400,3\n")), "is too large")


def test_a_large_file_is_read_by_pyarrow_where_it_is_installed(file, monkeypatch):
    pytest.importorskip("pyarrow")
    read = []
    by_arrow = CsvTable._by_arrow
    monkeypatch.setattr(CsvTable, "_by_arrow", lambda self, *rest: read.append(1) or by_arrow(self, *rest))
    path = file("1.5,2.5\n" * 150_000)
    assert ag.load_csv(path).shape == (150_000, 2)
    assert len(read) == 1
    assert ag.load_csv(file("1,2\n")).tolist() == [[1, 2]]
    assert len(read) == 1


def test_a_row_of_very_many_entries(file):
    assert ag.load_csv(file(",".join(["1"] * 200_000))).shape == (1, 200_000)


@each("fast", [True, False])
def test_an_entry_of_any_length_is_read_with_pyarrow_and_without(file, fast):
    text, digits = "a" * 200_000, "0." + "1" * 200_000
    with closing(CsvTable(file(f"name,x\n{text},2\nb,{digits}\n"), fast=fast)) as table:
        wanted = Wanted(["x"], ["name"], texts=True)
        (piece,) = [table.piece(part, wanted) for part in table.parts(wanted)]
    assert piece.columns["x"].tolist() == [2, 1 / 9]
    assert list(map(str, piece.columns["name"])) == [text, "b"]


@each("fast", [True, False])
def test_only_one_byte_order_mark_is_dropped(file, fast):
    for text, entries in (("name\n\ufeffa\n", ["\ufeffa"]), ("\ufeff\ufeffa\nb\n", ["b"])):
        with closing(CsvTable(file(text), fast=fast)) as table:
            wanted = Wanted([], table.names, texts=True)
            (piece,) = [table.piece(part, wanted) for part in table.parts(wanted)]
        assert list(map(str, *piece.columns.values())) == entries
    with (
        closing(CsvTable(file("x\n\ufeff1\n"), fast=fast)) as table,
        pytest.raises(ag.AgradError, match="not a number"),
    ):
        [table.piece(part, Wanted(["x"])) for part in table.parts(Wanted(["x"]))]


def test_a_column_of_pyarrow_is_read_as_pyarrow_reads_it_wherever_it_begins_and_has_nulls():
    pa = pytest.importorskip("pyarrow")
    chance = np.random.default_rng(0)
    for _ in range(200):
        entries = [None if chance.random() < 0.2 else chance.normal() for _ in range(chance.integers(40))]
        column = pa.array(entries, pa.float64())[chance.integers(len(entries) + 1) :]
        pieces = pa.chunked_array([column, column[len(column) // 2 :]][: chance.integers(3)], pa.float64())
        assert numbers_of(column).tobytes() == column.to_numpy(zero_copy_only=False).tobytes()
        assert numbers_of(pieces).tobytes() == pieces.to_numpy().tobytes()
