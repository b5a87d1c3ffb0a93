"""Uncertain values and fits on the command line."""

import json

import numpy as np
import pytest

pytest.importorskip("scipy")


@pytest.fixture
def here(inside, tmp_path):
    rng = np.random.default_rng(2)
    t = np.linspace(0, 10, 50)
    n = 500 * np.exp(-0.3 * t) + rng.standard_normal(50)
    lines = [f"{a!r},{b!r},1.0" for a, b in zip(t.tolist(), n.tolist(), strict=True)]
    (tmp_path / "decay.csv").write_text("\n".join(["t,n,s", *lines]) + "\n")
    (tmp_path / "m.csv").write_text("x,y,su\n1,2,0.1\n2,3,0.2\n")
    return inside


def test_eval_reads_uncertain_values_and_shows_their_budget(here):
    out, _, code = here("eval", "m*g*h", "m=2+/-0.1", "g=9.81", "h=3+/-0.05")
    assert (out, code) == ("58.9 ± 3.1\n", 0)
    out, _, code = here("eval", "m*g*h", "m=2+/-0.1", "g=9.81", "h=3±0.05", "--budget")
    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["m", "h"]
    assert "m*g*h = 58.9 ± 3.1" in out
    out, _, _ = here("eval", "m*2", "m=2+/-0.1", "--budget", "--json")
    assert json.loads(out)["budget"]["u"] == pytest.approx(0.2)
    out, _, _ = here("eval", "m*2", "m=2+/-0.1", "--json")
    assert json.loads(out) == {"schema": 1, "value": 4.0, "u": 0.2}
    out, _, _ = here("eval", "m**2", "m=2+/-0.1", "--wrt", "m")
    assert out.splitlines()[1] == "d/dm = 4"
    _, err, code = here("eval", "m*2", "m=2", "--budget")
    assert code == 1
    assert "does not depend on an uncertain value" in err


def test_map_adds_a_column_of_uncertainties(here):
    out, _, code = here("map", "x*y", "m.csv", "--u", "x=0.1", "--u", "y=@su", "--wrt", "y")
    assert code == 0
    rows = [line.split(",") for line in out.splitlines()]
    assert rows[0] == ["value", "d/dy", "u"]
    assert [float(row[2]) for row in rows[1:]] == pytest.approx([np.hypot(0.2, 0.1), np.hypot(0.3, 0.4)])
    assert here("map", "x*y", "m.csv", "--u", "x=-1")[2] == 1
    assert "has no column z" in here("map", "x*y", "m.csv", "--u", "x=@z")[1]


def test_fit_finds_the_parameters_of_the_rows_of_a_file(here):
    out, _, code = here("fit", "a*exp(-b*t)", "decay.csv", "--y", "n", "--over", "a=400,b=0.1", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["converged"]
    assert found["parameters"]["a"]["value"] == pytest.approx(500, abs=3)
    assert found["parameters"]["b"]["value"] == pytest.approx(0.3, abs=0.003)
    assert found["dof"] == 48
    assert found["correlation"][0][1] == found["correlation"][1][0]
    out, _, _ = here("fit", "log(a) - b*t", "decay.csv", "--y", "log(n)", "--over", "a=400,b=0.1", "--sigma", "s")
    assert out.splitlines()[0].startswith("a = ")
    assert "chi2/dof" in out


def test_a_fit_that_does_not_converge_says_so(here):
    out, err, code = here("fit", "(a + b)*t", "decay.csv", "--y", "n", "--over", "a=4,b=1")
    assert code == 1
    assert out == ""
    assert "the data do not determine a" in err
    out, _, code = here("fit", "(a + b)*t", "decay.csv", "--y", "n", "--over", "a=4,b=1", "--json")
    assert code == 1
    assert json.loads(out)["converged"] is False


@pytest.mark.parametrize("sigma", ["-3", "0", "n - n"])
def test_an_uncertainty_that_is_not_positive_is_refused(here, sigma):
    out, err, code = here("fit", "a*t", "decay.csv", "--y", "n", "--over", "a=4", "--sigma", sigma)
    assert (out, code) == ("", 1)
    assert "fit: sigma must be positive and finite: a number, or one for each point" in err


def test_a_fit_is_refused_where_something_is_missing(here):
    assert here("fit", "a*t", "--y", "n", "--over", "a=1")[2] == 2
    assert here("fit", "a*t", "-", "--y", "n", "--over", "a=1")[2] == 2
    assert "has no column q" in here("fit", "a*q", "decay.csv", "--y", "n", "--over", "a=1")[1]


def test_a_value_in_the_command_line_has_the_note_on_an_unspaced_sign(inside):
    out, err, code = inside("eval", "m", "m=2+-0.1")
    assert (out, code) == ("1.9\n", 0)
    assert err.startswith("note: 2+-0.1 is 2 + (-0.1), as in Python\n")
    assert "fix: 2 +/- 0.1" in err


def test_an_uncertainty_that_is_missing_is_asked_for(inside):
    out, err, code = inside("eval", "m", "m=2+/-")
    assert (out, code) == ("", 2)
    assert "a value is missing after `+/-`" in err
    assert "fix: 2+/- 0.1" in err
    assert inside("eval", "m", "m=2+/- 0.1")[0] == "2.00 ± 0.10\n"


def test_in_json_a_row_has_its_uncertainty_beside_its_value(inside, tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("x,y\n2,3\n")
    out, _, _ = inside("map", "x*y", str(path), "--u", "x=0.1", "--json")
    assert json.loads(out) == {"schema": 1, "value": 6.0, "u": pytest.approx(0.3)}
    out, _, _ = inside("map", "x*y", str(path), "--u", "x=0.1", "--wrt", "y", "--json")
    assert json.loads(out) == {"schema": 1, "value": 6.0, "u": pytest.approx(0.3), "grad": {"y": 2.0}}
