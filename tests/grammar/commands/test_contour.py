"""`contour`: where its lines are, its levels; and `histogram`: what it counts."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from rows import each
from session_state import assert_same, picture, plotted

from agrad.engine.errors import AgradError
from agrad.engine.values import np
from agrad.grammar.commands.plot.contour import Field, chosen, lines
from agrad.grammar.session.session import Session

SETUP = """\
def bowl(x, y) = x**2 + 3*y**2
def branch(x, y):
    if x > y: return x*y
    return x - y
var w = -1
var b = 1
v = [1, 2, 3]
"""
OVER = "for x in -2..2, y in -1..1"


@pytest.fixture
def session() -> Session:
    made = Session()
    made.record.on = True
    made.run(SETUP)
    return made


def test_on_a_line_the_function_has_the_value_of_its_level(session: Session) -> None:
    plot, _ = plotted(f"contour bowl(x, y) {OVER} levels [0.5, 1, 2.5]", session)
    assert [(curve.name, curve.style) for curve in plot.curves] == [("0.5", "line"), ("1", "dots"), ("2.5", "dashes")]
    for level, curve in zip((0.5, 1, 2.5), plot.curves, strict=True):
        points = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if math.isfinite(x)]
        assert len(points) > 50
        assert all(abs(x**2 + 3 * y**2 - level) < 0.02 for x, y in points)
    assert (plot.axis, plot.label, plot.title) == ("x", "y", "bowl(x, y)")
    assert (plot.across, plot.window) == ((-2, 2), (-1, 1))


def test_a_closed_line_is_one_line_and_ends_where_it_begins(session: Session) -> None:
    curve = plotted(f"contour bowl(x, y) {OVER} levels [1]", session)[0].curves[0]
    assert not any(map(math.isnan, curve.x))
    assert (curve.x[0], curve.y[0]) == (curve.x[-1], curve.y[-1])
    curve = plotted(f"contour x*y {OVER} levels [0.5]", session)[0].curves[0]
    assert sum(map(math.isnan, curve.x)) == 1  # a hyperbola has two branches


@each("rotation", [0.0, 0.3, 1.1])
def test_a_plane_has_straight_lines(rotation: float) -> None:
    a, b = math.cos(rotation), math.sin(rotation)
    x, y = np.linspace(-1, 1, 7), np.linspace(-2, 2, 9)
    field = Field(x, y, a * x[:, None] + b * y[None, :])
    xs, ys = lines(0.1, field)
    assert xs
    assert max(abs(a * x + b * y - 0.1) for x, y in zip(xs, ys, strict=True)) < 1e-12


def test_where_there_is_no_value_there_is_no_line() -> None:
    z = np.array([[0.0, 1, 2], [math.nan, 1, 2], [0, 1, 2]])
    axis = np.array([0.0, 1, 2])
    assert lines(0.5, Field(axis, axis, z)) == ([], [])
    assert all(value > 1 for value in lines(1.5, Field(axis, axis, z))[1])


def test_levels_are_round_numbers_or_ranks() -> None:
    axis = np.linspace(0, 1, 50)
    even = Field(axis, axis, axis[:, None] + axis[None, :])
    assert chosen(even, 7) == pytest.approx([0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75])
    steep = chosen(Field(axis, axis, np.exp(20 * even.z)), 5)
    assert steep == sorted(steep) and steep[-1] / steep[0] > 1e6
    assert chosen(Field(axis, axis, np.ones((50, 50))), 7) == [1.0]


def test_a_function_with_branches_is_computed_point_by_point(session: Session) -> None:
    for x, y in ((-2.0, -1.0), (0.5, 0.25), (2.0, 1.0)):
        session.run(f"assert branch({x}, {y}) ~= {x * y if x > y else x - y}")
    plot, _ = plotted(f"contour branch(x, y) {OVER} levels [-0.4]", session)
    points = [(x, y) for x, y in zip(plot.curves[0].x, plot.curves[0].y, strict=True) if not math.isnan(x)]
    fine = [(x, y) for x, y in points if abs(x - y) > 0.1]
    assert fine and all(abs((x * y if x > y else x - y) + 0.4) < 0.02 for x, y in fine)


def test_nothing_changes(session: Session) -> None:
    session.run("loss = bowl(w, b); backward loss retain; manual_seed(3); q = rand()")
    session.steps.depth = 10
    before, names, steps = picture(session), dict(session.names), len(session.steps)
    plotted(f"contour bowl(x, y)*rand() + loss {OVER}", session)
    plotted("histogram v", session)
    assert_same(before, picture(session))
    assert session.names == names and len(session.steps) == steps


def bars(text: str, session: Session) -> list[list[float]]:
    plot, _ = plotted(text, session)
    return [list(curve.y[1::4]) for curve in plot.curves]


def test_a_histogram_counts(session: Session) -> None:
    assert bars("histogram [1, 2, 2, 3, 3, 3] bins 3", session) == [[1, 2, 3]]
    assert bars("histogram [0, 1, 2, 5], [[0, 0], [9, 4]] bins [0, 1, 5]", session) == [[1, 3], [2, 1]]
    plot, notes = plotted("histogram [0, 1, nan, inf, 7] bins [0, 5]", session)
    assert notes == ["3 entries are not counted: not finite, or outside of all intervals"]
    assert (plot.label, plot.window, [*plot.curves[0].x]) == ("count", (0, 2), [0, 0, 5, 5])
    assert sum(bars("histogram randn(1000)", session)[0]) == 1000


def test_two_variables_have_two_names(session: Session) -> None:
    with pytest.raises(AgradError, match="`x` is given twice"):
        plotted("contour bowl(x, x) for x in -2..2, x in 0..1", session)


@each("text", ["bowl(x, y)", "x*y", "sin(3*x)*cos(4*y)", "x + y", "exp(-x^2 - y^2)", "branch(x, y)"])
def test_the_values_of_lines_are_inside_the_frame_and_apart_from_each_other(text: str, session: Session) -> None:
    plot, _ = plotted(f"contour {text} {OVER}", session)
    places = list(plot.inscriptions())
    assert len(places) == len(plot.curves) > 3
    shares = [
        ((curve.x[at] + 2) / 4, (curve.y[at] + 1) / 2)
        for curve, at in zip(plot.curves, places, strict=True)
        if at is not None
    ]
    assert len(shares) == len(plot.curves)
    assert all(0 < share < 1 for place in shares for share in place)
    assert all(math.dist(*pair) > 0.05 for pair in combinations(shares, 2))
