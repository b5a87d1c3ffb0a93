"""Systems with the same matrix in compiled functions: factorised once, with the results and errors of each alone."""

import math

import pytest

import agrad.engine as ag
from agrad.engine.compile.llvm.loops import code, factors
from agrad.engine.errors import AgradError
from agrad.engine.values import np

pytest.importorskip("llvmlite")
pytest.importorskip("scipy")
RNG = np.random.default_rng(0)
LINE = np.linspace(0.0, 1.0, 100)


def regular(size, seed):
    return np.random.default_rng(seed).normal(size=(size, size)) + size * np.eye(size)


def several(a, y):
    """Solutions with a matrix and with its transpose, of a vector and of columns, of what was solved before."""
    s = ag.solve(a, y)
    t = ag.solve(a.T, s)
    c = ag.solve(a, ag.stack([y, t, s * s]).T)
    return ag.sum(c * c) + ag.sum(ag.sin(t)) + ag.sum(ag.exp(LINE))


def by_cholesky(a, y):
    lower = ag.cholesky(a @ a.T)
    s = ag.solve(lower.T, ag.solve(lower, y))
    return ag.sum(s * ag.solve(a @ a.T, y)) + ag.sum(ag.log(ag.diag(lower))) + ag.sum(ag.exp(LINE))


@pytest.fixture
def made(monkeypatch):
    """What was factorised, and what solved by it."""
    seen, solution = [], factors.solution

    def counted(one, matrix, right, known):
        before = len(known)
        found = solution(one, matrix, right, known)
        seen.append((len(known) - before, found is not None))
        return found

    monkeypatch.setattr(code, "solution", counted)
    return seen


@pytest.mark.parametrize("f", [several, by_cholesky])
@pytest.mark.parametrize("size", [8, 9, 20])
def test_value_and_gradient(made, f, size):
    a, y = regular(size, size), RNG.normal(size=size)
    compiled, exact = (ag.compile(f, a, y, backend=name) for name in ("llvm", "python"))
    for factor in (1.0, 1.3):
        value, by = compiled.value_and_grad(a * factor, y)
        expected, by_exact = exact.value_and_grad(a * factor, y)
        assert value == pytest.approx(expected, rel=1e-12)
        for one, other in zip(by, by_exact, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12 * np.abs(other).max())
    assert all(solved for _, solved in made)
    assert len(made) > 2 * sum(count for count, _ in made)
    assert sum(count for count, _ in made) in (1, 2, 4) or f is by_cholesky


def test_a_constant_matrix_is_factorised_once_for_all_calls(made):
    a = regular(12, 3)
    compiled = ag.compile(
        lambda y: ag.sum(ag.solve(a, ag.exp(y))) + ag.sum(ag.exp(LINE * y[0])), np.ones(12), backend="llvm"
    )
    for factor in (0.1, 0.2, 0.3):
        assert compiled.value(factor * np.ones(12)) == pytest.approx(
            float(np.sum(np.linalg.solve(a, np.exp(factor * np.ones(12)))) + np.sum(np.exp(LINE * factor))), rel=1e-13
        )
    assert [count for count, _ in made if count] == [1]


@pytest.mark.parametrize("entry", [0.0, math.nan, math.inf])
def test_a_matrix_that_cannot_be_solved_gives_what_it_gives_uncompiled(entry):
    a, y = regular(8, 1), np.ones(8)
    compiled = ag.compile(several, a, y, backend="llvm")
    compiled.value(a * 1.1, y)
    a[2] = a[:, 2] = entry

    def outcome(f):
        try:
            return f(a, y)
        except AgradError as error:
            return error.kind, error.message

    with np.errstate(all="ignore"):
        found, expected = outcome(compiled.value), outcome(lambda a, y: float(several(ag.tensor(a), ag.tensor(y))))
    assert found == expected or (math.isnan(found) and math.isnan(expected))
    assert compiled.value(regular(8, 1), y) == pytest.approx(float(several(ag.tensor(regular(8, 1)), y)), rel=1e-12)


def test_without_scipy_each_system_is_solved_alone(monkeypatch):
    monkeypatch.setattr(factors, "_lapack", lambda: None)
    a, y = regular(8, 2), np.ones(8)
    compiled = ag.compile(several, a, y, backend="llvm")
    assert compiled.value(a * 1.1, y) == pytest.approx(float(several(ag.tensor(a * 1.1), ag.tensor(y))), rel=1e-13)


def test_an_outer_product_is_a_part_of_a_loop():
    def f(x, y):
        return ag.sum(ag.exp(ag.reshape(x, (40, 1)) @ ag.reshape(y, (1, 30))) * 0.5)

    x, y = RNG.normal(size=40), RNG.normal(size=30)
    compiled, exact = (ag.compile(f, x, y, backend=name) for name in ("llvm", "python"))
    value, by = compiled.value_and_grad(x, y)
    expected, by_exact = exact.value_and_grad(x, y)
    assert value == pytest.approx(expected, rel=1e-13)
    for one, other in zip(by, by_exact, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    steps = compiled._gradient.known[0].native.program.steps
    assert [step.op.name for step in steps].count("matmul") == 2  # of the gradients
