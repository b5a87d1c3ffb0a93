"""`agrad map`: the rows of a file through an expression, whatever kind of file, and whole or not at all."""

import csv
import io
import json
import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from answers import answers
from hypothesis import given
from hypothesis import strategies as st
from rows import each

from agrad.cli.data.job import ahead
from agrad.engine import grad, sin, tensor
from agrad.engine.data import csv_tables, text_tables
from agrad.engine.data.tables import Wanted
from agrad.engine.errors import AgradError
from agrad.grammar.session import rowwise

POINTS = "name,x,y\na,1,2\nb,0.5,-1\nc,-2,0.25\nd,3,1.5\n"
X, Y = [1.0, 0.5, -2.0, 3.0], [2.0, -1.0, 0.25, 1.5]
CURVE = "x**2 + y**3 - sin(x*y)"


@pytest.fixture
def mapped(inside, tmp_path):
    """Run `agrad map` in a folder with points.csv: (stdout, stderr, exit code)."""
    (tmp_path / "points.csv").write_text(POINTS)
    return lambda *arguments, given="": inside("map", *arguments, given=given)


@pytest.fixture
def without_pyarrow(monkeypatch):
    """As where the extra is not installed."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)


def curve(x, y):
    """The value of CURVE and its derivatives, computed one row at a time."""
    x, y = tensor(x, requires_grad=True), tensor(y, requires_grad=True)
    value = x**2 + y**3 - sin(x * y)
    return [value.item(), *(one.item() for one in grad(value, (x, y)))]


def rows(text):
    """The numbers of a CSV below its first line; None where nothing stands."""
    return [[float(entry) if entry else None for entry in line] for line in list(csv.reader(io.StringIO(text)))[1:]]


# What is computed


# Kinds of files


def saved(tmp_path):
    """The points in every kind of file, with the options that the kind needs."""
    import pyarrow as pa
    from pyarrow import parquet

    x, y = np.array(X), np.array(Y)
    both = np.column_stack([x, y])
    fields = np.zeros(4, dtype=[("x", ">f8"), ("label", "U3"), ("y", "f4")])
    fields["x"], fields["y"] = x, y
    np.save(tmp_path / "rows.npy", both)
    np.save(tmp_path / "columns.npy", np.asfortranarray(both))
    np.save(tmp_path / "small.npy", both.astype(np.float32))
    np.save(tmp_path / "fields.npy", fields)
    np.savez(tmp_path / "plain.npz", x=x, y=y, other=np.eye(2))
    np.savez_compressed(tmp_path / "packed.npz", x=x, y=y.astype(np.float32))
    parquet.write_table(pa.table({"s": ["", "", "", ""], "x": x, "y": y}), tmp_path / "table.parquet")
    (tmp_path / "bare.csv").write_text("".join(f"{x}, {y}\r\n" for x, y in zip(X, Y, strict=True)))
    named = ["--columns", "x,y"]
    unnamed = dict.fromkeys(("rows.npy", "columns.npy", "small.npy", "bare.csv"), named)
    return {"fields.npy": [], "plain.npz": [], "packed.npz": [], "table.parquet": []} | unnamed


KINDS = ["bare.csv", "columns.npy", "fields.npy", "packed.npz", "plain.npz", "rows.npy", "small.npy", "table.parquet"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_gives_the_same_rows(mapped, tmp_path, monkeypatch, kind):
    for reader in ("numpy_files", "arrow"):
        monkeypatch.setattr(f"agrad.engine.data.{reader}.ROWS", 3)  # more than one piece
    expected = mapped(CURVE, "points.csv", "--wrt", "x,y")
    assert mapped(CURVE, kind, "--wrt", "x,y", *saved(tmp_path)[kind]) == expected


@pytest.mark.parametrize("form", ["csv", "jsonl", "npy", "npz", "parquet"])
@pytest.mark.parametrize("threads", ["1", "3"])
def test_every_form_of_output_reads_back_to_the_same_numbers(mapped, tmp_path, monkeypatch, form, threads):
    monkeypatch.setattr(csv_tables, "BYTES", 16)
    out, err, code = mapped(
        CURVE, "points.csv", "--wrt", "x,y", "--keep", "x", "-o", f"out.{form}", "--threads", threads
    )
    assert (out, err, code) == ("", "", 0)
    expected = [[x, *curve(x, y)] for x, y in zip(X, Y, strict=True)]
    path = tmp_path / f"out.{form}"
    if form == "jsonl":
        found = [json.loads(line) for line in path.read_text().splitlines()]
        assert [[one["columns"]["x"], one["value"], one["grad"]["x"], one["grad"]["y"]] for one in found] == expected
        return
    names = ["x", "value", "d/dx", "d/dy"]
    if form == "csv":
        assert path.read_text().partition("\n")[0] == ",".join(names)
        assert rows(path.read_text()) == expected
    elif form == "npy":
        assert np.load(path).tolist() == expected
    elif form == "npz":
        with np.load(path) as archive:
            assert np.column_stack([archive[name] for name in names]).tolist() == expected
    else:
        from pyarrow import parquet

        table = parquet.read_table(path)
        assert table.schema.names == names
        assert np.column_stack([table[name].to_numpy() for name in names]).tolist() == expected


@pytest.mark.parametrize("form", ["csv", "npy", "npz", "parquet"])
def test_what_was_written_can_be_read_again(mapped, form):
    assert mapped("2*x", "points.csv", "-o", f"a.{form}")[2] == 0
    name = "c0" if form == "npy" else "value"
    assert mapped(f"{name} + 1", f"a.{form}") == ("value\n3\n2\n-3\n7\n", "", 0)


@pytest.mark.parametrize("form", ["csv", "jsonl", "npy", "npz", "parquet"])
def test_a_file_without_rows_gives_one_without_rows(mapped, tmp_path, form):
    (tmp_path / "none.csv").write_text("x,y\n")
    assert mapped("x*y", "none.csv", "--wrt", "x", "-o", f"out.{form}") == ("", "", 0)
    if form == "npy":
        assert np.load(tmp_path / "out.npy").shape == (0, 2)


@pytest.mark.parametrize("text", ["nan(1)", "NaN()", "-nan(x)"])
@pytest.mark.parametrize("extra", ["pyarrow", "none"])
def test_with_and_without_pyarrow_the_same_texts_are_numbers(mapped, request, text, extra):
    if extra == "none":
        request.getfixturevalue("without_pyarrow")
    out, err, code = mapped("x", "-", given=f"x\n{text}\n")
    assert (out, err.partition("\n")[0], code) == (
        "",
        f'<stdin>:2:1: error[file]: column x: "{text}" is not a number',
        1,
    )
    assert mapped("x", "-", "--keep", "s", given=f"x,s\n1,{text}\n") == (f"s,value\n{text},1\n", "", 0)


def test_whole_numbers_have_no_point(mapped, without_pyarrow):
    answer = "value\n9007199254740992\n1000000000000000\n1e20\n0.5\n"
    assert mapped("x", "-", given="x\n9007199254740993\n1e15\n1e20\n0.5\n") == (answer, "", 0)


def test_without_pyarrow_the_numbers_are_the_same(mapped, without_pyarrow):
    assert rows(mapped(CURVE, "points.csv", "--wrt", "x,y")[0]) == [curve(x, y) for x, y in zip(X, Y, strict=True)]


@pytest.mark.parametrize("arguments", [["p.parquet"], ["points.csv", "-o", "out.parquet"]])
def test_without_pyarrow_parquet_says_what_to_install(mapped, tmp_path, without_pyarrow, arguments):
    (tmp_path / "p.parquet").touch()
    _, err, code = mapped("x", *arguments)
    assert "Parquet needs pyarrow" in err.replace("reading p.parquet", "Parquet") and code == 1
    assert err.endswith('  fix: pip install "agrad[data]"\n')


WRITTEN = answers(Path(__file__).with_name("csv_as_written.txt"))


@pytest.mark.parametrize("text", WRITTEN)
@pytest.mark.parametrize("size", [3, 2**20])
def test_csv_as_programs_write_it(mapped, monkeypatch, text, size):
    monkeypatch.setattr(csv_tables, "BYTES", size)
    monkeypatch.setattr(csv_tables, "_QUOTES", 12 if '5"' in text else 2**20)
    columns = [] if "x" in text else ["--columns", "x,y"]
    assert mapped("x", "-", *columns, given=text) == (f"value\n{WRITTEN[text]}", "", 0)


@pytest.mark.long
@given(
    st.lists(st.tuples(st.floats(), st.text('",\r\n xé', max_size=6)), min_size=1, max_size=8),
    st.integers(1, 40),
    st.booleans(),
)
def test_blocks_of_any_size_hold_the_same_rows(table, size, by_hand):
    file = io.StringIO(newline="")
    csv.writer(file).writerows([("x", "s"), *((repr(x), f"s{text}") for x, text in table)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_tables, "BYTES", size)
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.getvalue().encode())))
        if by_hand:
            patch.setitem(sys.modules, "pyarrow", None)
        sheet, wanted = csv_tables.CsvTable("<stdin>", stream=sys.stdin.buffer), Wanted(["x"], ["s"], texts=True)
        pieces = [sheet.piece(part, wanted) for part in sheet.parts(wanted)]
    found = [x for piece in pieces for x in piece.columns["x"].tolist()]
    texts = [text for piece in pieces for text in map(str, piece.columns["s"])]
    assert str(found) == str([x for x, _ in table])
    assert texts == [f"s{text}" for _, text in table]


# Rows that cannot be read or computed

BAD = 'id, x ,"y"\n"a,1",1,2\n\nb,abc,3\nc,  ,4\nd,1\ne,"7\n",8\nf,9,1\n'


@pytest.mark.parametrize("extra", ["pyarrow", "none"])
def test_a_bad_entry_is_an_error_with_its_place(mapped, request, extra):
    if extra == "none":
        request.getfixturevalue("without_pyarrow")
    assert mapped("x*y", "-", given=BAD) == (
        "",
        '<stdin>:4:3: error[file]: column x: "abc" is not a number\n  4 | b,abc,3\n    |   ^^^\n'
        '  fix: go on without such rows: agrad map "x*y" - --on-error null\n',
        1,
    )


PLACES = answers(Path(__file__).with_name("bad_rows.txt"))


@pytest.mark.parametrize(("text", "message"), PLACES.items())
@pytest.mark.parametrize("size", [4, 2**20])
def test_the_place_of_a_bad_row_is_right_in_any_block(mapped, monkeypatch, text, message, size):
    monkeypatch.setattr(csv_tables, "BYTES", size)
    out, err, code = mapped("x*y", "-", given=text)
    assert (out, code) == ("", 1) or size == 4
    assert err.startswith(message)


@pytest.mark.parametrize("threads", ["1", "2"])
def test_on_error_null_goes_on_and_counts(mapped, monkeypatch, threads):
    monkeypatch.setattr(csv_tables, "BYTES", 8)
    out, err, code = mapped(
        "x*y", "-", "--wrt", "x", "--on-error", "null", "--keep", "x", "--threads", threads, given=BAD
    )
    assert (out, code) == ("x,value,d/dx\n1,2,2\n,,\n,,\n1,,\n7,56,8\n9,9,1\n", 0)
    assert err.startswith(
        '<stdin>:4:3: note: 3 of 6 rows have no results; the first: column x: "abc" is not a number\n'
    )


def test_a_row_without_results_is_nan(mapped, tmp_path):
    assert mapped("x*y", "-", "--on-error", "null", "-o", "out.npy", given="x,y\n1,2\n3,no\n")[2] == 0
    assert str(np.load(tmp_path / "out.npy").tolist()) == "[[2.0], [nan]]"


def test_parquet_nulls_are_bad_rows(mapped, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"x": [1, None, 3], "s": ["a", "b", None]}), tmp_path / "n.parquet")
    _, err, code = mapped("2*x", "n.parquet")
    assert code == 1
    assert err.startswith("error[file]: column x: the entry is empty\n  note: in row 2 of n.parquet\n")
    assert mapped("2*x", "n.parquet", "--on-error", "null", "-o", "m.parquet", "--keep", "s")[2] == 0
    table = parquet.read_table(tmp_path / "m.parquet")
    assert table.to_pydict() == {"s": ["a", "b", None], "value": [2.0, None, 6.0]}


SINGULAR = "error[domain]: inv of shape (1, 1): singular matrix\n"


@pytest.mark.parametrize("text", ["1\n0\n", "1\n0\n3\n", "2\n4\n0\n", "1\n" * 200 + "0\n"])
@pytest.mark.parametrize("kind", ["csv", "npy"])
def test_an_error_in_a_row_names_the_place_in_the_expression_as_well(mapped, tmp_path, text, kind):
    (tmp_path / "x.csv").write_text(f"c0\n{text}")
    np.save(tmp_path / "x.npy", np.array(text.split(), dtype=float))
    _, err, code = mapped("inv([[c0]])[0, 0]", f"x.{kind}")
    assert err.startswith(SINGULAR) and code == 1
    assert re.search(r"1 \| inv\(\[\[c0\]\]\)\[0, 0\]\n +\| \^{11}\n", err)
    row = text.split().index("0") + 1
    assert (f"  x.csv line {row + 1} | 0\n" if kind == "csv" else f"  note: in row {row} of x.npy\n") in err


# What no program can be made of


@pytest.mark.parametrize(
    "expression", ["randn()*x", "randn()*x + rand()", "grad(x**2, x)*randn()", "inv([[x]])[0, 0]*randn()"]
)
def test_what_is_drawn_at_random_is_drawn_once(mapped, expression):
    out, err, code = mapped(expression, "-", "--on-error", "null", given="x\n1\n1\n0\n1\n2\n1\n")
    found = rows(out)
    told = f"note: the random numbers of {expression} are drawn once: they are the same in every row"
    assert ("rand" in expression) is (told in err.splitlines())
    assert code == 0 and found[0] == found[1] == found[3] == found[5] != [0.0]


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("gamma(abs(x))", "gamma has no machine code"),
        ("eigh([[x]])[0][0]", "there is no loop over many entries in it"),
        ("x*y", ""),
        ("2*3", ""),
    ],
)
def test_machine_code_that_was_asked_for_in_vain_is_told_of_once(mapped, monkeypatch, expression, reason):
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(csv_tables, "BYTES", 8)
    note = f"note: computed without machine code: {reason}\n" if reason else ""
    out, err, code = mapped(expression, "points.csv", "--wrt", "y", "--backend", "llvm")
    assert (len(rows(out)), err, code) == (4, note, 0)
    assert mapped(expression, "points.csv", "--wrt", "y", "--backend", "auto") == (out, "", 0)


def test_rows_that_fail_before_the_first_with_a_value_are_tolerated(mapped):
    given = "x\n" + "0\n" * 1500 + "2\n" * 500
    out, err, code = mapped("inv([[x]])[0, 0]", "-", "--on-error", "null", given=given)
    assert (out, code) == ("value\n" + '""\n' * 1500 + "0.5\n" * 500, 0)
    assert err.startswith("note: 1500 of 2000 rows have no results; the first: inv of shape (1, 1): singular matrix\n")


@pytest.mark.parametrize("backend", ["python", "llvm"])
def test_the_rows_around_those_that_fail_have_their_results(mapped, backend):
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    values = [n % 7 if n < 300 else n for n in range(1000)]
    expression = "sin(x)*x if x > 0 else inv([[x]])[0, 0]"
    arguments = [expression, "-", "--wrt", "x", "--on-error", "null", "--backend", backend]
    out, err, code = mapped(*arguments, given="x\n" + "".join(f"{x}\n" for x in values))
    assert code == 0 and err.startswith(f"note: {values.count(0)} of 1000 rows have no results")
    found = rows(out)
    assert [x for x, row in zip(values, found, strict=True) if row == [None, None]] == [0] * values.count(0)
    alone = rows(mapped(*arguments, given="x\n" + "".join(f"{x}\n" for x in values if x))[0])
    assert [row for row in found if row[0] is not None] == [pytest.approx(row, rel=1e-14) for row in alone]
    assert backend == "llvm" or [row for row in found if row[0] is not None] == alone


def test_what_fails_in_every_row_is_not_tolerated(mapped):
    arguments = ["inv([[c0, c0], [c0, c0]])[0, 0]", "-", "--on-error", "null"]
    assert mapped(*arguments, given="1\n" * 999)[2] == 0
    out, err, code = mapped(*arguments, given="1\n" * 1500)
    assert (out, err.partition("\n")[0], code) == ("", "error[domain]: inv of shape (2, 2): singular matrix", 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x", "."], ". has files of several kinds: .csv .npy .npz"),
        (["x", "mac.csv"], "mac.csv ends its lines with \\r alone, as old Macs did: write it with \\n"),
        (["x", "broken.npy"], "broken.npy is not an array saved by numpy, or is incomplete"),
        (["x", "cut.npy"], "cut.npy is not an array saved by numpy, or is incomplete"),
        (["m", "m.npz"], "m.npz: m has the shape (2, 2), and is not a column"),
        (["x*y", "m.npz"], "m.npz: the columns have different lengths: x 2, y 3"),
        (["x", "m.npz", "--columns", "a"], "m.npz already has names for its columns"),
        (["x", "fields.npy", "--columns", "x,y"], "fields.npy already has names for its columns"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_or_written_is_told_in_plain_words(mapped, tmp_path, arguments, message):
    (tmp_path / "mac.csv").write_text("x,y\r1,2\r")
    (tmp_path / "broken.npy").write_text("no")
    np.save(tmp_path / "cut.npy", np.zeros((9, 2)))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "cut.npy").read_bytes()[:-8])
    np.savez(tmp_path / "m.npz", m=np.eye(2), x=np.ones(2), y=np.ones(3))
    np.save(tmp_path / "fields.npy", np.zeros(2, dtype=[("a", float), ("b", float)]))
    out, err, code = mapped(*arguments)
    assert (out, err.partition("\n")[0], code) == ("", f"error[file]: {message}", 1)


def test_a_damaged_archive_is_told_of(mapped, tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.random.default_rng(0).normal(size=20000))
    data = bytearray(path.read_bytes())
    data[20000:20100] = bytes(100)
    path.write_bytes(data)
    _, err, code = mapped("x", "a.npz")
    assert (err, code) == ("error[file]: a.npz is damaged: x ends before its 20000 rows\n", 1)


def test_a_line_that_does_not_end_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * 1000)))
    monkeypatch.setattr(csv_tables, "BYTES", 10)
    monkeypatch.setattr(text_tables, "LONGEST", 100)
    with pytest.raises(AgradError, match="line 1 of <stdin> does not end"):
        csv_tables.CsvTable("<stdin>", stream=sys.stdin.buffer)


@pytest.mark.parametrize(("backend", "there"), [("auto", True), ("auto", False), ("llvm", False)])
def test_a_large_file_is_computed_by_machine_code_where_there_is_some(mapped, monkeypatch, backend, there):
    pytest.importorskip("llvmlite")
    monkeypatch.setattr("agrad.cli.data.job.LARGE", 1)
    if not there:
        target = import_module("agrad.engine.compile.llvm.target")
        monkeypatch.setattr(target, "binding", target.binding.__wrapped__)
        monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    chosen = []
    compile_rows = rowwise.Evaluation._compile
    monkeypatch.setattr(
        rowwise.Evaluation, "_compile", lambda self, one: chosen.append(compile_rows(self, one)) or chosen[-1]
    )
    out, err, code = mapped(CURVE, "points.csv", "--wrt", "x,y", "--backend", backend)
    if backend == "llvm":
        assert (out, code, chosen) == ("", 1, [])
        assert "error[extra]: machine code needs llvmlite" in err
        assert "--backend python" in err
        return
    np.testing.assert_allclose(rows(out), [curve(x, y) for x, y in zip(X, Y, strict=True)], rtol=1e-14)
    assert (err, code, [one.backend for one in chosen]) == ("", 0, ["llvm" if there else "auto"])


@each("threads", [1, 2, 20])
def test_what_is_computed_ahead_is_in_order_and_only_a_few_items(threads):
    taken = []
    found = ahead(str, (taken.append(n) or n for n in range(100)), threads)
    assert next(found) == "0"
    assert len(taken) <= (1 if threads == 1 else max(threads, 8) + 1)
    assert list(found) == [str(n) for n in range(1, 100)]
