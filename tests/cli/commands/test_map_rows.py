"""`agrad map` computes each row alone: a function of a whole column is refused, with what to type instead."""

import re
import shlex

import pytest
from thinned import thinned

from agrad.engine.core.op import FUNCTIONS

ALONG_AN_AXIS = sorted(
    name
    for name, entry in FUNCTIONS.items()
    if "axis" in entry.signature.attributes and not entry.signature.variadic and len(entry.signature.operands) == 1
)


@pytest.fixture
def mapped(inside, tmp_path):
    """Run `agrad map` in a folder with t.csv: (stdout, stderr, exit code)."""
    (tmp_path / "t.csv").write_text("temp,y\n20,1\n25,2\n")
    return lambda *arguments: inside("map", *arguments)


def test_the_functions_that_are_meant_are_among_those_tried():
    assert {"sum", "mean", "max", "min", "std", "var", "median", "norm", "cumsum", "softmax", "sort"} < {*ALONG_AN_AXIS}


@pytest.mark.parametrize("name", thinned(ALONG_AN_AXIS, 4))
@pytest.mark.parametrize("form", ["{}(temp)", "{}(2*temp - y)", "temp.{}()"])
@pytest.mark.parametrize("options", [(), ("--on-error", "null")], ids=["stop", "null"])
def test_a_function_along_an_axis_of_the_one_number_of_a_row_is_refused(mapped, name, form, options):
    text = form.format(name)
    out, err, code = mapped(f"y*{text}", "t.csv", "--wrt", "y", *options)
    assert (out, code) == ("", 1)
    assert err.startswith("error[")
    if "would see one number" not in err:  # an argument is missing, or there is no such method
        assert re.match(r"error\[(arity|name)\]", err)


@pytest.mark.parametrize("text", ["temp/mean(temp)", "temp - temp.mean()", "np.sum(temp)", "torch.max(temp)", "torch.std(temp)"])  # fmt: skip
def test_its_spellings_are_refused_alike(mapped, text):
    out, err, code = mapped(text, "t.csv")
    assert (out, code) == ("", 1)
    assert " would see one number: each row is computed by itself" in err


def test_the_fix_can_be_typed_and_gives_what_was_meant(mapped, inside):
    _, err, _ = mapped("temp/mean(temp)", "t.csv")
    typed = re.search(r"fix: agrad (.+?)   for the whole column, then -D m=…", err)[1]
    out, err, code = inside(*shlex.split(typed))
    assert (out, err, code) == ("22.5\n", "", 0)
    assert mapped("temp/m", "t.csv", "-D", f"m={out.strip()}")[0].split() == [
        "value",
        "0.8888888888888888",
        "1.1111111111111112",
    ]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("sum([temp, y])", [21, 27]),
        ("max(temp, 22)", [22, 25]),
        ("mean([temp, y, k])", [8, 10]),
        ("norm([temp, y]*[0, 1])", [1, 2]),
        ("sum(w)", [6, 6]),
        ("temp*m", [40, 50]),
    ],
)
def test_of_several_numbers_they_are_computed(mapped, text, values):
    out, err, code = mapped(text, "t.csv", "-D", "k=3", "-D", "w=[1, 2, 3]", "-D", "m=mean(w)")
    assert (out.split(), err, code) == (["value", *map(str, values)], "", 0)


@pytest.mark.parametrize(
    ("text", "count", "begins"),
    [
        ("sqrt(22 - temp)", "1 of 2 rows has", "sqrt(22 - temp)"),
        ("1 + 2*log(y - temp)", "2 of 2 rows have", "log(y - temp)"),
        ("sum([temp, acos(temp)])", "2 of 2 rows have", "acos(temp)"),
    ],
)
def test_rows_that_become_nan_are_counted_and_the_first_is_shown(mapped, text, count, begins):
    out, err, code = mapped(text, "t.csv")
    assert (out.count("nan"), code) == (int(count[0]), 0)
    note, _, carets, *_ = err.splitlines()
    assert note == f"note: {count} the value nan, although none of their numbers is nan; the first:"
    assert carets.count("^") == len(begins)
    assert "in this row" in err


@pytest.mark.parametrize("text", ["2*temp", "temp*k", "0*temp + bad"])
def test_nan_that_was_given_is_not_noted(mapped, tmp_path, text):
    (tmp_path / "n.csv").write_text("temp,bad\n20,nan\n25,1\n")
    out, err, code = mapped(text, "n.csv", "-D", "k=nan")
    assert ("nan" in out, err, code) == (text != "2*temp", "", 0)


# Columns by their names, on the command line


@pytest.mark.parametrize("name", ["speed m/s", "a:b", "a/b:c", "x=y", "\\d", "~", "../x"])
def test_a_column_may_have_any_name_behind_the_colon(inside, tmp_path, name):
    (tmp_path / "q.csv").write_text(f"{name},t\n1,2\n4,5\n")
    assert inside("eval", "sum(s)", f"s=@q.csv:{name}") == ("5\n", "", 0)


def test_a_file_may_have_a_colon_in_its_name(inside, tmp_path):
    (tmp_path / "a:b.csv").write_text("x,t\n1,2\n4,5\n")
    assert inside("eval", "sum(s)", "s=@a:b.csv:x") == ("5\n", "", 0)
    assert inside("eval", "sum(s)", "s=@a:b.csv") == ("12\n", "", 0)


def test_two_columns_of_a_name_and_rows_of_other_lengths_are_refused_as_by_map(inside, mapped, tmp_path):
    (tmp_path / "two.csv").write_text("x,x\n1,2\n")
    (tmp_path / "ragged.csv").write_text("x,y\n1,2\n3\n")
    for name, told in (("two", "two.csv has 2 columns x"), ("ragged", "1 entry, not 2")):
        for found in (inside("eval", "sum(x)", f"x=@{name}.csv:x"), mapped("x", f"{name}.csv")):
            out, err, code = found
            assert (out, code) == ("", 1)
            assert told in err


def test_what_stands_for_missing_numbers_is_asked_for_and_counted(agrad, tmp_path):
    (tmp_path / "gaps.csv").write_text("x;y\n1,5;2\nNA;3\n;4\n")
    out, err, code = agrad("map", "x + y", "gaps.csv")
    assert (code, err.splitlines()[3]) == (1, '  fix: agrad map "x + y" gaps.csv --na NA   reads it as nan')
    _, err, _ = agrad("map", "x + y", "gaps.csv", "--na", "NA")
    assert err.splitlines()[3] == '  fix: agrad map "x + y" gaps.csv --na NA,   reads it as nan'
    out, err, _ = agrad("map", "x + y", "gaps.csv", "--na", "NA,")
    assert (out, err) == ("value\n3.5\nnan\nnan\n", "note: 2 entries are missing, and nan in the formulas\n")


def test_another_encoding_is_asked_for_and_read(agrad, tmp_path):
    (tmp_path / "old.csv").write_bytes("x (°);y\n1;2\n".encode("cp1252"))
    assert "  fix: agrad map y old.csv --encoding cp1252\n" in agrad("map", "y", "old.csv")[1]
    assert agrad("map", '"x (°)"*y', "old.csv", "--encoding", "cp1252")[0] == "value\n2\n"
    assert "'foo' is not an encoding of text" in agrad("map", "y", "old.csv", "--encoding", "foo")[1]


def test_lines_of_json_come_from_standard_input(agrad):
    lines = '{"x": 1, "at": {"lat": 52.5}}\n{"x": 2, "at": {"lat": 50}}\n'
    for options in ((), ("--from", "jsonl")):
        assert agrad("map", 'x*"at.lat"', "-", *options, given=lines)[0] == "value\n52.5\n100\n"
