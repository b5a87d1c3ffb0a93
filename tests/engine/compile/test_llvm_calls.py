"""Calls of machine code: what is taken of arguments, what is asked of Python, and that results belong to the caller."""

import gc
import random
import sys
import weakref

import numpy as np
import pytest
from parallel import in_threads
from rows import each

import agrad.engine as ag
from agrad.engine.compile.llvm import target

pytestmark = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")


def f(x, y):
    return x * y + x


def expected(x, y):
    return x * y + x, (y + 1.0, x)


@pytest.fixture
def short():
    """A function that was called before, so that the next call is one of machine code."""
    compiled = ag.compile(f, 2.0, 3.0, backend="llvm")
    for x in ((2.0, 3.0), (0.5, 0.25)):
        assert compiled.value_and_grad(*x) == expected(*x)
    assert compiled._quick is not None
    return compiled


def test_what_cannot_be_computed_is_said_as_at_the_first_call(short):
    fresh = ag.compile(f, 2.0, 3.0, backend="llvm")
    for wrong in ((), (1.0,), (1.0, 2.0, 3.0), (1.0, "2"), (None, 2.0), (np.ones(2), 1.0)):
        said = []
        for compiled in (fresh, short):
            with pytest.raises(ag.AgradError) as error:
                compiled.value_and_grad(*wrong)
            said.append((error.value.kind, str(error.value)))
        assert said[0] == said[1]
    assert short.value_and_grad(10**400, 1.0) == fresh.value_and_grad(10**400, 1.0)
    for compiled in (fresh, short):
        assert compiled.value_and_grad(1.0, y=2.0) == compiled.value_and_grad(1.0, 2.0)
        with pytest.raises(ag.AgradError, match="there is no argument z"):
            compiled.value_and_grad(1.0, z=2.0)


@each("f, there, elsewhere", [
    (lambda m: ag.det(m), np.eye(3) + 0.1, np.ones((3, 3))),
    (lambda m: ag.sum(m) if m[0, 0] > 0.0 else ag.sum(m * m), np.ones((3, 3)), -np.ones((3, 3))),
])  # fmt: skip
def test_a_short_call_says_what_a_long_one_says_where_a_check_fails(f, there, elsewhere):
    compiled = ag.compile(f, there, backend="llvm")
    for scale in (1.1, 1.2):
        compiled.value_and_grad(scale * there)
    assert compiled._quick is not None and compiled._gradient.known[0].checks
    for m in (there, elsewhere, 2.0 * there, 2.0 * elsewhere):
        x = ag.tensor(m, requires_grad=True)
        y = f(x)
        y.backward()
        value, slope = compiled.value_and_grad(m)
        assert value == pytest.approx(y.item(), rel=1e-12)
        np.testing.assert_allclose(slope, x.grad.numpy(), rtol=1e-12)


def test_results_that_are_held_stay_as_they_were(short):
    rng = random.Random(0)
    held = []
    for turn in range(3000):
        x = rng.random(), rng.random()
        value, slopes = short.value_and_grad(*x)
        wanted = expected(*x)
        part = [(value, slopes), slopes, slopes[1], value][turn % 4]
        held.append((part, [wanted, wanted[1], wanted[1][1], wanted[0]][turn % 4]))
        if turn % 7 == 0:
            del held[: rng.randrange(len(held))]
    assert all(part == wanted for part, wanted in held)
    everything = [short.value_and_grad(float(i), 1.0) for i in range(500)]
    assert everything == [expected(float(i), 1.0) for i in range(500)]


def test_a_result_of_the_call_before_is_an_argument_of_the_next(short):
    value, (x, y) = short.value_and_grad(0.5, 0.25)
    for _ in range(50):
        wanted = expected(value, x)
        value, (x, y) = short.value_and_grad(value, x)
        assert (value, (x, y)) == wanted
        value, x = value % 2.0, x % 2.0
    assert y == wanted[1][1]


@pytest.mark.long
def test_nothing_is_kept_of_many_calls(short):
    x = 0.1234
    of_argument = sys.getrefcount(x)
    held = [short.value_and_grad(x, float(i)) for i in range(100)]
    del held
    gc.collect()
    before = sys.getallocatedblocks()
    held = [short.value_and_grad(x, float(i)) for i in range(2000)]
    del held
    gc.collect()
    assert abs(sys.getallocatedblocks() - before) < 100
    assert sys.getrefcount(x) == of_argument


def test_a_compiled_function_is_freed(short):
    compiled = ag.compile(f, 2.0, 3.0, backend="llvm")
    compiled.value_and_grad(2.0, 3.0)
    there = weakref.ref(compiled)
    call = compiled.value_and_grad
    del compiled
    gc.collect()
    assert call(2.0, 3.0) == expected(2.0, 3.0)
    del call
    gc.collect()
    assert there() is None


def test_the_first_other_arguments_are_still_held_against_the_function():
    added = [2.0]
    compiled = ag.compile(lambda x, y: x * y + added[0], 2.0, 3.0, backend="llvm")
    for _ in range(5):
        assert compiled.value_and_grad(2.0, 3.0) == (8.0, (3.0, 2.0))
    added[0] = 2.5
    with pytest.raises(ag.AgradError, match="cannot be compiled: its result depends on more than its arguments"):
        compiled.value_and_grad(2.5, 3.0)


def test_examples_are_known_bit_by_bit():
    compiled = ag.compile(lambda x, y: x * y, 0.0, float("nan"), backend="llvm")
    for x in (0.0, -0.0, 0.0, 1.0, 0.0):
        value, (by_x, by_y) = compiled.value_and_grad(x, float("nan"))
        assert value != value and by_x != by_x and (by_y, str(by_y)) == (x, str(x))


def test_what_is_raised_where_it_asks_is_raised(short):
    def interrupted(*_):
        raise KeyboardInterrupt

    call = short._gradient.known[0].native.shortcut(interrupted, (2.0, 3.0), False)
    assert call(2.0, 3.0) == expected(2.0, 3.0)
    with pytest.raises(KeyboardInterrupt):
        call(2.5, 3.0)


def test_threads_that_call_the_same_code_do_not_see_the_results_of_each_other(short):
    def work(number):
        points = [(float(10_000 * number + i), float(10_000 * number - i)) for i in range(5000)]
        return [x for x in points if short.value_and_grad(*x) != expected(*x)]

    assert in_threads(6, work) == [[]] * 6


def test_a_hessian_that_is_constant_has_no_results_of_machine_code():
    for linear, second in ((lambda x, y: 3 * x - y, [[0, 0], [0, 0]]), (lambda x, y: x * y, [[0, 1], [1, 0]])):
        compiled = ag.compile(linear, 2.0, 3.0, backend="llvm")
        for _ in range(3):
            assert compiled.hessian(2.0, 3.0).tolist() == second
