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
    (["x + 2 km"], "", "a number and a length cannot be added"),
    (["x", "--where", "x > 4 km"], "", "a number and a length cannot be compared"),
    (["x to km"], "", "x has no unit to convert"),
    (["x*c", "-D", "c=3 km"], "value (km)\n3\n9\n-3\n", ""),
])  # fmt: skip
def test_a_name_behind_a_number_is_a_column_or_else_a_unit(inside, tmp_path, words, out, told):
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


MEASURED = "m [kg],v (km/h),T (°C),Cycle,w (fast)\n2,10,20,1,5\n3,20,30,2,6\n"


@each("words, head, rows", [
    ("0.5*m*v^2 --units --wrt v", "value (J),d/dv (J/(km/h))", lambda m, v: (m * v**2 / 25.92, m * v / 12.96)),
    ("m*v --units --wrt m,v --order 2", "value (kg·km/h),d/dm (km/h),d/dv (kg),d2/dm2 (km/(kg·h)),d2/dmdv,d2/dv2 (kg·h/km)",
     lambda m, v: (m * v, v, m, 0, 1, 0)),
    ("v*t -D t=30#min --wrt t", "value (m),d/dt (m/min)", lambda m, v: (500 * v, v * 1000 / 60)),
    ("(v#to#m/s) --units --u v=0.9", "value (m/s),u (m/s)", lambda m, v: (v / 3.6, 0.25)),
    ("T-10#°C --wrt T", "value (K),d/dT (K/°C)", lambda m, v: (v, 1)),
    ("'v#(km/h)'*Cycle --units", "value (km/h)", lambda m, v: (v * (v / 10),)),
    ("s -c s=1 --units", "value (km/h)", lambda m, v: (v,)),
    ("v#if#v>15#km/h#else#2*v -D k=1#s", "value (km/h)", lambda m, v: (20,)),
    ("2m+'w#(fast)'*(1#kg)", "value (kg)", lambda m, v: (2 * m + m + 3,)),
    ("-e a=v*(2#h) -e b=m*v --wrt m", "a (km),da/dm (km/kg),b (kg·km/h),db/dm (km/h)",
     lambda m, v: (2 * v, 0, m * v, v)),
])  # fmt: skip
def test_headers_are_units(inside, tmp_path, words, head, rows):
    (tmp_path / "u.csv").write_text(MEASURED)
    expression, *rest = [word.replace("#", " ") for word in words.split()]
    typed = (
        [expression, "u.csv", *rest] if expression != "-e" else [*[w.replace("#", " ") for w in words.split()], "u.csv"]
    )
    for backend in ("python", "llvm"):
        found, said, _ = inside("map", *typed, "--backend", backend)
        assert said == ""
        titles, *lines = found.splitlines()
        assert titles == head
        numbers = [[float(x) for x in line.split(",")] for line in lines]
        np.testing.assert_allclose(numbers, [rows(2, 10), rows(3, 20)], rtol=1e-14)


@each("words, told", [
    ("m+v --units", "a mass and a speed cannot be added"),
    ("exp(v) --units", "exp takes a number, not a speed"),
    ("mean(v) --units --whole mean", "--whole takes numbers without units"),
    ("v --units --u v=@m", "m [kg] has another unit than v (km/h)"),
    ("m*v", "u.csv has no column m"),
    ("x --units", "`ton` has no one size"),
])  # fmt: skip
def test_what_units_do_not_fit_is_refused_once(inside, tmp_path, words, told):
    (tmp_path / "u.csv").write_text(MEASURED.replace("Cycle", "x (ton)") if words[0] == "x" else MEASURED)
    expression, *rest = words.split()
    found, said, status = inside("map", expression, "u.csv", *rest)
    assert (found, told in said, said.count("error["), status) == ("", True, 1, 1)


def test_a_unit_of_several_meanings_matters_where_its_column_is_used(inside, tmp_path):
    (tmp_path / "u.csv").write_text(MEASURED.replace("Cycle", "x (ton)"))
    for words in (["m"], ["m", "--units"], ["m", "--units", "--keep", "x (ton)"]):
        _, said, status = inside("map", "2*`m [kg]`" if words == ["m"] else "2*m", "u.csv", *words[1:])
        assert (said, status) == ("", 0)


def test_files_of_results_have_units_in_their_headers(inside, tmp_path):
    (tmp_path / "u.csv").write_text(MEASURED)
    (tmp_path / "empty.csv").write_text("v (km/h)\n")
    inside("map", "v", "u.csv", "--units", "-o", "o.npz")
    assert np.load(tmp_path / "o.npz").files == ["value (km/h)"]
    assert '"value (km/h)": 10' in inside("map", "v", "u.csv", "--units", "--json")[0]
    assert inside("map", "v^2", "empty.csv", "--units")[0] == "value (km²/h²)\n"
    inside("map", "v^2", "u.csv", "empty.csv", "--units", "-o", "out/")
