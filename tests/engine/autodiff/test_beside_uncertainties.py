"""The behaviour of the package `uncertainties`, through names of its own: numbers, texts, matrices, arrays.

What agrad does otherwise, of what the tests of that package (3.2.3) state:

* reading: a whole number with an uncertainty in brackets has two digits or more, and more than the uncertainty, since
  `1(6)` is a call; powers of ten are `e-5`; `31` is exact, where the package adds one in the last digit; no uncertainty
  is nan, and no number is read from nothing.
* comparisons: `x == y`, `x >= 3` and `bool(x)` are of the values, and not whether they hold all around these or whether
  both are the same variable.
* derivatives: at a kink, as of hypot(0, 0), the slope is 0, with a note, not nan; those of x**1.5 and 0**0 at 0 are the
  limits from above; where a function has no value the result is nan or inf, with a note, and no exception.
* formats: ` ± ` has spaces; with `.3f`, `e`, `g` and `%` both numbers have that format, without a common power of ten;
  `.2u` takes no letter behind it but S, L, P; 3.4 in brackets is (34), the last digits; `str` does not round.
* `float(x)` is the value; an uncertainty belongs to a leaf, and is not assigned to.
"""

import math
import operator
import random

import numpy as np
import pytest
from rows import each
from sessions import said

import agrad.engine as ag
from agrad.engine.errors import AgradError
from agrad.engine.values import format_uncertain
from agrad.grammar.session.session import Session

uncertainties = pytest.importorskip("uncertainties")
unumpy = pytest.importorskip("uncertainties.unumpy")
pytestmark = pytest.mark.filterwarnings("ignore")  # the package warns of its own matrices, of abs, and of u = 0

TEXTS = """
-1.23(3.4) -1.34(5) 12.345(15) -12.3456(78)e-6 12.3(0.4)e-5 169.0(7) 169.1(15) .123(4) .1(.4) 1.234(56)e-7 100(15) 25(3)
-100.0(15) -0.1+/-1 (3.141±0.001)E+02 3.141E+02±0.001e2 (-3.1415e-10+/-1e-4)e+200
(3.14 +/- 0.01)e2 (3.14+/-0.01)e+02 (-3.1 ± 1.2)e-7 3.14 +/- 0.01 -3.14e3 +/- 1e1 2±0.1 (2±0.1) 123456(78) 12(3)e5
"""
OTHERWISE = (
    "1(6) -9(2) 3(4.2) 1234567(1.2) 10(10) 3.4(nan)e10 3.141±nan -3(0.)"  # read by the package, or refused by both
)


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


OPERATORS = "add sub mul truediv pow mod floordiv"
SIDES = {"mod": 1e-6, "pow": 1e-12, "floordiv": 1e-6}  # of which the package takes differences, to so many digits


@each("name", OPERATORS.split())
def test_operators_have_the_same_derivatives_for_large_and_negative_values(name):
    rng, operate = random.Random(name), getattr(operator, name)
    for _ in range(40):
        low = 0.1 if name == "pow" else -100.0
        values = [rng.uniform(low, 5.0 if name == "pow" else 100.0) for _ in range(2)]
        mine, others = [ag.uncertain(x, 1.0) for x in values], [uncertainties.ufloat(x, 1.0) for x in values]
        found, other = operate(*mine), operate(*others)
        slopes = [float(slope) for slope in ag.grad(found, mine)]
        expected = [other.derivatives[x] for x in others]
        assert float(found) == pytest.approx(other.nominal_value, rel=1e-13)
        assert slopes == pytest.approx(expected, rel=SIDES.get(name, 1e-12), abs=1e-9), values


RANGES = {"acosh": (1.1, 90), "asin": (-1, 1), "acos": (-1, 1), "atanh": (-1, 1), "erf": (-3, 3), "erfc": (-3, 3)}
RANGES |= dict.fromkeys(["exp", "sinh", "cosh", "expm1"], (-9, 9)) | dict.fromkeys(["sin", "cos", "tan"], (-90, 90))
RANGES |= dict.fromkeys(["log", "log10", "sqrt", "gamma", "lgamma"], (0.1, 90)) | {"log1p": (-0.9, 90)}


@each("name", ["asinh", "atan", "tanh", *RANGES])
def test_functions_have_the_same_derivatives_in_all_of_their_domain(name):
    umath, rng = pytest.importorskip("uncertainties.umath"), random.Random(name)
    for _ in range(40):
        value = rng.uniform(*RANGES.get(name, (-90, 90)))
        mine, other = ag.uncertain(value, 1.0), uncertainties.ufloat(value, 1.0)
        slope, expected = ag.grad(getattr(ag, name)(mine), mine), getattr(umath, name)(other).derivatives[other]
        assert float(slope) == pytest.approx(expected, rel=1e-6 if "gamma" in name else 1e-11), value


def test_covariances_of_all_sizes_come_back():
    cov = np.diag([1e-70, 1e-70, 1e10])
    cov[0, 1] = cov[1, 0] = 0.9e-70
    cov[[0, 1], 2] = cov[2, [0, 1]] = -3e-34
    for values, matrix in (([0.0, 0.0, 0.0], cov), ([1.0, 2.0, 3.0], np.diag([0.0, 0.0, 10.0]))):
        found = ag.covariance(ag.correlated(values, matrix)).data
        np.testing.assert_allclose(found, matrix, rtol=1e-9)
        others = uncertainties.correlated_values(values, matrix)
        assert [x.std_dev**2 for x in others] == pytest.approx(np.diag(matrix).tolist(), rel=1e-5)
    x, y = ag.uncertain(1.0, 0.1), ag.uncertain(2.0, 0.3)
    z = -3 * x + y
    again = ag.correlated([1.0, 2.0, -1.0], ag.covariance(x, y, z).data)
    assert ag.uncertainty(again[2] - (-3 * again[0] + again[1])) == pytest.approx(0.0, abs=1e-8)


FORMATS = (  # of which both give the same, but for the spaces around the sign
    "3.1415 0.0001 .2u 1.2345 0 .2f -123.456 0.123 S 1.234 0.045 .1uS 123.4 0.1 .2u 58.86 3.1 L 1e-9 2e-11 S "
    "12.3 456.78 .1u 1234.5 6.7 .2f 0.001 0.0002 .1uS 5.67 0.01 .3u"
)


def test_formats_are_read_back_alike():
    words = FORMATS.split()
    for value, u, spec in zip(*[iter(words)] * 3, strict=True):
        mine = format(ag.uncertain(float(value), float(u)), spec)
        other = format(uncertainties.ufloat(float(value), float(u)), spec)
        assert mine.replace(" ± ", "+/-").replace(" ", "") == other.replace(" ", "") or "L" not in spec, (mine, other)
        if "L" not in spec:
            back, there = map(uncertainties.ufloat_fromstr, (mine.replace(" ± ", "+/-"), other))
            assert back.nominal_value == pytest.approx(there.nominal_value, abs=0.5 * float(u)), (mine, other)
            assert back.std_dev == pytest.approx(there.std_dev, rel=0.06, abs=1e-12), (mine, other)


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


def test_the_rule_of_the_particle_data_group_looks_at_three_digits_without_rounding_them(monkeypatch):
    monkeypatch.setattr("agrad.engine.values.ROUNDING", [lambda: "pdg"])
    for u in (0.1, 0.354, 0.3549, 0.35499, 0.355, 0.8, 0.949, 0.9494, 0.95, 0.9949, 0.095, 3.549):
        other = f"{uncertainties.ufloat(12.345678, u)}"
        assert format_uncertain(12.345678, u) == other.replace("+/-", " ± "), u
