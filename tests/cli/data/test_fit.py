"""`agrad fit` of a folder of files."""

import json
import shlex
import subprocess
import sys

import numpy as np
import pytest
from rows import each

import agrad.engine as ag
from agrad.cli.arguments.expression import texts_by_name
from agrad.cli.commands.fit import command
from agrad.cli.data import fit_work
from agrad.cli.data.work import Bench
from agrad.cli.main import again
from agrad.grammar.session.session import Session

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


@pytest.mark.parametrize("more", [(), ("--where", "t < 7"), ("-o", "out.csv")])
def test_files_that_have_room_are_read_once_and_give_what_others_give(inside, tmp_path, monkeypatch, more):
    precise(tmp_path / "d.csv")
    line, read, plain = ["fit", "n ~ a*exp(-b*t) + c", "d.csv", "--over", "a=9,b=1,c=1", *more], [], Bench.pieces
    monkeypatch.setattr(Bench, "pieces", lambda self, part: read.append(part) or plain(self, part))
    kept, few = inside(*line), len(read)
    monkeypatch.setattr(fit_work, "_ROOM", 0)
    assert inside(*line) == kept
    assert kept[2] == 0
    assert few == 2 < len(read) - few  # for the first row, and for all


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


def precise(path):
    """A file of a decay of which both columns have uncertainties."""
    chance, t = np.random.default_rng(4), np.arange(30) / 5
    measured = t + 0.05 * chance.normal(size=30), 10 * np.exp(-t / 3) + 1 + 0.1 * chance.normal(size=30)
    path.write_text("\n".join(["t,n,s,ut", *[f"{x},{n},0.1,0.05" for x, n in zip(*measured, strict=True)]]))
    return measured


def in_a_session(measured, options):
    """The values and uncertainties of a, b and c by the language's fit."""
    session = Session()
    session.names |= {"t": ag.tensor(measured[0]), "n": ag.tensor(measured[1])}
    session.run(f"t = normal(t, 0.05); n = normal(n, 0.1); a = 9; b = 1; c = 1; fit n ~ a*exp(-b*t) + c {options}")
    values = [session.evaluate(name) for name in "abc"]
    return [(x.item(), float(ag.uncertainty(x))) for x in values]


@each(
    "words, options",
    [
        (["--over", "a=9,b=1", "--tied", "c=a/10"], "over a, b tied c = a/10"),
        (["--over", "a=9,b=1,c=1", "--sigma-x", "t=ut"], "over a, b, c errors orthogonal"),
        (["--over", "a=9,b=1,c=1", "--sigma-x", "t=0.05", "--errors", "effective"], "over a, b, c errors effective"),
        (
            ["--over", "a=9,b=1", "--tied", "d=a/20, c=2*d", "--sigma-x", "t=ut"],
            "over a, b tied c = a/10 errors orthogonal",
        ),
    ],
)
def test_ties_and_errors_in_x_are_those_of_the_language(inside, tmp_path, words, options):
    measured = precise(tmp_path / "d.csv")
    out, told, code = inside("fit", "n ~ a*exp(-b*t) + c", "d.csv", "--sigma", "s", *words, "--json")
    assert (told, code) == ("", 0)
    found = json.loads(out)
    named = found["parameters"] | found.get("tied", {})
    np.testing.assert_allclose(
        [(named[name]["value"], named[name]["u"]) for name in "abc"], in_a_session(measured, options), rtol=1e-7
    )


def test_json_has_the_points_and_the_profile_that_the_language_has(inside, tmp_path):
    measured = precise(tmp_path / "d.csv")
    line = ["fit", "n ~ a*exp(-b*t) + c", "d.csv", "--over", "a=9,b=1,c=1", "--sigma", "s", "--json"]
    found = json.loads(inside(*line, "--points", "--profile")[0])
    session, said = Session(), []
    session.names |= {"t": ag.tensor(measured[0]), "n": ag.tensor(measured[1])}
    session.run("a = 9; b = 1; c = 1; fit n ~ a*exp(-b*t) + c over a, b, c sigma 0.1; last fit profile", said.append)
    theirs = said[-1].found.fields()
    assert found["points"].keys() == theirs["points"].keys() >= {"standardized", "leverage", "prediction_high", "da_dy"}
    for name, column in theirs["points"].items():
        np.testing.assert_allclose(found["points"][name], column, rtol=1e-5, atol=1e-8)
    for name, ends in theirs["profile"].items():
        np.testing.assert_allclose(found["profile"][name], ends, rtol=1e-6)
    assert theirs["statistics"]["chi2"] == pytest.approx(found["chi2"])
    assert "profile, 95 %" in inside(*line[:-1], "--profile")[0]


def test_a_report_of_a_file_has_the_data_the_fit_its_picture_and_the_command(inside, tmp_path):
    precise(tmp_path / "d.csv")
    line = shlex.split("fit 'n ~ a*exp(-b*t) + c' d.csv --over a=9,b=1,c=0.1 --bounds c=0..0.5 --where 't < 5'")
    assert inside(*line, "--report", "r.tex")[2] == 0
    text = (tmp_path / "r.tex").read_text()
    for said in ("d.csv", "at its bound", "c~in~0..0.5", "log\\_likelihood", "{-}{-}report~r.tex", "numpy", "t < 5"):
        assert said in text
    assert "includegraphics" in text or "matplotlib is not installed" in text
    told = inside(*line, "--report", "r.doc")[1]
    assert "a report ends in .html" in told
    assert "--report r.html" in told


def test_a_large_file_is_drawn_by_some_of_its_rows(inside, tmp_path):
    t = np.arange(5000.0) / 1000
    (tmp_path / "d.csv").write_text("\n".join(["t,n", *[f"{x},{2 * x + (k % 7) / 10}" for k, x in enumerate(t)]]))
    assert inside("fit", "n ~ a*t + b", "d.csv", "--over", "a=9,b=1", "--report", "r.md")[2] == 0
    text = (tmp_path / "r.md").read_text()
    assert "n, 1 row of 3" in text
    assert "| rows | 5000 |" in text


@each(
    "words, message, fix",
    [
        (["--sigma-x", "t=0.1"], "--sigma-x goes with --sigma", "--sigma-x t=0.1 --sigma 0.1"),
        (["--bounds", "a=9..1"], "fit: the bounds of a end before they begin", "--bounds a=1..9"),
        (["--bounds", "a=nan..1"], "fit: the bounds of a are numbers, -inf or inf, and not nan", ""),
        (["--report", "nowhere/r.md"], "cannot write nowhere/r.md: there is no folder", ""),
        (["-o", "nowhere/o.csv"], "cannot write nowhere/o.csv: there is no folder", ""),
        (["--errors", "effective"], "--errors is for columns that have uncertainties", "--sigma-x t=0.1"),
        (["--bounds", "a=3"], "--bounds: a has one end", "--over a=9,b=1 --bounds a=3..inf"),
        (["--bounds", "b=0..2,a=3"], "--bounds: a has one end", "--bounds b=0..2,a=3..inf"),
        (["--bounds", "a=..30"], "--bounds: a has one end", "--bounds a=-inf..30"),
        (["--bounds", "a=3.."], "--bounds: a has one end", "--bounds a=3..inf"),
        (["--bounds=a=9..1"], "fit: the bounds of a end before they begin", "--bounds=a=1..9"),
        (["--beyond", "3"], "fit: --beyond is an option of a loss", "--beyond 3 --loss huber"),
        (["--coverage", "95"], "95.0 is not in the range 0<x<1", ""),
        (["--coverage", "nan"], "nan is not in the range 0<x<1", ""),
        (["--points"], "--points is for --json", "--points --json"),
        (["--sigma", "1", "--sigma", "s"], "--sigma is given twice, and takes one value", "--sigma s"),
        (["--points", "-o", "points.csv"], "--points is for --json", "--points -o points.csv --json"),
        (["--y", "n"], "--y and ~ both say what was measured", ""),
        (["--tied", "a=2*b"], "--over and --tied both have a", ""),
        (["--sigma-x", "a=2", "--sigma", "1"], "--over and --sigma-x both have a", ""),
        (["--sigma-x", "q=2", "--sigma", "1"], "q is not in a*exp(-b*t)", ""),
        (["-D", "a=5"], "--over and -D both have a", ""),
        (["--tied", "t=2*q", "--tied", "q=b"], "--tied: q is tied, and may be used only in what is tied after it", ""),
        (["--loss", "huber", "--beyond", "-1"], "--beyond is positive and finite, not -1", ""),
        (["--sigma", "5 cm"], "fit: --sigma is a length, not a number", "--sigma 5"),
        (["-o", "d.csv"], "d.csv holds the data, and the results would overwrite it", ""),
        (["--sigma-x", "t=-1", "--sigma", "1"], "--sigma-x t: an uncertainty is a number that is 0 or positive", ""),
    ],
)
def test_what_does_not_go_together_is_refused(inside, tmp_path, words, message, fix):
    precise(tmp_path / "d.csv")
    out, told, code = inside("fit", "n ~ a*exp(-b*t)", "d.csv", "--over", "a=9,b=1", *words)
    assert message in told + out
    assert fix in told + out
    assert code in (1, 2)


def test_a_column_that_the_model_does_not_use_is_proposed_as_what_was_measured(inside, tmp_path):
    (tmp_path / "d.csv").write_text("t,y\n0,1\n1,2\n2,3.1\n")
    told = inside("fit", "a*y + b", "d.csv", "--over", "a=1,b=1")[1]
    assert inside(*shlex.split(told.partition("  fix: agrad ")[2]))[2] == 0
    assert "--y t" in told
    assert "t*y has no parameters" in inside("fit", "t*y", "d.csv", "--y", "y")[1]


@each("words, option", [(["-D", "t=3", "--over", "a=1"], "-D"), (["--over", "a=1,t=1"], "--over")])
def test_a_name_in_the_place_of_a_column_is_noted(inside, tmp_path, words, option):
    (tmp_path / "d.csv").write_text("t,x,y\n0,0,1\n1,1,2\n2,2,3.1\n")
    _, told, code = inside("fit", "a*x + t", "d.csv", "--y", "y", *words)
    assert (code, told) == (0, f"note: t is that of {option} in every row: the column t of d.csv is not read for it\n")


def test_what_is_tied_has_no_columns(inside, tmp_path):
    precise(tmp_path / "d.csv")
    line = ["fit", "n ~ a*exp(-b*t) + c", "d.csv", "--over", "a=9,b=1", "--tied", "c=2*ut"]
    _, told, code = inside(*line)
    assert ("ut has no value" in told, "in --tied c=2*ut" in told, code) == (True, True, 1)
    noted = "note: ut is that of -D in every row: the column ut of d.csv is not read for it\n"
    assert inside(*shlex.split(told.partition("  fix: agrad ")[2]))[1:] == (noted, 0)


def test_a_name_that_is_no_column_may_be_a_parameter_or_a_constant(inside, tmp_path):
    precise(tmp_path / "d.csv")
    told = inside("fit", "n ~ a*exp(-b*t) + q", "d.csv", "--over", "a=9,b=1")[1]
    over, constant = [shlex.split(line) for line in told.split("  fix: agrad ")[1:]]
    assert (over[-2:], constant[-2:]) == (["--over", "q=1"], ["-D", "q=1"])
    assert "q = 0.95 ± 0.16" in inside(*over)[0]
    assert inside(*constant)[2] == 0


def test_all_columns_with_missing_entries_are_left_out_by_one_fix(inside, tmp_path):
    decaying(tmp_path / "d.csv")
    text = (tmp_path / "d.csv").read_text().replace("0.75,", "NA,")
    (tmp_path / "d.csv").write_text(text)
    told = inside("fit", "n ~ a*exp(-b*t)", "d.csv", "--over", "a=9,b=1", "--na", "NA")[1]
    assert told.startswith("d.csv:5:1: error[domain]: fit: column t is nan\n")
    fix = told.partition("  fix: agrad ")[2].partition("   leaves")[0]
    out, told, code = inside(*shlex.split(fix))
    assert (told, code) == ("", 0)
    assert "36 degrees of freedom" in out


def test_a_linear_problem_of_a_file_has_all_digits(inside, tmp_path):
    """Wampler4 of NIST's problems, whose residuals are 1e5 times the parameters."""
    half = [759, -2048, 2048, -2048, 2523, -2048, 2048, -2048, 1838, -2048]
    added = [*half, 2048, *half[::-1]]
    rows = [f"{x},{sum(x**power for power in range(6)) + 100 * one}" for x, one in enumerate(added)]
    (tmp_path / "w.csv").write_text("\n".join(["x,y", *rows]))
    model = "a + b*x + c*x**2 + d*x**3 + f*x**4 + g*x**5"
    out = inside("fit", f"y ~ {model}", "w.csv", "--over", "a=0,b=0,c=0,d=0,f=0,g=0", "--json")[0]
    values = [one["value"] for one in json.loads(out)["parameters"].values()]
    np.testing.assert_allclose(values, 1.0, rtol=1e-12)


VALUES = {
    "--y": "s", "--sigma": "0.5", "--loss": "cauchy", "--beyond": "7", "--errors": "effective", "--where": "t > 1",
    "--over": "b=5", "--bounds": "b=1..2", "--tied": "b=a", "--sigma-x": "b=0.1", "-D": "b=4", "-c": "b=n",
    "--coverage": "0.9", "--report": "new.md", "-o": "new.csv", "--na": "NA", "--points": None, "--json": None,
}  # fmt: skip
LINES = [
    ["y ~ a*t", "d.csv", "--over", "a=1"],
    ["y ~ a*t", "d.csv", "--over=a=1,b=2", "--bounds", "a=0..1,b=3,c=4..5", "--tied=b=2*a, c=b", "--points", "-D", "b=[1, a]"],
    ["--sigma", "1", "--where", "x > 0", "--json", "y ~ a*t", "d.csv", "--over", "a=1", "--over", "b=2", "-c", "b=q,a=p"],
    ["--report", "old.md", "-o", "old.csv", "--coverage=0.5", "--beyond=1", "--", "-a*t", "d.csv"],
]  # fmt: skip


@each("option, value", [*VALUES.items()])
@each("line", LINES)
def test_a_fix_keeps_what_was_typed_and_replaces_an_option(monkeypatch, line, option, value):
    """What click makes of the line of the fix is what it makes of the line that was typed, but for this option."""

    def read(words):
        given = command.make_context("fit", [*words]).params
        return {
            name: texts_by_name(name, x) if isinstance(x, tuple) and name != "words" else x for name, x in given.items()
        }

    monkeypatch.setattr("sys.argv", ["agrad", "fit", *line])
    with command.make_context("fit", [*line]) as context:
        (name,) = [one.name for one in context.command.params if option in one.opts]
        words = shlex.split(again(option, value))[2:]
    before, after = read(line), read(words)
    is_many = isinstance(before[name], dict)
    new = {"b": value.partition("=")[2]} if is_many else float(value) if option == "--coverage" else value or True
    assert after == before | {name: before[name] | new if is_many else new}


def test_data_may_come_from_a_pipe(environment, tmp_path):
    precise(tmp_path / "d.csv")
    text = (tmp_path / "d.csv").read_bytes()
    line = [sys.executable, "-m", "agrad.cli", "fit", "n ~ a*exp(-b*t) + c", "--over", "a=9,b=1,c=1"]

    def told(path, given):
        how = {"cwd": tmp_path, "env": environment, "capture_output": True, "input": given, "timeout": 60}
        done = subprocess.run([*line, path], check=False, **how)
        return done.stdout.decode(), done.stderr.decode()

    whole = told("d.csv", b"")
    assert "27 degrees of freedom" in whole[0]
    assert told("-", text) == told("/dev/stdin", text) == whole
    assert told("-", text + b"\n1,x,1,1")[1].startswith("<stdin>:32:3: error[file]: column n: ")
    as_lines = b"".join(b'{"t": %d, "n": %f}\n' % (t, 9 * 0.7**t) for t in range(9))
    assert "R2 = " in told("-", as_lines)[0]


def test_the_time_limit_counts_what_a_pipe_takes(environment, tmp_path):
    line = [sys.executable, "-m", "agrad.cli", "fit", "n ~ a*t", "-", "--over", "a=9", "--timeout", "0.5"]
    how = {"cwd": tmp_path, "env": environment, "stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(line, **how) as process:
        assert b"this took longer than 0.5 s, the limit" in process.stderr.read()
        process.stdin.close()
    assert process.returncode == 124


def test_the_coverage_is_that_of_bands_intervals_and_the_report(inside, tmp_path):
    precise(tmp_path / "d.csv")
    line = shlex.split("fit 'n ~ a*exp(-b*t) + c' d.csv --over a=9,b=1,c=1 --sigma s --json --profile --points")
    wide, narrow = (json.loads(inside(*line, *words)[0]) for words in ([], ["--coverage", "0.6826894921370859"]))
    assert (wide["coverage"], round(narrow["coverage"], 4)) == (0.95, 0.6827)
    half = np.subtract(narrow["points"]["confidence_high"], narrow["points"]["predicted"])
    np.testing.assert_allclose(
        np.subtract(wide["points"]["confidence_high"], wide["points"]["predicted"]), 1.959963984540054 * half, rtol=1e-9
    )
    u = np.subtract(*narrow["profile"]["a"][::-1]) / 2
    assert u == pytest.approx(narrow["parameters"]["a"]["u"], rel=0.01)
    assert inside(*line[:-3], "--coverage", "0.5", "--report", "r.md", "-o", "o.csv", "--profile")[2] == 0
    text = (tmp_path / "r.md").read_text()
    assert "coverage 0.5" in text
    assert "| profile, 50 % | low | high |" in text
