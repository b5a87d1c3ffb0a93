"""Texts of the language from Python."""

from threading import Thread

import numpy as np
import pytest
from rows import each

import agrad
from agrad.engine.errors import AgradError


@each(
    "text, values, wrt, expected",
    [
        ("x**2*y", {"x": 3, "y": 2}, "x", (18.0, 12.0)),
        ("x**2*y", {"x": 3, "y": 2}, ["y", "x"], (18.0, {"y": 9.0, "x": 12.0})),
        ("sum(w**2)", {"w": (1, 2)}, ["w"], (5.0, {"w": [2.0, 4.0]})),
        ("w > 1", {"w": [1, 2]}, None, [False, True]),
        ("x, [y, 1]  # two", {"x": 1, "y": np.float32(2)}, None, (1.0, [2.0, 1.0])),
        ("x.T + sum([k for k in [1, 2]])", {"x": [1, 2]}, None, [4.0, 5.0]),
        ("wrt + f", {"wrt": 1, "f": 2}, None, 3.0),
    ],
)
def test_a_text_has_a_plain_value_and_plain_derivatives(text, values, wrt, expected):
    def told(found):
        if isinstance(found, dict):
            return {name: told(one) for name, one in found.items()}
        return (
            found.tolist() if type(found) is np.ndarray else tuple(map(told, found)) if type(found) is tuple else found
        )

    assert told(agrad.evaluate(text, values, wrt=wrt)) == expected


@each(
    "text, message",
    [
        ("1; print 2", "expected one expression here"),
        ("1) + (2", "closes nothing"),
        ("y + x", "y of y \\+ x has no value"),
        ("2", "x is not in 2"),
        ("x.__class__", "there is no attribute"),
        ("sum([i for i in range(10**8)]) + x", "this took longer than 0.2 s"),
        ("zeros(10**9) + x", "the limit is 1 GB"),
        ('load_csv("/etc/passwd") + x', "file access is switched off"),
        ('chunks("/etc/passwd", x)', "file access is switched off"),
    ],
)
def test_a_text_is_an_expression_within_limits_and_without_files(text, message):
    with pytest.raises(AgradError, match=message):
        agrad.evaluate(text, x=1, seconds=0.2, memory=1e9)


def test_a_formula_is_shared_by_threads_and_mapped_as_it_is_called():
    formula, found = agrad.formula("a*exp(-b*t)"), []
    ts = np.linspace(0.0, 1.0, 50)
    threads = [Thread(target=lambda t=t: found.append((t, formula(a=2, b=3, t=t)))) for t in ts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    values, slopes = formula.map(a=2, b=3, t=ts)
    np.testing.assert_allclose([y for _, y in sorted(found)], values, rtol=1e-14)
    np.testing.assert_allclose(slopes["b"], [formula.gradient(a=2, b=3, t=t, wrt="b") for t in ts], rtol=1e-14)
    assert formula.export("tex", b=2).count("exp") == 4


def test_a_formula_shows_its_text():
    assert repr(agrad.formula("x**2*y")) == "formula('x**2*y')"
