"""Matrices at a prompt: rows under each other, columns aligned on the points, folds between columns."""

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rows import each

from agrad.cli.output import format_rows
from agrad.cli.repl.printer import PromptPrinter
from agrad.engine.values import format_value
from agrad.grammar.results import Printed, Shown
from agrad.grammar.session.session import Session

SHOWN = [
    ([[1.5, 22], [3, 4.25]], "[[1.5, 22],\n [3,    4.25]]"),
    ([[1, 2], [3, 4]], "[[1, 2],\n [3, 4]]"),
    ([[1e-30, 2], [-3.5, 1e200]], "[[ 1e-30, 2],\n [-3.5,   1e200]]"),
    ([[np.nan, -np.inf], [1, -0.0]], "[[nan, -inf],\n [  1,    0]]"),
    ([[[1, 2], [3, 4.5]], [[5, 6], [7, 8]]], "[[[1, 2],\n  [3, 4.5]],\n [[5, 6],\n  [7, 8]]]"),
    ([[1], [2]], "[[1],\n [2]]"),
    ([[1, 2, 3]], "[[1, 2, 3]]"),
    ([1, 2.5], "[1, 2.5]"),
    (np.zeros((0, 3)), "[]   shape (0, 3)"),
    (np.zeros((3, 0)), "[]   shape (3, 0)"),
    (np.zeros(0), "[]"),
]


@each("array, text", SHOWN)
def test_an_array_as_it_is_shown(array, text):
    assert format_rows(np.asarray(array, float)) == text


def test_a_wide_matrix_is_folded_between_columns():
    array = np.arange(24.0).reshape(2, 12) * 1000.5
    assert format_rows(array, width=40) == (
        "[:, 0:4]\n[[    0,  1000.5,  2001,  3001.5],\n [12006, 13006.5, 14007, 15007.5]]\n"
        "[:, 4:8]\n[[ 4002,  5002.5,  6003,  7003.5],\n [16008, 17008.5, 18009, 19009.5]]\n"
        "[:, 8:12]\n[[ 8004,  9004.5, 10005, 11005.5],\n [20010, 21010.5, 22011, 23011.5]]"
    )


NUMBERS = st.floats(allow_nan=False, width=64)


@given(
    arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 9)), elements=NUMBERS), st.sampled_from([None, 30, 80])
)
def test_no_number_is_broken_and_each_can_be_read_back(array, width):
    text = format_rows(array, None, width)
    parts = re.split(r"\[:, \d+:\d+\]\n", text)
    blocks = [np.array(eval(part, {"inf": np.inf})) for part in parts if part]
    assert np.array_equal(np.concatenate(blocks, axis=1), array)
    if width is not None:
        widest = max(len(format_value(float(entry), None)) for entry in array.flat)
        assert max(map(len, text.split("\n"))) <= max(width, 2 * widest + 8)


def test_a_value_with_a_graph_has_its_kind_behind_it(capsys):
    session = Session()
    session.settings.width = 80
    session.run("var w = [[1, 2], [3, 4.5]]; y = w*2")
    PromptPrinter(session.settings)(Shown(session.names["y"]))
    assert capsys.readouterr().out == "[[2, 4],\n [6, 9]]   <MulBackward>\n"


def test_no_number_with_an_uncertainty_is_broken(capsys):
    session = Session()
    session.settings.width = 40
    session.run("r = arange(9)*1.5 ± 0.25")
    shown = Shown(session.names["r"])
    for result in (shown, Printed(shown.text(session.settings))):
        PromptPrinter(session.settings)(result)
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 40
        assert all(line.rstrip(",]").endswith(("0.25", ">")) for line in lines)


def test_what_is_printed_with_tabs_is_left_as_it_is(capsys):
    session = Session()
    session.settings.width = 20
    line = "a\tb\tc and some words that are many"
    PromptPrinter(session.settings)(Printed(line))
    assert capsys.readouterr().out == line + "\n"
