"""`agrad map` computes each row alone: a function of a whole column is refused, with what to type instead."""

import re

import pytest
from rows import each

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


@each("name", ALONG_AN_AXIS, short=4)
@each("form", ["{}(temp)", "{}(2*temp - y)", "temp.{}()"])
@each("options", [(), ("--on-error", "null")])
def test_a_function_along_an_axis_of_the_one_number_of_a_row_is_refused(mapped, name, form, options):
    text = form.format(name)
    out, err, code = mapped(f"y*{text}", "t.csv", "--wrt", "y", *options)
    assert (out, code) == ("", 1)
    assert err.startswith("error[")
    if "would see one number" not in err:  # an argument is missing, or there is no such method
        assert re.match(r"error\[(arity|name)\]", err)


# Columns by their names, on the command line


def test_another_encoding_is_asked_for_and_read(agrad, tmp_path):
    (tmp_path / "old.csv").write_bytes("x (°);y\n1;2\n".encode("cp1252"))
    assert "  fix: agrad map y old.csv --encoding cp1252\n" in agrad("map", "y", "old.csv")[1]
    assert agrad("map", '"x (°)"*y', "old.csv", "--encoding", "cp1252")[0] == "value\n2\n"
    assert "'foo' is not an encoding of text" in agrad("map", "y", "old.csv", "--encoding", "foo")[1]
