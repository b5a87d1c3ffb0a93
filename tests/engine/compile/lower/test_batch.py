"""Several products with a derivative at once give what they give one after the other."""

from importlib import import_module

import numpy as np
import pytest
from rows import each, functions

import agrad.engine as ag
from agrad.engine.compile import derive
from agrad.engine.compile.derive import NotBatched, batched
from agrad.engine.program.trace import trace

HESSIAN = import_module("agrad.engine.compile.hessian")  # `ag.compile` is the function of that name
RNG = np.random.default_rng(3)
GIVEN = RNG.normal(size=7), 0.3, RNG.normal(size=(7, 7)) / 7
A, B, PLACES = RNG.normal(size=(30, 12)), RNG.normal(size=(12, 12)), RNG.integers(0, 12, 40)
AT_ONCE = functions(
    "x",
    """
    ag.sum(ag.tanh(A @ x) ** 2); ag.sum(ag.sin(x @ B) * x)
    ag.sum(ag.exp(-(x[PLACES] - x[::-1][PLACES]) ** 2) * x[PLACES]); ag.sum((x[1:] * x[:-1]) ** 2) + x[0] * x[3] ** 2
    ag.sum(ag.mean(ag.sin(x[:, None] * x[None, :] + B), axis=1) ** 2); ag.sum((x - ag.mean(x, keepdims=True)) ** 3)
    ag.sum(x * x) ** 2 + ag.exp(x @ x / 50); ag.sum(ag.where(x > 0, x ** 3, ag.sin(x) * x[0]))
    ag.sum(ag.maximum(x, 0.1) ** 2 * x[1]) + ag.max(x) ** 2; ag.sum(ag.outer(x, x) ** 2 * B)
    ag.sum((x.reshape(3, 4) @ B[:4, :5]) ** 3)
""",
    globals(),
)
ONE_BY_ONE = functions(
    "x",
    """
    ag.sum(ag.solve(B + 5 * np.eye(12), ag.sin(x)) ** 3); ag.sum(ag.cumsum(x) ** 3)
    ag.sum((x.reshape(3, 4).T @ B[:3, :5]) ** 3)
""",
    globals(),
)


@pytest.fixture(autouse=True)
def by_products(monkeypatch):
    """No Hessian is computed by entries."""
    monkeypatch.setattr(HESSIAN, "_MOST", 0)


@each("name", [*AT_ONCE, *ONE_BY_ONE])
@each("most", [2**17, 100])
def test_a_hessian_by_products_at_once(name, most, monkeypatch):
    monkeypatch.setattr(derive, "_AT_ONCE", most)
    f = (AT_ONCE | ONE_BY_ONE)[name]
    x = RNG.normal(size=12)
    compiled = ag.compile(f, x)
    for at in (x, RNG.normal(size=12)):
        np.testing.assert_allclose(compiled.hessian(at), ag.hessian(f)(at), rtol=1e-10, atol=1e-11)
    assert (compiled._hessian.products.several is not None) is (name in AT_ONCE)


def long(x, scale, m):
    """Steps of a recurrent network."""
    for _ in range(8):
        x = ag.tanh(m @ x) * scale + x
    return x


def wide(x, scale, m):
    """Fewer results than what they are differentiated by, and other ones on another path."""
    return long(x, scale, m)[:6] if x[0] > 0 else long(x, scale, m) * scale


@each("f", [wide, lambda x, scale, m: ag.outer(long(x, scale, m), m[:2])])
def test_a_jacobian_that_is_long_by_entries_is_made_of_compiled_products(f, monkeypatch):
    monkeypatch.setattr(derive, "_MOST_ROWS", 100)
    compiled = ag.compile(f, *GIVEN)
    for sign in (1.0, -1.0):
        at = (sign * np.abs(GIVEN[0]), *GIVEN[1:])
        found, expected = compiled.jacobian(*at), ag.jacobian(f, (0, 1, 2))(*at)
        for one, known in zip(found, expected, strict=True):
            assert np.shape(one) == np.shape(known)
            np.testing.assert_allclose(one, getattr(known, "value", known), rtol=1e-11, atol=1e-13)
    assert compiled._products and not compiled._rows.known


def test_so_is_one_of_several_results(monkeypatch):
    monkeypatch.setattr(derive, "_MOST_ROWS", 100)
    compiled = ag.compile(lambda x, scale, m: {"long": long(x, scale, m), "number": x[0] * scale}, *GIVEN)
    found = compiled.jacobian(*GIVEN)
    expected = ag.jacobian(long, (0, 1, 2))(*GIVEN)
    for one, known in zip(found["long"], expected, strict=True):
        np.testing.assert_allclose(one, getattr(known, "value", known), rtol=1e-11, atol=1e-13)
    by_x, by_scale, by_m = found["number"]
    assert by_x.tolist() == [GIVEN[1], *[0.0] * 6] and by_scale == GIVEN[0][0] and not by_m.any()


def test_of_several_arguments():
    def f(a, x, m):
        return ag.sum(ag.tanh(m @ x) * a) + a**3 * x[0]

    given = 0.5, RNG.normal(size=5), RNG.normal(size=(4, 5))
    compiled, expected = ag.compile(f, *given).hessian(*given), ag.hessian(f, (0, 1, 2))(*given)
    for line, known in zip(compiled, expected, strict=True):
        for found, block in zip(line, known, strict=True):
            np.testing.assert_allclose(found, getattr(block, "value", block), rtol=1e-10, atol=1e-12)


def test_what_does_not_depend_on_the_batch_is_computed_once_and_a_guard_on_it_is_refused():
    given, at = (2.0, np.array([3.0, 4.0])), ((2.0, 3.0), ("x", "y"))
    made = batched(trace(lambda x, y: ag.sin(x) * y, *at), given, [1], 2)
    assert [(step.op.name, step.shape) for step in made.steps] == [("sin", ()), ("mul", (2,))]
    assert made.run(*given)[0].tolist() == [np.sin(2.0) * 3, np.sin(2.0) * 4]
    with pytest.raises(NotBatched, match="guard"):
        batched(trace(lambda x, y: x * y if y > 0 else x, *at), given, [1], 2)
