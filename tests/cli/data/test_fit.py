"""`agrad fit` of a folder of files."""

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
