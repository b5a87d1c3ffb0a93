"""`plot` with logarithmic axes, titles, one curve of two, or two axes; and what these options refuse."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import pytest
from session_state import plotted

from agrad.grammar.diagnostics import Source
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import ast as s
from agrad.grammar.syntax.parser import parse


@pytest.fixture
def session() -> Session:
    made = Session()
    made.run("x = [1, 10, 100]; y = [0, 2, 4]; log = 3; title = [1, 2]; def f(x) = x**2")
    return made


def test_how_the_options_are_read() -> None:
    (command,) = parse(Source("s", "plot t for t in 1..2 log labels 'a', 'b' logy title 'c' twin to 'd.svg'"))
    assert isinstance(command, s.Command)
    written = [(name, value.span.text if value else "") for name, value in command.options]
    assert written == [
        ("low", "1"),
        ("high", "2"),
        ("log", ""),
        ("labels", "'a', 'b'"),
        ("logy", ""),
        ("title", "'c'"),
        ("twin", ""),
        ("to", "'d.svg'"),
    ]


def test_a_logarithmic_axis_has_as_many_points_in_each_decade(session: Session) -> None:
    plot, _ = plotted("plot 1/(1 + t) for t in 1e-3..1e3 log", session)
    values, slopes = plot.curves
    assert plot.log == (True, False)
    assert (values.x[0], values.x[-1]) == (1e-3, 1e3)
    for decade in range(-3, 3):
        assert sum(10.0**decade <= x < 10.0 ** (decade + 1) for x in values.x) > 50
    assert list(values.y) == [1 / (1 + x) for x in values.x]
    assert slopes.y == pytest.approx([-1 / (1 + x) ** 2 for x in slopes.x], rel=1e-12)


def test_logarithmic_values_are_followed_as_they_are_drawn(session: Session) -> None:
    plot, _ = plotted("plot exp(-t**2) for t in 0..6 logy", session)
    (curve,) = plot.curves
    assert plot.window == pytest.approx((math.exp(-36), 1))
    for (x, y), (x2, y2) in pairwise(zip(curve.x, curve.y, strict=True)):
        middle = (math.log10(y) + math.log10(y2)) / 2
        assert abs(middle + ((x + x2) / 2) ** 2 / math.log(10)) < 0.05
    plot, _ = plotted("plot t**2 for t in 1e-3..1e3 log logy", session)
    assert len(plot.curves[0].x) < 600  # a straight line: rounding is not followed


def test_what_is_not_above_0_leaves_a_gap(session: Session) -> None:
    plot, notes = plotted("plot sin(t) for t in 0..6 logy", session)
    assert plot.window is not None
    assert 0 < plot.window[0] < 0.1 < plot.window[1] == pytest.approx(1, rel=1e-3)
    assert notes == []


@pytest.mark.parametrize(
    ("option", "curves", "right"),
    [
        ("", [("sin(t)", "line", False), ("d/dt sin(t)", "dots", False)], None),
        ("value", [("sin(t)", "line", False)], None),
        ("derivative", [("d/dt sin(t)", "line", False)], None),
        ("twin", [("sin(t)", "line", False), ("d/dt sin(t)", "dots", True)], (math.cos(1), 1)),
        ("logy derivative", [("d/dt sin(t)", "line", False)], None),
    ],
)
def test_the_parts_of_a_function(session: Session, option: str, curves: object, right: object) -> None:
    plot, _ = plotted(f"plot sin(t) for t in 0..1 {option}", session)
    assert [(curve.name, curve.style, curve.right) for curve in plot.curves] == curves
    assert plot.right == (pytest.approx(right) if right else None)


def test_the_derivatives_of_several_functions(session: Session) -> None:
    plot, _ = plotted("plot sin(t), f(t) for t in 0..1 derivative", session)
    assert [curve.name for curve in plot.curves] == ["d/dt sin(t)", "d/dt f(t)"]
    assert plot.window == pytest.approx((0, 2))


@pytest.mark.parametrize(
    "text",
    [
        "plot sin(t)/t for t in 1e-2..1e2 log title 'A' labels 'x', 'y'",
        "plot exp(t) for t in 0..9 logy",
        "plot tan(t) for t in 0..9 twin",
        "plot [1, nan, 2, nan]",
        "contour p*q for p in -1..1, q in -1..1",
        "histogram [1, 2, 2]",
    ],
)
def test_they_are_written_to_files(
    session: Session, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    session.run(f"{text} to 'a.svg'\n{text} to 'b.svg'")
    written = (tmp_path / "a.svg").read_text()
    assert written == (tmp_path / "b.svg").read_text()
    assert "mathdefault" not in written
