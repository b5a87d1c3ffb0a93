"""`study`, `area` and `tangent`, and the marks of plots: what they say of curves whose numbers are known."""

from __future__ import annotations

import math

import pytest
from rows import each
from scipy.integrate import quad
from session_state import plotted

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session


def said(text: str, session: Session | None = None) -> list[str]:
    """What is printed."""
    session = session or Session()
    lines: list[str] = []
    session.run(text, lambda result: lines.append(result.text(session.settings)))
    return [line for line in lines if not line.startswith("note: integral")]


def test_a_study_is_a_table_with_the_picture() -> None:
    table, drawn = said("study x^3 - 3*x for x in -3..3")
    assert table.split("\n")[:4] == [
        "           x  x^3 - 3*x  slope",
        "          -3        -18     24  end",
        "-1.732050808          0      6  zero",
        "          -1          2      0  maximum",
    ]
    assert table.split("\n")[-3:] == [
        "rises in -3..-1, 1..3",
        "falls in -1..1",
        "poles, zeros, extrema, inflections: every one, as roots of polynomials",
    ]
    assert "extrema (-1, 2), (1, -2)" in drawn
    assert "1.7" in said("set precision 2; study x^2 - 3 for x in 0..3")[0]


def test_marks_are_the_zeros_and_the_extrema_of_all_functions() -> None:
    session = Session()
    plot, _ = plotted("plot x^2 - 1, x for x in -2..2 marks", session)
    zeros, extrema = plot.curves[-2:]
    assert (zeros.name, zeros.style, [*zeros.x], [*zeros.y]) == ("zeros -1, 0, 1", "points", [-1, 0, 1], [0, 0, 0])
    assert (extrema.name, [*extrema.x], [*extrema.y]) == ("extrema (0, -1)", [0], [-1])
    assert plotted("plot sin(x) for x in 0..20 marks", session)[0].curves[-1].name == "extrema"  # there are many
    assert len(plotted("plot exp(x) for x in 0..2 marks", session)[0].curves) == 2


AREAS = """
x ; x^2 ; 0, 2
sin(x) ; cos(x) ; -1, 7
x^3 - x ; 0*x ; -1, 2
exp(x) ; 2 + x ; -3, 1
x^3 ; 0*x ; -1, 2
"""


@each("row", [line.split(" ; ") for line in AREAS.strip().split("\n")])
def test_an_area_is_that_of_another_library(row: list[str]) -> None:
    first, second, ends = row
    low, high = map(float, ends.split(","))
    names = vars(math)
    f, g = (eval(f"lambda x: {text}".replace("^", "**"), names) for text in (first, second))
    wanted = quad(lambda x: abs(f(x) - g(x)), low, high, limit=500)[0]
    session = Session()
    told, _ = said(f"area {first}, {second} for x in {low}..{high}", session)
    assert float(session.evaluate("ans")) == pytest.approx(wanted, rel=1e-7)
    for place in told.partition(" = ")[2].split(", "):
        assert abs(f(float(place)) - g(float(place))) < 1e-8
    assert (said(f"area {first} for x in {low}..{high}", session)[0][:10] == "the curve ") or first == "exp(x)"


def test_an_area_has_exact_derivatives_by_what_the_curves_and_the_ends_use() -> None:
    """Between a x and x² from 0 to b > a it is a³/3 - a b²/2 + b³/3."""
    session = Session()
    said("var a = 1.5; var b = 2; area a*x, x^2 for x in 0..b; y = ans", session)
    a, b = 1.5, 2.0
    for asked, wanted in (
        ("y", a**3 / 3 - a * b**2 / 2 + b**3 / 3),
        ("grad(y, a)", a**2 - b**2 / 2),
        ("grad(y, b)", b**2 - a * b),
        ("grad(grad(y, a), a)", 2 * a),
        ("grad(grad(y, a), b)", -b),
    ):
        assert session.evaluate(asked).item() == pytest.approx(wanted, rel=1e-10)


@each(
    "line",
    [
        "area floor(x), 0 for x in 0..3 ; 3 ; 0..1",
        "area max(x, 0) for x in -1..1 ; 0.5 ; -1..0",
        "area sign(x - 0.3) for x in -1..1 ; 2 ; 0.3",
        "area floor(x)*(x - 2.5) for x in 0..4 ; 4.5 ; 0..1, 2.5",
        "area max(x, 0), max(-x, 0) for x in -1..2 ; 2.5 ; 0",
        "area x, x for x in 0..1 ; 0 ; 0..1",
        "area max(2*x - 1, 0) for x in 0..1 ; 0.25 ; 0..0.5",
    ],
)
def test_an_area_of_curves_that_jump_bend_or_are_0(line: str) -> None:
    asked, area, met = map(str.strip, line.split(";"))
    told, value = [one for one in said(asked) if not one.startswith("note")][-2:]
    assert told.endswith(f" at x = {met}")
    assert float(value) == pytest.approx(float(area), abs=1e-12)


TANGENTS = """
x^2 at 2 ; 4*x - 4
f at 0 ; x
f' at 0 ; 1
cos at pi/2 ; -x + 1.570796327
a*x^2 at x = 2 ; 12*x - 12
5*t at 1 ; 5*t
b*3 at 1 ; 3*b
exp(-t) at t = 0 ; -t + 1
7 + 0*x at 3 ; 7
"""


@each("row", [line.split(" ; ") for line in TANGENTS.strip().split("\n")])
def test_a_tangent_is_a_formula_and_the_value_there(row: list[str]) -> None:
    session = Session()
    session.run("f(x) = sin(x); var a = 3; b = 4")
    assert said(f"tangent {row[0]}", session)[0] == f"y = {row[1]}"


def test_the_value_and_the_slope_of_a_tangent() -> None:
    assert said("tangent x^3 at 2")[1] == "touches at x = 2, where the value is 8 and the slope 12"


@each(
    "text, message",
    [
        ("tangent abs(x) at 0", "has no slope at x = 0"),
        ("tangent sqrt(x) at 0", "has no slope at x = 0"),
        ("tangent 1/x at 0", "has no finite value at x = 0"),
        ("tangent p*q at 1", "one of several names"),
        ("tangent 2*3 at 1", "no name"),
        ("tangent nothing at 1", "nothing has no value"),
        ("area x, x^2, x^3 for x in 0..1", "between two curves"),
        ("f(x) = x^2; area f, 1 for x in 0..1", "f is a function: a curve has one number at each point"),
        ("f(x) = x^2; study f for x in 0..1", "f is a function: a curve has one number at each point"),
        ("f(x, y) = x^2*y; f'(2, 3)", "f' is the derivative of a function of one number, and got 2"),
        ("area 1/x for x in -1..1", "the function is inf at 0"),
        ("study x for x in 2..1", "a range must increase"),
        ("study x^2 - 2 for x in -1e200..1e200", "the ends are within 1e+30 of 0"),
        ("study sin(x) for x in 1e16..1e16+100", "too few numbers between the ends"),
        ("plot [1, 2] marks", "marks is for functions over a range"),
    ],
)
def test_what_has_no_answer_says_so(text: str, message: str) -> None:
    with pytest.raises(AgradError) as problem:
        said(text)
    assert message in problem.value.message


def test_the_fix_of_a_tangent_works_when_typed() -> None:
    session = Session()
    with pytest.raises(AgradError) as problem:
        said("p = 2; q = 3; tangent p*q at 1", session)
    assert [said(fix, session)[0] for fix in problem.value.fixes] == ["y = 3*p", "y = 2*q"]


def test_their_words_stay_names() -> None:
    session = Session()
    session.run("study = 3; area = study + 1; tangent = area*2; marks = 1; at = 2")
    assert said("study, area, tangent, marks, at", session) == ["(3, 4, 8, 1, 2)"]
    assert said("tangent x^2 at at", session)[0] == "y = 4*x - 4"
