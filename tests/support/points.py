"""Derivatives at a point, for the tests of edges and kinks."""

import numpy as np

import agrad.engine as ag


def value(y):
    return np.asarray(y.data if isinstance(y, ag.Tensor) else y)


def derivatives(f, *xs, order=1):
    """All derivatives of that order of a function of numbers: by its one argument, or nested by each of several."""
    leaves = [ag.tensor(x, requires_grad=True) for x in xs]
    y = f(*leaves)
    result = [y]
    for _ in range(order):
        result = [by(y, x) for y in result for x in leaves]
    return [float(value(y)) for y in result]


def by(y, x):
    if not y.requires_grad:
        return ag.tensor(0.0)
    try:
        return ag.grad(y, x, create_graph=True)
    except ag.AgradError as error:
        assert error.kind == "grad"
        return ag.tensor(0.0)


def gradient(f, x):
    leaf = ag.tensor(x, requires_grad=True)
    return value(ag.grad(f(leaf), leaf))


def hessian(f, x):
    leaf = ag.tensor(x, requires_grad=True)
    return value(ag.hessian(f(leaf), leaf))


def same(found, expected, rtol=1e-12):
    np.testing.assert_allclose(np.asarray(found, dtype=float), np.asarray(expected, dtype=float), rtol=rtol, atol=0)
