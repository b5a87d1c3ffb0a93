"""Which second derivatives can differ from 0, and Hessians by products with few directions."""

import random

import numpy as np
import pytest
from backends import USABLE
from random_programs import on_numbers, trees
from rows import each

import agrad.engine as ag
from agrad.engine.compile import hessian
from agrad.engine.compile.hessian import dense, directions, pattern, places
from agrad.engine.compile.scalarise import scalarised
from agrad.engine.program.ir import optimised
from agrad.engine.program.trace import trace

everywhere = pytest.mark.parametrize("backend", USABLE)
RNG = np.random.default_rng(0)
A = RNG.normal(size=(40, 6))


def chain(x):
    return ag.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def springs(x):
    return ag.sum((ag.sqrt((x[1:] - x[:-1]) ** 2 + 0.1) - 0.5) ** 2)


def logistic(w):
    return ag.mean(ag.softplus(ag.tensor(A) @ w))


def atoms(p):
    d = p[:, None, :] - p[None, :, :]
    inverse = 1 / (ag.sum(d * d, axis=2) + np.eye(5)) ** 3
    return ag.sum((inverse * inverse - inverse) * (1 - np.eye(5)))


def separate(x):
    return ag.sum(ag.sin(x) * x) + x[0] * x[-1]


def linear(x):
    return ag.sum(3.0 * x) - x[0] / 2


FUNCTIONS = [
    (chain, RNG.normal(size=90)),
    (springs, RNG.normal(size=90)),
    (logistic, RNG.normal(size=6)),
    (atoms, 2 * RNG.normal(size=(5, 3))),
    (separate, RNG.normal(size=80)),
    (linear, RNG.normal(size=70)),
]


def rows_of(f, x):
    program = scalarised(optimised(trace(f, (x,)), again=True))
    return pattern(program, range(x.size)).rows


@each("f, x", FUNCTIONS)
def test_the_pattern_has_every_second_derivative_that_is_not_0(f, x):
    full = ag.hessian(f)(x).reshape(x.size, x.size)
    rows = rows_of(f, x)
    found = np.zeros_like(full)
    for row, bits in enumerate(rows):
        found[row, [*places(bits)]] = 1.0
    assert not full[found == 0.0].any()
    assert np.array_equal(found, found.T)


def test_the_pattern_of_a_chain_has_three_diagonals_and_three_directions():
    rows = rows_of(chain, FUNCTIONS[0][1])
    assert rows[10] == 0b111 << 9
    assert len(directions(rows).vectors) == 3
    assert not any(rows_of(linear, FUNCTIONS[5][1]))


@each("seed", range(30))
def test_directions_tell_every_entry_of_a_symmetric_pattern(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 40))
    matrix = np.where(rng.random((size, size)) < rng.random(), rng.normal(size=(size, size)), 0.0)
    matrix = np.tril(matrix) + np.tril(matrix, -1).T
    rows = [sum(1 << int(column) for column in np.flatnonzero(row)) for row in matrix]
    for vectors, numbers, at, columns in (directions(rows), dense(size)):
        found = np.zeros((size, size))
        found[at, columns] = found[columns, at] = (vectors @ matrix)[numbers, at]
        np.testing.assert_allclose(found, matrix, atol=1e-12)
        assert len(vectors) <= size


def test_the_pattern_of_random_expressions_has_every_second_derivative():
    for f in trees(random.Random(3), list(on_numbers()), range(150)):
        rows = pattern(optimised(trace(f, (0.7, -1.3), ("x", "y")), again=True), (0, 1)).rows
        full = ag.hessian(f, (0, 1))(0.7, -1.3)
        for row, column in ((0, 0), (0, 1), (1, 1)):
            assert rows[row] >> column & 1 or full[row, column] == 0.0, str(f)


@everywhere
@each("f, x", FUNCTIONS)
def test_hessians_by_products_are_those_by_entries(f, x, backend, monkeypatch):
    expected = ag.hessian(f)(x)
    by_entries = ag.compile(f, x, backend=backend).hessian(x)
    monkeypatch.setattr(hessian, "_SHORT", 0)
    monkeypatch.setattr(hessian, "of_second", lambda program, work: float("inf"))
    compiled = ag.compile(f, x, backend=backend)
    for _ in range(2):
        found = compiled.hessian(x)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found, by_entries, rtol=1e-10, atol=1e-12)
        flat = found.reshape(x.size, x.size)
        assert np.array_equal(flat, flat.T)
    assert compiled._hessian.directions is not None


@pytest.mark.long
def test_what_takes_less_is_counted():
    few = ag.compile(chain, np.ones(90))
    few.hessian(np.linspace(0.0, 1.0, 90))
    assert few._hessian.directions is None
    many = ag.compile(chain, np.ones(2_000))
    h = many.hessian(np.linspace(0.0, 1.0, 2_000))
    assert len(many._hessian.directions.vectors) == 3
    assert h[5, 6] == h[6, 5] == pytest.approx(-400 * 5 / 1999)
    data = RNG.normal(size=(1000, 20))
    dense_one = ag.compile(lambda w: ag.mean(ag.softplus(ag.tensor(data) @ w)), np.ones(20))
    dense_one.hessian(np.zeros(20))
    np.testing.assert_allclose(dense_one.hessian(np.zeros(20)), data.T @ data / 4000, rtol=1e-10)
    assert len(dense_one._hessian.directions.vectors) == 20


def test_branches_have_their_own_patterns():
    f = ag.compile(lambda x: ag.sum(x * x) if x[0] > 0 else x[0] * x[-1] + ag.sum(ag.exp(x)), np.ones(300))
    for x in (np.full(300, 0.5), np.full(300, -0.5)):
        np.testing.assert_allclose(f.hessian(x), ag.hessian(f.function)(x), rtol=1e-12)
