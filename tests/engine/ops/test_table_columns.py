"""Tables: columns by name and number, rows, arithmetic as a matrix, texts that have none; and what is refused."""

import gzip
import json

import numpy as np
import pytest
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine.ops.tables import Table, described, shown, text

TEXT = "speed m/s,t,name\n1.5,1,A\n2.5,2,B\n4,3,A\n"


@pytest.fixture
def table(file):
    return ag.load_csv(file(TEXT))


def rows(found):
    """The entries of a table, column by column."""
    return [
        list(found[:, place]) if name == "name" else found[:, place].tolist()
        for place, name in enumerate(found.columns)
    ]


def test_a_column_has_three_names(table):
    assert table.columns == ("speed m/s", "t", "name")
    assert table.t.tolist() == table["t"].tolist() == table[1].tolist() == table[-2].tolist() == [1, 2, 3]
    assert table["speed m/s"].tolist() == table[0].tolist() == table[:, 0].tolist() == [1.5, 2.5, 4]
    assert list(table.name) == list(table[2]) == ["A", "B", "A"]
    assert table.t is table[1]
    assert (len(table), table.shape, "t" in table, "x" in table) == (3, (3, 3), True, False)


@each(
    "index, expected",
    [
        (slice(1, 3), [[2.5, 4], [2, 3], ["B", "A"]]),
        (slice(None, None, 2), [[1.5, 4], [1, 3], ["A", "A"]]),
        (slice(-1, None), [[4], [3], ["A"]]),
        ((slice(1, None), slice(1, None)), [[2, 3], ["B", "A"]]),
        ((slice(None), ["name", "t"]), [["A", "B", "A"], [1, 2, 3]]),
        (([0, 2], slice(0, 2)), [[1.5, 4], [1, 3]]),
        (["t"], [[1, 2, 3]]),
    ],
)
def test_rows_and_columns_are_cut_out(table, index, expected):
    assert rows(table[index]) == expected


def test_masks_select_rows(table):
    assert rows(table[table.t > 1]) == [[2.5, 4], [2, 3], ["B", "A"]]
    assert rows(table[table.name == "A"]) == [[1.5, 4], [1, 3], ["A", "A"]]
    assert rows(table[table.name != "A"]) == [[2.5], [2], ["B"]]
    assert (table.name == table.name).tolist() == [1, 1, 1]
    assert list(table.name[table.t > 1]) == ["B", "A"]
    refuses(lambda: table[table[1:].t > 1], r"the mask has 2 entries, and a\.csv 3 rows")


def test_a_row_and_an_entry(table):
    assert table[["t", "speed m/s"]][0, :].tolist() == [1, 1.5]
    assert float(table[2, "t"]) == float(table[2, 1]) == 3
    assert table[1, "name"] == "B"
    refuses(lambda: table[0, :], "the column name holds texts")


def test_a_table_of_numbers_is_a_matrix_in_arithmetic(table):
    numbers, matrix = table[["t", "speed m/s"]], np.array([[1, 1.5], [2, 2.5], [3, 4]])
    weights = ag.tensor([1.0, 2.0])
    assert np.array_equal(np.asarray(numbers), matrix)
    for found, expected in [
        (numbers + 1, matrix + 1),
        (1 - numbers, 1 - matrix),
        (numbers @ weights, matrix @ [1, 2]),
        (ag.tensor(matrix) * numbers, matrix * matrix),
        (matrix * numbers, matrix * matrix),
        (numbers * numbers, matrix * matrix),
        (-numbers, -matrix),
        (numbers > 2, matrix > 2),
        (ag.sum(numbers), matrix.sum()),
        (ag.mean(numbers, 0), matrix.mean(0)),
        (numbers.T, matrix.T),
        (numbers.sum(0), matrix.sum(0)),
        (ag.tensor(numbers), matrix),
        (numbers.tolist(), matrix),
    ]:
        assert np.array_equal(np.asarray(found), expected)


def test_a_column_is_in_the_graph_and_a_write_reaches_the_table(table):
    w = ag.tensor(2.0, requires_grad=True)
    ag.sum(w * table.t).backward()
    assert float(w.grad) == 6
    table.t[0] = 7
    assert table[["t"]].tolist() == [[7], [2], [3]]
    column = table.t.requires_grad_()
    (table[["t"]] + 0).sum().backward()
    assert column.grad.tolist() == [1, 1, 1]


@each("read, kind, message, fixes", [
        (lambda t: t["speed"], "name", "a.csv has no column speed", []),
        (lambda t: t.foo, "name", "a.csv has no column foo", []),
        (lambda t: t[3], "shape", "one index of a table is a column, and a.csv has 3 columns: there is no column 3", []),
        (lambda t: t[:2][2], None, None, None),
        (lambda t: t[:, :2][2], "shape", "one index of a table is a column, and a.csv has 2 columns: there is no column 2", ["t[2, :]   for a row"]),
        (lambda t: t[5, 0], "shape", None, None),
        (lambda t: t[ag.tensor([0.0, 1.0])], "type", "one index of several numbers may mean rows or columns of a table", ["t[[0, 2], :]   for rows", "t[:, [0, 2]]   for columns"]),
        (lambda t: t[0, 0, 0], "shape", "a table has rows and columns, and 3 indices are given", []),
        (lambda t: list(t), "type", "a table is read by rows or by columns", ["for row in tensor(t): …", "for name in t.columns: …", "x, y = t.T   of columns of numbers"]),
        (lambda t: t + 1, "type", "the column name holds texts, so that the table is no array of numbers", ['t[["speed m/s", "t"]]   is the table without texts']),
        (lambda t: ag.sum(t), "type", "the column name holds texts, so that the table is no array of numbers", None),
        (lambda t: t.name + 1, "type", None, None),
        (lambda t: ag.sin(t.name), "type", 'the column name holds texts, such as "A", and no numbers', ['t.name == "A"   is a mask']),
        (lambda t: t.name == 1, "type", "the column name holds texts: it is compared with a text, not with the number 1", ['t.name == "…"']),
        (lambda t: t.name == t[:2].name, "shape", "name has 3 texts, and name 2", []),
        (lambda t: t.__setitem__(0, 1), "type", "the entries of a table cannot be assigned to", ["x = tensor(t)   is an array, which can be written to"]),
    ])  # fmt: skip
def test_what_a_table_refuses(table, read, kind, message, fixes):
    if kind is None:
        assert list(read(table)) == ["A", "B"]
        return
    with pytest.raises((ag.AgradError, TypeError)) as caught:
        read(table)
    if message is not None:
        assert (caught.value.kind, caught.value.message) == (kind, message)
    if fixes is not None:
        assert caught.value.fixes == fixes


def test_two_columns_of_one_name_are_reached_by_their_numbers(file):
    found = ag.load_csv(file("x,y,x\n1,2,3\n"))
    assert [found[place].tolist() for place in range(3)] == [[1], [2], [3]]
    with pytest.raises(ag.AgradError, match=r"a.csv has 2 columns x") as caught:
        found.x  # noqa: B018 - it raises
    assert caught.value.fixes == ["t[:, 0]", "t[:, 2]"]


def test_a_column_comes_before_what_a_matrix_has(file):
    found = ag.load_csv(file("T,shape,columns,sum\n1,2,3,4\n"))
    assert (found.T.tolist(), found.shape.tolist(), found.sum.tolist()) == ([1], [2], [4])
    assert found.columns == ("T", "shape", "columns", "sum")
    assert found["columns"].tolist() == [3]


def test_columns_without_names_are_numbered(file):
    found = ag.load_csv(file("1;2,5;a\n3;4;b\n"), header=0)
    assert found.columns == ("c0", "c1", "c2")
    assert (found.c1.tolist(), list(found.c2)) == ([2.5, 4], ["a", "b"])


def test_the_first_entry_that_is_not_empty_says_what_a_column_holds(file):
    found = ag.load_csv(file("a,b,c,d\n,x,,1\n,,y,2\n"))
    assert [list(found[place]) for place in range(3)] == [["", ""], ["x", ""], ["", "y"]]
    refuses(lambda: ag.load_csv(file("a,b\n,1\n2,2\n")), "line 2, column 1: the entry is empty")
    refuses(lambda: ag.load_csv(file("a,b\n1,1\nx,2\n")), 'line 3, column 1: "x" is not a number')


def test_every_format_is_a_table(file, tmp_path):
    plain = "x,s\n1,a\n3,b\n"
    np.savez(tmp_path / "a.npz", x=np.array([1.0, 3.0]))
    (tmp_path / "folder" / "year=2024").mkdir(parents=True)
    (tmp_path / "folder" / "year=2024" / "a.csv").write_text(plain)
    paths = [
        file(gzip.compress(plain.encode()), "a.csv.gz"),
        file("".join(json.dumps({"x": x, "s": s}) + "\n" for x, s in ((1, "a"), (3, "b"))), "a.jsonl"),
        str(tmp_path / "a.npz"),
        str(tmp_path / "folder"),
    ]
    for path in paths:
        found = ag.load_csv(path)
        assert found.x.tolist() == [1, 3]
        assert "s" not in found or list(found.s) == ["a", "b"]
    assert found.year.tolist() == [2024, 2024]


def test_the_types_of_arrow_are_numbers_or_texts(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "x": pa.array([1, 3], pa.int32()),
        "coded": pa.array(["a", "b"]).dictionary_encode(),
        "when": pa.array([0, 86_400], pa.timestamp("s")),
        "s": ["a", None],
    }
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    found = ag.load_csv(str(tmp_path / "a.parquet"))
    assert found.x.tolist() == [1, 3]
    assert (list(found.coded), list(found.s)) == (["a", "b"], ["a", None])
    assert [when[:19] for when in found.when] == ["1970-01-01 00:00:00", "1970-01-02 00:00:00"]
    parquet.write_table(pa.table({"x": [1.0], "xs": [[1.0]]}), tmp_path / "b.parquet")
    caught = refuses(lambda: ag.load_csv(str(tmp_path / "b.parquet")), "the column xs holds list")
    assert caught.fixes == ["columns=… chooses those to read"]
    assert ag.load_csv(str(tmp_path / "b.parquet"), columns="x").x.tolist() == [1]


def test_a_table_is_shown_in_aligned_columns(table):
    assert repr(table) == "speed m/s  t  name\n      1.5  1  A\n      2.5  2  B\n        4  3  A\n3 rows"
    assert text(table, 6, 10) == "speed m/s\n      1.5\n      2.5\n        4\n2 more co…\n3 rows"
    long = Table(["i"], [ag.tensor(np.arange(100.0))])
    assert shown(long, 6)[1] == [[word] for word in "0 1 2 3 4 … 95 96 97 98 99".split()]
    assert text(long, 6).endswith("\n99\n100 rows")
    assert described(table) == "table of 3 rows: speed m/s, t, name"
    assert "<th>speed m/s</th>" in table._repr_html_()
    assert table._repr_mimebundle_()["text/plain"] == repr(table)
