"""jacobian, hessian, jvp, vjp, hvp and grad, of values and of functions."""

import math

import numpy as np
import pytest
from refused import leaf, refusals, refuses
from rows import each

import agrad.engine as ag
from agrad.engine.autodiff import transforms


def value(y):
    return np.asarray(getattr(y, "data", y))


def same(found, expected):
    np.testing.assert_allclose(value(found), expected, rtol=1e-12, atol=1e-15)


A = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]])


X = np.array([0.5, -1.2, 2.0])


def tower(x):
    return ag.sin(A @ x) * ag.sum(x * x)


def tower_jacobian(x):
    return np.cos(A @ x)[:, None] * A * (x @ x) + np.outer(np.sin(A @ x), 2 * x)


@pytest.fixture
def passes(monkeypatch):
    """Counts what a Jacobian is computed by."""
    counted = {"forward": 0, "backward": 0}

    def counting(way, real):
        def count(*args):
            counted[way] += 1
            return real(*args)

        return count

    monkeypatch.setattr(transforms, "push_along", counting("forward", transforms.push_along))
    monkeypatch.setattr(transforms, "walk", counting("backward", transforms.walk))
    return counted


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_jacobian_takes_as_few_passes_as_its_shape_allows(passes, create_graph):
    w, s, times = leaf([0.5, 2.0]), leaf(3.0), np.linspace(0.0, 1.0, 50)
    y = ag.exp(-w[1] * times) * ag.sin(w[0] * times) * s
    by_w, by_s = ag.jacobian(y, [w, s], create_graph)
    assert passes == {"forward": 3, "backward": 0}
    decay = np.exp(-2 * times)
    same(by_w, np.stack([times * np.cos(0.5 * times) * decay * 3, -times * np.sin(0.5 * times) * decay * 3], -1))
    same(by_s, np.sin(0.5 * times) * decay)
    ag.jacobian(y[:5], [w, s])
    assert passes == {"forward": 3, "backward": 5}


def test_a_jacobian_by_forward_passes_can_be_differentiated_again(passes):
    x = leaf(0.5)
    slopes = ag.jacobian(ag.sin(x * X), x, create_graph=True)
    curves = ag.jacobian(slopes, x)
    assert passes == {"forward": 2, "backward": 0}
    same(curves, -X * X * np.sin(0.5 * X))


def test_a_jacobian_calls_hooks_and_functions_of_the_user(passes):
    class Square(ag.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    x = leaf(0.5)
    y = x * np.ones(4)
    y.register_hook(lambda g: 10 * g)
    same(ag.jacobian(y * 2, x), [20, 20, 20, 20])
    same(ag.jacobian(Square.apply(x) * np.ones(4), x), [1, 1, 1, 1])
    assert passes == {"forward": 0, "backward": 8}


def test_a_jacobian_of_nothing_is_empty():
    none, s = leaf(np.zeros((0,))), leaf(2.0)
    y = s * np.ones(4) + ag.sum(none)
    assert [j.shape for j in ag.jacobian(y, [none, s])] == [(4, 0), (4,)]


def test_a_jacobian_of_a_freed_graph_is_refused():
    s = leaf(2.0)
    y = ag.exp(s * np.ones(4))
    y.sum().backward()
    refuses(lambda: ag.jacobian(y, s), kind="freed")


def test_jacobian_of_a_value_and_of_a_function():
    x = leaf(X)
    same(ag.jacobian(tower(x), x), tower_jacobian(X))
    assert not ag.jacobian(tower(x), x).requires_grad
    assert ag.jacobian(tower(x), x, create_graph=True).requires_grad
    same(ag.jacobian(tower)(X), tower_jacobian(X))
    same(ag.jacobian(lambda a, x: a * tower(x), 1)(2.0, X), 2 * tower_jacobian(X))
    by_a, by_x = ag.jacobian(lambda a, x: a * tower(x), (0, 1))(2.0, X)
    same(by_a, value(tower(ag.tensor(X))))
    same(by_x, 2 * tower_jacobian(X))


def test_shapes_of_jacobians():
    x, s = leaf(np.ones((2, 3))), leaf(2.0)
    assert ag.jacobian(x * s, x).shape == (2, 3, 2, 3)
    assert ag.jacobian(x * s, s).shape == (2, 3)
    assert ag.jacobian(ag.sum(x) * s, x).shape == (2, 3)
    assert ag.jacobian(ag.sum(x) * s, s).shape == ()
    assert [j.shape for j in ag.jacobian(x * s, [x, s])] == [(2, 3, 2, 3), (2, 3)]
    assert ag.jacobian(leaf(np.zeros(0)) * s, s).shape == (0,)


def test_hessian_of_a_value_and_of_a_function():
    x = leaf(X)
    expected = 2 * np.eye(3) * math.exp(0.0) + 0
    same(ag.hessian(ag.sum(x * x), x), expected)
    same(ag.hessian(lambda x: ag.sum(x**3))(X), np.diag(6 * X))
    same(ag.hessian(lambda x: x**3)(2.0), 12)


def test_a_hessian_by_several_numbers_is_a_matrix_and_one_by_arrays_has_blocks():
    x, y = leaf(2.0), leaf(3.0)
    for several in ([x, y], (x, y), ag.stack([x, y])):
        same(ag.hessian(x**2 * y, several), [[6, 4], [4, 0]])
    same(ag.hessian(lambda x, y: x**2 * y, (0, 1))(2.0, 3.0), [[6, 4], [4, 0]])
    x = leaf([1.0, 2.0])
    blocks = ag.hessian(ag.sum(x**2) * y, [x, y])
    for found, expected in zip([one for row in blocks for one in row], [6 * np.eye(2), [2, 4], [2, 4], 0], strict=True):
        same(found, expected)


def test_hessian_is_symmetric():
    x = leaf(np.linspace(0.3, 1.7, 5))
    h = value(ag.hessian(ag.prod(ag.tanh(x)) * ag.logsumexp(x) / ag.norm(x), x))
    np.testing.assert_allclose(h, h.T, rtol=1e-12, atol=1e-14)


def test_a_vanishing_second_derivative_is_0():
    x = leaf(2.0)
    same(ag.hessian(3 * x, x), 0)
    same(ag.grad(ag.grad(3 * x, x, create_graph=True), x), 0)
    same(ag.hessian(lambda x: 3 * x)(2.0), 0)
    same(ag.grad(lambda x: 3.0)(2.0), 0)
    by_x, by_y = ag.grad(lambda x, y: x * x, (0, 1))(2.0, 3.0)
    same(by_x, 4)
    same(by_y, 0)
    same(ag.hessian(lambda x, y: x * x, (0, 1))(2.0, 3.0), [[2, 0], [0, 0]])


def test_products_with_the_jacobian_and_the_hessian():
    def f(x):
        return ag.sum(ag.exp(x)) * ag.prod(x)

    v, u, x = np.array([1.0, 2.0, -0.5]), np.array([0.7, -1.1]), leaf(X)
    j, h = tower_jacobian(X), value(ag.hessian(f)(X))
    for found, expected in (
        (ag.jvp(tower, X, v), j @ v),
        (ag.jvp(tower(x), x, v), j @ v),
        (ag.vjp(tower, X, u), u @ j),
        (ag.vjp(tower(x), x, u), u @ j),
        (ag.hvp(f, X, v), h @ v),
        (ag.hvp(f(x), x, v), h @ v),
    ):
        same(found, expected)
    assert type(ag.jvp(tower, X, v)) is np.ndarray


def test_several_arguments_of_a_product():
    def f(x, y):
        return x * x * y

    same(ag.jvp(f, (2.0, 3.0), (1.0, 10.0)), 12 + 40)
    by_x, by_y = ag.vjp(f, (2.0, 3.0), 2.0)
    same(by_x, 24)
    same(by_y, 8)
    x, y = ag.hvp(f, (2.0, 3.0), (1.0, 0.0))
    same(x, 6)
    same(y, 4)


def test_functions_of_functions():
    same(ag.grad(ag.grad(ag.grad(lambda x: x**4)))(2.0), 48)
    same(ag.hessian(ag.grad(lambda x: x**4))(2.0), 48)
    same(ag.jacobian(ag.grad(lambda x: ag.sum(x**3)))(X), np.diag(6 * X))
    same(ag.grad(lambda x: x * ag.grad(lambda y: x * y * y)(x))(3.0), 54)  # of x * 2 x x


def test_a_derivative_may_depend_on_something_outside_the_function():
    b = leaf(3.0)
    slope = ag.grad(lambda x: b * x * x)(2.0)
    same(slope, 12)
    same(ag.grad(slope, b), 4)
    same(ag.grad(ag.grad(lambda x: b * x * x)(b), b), 12)  # 2 b b


def test_results_are_plain_of_plain_arguments_and_have_no_graph_when_nothing_needs_it():
    x, xs = ag.tensor(0.3), ag.tensor(X)
    for point, points, kinds in ((0.3, X, (float, np.ndarray)), (x, xs, (ag.Tensor, ag.Tensor))):
        found = (ag.grad(ag.sin)(point), ag.hvp(ag.sin, point, 1.0), ag.jacobian(ag.sin)(points))
        assert [type(one) for one in found] == [kinds[0], kinds[0], kinds[1]]
    ag.grad(lambda x: x.sum())(X)[0] = 2  # of the caller alone, who may write to it
    for result in (ag.grad(ag.sin, create_graph=True)(0.3), ag.hvp(ag.sin, x, 1.0), ag.jacobian(ag.sin)(xs)):
        assert not result.requires_grad
        assert result.is_leaf


def test_nothing_is_written_to_leaves_and_nothing_is_freed():
    x = leaf(X)
    y = ag.sum(tower(x))
    ag.hessian(y, x), ag.jvp(y, x, X), ag.vjp(y, x, 1.0), ag.hvp(y, x, X)
    assert x.grad is None
    y.backward()
    assert x.grad is not None


@each("call, kind, message", refusals("transforms", globals()))
def test_what_is_no_derivative_is_said(call, kind, message):
    refuses(call, message, kind=kind)


def test_a_function_may_write_to_its_parameter():
    def tripled(x):
        x *= 3
        return ag.sum(x * x)

    def first(x):
        x[0] = x[1] * x[1]
        return ag.sum(x)

    for point in ([1.0, 2.0], leaf([1.0, 2.0]) * 1.0):
        same(ag.grad(tripled)(point), [18, 36])
        same(ag.hessian(tripled)(point), [[18, 0], [0, 18]])
        same(ag.vjp(tripled, point, 2.0), [36, 72])
        same(ag.jvp(tripled, point, [1.0, 1.0]), 54)
        same(ag.hvp(tripled, point, [1.0, 0.0]), [18, 0])
        same(ag.grad(first)(point), [0, 5])
