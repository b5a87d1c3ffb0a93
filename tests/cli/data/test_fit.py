"""`agrad fit` of a folder of files."""

import json
import shlex

import numpy as np

WORDS = "--y", "n", "--over", "a=400,b=0.1,c=1"


def test_a_folder_is_fitted_as_one_file_and_the_first_row_that_cannot_be_read_is_told(inside, tmp_path):
    chance = np.random.default_rng(1)
    t = chance.uniform(0, 10, 600)
    rows = [f"{x},{n}" for x, n in zip(t, 500 * np.exp(-0.3 * t) + chance.normal(size=600), strict=True)]
    (tmp_path / "data").mkdir()
    (tmp_path / "one.csv").write_text("\n".join(["t,n", *rows]))
    for number in range(6):
        (tmp_path / f"data/{number}.csv").write_text("\n".join(["t,n", *rows[number * 100 :][:100]]))
    one, folder = (inside("fit", "a*exp(-b*t) + c", path, *WORDS) for path in ("one.csv", "data"))
    assert (one, one[1:]) == (folder, ("", 0))
    for number in (4, 2):
        (tmp_path / f"data/{number}.csv").write_text("\n".join(["t,n", *rows[:7], "1,", *rows[7:]]))
    told = inside("fit", "a*exp(-b*t) + c", "data", *WORDS)[1]
    assert told.startswith("data/2.csv:9:3: error[file]: column n: the entry is empty\n")


def test_a_constant_that_may_be_meant_as_a_parameter_is_noted_and_the_fix_fits_it(inside, tmp_path):
    t = np.arange(5.0)
    rows = [f"{x},{y},{z}" for x, y, z in zip(t, 10 * np.exp(-t / 2), 2 + t, strict=True)]
    for name in ("other", "tau"):
        (tmp_path / f"{name}.csv").write_text("\n".join([f"t,n,{name}", *rows]))
    line = ["fit", "a*exp(-t/tau)", "other.csv", "--y", "n", "--over", "a=9"]
    told = inside(*line)[1]
    assert told.startswith("note: fit: tau is the constant 6.283185307 here, and no parameter\n")
    fix = told.partition("  fix: agrad ")[2]
    out, told, code = inside(*shlex.split(fix))
    assert ("\ntau = 2" in out, told, code) == (True, "", 0)
    known = "note: fit: tau is the constant"
    assert known not in inside(*line[:2], "tau.csv", *line[3:])[1]  # a column
    assert known not in inside(*line, "-D", "tau=2")[1]
    assert known not in inside("fit", "a*e**(-t/2)", *line[2:])[1]


def decaying(path, rows=40):
    """A file of a decay, of which one entry is missing and the last column is text."""
    chance, t = np.random.default_rng(2), np.arange(rows) / 4
    n = [f"{x}" for x in 10 * np.exp(-t / 3) + 0.1 * chance.normal(size=rows)]
    n[7] = "NA"
    path.write_text(
        "\n".join(["t,n,who", *[f"{x},{y},w{place}" for place, (x, y) in enumerate(zip(t, n, strict=True))]])
    )


def test_a_missing_entry_is_an_error_whose_fix_leaves_it_out(inside, tmp_path):
    decaying(tmp_path / "d.csv")
    line = ["fit", "n ~ a*exp(-b*t)", "d.csv", "--over", "a=9,b=1", "--na", "NA"]
    told = inside(*line)[1]
    assert told.startswith("d.csv:9:1: error[domain]: fit: column n is nan\n")
    fix = told.partition("  fix: agrad ")[2].partition("   leaves")[0]
    out, told, code = inside(*shlex.split(fix))
    assert (told, code) == ("", 0)
    assert "37 degrees of freedom" in out
    told = inside(*line, "--where", "t < 5")[1]
    fix = told.partition("  fix: agrad ")[2].partition("   leaves")[0]
    assert "18 degrees" not in inside(*shlex.split(fix))[0]
    assert "17 degrees of freedom" in inside(*shlex.split(fix))[0]


def test_the_table_of_the_points_has_the_rows_that_were_fitted(inside, tmp_path):
    decaying(tmp_path / "d.csv")
    line = ["fit", "n ~ a*exp(-b*t)", "d.csv", "--over", "a=9,b=1", "--na", "NA", "--where", "isfinite(n)", "--json"]
    out, told, code = inside(*line, "-o", "points.csv")
    assert (told, code) == ("", 0)
    found = json.loads(out)
    names, *rows = [row.split(",") for row in (tmp_path / "points.csv").read_text().splitlines()]
    assert names[:6] == ["t", "n", "who", "predicted", "residual", "standardized"]
    assert len(rows) == 39
    t, n, predicted, residual, leverage = np.array(
        [[float(row[names.index(name)]) for name in ("t", "n", "predicted", "residual", "leverage")] for row in rows]
    ).T
    a, b = (found["parameters"][name]["value"] for name in "ab")
    np.testing.assert_allclose(predicted, a * np.exp(-b * t), rtol=1e-12)
    np.testing.assert_allclose(residual, n - predicted, atol=1e-12)
    assert abs(leverage.sum() - 2) < 1e-9
    assert abs(np.sum(residual**2) - found["rss"]) < 1e-9


def test_bounds_and_a_loss_are_those_of_the_language(inside, tmp_path):
    decaying(tmp_path / "d.csv")
    line = ["fit", "n ~ a*exp(-b*t)", "d.csv", "--over", "a=9,b=1", "--na", "NA", "--where", "isfinite(n)", "--json"]
    found = json.loads(inside(*line, "--bounds", "a=0..9.5", "--loss", "cauchy", "--beyond", "0.1")[0])
    assert found["at_bound"] == ["a"]
    assert found["loss"]["name"] == "cauchy"
    assert found["parameters"]["a"] == {"value": 9.5, "u": 0.0}
    out, _, code = inside(*line, "--loss", "huber")
    assert code == 2
    assert "without --sigma, a loss needs --beyond" in out
    assert "--bounds: a has one end" in inside(*line, "--bounds", "a=3")[0]
