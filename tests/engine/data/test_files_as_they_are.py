"""Files as people have them are read right, or refused with the line, the column and a way on: by pyarrow and without."""

import bz2
import gzip
import json
import lzma
from contextlib import closing
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from refused import refuses
from rows import each
from transcript import sections

import agrad.engine as ag
from agrad.engine.data import csv_tables, text_tables
from agrad.engine.data.csv_tables import TextForm, find
from agrad.engine.data.formats import open_table
from agrad.engine.data.tables import Wanted

XY = {"x": [1.5, 3.0], "y": [2.5, 4.25]}
INTS = {"x": [1.0, 3.0], "y": [2.0, 4.0]}


def files(title):
    """What is known of each file: its bytes or text, and what a test says of it."""
    (text,) = sections(Path(__file__).with_name("files_as_they_are.txt"))[title]
    rows = (line.split(" | ") for line in text.splitlines())
    known = {"gzip": gzip, "bz2": bz2, "lzma": lzma, "XY": XY, "INTS": INTS}
    return {name: tuple(eval(cell, known) for cell in cells) for name, *cells in rows}


# Each file: its bytes or text, and the columns of numbers in it.
READ = files("read")

# Each file: what is asked of it, the place and the words of the refusal.
REFUSED = files("refused")

# Each file, and the message of a refusal that has no line.
NO_TABLE = files("no_table")


def numbers_of(table):
    """All columns that do not hold texts."""
    return read(table, [name for name in table.names if name not in table.texts()])


def read(table, names):
    wanted = Wanted(names)
    pieces = [table.piece(part, wanted) for part in table.parts(wanted)]
    return {name: [x for piece in pieces for x in piece.columns[name].tolist()] for name in names}


def refuses_to_read(opened, column):
    """The error with which a column is refused, or the file already when it is opened."""

    def reading():
        with closing(opened()) as table:
            read(table, [column])

    return refuses(reading)


@pytest.fixture(params=[True, False], ids=["pyarrow", "python"])
def opened(request, monkeypatch):
    def opened(path, **options):
        table = open_table(path, fast=request.param, **options)
        table.fast = request.param
        return table

    return opened


@each("name", READ)
def test_read_as_it_is(file, opened, name):
    data, expected = READ[name]
    with closing(opened(file(data, name))) as table:
        assert numbers_of(table) == expected


@each("size", [1, 7, 64])
@each("name", READ)
def test_read_the_same_in_blocks_of_any_size(file, monkeypatch, name, size):
    data, expected = READ[name]
    monkeypatch.setattr(csv_tables, "BYTES", size)
    monkeypatch.setattr(text_tables, "BYTES", size)
    with closing(open_table(file(data, name))) as table:
        assert read(table, list(expected)) == expected


@each("name", REFUSED)
def test_refused_with_the_place(file, opened, name):
    data, column, place, message = REFUSED[name]
    caught = refuses_to_read(lambda: opened(file(data, name)), column)
    assert caught.message == message
    assert [label.origin.where for label in caught.labels] == [place]


@each("name", NO_TABLE)
def test_refused_as_a_whole(file, name):
    data, message = NO_TABLE[name]
    path = file(data, name)
    assert refuses(lambda: open_table(path)).message == message.format(path)


def test_a_file_that_ends_too_early_is_refused_after_what_could_be_read(file, opened):
    whole = gzip.compress(b"x,y\n" + b"1,2\n" * 100_000)
    caught = refuses_to_read(lambda: opened(file(whole[:-20], "a.csv.gz")), "x")
    assert caught.message.endswith(": Compressed file ended before the end-of-stream marker was reached")


def test_zstandard_is_read_by_pyarrow(file, opened):
    pa = pytest.importorskip("pyarrow")
    path = file(pa.compress(b"x,y\n1,2\n3,4\n", codec="zstd", asbytes=True), "a.csv.zst")
    with closing(opened(path)) as table:
        assert numbers_of(table) == INTS


@each(
    "form, text, expected",
    [
        (TextForm(decimal=","), "x\n1,5\n2,5\n", {"x": [1.5, 2.5]}),
        (TextForm(decimal=","), "x\ty\n1,234\t1\n", {"x": [1.234], "y": [1.0]}),
        (TextForm(delimiter="tab"), "x,a\ty\n1\t2\n", {"x,a": [1.0], "y": [2.0]}),
        (TextForm(delimiter="blanks"), "x y\n1  2\n", {"x": [1.0], "y": [2.0]}),
        (TextForm(skip=2), "Report\nof May\nx;y\n1;2\n", {"x": [1.0], "y": [2.0]}),
        (TextForm(comments="none"), "#x,y\n1,2\n", {"#x": [1.0], "y": [2.0]}),
        (TextForm(encoding="cp1252"), "Länge;x\n1,5;2\n".encode("cp1252"), {"Länge": [1.5], "x": [2.0]}),
        (TextForm(encoding="utf-16-le"), "x;y\n1;2\n".encode("utf-16-le"), {"x": [1.0], "y": [2.0]}),
        (TextForm(header=False), "x;1\n2;3\n", {"c1": [1.0, 3.0]}),
        (TextForm(comments="#"), "s,x\na,1\n#b,2\n", {"x": [1.0]}),
    ],
)
def test_what_is_given_holds(file, opened, form, text, expected):
    with closing(opened(file(text), form=form)) as table:
        assert numbers_of(table) == expected


@each(
    "given, message",
    [
        ({"delimiter": "ab"}, "a delimiter is one sign, tab or blanks, and 'ab' is not"),
        ({"delimiter": "1"}, "a delimiter is one sign, tab or blanks, and '1' is not"),
        ({"decimal": ";"}, "the decimal mark is . or , and not ';'"),
        ({"delimiter": ",", "decimal": ","}, "a comma cannot be both the delimiter and the decimal mark"),
        ({"comments": "//"}, "comments begin with #, or there are none, and not '//'"),
        ({"encoding": "utf-9"}, "'utf-9' is not an encoding of text"),
        ({"encoding": "rot13"}, "'rot13' is not an encoding of text"),
        ({"skip": -1}, "-1 lines cannot be skipped"),
    ],
)
def test_what_cannot_be_is_refused(given, message):
    assert refuses(lambda: TextForm(**given)).message == message


def test_the_text_of_a_comma_file_is_found_whatever_the_numbers():
    rng = np.random.default_rng(0)
    for delimiter, decimal in ((";", ","), (";", "."), ("\t", ","), ("\t", "."), ("|", "."), (",", "."), (" ", ",")):
        rows = rng.normal(size=(20, 3)) * 10.0 ** rng.integers(-3, 4)
        lines = [delimiter.join(f"{x:.7g}".replace(".", decimal) for x in row) for row in rows.tolist()]
        found = find("\n".join(lines).encode(), TextForm(), True)
        assert (found.delimiter, found.decimal) == (delimiter, decimal), lines[:3]


def test_load_csv_and_chunks_find_and_take_the_same(file):
    path = file("x;y\n1,5;2\n3,25;4\n")
    assert ag.load_csv(path).tolist() == [[1.5, 2], [3.25, 4]]
    assert [rows.tolist() for rows in ag.chunks(path, 1)] == [[[1.5, 2]], [[3.25, 4]]]
    caught = refuses(lambda: list(ag.chunks(path, 1, decimal=".")))
    assert caught.message == f'chunks: {path}, line 2, column 1: "1,5" is not a number: the decimal mark is a point'
    assert caught.fixes == [f'chunks("{path}", 1, decimal=",")']
    caught = refuses(lambda: ag.load_csv(file("x;y\n1.5;1\n2,5;2\n", "b.csv")))
    assert caught.fixes == [f'load_csv("{path.replace("a.csv", "b.csv")}", decimal=",")']
    rows = ag.chunks(path, 1, columns="x", delimiter=";", skip=0)
    assert str(rows) == f'chunks("{path}", 1, columns="x", delimiter=";")'
    assert [one.tolist() for one in rows] == [[[1.5]], [[3.25]]]


def test_columns_with_types_of_arrow_are_read_or_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet, feather = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow.feather")
    table = pa.table(
        {
            "i": pa.array([1, 2], pa.int16()),
            "half": pa.array([0.5, 1.5], pa.float32()),
            "money": pa.array([Decimal("1.25"), Decimal("2.50")]),
            "flag": [True, False],
            "coded": pa.array([7.0, 8.0]).dictionary_encode(),
            "when": [datetime(2024, 1, 1), datetime(2024, 1, 2)],
            "nested": [{"a": 1}, {"a": 2}],
            "list": [[1.0], [2.0]],
            "text": ["a", "b"],
            "hole": [1.0, None],
            "none": pa.nulls(2),
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet")
    feather.write_feather(table, str(tmp_path / "a.feather"))
    feather.write_feather(table, str(tmp_path / "b.arrow"), compression="uncompressed", chunksize=1)
    with pa.OSFile(str(tmp_path / "c.arrows"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    for name in ("a.parquet", "a.feather", "b.arrow", "c.arrows"):
        path = str(tmp_path / name)
        with closing(open_table(path)) as opened:
            assert read(opened, ["i", "half", "money", "flag", "coded", "nested.a"]) == {
                "i": [1, 2],
                "half": [0.5, 1.5],
                "money": [1.25, 2.5],
                "flag": [1, 0],
                "coded": [7, 8],
                "nested.a": [1, 2],
            }
            for column, words in (
                ("when", "holds timestamp[us], not numbers"),
                ("text", "holds string, not numbers"),
                ("hole", "the entry is empty"),
                ("none", "the entry is empty"),
            ):
                message = refuses_to_read(lambda path=path: open_table(path), column).message
                assert words in message and column in message


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_a_folder_is_one_table_with_its_partitions(tmp_path, kind):
    for year in (2023, 2024):
        for part in "ab":
            folder = tmp_path / "data" / f"year={year}"
            folder.mkdir(parents=True, exist_ok=True)
            rows = {"x": [1.0, 2.0], "y": [float(year), 0.0]}
            path = folder / f"part-{part}.{kind}"
            if kind == "csv":
                path.write_text("y;x\n" + "".join(f"{y};{x}\n" for x, y in zip(*rows.values(), strict=True)))
            elif kind == "jsonl":
                path.write_text(
                    "".join(json.dumps({"x": x, "y": y}) + "\n" for x, y in zip(*rows.values(), strict=True))
                )
            else:
                pa = pytest.importorskip("pyarrow")
                pytest.importorskip("pyarrow.parquet").write_table(pa.table(rows), path)
            (folder / "_SUCCESS").touch()
    for path in (tmp_path / "data", tmp_path / "data" / "**" / f"*.{kind}"):
        with closing(open_table(str(path))) as table:
            assert read(table, ["x", "y"]) == {"x": [1, 2] * 4, "y": [2023, 0, 2023, 0, 2024, 0, 2024, 0]}
    with closing(open_table(str(tmp_path / "data"))) as table:
        assert read(table, ["year", "x"])["year"] == [2023] * 4 + [2024] * 4


def test_a_file_of_a_folder_that_is_not_like_the_first_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,z\n1,2\n")
    caught = refuses_to_read(lambda: open_table(str(tmp_path)), "y")
    assert caught.message == f"{tmp_path}/b.csv has no column y, which {tmp_path}/a.csv has"
    (tmp_path / "c.jsonl").write_text('{"x": 1}\n')
    caught = refuses(lambda: open_table(str(tmp_path)))
    assert caught.message == f"{tmp_path} has files of several kinds: .csv .jsonl"
    assert caught.fixes == [f"name those of one kind: '{tmp_path}/*.csv'"]


def test_a_folder_with_too_many_files_is_refused_before_it_is_walked_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("agrad.engine.data.formats._MOST", 3)
    for name in "abcd":
        (tmp_path / f"{name}.csv").write_text("x\n1\n")
    for path in (tmp_path, tmp_path / "*.csv"):
        with pytest.raises(ag.AgradError) as caught:
            open_table(str(path))
        assert caught.value.message == f"{path} has more than 3 files and folders"


def test_other_texts_stay_errors_whatever_the_form_says(file, opened):
    path = file("x,y\n1,2\n3,4\n")
    caught = refuses_to_read(lambda: opened(path, form=TextForm(delimiter="tab")), "x,y")
    assert caught.message == 'column x,y: "1,2" is not a number: the decimal mark is a point'
    path = file("x;y\n1;2\nNA;1\nn.a.;1\n")
    caught = refuses_to_read(lambda: opened(path, form=TextForm(na=("NA",))), "x")
    assert caught.message.startswith('column x: "n.a." is not a number')


@each(
    "name, text, na, missing",
    [
        ("a.csv", "x;y\n1;2\nNA;-\n;4\n", ("NA", "-", ""), 3),
        ("a.csv", 'x,y\n1,2\n NA ,"-"\n"",4\n', ("NA", "-", ""), 3),
        ("a.tsv", "x\ty\n1\t2\nn/a\tn/a\n\t4\n", ("n/a", ""), 3),
        ("a.dat", "x y\n1 2\n-- --\n-- 4\n", ("--",), 3),
        ("a.jsonl", '{"x": 1, "y": 2}\n{"x": null, "y": "NA"}\n{"y": 4}\n', ("", "NA"), 3),
    ],
)
def test_entries_that_stand_for_missing_numbers_are_nan_and_counted(file, opened, name, text, na, missing):
    with closing(opened(file(text, name), form=TextForm(na=na))) as table:
        wanted = Wanted(["x", "y"])
        (piece,) = [table.piece(part, wanted) for part in table.parts(wanted)]
    assert np.array_equal(piece.columns["x"], [1, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(piece.columns["y"], [2, np.nan, 4], equal_nan=True)
    assert piece.missing == missing


def test_load_csv_says_what_to_add(file):
    path = file("x;y\n1;2\nNA;-\n;4\n")
    call = f'load_csv("{path}"'
    for na, fix in (((), '"NA"'), (("NA",), '("NA", "-")'), (("NA", "-"), '("NA", "-", "")')):
        with pytest.raises(ag.AgradError) as caught:
            ag.load_csv(path, na=na or None)
        assert caught.value.fixes[0] == f"{call}, na={fix})"
    found = ag.load_csv(path, na=("NA", "", "-"))
    assert np.array_equal(np.asarray(found), [[1, 2], [np.nan] * 2, [np.nan, 4]], equal_nan=True)
    excel = file("sep=;\nx;y\n1;2\n", "c.csv")
    assert refuses(lambda: ag.load_csv(excel)).fixes == [f'load_csv("{excel}", skip=1)']
    assert ag.load_csv(excel, skip=1).tolist() == [[1, 2]]
    latin = file("x;s\n1;ä\n".encode("cp1252"), "b.csv")
    caught = refuses(lambda: ag.load_csv(latin), "the texts of the column s are not UTF-8")
    assert caught.fixes == [f'load_csv("{latin}", encoding="cp1252")']
    assert list(ag.load_csv(latin, encoding="cp1252").s) == ["ä"]
    assert [rows.tolist() for rows in ag.chunks(latin, 5, columns="x", encoding="cp1252")] == [[[1]]]


@each("form", ["jsonl", "arrow", "arrows"])
@each("named", [True, False])
def test_streams_of_other_formats_are_read(tmp_path, form, named):
    lines = b'{"x": 1.0, "a": {"y": 2.0}}\n{"x": 3.0, "a": {"y": 4.0}}\n'
    path = tmp_path / "a"
    if form == "jsonl":
        path.write_bytes(lines)
    else:
        pa = pytest.importorskip("pyarrow")
        table = pa.table({"x": [1.0, 3.0], "a": [{"y": 2.0}, {"y": 4.0}]})
        made = pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream
        with pa.OSFile(str(path), "wb") as sink, made(sink, table.schema) as writer:
            writer.write_table(table, 1)
    kind = form.rstrip("s") if named else None
    with path.open("rb") as stream, closing(open_table("<stdin>", stream=stream, kind=kind)) as table:
        assert read(table, ["x", "a.y"]) == {"x": [1, 3], "a.y": [2, 4]}


def test_a_stream_that_is_no_arrow_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a").write_bytes(b"x,y\n1,2\n3,4\n")
    with (tmp_path / "a").open("rb") as stream, pytest.raises(ag.AgradError, match="<stdin> is not a stream of Arrow"):
        open_table("<stdin>", stream=stream, kind="arrow")
