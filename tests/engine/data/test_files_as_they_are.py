"""Files as people have them are read right, or refused with the line, the column and a way on: by pyarrow and without."""

import bz2
import gzip
import json
import lzma
from contextlib import closing
from datetime import datetime
from decimal import Decimal

import numpy as np
import pytest
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine.data import csv_tables, text_tables
from agrad.engine.data.csv_tables import TextForm, find
from agrad.engine.data.formats import open_table
from agrad.engine.data.tables import Wanted

XY = {"x": [1.5, 3.0], "y": [2.5, 4.25]}
INTS = {"x": [1.0, 3.0], "y": [2.0, 4.0]}

# Each file: its bytes or text, and the columns of numbers in it.
READ = {
    "excel-de.csv": ("\ufeffx;y;Name\r\n1,5;2,5;A\r\n3;4,25;B, C\r\n", XY),
    "excel-de-quoted.csv": ('x;y\r\n"1,5";"2,5"\r\n"3,0";"4,25"\r\n', XY),
    "excel-sep.csv": ("sep=;\r\nx;y\r\n1;2\r\n3;4\r\n", INTS),
    "excel-sep-quoted.csv": ('"sep=|"\nx|y\n1|2\n3|4\n', INTS),
    "excel-unicode.txt": ("x\ty\r\n1\t2\r\n3\t4\r\n".encode("utf-16"), INTS),
    "excel-unicode-be.txt": ("\ufeffx\ty\n1\t2\n3\t4\n".encode("utf-16-be"), INTS),
    "sheets-quoted-decimals.csv": ('x,y\n"1,5","2,5"\n3,"4,25"\n', XY),
    "tab.tsv": ("x\ty\n1.5\t2.5\n3\t4.25\n", XY),
    "tab-decimal-comma.tsv": ("x\ty\n1,5\t2,5\n3\t4,25\n", XY),
    "tab-empty-texts.tsv": ("s\tx\ty\n\t1\t2\n\t3\t4\n", INTS),
    "pipe.txt": ("x|y\n1|2\n3|4\n", INTS),
    "blanks.dat": ("  x     y\n  1.5   2.5\n\t3.0\t4.25  \n", XY),
    "blanks-decimal-comma.dat": ("x y\n1,5 2,5\n3 4,25\n", XY),
    "blanks-quoted.dat": ('x y name\n1 2 "a b"\n3 4 "c ""d"""\n', INTS),
    "savetxt.txt": ("# x y\n1.500000000000000000e+00 2.5e+00\n3.0e+00 4.25e+00\n", {"c0": XY["x"], "c1": XY["y"]}),
    "comments.csv": ("# made by hand, 2024; see\n#\nx,y\n1,2\n  # in between, 5, 6, 7\n3,4\n# end\n", INTS),
    "comment-is-a-row.csv": ("x,y\n1,2\n#9,9\n3,4\n", INTS),
    "comment-in-quotes.csv": ('s,x,y\n"a\n# no comment",1,2\nb,3,4\n# one\n', INTS),
    "no-names.csv": ("1,5;2,5\n3;4,25\n", {"c0": [1.5, 3.0], "c1": [2.5, 4.25]}),
    "no-names-plain.csv": ("1,5\n2,5\n", {"c0": [1.0, 2.0], "c1": [5.0, 5.0]}),
    "semicolons-in-texts.csv": ("s,x,y\na;b,1,2\nc;d,3,4\n", INTS),
    "commas-in-texts.csv": ('s;x;y\n"a, b";1;2\nc, d;3;4\n', INTS),
    "units.csv": ("x (m/s),y [°C]\n1,2\n3,4\n", {"x (m/s)": [1.0, 3.0], "y [°C]": [2.0, 4.0]}),
    "units-one-column.csv": ("speed in m/s\n1\n3\n", {"speed in m/s": [1.0, 3.0]}),
    "dates.csv": ("date,x,y\n2024-01-31 10:00,1,2\n2024-02-01 11:00,3,4\n", INTS),
    "dates-de.csv": ("Datum;x;y\n31.01.2024 10:00;1,5;2,5\n01.02.2024 11:00;3;4,25\n", XY),
    "empty-lines.csv": ("\n\nx;y\n\n1;2\n \n3;4\n\n", INTS),
    "exponents.csv": ("x;y\n1,5E+00;25e-1\n3;4,25\n", XY),
    "no-last-line-end.csv": ("x;y\n1,5;2,5\n3;4,25", XY),
    "gz.csv.gz": (gzip.compress(b"x,y\n1,2\n3,4\n"), INTS),
    "two-members.csv.gz": (gzip.compress(b"x,y\n1,2\n") + gzip.compress(b"3,4\n"), INTS),
    "named-plain.csv": (gzip.compress(b"x;y\n1,5;2,5\n3;4,25\n"), XY),
    "bz2.csv.bz2": (bz2.compress(b"x,y\n1,2\n3,4\n"), INTS),
    "xz.csv.xz": (lzma.compress(b"x,y\n1,2\n3,4\n"), INTS),
    "utf16.csv.gz": (gzip.compress("x\ty\n1\t2\n3\t4\n".encode("utf-16")), INTS),
    "lines.jsonl": ('{"x": 1, "y": 2, "s": "a"}\n\n{"y": 4.0, "x": 3}\n', INTS),
    "nested.jsonl": ('{"a": {"x": 1, "b": {"y": 2}}}\n{"a": {"b": {"y": 4}, "x": 3}}\n', {"a.x": [1.0, 3.0], "a.b.y": [2.0, 4.0]}),
    "windows.csv.jsonl": ('\ufeff{"x": 1, "y": 2}\r\n{"x": 3, "y": 4}\r\n', INTS),
    "lines.ndjson.gz": (gzip.compress(b'{"x": 1, "y": true}\r\n{"x": 3, "y": false}\r\n'), {"x": [1.0, 3.0], "y": [1.0, 0.0]}),
}  # fmt: skip

# Each file: what is asked of it, the place and the words of the refusal.
REFUSED = {
    "point-after-commas.csv": ("x;y\n" + "1,5;2\n" * 10_000 + "3.5;1\n", "x", "line 10002", 'column x: "3.5" is not a number: the decimal mark is a comma'),
    "comma-after-points.csv": ("x;y\n1.5;2\n3,5;1\n", "x", "line 3", 'column x: "3,5" is not a number: the decimal mark is a point'),
    "comma-after-integers.csv": ("x;y\n" + "1;2\n" * 20_000 + "3,5;1\n", "x", "line 20002", 'column x: "3,5" is not a number: the decimal mark is a point'),
    "grouped.csv": ('x,y\n1,2\n"1,234",5\n', "x", "line 3", 'column x: "1,234" is not a number: signs between thousands are not read'),
    "twice-grouped.csv": ("x;y\n1,5;2\n1.234.567,8;1\n", "x", "line 3", 'column x: "1.234.567,8" is not a number: signs between thousands are not read'),
    "grouped by blanks.csv": ("x,y\n1,2\n1 234.5,1\n", "x", "line 3", 'column x: "1 234.5" is not a number: signs between thousands are not read'),
    "grouped.tsv": ("x\ty\n1,234\t2\n5,678\t1\n", "x", "line 2", 'column x: "1,234" is not a number: the decimal mark is a point'),
    "grouped-de.csv": ("x;y\n1,5;1.234,5\n", "y", "line 2", 'column y: "1.234,5" is not a number: signs between thousands are not read'),
    "grouped-millions.csv": ("x;y\n1,5;1,234,567\n", "y", "line 2", 'column y: "1,234,567" is not a number: signs between thousands are not read'),
    "other-delimiter.csv": ("x;y\n1;2\n3,4\n", "x", "line 3", "1 entry, not 2"),
    "ragged.csv": ("x;y;z\n1;2;3\n4;5\n", "x", "line 3", "2 entries, not 3"),
    "comment-or-row.csv": ("name,x\na,1\n#b,2\n", "x", "line 3", "this line may be a comment, or a row whose first entry begins with #"),
    "currency.csv": ("x\n€ 5\n", "x", "line 2", 'column x: "€ 5" is not a number'),
    "percent.csv": ("x;y\n5 %;1\n", "x", "line 2", 'column x: "5 %" is not a number'),
    "missing.csv": ("x;y\n1;2\nNA;3\n", "x", "line 3", 'column x: "NA" is not a number'),
    "empty-entry.tsv": ("x\ty\n1\t2\n\t3\n", "x", "line 3", "column x: the entry is empty"),
    "second-line-of-units.csv": ("x;y\nm;s\n1;2\n", "x", "line 2", 'column x: "m" is not a number'),
    "null.jsonl": ('{"x": 1}\n{"x": null}\n', "x", "line 2", "column x: the entry is empty"),
    "text.jsonl": ('{"x": 1}\n{"x": "two"}\n', "x", "line 2", 'column x: "two" is a text, not a number'),
    "nested.jsonl": ('{"x": {"a": 1}}\n{"x": {"a": [2]}}\n', "x.a", "line 2", "column x.a: [2] is an array, not a number"),
    "cut.jsonl": ('{"x": 1}\n{"x": \n', "x", "line 2", "this line is not JSON: Expecting value"),
    "number.jsonl": ('{"x": 1}\n5\n', "x", "line 2", 'this line is not an object of JSON, such as {"x": 1}'),
}  # fmt: skip

# Each file, and the message of a refusal that has no line.
NO_TABLE = {
    "book.csv": (b"PK\x03\x04" + b"0" * 40, "{} is a zip archive, as Excel's .xlsx files are, not text"),
    "old.csv": (b"\xd0\xcf\x11\xe0" + b"0" * 40, "{} is an old Excel workbook, not text"),
    "table.csv": (b"PAR1" + b"0" * 40, "{} is a Parquet file, not text"),
    "empty.csv.gz": (gzip.compress(b""), "{} is empty"),
    "empty.jsonl": (b"\n", "{} is empty"),
    "only-comments.csv": (b"# a\n# b\n", "{} is empty"),
    "latin.csv": ("Länge;x\n1;2\n".encode("latin-1"), "cannot read {}: line 1 is not UTF-8 text"),
    "odd-utf16.csv": (b"\xff\xfex", "{} is not UTF-16 text: 'utf-16-le' codec can't decode byte 0x78 in position 0: truncated data"),
    "array.json": (b'[{"x": 1}]', "{} is one array of JSON, not an object on each line"),
    "not.arrow": (b"hello, world", "{} is not an Arrow file, or is incomplete"),
}  # fmt: skip


def numbers_of(table):
    """All columns that do not hold texts."""
    return read(table, [name for name in table.names if name not in table.texts()])


def read(table, names):
    wanted = Wanted(names)
    pieces = [table.piece(part, wanted) for part in table.parts(wanted)]
    return {name: [x for piece in pieces for x in piece.columns[name].tolist()] for name in names}


@pytest.fixture
def file(tmp_path):
    def write(name, data):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)

    return write


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
    with closing(opened(file(name, data))) as table:
        assert numbers_of(table) == expected


@each("size", [1, 7, 64])
@each("name", READ)
def test_read_the_same_in_blocks_of_any_size(file, monkeypatch, name, size):
    data, expected = READ[name]
    monkeypatch.setattr(csv_tables, "BYTES", size)
    monkeypatch.setattr(text_tables, "BYTES", size)
    with closing(open_table(file(name, data))) as table:
        assert read(table, list(expected)) == expected


@each("name", REFUSED)
def test_refused_with_the_place(file, opened, name):
    data, column, place, message = REFUSED[name]
    with pytest.raises(ag.AgradError) as caught, closing(opened(file(name, data))) as table:
        read(table, [column])
    assert caught.value.message == message
    assert [label.origin.where for label in caught.value.labels] == [place]


@each("name", NO_TABLE)
def test_refused_as_a_whole(file, name):
    data, message = NO_TABLE[name]
    path = file(name, data)
    assert refuses(lambda: open_table(path)).message == message.format(path)


def test_a_file_that_ends_too_early_is_refused_after_what_could_be_read(file, opened):
    whole = gzip.compress(b"x,y\n" + b"1,2\n" * 100_000)
    with pytest.raises(ag.AgradError) as caught, closing(opened(file("a.csv.gz", whole[:-20]))) as table:
        read(table, ["x"])
    assert caught.value.message.endswith(": Compressed file ended before the end-of-stream marker was reached")


def test_zstandard_is_read_by_pyarrow(file, opened):
    pa = pytest.importorskip("pyarrow")
    path = file("a.csv.zst", pa.compress(b"x,y\n1,2\n3,4\n", codec="zstd", asbytes=True))
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
    with closing(opened(file("a.csv", text), form=form)) as table:
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
    path = file("a.csv", "x;y\n1,5;2\n3,25;4\n")
    assert ag.load_csv(path).tolist() == [[1.5, 2], [3.25, 4]]
    assert [rows.tolist() for rows in ag.chunks(path, 1)] == [[[1.5, 2]], [[3.25, 4]]]
    caught = refuses(lambda: list(ag.chunks(path, 1, decimal=".")))
    assert caught.message == f'chunks: {path}, line 2, column 1: "1,5" is not a number: the decimal mark is a point'
    assert caught.fixes == [f'chunks("{path}", 1, decimal=",")']
    caught = refuses(lambda: ag.load_csv(file("b.csv", "x;y\n1.5;1\n2,5;2\n")))
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
                with pytest.raises(ag.AgradError) as caught, closing(open_table(path)) as again:
                    read(again, [column])
                assert words in caught.value.message
                assert column in caught.value.message


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
    with pytest.raises(ag.AgradError) as caught, closing(open_table(str(tmp_path))) as table:
        read(table, ["y"])
    assert caught.value.message == f"{tmp_path}/b.csv has no column y, which {tmp_path}/a.csv has"
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


def test_a_delimiter_that_does_not_occur_makes_no_decimal_comma(file, opened):
    path, form = file("a.csv", "x,y\n1,2\n3,4\n"), TextForm(delimiter="tab")
    with closing(opened(path, form=form)) as table, pytest.raises(ag.AgradError) as caught:
        read(table, ["x,y"])
    assert caught.value.message == 'column x,y: "1,2" is not a number: the decimal mark is a point'


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
    with closing(opened(file(name, text), form=TextForm(na=na))) as table:
        wanted = Wanted(["x", "y"])
        (piece,) = [table.piece(part, wanted) for part in table.parts(wanted)]
    assert np.array_equal(piece.columns["x"], [1, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(piece.columns["y"], [2, np.nan, 4], equal_nan=True)
    assert piece.missing == missing


def test_other_texts_stay_errors_where_some_stand_for_missing_numbers(file, opened):
    with (
        pytest.raises(ag.AgradError, match=r'column x: "n\.a\." is not a number'),
        closing(opened(file("a.csv", "x;y\n1;2\nNA;1\nn.a.;1\n"), form=TextForm(na=("NA",)))) as table,
    ):
        read(table, ["x"])


def test_load_csv_says_what_to_add(file):
    path = file("a.csv", "x;y\n1;2\nNA;-\n;4\n")
    call = f'load_csv("{path}"'
    for na, fix in (((), '"NA"'), (("NA",), '("NA", "-")'), (("NA", "-"), '("NA", "-", "")')):
        with pytest.raises(ag.AgradError) as caught:
            ag.load_csv(path, na=na or None)
        assert caught.value.fixes[0] == f"{call}, na={fix})"
    found = ag.load_csv(path, na=("NA", "", "-"))
    assert np.array_equal(np.asarray(found), [[1, 2], [np.nan] * 2, [np.nan, 4]], equal_nan=True)
    latin = file("b.csv", "x;s\n1;ä\n".encode("cp1252"))
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
