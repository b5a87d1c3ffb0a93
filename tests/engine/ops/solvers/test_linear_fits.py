"""Least squares of linear models: the reference problems of NIST (StRD, linear regression)."""

from pathlib import Path

import numpy as np
import pytest
from rows import each

pytest.importorskip("scipy")

import agrad.engine as ag
from agrad.engine.ops.solvers.fitting import Data, together

FOLDER = Path(__file__).with_name("nist_linear")
DIGITS = {"Longley": 10, "Filip": 7}  # of the others: 9
# What Wampler (J. Am. Stat. Assoc. 65, 1970) added to a polynomial, in which no polynomial of degree 5 is contained.
HALF = [759, -2048, 2048, -2048, 2523, -2048, 2048, -2048, 1838, -2048]
ADDED = np.array([*HALF, 2048, *HALF[::-1]], dtype=float)
CERTIFIED = [
    [part.strip() for part in line.split("|")]
    for line in (FOLDER / "certified.txt").read_text("utf-8").splitlines()
    if line[0] != "#"
]


def data(name):
    """The columns of the model, and what was measured."""
    if name.startswith("NoInt"):
        x = np.arange(60.0, 71.0) if name == "NoInt1" else np.array([4.0, 5.0, 6.0])
        return [x], x + 70.0 if name == "NoInt1" else np.array([3.0, 4.0, 4.0])
    if name.startswith("Wampler"):
        x = np.arange(21.0)
        columns = [x**power for power in range(6)]
        base, scale = (0.1, 0.0) if name == "Wampler2" else (1.0, {"3": 1.0, "4": 1e2, "5": 1e4}.get(name[-1], 0.0))
        return columns, sum(base**power * column for power, column in enumerate(columns)) + scale * ADDED
    table = np.loadtxt(FOLDER / f"{name}.txt")
    y, *xs = table.T
    return ([np.ones(len(y)), *xs] if name == "Longley" else [xs[0] ** power for power in range(11)]), y


@each("row", CERTIFIED)
def test_a_linear_problem_of_nist_is_solved(row):
    name, parameters, s = row
    columns, y = data(name)
    values, deviations = np.array(parameters.split(), dtype=float).reshape(-1, 2).T
    names = [f"b{place}" for place in range(len(values))]
    found = together(
        [Data(lambda *b: sum(one * x for one, x in zip(b, columns, strict=True)), y)], names, [0.0] * len(names)
    )
    assert not found.problem, name
    digits = DIGITS.get(name, 9)
    np.testing.assert_allclose(found.values, values, rtol=10.0**-digits)
    np.testing.assert_allclose(found.u, deviations, rtol=10.0**-digits, atol=1e-9 * np.abs(values).max())
    assert found.statistics()["s"] == pytest.approx(float(s), rel=10.0**-digits, abs=1e-7)


def test_data_of_different_weights_and_other_models_are_not_refined_as_if_they_were_linear():
    x, y = np.arange(6.0), np.array([1.0, 3.1, 4.9, 7.2, 9.1, 10.8])
    parts = [Data(lambda a, b: a + b * x, y, 0.1), Data(lambda a, b: b, np.array([1.0]), 0.01)]
    found = together(parts, ["a", "b"], [0.0, 1.0])
    rows, weights = np.vstack([np.stack([np.ones(6), x], axis=1), [0.0, 1.0]]), np.array([10.0] * 6 + [100.0])
    expected = np.linalg.lstsq(rows * weights[:, None], np.append(y, 1.0) * weights)[0]
    np.testing.assert_allclose(found.values, expected, rtol=1e-12)
    sine = together([Data(lambda a, b: a + ag.sin(b) * x + 2.0, y / 10)], ["a", "b"], [0.0, 1.0])
    line = np.polyfit(x, y / 10 - 2.0, 1)[::-1]
    np.testing.assert_allclose([sine.values[0], np.sin(sine.values[1])], line, rtol=1e-11)
    shifted = together([Data(lambda a, b: a + b * x + 2.0, y)], ["a", "b"], [0.0, 1.0])
    np.testing.assert_allclose(shifted.values, np.polyfit(x, y - 2.0, 1)[::-1], rtol=1e-12)
