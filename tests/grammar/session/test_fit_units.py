"""Fits of values with units: the same as those of numbers in SI units, with units in all that is said of them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from answers import table
from rows import each
from sessions import error, said

from agrad.cli.output.structured import result_line
from agrad.engine.autodiff.uncertainty import together, uncertain, uncertainty
from agrad.engine.core.graph import Units
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.units.quantity import over_unit, unit_of
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.saving import script
from agrad.grammar.session.session import Session

pytest.importorskip("scipy")

HERE = Path(__file__).parent
DATA = "t = [1, 2, 3] s; y = [1.1, 2, 3.5] m"
LINE = "fit y ~ a*t + b over a, b from a=60 km/h, b=1 m"
MINUTES = "t = [1, 2, 3, 4] min; y = [1.1, 2, 3.5, 3.9] km"

pytestmark = pytest.mark.usefixtures("no_unit_yet")


def in_numbers(session):
    """A session in which values are numbers in SI units, with their uncertainties."""
    found = Session()
    for name, value in session.names.items():
        if isinstance(value, Tensor):
            u = uncertainty(value)
            found.names[name] = tensor(value.value) if u is None else uncertain(value.value, u)
    return found


@each("data, fit, same, units", table(HERE / "fit_units.txt"))
def test_a_fit_is_that_of_numbers_in_si_units(data, fit, same, units, monkeypatch):
    monkeypatch.setattr(Units, "exist", False)
    session = Session()
    said(data, session)
    other = in_numbers(session)
    said(fit, session)
    said(same, other)
    found, expected = session.fit.told.found, other.fit.told.found
    known = session.fit.parameters
    assert [unit.text for unit in map(unit_of, known) if unit] == units.split(", ")
    for one, two in zip(known, other.fit.parameters, strict=True):
        scale = np.max(np.abs(uncertainty(two)))
        np.testing.assert_allclose(one.value, two.value, rtol=1e-8, atol=1e-6 * scale)
        np.testing.assert_allclose(uncertainty(one), uncertainty(two), rtol=1e-6)
    np.testing.assert_allclose(found.correlation, expected.correlation, rtol=1e-6, atol=1e-9)
    sides = [[over_unit(x, unit_of(x)) for x in known], other.fit.parameters]
    one, two = (together(side)[2] for side in sides)
    np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-8)
    if not found.within.is_mixed:
        assert found.r2 == pytest.approx(expected.r2, rel=1e-9)
        factor = float(found.within.measured.factor) if found.within.measured else 1.0
        assert found.rss * factor**2 == pytest.approx(expected.rss, rel=1e-7)
        likely = expected.statistics()["log_likelihood"] + found.statistics()["points"] * np.log(factor)
        assert found.statistics()["log_likelihood"] == pytest.approx(likely, rel=1e-6, nan_ok=True)
    if found.is_weighted:
        assert found.chi2 == pytest.approx(expected.chi2, rel=1e-7)


@each("data, fit", [(data, fit) for data, fit, _, _ in table(HERE / "fit_units.txt") if "tied" not in fit])
def test_a_fit_again_from_where_it_ended_is_the_same(data, fit, monkeypatch):
    monkeypatch.setattr(Units, "exist", False)
    session = Session()
    said(f"{data}; {fit}", session)
    first = [x.value for x in session.fit.parameters]
    said(re.sub(r" from .*?(?= sigma| loss| errors|$)", "", fit), session)
    for one, two in zip(session.fit.parameters, first, strict=True):
        np.testing.assert_allclose(one.value, two, rtol=1e-6)


def test_a_line_through_points_is_the_closed_form():
    session = Session()
    said(f"{DATA}; {LINE}", session)
    t, y = np.array([1.0, 2, 3]), np.array([1.1, 2, 3.5])
    slope = np.sum((t - 2) * y) / 2
    assert said("a to m/s", session) == [f"{slope:.2f} ± 0.17 m/s"]
    assert session.names["a"].value == pytest.approx(slope)
    assert session.names["b"].value == pytest.approx(np.mean(y) - 2 * slope)


@each("text, message, place", table(HERE / "fit_unit_errors.txt"))
def test_a_wrong_dimension_is_refused_where_it_is_with_a_fix_that_works(text, message, place, monkeypatch):
    monkeypatch.setattr(Units, "exist", False)
    session = Session()
    *before, last = f"{DATA}; {text}".split("; ")
    said("; ".join(before), session)
    names = {*session.names}
    problem = error(last, session)
    assert (problem.kind, problem.message) == ("unit", message)
    assert problem.labels[0].origin.text == place
    assert {*session.names} == names
    if message.startswith("fit:"):
        assert len(problem.fixes) == 1
        for _ in range(3):  # each fix mends one place
            assert not isinstance(problem.fixes[0], Hint)
            try:
                said(problem.fixes[0], session)
                break
            except AgradError as other:
                assert other.message != problem.message
                problem = other
        else:
            raise problem


def test_both_sides_of_a_model_that_does_not_fit_are_named():
    problem = error(f"{DATA}; fit y ~ exp(a*t) over a from a=0")
    assert [label.text for label in problem.labels] == ["", "has no unit"]
    assert problem.fixes == [f"{DATA}; fit y/(1 m) ~ exp(a*t) over a from a=0"]


def test_a_missing_start_is_asked_for_in_its_unit():
    session = Session()
    said(MINUTES, session)
    problem = error("fit y ~ a*exp(-t/k) + b over a, k, b", session)
    assert problem.fixes == ["fit y ~ a*exp(-t/k) + b over a, k, b from a=1 km, k=1 min, b=1 km"]


@each(
    "model, over, columns, units",
    [
        ("a*t + b", "a, b", lambda t: [t, 1 + 0 * t], ["m/s", "km"]),
        ("a*t + b*(t - 1 min)^2/(1 s)", "a, b in -9 m/s..9 m/s", lambda t: [t, (t - 60) ** 2], ["m/s", "m/s"]),
        ("a/t + b*sqrt(t)", "a, b", lambda t: [1 / t, t**0.5], ["m·s", "m/s^(1/2)"]),
        ("(1 km)*(a + b)/2 + b*(t/(1 min))*(2 km)", "a, b", lambda t: [500 + 0 * t, 500 + 2000 / 60 * t], []),
        ("w[0]*t + w[1]*(1 min)", "w from w=[0, 0]", lambda t: [t, 60 + 0 * t], ["m/s"]),
    ],
)
def test_a_linear_model_needs_no_start(model, over, columns, units):
    session = Session()
    said(f"{MINUTES}; fit y ~ {model} over {over}", session)
    found = session.fit.parameters
    assert [unit.text for unit in map(unit_of, found) if unit] == units
    t, y = (session.names[name].value for name in "ty")
    expected = np.linalg.lstsq(np.stack(columns(t), axis=1), y, rcond=None)[0]
    np.testing.assert_allclose(np.concatenate([np.atleast_1d(x.value) for x in found]), expected, rtol=1e-9)


@each(
    "fit",
    [
        "z ~ a*exp(b*x) over a, b", "z ~ abs(a)*x over a", "z ~ a*a*x over a", "z ~ relu(a)*x over a",
        "z ~ (a if a > 0 else 2*a)*x over a", "z ~ a*x over a loss huber beyond 1", "z ~ x/a over a",
        "z ~ a*x + b over a tied b = a^2",
    ],
)  # fmt: skip
def test_any_other_model_needs_one(fit):
    assert "no number to start from" in error(f"x = [1, 2, 3, 4]; z = [1, 2, 2, 3]; fit {fit}").message


def test_a_parameter_that_starts_in_degrees_is_a_temperature():
    session, data = Session(), "t = [1, 2, 3] s; T = [20.1, 21.2, 21.9] °C"
    said(f"{data}; fit T ~ a + b*t over a, b in 0 K/s..9 K/s from a=16 °C", session)
    value, u = session.names["a"].value, uncertainty(session.names["a"])
    assert said("a\nb\na to K", session) == ["19.27 ± 0.25 °C", "0.90 ± 0.12 K/s", "292.42 ± 0.25 K"]
    other = Session()
    said(f"{data}; fit T ~ a + b*t over a, b", other)
    assert (other.names["a"].value, uncertainty(other.names["a"])) == pytest.approx((value, u), rel=1e-6)
    assert "a = 19.27 ± 0.25 °C" in "\n".join(said("fit T ~ a + b*t over a, b", session))  # from there
    for model in ("a + b*t + (20 °C)", "2*a + b*t"):
        refused = error(f"{data}; fit T ~ {model} over a, b from a=16 °C, b=1 K/s").message
        assert refused == "a sum of temperatures depends on where their scale begins"


def test_a_loss_is_proposed_with_the_unit_of_the_residuals():
    session = Session()
    said(MINUTES, session)
    problem = error("fit y ~ a*t over a from a=1 m/s loss huber", session)
    assert problem.fixes == ["fit y ~ a*t over a from a=1 m/s loss huber beyond 0.25 km"]
    assert "loss huber beyond 0.25 km, " in "\n".join(said(problem.fixes[0], session))


def test_sets_of_different_dimensions_need_uncertainties():
    fit = "fit y ~ a*t + b, [0.9, 1.1] m/s ~ a over a, b from a=1 m/s, b=1 m"
    for sigma in ("", " sigma 1 m"):
        assert "squares of residuals of different units have no sum" in error(f"{DATA}; {fit}{sigma}").message
    session = Session()
    said(
        f"{DATA}; y = normal(y, 10 cm); z = normal([0.9, 1.1] m/s, 0.1 m/s); {fit.replace('[0.9, 1.1] m/s', 'z')}",
        session,
    )
    assert "R2" not in "".join(said("last fit", session))
    assert "different units" in error("last fit as f", session).message
    told = session.fit.told.fields()
    assert "points" not in told and told["units"] == {"a": "m/s", "b": "m"}


def test_correlated_sets_are_found_whatever_their_units_are():
    data = f"{DATA}; q = 1 ± 0.1; y = y*q; z = [1, 2] nV*q"
    assert "correlated with each other" in error(f"{data}; fit y ~ a*t, z ~ b over a, b from a=1 m/s, b=1 nV").message


def test_measured_values_stay_correlated_with_what_was_fitted():
    session = Session()
    said(
        "t = [1, 2, 3, 4] min; y = [1.1, 2, 3.5, 3.9] km ± 0.1 km; fit y ~ a*t + b over a, b from a=1 m/s, b=0", session
    )
    left, expected = uncertainty(session.evaluate("y - a*t - b")), uncertainty(session.evaluate("y"))
    covariance = 100.0**2 * (
        np.eye(4) - np.array([[0.7, 0.4, 0.1, -0.2], [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [-0.2, 0.1, 0.4, 0.7]])
    )
    np.testing.assert_allclose(left, np.sqrt(np.diag(covariance)), rtol=1e-9)
    np.testing.assert_allclose(expected, 100.0, rtol=1e-9)


# What is said of a fit


def test_all_that_is_shown_has_units():
    session = Session()
    said(f"{MINUTES}; fit y ~ a*t + b over a in 0 m/s..90 km/h, b from a=60 km/h, b=1 m", session)
    lines = said("last fit profile as f", session)
    text = "\n".join(lines)
    for part in (
        "rss               0.207 km²\n",
        "s               0.321714 km\n",
        "a              22.2574 km/h    90 km/h\n",
    ):
        assert part in text
    assert said("f.predicted\nf.residual[0]\nf.da_dy[0]\nf.leverage[0]\nf.columns[1]", session) == [
        "[1.14, 2.13, 3.12, 4.11] km", "-0.04 km", "-18 1/h", "0.7", "residual"
    ]  # fmt: skip
    assert said("f", session)[0].splitlines()[0].split("  ")[:2] == ["predicted (km)", "residual (km)"]
    assert session.fit.told.found.conditions() == ["a in 0 km/h..90 km/h"]


def test_a_parameter_at_its_bound_has_a_unit():
    session = Session()
    lines = said(f"{MINUTES}; fit y ~ a*t + b over a in 0 km/h..50 km/h, b from b=1 km", session)
    assert "a = 50 km/h, at its bound" in "\n".join(lines)
    assert said("a", session) == ["50 km/h"]
    assert error("fit y ~ a*t over a in 0 km/h..50 km/h from a=30 m/s", session).message == (
        "fit: a starts at 30 m/s, outside of 0 m/s..13.88888889 m/s"
    )


def test_a_search_that_does_not_end_says_where_in_units():
    problem = error(f"{DATA}; fit y ~ a*t + b*t + (1 m) over a, b from a=1 m/s, b=1 km/h")
    assert "do not determine a and b" in problem.message
    assert "m/s, b = " in problem.notes[0] and " km/h" in problem.notes[0]


def test_json_has_the_units():
    session, found = Session(), []
    session.run(f"{MINUTES}; {LINE} tied c = a*(1 h)", found.append)
    said_of = json.loads(result_line(found[-1], session.settings))
    assert {name: one["unit"] for name, one in said_of["parameters"].items()} == {"a": "km/h", "b": "m"}
    assert said_of["parameters"]["a"]["value"] == pytest.approx(59.4)
    assert (said_of["unit"], said_of["tied"]["c"]["unit"]) == ("km", "km")
    assert said_of["rss"] == pytest.approx(0.207)
    session.run("last fit", found.append)
    units = json.loads(result_line(found[-1], session.settings))["units"]
    assert (units["rss"], units["s"], units["chi2"], units["predicted"], units["da_dy"]) == (
        "km²",
        "km",
        "km²",
        "km",
        "1/h",
    )


def test_a_picture_is_in_the_units_that_were_typed():
    session, found = Session(), []
    said(f"{MINUTES}; y = normal(y, 100 m); {LINE}", session)
    session.run("plot fit", found.append)
    (plot,) = found
    points, curve = plot.curves[:2]
    assert (plot.axis, points.name, plot.below.curves[0].name) == ("t (min)", "y (km)", "residuals (km)")
    np.testing.assert_allclose(points.x, [1, 2, 3, 4])
    np.testing.assert_allclose(points.y, [1.1, 2, 3.5, 3.9])
    np.testing.assert_allclose(points.u, 0.1)
    np.testing.assert_allclose(curve.y, 0.15 + 0.99 * np.array(curve.x), rtol=1e-9)
    np.testing.assert_allclose(plot.below.curves[0].y, [-0.04, -0.13, 0.38, -0.21], atol=1e-9)


def test_a_report_has_units(tmp_path):
    session = Session()
    said(f"{MINUTES}; y = normal(y, 100 m); {LINE}; v = a*(2 h)", session)
    session.run(f'report "{tmp_path}/r.md"')
    text = (tmp_path / "r.md").read_text("utf-8")
    for part in ("| a (km/h) | 59.4 | 2.7 |", "a = 59.4 ± 2.7 km/h", "| s | 0.321714 km |", "118.8 ± 5.4"):
        assert part in text, part


# What comes after


def test_a_parameter_has_its_unit_in_what_is_computed_later():
    session = Session()
    said(f"{MINUTES}; y = normal(y, 100 m); {LINE}", session)
    assert said("a*(2 h)\nb/a\na to m/s", session) == ["118.8 ± 5.4 km", "9.1 ± 7.8 s", "16.50 ± 0.75 m/s"]
    assert "59.4 km/h" in "\n".join(said("budget a*(1 h)", session))
    assert error("a + b", session).message == "a speed and a length cannot be added"


def test_undo_takes_a_fit_back_and_what_was_recorded_gives_it_again():
    session = Session()
    session.record.on, session.steps.depth = True, DEPTH
    said(f"{MINUTES}; a = 1 m/s", session)
    said(LINE, session)
    assert said("a", session) == ["59.4 ± 8.6 km/h"]
    text = script(session.record.entries, ".")[0]
    said("undo", session)
    assert (said("a", session), session.fit) == (["1 m/s"], None)
    other = Session()
    said(text, other)
    assert said("a", other) == ["59.4 ± 8.6 km/h"]


def test_a_session_without_units_infers_none(monkeypatch):
    monkeypatch.setattr("agrad.grammar.commands.fit_units.traced", None)
    assert "a = 1.2" in "\n".join(said("t = [1, 2, 3]; y = [1.1, 2, 3.5]; fit y ~ a*t + b over a, b from a=1, b=1"))


def test_numbers_are_fitted_alike_where_another_value_has_a_unit():
    fit = "t = [0, 1, 2, 3, 4]; y = [2.1, 1.2, 0.8, 0.4, 0.3]; fit y ~ a*exp(-b*t) over a, b from a=1, b=1"
    one, other = Session(), Session()
    lines = said(fit, one)
    assert said(f"m = 1 kg; {fit}", other)[-1] == lines[-1]
    assert [x.value for x in other.fit.parameters] == [x.value for x in one.fit.parameters]
