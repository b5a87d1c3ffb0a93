"""`agrad map` with several formulas, conditions, functions of whole columns, second derivatives and other formats."""

import numpy as np
import pytest
from rows import each

import agrad.engine as ag
from agrad.engine.data import csv_tables
from agrad.engine.data.tables import NAMES, Aggregates

TABLE = "x,y,t (s)\n1,2,5\n3,4,6\n-1,1,7\n"


@pytest.fixture
def mapped(inside, tmp_path):
    """Run `agrad map` in a folder with t.csv: (stdout, stderr, exit code)."""
    (tmp_path / "t.csv").write_text(TABLE)
    return lambda *words: inside("map", *words)


@pytest.mark.parametrize("size", [7, 30, 2**21])
def test_pieces_of_any_size_give_the_same(mapped, monkeypatch, size):
    monkeypatch.setattr(csv_tables, "BYTES", size)
    out, _, _ = mapped("(x - mean(x))/std(x)", "t.csv", "--whole", "mean,std", "--where", "y > 1", "--keep", "y")
    assert out == "y,value\n2,-1\n4,1\n"


@each("name", NAMES)
def test_a_whole_column_is_as_an_array(name):
    values = np.random.default_rng(1).normal(1e6, 1e-2, 1000)
    for parts in ([values], np.split(values, [1, 1, 500, 999])):
        found = Aggregates()
        for part in parts:
            found.add(part)
        assert found.value(name) == pytest.approx(getattr(np, name)(values), rel=1e-9)
    found.add(np.array([np.nan]))
    assert np.isnan(found.value(name))


@each("words, out, told", [
    (["2x + 3 y"], "value\n8\n18\n1\n", ""),
    (["x + 2 km"], "", "t.csv has no column km"),
    (["x", "--where", "x > 4 km"], "", "t.csv has no column km"),
    (["x to km"], "", "the rows of a table are numbers without units"),
    (["x*c", "-D", "c=3 km"], "", "a row takes numbers without units"),
])  # fmt: skip
def test_rows_have_no_units_and_a_name_behind_a_number_is_a_column(inside, tmp_path, words, out, told):
    (tmp_path / "t.csv").write_text(TABLE)
    found, said, _ = inside("map", words[0], "t.csv", *words[1:])
    assert (found, told in said) == (out, True)


def test_no_rows_have_no_mean():
    assert Aggregates().value("sum") == 0
    with pytest.raises(ag.AgradError, match="mean of no rows"):
        Aggregates().value("mean")


def test_arrow_is_written_and_read_again(mapped):
    pytest.importorskip("pyarrow")
    for out in ("o.arrow", "o.feather"):
        assert mapped("x*y", "t.csv", "--wrt", "x", "-o", out, "--keep", "y") == ("", "", 0)
        assert mapped("value", out, "--keep", "y,d/dx") == ("y,d/dx,value\n2,2,2\n4,4,12\n1,1,-1\n", "", 0)
    assert mapped("x", "t.csv", "--to", "parquet", "-o", "named.tmp") == ("", "", 0)


def test_the_jacobian_of_one_formula_has_the_bits_of_its_gradient(agrad, tmp_path):
    rows = np.random.default_rng(0).normal(size=(5000, 2))
    np.savetxt(tmp_path / "p.csv", rows, delimiter=",", header="x,y", comments="")
    asked = ("map", "x**2 + y**3 - sin(x*y)", "p.csv", "--wrt", "x,y")
    assert agrad(*asked, "--jacobian") == agrad(*asked)
    both = agrad("map", "[sin(x*y), exp(x)]", "p.csv", "--wrt", "x,y", "--jacobian")[0].splitlines()
    one = agrad("map", "sin(x*y)", "p.csv", "--wrt", "x,y")[0].splitlines()
    columns = [line.split(",") for line in both[1:]]
    assert [",".join((entries[0], entries[2], entries[3])) for entries in columns] == one[1:]
