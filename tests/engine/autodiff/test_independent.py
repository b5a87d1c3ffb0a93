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


def softmax(x, axis=-1):
    return anp.exp(x) / anp.sum(anp.exp(x), axis=axis, keepdims=True)


M23, M33, M34, V3, B = (RNG.normal(size=shape) for shape in ((2, 3), (3, 3), (3, 4), (3,), (2, 3, 3)))
SPD = M33 @ M33.T + np.eye(3)
T234 = RNG.normal(size=(2, 3, 4))
CASES = {
    "softmax": (ag.softmax, softmax, M23),
    "softmax axis 0": (lambda x: ag.softmax(x, axis=0), lambda x: softmax(x, 0), M23),
    "log_softmax": (ag.log_softmax, lambda x: anp.log(softmax(x)), M23),
    "cumsum": (lambda x: ag.cumsum(x, axis=1), lambda x: anp.cumsum(x, axis=1), M23),
    "cumsum of all": (ag.cumsum, lambda x: anp.cumsum(x, axis=None), M23),
    "cumprod": (ag.cumprod, lambda x: anp.array([anp.prod(x[: k + 1]) for k in range(3)]), V3),
    "median odd": (ag.median, lambda x: anp.sort(x)[1], V3),
    "sort": (ag.sort, anp.sort, V3),
    "topk": (lambda x: ag.topk(x, 2)[0], lambda x: anp.sort(x)[::-1][:2], V3),
    "reshape": (lambda x: ag.reshape(x, 3, -1), lambda x: anp.reshape(x, (3, 2)), M23),
    "transpose": (ag.transpose, anp.transpose, T234),
    "transpose two": (lambda x: ag.transpose(x, 0, 2), lambda x: anp.swapaxes(x, 0, 2), T234),
    "permute": (lambda x: ag.permute(x, 2, 0, 1), lambda x: anp.transpose(x, (2, 0, 1)), T234),
    "T": (lambda x: x.T, lambda x: x.T, M23),
    "flatten": (ag.flatten, anp.ravel, T234),
    "squeeze": (ag.squeeze, anp.squeeze, RNG.normal(size=(1, 3, 1))),
    "unsqueeze": (lambda x: ag.unsqueeze(x, 1), lambda x: anp.expand_dims(x, 1), M23),
    "expand": (lambda x: ag.expand(x, 4, -1, 3), lambda x: x * np.ones((4, 2, 3)), M23),
    "concat": (lambda x, y: ag.concat([x, y], axis=1), lambda x, y: anp.concatenate([x, y], axis=1), M33, M34),
    "stack": (lambda x, y: ag.stack([x, y], axis=1), lambda x, y: anp.stack([x, y], axis=1), V3, V3 + 1),
    "split": (lambda x: ag.split(x, [1], axis=1)[1], lambda x: anp.split(x, [1], axis=1)[1], M23),
    "flip": (lambda x: ag.flip(x, 1), lambda x: x[:, ::-1], M23),
    "roll": (lambda x: ag.roll(x, 1, 1), lambda x: anp.roll(x, 1, 1), M23),
    "repeat": (lambda x: ag.repeat(x, 2, 1), lambda x: anp.repeat(x, 2, 1), M23),
    "tile": (lambda x: ag.tile(x, (2, 2)), lambda x: anp.tile(x, (2, 2)), M23),
    "diag": (ag.diag, anp.diag, V3),
    "diag of a matrix": (ag.diag, anp.diag, M33),
    "diagonal": (ag.diagonal, lambda x: anp.stack([x[0, 0], x[1, 1]], axis=1), T234),
    "tril": (ag.tril, anp.tril, M33),
    "triu": (lambda x: ag.triu(x, 1), lambda x: anp.triu(x, 1), M33),
    "outer": (ag.outer, anp.outer, V3, V3 + 1),
    "clip": (lambda x: ag.clip(x, -0.5, 0.5), lambda x: anp.clip(x, -0.5, 0.5), M23),
    "matmul": (lambda x, y: x @ y, anp.matmul, M23, M34),
    "matmul vector": (lambda x, y: x @ y, anp.matmul, M23, V3),
    "matmul of vectors": (lambda x, y: x @ y, anp.matmul, V3, V3 + 1),
    "matmul batch": (lambda x, y: x @ y, anp.matmul, B, M34),
    "matmul broadcast": (lambda x, y: x @ y, anp.matmul, B[:, None], B[:1]),
    "dot": (ag.dot, anp.dot, M23, M34),
    "dot of stacks": (ag.dot, anp.dot, M23, T234),
    "trace": (ag.trace, anp.trace, M33),
    "kron": (ag.kron, anp.kron, M23, M33),
    "inv": (ag.inv, anp.linalg.inv, M33),
    "inv batch": (ag.inv, anp.linalg.inv, B),
    "det": (ag.det, anp.linalg.det, M33),
    "det batch": (ag.det, anp.linalg.det, B),
    "slogdet": (lambda x: ag.slogdet(x)[1], lambda x: anp.linalg.slogdet(x)[1], M33),
    "slogdet batch": (lambda x: ag.slogdet(x)[1], lambda x: anp.linalg.slogdet(x)[1], B),
    "solve": (ag.solve, anp.linalg.solve, M33, V3),
    "solve matrix": (ag.solve, anp.linalg.solve, M33, M34),
    "solve batch": (ag.solve, anp.linalg.solve, B, B[::-1, :, :2]),
    "solve broadcast": (ag.solve, lambda x, y: anp.matmul(anp.linalg.inv(x), y), B, M34),
    "solve batch, one vector": (ag.solve, lambda x, y: anp.matmul(anp.linalg.inv(x), y), B, V3),
    "cholesky": (ag.cholesky, lambda x: anp.linalg.cholesky((x + x.T) / 2), SPD),
    "eigh values": (lambda x: ag.eigh(x)[0], lambda x: anp.linalg.eigh((x + x.T) / 2)[0], SPD),
    "eigh vectors": (lambda x: ag.eigh(x)[1], lambda x: anp.linalg.eigh((x + x.T) / 2)[1], SPD),
    "svd values": (lambda x: ag.svd(x)[1], lambda x: anp.linalg.svd(x, full_matrices=False)[1], M34),
    "svd left": (lambda x: ag.svd(x)[0], lambda x: anp.linalg.svd(x, full_matrices=False)[0], M34),
    "svd right": (lambda x: ag.svd(x)[2], lambda x: anp.linalg.svd(x, full_matrices=False)[2], M34),
    "svd right tall": (lambda x: ag.svd(x)[2], lambda x: anp.linalg.svd(x, full_matrices=False)[2], M34.T),
    "pinv": (ag.pinv, anp.linalg.pinv, M33),
    "pinv tall": (ag.pinv, lambda x: anp.linalg.solve(x.T @ x, x.T), M34.T),
    "lstsq": (ag.lstsq, lambda x, y: anp.linalg.solve(x.T @ x, x.T @ y), M34.T, np.arange(4.0)),
    "qr": (lambda x: anp_free_qr(x), lambda x: gram_schmidt(x), M33),
    "matrix_power": (lambda x: ag.matrix_power(x, 5), lambda x: x @ x @ x @ x @ x, M33),
    "norm nuc": (lambda x: ag.norm(x, ord="nuc"), lambda x: anp.linalg.norm(x, "nuc"), M23),
    "norm 3": (lambda x: ag.norm(x, ord=3), lambda x: anp.sum(anp.abs(x) ** 3) ** (1 / 3), V3),
    "norm 1 of a matrix": (lambda x: ag.norm(x, ord=1), lambda x: anp.max(anp.sum(anp.abs(x), 0)), M23),
    "norm inf of a matrix": (lambda x: ag.norm(x, ord=np.inf), lambda x: anp.max(anp.sum(anp.abs(x), 1)), M23),
    "norm 2 of a matrix": (lambda x: ag.norm(x, ord=2), lambda x: anp.linalg.svd(x, full_matrices=False)[1][0], M23),
    "einsum": (lambda x, y: ag.einsum("ij,jk->ik", x, y), lambda x, y: anp.einsum("ij,jk->ik", x, y), M23, M34),
    "einsum implicit": (lambda x, y: ag.einsum("ij,jk", x, y), lambda x, y: anp.einsum("ij,jk", x, y), M23, M34),
    "einsum dots": (lambda x, y: ag.einsum("...ij,j->...i", x, y), lambda x, y: anp.einsum("...ij,j->...i", x, y), B, V3),
    "einsum trace": (lambda x: ag.einsum("ii", x), lambda x: anp.sum(x * np.eye(3)), M33),
    "einsum sums": (lambda x, y: ag.einsum("ij,k->i", x, y), lambda x, y: anp.sum(x, 1) * anp.sum(y), M23, V3),
    "einsum three": (
        lambda x, y, z: ag.einsum("ij,jk,k->i", x, y, z), lambda x, y, z: x @ y @ z, M23, M33, V3,
    ),
    "mse_loss": (ag.mse_loss, lambda x, y: anp.mean((x - y) ** 2), M23, M23 + 1),
    "l1_loss": (ag.l1_loss, lambda x, y: anp.mean(anp.abs(x - y)), M23, M23[::-1]),
    "huber_loss": (
        ag.huber_loss,
        lambda x, y: anp.mean(anp.where(anp.abs(x - y) < 1, 0.5 * (x - y) ** 2, anp.abs(x - y) - 0.5)), M23, 3 * M23[::-1],
    ),
    "cross_entropy": (
        lambda x: ag.cross_entropy(x, [2, 0]), lambda x: -(anp.log(softmax(x))[0, 2] + anp.log(softmax(x))[1, 0]) / 2, M23,
    ),
    "binary_cross_entropy": (
        ag.binary_cross_entropy, lambda x, y: -anp.mean(y * anp.log(x) + (1 - y) * anp.log(1 - x)),
        np.array([0.2, 0.7]), np.array([0.4, 0.9]),
    ),
    "index": (lambda x: x[:, [0, 2, 2]], lambda x: x[:, [0, 2, 2]], M23),
    "mask": (lambda x: x[x > 0], lambda x: x[x > 0], M23),
}  # fmt: skip


def anp_free_qr(x):
    """The columns of q with the signs of a positive diagonal, then r."""
    q, r = ag.qr(x)
    signs = np.sign(np.diag(value(r)))
    return ag.concat([q * signs, r * signs[:, None]])


def gram_schmidt(x):
    columns = []
    for k in range(3):
        v = x[:, k]
        for q in columns:
            v = v - anp.dot(q, x[:, k]) * q
        columns.append(v / anp.sqrt(anp.dot(v, v)))
    q = anp.stack(columns, axis=1)
    return anp.concatenate([q, anp.dot(q.T, x)])


@each("case", CASES)
def test_case(case):
    ours, theirs, *xs = CASES[case]
    compare(ours, theirs, *xs)
