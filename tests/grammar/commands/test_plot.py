"""`plot`: how it is read, what its curves are, what it leaves alone, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from answers import answers
from rows import each
from sessions import error
from thinned import thinned

from agrad.engine.core.context import current
from agrad.grammar.commands.plot.files import _ticks
from agrad.grammar.diagnostics import Source
from agrad.grammar.results import Curve, Noted, Plot, Printed, Result
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import ast as s
from agrad.grammar.syntax.parser import parse

SETUP = Path(__file__).with_name("plots.ag").read_text()


@pytest.fixture
def session() -> Session:
    made = Session()
    made.run(SETUP)
    return made


def plotted(text: str, session: Session) -> Plot:
    results: list[Result] = []
    session.run(text, results.append)
    *_, plot = results  # behind a note, where there is nothing to draw
    assert isinstance(plot, Plot)
    return plot


def gaps(curve: Curve) -> list[float]:
    return [x for x, y in zip(curve.x, curve.y, strict=True) if not math.isfinite(y)]


# How it is read


READ = answers(Path(__file__).with_name("plot_read.txt"))


@each("text", READ)
def test_how_it_is_read(text: str) -> None:
    (command,) = parse(Source("session", text))
    assert isinstance(command, s.Command)
    told = [
        f"{operand.value.span.text} over {operand.names[0].id}"
        if isinstance(operand, s.Unknowns)
        else operand.span.text
        for operand in command.operands
    ]
    told += [f"{name}: {value and value.span.text}" for name, value in command.options]
    assert "\n".join(told) == READ[text]


# The curves of functions


def test_a_function_is_drawn_with_its_derivative(session: Session) -> None:
    plot = plotted("plot sin(t)*t for t in 0..3", session)
    values, slopes = plot.curves
    assert (values.name, slopes.name, plot.axis) == ("sin(t)*t", "d/dt sin(t)*t", "t")
    assert (values.style, slopes.style) == ("line", "dots")
    assert (values.x[0], values.x[-1]) == (0, 3)
    assert list(values.x) == sorted(values.x)
    assert list(values.y) == [math.sin(x) * x for x in values.x]
    assert slopes.y == pytest.approx([math.cos(x) * x + math.sin(x) for x in slopes.x], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    "text",
    ["sin(t)", "t**3", "abs(t)", "exp(5*t)", "cbrt(t)", "sigmoid(500*t)", "max([t, 0])", "7", "1e300*t", "sin(300*t)"],
)
def test_what_is_continuous_has_no_gap(session: Session, text: str) -> None:
    plot = plotted(f"plot {text} for t in -2..3", session)
    assert gaps(plot.curves[0]) == []
    assert plot.window is not None
    assert plot.window[0] <= min(plot.curves[0].y) <= max(plot.curves[0].y) <= plot.window[1]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("step(t)", [0]),
        ("floor(t)", [-1, 0, 1, 2]),
        ("sign(t - 1)", [1]),
        ("tan(t)", [-math.pi / 2, math.pi / 2]),
        ("1/t", [0]),
        ("1/(t - 0.1234)", [0.1234]),
        ("t if t < 1 else t + 0.5", [1]),
    ],
)
def test_no_line_crosses_a_jump(session: Session, text: str, places: list[float]) -> None:
    curve = plotted(f"plot {text} for t in -1.9..2.9", session).curves[0]
    assert sorted({round(gap, 3) for gap in gaps(curve)}) == pytest.approx(places, abs=1e-3)


def test_a_function_is_followed_where_it_bends(session: Session) -> None:
    curve = plotted("plot 1/(1 + 4000*t**2) for t in -1..1", session).curves[0]
    fine = max(curve.y) / 200
    for (x, y), (x2, y2) in pairwise(zip(curve.x, curve.y, strict=True)):
        middle = (x + x2) / 2
        assert abs((y + y2) / 2 - 1 / (1 + 4000 * middle**2)) < fine


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("1/t", -20, 20),
        ("1/t**2", -40, 80),
        ("1/(t - 0.01234)**2", -40, 80),
        ("tan(t)", -40, 40),
        ("log(t)", -10, 5),
        ("sqrt(t)", 0, 4),
        ("gamma(t)", -40, 40),
        ("tan(300*t)", -2000, 2000),
    ],
)
def test_a_pole_does_not_flatten_the_rest(session: Session, text: str, low: float, high: float) -> None:
    window = plotted(f"plot {text} for t in -2..2", session).window
    assert window is not None
    assert low <= window[0] < window[1] <= high


@pytest.mark.parametrize("text", ["exp(t)", "t**9", "1/(t**2 + 1e-6)", "exp(-1000*t**2)"])
def test_what_is_large_without_a_pole_is_shown_whole(session: Session, text: str) -> None:
    plot = plotted(f"plot {text}, 0 for t in -5..20", session)
    assert plot.window is not None
    assert plot.window[1] == max(plot.curves[0].y)


def test_where_a_function_has_no_value_there_is_a_gap(session: Session) -> None:
    for text in ("half(t)", "sqrt(t)"):
        curve = plotted(f"plot {text} for t in -1..1", session).curves[0]
        assert -1 in gaps(curve)
        assert max(gaps(curve)) == pytest.approx(0, abs=1e-4)
        assert min(x for x, y in zip(curve.x, curve.y, strict=True) if math.isfinite(y)) == pytest.approx(0, abs=1e-4)


def test_many_numbers_at_once_give_the_same_as_one_by_one(session: Session) -> None:
    curve = plotted("plot slow(t) for t in 0..3", session).curves[0]
    for place in range(0, len(curve.x), 97):
        session.run(f"assert slow({curve.x[place]!r}) ~= {curve.y[place]!r} +- 1e-9")
    plot = plotted("plot mixed(t) for t in 1..2", session)  # entries that depend on each other are no such case
    assert set(plot.curves[0].y) == {1.0}


@pytest.mark.parametrize("ends", ["1..1 + 1e-12", "-1e307..1e307", "1e-320..9e-320", "-1e-9..0"])
def test_a_range_may_be_tiny_or_huge(session: Session, ends: str) -> None:
    plot = plotted(f"plot t for t in {ends}", session)
    assert gaps(plot.curves[0]) == []
    assert len(set(plot.curves[0].x)) > 10


def test_all_else_is_as_it_was(session: Session) -> None:
    session.run("manual_seed(7); before = randn(3); manual_seed(7); 42\nw.grad = 5\nt = 1")
    session.steps.depth = 100
    session.run("def noisy(t):\n    k = 1\n    no_grad: w.zero_()\n    print t\n    return t + randn() + w\n")
    names, steps = dict(session.names), len(session.steps)
    plot = plotted("plot noisy(t) for t in 0..1", session)
    assert len(set(plot.curves[0].y)) > 100
    assert session.names == names
    assert len(session.steps) == steps
    session.run("assert all(randn(3) == before); assert w == 2; assert w.grad == 5; assert ans == 42; assert t == 1")
    guard = current().guard
    plotted("plot step(t) for t in -1..1", session)
    assert (current().guard, session.chosen) == (guard, {})


def test_the_name_that_runs_hides_others_and_others_are_seen(session: Session) -> None:
    session.run("def draw(k):\n    plot k*x for x in 0..1\n")
    plot = plotted("draw(3)", session)
    assert plot.curves[0].y[-1] == 3
    assert plotted("plot w*b*x for x in 0..1", session).curves[0].y[-1] == 2


# Vectors


@pytest.mark.parametrize(
    "values", ["zeros((0,))", "[3]", "[nan, nan]", "[1, inf, 2]", "(1, 2, 3)", "range(3)", "zeros((0, 2))"]
)
def test_few_values_or_none_are_no_error(session: Session, values: str) -> None:
    session.run(f"v = {values}")
    assert plotted("plot v", session).curves


# Files


@pytest.mark.long
@pytest.mark.parametrize(("ending", "start"), [(".svg", b"<?xml"), (".PNG", b"\x89PNG"), (".pdf", b"%PDF")])
def test_a_file_takes_the_form_of_its_ending_and_is_the_same_each_time(
    session: Session, tmp_path: Path, ending: str, start: bytes
) -> None:
    results: list[Result] = []
    files = [tmp_path / f"{name}{ending}" for name in "ab"]
    for file in files:
        session.run(f'plot 1/_x*x_ for _x in -1..1 to "{file}"'.replace("x_", "w"), results.append)
    assert results == [Printed(f"wrote {file}") for file in files]
    first, second = (file.read_bytes() for file in files)
    assert first.startswith(start)
    assert first == second
    assert sorted(tmp_path.iterdir()) == files


@pytest.mark.parametrize(
    "drawn",
    thinned(
        [
            "[1.3e308]",
            "[-1.7e308, 1.7e308]",
            "[5e-324, 1e-320]",
            "[1, 1e300, inf], [0, 1e-300, nan]",
            "sqrt(x) for x in 0..1e-320",
            "x for x in -8e307..8e307",
            "x**3 for x in 0..1e103",
            "1/x for x in -1e-300..1e-300",
        ],
        4,
    ),
)
def test_any_values_can_be_drawn_into_a_file(session: Session, tmp_path: Path, drawn: str) -> None:
    pytest.importorskip("matplotlib")
    session.run(f'plot {drawn} to "{tmp_path}/f.svg"')
    assert (tmp_path / "f.svg").read_text().startswith("<?xml")


def test_the_ticks_of_huge_values_say_how_large_these_are() -> None:
    pytest.importorskip("matplotlib")
    label = _ticks(308)
    assert [label(tick) for tick in (0, 0.5, -1.25, 10)] == ["0", "5e307", "-1.25e308", "1e309"]


def test_a_file_that_cannot_be_written_and_files_that_are_switched_off(session: Session, tmp_path: Path) -> None:
    problem = error(f'plot x to "{tmp_path}/no/f.svg"', session)
    assert problem.message.endswith(f"there is no folder {tmp_path}/no")
    session.context.files.on = False
    assert error(f'plot x to "{tmp_path}/f.svg"', session).message.endswith("file access is switched off")
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_message_says_what_to_install(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("agrad.engine.values.LOADING.load", absent)
    problem = error(f'plot x to "{tmp_path}/f.svg"', session)
    assert problem.message == "a plot in a file needs matplotlib, which is not installed"
    assert (problem.kind, problem.fixes) == ("extra", ['pip install "agrad[plot]"'])
    assert plotted("plot x", session)


FIT = """x = [0, 1, 2, 3, 4]; y = [2.1, 1.2, 0.8, 0.4, 0.3]
fit y ~ a*exp(-b*x) over a, b from a=1, b=1
"""


def drawn_fit(text: str) -> tuple[Session, Plot]:
    session = Session()
    found: list[Result] = []
    session.run(text, found.append)
    (plot,) = [one for one in found if isinstance(one, Plot)]
    return session, plot


def test_a_fit_is_drawn_with_its_band_and_residuals() -> None:
    pytest.importorskip("scipy")
    session, plot = drawn_fit(f"{FIT}plot fit")
    data, curve, band = plot.curves
    assert [one.style for one in plot.curves] == ["points", "line", "dashes"]
    assert [one.name for one in plot.curves] == ["y", "a*exp(-b*x)", "95 % confidence"]
    assert (plot.axis, data.x, data.y[0], len(curve.x)) == ("x", [0, 1, 2, 3, 4], 2.1, 200)
    half = 3.182446305 * session.evaluate("a.u")  # Student's t for 3 degrees of freedom; at 0 the curve is a
    assert band.y[0] - curve.y[0] == pytest.approx(half)
    assert curve.y[0] - band.y[201] == pytest.approx(half)
    assert plot.below is not None
    (residuals,) = plot.below.curves
    assert residuals.y[4] == pytest.approx(0.3 - curve.y[-1])


def test_the_curve_of_a_fit_is_as_dense_as_its_axis() -> None:
    pytest.importorskip("scipy")
    data = "x = [0, 0.001, 0.1, 1, 10, 1000]; y = [1, 1, 2, 5, 9, 10]\n"
    fit = "fit y ~ a + b*x/(1 + x) over a, b from a=1, b=1\n"
    session = Session()
    found: list[Result] = []
    session.run(f"{data}{fit}plot fit log", found.append)
    (plot,) = [one for one in found if isinstance(one, Plot)]
    x = np.asarray(plot.curves[1].x)
    assert np.allclose(x[1:] / x[:-1], 1e6 ** (1 / 199))
    assert (x[0], x[-1]) == pytest.approx((0.001, 1000))
    (note,) = [one.note.message for one in found if isinstance(one, Noted)]
    assert note == "1 point is not drawn: a logarithmic axis begins above 0"  # of the data, not of the curves
    _, even = drawn_fit(f"{data}{fit}plot fit")
    assert np.allclose(np.diff(even.curves[1].x), 1000 / 199)


def test_a_fit_is_drawn_as_it_was() -> None:
    pytest.importorskip("scipy")
    _, before = drawn_fit(f"{FIT}plot fit")
    _, after = drawn_fit(f"{FIT}x = 1; y = 2; a = 3; plot fit")
    assert [list(one.y[:200]) for one in before.curves] == [list(one.y[:200]) for one in after.curves]
    _, told = drawn_fit(f"{FIT}fit y ~ c over c from c=1\nundo\nplot fit")
    assert told.curves[1].name == "a*exp(-b*x)"


@each("model", ["a*cumsum(x)", "a + b*x*w", "a + b*mean(x) + x"])
def test_a_model_of_several_vectors_or_of_all_points_is_drawn_at_the_data(model: str) -> None:
    pytest.importorskip("scipy")
    setup = "x = [3, 1, 2, 4.5]; w = [1, 2, 3, 5]; y = [3.1, 3.9, 6, 10]; b = 1\n"
    _, plot = drawn_fit(f"{setup}fit y ~ {model} over a from a=1\nplot fit")
    assert len(plot.curves[1].x) == 4
    assert plot.axis == ("index" if "w" in model else "x")
    assert list(plot.curves[1].x) == sorted(plot.curves[1].x)


COLUMNS = 'M = [[1, 3.1], [2, 4.9], [4, 9.2], [8, 16.9]]; days = M[:, 0]; y = M[:, 1]; t = load_csv("PATH")\n'


@pytest.mark.parametrize(
    ("data", "x"),
    [
        ("y", "days"),
        ("y", "M[:, 0]"),
        ("y[1:]", "days[1:]"),
        ("t.y", "t.days"),
        ("t.y[1:]", "t.days[1:]"),
        ("t[1]", "t[0]"),
        ('t["y"]', 't["days"]'),
    ],
)
def test_a_fit_of_columns_is_drawn_over_them(tmp_path: Path, data: str, x: str) -> None:
    pytest.importorskip("scipy")
    path = tmp_path / "t.csv"
    path.write_text("days,y\n1,3.1\n2,4.9\n4,9.2\n8,16.9\n")
    fit = f"fit {data} ~ a*{x} + b/{x} over a, b from a=1, b=1\n"
    setup = COLUMNS.replace("PATH", str(path))
    _, plot = drawn_fit(f"{setup}{fit}days = 1; M = 1; t = 1\nplot fit")
    curve = plot.curves[1]
    assert (plot.axis, plot.curves[0].name) == (x, data)
    assert list(plot.curves[0].x) == [1, 2, 4, 8][-len(plot.curves[0].x) :]
    assert len(curve.x) == 200  # it is a function of that column
    assert (curve.x[0], curve.x[-1]) == (plot.curves[0].x[0], 8)


def test_a_fit_that_chooses_is_drawn_at_the_data() -> None:
    pytest.importorskip("scipy")
    model = "(a*M[:, 0] if len(y) > 2 else a*y)"
    setup = COLUMNS.replace("PATH", "examples/points.csv")
    _, plot = drawn_fit(f"{setup}fit y ~ {model} over a from a=1\nplot fit")
    assert (plot.axis, len(plot.curves[1].x)) == ("index", 4)  # of two vectors


@each("each", ["x[k] for k in 0..2", "x[k]*0 + w[i] for i, (k, _) in enumerate([(3, 0), (3, 0)])"])
@each("before", ["", "k = 3; i = 3\n"])
def test_what_is_taken_for_each_index_is_no_axis(each: str, before: str) -> None:
    pytest.importorskip("scipy")
    setup = f"{before}x = [1, 2, 3, 4]; w = [1, 2]; y = [2.1, 3.9, 6.2, 8.1]\n"
    _, plot = drawn_fit(f"{setup}fit y ~ a*x*sum({each}) over a from a=1\nx = 1; w = 1\nplot fit")
    assert (plot.axis, list(plot.curves[1].x)) == ("x", [1, 2, 3, 4])  # the sum is of the whole vector
    assert plot.below is not None
    assert max(map(abs, plot.below.curves[0].y)) < 0.2


def test_a_fit_is_written_to_a_file(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    pytest.importorskip("matplotlib")
    path = tmp_path / "fit.svg"
    session = Session()
    session.run(f'{FIT}plot fit to "{path}"')
    assert path.read_text().count('<g id="axes_') == 2


@each(
    "y, sigma, u",
    [("y", "", ()), ("y", "sigma 0.1", [0.1] * 5), ("y", "sigma x + 1", [1, 2, 3, 4, 5]), ("(y ± 0.2)", "", [0.2] * 5)],
)
def test_a_fit_is_drawn_with_the_uncertainties_it_was_made_with(y: str, sigma: str, u: Sequence[float]) -> None:
    pytest.importorskip("scipy")
    setup = "x = [0, 1, 2, 3, 4]; y = [2.1, 1.2, 0.8, 0.4, 0.3]"
    _, plot = drawn_fit(f"{setup}; fit {y} ~ a*exp(-b*x) over a, b {sigma} from a=1, b=1\nplot fit")
    assert plot.below is not None
    assert plot.curves[0].u == plot.below.curves[0].u == u
