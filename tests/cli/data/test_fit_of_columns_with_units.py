"""`agrad fit` of a file whose headers have units: as the language fits the same columns."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from answers import table
from rows import each
from sessions import said

from agrad.engine.autodiff.uncertainty import uncertainty
from agrad.engine.core.graph import Units
from agrad.engine.core.tensor import Tensor
from agrad.engine.units.quantity import in_unit, scaled, unit_of
from agrad.grammar.session.session import Session

pytest.importorskip("scipy")

HERE = Path(__file__).parent
LANGUAGE = table(HERE.parents[1] / "grammar/session/fit_units.txt")
MINUTES = "t (min),y [km],sd (m),x\n1,1.1,200,1\n2,2,200,2\n3,3.5,200,3\n4,3.9,200,4\n"


@pytest.fixture(autouse=True)
def no_unit_yet(monkeypatch):
    """As in a process in which nothing has had a unit."""
    monkeypatch.setattr(Units, "exist", False)


def written(path, session):
    """The columns of a session as a file, with their units in its header, and the uncertainties of these by name."""
    columns = {name: x for name, x in session.names.items() if isinstance(x, Tensor) and len(x.shape) == 1}
    units = {name: unit_of(x) for name, x in columns.items()}
    heads = [f"{name} ({units[name].text})" if units[name] else name for name in columns]
    rows = np.stack([np.asarray(in_unit(x.value, units[name])) for name, x in columns.items()]).T.tolist()
    path.write_text("\n".join(",".join(map(str, row)) for row in [heads, *rows]), "utf-8")
    known = {name: scaled(uncertainty(x), units[name]) for name, x in columns.items()}
    return {name: f"{u[0]:.12g} {units[name].text}" for name, u in known.items() if u is not None}


def options(fit, u):
    """The model and the options of `agrad fit` for a command of the language."""
    (model, *rest), known = re.split(r" (over|sigma|from|tied|loss|beyond|errors) ", fit.removeprefix("fit ")), u.copy()
    given, start = dict(zip(rest[::2], rest[1::2], strict=True)), {}
    over = [part.partition(" in ")[::2] for part in re.split(r",\s*(?=\w+(?: in |,|$))", given.pop("over"))]
    start = dict(part.split("=", 1) for part in re.split(r",\s*(?=\w+=)", given.pop("from", "")) if part)
    words = ["--over", ",".join(f"{name}={start[name]}" if name in start else name for name, _ in over)]
    words += [word for name, ends in over if ends for word in ("--bounds", f"{name}={ends}")]
    y = known.pop(model.partition(" ~ ")[0], None)
    words += ["--sigma", y] if y is not None and "sigma" not in given else []
    words += [word for name, text in known.items() if "errors" in given for word in ("--sigma-x", f"{name}={text}")]
    return [model, "d.csv", *words, *[word for name, text in given.items() for word in (f"--{name}", text)]]


@each("data, fit", [row[:2] for row in LANGUAGE if not re.search(r"sigma V|w\[|, \S.* ~ .*over", row[1])])
def test_a_fit_of_a_file_is_that_of_the_language(inside, tmp_path, data, fit, monkeypatch):
    monkeypatch.setattr(Units, "exist", False)
    session = Session()
    said(data, session)
    line = options(fit, written(tmp_path / "d.csv", session))
    said(fit, session)
    expected = session.fit.told.found.fields()
    monkeypatch.setattr(Units, "exist", False)
    out, told, code = inside("fit", *line, "--units", "--json")
    assert (told, code) == ("", 0), line
    found = json.loads(out)
    for part in ("parameters", "tied"):
        for name, one in expected.get(part, {}).items():
            other = found[part][name]
            assert other.get("unit") == one.get("unit")
            assert other["value"] == pytest.approx(one["value"], rel=1e-6, abs=1e-4 * one["u"])
            assert other["u"] == pytest.approx(one["u"], rel=1e-4)
    assert found.get("unit") == expected.get("unit")
    assert found["chi2"] == pytest.approx(expected["chi2"], rel=1e-5)


@each("words, message", table(HERE / "fit_unit_errors.txt"))
def test_a_wrong_dimension_is_told_and_each_fix_leads_to_a_fit(inside, tmp_path, words, message, monkeypatch):
    (tmp_path / "d.csv").write_text(MINUTES)
    line, left = ["fit", *shlex.split(words)], 4
    while left:
        monkeypatch.setattr(Units, "exist", False)
        out, told, code = inside(*line)
        assert message in told + out, (words, told + out)
        if code == 0:
            break
        left, message = left - 1, ""
        line = shlex.split((told + out).partition("  fix: agrad ")[2].partition("\n")[0])
    assert left in (1, 2, 3), words


def test_units_are_taken_where_a_start_a_constant_a_bound_or_the_model_has_one(inside, tmp_path, monkeypatch):
    (tmp_path / "d.csv").write_text(MINUTES)
    for words in (
        ["y ~ a*t + b", "--over", "a=60 km/h,b"],
        ["y ~ a*t*q + b", "--over", "a,b", "-D", "q=3 s"],
        ["y ~ a*t + b", "--over", "a,b", "--bounds", "a=0..60 m/s"],
        ["y ~ a*t + b + 2 m", "--over", "a,b"],
        ["y ~ a*t + b", "--over", "a,b", "--sigma", "3 m"],
    ):
        monkeypatch.setattr(Units, "exist", False)
        assert "b = 0.1" in inside("fit", *words, "d.csv")[0], words
    assert "has no column y" in inside("fit", "y ~ a*t + b", "d.csv", "--over", "a,b")[1]


def test_a_unit_behind_a_number_is_a_column_of_that_name(inside, tmp_path):
    (tmp_path / "d.csv").write_text(MINUTES.replace("sd", "h"))
    one, other = (inside("fit", f"y ~ a*{h}", "d.csv", "--over", "a", "--units") for h in ("2h", "2*h"))
    assert one == other
    assert "a = " in one[0]


def test_what_is_written_and_reported_has_units(inside, tmp_path):
    (tmp_path / "d.csv").write_text(MINUTES)
    line = ["fit", "y ~ a*t + b", "d.csv", "--over", "a=1 m/s,b", "--sigma", "sd", "--json", "--points", "--profile"]
    out, told, code = inside(*line, "-o", "o.csv", "--report", "r.md")
    assert (told, code) == ("", 0)
    heads = (tmp_path / "o.csv").read_text().splitlines()[0].split(",")
    assert heads[4:8] == ["predicted (km)", "residual (km)", "standardized", "leverage"]
    assert heads[-2:] == ["da_dy (m/(s·km))", "db_dy"]
    found = json.loads(out)
    assert (found["unit"], found["units"]["predicted"], found["units"]["da_dy"]) == ("km", "km", "m/(s·km)")
    text = (tmp_path / "r.md").read_text("utf-8")
    for part in ("| a (m/s) | 16.5 | 1.5 |", "plot of y (km), a*t + b", "| profile, 95 % | low | high |"):
        assert part in text, part
    assert re.search(r"\| a \| 13\.57\d* m/s \| 19\.42\d* m/s \|", text)


def test_a_missing_entry_is_told_by_its_column(inside, tmp_path):
    (tmp_path / "d.csv").write_text(MINUTES.replace("2,2,200", "NA,2,200"))
    line = ["fit", "y ~ a*t + b", "d.csv", "--over", "a,b", "--units", "--na", "NA"]
    told = inside(*line)[1]
    assert told.startswith("d.csv:3:1: error[domain]: fit: column t (min) is nan\n")
    assert (
        "1 degree of freedom" in inside(*shlex.split(told.partition("  fix: agrad ")[2].partition("   leaves")[0]))[0]
    )


def test_every_branch_of_a_model_has_the_unit_of_what_was_measured(inside, tmp_path):
    (tmp_path / "d.csv").write_text(MINUTES)
    line = ["fit", "y ~ a*t if t < 2.5 min else a*t^2", "d.csv", "--over", "a=1 m/s", "--units"]
    assert "have no common unit" in inside(*line)[1]
