"""Random functions of two matrices, over nearly all operations that have derivatives."""

from importlib.util import find_spec

import numpy as np

import agrad.engine as ag

SIZE = 3
EYE = np.eye(SIZE)


def inside(x, low, high):
    """Moved smoothly into an interval, for functions that are defined or tame only there."""
    return low + (high - low) * (0.5 + 0.5 * ag.sin(x))


def positive_definite(x):
    return x @ x.T / (1 + ag.norm(x)) + EYE + np.diag([0.0, 1.0, 2.5])


UNARY = {
    **dict.fromkeys("""exp exp2 expm1 square sin cos atan sinh cosh tanh asinh sinc deg2rad\n        relu leaky_relu elu selu gelu silu softplus sigmoid logsigmoid hardtanh erf erfc ndtr abs floor sign\n        softmax log_softmax sort flip neg clone""".split(), (-2, 2)),
    **dict.fromkeys("log log2 log10 log1p sqrt cbrt rsqrt reciprocal gamma lgamma".split(), (0.4, 3)),
    **dict.fromkeys("asin acos atanh tan".split(), (-0.9, 0.9)),
    "acosh": (1.2, 3), "rad2deg": (-0.03, 0.03),
}  # fmt: skip
SCIPY = {**dict.fromkeys("j0 j1 i0 i1".split(), (-2, 2)), "digamma": (0.6, 3), "erfinv": (-0.8, 0.8)}
if find_spec("scipy") is None:
    del UNARY["gamma"], UNARY["lgamma"]
else:
    UNARY.update(SCIPY)
BINARY = {
    **dict.fromkeys("add sub mul maximum minimum hypot logaddexp matmul atan2".split(), (-2, 2)),
    **dict.fromkeys("div pow remainder fmod xlogy".split(), (0.5, 2.5)),
    **({} if find_spec("scipy") is None else dict.fromkeys(("beta", "lbeta"), (0.6, 2.5))),
}
WHOLE = {
    "sum": ag.sum, "mean": ag.mean, "prod": lambda x: ag.prod(inside(x, 0.5, 1.5)), "max": ag.max, "min": ag.min,
    "var": ag.var, "std": ag.std, "norm": ag.norm, "logsumexp": ag.logsumexp, "median": ag.median,
    "norm 3": lambda x: ag.norm(ag.flatten(x), ord=3), "sum of rows": lambda x: ag.sum(x, axis=0),
    "max of rows": lambda x: ag.max(x, axis=1, keepdims=True), "std of rows": lambda x: ag.std(x, axis=0, ddof=1),
    "det": ag.det, "slogdet": lambda x: ag.slogdet(positive_definite(x))[1], "trace": ag.trace,
    "nuclear norm": lambda x: ag.norm(x + 3 * EYE, ord="nuc"), "index": lambda x: x[0, 1], "row": lambda x: x[-1],
    "mse_loss": lambda x: ag.mse_loss(x, EYE), "huber_loss": lambda x: ag.huber_loss(x, EYE),
    "cross_entropy": lambda x: ag.cross_entropy(x, [0, 2, 1]), "dot": lambda x: ag.dot(x[0], x[1]),
}  # fmt: skip
MATRIX = {
    "inv": lambda x: ag.inv(positive_definite(x)), "solve": lambda x: ag.solve(positive_definite(x), EYE[0] + x),
    "cholesky": lambda x: ag.cholesky(positive_definite(x)), "pinv": lambda x: ag.pinv(positive_definite(x)),
    "eigh values": lambda x: ag.eigh(positive_definite(x))[0], "lstsq": lambda x: ag.lstsq(positive_definite(x), x),
    "svd values": lambda x: ag.svd(x + np.diag([1.0, 3.0, 6.0]))[1], "qr": lambda x: ag.qr(x + 4 * EYE)[1],
    "matrix_power": lambda x: ag.matrix_power(x / 2, 3), "transpose": ag.transpose, "roll": lambda x: ag.roll(x, 1, 0),
    "cumsum": lambda x: ag.cumsum(x, axis=1), "cumprod": lambda x: ag.cumprod(x, axis=0), "tril": ag.tril,
    "reshape": lambda x: ag.reshape(ag.flatten(x), SIZE, SIZE), "triu": ag.triu, "diag": lambda x: ag.diag(x[1]),
    "outer": lambda x: ag.outer(x[0], x[:, 1]), "concat": lambda x: ag.concat([x[1:], x[:1]]),
    "stack": lambda x: ag.stack([x[2], x[0], x[1]], axis=1), "split": lambda x: ag.concat(ag.split(x, 3)[::-1]),
    "tile": lambda x: ag.tile(x[:1], (3, 1)), "repeat": lambda x: ag.repeat(x[1:2], 3, 0),
    "topk": lambda x: ag.topk(x, 3, axis=0)[0], "kron": lambda x: ag.kron(x[:1], x[:, :1]),
    "einsum": lambda x: ag.einsum("ij,kj,kl->il", x, x, x) / 4, "where": lambda x: ag.where(x > 0, x * x, ag.exp(x)),
    "clip": lambda x: ag.clip(x, -0.5, 0.7), "permute": lambda x: ag.permute(x, 1, 0),
    "mask": lambda x: x + ag.sum(x[x > 0.3]), "squeeze": lambda x: ag.squeeze(ag.unsqueeze(x, 0)),
    "expand": lambda x: ag.expand(x[1], SIZE, SIZE), "diagonal": lambda x: x * ag.diagonal(x),
}  # fmt: skip


def matrix_function(rng, depth):
    """A random function of two matrices, with its text."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice([(lambda x, y: x, "x"), (lambda x, y: y, "y"), (lambda x, y: x + y, "x+y")])
    inner, text = matrix_function(rng, depth - 1)
    kind = rng.choice(["unary", "unary", "binary", "binary", "whole", "matrix"])
    if kind == "unary":
        name = rng.choice(sorted(UNARY))
        low, high = UNARY[name]
        return lambda x, y: ag.FUNCTIONS[name].call(inside(inner(x, y), low, high)), f"{name}({text})"
    if kind == "binary":
        name = rng.choice(sorted(BINARY))
        other, other_text = matrix_function(rng, depth - 1)
        low, high = BINARY[name]

        def both(x, y):
            return ag.FUNCTIONS[name].call(inside(inner(x, y), low, high), inside(other(x, y), low, high))

        return both, f"{name}({text}, {other_text})"
    table = WHOLE if kind == "whole" else MATRIX
    name = rng.choice(sorted(table))
    return lambda x, y: table[name](inside(inner(x, y), -1, 1)) + 0.1 * inner(x, y), f"{name}({text})"
