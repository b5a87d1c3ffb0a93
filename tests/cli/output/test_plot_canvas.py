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


def test_a_line_goes_from_corner_to_corner():
    assert picture("plot [0, 1, 2, 3]") == [
        "3 ┤                          ⢀⣀⠤⠒⠉",
        "  │                      ⢀⡤⠔⠊⠁",
        "2 ┤                  ⣀⠤⠒⠊⠁",
        "  │             ⣀⡠⠔⠊⠉",
        "1 ┤        ⢀⡠⠤⠒⠉",
        "  │    ⢀⡠⠔⠚⠁",
        "0 ┤⣀⠤⠒⠉⠁",
        "  └┬─────────┬─────────┬─────────┬ index",
        "   0         1         2         3",
        "  ⠒⠒⠒ [0, 1, 2, 3]",
    ]


def test_derivatives_are_dotted_and_named():
    lines = picture("plot x**2 for x in -1..1")
    assert lines[-1] == "  ⠒⠒⠒ x**2   ⠂⠐⠂ d/dx x**2"
    assert picture("plot x**2 for x in -1..1", plain=True)[-1] == "  *** x**2   ... d/dx x**2"


def test_points_are_marks_with_the_line_over_them():
    lines = picture("x = [0, 1, 2]\ny = [0, 2, 1]\nplot x, y, x")
    assert lines[-1] == "  ⠶ ⠶ y   ⠒⠒⠒ x"
    assert picture("x = [0, 1, 2]\ny = [0, 2, 1]\nplot x, y", plain=True)[0].count("*") == 1


def test_error_bars_stand_on_their_points():
    rows = picture("plot [0, 1, 2], [2, 2, 2] ± [2, 0, 1]", 24, 12, plain=True)
    marks = [[place for place, sign in enumerate(row) if sign == "*"] for row in rows[:-3]]
    left, right = min(map(min, filter(None, marks))), max(map(max, filter(None, marks)))
    heights = {place: sum(place in row for row in marks) for place in (left, right)}
    assert heights[left] == len(rows) - 3  # from the lower end of the picture to the upper
    assert 3 <= heights[right] <= heights[left] / 2 + 1


def test_an_error_bar_beyond_0_ends_at_the_edge_of_a_logarithmic_axis():
    plain = picture("plot [1, 2], [0.1, 10] ± [0.2, 1] logy", 24, 12, plain=True)
    assert sum("*" in row for row in plain[:-3]) > 3


def test_a_jump_is_no_line():
    for column in zip(*picture("plot floor(x), 0 for x in 0..1.9", 60, 20)[1:15], strict=False):
        assert sum(sign > "⠀" for sign in column) <= 1


def test_colour_is_only_where_it_is_asked_for_and_changes_nothing_else():
    text = "plot sin(x) for x in 0..7"
    bare, coloured = "\n".join(picture(text)), "\n".join(picture(text, colour=True))
    assert "\x1b" not in bare
    assert {"\x1b[36m", "\x1b[31m", "\x1b[0m"} == set(ESCAPE.findall(coloured))
    assert ESCAPE.sub("", coloured) == bare


@each(
    "ends, labels",
    [
        ("-2..2", "-2 -1.5 -1 -0.5 0 0.5 1 1.5 2"),
        ("0..1", "0 0.2 0.4 0.6 0.8 1"),
        ("0..100", "0 20 40 60 80 100"),
        ("-pi..pi", "-3 -2 -1 0 1 2 3"),
        ("-1e-9..1e-9", "-1e-9 -5e-10 0 5e-10 1e-9"),
        ("1000000..1000004", "1000000 1000001 1000002 1000003 1000004"),
        ("1..1 + 1e-12", "1 1.0000000000002 1.0000000000006"),  # the others have no room
    ],
)
def test_ticks_are_at_round_numbers_with_the_digits_that_tell_them_apart(ends, labels):
    assert picture(f"plot x for x in {ends}", 76)[-2].split() == labels.split()


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


def test_an_index_has_whole_ticks_only():
    assert picture("plot [1, 5]", 70)[-2].split() == ["0", "1"]


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


def test_a_tiny_range_is_drawn_as_any_other():
    lines = picture("plot [0, 1e-310, 2e-310, 3e-310]")
    assert lines[0].startswith("3e-310 ┤") and lines[6].startswith("     0 ┤")
    assert all(max(line) > "⠀" for line in lines[:7])


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
    assert sum(sign >= "⠁" and sign <= "⣿" for sign in lines) >= (1 if len(set(values)) == 1 else 2)


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


def test_a_logarithmic_axis_has_ticks_at_powers_of_ten_and_a_title_above():
    assert picture("plot 1/t for t in 1e-2..1e2 log logy title 'Down' labels 'seconds and more', 'rate'", 50, 12) == [
        "                       Down",
        " rate",
        " 100 ┤⠉⠓⠒⠦⠤⣀⣀",
        "     │      ⠈⠉⠙⠒⠲⠤⢤⣀⡀",
        "     │              ⠉⠉⠓⠒⠦⠤⣄⣀",
        "   1 ┤                      ⠉⠙⠒⠲⠤⢤⣀⣀",
        "     │                             ⠈⠉⠓⠒⠦⠤⣄⣀⡀",
        "0.01 ┤                                     ⠉⠉⠒⠲⠤⢤⣀",
        "     └┬──────────┬──────────┬─────────┬──────────┬",
        "    0.01        0.1         1        10        100",
        "                    seconds and more",
        "  ⠒⠒⠒ 1/t",
    ]


def test_where_a_curve_goes_on_outside_is_marked():
    lines = picture("plot 1/t for t in -1..1 value", 40, 10)
    assert lines[-1] == "  ⠒⠒⠒ 1/t   ▲ ▼ goes on outside"
    assert (lines[0].count("▲"), lines[6].count("▼")) == (1, 1)
    plain = picture("plot 1/t for t in -1..1 value", 40, 10, plain=True)
    assert plain[-1] == "  *** 1/t   ^ v goes on outside"
    assert (plain[0].count("^"), plain[6].count("v")) == (1, 1)
    nowhere = draw(Plot((Curve("f", [0, 1, 2], [5, 6, 7]),), "x", (0, 1)), 40, 10).split("\n")
    assert nowhere[0].count("▲") == 2
    assert "goes on" not in "\n".join(picture("plot sin(t) for t in 0..9"))


def test_an_axis_at_the_right_has_its_own_ticks():
    lines = picture("plot sin(10*t) for t in 0..1 twin", 50, 12)
    assert [line.partition("├")[2].strip() for line in lines[:9] if "├" in line] == ["10", "0"]
    assert all(line[-1] == "│" or "├" in line for line in lines[:9])


def test_a_point_alone_in_a_line_can_be_seen():
    for text in ("plot [1]", "plot [nan, 1, nan]", "plot [1, nan]"):
        shown = [sign for line in picture(text)[:-1] for sign in line if "\u2801" <= sign <= "\u28ff"]
        assert sum(bin(ord(sign) - 0x2800).count("1") for sign in shown) == 4


def test_a_legend_is_as_wide_as_the_picture_and_no_wider():
    lines = picture("contour x*y for x in -1..1, y in -1..1 levels [-0.5, -0.25, 0.25, 0.5, 0.75]", 40, 14)
    assert lines[-2:] == ["  ⠒⠒⠒ -0.5   ⠂⠐⠂ -0.25   ⠒⠂⠒ 0.25", "  ⠒⠒⠒ 0.5   ⠂⠐⠂ 0.75"]
