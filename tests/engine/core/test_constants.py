"""The copies that nodes keep of the arrays of the caller: what a graph saved does not change with what they came from."""

import gc
import weakref

import numpy as np
import pytest
from refused import leaf
from rows import each

import agrad.engine as ag
from agrad.engine.core import dispatch
from agrad.engine.inspect.memory import held

MANY = dispatch._SHARED


@pytest.fixture(autouse=True, scope="module")
def nothing_from_other_tests():
    gc.collect()
    gc.freeze()  # so that the collections of each test take no time


def numbers(*shape):
    return np.random.default_rng(1).normal(size=shape)


def constant_of(y):
    return next(x for x in y.node.inputs if isinstance(x, np.ndarray))


def test_graphs_that_use_an_array_many_times_hold_it_once():
    data, x = numbers(MANY), leaf(2.0)
    first, second = x * data, ag.exp(x) / data
    assert constant_of(first) is constant_of(second)
    assert held((first + second).sum()).leaves == data.nbytes + 8


@each("shape", [(5,), (MANY,), (MANY // 8, 8)])
def test_a_write_between_two_uses_is_seen_by_the_second_alone(shape):
    data, x = numbers(*shape), leaf(np.ones(shape))
    first = (x * data).sum()
    old = data.copy()
    data[(-1,) * len(shape)] += 1
    second = (x * data).sum()
    np.testing.assert_array_equal(ag.grad(first, x).value, old)
    np.testing.assert_array_equal(ag.grad(second, x).value, data)


@each("of", [lambda data: data, lambda data: data[::2], lambda data: data.T, lambda data: data[:-1]])
def test_a_write_through_any_view_is_seen(of):
    data = numbers(MANY // 4, 16)
    seen = of(data)
    x = leaf(np.ones(seen.shape))
    first = (x * seen).sum()
    old = seen.copy()
    data.reshape(-1)[::3] = 0
    np.testing.assert_array_equal(ag.grad((x * seen).sum(), x).value, seen)
    np.testing.assert_array_equal(ag.grad(first, x).value, old)


@each("before, after", [(0.0, -0.0), (1.0, np.nan), (np.nan, -np.nan)])
def test_the_comparison_is_of_bits(before, after):
    data, x = np.ones(MANY), leaf(2.0)
    data[-1] = before
    first = x * data
    data[-1] = after
    second = x * data
    for y, last in ((first, before), (second, after)):
        assert constant_of(y)[-1].tobytes() == np.float64(last).tobytes()


def test_an_array_that_got_another_shape_is_another_constant():
    data, x = numbers(MANY // 4, 4), leaf(np.ones(4))
    first = data @ x
    before = constant_of(first)
    data.resize((MANY // 8, 8), refcheck=False)
    second = data @ leaf(np.ones(8))
    assert constant_of(second).shape == (MANY // 8, 8)
    assert before.shape == (MANY // 4, 4)


def test_a_list_and_whole_numbers_are_constants_by_value():
    whole, rows, x = np.arange(MANY), [1.0, 2.0], leaf(1.0)
    first, second = x * whole, x * rows
    whole[0], rows[0] = 7, 7.0
    assert constant_of(first)[0] == 0
    assert constant_of(second).tolist() == [1, 2]
    column = np.asfortranarray(np.arange(6).reshape(2, 3))
    assert constant_of(x * column).flags.c_contiguous


def test_a_copy_exists_no_longer_than_a_node_has_it():
    data, x = numbers(MANY), leaf(2.0)
    y = (x * data).sum()
    copy = weakref.ref(y.node.inputs[0].inputs[1])
    y.backward()
    gc.collect()
    assert copy() is None


def test_a_large_copy_lasts_as_long_as_the_array_of_the_caller():
    data, x = numbers(dispatch._LASTING), leaf(2.0)
    y = (x * data).sum()
    copy = weakref.ref(y.node.inputs[0].inputs[1])
    y.backward()
    del y
    gc.collect()
    assert (x * data).node.inputs[1] is copy()
    del data
    gc.collect()
    assert copy() is None


def test_only_so_much_is_kept_that_no_node_has(monkeypatch):
    monkeypatch.setattr(dispatch, "_MOST", 3 * 8 * dispatch._LASTING)
    x, arrays = leaf(2.0), [numbers(dispatch._LASTING) for _ in range(5)]
    copies = [weakref.ref((x * one).node.inputs[1]) for one in arrays]
    gc.collect()
    assert [copy() is not None for copy in copies] == [False, False, True, True, True]
    arrays[4][0] = 9.0
    assert (x * arrays[4]).node.inputs[1][0] == 9
    gc.collect()
    assert copies[4]() is None  # it was replaced


def test_a_shared_copy_is_not_written():
    data, x = numbers(MANY), leaf(2.0)
    with pytest.raises(ValueError, match="read-only"):
        constant_of(x * data)[0] = 1.0


def test_a_replay_sees_what_the_operation_saw():
    data, x = numbers(MANY), leaf(2.0)
    y = (x * data).sum()
    before = data.sum()
    data[:] = 0
    x.set_(3.0)
    y.forward()
    assert y.item() == pytest.approx(3 * before)
