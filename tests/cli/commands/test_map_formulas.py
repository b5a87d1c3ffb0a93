"""`agrad map` with several formulas, conditions, functions of whole columns, second derivatives and other formats."""

import json
import shlex

import numpy as np
import pytest

import agrad.engine as ag
from agrad.engine.data import csv_tables
from agrad.engine.data.tables import NAMES, Aggregates

TABLE = "x,y,t (s)\n1,2,5\n3,4,6\n-1,1,7\n"


@pytest.fixture
def mapped(inside, tmp_path):
    """Run `agrad map` in a folder with t.csv: (stdout, stderr, exit code)."""
    (tmp_path / "t.csv").write_text(TABLE)
    return lambda *words: inside("map", *words)


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["-e", "a=x*y", "-e", "b=x+y**2", "--wrt", "x,y"],
         "a,da/dx,da/dy,b,db/dx,db/dy\n2,2,1,5,1,4\n12,4,3,19,1,8\n-1,1,-1,0,1,2\n"),
        (["x", "--where", "x > 0 and y < 3", "--keep", "t (s)"], "t (s),value\n5,1\n"),
        (["x", "--where", "x > 9"], "value\n"),
        (["x", "--where", "1 > 0"], "value\n1\n3\n-1\n"),
        (["x", "--where", "k > 0", "-D", "k=1"], "value\n1\n3\n-1\n"),
        (["x**3*y", "--wrt", "x,y", "--order", "2"],
         "value,d/dx,d/dy,d2/dx2,d2/dxdy,d2/dy2\n2,6,1,12,3,0\n108,108,27,72,27,0\n-1,3,-1,-6,3,0\n"),
        (["x*y", "--wrt", "x,y", "--hessian", "--where", "x == 3"],
         "value,d/dx,d/dy,d2/dx2,d2/dxdy,d2/dydx,d2/dy2\n12,4,3,0,1,1,0\n"),
        (["x**2 if y > 3 else y", "--wrt", "x", "--order", "2"], "value,d/dx,d2/dx2\n2,0,0\n9,6,2\n1,0,0\n"),
        (["x - mean(x)", "--whole", "mean", "--wrt", "x"], "value,d/dx\n0,1\n2,1\n-2,1\n"),
        (["x - mean(x*k)", "--whole", "mean", "-D", "k=2", "--where", "x > 0"], "value\n-3\n-1\n"),
        (["[max(x), min(x), sum(x)][0] + sum([x, y])", "--whole", "max,min"], None),
        (['"t (s)"*2'], "value\n10\n12\n14\n"),
        (["`t (s)` - min(`t (s)`)", "--whole", "min"], "value\n0\n1\n2\n"),
        (["v", "-c", "v=t (s)", "--to", "csv"], "value\n5\n6\n7\n"),
        (["v", "-c", "v=2"], "value\n5\n6\n7\n"),
    ],
)  # fmt: skip
def test_the_columns_are_those_that_were_asked_for(mapped, words, out):
    found, err, code = mapped(*words, "t.csv")
    if out is None:  # a function of several arguments' list is that of the row, unless it is of whole columns
        assert code == 1 and "sum(x) would see one number" in err
    else:
        assert (found, err, code) == (out, "", 0)


MIXED = "Berlin,3\nParis,4\nRome,5\n"


@pytest.mark.parametrize(
    ("words", "has_names"),
    [
        (["map", "x", "m.csv", "-c", "x=1"], "value\n4\n5\n"),
        (["map", "1", "m.csv"], "value\n1\n1\n"),
        (["map", "1", "m.csv", "--keep", "all"], "Berlin,3,value\nParis,4,1\nRome,5,1\n"),
        (["map", "x", ".", "-c", "x=1"], "value\n4\n5\n"),
        (["fit", "a*x", "m.csv", "--y", "x", "-c", "x=1", "--over", "a=1"], None),
    ],
)
def test_a_first_row_of_numbers_and_texts_is_not_lost(inside, tmp_path, words, has_names):
    (tmp_path / "m.csv").write_text(MIXED)
    out, err, code = inside(*words)
    assert (out, code) == ("", 1)
    assert "has numbers and texts: it may have the names of the columns, or be data" in err
    fixes = [line.removeprefix("  fix: agrad ") for line in err.splitlines() if "fix:" in line]
    assert list(map(shlex.split, fixes)) == [[*words, "--header", value] for value in ("1", "0")]
    answers = [inside(*shlex.split(fix)) for fix in fixes]
    assert [code for *_, code in answers] == [0, 0]
    assert answers[0] != answers[1]
    assert has_names is None or answers[0][0] == has_names


def test_a_first_row_of_numbers_and_texts_is_a_header_where_a_column_is_used_by_its_name(inside, tmp_path):
    (tmp_path / "m.csv").write_text("t,2020\n1,2\n")
    assert inside("map", "t", "m.csv") == ("value\n1\n", "", 0)
    assert inside("map", "v", "m.csv", "-c", "v=2020") == ("value\n2\n", "", 0)
    assert inside("map", "a", "m.csv", "--columns", "b,a")[0] == "value\n2020\n2\n"


@pytest.mark.parametrize(("word", "values"), [("m.csv:1", "[4, 5]"), ("m.csv", None)])
def test_a_value_from_a_file_with_a_doubtful_first_row_says_what_to_type(inside, tmp_path, word, values):
    (tmp_path / "m.csv").write_text(MIXED)
    out, err, code = inside("eval", "x", f"x=@{word}")
    assert (out, code) == ("", 1)
    fixes = [line.removeprefix("  fix: ") for line in err.splitlines() if "fix:" in line]
    assert len(fixes) == 2
    found = [inside("eval", "x", f"x={shlex.split(fix)[0]}") for fix in fixes]
    assert values is None or [answer[0].strip() for answer in found] == [values, "[3, 4, 5]"]


def test_json_has_the_formulas_by_their_names(mapped):
    out, err, code = mapped(
        "-e", "a=x*y", "-e", "b=1/(x-1)", "t.csv", "--wrt", "x", "--order", "2", "--json", "--where", "x>0"
    )
    assert (err, code) == ("", 0)
    first, second = map(json.loads, out.splitlines())
    assert first == {
        "schema": 1,
        "results": {
            "a": {"value": 2.0, "grad": {"x": 2.0}, "derivatives": {"x,x": 0.0}},
            "b": {"value": None, "grad": {"x": None}, "derivatives": {"x,x": None}},
        },
        "nonfinite": {
            "results.b.value": "inf",
            "results.b.grad.x": "-inf",
            "results.b.derivatives.x,x": "inf",
        },
    }  # fmt: skip
    assert second["results"]["b"] == {"value": 0.5, "grad": {"x": -0.25}, "derivatives": {"x,x": 0.25}}


@pytest.mark.parametrize("size", [7, 30, 2**21])
def test_pieces_of_any_size_give_the_same(mapped, monkeypatch, size):
    monkeypatch.setattr(csv_tables, "BYTES", size)
    out, _, _ = mapped("(x - mean(x))/std(x)", "t.csv", "--whole", "mean,std", "--where", "y > 1", "--keep", "y")
    assert out == "y,value\n2,-1\n4,1\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_column_is_as_an_array(name):
    values = np.random.default_rng(1).normal(1e6, 1e-2, 1000)
    for parts in ([values], np.split(values, [1, 1, 500, 999])):
        found = Aggregates()
        for part in parts:
            found.add(part)
        assert found.value(name) == pytest.approx(getattr(np, name)(values), rel=1e-9)
    found.add(np.array([np.nan]))
    assert np.isnan(found.value(name))


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


def test_a_row_without_a_condition_is_counted(mapped, tmp_path):
    (tmp_path / "h.csv").write_text("x,y\n1,2\n,4\n3,5\n")
    out, err, code = mapped("x*y", "h.csv", "--where", "y > 2", "--on-error", "null", "--keep", "y")
    assert (out, code) == ("y,value\n4,\n5,15\n", 0)
    assert err.startswith("h.csv:3:1: note: 1 of 3 rows has no results; the first: column x: the entry is empty\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-e", "a=x", "-e", "a=y", "t.csv"], "-e gives a twice"),
        (["-e", "x*y", "t.csv"], "-e takes NAME=EXPR, and x*y is not one"),
        (["-e", "a=x"], "with -e, the file with the data is missing"),
        (["-e", "a=x", "x", "t.csv"], "with -e, the file with the data is all that can follow, and there is more"),
        (["x", "t.csv", "--order", "2"], "second derivatives need --wrt, which says by which columns"),
        (["x", "t.csv", "--whole", "mode"], "--whole takes functions among mean, std, var, sum, min, max, and mode is not one"),
        (["x", "-", "--whole", "mean"], "--whole reads the data twice, so that they must be in a file"),
        (["x", "t.csv", "--to", "npy"], "--to npy needs a file: -o out.npy"),
        (["-e", "a=x", "t.csv", "--u", "x=1"], "--u is for one formula, without -e"),
        (["x", "t.csv", "--delimiter", "ab"], "a delimiter is one sign, tab or blanks, and 'ab' is not"),
    ],
)  # fmt: skip
def test_wrong_usage(mapped, words, message):
    _, err, code = mapped(*words)
    assert (err.splitlines()[-1], code) == (f"Error: {message}", 2)


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (["mean(x)"], ["error[shape]: mean(x) would see one number: each row is computed by itself",
                       '  fix: agrad map "mean(x)" t.csv --whole mean']),
        (["mean(mean(x))", "--whole", "mean"], ["error[arity]: mean(mean(x)): a function of a whole column inside of another"]),
        (["mean(x, y)", "--whole", "mean"], ["error[arity]: mean(x, y): of a whole column, mean has one argument"]),
        (["x", "--where", "z > 1"], ["error[name]: t.csv has no column z"]),
        (["x", "--where", "mean(x) > 1"], ["error[shape]: mean(x) would see one number: each row is computed by itself"]),
        (["x - mean(x)", "--where", "x > 9", "--whole", "mean"], ["error[domain]: mean of no rows"]),
        (["v", "-c", "v=speed"], ["error[name]: t.csv has no column speed", "  note: in -c v=speed"]),
        (["x", "-c", "x=y"], ["error[name]: t.csv already has a column x: give y another name"]),
        (["-e", "a=x", "--keep", "a"], ["error[name]: t.csv has no column a"]),
        (["-e", "x=y", "--keep", "x"], ["error[name]: t.csv already has a column x", "  fix: another name in -e NAME=EXPR"]),
    ],
)  # fmt: skip
def test_what_is_refused_says_why(mapped, words, lines):
    out, err, code = mapped(words[0], "t.csv", *words[1:]) if words[0] != "-e" else mapped(*words, "t.csv")
    assert (out, code) == ("", 1)
    assert err.splitlines()[0] == lines[0]
    assert set(lines) <= set(err.splitlines())


def test_fit_reads_the_same_files_and_says_what_to_type(inside, tmp_path):
    (tmp_path / "de.csv").write_text("x (s);y\n0,5;2,0\n1,5;4,0\n2,5;6,0\n")
    out, err, code = inside("fit", 'a*"x (s)" + b', "de.csv", "--y", "y", "--over", "a=1,b=0", "--json")
    assert (err, code) == ("", 0)
    assert json.loads(out)["parameters"]["a"]["value"] == pytest.approx(2, rel=1e-6)
    out, err, code = inside("fit", "a*x", "de.csv", "-c", "x=x (s)", "--y", "y", "--over", "a=1", "--decimal", ",")
    assert (err, code) == ("", 0)
    (tmp_path / "both.csv").write_text("x;y\n0.5;2,0\n1,5;4,0\n")
    _, err, code = inside("fit", "a*x", "both.csv", "--y", "y", "--over", "a=1")
    assert code == 1
    assert err.splitlines()[-1] == '  fix: agrad fit "a*x" both.csv --y y --over a=1 --decimal ,'


def test_a_jacobian_has_all_values_and_then_all_derivatives(agrad, tmp_path):
    (tmp_path / "p.csv").write_text("x,y\n1,2\n3,4\n")
    out = "value[0],value[1],dvalue[0]/dx,dvalue[0]/dy,dvalue[1]/dx,dvalue[1]/dy\n2,3,2,1,1,1\n12,7,4,3,1,1\n"
    assert agrad("map", "[x*y, x + y]", "p.csv", "--wrt", "x,y", "--jacobian") == (out, "", 0)
    out = "a,b,da/dx,da/dy,db/dx,db/dy\n2,3,2,1,1,1\n12,7,4,3,1,1\n"
    asked = ("map", "-e", "a=x*y", "-e", "b=x + y", "p.csv", "--wrt", "x,y")
    assert agrad(*asked, "--jacobian") == (out, "", 0)
    assert agrad(*asked)[0].splitlines()[0] == "a,da/dx,da/dy,b,db/dx,db/dy"
    lines = agrad(*asked, "--jacobian", "--json")[0].splitlines()
    assert json.loads(lines[0]) == {
        "schema": 1,
        "results": {"a": {"value": 2}, "b": {"value": 3}},
        "jacobian": {"a": {"x": 2, "y": 1}, "b": {"x": 1, "y": 1}},
    }
    out = agrad("map", "-e", "f=(x, y**2)", "-e", "g=x", "p.csv", "--wrt", "y", "--jacobian", "--keep", "x")[0]
    assert out == "x,f[0],f[1],g,df[0]/dy,df[1]/dy,dg/dy\n1,1,4,1,0,4,0\n3,3,16,3,0,8,0\n"


def test_the_jacobian_of_one_formula_has_the_bits_of_its_gradient(agrad, tmp_path):
    rows = np.random.default_rng(0).normal(size=(5000, 2))
    np.savetxt(tmp_path / "p.csv", rows, delimiter=",", header="x,y", comments="")
    asked = ("map", "x**2 + y**3 - sin(x*y)", "p.csv", "--wrt", "x,y")
    assert agrad(*asked, "--jacobian") == agrad(*asked)
    both = agrad("map", "[sin(x*y), exp(x)]", "p.csv", "--wrt", "x,y", "--jacobian")[0].splitlines()
    one = agrad("map", "sin(x*y)", "p.csv", "--wrt", "x,y")[0].splitlines()
    columns = [line.split(",") for line in both[1:]]
    assert [",".join((entries[0], entries[2], entries[3])) for entries in columns] == one[1:]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--jacobian",), "--jacobian needs --wrt, which says by which columns"),
        (("--jacobian", "--wrt", "x", "--hessian"), "--jacobian has first derivatives: leave --order and --hessian out"),
        (("--jacobian", "--wrt", "x", "--order", "2"), "--jacobian has first derivatives: leave --order and --hessian out"),
    ],
)  # fmt: skip
def test_what_does_not_go_with_a_jacobian(agrad, tmp_path, options, message):
    (tmp_path / "p.csv").write_text("x\n1\n")
    out, err, code = agrad("map", "[x, x]", "p.csv", *options)
    assert (out, code) == ("", 2)
    assert message in err


def test_a_middle_dot_multiplies_the_numbers_of_a_row_and_refuses_its_arrays(mapped):
    assert mapped("x·y + sum(2·[x, y])", "t.csv")[0] == "value\n8\n26\n-1\n"
    assert "of two arrays" in mapped("sum([x, y]·[y, x])", "t.csv")[1]
