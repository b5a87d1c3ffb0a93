"""The behaviour of the package `uncertainties`, through names of its own: numbers, texts, matrices, arrays.

What agrad does otherwise, as docs/uncertainty.md says: a whole number with an uncertainty in brackets has two digits
or more, and more than the uncertainty, since `1(6)` is a call; powers of ten are `e-5`; a number is not read from
nothing; `x == y` compares values, and not whether both are the same variable.
"""

import math
import random

import numpy as np
import pytest
from rows import each
from sessions import said

import agrad.engine as ag
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

uncertainties = pytest.importorskip("uncertainties")
unumpy = pytest.importorskip("uncertainties.unumpy")
pytestmark = pytest.mark.filterwarnings("ignore")  # the package warns of its own matrices, of abs, and of u = 0

TEXTS = """
-1.23(3.4) -1.34(5) 12.345(15) -12.3456(78)e-6 12.3(0.4)e-5 169.0(7) 169.1(15) .123(4) .1(.4) 1.234(56)e-7 100(15) 25(3)
(3.14 +/- 0.01)e2 (3.14+/-0.01)e+02 (-3.1 ± 1.2)e-7 3.14 +/- 0.01 -3.14e3 +/- 1e1 2±0.1 (2±0.1) 123456(78) 12(3)e5
"""
OTHERWISE = "1(6) -9(2) 3(4.2) 1234567(1.2) 10(10)"  # read by the package, or refused by both


def read(text):
    session = Session()
    said(text, session)
    return session.evaluate("_")


def test_texts_are_read_alike():
    texts = [text for line in TEXTS.strip().splitlines() for text in split(line)]
    assert len(texts) >= 20
    for text in texts:
        mine, other = read(text), uncertainties.ufloat_fromstr(text)
        assert float(mine) == pytest.approx(other.nominal_value, rel=1e-15), text
        assert ag.uncertainty(mine) == pytest.approx(other.std_dev, rel=1e-14), text
        shown = f"{mine:S}", f"{other:.2u}"
        assert ag.uncertainty(read(shown[0])) == pytest.approx(other.std_dev, rel=0.05), shown
        assert float(read(shown[1])) == pytest.approx(other.nominal_value, abs=0.06 * other.std_dev), shown


def split(line):
    """The texts of a line: those with a sign between spaces are one."""
    words = line.replace(" +/- ", "_+/-_").replace(" ± ", "_±_").split()
    return [word.replace("_", " ") for word in words]


def test_what_is_read_otherwise_is_refused():
    for text in OTHERWISE.split():
        with pytest.raises(AgradError):
            read(text)


NUMBERS = [(name, 1) for name in "sin cos tan exp log sqrt sinh cosh tanh asin acos atan asinh atanh erf erfc".split()]
NUMBERS += [(name, 2) for name in "atan2 hypot pow".split()]
NUMBERS += [("gamma", 1), ("lgamma", 1), ("log10", 1), ("log1p", 1), ("expm1", 1)]


@each("name, count", NUMBERS)
def test_functions_of_numbers_have_the_same_uncertainties(name, count):
    umath, rng = pytest.importorskip("uncertainties.umath"), random.Random(name)
    for _ in range(20):
        values, us = [rng.uniform(0.1, 0.9) for _ in range(count)], [rng.uniform(0.001, 0.1) for _ in range(count)]
        mine = getattr(ag, name)(*map(ag.uncertain, values, us))
        other = getattr(umath, name)(*map(uncertainties.ufloat, values, us))
        assert float(mine) == pytest.approx(other.nominal_value, rel=1e-13, abs=1e-15)
        # The package takes differences where it knows no derivative, as of gamma and lgamma.
        assert ag.uncertainty(mine) == pytest.approx(other.std_dev, rel=1e-6 if "gamma" in name else 1e-12)


def numbers(make):
    x, y = make(2.0, 0.1), make(3.0, 0.2)
    z = x * y
    w = z / x - y + x
    return [
        x,
        y,
        z,
        w,
        x - x,
        x / x,
        2 * x,
        x**2,
        x**y,
        2**x,
        -x,
        abs(-x),
        1 / y,
        x + 1,
        1 - x,
        x % 1.5,
        x // 0.7,
        w + z,
    ]


def test_operators_and_matrices_are_those_of_the_package():
    mine, others = numbers(ag.uncertain), numbers(uncertainties.ufloat)
    for one, other in zip(mine, others, strict=True):
        assert float(one) == pytest.approx(other.nominal_value)
        assert ag.uncertainty(one) == pytest.approx(other.std_dev, abs=1e-15)
    some = [0, 1, 2, 3, 6, 17]
    mine, others = [mine[place] for place in some], [others[place] for place in some]
    np.testing.assert_allclose(ag.covariance(*mine).data, uncertainties.covariance_matrix(others), atol=1e-15)
    np.testing.assert_allclose(ag.correlation(*mine).data, uncertainties.correlation_matrix(others), atol=1e-12)
    matrix = np.array([[0.04, 0.01], [0.01, 0.09]])
    a, b = uncertainties.correlated_values([1.0, 2.0], matrix)
    v = ag.correlated([1.0, 2.0], matrix)
    assert ag.uncertainty(v[0] * v[1]) == pytest.approx((a * b).std_dev)
    made = uncertainties.correlated_values_norm([(1.0, 0.2), (2.0, 0.3)], [[1.0, 1 / 6], [1 / 6, 1.0]])
    assert ag.uncertainty(v[0] / v[1]) == pytest.approx((made[0] / made[1]).std_dev)


ARRAYS = {  # of an array, in the words of each: x, and another y of the same shape
    "sum": (lambda x, y: ag.sum(x), lambda x, y: x.sum()),
    "mean": (lambda x, y: ag.mean(x, axis=0), lambda x, y: x.mean(axis=0)),
    "product": (lambda x, y: x * y - x, lambda x, y: x * y - x),
    "dot": (lambda x, y: x @ y, lambda x, y: x.dot(y)),
    "cumsum": (lambda x, y: ag.cumsum(x, axis=1), lambda x, y: x.cumsum(axis=1)),
    "prod": (lambda x, y: ag.prod(x), lambda x, y: x.prod()),
    "transposed": (lambda x, y: x.T @ x, lambda x, y: x.T.dot(x)),
    "slice": (lambda x, y: x[1:] - x[:-1], lambda x, y: x[1:] - x[:-1]),
    "sin": (lambda x, y: ag.sin(x), lambda x, y: unumpy.sin(x)),
    "exp": (lambda x, y: ag.exp(x) / y, lambda x, y: unumpy.exp(x) / y),
    "arctan2": (lambda x, y: ag.atan2(x, y), lambda x, y: unumpy.arctan2(x, y)),
    "power": (lambda x, y: x**y, lambda x, y: x**y),
    "scaled": (lambda x, y: 2 * x[0, 0] * y, lambda x, y: 2 * x[0, 0] * y),
    "inverse": (lambda x, y: ag.inv(x), lambda x, y: unumpy.ulinalg.inv(x)),
}


@each("name", ARRAYS)
@each("seed", range(5))
def test_arrays_are_those_of_unumpy(name, seed):
    rng = np.random.default_rng(seed)
    parts = [(rng.uniform(0.5, 2.0, (3, 3)), rng.uniform(0.001, 0.01, (3, 3))) for _ in range(2)]
    mine, others = ARRAYS[name]
    found = mine(*[ag.uncertain(*part) for part in parts])
    other = np.asarray(others(*[unumpy.uarray(*part) for part in parts]))
    np.testing.assert_allclose(np.asarray(found.data), unumpy.nominal_values(other), rtol=1e-10)
    close = 1e-5 if name == "inverse" else 1e-10  # of which the package takes differences
    np.testing.assert_allclose(ag.uncertainty(found), unumpy.std_devs(other), rtol=close, atol=1e-14)


def test_what_is_not_finite_is_told_as_there():
    for value, u in ((math.nan, 0.1), (math.inf, 0.1), (1.0, math.inf), (1.0, 0.0)):
        mine, other = ag.uncertain(value, u) * 2.0, uncertainties.ufloat(value, u) * 2.0
        assert float(mine) == pytest.approx(other.nominal_value, nan_ok=True)
        assert ag.uncertainty(mine) == pytest.approx(other.std_dev, nan_ok=True)
