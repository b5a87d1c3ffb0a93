"""Operands at the limits of what operations take, their stacks, and results at the edge of a whole number."""

import numpy as np
import pytest
from rows import each

import agrad.engine as ag
from agrad.engine.core.context import current
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.engine.ops.arrays.indexing import _take_each, index_put
from agrad.engine.ops.linalg.expansions import _by_minors
from agrad.engine.ops.linalg.matrices import _multiply_each
from agrad.engine.ops.tables import _fitting

M = np.arange(6.0).reshape(2, 3)


def call(name, *args, **named):
    return FUNCTIONS[name].call(*args, **named)


def slope(f, x):
    x = ag.tensor(x, requires_grad=True)
    f(x).backward()
    return np.asarray(x.grad.value).tolist()


@each(
    "widths, width, count",
    [([3, 3], 8, 2), ([3, 3], 7, 1), ([30], 5, 1), ([30, 1], 5, 1), ([1, 1, 1], 7, 3), ([1, 1, 1], 6, 2), ([], 5, 0)],
)
def test_as_many_columns_as_fit_are_side_by_side(widths, width, count):
    assert _fitting(widths, width) == count


@each("size", [1, 2, 3, 4])
def test_a_determinant_by_minors_is_that_of_lapack(size):
    x = np.random.default_rng(size).normal(size=(size, size))
    assert _by_minors(x.astype(object)) == pytest.approx(np.linalg.det(x))


def test_the_slope_of_a_determinant_that_overflows_is_0_where_it_does_not_depend_on_an_entry():
    with np.errstate(all="ignore"):
        found = slope(lambda a: call("det", a), np.diag([1e200, 1e200]))
    assert np.allclose(found, [[1e200, 0.0], [0.0, 1e200]])


@each("degree, is_refused", [(-1, True), (0, False), (12, False), (13, True)])
def test_a_taylor_polynomial_has_a_degree_up_to_12(degree, is_refused):
    if is_refused:
        with pytest.raises(AgradError, match="the degree is from 0 to 12"):
            call("taylor", lambda x: x * x, 1.0, n=degree)
    else:
        assert np.ravel(call("taylor", lambda x: x * x, 1.0, n=degree)).tolist()[:3] == [1.0, 2.0, 1.0][: degree + 1]


@each(
    "value, is_refused",
    [([[5.0, 6.0, 7.0]], False), ([[[8.0]]], False), ([[5.0] * 3] * 2, True), ([[[1.0]]] * 2, True)],
)
def test_a_value_that_is_put_into_entries_may_have_leading_axes_of_length_1(value, is_refused):
    if is_refused:
        with pytest.raises(AgradError, match="does not fit the entries"):
            index_put(np.zeros(3), np.array(value), slice(None))
    else:
        found = index_put(ag.tensor(np.zeros(3)), ag.tensor(value), slice(None))
        assert found.value.tolist() == np.broadcast_to(np.ravel(value), 3).tolist()


ALL, FIRST, LAST = slice(None), np.array([0, 1]), np.array([1, 0])


@each("index", [(FIRST, ALL, LAST), (FIRST, ALL, 1), (ALL, LAST), (np.array([1, 0, 0]),), (1, ALL, 0)])
def test_entries_of_each_of_a_stack_are_those_of_each(index):
    xs = np.random.default_rng(3).normal(size=(4, 2, 3, 2))
    found = _take_each([(xs, True, (2, 3, 2))], {"index": index}, 4)
    assert found is None or found.tolist() == np.stack([x[index] for x in xs]).tolist()
    assert (found is None) == any(
        type(part) is int or len(index) == 3 for part in index[1:] if hasattr(index[0], "dtype")
    )


@each(
    "a, b, varies",
    [((3,), (3,), 2), ((3,), (3, 2), 0), ((2, 3), (3,), 1), ((2, 3), (3, 2), 0), ((3,), (3,), 0), ((3,), (3,), 1)],
)
def test_products_of_each_of_a_stack_are_those_of_each(a, b, varies):
    chance = np.random.default_rng(4)
    x, y = (chance.normal(size=(5, *shape) if varies in (place, 2) else shape) for place, shape in enumerate((a, b)))
    found = _multiply_each([(x, varies != 1, a), (y, varies != 0, b)], {}, 5)
    pairs = [(x[k] if varies != 1 else x, y[k] if varies != 0 else y) for k in range(5)]
    assert np.allclose(found, np.stack([one @ other for one, other in pairs]), rtol=1e-13)


LIMITED = [("repeat", [np.arange(20.0), 2], 40), ("convolve", [np.ones(30), np.ones(20)], 49)]


@each("name, given, entries", [*LIMITED, *[("repeat", [np.ones((2, 3)), 4, axis], 24) for axis in (0, 1)]])
def test_the_limit_of_entries_is_that_of_the_result(monkeypatch, name, given, entries):
    for limit, is_refused in ((entries, False), (entries - 1, True)):
        monkeypatch.setattr(current().limits, "entries", limit)
        if is_refused:
            with pytest.raises(AgradError):
                call(name, *given)
        else:
            assert call(name, *given).size == entries


@each("x, share, value", [([1.0, 2.0, 4.0], 0.0, 1.0), ([1.0, 2.0, 4.0], 0.75, 3.0), ([1.0, np.inf], 0.0, 1.0)])
def test_a_quantile_is_between_its_neighbours_and_the_upper_may_be_infinite_where_it_does_not_count(x, share, value):
    assert float(call("quantile", np.array(x), share)) == value


@each("name", ["jv", "yv", "iv", "kv", "ive", "kve"])
def test_the_slope_of_a_bessel_function_of_any_order(name):
    for v in (0.5, 1.5, 2.7):
        below, above = (float(call(name, v, 1.7 + h)) for h in (-1e-6, 1e-6))
        assert slope(lambda x, v=v: call(name, v, x), 1.7) == pytest.approx((above - below) / 2e-6, rel=1e-7)


# SciPy gives inf above 1e300; the values are mpmath's.
LARGE = [("kv", 0.7, 1e-306, 1.6710298465810694e214), ("kve", 5.0, 1e-61, 3.84e307)]
LARGE += [("kv", 100.5, 0.0625, 8.6297725992583363e307), ("yv", 300.0, 20.65, -3.158276810783735e307)]


@each("name, v, x, exact", LARGE)
def test_a_bessel_function_is_finite_up_to_the_largest_float(name, v, x, exact):
    found = call(name, v, np.array([0.0, x])).tolist()
    assert found == [np.sign(exact) * np.inf, pytest.approx(exact, rel=1e-12)]
    assert call(name, v, x) == pytest.approx(exact, rel=1e-12)


@each("name", ["mse_loss"])
def test_the_slopes_of_a_loss_by_both(name):
    x, y = np.array([1.0, 3.0]), np.array([2.0, 7.0])
    assert slope(lambda a: call(name, a, y), x) == [-1.0, -4.0]
    assert slope(lambda b: call(name, x, b), y) == [1.0, 4.0]


def test_a_quotient_that_rounds_to_below_a_whole_number_is_that_number():
    chance = np.random.default_rng(1)
    x, y = chance.integers(1, 2**53, 4000) / 16.0, chance.integers(1, 2**20, 4000) / 7.0
    program = ag.compile(lambda x, y: x // y, 1.0, 2.0, backend="llvm")
    assert np.asarray(program.map(x, y)[0]).tolist() == (x // y).tolist()
