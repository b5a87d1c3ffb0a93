"""A compiled function in several threads: a new specialisation is traced in one while the others compute."""

import numpy as np
import pytest
from backends import USABLE
from parallel import in_threads
from rows import each

import agrad.engine as ag


def staged(n, x):
    """x times n for each whole n: a specialisation for each."""
    for bound in range(40):
        if n < bound + 0.5:
            return x * x * bound
    return -x


@each("backend", USABLE, short=2)
def test_a_new_specialisation_does_not_disturb_those_that_compute(backend):
    compiled = ag.compile(staged, 0.0, 3.0, backend=backend)

    def work(number):
        for i in range(150):
            n, x = float((7 * i + number) % 40), float(number + 1)
            assert compiled.value(n, x) == x * x * n
            assert compiled.value_and_grad(n, x) == (x * x * n, (0.0, 2.0 * x * n))

    in_threads(6, work)
    assert len(compiled._gradient.known) == 40  # each was traced once, in whichever thread came first


@pytest.mark.long
def test_more_specialisations_than_are_kept():
    compiled = ag.compile(lambda n, x: x * int(n), 0.0, 3.0, backend="python")

    def work(number):
        for i in range(40):
            n = float(i + 30 * number)
            assert compiled.value(n, 2.0) == 2.0 * n

    in_threads(4, work)
    assert len(compiled._value.known) < 100


def test_columns_and_hessians_are_those_of_their_own_rows():
    compiled = ag.compile(lambda n, x: x**3 * n if n > 0 else x**2 if n > -5 else -x, 1.0, 3.0, backend="python")

    def work(number):
        for i in range(10):
            n = np.arange(-8.0, 9.0) + (i % 3)
            x = np.full(len(n), number + 1.0)
            values, (_, by_x) = compiled.map(n, x)
            assert np.array_equal(values, np.where(n > 0, x**3 * n, np.where(n > -5, x**2, -x)))
            assert np.array_equal(by_x, np.where(n > 0, 3 * x**2 * n, np.where(n > -5, 2 * x, -1)))
            of = [2.0, -1.0, -6.0][(i + number) % 3]
            second = {2.0: 6 * x[0] * 2.0, -1.0: 2.0, -6.0: 0.0}[of]
            assert compiled.hessian(of, x[0])[1, 1] == second

    in_threads(4, work)


def test_arrays_have_buffers_of_their_own():
    compiled = ag.compile(lambda x: ag.sum(ag.exp(x * 2.0) * x + x), np.ones(50), backend="python")

    def work(number):
        x = np.linspace(0.0, 1.0, 50) + number
        value, slopes = compiled.value_and_grad(x)
        for _ in range(100):
            again, others = compiled.value_and_grad(x)
            assert again == value and np.array_equal(others, slopes)
        np.testing.assert_allclose(value, np.sum(np.exp(x * 2.0) * x + x), rtol=1e-12)
        np.testing.assert_allclose(slopes, np.exp(2 * x) * (1 + 2 * x) + 1, rtol=1e-12)

    in_threads(6, work)
