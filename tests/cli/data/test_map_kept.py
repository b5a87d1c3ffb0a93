"""What `agrad map --keep` copies: entries of every type are written, or refused by name; no row is lost."""

import io
import json
import zipfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from time import process_time
from uuid import UUID

import numpy as np
import pytest

from agrad.cli.data.writers import CsvWriter
from agrad.engine.data import numpy_files

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = 3
DAY = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NAMED = UUID("12345678123456781234567812345678")
HELD = {  # a column, and its first entry in CSV
    "int64": (pa.array([1, None, 2]), "1"),
    "uint64": (pa.array([2**64 - 1, None, 2], pa.uint64()), "18446744073709551615"),
    "float32": (pa.array([0.5, None, 2], pa.float32()), "0.5"),
    "bool": (pa.array([True, None, False]), "true"),
    "null": (pa.nulls(ROWS), ""),
    "string": (pa.array(["a", None, "b"]), "a"),
    "large_string": (pa.array(["a,b", None, "b"], pa.large_string()), '"a,b"'),
    "lines": (pa.array(["a\nb", None, 'say "b"']), '"a\nb"'),
    "binary": (pa.array([b"a", None, b"b"]), "a"),
    "dictionary": (pa.array(["a", None, "b"]).dictionary_encode(), "a"),
    "decimal": (pa.array([Decimal("1.20"), None, Decimal("2.00")]), "1.20"),
    "date": (pa.array([DAY.date(), None, DAY.date()]), "2026-01-02"),
    "time": (pa.array([DAY.time(), None, DAY.time()]), "03:04:05.000000"),
    "timestamp": (pa.array([DAY, None, DAY], pa.timestamp("ns")), "2026-01-02 03:04:05.000000000"),
    "zone": (pa.array([DAY, None, DAY], pa.timestamp("ms", "UTC")), "2026-01-02 03:04:05.000Z"),
    "unknown zone": (pa.array([1, None, 2], pa.timestamp("ms", "Nowhere/Land")), "1970-01-01 00:00:00.001Z"),
    "duration": (pa.array([timedelta(seconds=1), None, timedelta(0)], pa.duration("s")), "1"),
}
LATER = {  # types that the lowest release of pyarrow lacks
    "string_view": (["a", None, "b"], "a"),
    "binary_view": ([b"a", None, b"b"], "a"),
    "uuid": ([NAMED.bytes, None, NAMED.bytes], str(NAMED)),
}
HELD |= {name: (pa.array(x, getattr(pa, name)()), text) for name, (x, text) in LATER.items() if hasattr(pa, name)}
REFUSED = {
    "list": pa.array([[1], None, []]),
    "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "bytes": pa.array([b"a", None, b"\xff"]),
    "list of texts": pa.array([["a"], None, []]),
}


@pytest.fixture
def kept(inside, tmp_path):
    """Run `agrad map x --keep t` on a Parquet file with a column t: (stdout, stderr, exit code)."""

    def run(column, *options):
        table = pa.table({"x": pa.array([1.0, 2.0, 3.0]), "t": column})
        parquet.write_table(table, tmp_path / "t.parquet")
        return inside("map", "2*x", "t.parquet", "--keep", "t", *options)

    return run


@pytest.mark.parametrize("kind", HELD)
@pytest.mark.parametrize("options", [(), ("--precision", "5")], ids=["full", "precision"])
def test_csv_has_a_row_for_each_row_of_a_column_of_any_type(kept, kind, options):
    column, first = HELD[kind]
    out, err, code = kept(column, *options)
    assert (err, code) == ("", 0)
    assert out.startswith(f"t,value\n{first},2\n")
    assert out.endswith(",6\n")


@pytest.mark.parametrize("kind", HELD)
def test_json_has_a_row_for_each_row_of_a_column_of_any_type(kept, kind):
    out, err, code = kept(HELD[kind][0], "--json")
    assert (err, code) == ("", 0)
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["value"] for line in lines] == [2, 4, 6]
    assert lines[1]["columns"] == {"t": None}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("options", [(), ("--precision", "5")], ids=["full", "precision"])
def test_what_has_no_text_is_refused_by_the_name_of_its_column(kept, kind, options):
    out, err, code = kept(REFUSED[kind], *options)
    assert (out, code) == ("", 1)
    assert err.startswith("error[file]: the column t holds ")
    assert "fix: leave t out of --keep\n" in err


@pytest.mark.parametrize("kind", REFUSED)
def test_json_refuses_the_same(kept, kind):
    out, err, code = kept(REFUSED[kind], "--json")
    assert (err, code) == ("", 1)
    problem = json.loads(out)["error"]
    assert problem["message"].startswith("the column t holds ")
    assert (problem["fixes"], problem["hints"]) == ([], ["leave t out of --keep"])


@pytest.mark.parametrize("kind", [*HELD, *REFUSED])
def test_parquet_keeps_every_type(kept, tmp_path, kind):
    column = HELD[kind][0] if kind in HELD else REFUSED[kind]
    assert kept(column, "-o", "out.parquet") == ("", "", 0)
    found = parquet.read_table(tmp_path / "out.parquet")
    given = parquet.read_table(tmp_path / "t.parquet")
    assert found["t"].combine_chunks().equals(given["t"].combine_chunks())
    assert found["value"].to_pylist() == [2, 4, 6]


def test_a_field_of_a_struct_is_a_column_and_the_struct_is_none(inside, tmp_path):
    table = pa.table({"x": pa.array([1.0, 2.0, 3.0]), "t": pa.array([{"a": 1}, None, {"a": 2}])})
    parquet.write_table(table, tmp_path / "t.parquet")
    _, err, code = inside("map", "2*x", "t.parquet", "--keep", "t")
    note = "  note: its columns are x, t.a"
    assert (err.splitlines(), code) == (["error[name]: t.parquet has no column t", note], 1)
    assert inside("map", "2*x", "t.parquet", "--keep", "t.a") == ("t.a,value\n1,2\n,4\n2,6\n", "", 0)


@pytest.mark.parametrize("options", [(), ("--precision", "5")], ids=["full", "precision"])
def test_bytes_that_are_not_utf8_are_copied_from_csv_as_they_are(mapped_bytes, options):
    assert mapped_bytes(b"x,t\n1,\xff\n2,b\n", *options) == b"t,value\n\xff,1\nb,2\n"


@pytest.fixture
def mapped_bytes(tmp_path, inside):
    """The bytes that `agrad map x --keep t` makes of those of a CSV file."""

    def run(data, *options):
        (tmp_path / "t.csv").write_bytes(data)
        assert inside("map", "x", "t.csv", "--keep", "t", "-o", "out.csv", *options) == ("", "", 0)
        return (tmp_path / "out.csv").read_bytes()

    return run


@pytest.mark.parametrize("ending", ["csv", "jsonl", "npy", "npz", "parquet"])
def test_a_writer_that_loses_rows_is_found_out_and_the_file_stays(kept, tmp_path, monkeypatch, ending):
    from agrad.cli.data.writers import WRITERS, Rows, form_for

    writer = WRITERS[form_for(f"out.{ending}", False)]
    encode = writer.encode

    def short(self, rows):
        results = {name: column[:-1] for name, column in rows.results.items()}
        return encode(self, Rows({}, results, None))

    monkeypatch.setattr(writer, "encode", short)
    (tmp_path / f"out.{ending}").write_text("as it was")
    monkeypatch.setattr("agrad.cli.commands.map.split", lambda names: [])
    out, err, code = kept(HELD["int64"][0], "-o", f"out.{ending}")
    assert (out, code) == ("", 1)
    assert err.startswith("error[file]: 2 of the 3 rows in t.parquet were written")
    assert (tmp_path / f"out.{ending}").read_text() == "as it was"


def test_rows_with_quotes_and_line_breaks_are_counted_once():
    writer = CsvWriter(io.BytesIO(), ["a"], None)
    writer.write(b'"a\n""b""\n",1\n"c",2\nd,3\n')
    assert writer.rows == 3


def test_keeping_many_columns_takes_time_in_proportion(inside, tmp_path):
    taken = []
    for count in (2_000, 16_000):
        names = [f"c{place}" for place in range(count)]
        (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * count) + "\n")
        start = process_time()
        out, err, code = inside("map", "c1", "wide.csv", "--keep", "all")
        taken.append(process_time() - start)
        assert (err, code) == ("", 0)
        assert out.count(",") == 2 * count
    assert taken[1] < 8 * 4 * taken[0]  # quadratic: 64 times


# Archives of numpy's


def archive(path, compression=zipfile.ZIP_STORED, names=("x", "y")):
    """An archive of columns, of fifty numbers each; its bytes."""
    with zipfile.ZipFile(path, "w", compression) as file:
        for name in names:
            data = io.BytesIO()
            np.save(data, np.arange(50.0))
            file.writestr(f"{name}.npy", data.getvalue())
    return path.read_bytes()


@pytest.fixture
def summed(inside, tmp_path):
    """Run `agrad map x+y` on an archive with these bytes: (stdout, stderr, exit code)."""

    def run(data):
        (tmp_path / "a.npz").write_bytes(data)
        return inside("map", "x+y", "a.npz")

    return run


def marked(data, local, central, value):
    """An archive with two bytes, at these places of each of its headers, changed."""
    data = bytearray(data)
    for mark, offset in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        place = data.find(mark)
        while place >= 0:
            data[place + offset : place + offset + 2] = value.to_bytes(2, "little")
            place = data.find(mark, place + 4)
    return bytes(data)


def test_an_encrypted_archive_is_refused(summed, tmp_path):
    out, err, code = summed(marked(archive(tmp_path / "b.npz"), 6, 8, 1))
    assert (out, err, code) == (
        "",
        "error[file]: a.npz: x is encrypted, and agrad does not read encrypted archives\n",
        1,
    )


def test_an_unknown_compression_is_refused(summed, tmp_path):
    out, err, code = summed(marked(archive(tmp_path / "b.npz"), 8, 10, 97))
    assert (out, code) == ("", 1)
    assert err.startswith("error[file]: a.npz: x is compressed in a way that Python does not know\n")


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_archive_is_an_error_wherever_it_is_damaged(tmp_path, compression):
    from agrad.engine.data.tables import Wanted
    from agrad.engine.errors import AgradError

    path = tmp_path / "a.npz"
    whole = archive(path, compression)
    failed = 0
    for place in range(0, len(whole), 7):
        for byte in (0, whole[place] ^ 0x41, 0xFF):
            path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
            try:
                with closing(numpy_files.NpzTable(str(path))) as table:
                    list(table.parts(Wanted(table.names)))
            except AgradError as problem:
                assert problem.kind == "file"
                failed += 1
    assert failed


def test_a_damaged_parquet_file_is_an_error_wherever_it_is_damaged(tmp_path):
    from agrad.engine.data.arrow import ParquetTable
    from agrad.engine.data.tables import Wanted
    from agrad.engine.errors import AgradError

    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"x": [1.0, 2.0], "a name": ["b", None]}), path, store_schema=False)
    whole = path.read_bytes()
    failed = 0
    for place in range(4, len(whole)):
        path.write_bytes(whole[:place] + bytes([0xBD]) + whole[place + 1 :])
        try:
            table = ParquetTable(str(path))
            wanted = Wanted(table.names[:1], table.names)
            for part in table.parts(wanted):
                table.piece(part, wanted)
            table.close()
        except AgradError as problem:
            assert problem.kind == "file", place
            failed += 1
    assert failed


@pytest.mark.parametrize("name", ["../../etc/x", "/etc/x", "..\\x", "C:x", "a/../../x"])
def test_no_archive_is_written_whose_entries_lead_out_of_its_folder(inside, tmp_path, name):
    (tmp_path / "t.csv").write_text(f"x,{name}\n1,2\n")
    out, err, code = inside("map", "x", "t.csv", "--keep", "all", "-o", "out.npz")
    assert (out, code) == ("", 1)
    assert err.startswith("error[file]: a .npz file cannot have a column ")
    assert not (tmp_path / "out.npz").exists()


def test_derivatives_are_columns_of_an_archive(inside, tmp_path):
    (tmp_path / "t.csv").write_text("x\n3\n")
    assert inside("map", "x**2", "t.csv", "--wrt", "x", "-o", "out.npz") == ("", "", 0)
    with np.load(tmp_path / "out.npz") as found:
        assert {name: found[name].tolist() for name in found} == {"value": [9.0], "d/dx": [6.0]}
