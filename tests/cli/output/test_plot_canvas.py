"""Pictures of curves in the terminal: what is drawn where, in which signs, and on how much room."""

import json
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import divided, each

from agrad.cli.output.plot_canvas import LogScale, draw
from agrad.grammar.results import Curve, Plot
from agrad.grammar.session.session import Session

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def plot(text):
    results = []
    Session().run(text, results.append)
    return results[-1]


def picture(text, width=40, height=10, **how):
    return draw(plot(text), width, height, **how).split("\n")


def test_a_jump_is_no_line():
    for column in zip(*picture("plot floor(x), 0 for x in 0..1.9", 60, 20)[1:15], strict=False):
        assert sum(sign > "⠀" for sign in column) <= 1


def test_colour_is_only_where_it_is_asked_for_and_changes_nothing_else():
    text = "plot sin(x) for x in 0..7"
    bare, coloured = "\n".join(picture(text)), "\n".join(picture(text, colour=True))
    assert "\x1b" not in bare
    assert {"\x1b[36m", "\x1b[31m", "\x1b[0m"} == set(ESCAPE.findall(coloured))
    assert ESCAPE.sub("", coloured) == bare


@each("height", [6, 8, 10, 13])
@each("ends", [(19.1, 82), (0.3, 0.9), (-70, 130), (3, 4)])
def test_there_are_two_ticks_at_least(ends, height):
    rows = draw(Plot((Curve("y", (0, 1), ends),)), 40, height).split("\n")
    assert sum("┤" in row for row in rows) >= 2


@each(
    "ends, ticks",
    [
        ((23, 1012), [100, 1000]),
        ((15, 980), [20, 500]),
        ((3, 9), [4, 6, 8]),
        ((0.5, 2e6), [1, 1e5]),
        ((1, 1000), [1, 100]),
    ],
)
def test_a_short_logarithmic_axis_has_two_ticks_at_least(ends, ticks):
    assert LogScale(ends, 2).ticks == ticks


@each(
    "values",
    divided("[2]; [2, 2]; [1e300, -1e300]; [nan, nan]; [5e-324, 0]; [1e17, 1e17 + 16]; [1.3e308]; [-1.7e308, 1.7e308]"),
)
def test_any_values_can_be_drawn(values):
    assert len(picture(f"plot {values}")) == 10


ENDS = [0, 5e-324, 1e-320, 2.2e-308, 1e-160, 1, 1e17, 1e160, 1.3e308, 1.79e308, math.inf, math.nan]


@pytest.mark.long
@given(st.data(), st.integers(12, 100), st.integers(4, 40), st.booleans())
@settings(max_examples=300, deadline=None)
def test_the_ends_of_the_numbers_can_be_drawn(data, width, height, plain):
    ends = st.sampled_from([*ENDS, *(-end for end in ENDS)])
    points = data.draw(st.lists(st.tuples(ends, ends), min_size=1, max_size=6))
    window = data.draw(st.none() | st.tuples(ends, ends).filter(lambda pair: -math.inf < pair[0] < pair[1] < math.inf))
    curve = Curve(
        "f(x)", [x for x, _ in points], [y for _, y in points], data.draw(st.sampled_from(["line", "points"]))
    )
    assert draw(Plot((curve,), "x", window), width, height, plain)


number = st.floats(allow_nan=True, allow_infinity=True)


@pytest.mark.long
@given(
    st.lists(st.tuples(number, number), max_size=30),
    st.sampled_from(["line", "dots", "dashes", "points"]),
    st.integers(20, 200),
    st.integers(8, 60),
    st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_a_picture_keeps_to_its_room(points, style, width, height, plain):
    curve = Curve("f(x)", [x for x, _ in points], [y for _, y in points], style)
    lines = draw(Plot((curve,), "x"), width, height, plain).split("\n")
    assert len(lines) <= height
    margin = max((len(line.split("┤")[0].split("+")[0]) for line in lines), default=0)
    assert max(map(len, lines)) <= max(width, margin + 16)
    assert not plain or "".join(lines).isascii()


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60))
@settings(max_examples=100, deadline=None)
def test_every_finite_point_is_seen(values):
    lines = draw(Plot((Curve("v", list(map(float, range(len(values)))), values, "points"),), "index"), 100, 30)
    assert lines.rpartition("\n")[0].count("•") >= (1 if len(set(values)) == 1 else 2)  # the last line is the legend


def test_many_points_cost_little_and_keep_their_extremes():
    values = [math.sin(x) for x in range(100_000)]
    values[54_321] = 9.0
    top = draw(Plot((Curve("v", range(100_000), values),), "index"), 80, 20).split("\n")[0]
    assert top.strip("9┤ ")


def test_a_plot_below_has_the_same_columns():
    below = Plot((Curve("r", [0.0, 1.0, 2.0], [-0.001, 0.002, 0.001], "points"),), "x")
    lines = draw(Plot((Curve("y", [0.0, 1.0, 2.0], [1.0, 2.0, 3.0]),), "x", below=below), 60, 24).split("\n")
    feet = [line for line in lines if "└" in line]
    assert len(lines) == 24
    assert len(feet) == 2
    assert feet[0] == feet[1]


@pytest.mark.long
def test_a_script_prints_the_drawing(agrad):
    script = "plot x**2 for x in -2..2"
    out, err, code = agrad("run", "-", given=script)
    assert (err, code) == ("", 0)
    assert out == draw(plot(script), 72, 20) + "\n"
    assert agrad("run", "--ascii", "-", given=script)[0] == draw(plot(script), 72, 20, plain=True) + "\n"
    assert agrad("run", "--color", "always", "-", given=script)[0] == draw(plot(script), 72, 20, colour=True) + "\n"


def test_in_json_a_plot_is_its_points(inside):
    out, _, code = inside("run", "--json", "-", given="plot 1/x for x in -1..1\nplot [1, nan]")
    first, second = map(json.loads, out.splitlines())
    assert code == 0
    assert second["plot"] == [{"name": "[1, nan]", "style": "line", "x": [0, 1], "y": [1, None]}]
    assert (second["axis"], second["nonfinite"]) == ("index", {"plot[0].y[1]": "nan"})
    assert [curve["name"] for curve in first["plot"]] == ["1/x", "d/dx 1/x"]
    pairs = zip(first["plot"][0]["x"], first["plot"][0]["y"], strict=True)
    assert all(y is None or y == 1 / x for x, y in pairs)


def test_in_json_a_study_is_its_places(inside):
    out, _, code = inside("run", "--json", "-", given="study 1/x for x in -1..2")
    study, drawn = map(json.loads, out.splitlines())
    (_, pole, _) = study["study"]["places"]
    assert code == 0
    assert (pole["x"], pole["kinds"], pole["value"], pole["limits"]) == (0, ["pole"], None, [None, None])
    assert study["nonfinite"]["study.places[1].limits[0]"] == "-inf"
    assert (study["study"]["rises"], study["study"]["falls"]) == ([], [[-1, 0], [0, 2]])
    assert drawn["plot"][0]["name"] == "1/x"
