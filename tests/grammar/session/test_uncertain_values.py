"""Uncertain values in the language: how they are written, printed and read back, and the commands about them."""

import json
import random

import pytest

from agrad.engine.errors import AgradError
from agrad.engine.values import format_uncertain
from agrad.grammar.session.session import Session


def said(text, session=None):
    """The lines that statements emit, with notes."""
    session = session or Session()
    lines = []
    session.run(text, lambda result: lines.append(result.text(session.settings)))
    return lines


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("2.0 ± 0.1", "2.00 ± 0.10"),
        ("2.0±0.1", "2.00 ± 0.10"),
        ("2.0 +/- 0.1", "2.00 ± 0.10"),
        ("2.0+/-0.1", "2.00 ± 0.10"),
        ("2.0 +- 0.1", "2.00 ± 0.10"),
        ("20 ± 5%", "20.0 ± 1.0"),
        ("2.00(10)", "2.00 ± 0.10"),
        ("2.00(0.1)", "2.00 ± 0.10"),
        ("6.67430(15)e-11", "6.67430e-11 ± 0.00015e-11"),
        ("-3*2 ± 0.31", "-6.00 ± 0.31"),
        ("[1, 2] ± 0.1", "[1.00 ± 0.10, 2.00 ± 0.10]"),
        ("[1 ± 0.1, 2 ± 0.2]", "[1.00 ± 0.10, 2.00 ± 0.20]"),
        ("(2 ± 0.1) - 1", "1.00 ± 0.10"),
        ("123456 ± 3100", "123500 ± 3100"),
        ("1 ± 0.0996", "1.00 ± 0.10"),
        ("1e-12 ± 1e-13", "1.00e-12 ± 0.10e-12"),
        ("2 ± 0", "2 ± 0"),
        ("x = 2 ± 0.1; x - x", "0 ± 0"),
        ("(2 ± 0.1).u", "0.1"),
        ("x = 3; x.u", "0"),
        ("(5 ± 1) % 3", "2.0 ± 1.0"),
        ("2 ~= 2.05 ± 0.1", "True"),
        ("2 ~= 2.05 +- 0.1", "True"),
        ("2 ~= 2.05 +/- 0.01", "False"),
        ("var y = 2 ± 0.1; y", "2.00 ± 0.10"),
        ("def f(x) = x**2; f(10 ± 0.1)", "100.0 ± 2.0"),
        ("measured([9, 10, 11])", "10.00 ± 0.58"),
        ("uniform(0, 1)", "0.50 ± 0.29"),
        ("triangular(0, 1)", "0.50 ± 0.20"),
        ("sum(correlated([1, 2], [[4, 2], [2, 9]]))", "3.0 ± 4.1"),
        ("a = 1 ± 0.1; b = 2 ± 0.1; correlate a b 1; a - b", "-1 ± 0"),
        ("a = 1 ± 0.1; b = 2 ± 0.1; correlate a, b, -0.5; a + b", "3.00 ± 0.10"),
    ],
)
def test_an_uncertain_value_is_written_and_printed(text, answer):
    assert said(text) == [answer]


def test_a_large_array_is_shown_at_its_ends_and_a_wide_one_row_by_row():
    (line,) = said("arange(2000) ± 0.1")
    assert line.startswith("[0.00 ± 0.10, 1.00 ± 0.10, 2.00 ± 0.10, …, 1997.00 ± 0.10, ")
    assert line.endswith("]   shape (2000)")
    (lines,) = said("ones(2, 9) ± 0.1")
    assert [row[:14] for row in lines.split("\n")] == ["[[1.00 ± 0.10,", " [1.00 ± 0.10,"]


@pytest.mark.parametrize(
    "text", ["58.86 ± 3.1", "6.67430(15)e-11", "0.5 ± 0.29", "1e20 ± 1e18", "-5 ± 12", "123456 ± 31"]
)
def test_what_is_printed_reads_back(text):
    (first,) = said(text)
    assert said(first) == [first]


@pytest.mark.parametrize("sign", ["±", "+/-"])
def test_any_number_and_uncertainty_read_back(sign):
    rng, session = random.Random(sign), Session()
    for _ in range(300):
        value = rng.choice([0.0, rng.uniform(-10, 10), 9.9996, -9.96]) * 10.0 ** rng.randint(-15, 15)
        u = rng.choice([rng.uniform(0, 10), 9.96, 0.0996]) * 10.0 ** rng.randint(-12, 15)
        text = format_uncertain(value, u).replace("±", sign)
        (again,) = said(text, session)
        assert again.replace("±", sign) == text or u < 1e-12 * abs(value)  # then the value has ten digits
        shown, uncertain = (float(part) for part in text.split(f" {sign} "))
        assert uncertain == pytest.approx(u, rel=0.05)
        assert abs(shown - value) <= max(0.05 * u, 1e-9 * abs(value))


def test_a_result_that_is_far_from_linear_says_so():
    lines = said("x = 0 ± 0.1; x**2")
    assert lines == [
        "0 ± 0",
        "note: the uncertainty is of the first order: the second adds a bias of 0.01 and u = 0.014 more",
    ]
    assert said("x = 10 ± 0.1; x**2") == ["100.0 ± 2.0"]


def test_a_budget_has_a_line_for_each_source():
    lines = said("m = 2.0 ± 0.1; h = 3 ± 0.05; y = m*9.81*h; budget y")[0].splitlines()
    assert lines[0].split() == ["source", "value", "u", "dy/dx", "u", "dy/dx", "share"]
    assert lines[1].split() == ["m", "2", "0.1", "29.43", "2.943", "90.0", "%"]
    assert lines[2].split() == ["h", "3", "0.05", "19.62", "0.981", "10.0", "%"]
    assert lines[4] == "y = 58.9 ± 3.1   u = 3.1"
    assert lines[5] == "expanded uncertainty U = 6.08   k = 1.96, coverage 0.95"


def test_a_budget_has_other_forms():
    start = "m = 2.0 ± 0.1; h = 3 ± 0.05; y = m*9.81*h;"
    found = json.loads(said(f"{start} budget y order 2 coverage 0.99 as json")[0])
    assert found["schema"] == 1
    assert found["budget"]["u"] == pytest.approx(3.1021943846)
    assert found["budget"]["second"] == {"bias": 0.0, "u": pytest.approx(0.1 * 0.05 * 9.81)}
    assert found["budget"]["k"] == pytest.approx(2.5758, abs=1e-4)
    assert [source["name"] for source in found["budget"]["sources"]] == ["m", "h"]
    assert said(f"{start} budget y as csv")[0].splitlines()[-1].startswith("y,58.86,3.102194384625")
    assert r"\multicolumn{5}{l}{$58.9 \pm 3.1$}" in said(f"{start} budget y as latex")[0]


def test_samples_check_a_budget():
    lines = said("manual_seed(1); x = 1 ± 0.1; y = 2 ± 0.1; z = x + y; budget z samples 200000")
    assert lines[0].splitlines()[-1].startswith("the linear result, 2.7228 to 3.2772, holds to two digits of u")
    assert lines[1] == "plot of samples (60 points), normal (60 points)"


WITH_Y = "x = 2 ± 0.1\ny = x**2\n"


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("backward y\ny\ny.u", ["4.00 ± 0.40", "0.4"]),
        ("backward y retain\ny", ["4.00 ± 0.40"]),
        ("retain y\nbackward 2*y\ny", ["4.00 ± 0.40"]),
        ("z = sin(y)\nbackward z\nw = 3*y\nw", ["12.0 ± 1.2"]),
        ("backward y\n[y, 1]\n(y, x)", ["[4.00 ± 0.40, 1 ± 0]", "(4.00 ± 0.40, 2.00 ± 0.10)"]),
        ('backward y\nprint(y, f"{y}")\n{"a": y}', ["4.00 ± 0.40 4.00 ± 0.40", "{'a': 4.00 ± 0.40}"]),
        ("backward y\nset x = 3\nforward y\ny", ["9.00 ± 0.60"]),
        ("zero_grad\ny", ["4.00 ± 0.40"]),
        ("del x\ny\nbackward y\ny", ["4.00 ± 0.40", "4.00 ± 0.40"]),
        ("v = [1, 2] ± 0.1\nw = [[1, 2], [3, 4]] @ v\nbackward sum(w**2)\nw", ["[5.00 ± 0.22, 11.00 ± 0.50]"]),
        ("for i in range(500): y = y + 0*x\ny", ["4.00 ± 0.40"]),
        ("for i in range(500): y = 2*x; backward y fresh\ny", ["4.00 ± 0.20"]),
        ("set x = 3\nforward y\nset x = 4\nforward y\ny", ["16.00 ± 0.80"]),
        ("set x = 3\ny", ["note: y still has its old value: x has changed since", "4 ± nan"]),
        ("set x = 3\n[y]", ["[4 ± nan]"]),
        ("no_grad: x += 1\nx", ["3.00 ± 0.10"]),
        ("no_grad: z = 2*x\nz", ["note: z has no uncertainty: it was computed from x without its graph", "4"]),
        ("var z = x\nz - x", ["0 ± 0"]),
        ("var z = 2*x\nz\nz - x", ["4.00 ± 0.20", "2.00 ± 0.10"]),
        ("z = tensor(x, requires_grad=True)\nz - x", ["0 ± 0"]),
        ("import copy\nz = copy.deepcopy(x)\nz - x", ["note: copy is not needed: x.clone() copies an array, xs.copy() a list", "0 ± 0"]),
        ("backward y create_graph\nx.grad", ["4.00 ± 0.20"]),
        ("y.detach()\ny.item()\nx.data", ["4", "4", "2"]),
        ("y\n_/2\nans - y/2", ["4.00 ± 0.40", "2.00 ± 0.20", "0 ± 0"]),
        ("x\nset x = 7\nans - 2", ["2.00 ± 0.10", "0 ± nan"]),
    ],
)  # fmt: skip
def test_no_value_loses_its_uncertainty_unnoticed(text, answers):
    assert said(WITH_Y + text) == answers


@pytest.mark.parametrize(
    "text",
    ["abs(z)", "relu(z)", "z*abs(z)", "round(x, 1)", "floor(x)", "x // 1", "clip(x, 0, 1)", "where(x > 5, x, 1)"],
)
def test_an_uncertainty_that_is_0_only_where_a_function_has_no_slope_is_noted(text):
    assert said(f"x = 2 ± 0.1; z = 0 ± 0.1\n{text}")[1:] == [
        "note: the uncertainty is of the first order: the slope is 0 here, as at a kink or on a step"
    ]


@pytest.mark.parametrize(
    "text", ["x - x", "x**2 - x**2", "0*x", "abs(x)", "clip(x, 0, 3)", "floor(5 ± 0)", "[x, 1][1]"]
)
def test_an_uncertainty_that_is_right_is_not_noted(text):
    assert len(said(f"x = 2 ± 0.1\n{text}")) == 1


@pytest.mark.parametrize(
    "text",
    ["y.detach().u", "x.data.u", "no_grad: z = x*2\nz.u", "(2*y.detach()).u", "backward y\nx.grad.u", "tensor(x).u"],
)
def test_an_uncertainty_that_was_left_behind_is_not_0(text):
    with pytest.raises(AgradError) as caught:
        said(WITH_Y + text)
    assert caught.value.message.endswith("has no uncertainty: it was computed from x without its graph")


def test_a_budget_of_what_was_set_since_says_what_to_type():
    with pytest.raises(AgradError) as caught:
        said(f"{WITH_Y}set x = 3\nbudget y")
    assert caught.value.message == "y is stale: x was changed after y was computed from it"
    assert said(f"{WITH_Y}backward y\nbudget y")[0].splitlines()[-2] == "y = 4.00 ± 0.40   u = 0.4"


def test_what_statements_say_of_a_freed_value_has_its_uncertainty():
    lines = said(f"{WITH_Y}backward y\nvars\ninfo y")
    assert lines[0].splitlines()[1].split()[:6] == ["y", "Pow,", "freed", "4.00", "±", "0.40"]
    assert "value    4.00 ± 0.40" in lines[1]


def test_an_undone_correlation_is_gone():
    session = Session()
    assert said("a = 1 ± 0.1; b = 1 ± 0.1\ncorrelate a b 1\na - b\nundo\na - b", session)[-1] == "0.00 ± 0.14"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2 ± -1", "an uncertainty is 0 or positive, not the number -1"),
        ("x = 2; budget x*1", "x*1 does not depend on an uncertain value"),
        ("var x = 2; budget x*1", "x*1 does not depend on an uncertain value"),
        ("x = [1, 2] ± 0.1; budget x", "a budget is of one number, and this is an array"),
        ("x = 2 ± 0.1; budget x order 3", "budget: the order is 1 or 2, not 3"),
        ("x = 2 ± 0.1; budget x samples 3", "budget: from 100 to 100000000 samples, not 3"),
        ("x = 2 ± 0.1; budget x as pdf", "budget has no form pdf"),
        ("x = 2 ± 0.1; budget x coverage 95", "budget: the coverage is between 0 and 1, not 95"),
        ("x = 2 ± 0.1; correlate x x 0.5", "correlate: a correlation of a value with itself is 1"),
        ("x = 2 ± 0.1; y = 2 ± 1; correlate x y 2", "correlate: a correlation is from -1 to 1, not the number 2"),
        ("x = 2 ± 0.1; var y = 2; correlate x y 0.2", "correlate needs two uncertain numbers, and y is none"),
    ],
)
def test_what_is_wrong_says_so(text, message):
    with pytest.raises(AgradError) as caught:
        said(text)
    assert caught.value.message == message


def test_a_sign_without_spaces_stays_that_of_python():
    assert said("2+-0.1") == ["note: 2+-0.1 is 2 + (-0.1), as in Python", "1.9"]
    assert said("2 + -0.1") == ["1.9"]
