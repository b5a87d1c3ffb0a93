"""Edges and kinks: what each function and its derivatives are where they are not smooth, not finite, or not defined."""

import math
from pathlib import Path

import numpy as np
from points import derivatives, gradient, hessian, same, value
from rows import each, table
from transcript import sections

import agrad.engine as ag

inf, nan, pi = math.inf, math.nan, math.pi
TEXTS = {name: text for name, (text,) in sections(Path(__file__).with_name("edges.txt")).items()}


@each("f, x, y, first, second", table(TEXTS["points"], "x", globals()))  # None: not said
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


@each("f, at, y, first, second", table(TEXTS["pairs"], "x, y", globals()))  # the Hessian row by row
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


@each("f, x", table(TEXTS["choices"], "x", globals()))
def test_what_was_not_selected_contributes_exactly_0(f, x):
    same(derivatives(f, x), [0])
    same(derivatives(f, x, order=2), [0])
    leaf = ag.tensor(x, requires_grad=True)
    f(leaf).backward()
    same(value(leaf.grad), 0)


def _put(b, index, v):
    b[index] = v
    return b


@each("f, x, first, second", table(TEXTS["vectors"], "x", globals()))
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
