"""How compiled functions are called: by name, with tuples and dicts, and what can be asked of them."""

import copy
from typing import NamedTuple

import numpy as np
import pytest
from backends import USABLE
from refused import refusals, refuses
from replays import same_bits
from rows import each

import agrad.engine as ag

everywhere = pytest.mark.parametrize("backend", USABLE)
X, Y = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0])


class Pair(NamedTuple):
    slope: object
    start: object


def same(found, expected, backend):
    """Every bit in Python; sums of machine code may be in another order."""
    assert np.shape(found) == np.shape(expected)
    if backend == "python":
        assert same_bits(found, expected), (found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def line(p, x, t):
    return ag.sum((p["slope"] * x + p["start"] - t) ** 2)


@everywhere
def test_an_argument_may_be_a_dict_and_its_gradient_is_one(backend):
    f = ag.compile(line, {"slope": 2.0, "start": X}, X, Y, wrt="p", backend=backend)
    for p in ({"slope": 2.0, "start": X}, {"start": Y, "slope": -1.5}):
        value, slopes = f.value_and_grad(p, X, Y)
        expected, by = ag.tensor(p["slope"], requires_grad=True), ag.tensor(p["start"], requires_grad=True)
        y = line({"slope": expected, "start": by}, X, Y)
        y.backward()
        same(value, y.item(), backend)
        assert list(slopes) == ["slope", "start"] and f.grad(p, X, Y).keys() == slopes.keys()
        np.testing.assert_allclose(slopes["slope"], expected.grad.item(), rtol=1e-13)
        np.testing.assert_allclose(slopes["start"], by.grad.value, rtol=1e-13)


def test_arguments_are_given_by_place_or_by_name():
    f = ag.compile(lambda x, *, scale: x * x * scale, 2.0, scale=3.0)
    assert f.value(3.0, scale=2.0) == f.value(scale=2.0, x=3.0) == 18.0
    assert f.value_and_grad(3.0, scale=2.0) == (18.0, (12.0, 9.0))
    assert f.grad(3.0, scale=2.0) == (12.0, 9.0)
    g = ag.compile(lambda x, y=1.0, z=2.0: x * y - z, 2.0, z=1.0, y=4.0)
    assert g.value(2.0, 5.0, 3.0) == g.value(2.0, y=5.0, z=3.0) == 7.0  # as in a call of the function
    assert ag.compile(lambda x, scale: x * scale, 1.0, scale=2.0, wrt="scale").value_and_grad(3.0, scale=5.0) == (15, 3)
    assert copy.copy(f).value(3.0, scale=2.0) == 18.0
    assert f.map(np.array([1.0, 2.0]), scale=2.0)[0].tolist() == [2.0, 8.0]


@everywhere
def test_arguments_in_arguments_are_of_all_kinds(backend):
    def f(parts, pair):
        (a, [b, c]), nothing = parts
        assert nothing is None and isinstance(pair, Pair) and isinstance(b, ag.Tensor)
        return ag.sum(a * b) * c + pair.slope * pair.start

    parts, pair = ((X, [Y, 2.0]), None), Pair(3.0, 4.0)
    compiled = ag.compile(f, parts, pair, backend=backend)
    value, (by_parts, by_pair) = compiled.value_and_grad(parts, pair)
    same(value, float(X @ Y) * 2 + 12.0, backend)
    assert isinstance(by_pair, Pair) and by_pair == (4.0, 3.0) and by_parts[1] is None and type(by_parts[0][1]) is list
    np.testing.assert_allclose(by_parts[0][0], Y * 2)
    assert by_parts[0][1][1] == pytest.approx(X @ Y)


def test_a_list_of_numbers_is_an_array():
    assert ag.compile(ag.sum, [[1.0, 2.0], [3, 4]]).grad([[1, 2], [3, 4]]).tolist() == [[1, 1], [1, 1]]


@everywhere
def test_results_may_consist_of_several(backend):
    def f(x, y):
        return {"sum": ag.sum(x * y), "both": (x * 2, [y, 3.0])}

    compiled = ag.compile(f, X, Y, backend=backend)
    for x in (X, Y):
        found = compiled.value(x, Y)
        assert list(found) == ["sum", "both"] and type(found["sum"]) is float and found["both"][1][1] == 3.0
        same(found["sum"], float(ag.sum(ag.tensor(x) * Y)), backend)
        assert same_bits(found["both"][0], x * 2) and same_bits(found["both"][1][0], Y)
    rows = compiled.jacobian(X, Y)
    assert [one.tolist() for one in rows["sum"]] == [Y.tolist(), X.tolist()]
    by_x, by_y = rows["both"][0]
    assert by_x.tolist() == (2 * np.eye(3)).tolist() and not by_y.any()
    assert rows["both"][1][0][1].tolist() == np.eye(3).tolist() and not rows["both"][1][1][0].any()
    refuses(lambda: compiled.value_and_grad(X, Y), r"4 results: a gradient needs one number")


@everywhere
def test_each_branch_has_the_structure_of_its_own_result(backend):
    f = ag.compile(lambda x: (x, x * 2) if x > 0 else {"minus": -x}, 1.0, backend=backend)
    assert f.value(2.0) == (2.0, 4.0) and f.value(-2.0) == {"minus": 2.0} and f.value(3.0) == (3.0, 6.0)
    assert f.jacobian(2.0) == (1.0, 2.0) and f.jacobian(-2.0) == {"minus": -1.0}
    assert f.vjp(2.0, (1.0, 10.0)) == 21.0 and f.vjp(-2.0, {"minus": 3.0}) == -3.0 and f.vjp(2.0, (0.0, 1.0)) == 2.0
    with pytest.raises(ag.AgradError, match="the results of the rows have different shapes"):
        ag.compile(lambda x: (x, x * 2) if x > 0 else {"minus": -x}, 1.0, wrt=(), backend=backend).map([1.0, -1.0])


def curved(x, y):
    return ag.sum(ag.sin(x) * y**2) + x[0] * ag.exp(y[1])


def vector(x, y):
    return ag.stack([ag.sum(x * y), ag.sin(x[0]) * y[2], x[1] ** 2])


@everywhere
def test_products_with_derivatives_are_those_of_the_engine(backend):
    f, g = ag.compile(curved, X, Y, backend=backend), ag.compile(vector, X, Y, backend=backend)
    for x, y in ((X, Y), (Y, X)):
        v, u = (Y, X), X
        expected = ag.jvp(vector, (x, y), v)
        np.testing.assert_allclose(g.jvp((x, y), v), expected, rtol=1e-13)
        for found, wanted in zip(g.vjp((x, y), u), ag.vjp(vector, (x, y), u), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-13)
        for found, wanted in zip(f.hvp((x, y), v), ag.hvp(curved, (x, y), v), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-13)
    of_one = ag.compile(lambda x: ag.sum(x**3), X, backend=backend)
    np.testing.assert_allclose(of_one.hvp(X, Y), 6 * X * Y, rtol=1e-14)
    assert of_one.jvp(X, Y) == pytest.approx(3 * X**2 @ Y) and of_one.vjp(X, 2.0) == pytest.approx(6 * X**2)


@everywhere
def test_products_of_large_arrays_and_of_parts(backend):
    a, b = np.linspace(-1.0, 1.0, 700), np.linspace(0.2, 2.0, 700)
    f = ag.compile(
        lambda p: {"y": ag.tanh(p["a"]) * p["b"], "s": ag.sum(p["a"] * p["b"])}, {"a": a, "b": b}, backend=backend
    )
    found = f.jvp({"a": a, "b": b}, {"a": b, "b": a})
    np.testing.assert_allclose(found["y"], (1 - np.tanh(a) ** 2) * b * b + np.tanh(a) * a, rtol=1e-12, atol=1e-15)
    assert found["s"] == pytest.approx(float(b @ b + a @ a))
    back = f.vjp({"a": a, "b": b}, {"y": a, "s": 2.0})
    np.testing.assert_allclose(back["b"], np.tanh(a) * a + 2 * a, rtol=1e-12, atol=1e-15)


@everywhere
def test_a_hessian_by_parts_has_their_structure_twice(backend):
    f = ag.compile(lambda p, x: ag.sum(p["w"] ** 2 * x) * p["b"], {"w": X, "b": 2.0}, Y, wrt="p", backend=backend)
    h = f.hessian({"w": X, "b": 2.0}, Y)
    np.testing.assert_allclose(h["w"]["w"], np.diag(4 * Y), rtol=1e-14)
    np.testing.assert_allclose(h["b"]["w"], 2 * X * Y, rtol=1e-14)
    np.testing.assert_allclose(h["w"]["b"], 2 * X * Y, rtol=1e-14)
    assert h["b"]["b"] == 0.0


@everywhere
@each("rows", [0, 1, 7, 300])
def test_functions_of_arrays_are_mapped_over_the_first_axis(backend, rows):
    rng = np.random.default_rng(rows)
    x, y = rng.normal(size=(rows, 3)), rng.normal(size=rows)
    f = ag.compile(lambda x, y, w: ag.sum(ag.sin(x) * w) * y + x[0], X, 1.0, Y, backend=backend)
    values, (by_x, by_y, by_w) = f.map(x, y, Y)
    assert values.shape == by_y.shape == (rows,) and by_x.shape == by_w.shape == (rows, 3)
    for row in range(rows):
        value, slopes = ag.compile(f.function, X, 1.0, Y, backend="python").value_and_grad(x[row], y[row], Y)
        found = by_x[row], by_y[row], by_w[row]
        same(values[row], value, backend)
        for one, expected in zip(found, slopes, strict=True):
            np.testing.assert_allclose(one, expected, rtol=1e-13, atol=1e-15)


@everywhere
def test_rows_of_arrays_take_their_own_branches(backend):
    def f(x):
        return ag.sum(x * x) if x[0] > 0 else ag.sum(ag.exp(x))

    x = np.random.default_rng(5).normal(size=(500, 3))
    values, (slopes,) = ag.compile(f, X, backend=backend).map(x)
    plus = x[:, :1] > 0
    np.testing.assert_allclose(values, np.where(plus[:, 0], (x * x).sum(1), np.exp(x).sum(1)), rtol=1e-13)
    np.testing.assert_allclose(slopes, np.where(plus, 2 * x, np.exp(x)), rtol=1e-13)


@everywhere
def test_arrays_without_gradients_are_mapped_to_results_of_any_shape(backend):
    f = ag.compile(lambda m, v: {"product": m @ v, "inverse": ag.inv(m)}, np.eye(2), X[:2], wrt=(), backend=backend)
    m = np.random.default_rng(6).normal(size=(40, 2, 2)) + 3 * np.eye(2)
    found, gradients = f.map(m, X[:2])
    assert gradients == []
    np.testing.assert_allclose(found["product"], m @ X[:2], rtol=1e-13)
    np.testing.assert_allclose(found["inverse"], np.linalg.inv(m), rtol=1e-12)
    with pytest.raises(ag.AgradError, match=r"the result has shape \(2\): a gradient needs one number"):
        ag.compile(lambda m: m @ X[:2], np.eye(2), backend=backend).map(m)
    singular = np.concatenate([m[:3], np.ones((1, 2, 2))])
    refuses(lambda: f.map(singular, X[:2]), "singular")


def test_what_numpy_would_make_an_array_of_says_what_to_write():
    def filled(x):
        z = np.zeros(3)
        z[0] = x[0]
        return ag.sum(ag.tensor(z))

    for f in (filled, lambda x: np.array([x[0], x[1]])):
        with pytest.raises(ag.AgradError, match="requires grad") as caught:
            ag.compile(f, X)
        assert caught.value.fixes


@each("call, kind, message", refusals("arguments of compiled functions", globals()))
def test_mistakes_in_arguments_are_said(call, kind, message):
    refuses(call, message, kind=kind)
