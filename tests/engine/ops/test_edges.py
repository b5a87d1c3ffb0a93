"""Edges and kinks: what each function and its derivatives are where they are not smooth, not finite, or not defined."""

import math

import numpy as np
from points import derivatives, gradient, hessian, same, value
from rows import each

import agrad.engine as ag

inf, nan, pi = math.inf, math.nan, math.pi


# One number: f, x, value, first derivative, second (None: not said)
POINTS = [
    ("abs", lambda x: ag.abs(x), 0, 0, 0, 0),
    ("sign", ag.sign, 0, 0, 0, 0),
    ("relu", ag.relu, 0, 0, 0, 0),
    ("floor", ag.floor, 2, 2, 0, 0),
    ("round half to even", ag.round, 2.5, 2, 0, 0),
    ("clip at the lower bound", lambda x: ag.clip(x, 0, 1), 0, 0, 1, 0),
    ("clip at the upper bound", lambda x: ag.clip(x, 0, 1), 1, 1, 1, 0),
    ("clip outside", lambda x: ag.clip(x, 0, 1), -0.5, 0, 0, 0),
    ("clip with bounds crossed", lambda x: ag.clip(x, 3, 2), 2.5, 2, 0, 0),
    ("clip of nan", lambda x: ag.clip(x, 0, 1), nan, nan, 0, 0),
    ("leaky_relu", ag.leaky_relu, 0, 0, 0.01, 0),
    ("elu", ag.elu, 0, 0, 1, None),
    ("selu", ag.selu, 0, 0, 1.0507009873554805 * 1.6732632423543772, None),
    ("hardtanh at 1", ag.hardtanh, 1, 1, 0, 0),
    ("hardtanh at -1", ag.hardtanh, -1, -1, 0, 0),
    ("huber at delta", lambda x: ag.huber_loss(x, 0.0, delta=1.0), 1, 0.5, 1, None),
    ("huber at another delta", lambda x: ag.huber_loss(x, 0.0, delta=3.0), 3, 4.5, 3, None),
    ("l1 at its target", lambda x: ag.l1_loss(x, 2.0), 2, 0, 0, 0),
    ("sqrt", ag.sqrt, 0, 0, inf, -inf),
    ("cbrt", ag.cbrt, 0, 0, inf, None),
    ("cbrt of -8", ag.cbrt, -8, -2, 1 / 12, 1 / 144),
    ("rsqrt", ag.rsqrt, 0, inf, -inf, inf),
    ("asin", ag.asin, 1, pi / 2, inf, None),
    ("acos", ag.acos, 1, 0, -inf, None),
    ("acos at -1", ag.acos, -1, pi, -inf, None),
    ("atanh", ag.atanh, 1, inf, inf, None),
    ("acosh", ag.acosh, 1, 0, inf, None),
    ("log", ag.log, 0, -inf, inf, -inf),
    ("log of -1", ag.log, -1, nan, nan, nan),
    ("log2 of -1", ag.log2, -1, nan, nan, nan),
    ("log10", ag.log10, 0, -inf, inf, -inf),
    ("log1p", ag.log1p, -1, -inf, inf, -inf),
    ("log1p below", ag.log1p, -2, nan, nan, nan),
    ("atanh of 2", ag.atanh, 2, nan, nan, None),
    ("acosh of -2", ag.acosh, -2, nan, nan, None),
    ("asinh far out", ag.asinh, 1e200, 461.2101657793691, 1e-200, None),
    ("acosh far out", ag.acosh, 1e200, 461.2101657793691, 1e-200, None),
    ("1/x", lambda x: 1 / x, 0, inf, -inf, inf),
    ("reciprocal", ag.reciprocal, 0, inf, -inf, inf),
    ("x/x", lambda x: x / x, 0, nan, nan, nan),
    ("sqrt(x)**2: a computed zero stays IEEE", lambda x: ag.sqrt(x) ** 2, 0, 0, nan, None),
    ("sqrt(x**2)", lambda x: ag.sqrt(x**2), 0, 0, nan, None),
    ("sinc", ag.sinc, 0, 1, 0, -pi * pi / 3),
    ("sinc beside 0", ag.sinc, 1e-9, 1, -pi * pi / 3 * 1e-9, -pi * pi / 3),
    ("x**0", lambda x: x**0, 0, 1, 0, 0),
    ("nan**0", lambda x: x**0, nan, 1, 0, 0),
    ("inf**0", lambda x: x**0, inf, 1, 0, 0),
    ("x**1", lambda x: x**1, 0, 0, 1, 0),
    ("x**2", lambda x: x**2, 0, 0, 0, 2),
    ("x**0.5", lambda x: x**0.5, 0, 0, inf, -inf),
    ("x**1.5", lambda x: x**1.5, 0, 0, 0, inf),
    ("x**-1", lambda x: x**-1, 0, inf, -inf, inf),
    ("(-2)**3", lambda x: x**3, -2, -8, 12, -12),
    ("0**y at 0", lambda y: 0**y, 0, 1, 0, 0),
    ("0**y", lambda y: 0**y, 2, 0, 0, 0),
    ("0**-1 by y", lambda y: 0**y, -1, inf, -inf, inf),
    ("sigmoid far right", ag.sigmoid, 1000, 1, 0, 0),
    ("sigmoid far left", ag.sigmoid, -1000, 0, 0, 0),
    ("sigmoid at inf", ag.sigmoid, inf, 1, 0, 0),
    ("softplus far right", ag.softplus, 1000, 1000, 1, 0),
    ("softplus at 20: no threshold", ag.softplus, 20.1, 20.10000000186500823, 0.9999999981349918, 1.86500891494625e-09),
    ("softplus far left", ag.softplus, -1000, 0, 0, 0),
    ("logsigmoid far left", ag.logsigmoid, -1000, -1000, 1, 0),
    ("logsigmoid far right", ag.logsigmoid, 1000, 0, 0, 0),
    ("silu far right", ag.silu, 1000, 1000, 1, 0),
    ("gelu far right", ag.gelu, 1000, 1000, 1, 0),
    ("tanh far right", ag.tanh, 1000, 1, 0, 0),
    ("tanh at inf", ag.tanh, inf, 1, 0, 0),
    ("exp overflows", ag.exp, 1000, inf, inf, inf),
    ("sinh overflows", ag.sinh, -1000, -inf, inf, -inf),
    ("atan at inf", ag.atan, inf, pi / 2, 0, None),
    ("erf at inf", ag.erf, inf, 1, 0, None),
]


@each("f, x, y, first, second", [p[1:] for p in POINTS])
@each("shape", [(), (2,)])
def test_point(f, x, y, first, second, shape):
    if shape:
        x, g = np.full(shape, float(x)), lambda x: ag.sum(f(x)) if np.ndim(value(f(x))) else f(x)
        loss = np.ndim(value(f(ag.tensor(x)))) == 0  # a loss of two entries is their mean
        share = 0.5 if loss else 1.0
        same(value(f(ag.tensor(x))), y if loss else [y, y])
        same(gradient(g, x), [first * share] * 2)
        if second is not None:
            same(np.diag(hessian(g, x)), [second * share] * 2, rtol=1e-9)
    else:
        same(derivatives(f, float(x), order=0), [y])
        same(derivatives(f, float(x)), [first])
        if second is not None:
            same(derivatives(f, float(x), order=2), [second], rtol=1e-9)


# Two numbers: f, point, value, gradient, Hessian row by row (None: not said)
PAIRS = [
    ("maximum tie", ag.maximum, (2, 2), 2, (0.5, 0.5), (0, 0, 0, 0)),
    ("minimum tie", ag.minimum, (2, 2), 2, (0.5, 0.5), (0, 0, 0, 0)),
    ("maximum of squares, tie", lambda x, y: ag.maximum(x * x, y * y), (2, 2), 4, (2, 2), (1, 0, 0, 1)),
    ("maximum with nan", ag.maximum, (1, nan), nan, (1, 1), None),
    ("max of two values", lambda x, y: ag.max(x, y), (1, 2), 2, (0, 1), (0, 0, 0, 0)),
    ("hypot", ag.hypot, (0, 0), 0, (0, 0), (nan, nan, nan, nan)),
    ("hypot on an axis", ag.hypot, (3, 0), 3, (1, 0), (0, 0, 0, 1 / 3)),
    ("hypot far out", ag.hypot, (1e200, 1e200), 1.4142135623730950e200, (0.5**0.5, 0.5**0.5), None),
    ("atan2", ag.atan2, (0, 0), 0, (0, 0), None),
    ("atan2 close", ag.atan2, (1e-200, 1e-200), pi / 4, (5e199, -5e199), None),
    ("atan2 far out", ag.atan2, (1e200, 1e200), pi / 4, (5e-201, -5e-201), None),
    ("x**y at 0, 0", lambda x, y: x**y, (0, 0), 1, (0, 0), None),
    ("x**y at 0, 2", lambda x, y: x**y, (0, 2), 0, (0, 0), (2, 0, 0, 0)),
    ("x**y at 0, 3", lambda x, y: x**y, (0, 3), 0, (0, 0), (0, 0, 0, 0)),
    ("x**y at 0, -1", lambda x, y: x**y, (0, -1), inf, (-inf, -inf), None),
    ("x**y at 2, 0", lambda x, y: x**y, (2, 0), 1, (0, math.log(2)), (0, 0.5, 0.5, math.log(2) ** 2)),
    ("x**y at -2, 3", lambda x, y: x**y, (-2, 3), -8, (12, nan), None),
    ("x**y at -2, 0.5", lambda x, y: x**y, (-2, 0.5), nan, (nan, nan), None),
    ("x % y at a jump", lambda x, y: x % y, (6, 3), 0, (1, -2), (0, 0, 0, 0)),
    ("x % y, negative", lambda x, y: x % y, (-7, 3), 2, (1, 3), (0, 0, 0, 0)),
    ("x % 0", lambda x, y: x % y, (1, 0), nan, (1, -inf), None),
    ("fmod, negative", ag.fmod, (-7, 3), -1, (1, 2), (0, 0, 0, 0)),
    ("x // y", lambda x, y: x // y, (7, 2), 3, (0, 0), None),
    ("1/0", lambda x, y: x / y, (1, 0), inf, (inf, -inf), None),
    ("0/0", lambda x, y: x / y, (0, 0), nan, (inf, nan), None),
    ("logaddexp far apart", ag.logaddexp, (1000, -1000), 1000, (1, 0), (0, 0, 0, 0)),
    ("logaddexp far out", ag.logaddexp, (-1000, -1000), -1000 + math.log(2), (0.5, 0.5), (0.25, -0.25, -0.25, 0.25)),
    ("logaddexp at -inf, 0", ag.logaddexp, (-inf, 0), 0, (0, 1), (0, 0, 0, 0)),
    ("logaddexp at inf, 0", ag.logaddexp, (inf, 0), inf, (1, 0), (0, 0, 0, 0)),
    ("logaddexp at inf, inf", ag.logaddexp, (inf, inf), inf, (nan, nan), None),
    ("logaddexp at -inf, -inf", ag.logaddexp, (-inf, -inf), -inf, (nan, nan), None),
    ("xlogy", ag.xlogy, (0, 0), 0, (-inf, 0), None),
    ("xlogy at 0, 2", ag.xlogy, (0, 2), 0, (math.log(2), 0), (0, 0.5, 0.5, 0)),
    ("xlogy of -1", ag.xlogy, (1, -1), nan, (nan, nan), None),
    ("binary_cross_entropy, sure and wrong", ag.binary_cross_entropy, (0, 1), inf, (-inf, None), None),
    ("binary_cross_entropy, sure and right", ag.binary_cross_entropy, (1, 1), 0, (-1, None), None),
]


@each("f, at, y, first, second", [p[1:] for p in PAIRS])
@each("shape", [(), (2,)])
def test_pair(f, at, y, first, second, shape):
    if shape:
        xs = [ag.tensor(np.full(shape, float(x)), requires_grad=True) for x in at]
        z = f(*xs)
        share = 1.0 if z.shape else 0.5
        same(value(z), np.full(z.shape, float(y)))
        for x, expected in zip(xs, first, strict=True):
            if expected is not None:
                same(value(ag.grad(ag.sum(z), x)), [expected * share] * 2)
    else:
        same(derivatives(f, *map(float, at), order=0), [y])
        for found, expected in zip(derivatives(f, *map(float, at)), first, strict=True):
            if expected is not None:
                same(found, expected)
        if second is not None:
            same(derivatives(f, *map(float, at), order=2), second)


def test_third_orders_of_a_power_are_those_of_the_function():
    third = derivatives(lambda x, y: x**y, 2.0, 0.0, order=3)
    l2 = math.log(2)
    xxy, xyy, yyy = -0.25, l2, l2**3
    same(third, [0, xxy, xxy, xyy, xxy, xyy, xyy, yyy], rtol=1e-12)


# Not selected contributes exactly 0, in all orders, also behind what is infinite

CHOICES = [
    ("where", lambda x: ag.where(x > 0, ag.log(x), 0), 0.0),
    ("where, other branch", lambda x: ag.where(x <= 0, 0, ag.sqrt(x)), 0.0),
    ("where around a quotient", lambda x: ag.where(x != 0, ag.sin(x) / x, 1), 0.0),
    ("where around an overflow", lambda x: ag.where(x < 700, ag.exp(x), 0), 1000.0),
    ("index", lambda x: ag.stack([ag.log(x), x * 0 + 1])[1], 0.0),
    ("relu", lambda x: ag.relu(ag.sqrt(x) - 1), 0.0),
    ("clip", lambda x: ag.clip(ag.sqrt(x), 1, 2), 0.0),
    ("maximum", lambda x: ag.maximum(ag.sqrt(x), 1), 0.0),
    ("minimum", lambda x: ag.minimum(-ag.sqrt(x), -1), 0.0),
    ("max", lambda x: ag.max(ag.stack([ag.sqrt(x), ag.sqrt(x + 1)])) - ag.sqrt(x + 1), 0.0),
    ("topk", lambda x: ag.topk(ag.stack([ag.sqrt(x), 1.0]), 1)[0].sum(), 0.0),
    ("hardtanh", lambda x: ag.hardtanh(ag.log(x)), 0.0),
]


@each("f, x", [c[1:] for c in CHOICES])
def test_what_was_not_selected_contributes_exactly_0(f, x):
    same(derivatives(f, x), [0])
    same(derivatives(f, x, order=2), [0])
    leaf = ag.tensor(x, requires_grad=True)
    f(leaf).backward()
    same(value(leaf.grad), 0)


VECTORS = [
    ("where", lambda x: ag.where(x > 0, ag.log(x), 0).sum(), [0, 2], [0, 0.5], [0, -0.25]),
    ("mask", lambda x: ag.log(x[x > 0]).sum(), [0, 2], [0, 0.5], [0, -0.25]),
    ("mask of a result", lambda x: ag.sqrt(x)[x > 0].sum(), [0, 4], [0, 0.25], [0, -1 / 32]),
    ("index", lambda x: ag.log(x)[1], [0, 2], [0, 0.5], [0, -0.25]),
    ("slice", lambda x: ag.log(x)[1:].sum(), [0, 2], [0, 0.5], [0, -0.25]),
    ("places", lambda x: ag.log(x)[[1, 1]].sum(), [0, 2], [0, 1], [0, -0.5]),
    ("index_put", lambda x: _put(ag.log(x), 0, 7.0).sum(), [0, 2], [0, 0.5], [0, -0.25]),
    ("max", lambda x: ag.max(ag.sqrt(x)), [0, 4], [0, 0.25], [0, -1 / 32]),
    ("min", lambda x: ag.min(-ag.sqrt(x)), [0, 4], [0, -0.25], [0, 1 / 32]),
    ("median", lambda x: ag.median(ag.sqrt(x)), [0, 4, 9], [0, 0.25, 0], [0, -1 / 32, 0]),
    ("sort", lambda x: ag.sort(ag.sqrt(x))[1], [0, 4], [0, 0.25], [0, -1 / 32]),
    ("topk", lambda x: ag.topk(ag.sqrt(x), 1)[0].sum(), [0, 4], [0, 0.25], [0, -1 / 32]),
    ("relu", lambda x: ag.relu(ag.sqrt(x) - 1).sum(), [0, 4], [0, 0.25], [0, -1 / 32]),
    ("tril", lambda x: ag.tril(ag.stack([ag.sqrt(x), ag.sqrt(x)]).T)[0].sum(), [4, 0], [0.25, 0], [-1 / 32, 0]),
    ("reshape and index", lambda x: ag.sqrt(x).reshape(2, 1).T[0, 1], [0, 4], [0, 0.25], [0, -1 / 32]),
    ("split", lambda x: ag.split(ag.sqrt(x), 2)[1].sum(), [0, 4], [0, 0.25], [0, -1 / 32]),
    ("concat", lambda x: ag.concat([ag.sqrt(x), x])[1:].sum(), [0, 4], [1, 1.25], [0, -1 / 32]),
    ("sum of a part", lambda x: ag.sum(ag.stack([ag.sqrt(x), x]), axis=1)[1], [0, 4], [1, 1], [0, 0]),
]


def _put(b, index, v):
    b[index] = v
    return b


@each("f, x, first, second", [v[1:] for v in VECTORS])
def test_what_was_not_selected_of_a_vector(f, x, first, second):
    same(gradient(f, x), first)
    if second is not None:
        same(np.diag(hessian(f, x)), second)


def test_rows_of_a_jacobian_are_about_one_entry():
    x = ag.tensor([0.0, 2.0], requires_grad=True)
    same(value(ag.jacobian(ag.log(x), x)), [[inf, 0], [0, 0.5]])
    x = ag.tensor([0.0, 4.0], requires_grad=True)
    same(value(ag.hessian(ag.sum(ag.sqrt(x)), x)), [[-inf, 0], [0, -1 / 32]])


def test_a_part_that_is_reached_elsewhere_keeps_its_infinity():
    assert derivatives(lambda x: ag.where(x > 0, ag.log(x), 0) + ag.log(x), 0.0) == [inf]


def test_what_a_condition_leaves_out_is_left_out_of_a_program_too():
    """Behind a row that mixes all entries, at an inf, where the choice was made otherwise when it was traced."""

    def f(x):
        return ag.where(x[1] > 0, x[1], ag.logsumexp(x))

    compiled = ag.compile(f, [0.5, -1.0], backend="python")
    for point in ([0.5, -1.0], [math.inf, 2.0], [1.0, 2.0], [math.inf, -2.0]):
        x = ag.tensor(point, requires_grad=True)
        f(x).backward()
        _, found = compiled.value_and_grad(np.array(point))
        assert np.array_equal(found, x.grad.value, equal_nan=True)
    x = ag.tensor([math.inf, 2.0], requires_grad=True)
    assert ag.grad(f(x), x, create_graph=True).tolist() == [0.0, 1.0]
