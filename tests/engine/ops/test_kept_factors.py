"""The factors of a matrix are kept while it is there, and give what numpy's function gives."""

import gc

import numpy as np
import pytest
from refused import refuses
from rows import each

import agrad.engine as ag

factors = pytest.importorskip("agrad.engine.ops.linalg.factors")
pytest.importorskip("scipy")


def matrices(size):
    rng = np.random.default_rng(size)
    full = rng.normal(size=(size, size))
    lower = np.tril(full) + 5 * np.eye(size)
    return {"full": full, "lower": lower, "upper": lower.T.copy()}


def right_sides(size):
    rng = np.random.default_rng(1)
    wide = rng.normal(size=(size, 2 * size))
    return wide[:, 0], wide[:, :3].copy(), wide[:, ::2], wide[:, :size].T, np.broadcast_to(2.0, (size,))


@each("size", [31, 32, 33, 70])
@each("kind", ["full", "lower", "upper"])
def test_solutions_are_those_of_numpy(size, kind):
    matrix = matrices(size)[kind]
    for given in (matrix, matrix.T, np.asfortranarray(matrix), np.repeat(matrix, 2, axis=1)[:, ::2]):
        for y in right_sides(size):
            found = ag.solve(given, y)
            assert found.flags.c_contiguous
            np.testing.assert_allclose(found, np.linalg.solve(given, y if y.ndim == 2 else y[:, None]).reshape(y.shape))


def test_a_matrix_that_was_written_has_new_factors():
    x = ag.tensor(matrices(40)["full"])
    y = np.ones(40)
    before = ag.solve(x, y).numpy()
    x.set_(2.0 * x.numpy())
    np.testing.assert_allclose(ag.solve(x, y).numpy(), before / 2)


def test_factors_go_with_their_matrix():
    gc.collect()
    before = len(factors._KNOWN)
    x = ag.tensor(matrices(40)["full"], requires_grad=True)
    y = ag.sum(ag.solve(x, np.ones(40)))
    assert len(factors._KNOWN) == before + 1
    y.backward()
    del x, y
    gc.collect()
    assert len(factors._KNOWN) == before


@each("kind", ["full", "lower"])
def test_a_singular_matrix_is_an_error(kind):
    matrix = matrices(40)[kind]
    matrix[3] = 0.0
    refuses(lambda: ag.solve(matrix, np.ones(40)), "singular")


@each("kind", ["full", "lower", "upper"])
def test_gradients_are_those_of_single_systems(kind, monkeypatch):
    found = []
    for fewest in (32, 1000):
        monkeypatch.setattr(factors, "_FEWEST", fewest)
        x = ag.tensor(matrices(40)[kind], requires_grad=True)
        y = ag.tensor(np.arange(40.0), requires_grad=True)
        ag.sum(ag.solve(x, ag.solve(x.T, y)) ** 2).backward()
        found.append((x.grad.numpy(), y.grad.numpy()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9 * np.abs(other).max())


def test_without_scipy_each_system_is_solved_by_itself(monkeypatch):
    monkeypatch.setattr(factors, "_lapack", lambda: None)
    matrix = matrices(40)["full"]
    np.testing.assert_array_equal(ag.solve(matrix, np.ones(40)), np.linalg.solve(matrix, np.ones(40)))


def test_the_derivative_of_cholesky_is_that_of_single_systems(monkeypatch):
    full = matrices(40)["full"]
    found = []
    for fewest in (32, 1000):
        monkeypatch.setattr(factors, "_FEWEST", fewest)
        x = ag.tensor(full @ full.T + 40 * np.eye(40), requires_grad=True)
        ag.sum(ag.sin(ag.cholesky(x))).backward()
        found.append(x.grad.numpy())
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-12)
