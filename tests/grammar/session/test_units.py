"""Units at a prompt: what is shown, what is refused, and that a statement which is refused has changed nothing."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from answers import table
from rows import each
from sessions import said

from agrad.engine import units
from agrad.engine.core.graph import Units
from agrad.engine.errors import AgradError, Hint
from agrad.engine.units.unit import quotient, read
from agrad.grammar.commands.gradients import claimed_value
from agrad.grammar.session.saving import script
from agrad.grammar.session.session import Session

HERE = Path(__file__).parent

pytestmark = pytest.mark.usefixtures("no_unit_yet")


def run(text, session=None):
    """All that is shown; each part is a statement of its own, as lines at a prompt are."""
    session, shown = session or Session(), []
    for part in text.split("; "):
        session.run(part, lambda result: shown.append(result.text(session.settings)))
    return [text for text in shown if not text.startswith("note:")]


@each("text, expected", table(HERE / "units.txt"))
def test_values_are_shown_in_their_units(text, expected, monkeypatch):
    monkeypatch.setattr(Units, "exist", False)  # as where the row is the first with a unit
    assert run(text)[-1] == expected


@each("text, message, place", table(HERE / "unit_errors.txt"))
def test_errors_are_at_the_operation(text, message, place):
    with pytest.raises(AgradError) as problem:
        run(text)
    assert (problem.value.kind, problem.value.message) == ("unit", message)
    assert problem.value.labels[0].origin.text == place


@each("text, message, place", table(HERE / "unit_errors.txt"))
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
    ("x = 5 kg m-3 + 1 kg/m^3", ["x = 5 kg m^-3 + 1 kg/m^3"]),
    ("5 m/s-1", ["5 m/s-1 m/s"]),
    ("5 m-3", ["5 m^-3", "5 m-3 m"]),
    ("5 month to day", ["5 day to day", "5 week to day", "5 year to day"]),
    ("1:30 h", ["1 h 30 min"]),
    ("x = 2:05 min + 3 s", ["x = 2 min 05 s + 3 s"]),
    ("5 MeV/c^2", ["use constants c"]),
    ("3 J/(k*300 K)", ["use constants k"]),
    ("x = 20 °C; x + 1", ["x + 1 K"]),
    ("x = 20 °C; x - 5", ["x - 5 K", "x - 5 °C"]),
    ("t = 5 °F; t + 9", ["t + 9 °R"]),
    ("x = 2 Kg + 1 g", ["x = 2 kg + 1 g"]),
    ("3 hrs to s", ["3 hr to s"]),
    ("1 KWh to J", ["1 kWh to J"]),
    ("5 m3 to L", ["5 m^3 to L"]),
    ("3 Btu to J", ["3 btu_it to J", "3 btu_th to J"]),
    ("10 m to Mile", ["10 m to mile"]),
    ("1 toe to GJ", ["unit toe = …   defines one"]),
    ("x = 3; 2 X", ["did you mean x?"]),
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


@each("text, told", [
    ("root(lambda x: x^2 + 4 km^2, 1 km)", "there is no zero near 1 km: the search ended at 0.000244141 km"),
    ("root(lambda x: x^2 + 4 km^2, 1 km)", "there, the function is 4 km²"),
    ("root(lambda x: x^2 - 4 km^2, 3 km..5 km)", "3 km..5 km is no bracket: f is 5 km² and 21 km² at the ends"),
    ("root(lambda x: sqrt(x - 2 km), 0 km..2 km)", "0 km..2 km is no bracket: f is nan m^(1/2) and 0 m^(1/2) at"),
    ("root(lambda T: (T - 20 °C)^2, 10 °C)", "has a double zero at 20 °C"),
    ("solve x^2*sin(x/(1 km)) = -9 km^2 for x in 1 km..3 km", "a search in 1 km..3 km for changes of sign"),
    ("solve v*w = -3 m, v/w = 1 m for v, w from 1 m, 1", "there is no zero near [1, 1] (m, 1)"),
    ("argmin(lambda x: (x - 1 km)^3/(1 km), 3 km)", "the search ended at 1.00006 km, with the value 2.12043e-7 m²"),
    ("var x = 3 km; minimize x^3 over x", "the search ended at 6.03333e-5 km"),
])  # fmt: skip
def test_solvers_tell_of_places_in_their_units(text, told):
    with pytest.raises(AgradError) as problem:
        run(text)
    assert told in "; ".join([problem.value.message, *problem.value.notes])


@each("text, is_told", [
    ("n = 3000 rpm; P = 5 kW; P/(2*pi*n)", True),
    ("w = 2*pi*(50 rev/s)", True),
    ("n = 3000 rpm; pi*n/30", True),
    ("n = 3000 rpm; P = 5 kW; P/n", False),
    ("f = 50 Hz; 2*pi*f", False),
    ("n = 3000 rpm; 3*n*(2 s)", False),
])  # fmt: skip
def test_a_speed_in_turns_times_2_pi_is_noted(text, is_told):
    shown, session = [], Session()
    for part in text.split("; "):
        session.run(part, lambda result: shown.append(result.text(session.settings)))
    assert sum("of which a turn has 2*pi" in one for one in shown) == is_told


def test_whatever_is_printed_as_a_unit_can_be_typed_behind_a_number():
    every = "km/h", "J", "1/s", "1/(m·s)", "kg·m²", "m^(1/3)", "J/(kg·K)", "°C", "N m", "J/(km/h)", "rad", "min", "in"
    found = {quotient(read(a), read(b), n).text for a, b in product(every, repeat=2) for n in (1, 2)} - {""}
    assert len(found) > 250
    found |= {read(text).text for text in ("N^(1/2)*°C", "m^(1/2) s/h", "N*m/(s/h)", "kg m**2/(s/h)**2")}
    assert {"N^(1/2)·°C", "m^(1/2)·s/h", "N·m/(s/h)"} < found
    assert [text for text in found if run(f"5 {text}") != [f"5 {text}"]] == []
    assert [text for text in found if run(f"x = 5 {text}; [2*x, 3*x] to {text}")[0] != f"[10, 15] {text}"] == []


def test_a_unit_of_thousands_of_brackets_is_refused():
    for text in ("m/(" * 3000 + "s" + ")" * 3000, "m/(" * 3000):
        with pytest.raises(AgradError, match="is not a unit"):
            read(text)


def test_there_are_60_errors():
    assert len(table(HERE / "unit_errors.txt")) >= 60


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


@each("text, noted", [
    ("m = 2; 5 N*m", "`5 N*m` is multiplied by m, which has a value"),
    ("h = 2 s; 3 kW*h", "`3 kW*h` is multiplied by h, which has a value"),
    ("t = 2 s; 20 m/s*t", ""),
    ("m = 2 kg; 5 N·m", ""),
    ("s = 2; 3 J*s^2", "`3 J*s` is multiplied by s, which has a value"),
])  # fmt: skip
def test_a_factor_that_may_be_meant_as_a_unit_is_noted(text, noted):
    session, shown = Session(), []
    for part in text.split("; "):
        session.run(part, lambda result: shown.append(result.text(session.settings)))
    assert [one.removeprefix("note: ").splitlines()[0] for one in shown if "multiplied" in one] == [noted] * bool(noted)


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
    (text,) = run("g = 9.8(1) m/s^2; y = ode(lambda t, y: [y[1], -g], [2 m, 0], [0, 1] s)[1]; budget y, y[0]")
    assert text.splitlines()[0].split()[3:] == ["y[0]", "(m)", "y[1]", "(m/s)", "y[0]", "(m)"]
    (text,) = run("v = 36(1) km/h; y = ode(lambda t, y: [y[1], 0 N/kg], [1 km, v], [0, 1] s)[1]; budget y")
    assert [line.split()[:4] for line in text.splitlines()[1:3]] == [
        ["y[0]", "(km)", "1.01000", "0.00028"],
        ["y[1]", "(km/h)", "36.0", "1.0"],
    ]


@each("claim, told", [
    ("5.555555555555555 kg m/s", ""),
    ("20 kg km/h", ""),
    ("20 kg m/s", "the derivative with respect to v does not match the claim"),
    ("2", "the claim is a number, and the derivative a value in kg·m/s"),
])  # fmt: skip
def test_a_claimed_derivative_has_a_unit(claim, told):
    session, message = Session(), ""
    run("m = 2 kg; var v = 10 km/h", session)
    v = session.names["v"]
    try:
        session.check("0.5*m*v^2", [v], [claimed_value(session, claim, v)], lambda result: None)
    except AgradError as problem:
        message = problem.message
    assert message == told


def test_a_graph_has_the_units_of_its_values():
    (text,) = run("var x = 3 km; y = x^2; graph y")
    assert "= 3 km" in text
    assert "= 9 km²" in text


MOVING = "var v = 10 km/h; E = 0.5*(2 kg)*v^2"


@each("text, expected", [
    (f"{MOVING}; check E", "v      1.543209877 J/(km/h)  1.543209877 J/(km/h)  3.3e-15 J/(km/h)  2.2e-15  ok"),
    ("var T = 20 °C; w = 3 km; check w^2*(T - 5 °C)", "T      9 km²·K/°C  9 km²·K/°C  0 km²·K/°C    0  ok"),
    (f"{MOVING}; explain E", "d(E)/d(v) = 1.543209877 J/(km/h) at v = 10 km/h"),
    (f"{MOVING}; explain E", "  1.543209877 = 0.07716049383 * 20"),
    ("var T = 20 °C; y = (T + 10 °C)/2; explain y", "d(y)/d(T) = 0.5 at T = 20 °C"),
    ("var w = [1, 2] km; y = sum(w*w); explain y", "d(y)/d(w) = [2, 4] km at w = [1, 2] km"),
    (f"{MOVING}; backward E trace", "  v += 1.543209877 J/(km/h), derivative 20 km/h"),
    (f"{MOVING}; backward E trace", "v.grad += 1.543209877 J/(km/h)"),
    ("a = 1 ± 0.1 km; b = 2 ± 0.1 km; correlate a b 0.8; a - b", "-1.000 ± 0.063 km"),
    (f"{MOVING}; watch E as lambda g: 2*g; backward E", "gradient of E = 1   ->   2"),
    (f"{MOVING}; watch v; backward E", "gradient of v = 1.543209877 J/(km/h)"),
    (f"{MOVING}; watch v as lambda g: g/2; backward E", "gradient of v = 1.543209877 J/(km/h)   ->   0.7716049383 J/(km/h)"),
    (f"{MOVING}; watch v as lambda g: g/2; backward E; grad v", "v.grad = 0.7716049383 J/(km/h)"),
    ("var T = 20 °C; y = (T + 10 °C)/2; graph y", "  %3  (T + 10 °C)        Add       ()  = 576.3 K"),
    (f"{MOVING}; backward E retain; graph E", "  %1  v                   leaf      ()  = 10 km/h   requires grad   grad 1.543209877 J/(km/h)"),
])  # fmt: skip
def test_what_commands_tell_of_derivatives_is_in_the_units_typed(text, expected):
    assert expected in "\n".join(run(text)).splitlines()


@each("text, message", [
    (f"{MOVING}; watch v as lambda g: g + 1; backward E", "a value in kg·m/s and a number cannot be added"),
    (f"{MOVING}; watch v as lambda g: g*(1 m); backward E", "v.grad is in J/(km/h), and this is in kg·m²/s"),
    (f"{MOVING}; watch v as lambda g: 1; backward E", "v.grad is in J/(km/h), and this has none"),
    ("x = 3 m; var y = 2 s; check x + y", "a length and a time cannot be added"),
])  # fmt: skip
def test_what_commands_make_of_derivatives_is_checked(text, message):
    with pytest.raises(AgradError) as problem:
        run(text)
    assert problem.value.message == message


def test_where_python_is_read_values_keep_their_units():
    session = Session()
    run("x = [1, 2] km; z = 3 km; var v = 2 km/h", session)
    text = "import math\ny = 2*x\nprint(y)\nprint(z)\nprint(v)\nprint(v**2)\nprint(x[0]/z)\n"
    shown = []
    session.run(text, lambda result: shown.append(result.text(session.settings)))
    assert [text for text in shown if text[:5] != "note:"] == [
        "tensor([2., 4.], unit='km')",
        "tensor(3., unit='km')",
        "tensor(2., unit='km/h', requires_grad=True)",
        "tensor(4.0000, unit='km²/h²', grad_fn=<PowBackward0>)",
        "tensor(0.3333)",
    ]
    with pytest.raises(AgradError):
        run("z = 3 km", session)


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


SOLVED = [
    ("ode(f, [{0} m, 0 m/s], [0, 500, 1000] ms)[:, 0]", "ode(f, [{0}, 0], [0, 0.5, 1])[:, 0]", "f(t, y) = [y[1], -G*sin(y[0]/L)]"),
    ("ode(f, [{0} m, 0], [0, 9] s, until=lambda t, y: y[0])", "ode(f, [{0}, 0], [0, 9], until=lambda t, y: y[0])", "f(t, y) = [y[1], -G - y[1]*abs(y[1])/L]"),
    ("taylor(f, {0} m, 3)[2]", "taylor(f, {0}, 3)[2]", "f(x) = G/(1 + (x/L)^2)"),
    ("argmin(f, {0} m)", "argmin(f, {0})", "f(x) = G*(x - L)^2 + G*L^2*exp(-x/L)"),
    ("scan(f, 0 m/s, [{0}, 2, 3] s)[1]", "scan(f, 0, [{0}, 2, 3])[1]", "f(s, x) = (s + G*x, L*s/G)"),
]  # fmt: skip


@each("measured, plain, definition", SOLVED)
def test_a_solver_gives_the_same_numbers_and_derivatives_as_without_units(measured, plain, definition):
    found = []
    for call, given in ((measured, "var G = 9.81 m/s^2; var L = 2 m"), (plain, "var G = 9.81; var L = 2")):
        session = Session()
        run(f"{given}; def {definition}; y = {call.format(1.5)}; z = sum(y)", session)
        run("backward z; s = G.grad; t = L.grad", session)
        found.append([session.names[name].value for name in ("y", "s", "t")])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


BALL = "ts = [0, 1, 2] s; y = ode(lambda t, y: [y[1], -9.81 m/s^2], [20 m, 0], ts)"


@each("text, names, last", [
    ("plot x^2 for x in 0 m..3 m", "x (m) | x^2 (m²) | d/dx x^2 (m)", (3, 9)),
    ("plot x*(3 m) for x in 0..2 value", "x | x*(3 m) (m)", (2, 6)),
    ("plot x^2/2, (1 km)*x for x in 0..2 km", "x (km) | x^2/2 (km²) | (1 km)*x (km²)", (2, 2)),
    ("plot T - 20 °C for T in 0 °C..100 °C", "T (°C) | T - 20 °C (K) | d/dT T - 20 °C (K/°C)", (100, 80)),
    ("t = [0, 1] min; y = [1, 4] km; z = [1, 300] m; plot t, y, z", "t (min) | y (km) | z (km)", (1, 4)),
    (f"{BALL}; plot ts, y", "ts (s) | y[:, 0] (m) | y[:, 1] (m/s)", (2, 0.38)),
    ("histogram [1, 2, 3, 3] cm bins [0 m, 2 cm, 4 cm]", "[1, 2, 3, 3] cm (cm) | [1, 2, 3, 3] cm", (4, 0)),
    ("contour x*y for x in 0 m..2 m, y in 0..1 s levels [1 m s]", "x (m) | 1", (2, 0.5)),
    ("study x^2 - 3 m*x for x in 0 m..300 cm", "x (m) | x^2 - 3 m*x (m²) | zeros 0, 3 | extrema (1.5, -2.25)", (3, 0)),
])  # fmt: skip
def test_what_is_drawn_is_in_the_units_at_the_axes(text, names, last):
    session, shown = Session(), []
    for part in text.split("; "):
        session.run(part, shown.append)
    plot = shown[-1]
    assert " | ".join([plot.axis, *[curve.name for curve in plot.curves]]) == names
    np.testing.assert_allclose([plot.curves[0].x[-1], plot.curves[0].y[-1]], last, atol=1e-9)


@each("text, expected", [
    ("tangent x^2 at 2 m", "y = 4 m*x - 4 m²|touches at x = 2 m, where the value is 4 m² and the slope 4 m"),
    ("var a = 2 m; area x*a, x^2 for x in 0 m..300 cm; grad(ans, a)", "-0.5 m²"),
    ("area abs(x - 1 m) for x in 0 m..2 m", "the curve meets the axis at x = 1 m|1 m²"),
    ("study x^2 - 3 m*x for x in 0 m..3 m", "x (m)  x^2 - 3 m*x (m²)  slope (m)"),
])  # fmt: skip
def test_what_is_told_of_a_curve_has_its_units(text, expected):
    session, shown = Session(), []
    for part in text.split("; "):
        session.run(part, lambda result: shown.append(result.text(session.settings)) if hasattr(result, "text") else 0)
    assert expected.split("|")[-1] in "|".join(shown)
    assert expected in "|".join(line for text in shown for line in text.splitlines() if line[:4] != "note")


def test_columns_of_a_file_have_the_units_of_their_headers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("m [kg],v (km/h),T (°C),Cycle,w (fast),name (s)\n2,10,20,1,5,a\n3,20,30,2,6,b\n")
    session = Session()
    (text,) = run(f't = load_csv("{path}", units=True); t', session)
    assert text.splitlines()[:2] == [
        "m (kg)  v (km/h)  T (°C)  Cycle  w (fast)  name (s)", "     2        10      20      1         5  a",
    ]  # fmt: skip
    assert run("t.m*t.v; mean(t.T); t.Cycle; t['w (fast)']", session) == [
        "[20, 60] kg·km/h", "25 °C", "[1, 2]", "[5, 6]",
    ]  # fmt: skip
    with pytest.raises(AgradError, match="a mass and a speed cannot be in one array"):
        run("tensor(t[['m', 'v']])", session)
    assert run(f't = load_csv("{path}"); t[1]') == ["[10, 20]"]


@each("text, at, expected", [
    ("var m = 2 kg; var v = 10 km/h; y = 0.5*m*v^2", (2, 10), (100 / 12.96, (100 / 25.92, 20 / 12.96))),
    ("var T = 20 °C; y = (T - 10 °C)*(3 J/K)", (25,), (45, (3,))),
    ("var v = 10 km/h; y = (v to m/s)", (36,), (10, (1 / 3.6,))),
    ("var x = 2; y = x*(3 km)", (5,), (15, (3,))),
])  # fmt: skip
def test_exported_code_computes_with_numbers_of_the_units_of_its_leaves(text, at, expected, tmp_path):
    session, names = Session(), {}
    run(f'{text}; export y to "{tmp_path / "y.py"}"', session)
    code = (tmp_path / "y.py").read_text("utf-8")
    exec(code, names)
    value, slopes = names["y"](*at)
    np.testing.assert_allclose([value, *slopes], [expected[0], *expected[1]], rtol=1e-13)
    assert "; numbers are " in code.splitlines()[0]


@each("text, at, told", [
    ("def f(v=10 km/h) = 0.5*(2 kg)*v^2", ["36 km/h"], "v (km/h), value (J), d/dv (J/(km/h))"),
    ("def f(x, n) = x + 3 m + n*(1 cm)", ["2 m", "5"], "x (m), n, value (m), d/dx, d/dn (m)"),
    ("def f(T) = exp(-(T - 20 °C)/(10 K))", ["300 K"], "T (K), value, d/dT (1/K)"),
    ("def f(T=20 °C) = (3 J/K)*(T - 5 °C)", ["25 °C"], "T (°C), value (J), d/dT (J/°C)"),
    ("def f(v) = v^2 if v > 2 m/s else v*(3 m/s)", ["1 m/s"], "v (m/s), value (m²/s²), d/dv (m/s)"),
    ("def f(v) = v^2 if v > 2 m/s else v*(3 m/s)", ["5 m/s"], "v (m/s), value (m²/s²), d/dv (m/s)"),
])  # fmt: skip
def test_an_exported_function_computes_with_numbers_of_the_units_that_it_infers(text, at, told, tmp_path):
    session, names = Session(), {}
    run(f'{text}; export f to "{tmp_path / "f.py"}"', session)
    code = (tmp_path / "f.py").read_text("utf-8")
    assert f"; numbers are {told}\n" in code
    exec(code, names)
    value, slopes = names["f"](*[float(x.split()[0]) for x in at])
    given = [f"x{place}" for place in range(len(at))]
    run("; ".join([f"var {name} = {x}" for name, x in zip(given, at, strict=True)]), session)
    run(f"y = f({', '.join(given)}); " + "; ".join(f"d{x} = grad(y, {x})" for x in given), session)
    found = [units.shown(session.names[name])[0] for name in ("y", *[f"d{x}" for x in given])]
    np.testing.assert_allclose([value, *slopes], found, rtol=1e-13)


@each("text", ["def f(v) = 0.5*(2 kg)*v^2", "def f(x, y) = x*y + 3 m"])
def test_a_function_is_not_exported_as_long_as_nothing_says_a_unit(text, tmp_path):
    with pytest.raises(AgradError, match="nothing says the unit of ") as problem:
        run(f'{text}; export f to "{tmp_path / "f.py"}"')
    assert problem.value.fixes


def test_a_function_of_numbers_is_exported_as_without_units(tmp_path):
    text, path = 'def f(x, y) = x*y if x > 2 else y; export f to "{0}"', tmp_path / "f.py"
    run(text.format(path))
    code = path.read_text("utf-8")
    run(f"d = 3 km; {text.format(path)}")
    assert path.read_text("utf-8") == code


def test_a_value_with_a_unit_that_depends_on_a_choice_is_not_exported(tmp_path):
    with pytest.raises(AgradError, match="this one holds only where"):
        run(f'var x = 3 m; y = x^2 if x > 2 m else x*(1 m); export y to "{tmp_path / "y.py"}"')


@each("number, asked, text, expected", table(HERE / "demands.txt"))
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
    assert [int(number) for number, *_ in table(HERE / "demands.txt")] == [*range(1, 26)]


def test_no_number_of_a_value_with_a_unit_leaves_python_s_reading():
    session = Session()
    run("x = 3 km; xs = [1, 2] km; var w = 2 kg; y = w*x; import torch, copy; import numpy as np", session)
    for line, expected in [
        ("y.backward(); print(w.grad)", "tensor(3., unit='km')"),
        ("print(torch.autograd.grad(w*x, w)[0], x.detach(), x.data, copy.deepcopy(x))", " ".join(["tensor(3., unit='km')"] * 4)),
        ("print(torch.func.grad(lambda t: t**2)(x), torch.func.hessian(lambda t: t**3)(x))",
         "tensor(6., unit='km') tensor(18., unit='km')"),
        ("print(torch.func.jvp(lambda t: t**2, (x,), (torch.tensor(1.),))[1])", "tensor(6., unit='km')"),
    ]:  # fmt: skip
        shown = []
        session.run(line, lambda result: shown.append(result.text(session.settings)))  # noqa: B023
        assert shown[-1] == expected, line
    for line in (
        "xs.tolist()",
        "xs.numpy()",
        "np.sin(xs)",
        "np.array(xs)",
        "torch.tensor([x, 1])",
        "x.int()",
        "x + 1",
        "torch.histc(xs)",
        "torch.save([x], 'none.pt')",
    ):
        with pytest.raises(AgradError) as problem:
            session.run(f"z = {line}")
        assert problem.value.kind == "unit", line
        assert problem.value.fixes[0].startswith("calculator   reads units, as in "), line
    run("calculator", session)
    assert run("w.grad", session) == ["3 km"]


def test_a_budget_as_csv_has_the_units_of_each_row():
    lines = said("x = 2.0 ± 0.1 km; t = 3.0 ± 0.1 s; y = x/t; budget y as csv")[-1].splitlines()
    head, *rows = [line.split(",") for line in lines]
    units = [(row[0], row[head.index("unit")], row[head.index("sensitivity_unit")]) for row in rows]
    assert units == [("x", "km", "1/s"), ("t", "s", "km/s²"), ("y", "km/s", "")]
    assert "unit" not in said("x = 2.0 ± 0.1; budget 2*x as csv")[-1]


@each("text, is_told", [("60 rpm to Hz", True), ("360 deg/s to kHz", True), ("60 rpm to rev/s", False), ("2*(50 Hz) to rpm", False), ("50 Hz to rpm", True)])  # fmt: skip
def test_hertz_of_angles_are_told_apart_from_turns(text, is_told):
    shown = []
    session = Session()
    session.run(text, lambda result: shown.append(result.text(session.settings)))
    assert any("no turn a second" in one for one in shown) is is_told
