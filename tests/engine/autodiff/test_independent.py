"""Values and gradients against HIPS autograd, which has rules of its own, on random inputs of several shapes."""

import numpy as np
import pytest
from rows import each

import agrad.engine as ag

autograd = pytest.importorskip("autograd")


anp = pytest.importorskip("autograd.numpy")


special = pytest.importorskip("autograd.scipy.special")


SHAPES = [(), (1,), (5,), (2, 3), (2, 1, 3), (0,), (2, 0)]


RNG = np.random.default_rng(20)


def value(y):
    return np.asarray(y.data if isinstance(y, ag.Tensor) else y)


def compare(ours, theirs, *xs, rtol=1e-10):
    """The value, and the gradient by each operand against a random seed."""
    leaves = [ag.tensor(x, requires_grad=True) for x in xs]
    y = ours(*leaves)
    expected = np.asarray(theirs(*xs))
    assert y.shape == expected.shape
    np.testing.assert_allclose(value(y), expected, rtol=rtol, atol=rtol)
    seed = RNG.normal(size=y.shape)
    found = ag.grad(y, leaves, gradient=seed if y.shape else float(seed))
    for place, g in enumerate(found):
        reference = autograd.grad(lambda *xs: anp.sum(theirs(*xs) * seed), place)(*xs)
        assert g.shape == np.shape(xs[place])
        np.testing.assert_allclose(value(g), reference, rtol=rtol, atol=rtol)


def drawn(shape, low, high):
    x = RNG.uniform(low, high, size=shape)
    return x if shape else float(x)


ANY, POSITIVE, UNIT, ABOVE_1 = (-3, 3), (0.1, 4), (-0.95, 0.95), (1.05, 4)


UNARY = {
    "exp": (anp.exp, ANY), "exp2": (anp.exp2, ANY), "expm1": (anp.expm1, ANY), "log": (anp.log, POSITIVE),
    "log2": (anp.log2, POSITIVE), "log10": (anp.log10, POSITIVE), "log1p": (anp.log1p, POSITIVE),
    "sqrt": (anp.sqrt, POSITIVE), "cbrt": (lambda x: anp.sign(x) * anp.abs(x) ** (1 / 3), ANY),
    "rsqrt": (lambda x: x**-0.5, POSITIVE), "square": (anp.square, ANY), "reciprocal": (anp.reciprocal, POSITIVE),
    "abs": (anp.abs, ANY), "sign": (lambda x: anp.sign(x) + 0 * x, ANY), "floor": (lambda x: anp.floor(x) + 0 * x, ANY),
    "ceil": (lambda x: anp.ceil(x) + 0 * x, ANY), "round": (lambda x: anp.round(x) + 0 * x, ANY),
    "sin": (anp.sin, ANY), "cos": (anp.cos, ANY), "tan": (anp.tan, (-1.4, 1.4)), "asin": (anp.arcsin, UNIT),
    "acos": (anp.arccos, UNIT), "atan": (anp.arctan, ANY), "sinh": (anp.sinh, ANY), "cosh": (anp.cosh, ANY),
    "tanh": (anp.tanh, ANY), "asinh": (anp.arcsinh, ANY), "acosh": (anp.arccosh, ABOVE_1),
    "atanh": (anp.arctanh, UNIT), "sinc": (anp.sinc, POSITIVE), "deg2rad": (anp.deg2rad, ANY),
    "rad2deg": (anp.rad2deg, ANY), "relu": (lambda x: anp.maximum(x, 0), ANY),
    "leaky_relu": (lambda x: anp.where(x > 0, x, 0.01 * x), ANY),
    "elu": (lambda x: anp.where(x > 0, x, anp.expm1(x)), ANY),
    "selu": (lambda x: 1.0507009873554805 * anp.where(x > 0, x, 1.6732632423543772 * anp.expm1(x)), ANY),
    "gelu": (lambda x: x * (1 + special.erf(x / 2**0.5)) / 2, ANY), "silu": (lambda x: x / (1 + anp.exp(-x)), ANY),
    "softplus": (lambda x: anp.log1p(anp.exp(x)), ANY), "sigmoid": (lambda x: 1 / (1 + anp.exp(-x)), ANY),
    "logsigmoid": (lambda x: -anp.log1p(anp.exp(-x)), ANY), "hardtanh": (lambda x: anp.clip(x, -1, 1), ANY),
    "erf": (special.erf, ANY), "erfc": (special.erfc, ANY), "erfinv": (special.erfinv, UNIT),
    "gamma": (special.gamma, POSITIVE), "lgamma": (special.gammaln, POSITIVE), "digamma": (special.psi, POSITIVE),
    "ndtr": (lambda x: (1 + special.erf(x / 2**0.5)) / 2, ANY), "j0": (special.j0, ANY), "j1": (special.j1, ANY),
    "i0": (lambda x: special.iv(0, x), POSITIVE), "i1": (lambda x: special.iv(1, x), POSITIVE),
    "neg": (anp.negative, ANY),
}  # fmt: skip


BINARY = {
    "add": (anp.add, ANY), "sub": (anp.subtract, ANY), "mul": (anp.multiply, ANY), "div": (anp.divide, POSITIVE),
    "pow": (anp.power, POSITIVE), "remainder": (anp.remainder, POSITIVE), "hypot": (lambda x, y: (x**2 + y**2) ** 0.5, ANY),
    "fmod": (lambda x, y: x - y * anp.trunc(x / y), POSITIVE), "atan2": (anp.arctan2, ANY),
    "maximum": (anp.maximum, ANY), "minimum": (anp.minimum, ANY), "logaddexp": (anp.logaddexp, ANY),
    "xlogy": (lambda x, y: x * anp.log(y), POSITIVE), "beta": (special.beta, POSITIVE), "lbeta": (special.betaln, POSITIVE),
    "where": (lambda x, y: (x > 0) * x + (1 - (x > 0)) * y, ANY),
}  # fmt: skip


PAIRS = [
    ((), ()),
    ((3,), ()),
    ((), (3,)),
    ((2, 3), (3,)),
    ((2, 1), (3,)),
    ((2, 1, 3), (4, 1)),
    ((0,), (1,)),
    ((1,), (1, 1)),
]


@each("shape", SHAPES)
@each("name", UNARY)
def test_function_of_one_number(name, shape):
    theirs, (low, high) = UNARY[name]
    compare(getattr(ag, name), theirs, drawn(shape, low, high))


@each("shapes", PAIRS)
@each("name", BINARY)
def test_function_of_two_numbers(name, shapes):
    theirs, (low, high) = BINARY[name]
    ours = getattr(ag, name) if name != "where" else lambda x, y: ag.where(x > 0, x, y)
    compare(ours, theirs, *(drawn(shape, low, high) for shape in shapes))


def std(x, **words):
    return anp.std(x, **words)


def logsumexp(x, axis=None, keepdims=False):
    return anp.log(anp.sum(anp.exp(x), axis=axis, keepdims=keepdims))


REDUCTIONS = {
    "sum": anp.sum, "mean": anp.mean, "prod": anp.prod, "max": anp.max, "min": anp.min, "var": anp.var, "std": std,
    "logsumexp": logsumexp, "norm": lambda x, **words: anp.sum(x * x, **words) ** 0.5,
}  # fmt: skip


@each("keepdims", [False, True])
@each(
    "shape, axis",
    [
        ((5,), None),
        ((5,), 0),
        ((2, 3), None),
        ((2, 3), 0),
        ((2, 3), -1),
        ((2, 3, 4), (0, 2)),
        ((2, 3, 4), 1),
        ((2, 2), (0, 1)),
    ],
)
@each("name", REDUCTIONS)
def test_reduction(name, shape, axis, keepdims):
    words = {"axis": axis, "keepdims": keepdims}
    compare(lambda x: getattr(ag, name)(x, **words), lambda x: REDUCTIONS[name](x, **words), RNG.normal(size=shape))


@each("name", ["var", "std"])
def test_ddof(name):
    compare(
        lambda x: getattr(ag, name)(x, axis=1, ddof=1),
        lambda x: getattr(anp, name)(x, axis=1, ddof=1),
        RNG.normal(size=(2, 3)),
    )
