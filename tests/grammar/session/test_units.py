"""Units at a prompt: what is shown, what is refused, and that a statement which is refused has changed nothing."""

import json
from pathlib import Path

import pytest
from rows import each

from agrad.engine.core.graph import Units
from agrad.engine.errors import AgradError, Hint
from agrad.grammar.session.saving import script
from agrad.grammar.session.session import Session

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def no_unit_yet(monkeypatch):
    monkeypatch.setattr(Units, "exist", False)


def lines(name):
    text = HERE.joinpath(name).read_text("utf-8")
    return [tuple(line.split(" | ")) for line in text.splitlines() if line[:1] != "#"]


def run(text, session=None):
    """All that is shown; each part is a statement of its own, as lines at a prompt are."""
    session, shown = session or Session(), []
    for part in text.split("; "):
        session.run(part, lambda result: shown.append(result.text(session.settings)))
    return [text for text in shown if not text.startswith("note:")]


@each("text, expected", lines("units.txt"))
def test_values_are_shown_in_their_units(text, expected, monkeypatch):
    monkeypatch.setattr(Units, "exist", False)  # as where the row is the first with a unit
    assert run(text)[-1] == expected


@each("text, message, place", lines("unit_errors.txt"))
def test_errors_are_at_the_operation(text, message, place):
    with pytest.raises(AgradError) as problem:
        run(text)
    assert (problem.value.kind, problem.value.message) == ("unit", message)
    assert problem.value.labels[0].origin.text == place


@each("text, message, place", lines("unit_errors.txt"))
def test_a_fix_that_can_be_typed_mends_what_the_error_says(text, message, place):
    *before, last = text.split("; ")
    session = Session()
    for part in before:
        run(part, session)
    with pytest.raises(AgradError) as problem:
        run(last, session)
    for fix in problem.value.fixes:
        if not isinstance(fix, Hint):
            run(fix.partition("   ")[0], session)


@each("text, fixes", [
    ("x = 3 km; sin(x)", ["sin(x/(1 km))"]),
    ("y = 2*sin(3 km) + 1", ["y = 2*sin((3 km)/(1 km)) + 1"]),
    ("2 °C + 3 °C", ["2 °C + 3 K"]),
    ("y = 3 ton", ["y = 3 tonne", "y = 3 short_ton", "y = 3 long_ton"]),
    ("1 + 2 N", ["1 N + 2 N"]),
])  # fmt: skip
def test_a_fix_keeps_what_was_typed(text, fixes):
    with pytest.raises(AgradError) as problem:
        run(text)
    assert problem.value.fixes == fixes


@each("text", ["w = 5 ± 0.1 m uniform", "w = 5 ± 0.1 m t(8)", "def f(a):\n    return a + (2 ± 0.1 mm trapezoid(0.5))"])
def test_a_distribution_behind_a_unit_is_saved(text):
    session = Session()
    session.record.on = True
    session.run(text)
    assert text in script(session.record.entries, ".")[0]


def test_there_are_60_errors():
    assert len(lines("unit_errors.txt")) >= 60


def test_both_sides_are_named_with_their_units():
    with pytest.raises(AgradError) as problem:
        run("x0 = 1 m; v = 2 m/s; t = 2 s; x0 + v*t + v")
    assert [label.text for label in problem.value.labels] == ["here", "x0 + v*t is in m", "v is in m/s"]


@each("text", ["if v > 1: print v", "while v > 1: v = v - 1 m/s", "v if v > 1 else v", "assert v > 1"])
def test_conditions_are_checked(text):
    session = Session()
    run("v = 2 m/s", session)
    with pytest.raises(AgradError, match="a speed and a number cannot be compared"):
        session.run(text)


def test_a_statement_that_is_refused_changes_nothing():
    session = Session()
    run("x = 3 m", session)
    with pytest.raises(AgradError):
        session.run("x = x + 1 s")
    assert run("x", session) == ["3 m"]


def test_a_loop_adds_up_in_the_unit_that_it_begins_with():
    session = Session()
    session.run("v = 2 m/s\nx = 0\nfor i in range(1000): x = x + v*(1 s)\n")
    assert run("x", session) == ["2000 m"]


def test_without_recording_no_unit_is_guessed():
    session = Session()
    run("v = 2 m/s", session)
    with pytest.raises(AgradError, match="without recording, so that its unit is not known"):
        session.run("no_grad: w = 2*v")


def test_a_name_that_is_a_unit_and_has_a_value_is_noted():
    session, shown = Session(), []
    session.run("h = 2\n3 h\n", lambda result: shown.append(result.text(session.settings)))
    assert shown == ["note: h has a value, and is the name of a unit: `3 h` is read as a product", "6"]


def test_a_budget_has_the_unit_of_each_number():
    (text,) = run("L = 2.00(1) m; T = 2.84(2) s; g = 4*pi^2*L/T^2; budget g")
    rows = [line.split("  ") for line in text.splitlines()]
    assert [cell.strip() for cell in rows[1] if cell][2:] == ["2 m", "0.01 m", "4.895 1/s²", "0.04895 m/s²", "11.2 %"]
    assert "g = 9.79 ± 0.15 m/s²   u = 0.146 m/s²" in text
    (text,) = run("v = 10 ± 1 m/s; y = 3*v^2; budget y order 2 as json")
    found = json.loads(text)["budget"]
    (source,) = found["sources"]
    assert (found["unit"], source["unit"], source["sensitivity_unit"]) == ("m²/s²", "m/s", "m/s")
    text, _ = run("v = 10 ± 1 m/s; y = 3*v^2; budget y order 2 samples 10000")
    assert "second order: bias 3 m²/s², u = 4.24 m²/s² more" in text
    assert "within 0.5 m²/s²" in text
    shown = []
    Session().run("v = 10 ± 1 m/s; budget v*v samples 10000", shown.append)
    assert shown[-1].axis == "v*v (m²/s²)"


def test_a_graph_has_the_units_of_its_values():
    (text,) = run("var x = 3 km; y = x^2; graph y")
    assert "= 3 km" in text
    assert "= 9 km²" in text


def test_a_unit_elsewhere_leaves_a_loop_compiled():
    session, shown = Session(), []
    text = "d = 3 km\ntime:\n    for i in range(10000): s = i*i\n"
    session.run(text, lambda result: shown.append(result.text(session.settings)))
    assert "compiled loops" in shown[-1]


LOOPS = [
    "s = 0; for i in range(300): s = s + (2 m)*i; s",
    "def f(i) = (2 m)*i; s = 0 m; for i in range(300): s = s + f(i); s",
    "d = 3 km; s = 0; for i in range(300): s = s + d*i; s",
    "var w = 2; d = 3 km; for i in range(300): w.data = w + 0.001*d/(1 m); w",
    "q = [1, 2] m; s = 0; for i in range(300): s = s + q[0]; s",
    "d = 3 km; s = 0; for i in range(300): s = (d to m)*i; s",
    "d = 3 km; n = 0; for i in range(300): n = n + (d*i > 20 km); n",
    "p = [0, 0, 0] m; for i in range(300): p[0] = p[0] + 1 m; p",
]


@each("text", LOOPS)
def test_a_loop_gives_the_same_as_one_that_is_not_compiled(text, monkeypatch):
    found = run(text)
    monkeypatch.setattr("agrad.grammar.loops.hot_loops.WORTH", 10**9)
    assert run(text) == found != []


@each("number, asked, text, expected", lines("demands.txt"))
def test_a_demand_is_met_or_the_page_says_why_not(number, asked, text, expected):
    if text == "docs":
        page = " ".join(HERE.parents[2].joinpath("docs/units.md").read_text("utf-8").split())
        assert expected in page
    elif expected.startswith("error: "):
        with pytest.raises(AgradError) as problem:
            run(text)
        assert problem.value.message == expected.removeprefix("error: ")
        assert problem.value.labels
        assert problem.value.fixes
    else:
        assert run(text)[-1] == expected


def test_every_demand_has_a_row():
    assert [int(number) for number, *_ in lines("demands.txt")] == [*range(1, 26)]
