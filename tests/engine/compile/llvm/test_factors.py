"""Systems with the same matrix in compiled functions: factorised once, with the results and errors of each alone."""

import math
from dataclasses import replace
from itertools import product

import pytest
from compiled import check_threads, same
from refused import refuses
from rows import each
from test_loops import program_of

import agrad.engine as ag
from agrad.engine.compile.llvm import loops, memory
from agrad.engine.compile.llvm import stages as factors
from agrad.engine.compile.llvm.stages import Alone, Factorise
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


def stages(compiled, kind):
    """How many there are of a kind in the machine code for value and gradient."""
    found = compiled._gradient.known[0].native.schedule.stages
    return [stage.kind if isinstance(stage, Alone) else type(stage) for stage in found].count(kind)


def alike(f, *points, digits=1e-9):
    """Machine code gives what Python gives, at the points after the first; the function that is machine code."""
    compiled, exact = (ag.compile(f, *points[0], backend=name) for name in ("llvm", "python"))
    for point in points:
        same(compiled.value_and_grad(*point), exact.value_and_grad(*point), digits)
    return compiled


@each("f", [several, by_cholesky])
@each("size", [14, 15, 20])
def test_value_and_gradient(f, size):
    a, y = regular(size, size), RNG.normal(size=size)
    compiled = alike(f, (a, y), (a * 1.3, y))
    assert stages(compiled, Factorise) == 1
    assert stages(compiled, "solve") > 4


def every(a, y):
    """All that is computed from the factors of a matrix, and of its transpose."""
    sign, log = ag.slogdet(a)
    inverse = ag.inv(a)
    found = ag.sum(ag.solve(a, y) * ag.solve(a.T, y)) + ag.det(a / 9.0) * 0.1 + ag.det(a) * 1e-9 + sign * log
    return found + ag.sum(inverse @ ag.inv(a.T)) + ag.slogdet(a.T)[1] + ag.sum(ag.exp(LINE))


@each("size", [8, 13])
def test_inverse_determinant_and_solutions_share_the_factors(size):
    a, y = regular(size, size), RNG.normal(size=size)
    exchanged = a[::-1].copy()
    exchanged[0] *= -1.0
    compiled = alike(every, (a, y), (exchanged, y), (a.T * 0.7, y * 2.0))
    assert stages(compiled, Factorise) == 2  # of a, and of a/9, whose determinant and cofactors are computed
    assert "a matrix is factorised" in compiled.explain()


@each("columns, size", list(product([1, 2, 7, 8, 9, 30], [8, 11, 40])), short=4)
def test_several_right_sides_are_solved_where_they_lie(size, columns):
    def f(a, y):
        s = ag.solve(a, y)
        t = ag.solve(a.T, s * y)
        lower = ag.cholesky(a @ a.T + np.eye(size))
        u = ag.solve(lower, t)
        return ag.sum(ag.solve(lower.T, u * s)) + ag.sum(ag.exp(LINE) * ag.sum(t))

    a, y = regular(size, 5)[::-1] * 0.5, RNG.normal(size=(size, columns))
    alike(f, (np.ascontiguousarray(a), y), (a.T, y[::-1]))


def test_a_constant_matrix_is_factorised_before_all_calls():
    a = regular(12, 3)
    compiled = ag.compile(
        lambda y: ag.sum(ag.solve(a, ag.exp(y))) + ag.sum(ag.exp(LINE * y[0])), np.ones(12), backend="llvm"
    )
    for factor in (0.1, 0.2, 0.3):
        expected = np.sum(np.linalg.solve(a, np.exp(factor * np.ones(12)))) + np.sum(np.exp(LINE * factor))
        assert compiled.value(factor * np.ones(12)) == pytest.approx(float(expected), rel=1e-13)
        compiled.grad(factor * np.ones(12))
    assert stages(compiled, Factorise) == 0 and stages(compiled, "solve") > 0


def test_a_constant_singular_matrix_is_the_error_that_it_is_uncompiled():
    a = regular(9, 4)
    program = program_of(lambda y: ag.sum(ag.solve(a, y * 2.0)) + ag.sum(ag.exp(LINE * y[0])), np.ones(9))
    constants = [np.ones((9, 9)) if np.shape(x) == (9, 9) else x for x in program.constants]
    refuses(lambda: loops.Loops(replace(program, constants=tuple(constants))).call(np.ones(9)), "singular")


def test_factors_are_inside_their_memory(monkeypatch):
    """Guard bytes around the factors and the rows that were exchanged."""
    seen = []

    def room(self, matrix, size):
        lu, pivots = np.full(size * size + 16, 7.5), np.full(size + 16, 77, np.int32)
        seen.append((lu, pivots, size))
        parts = lu[8:-8].reshape(size, size), pivots[8:-8]
        for slot, array in zip(self.memory.factored[matrix], parts, strict=True):
            self.table[slot] = memory.address(array)
        return parts[0].T, parts[1]

    monkeypatch.setattr(memory.Buffers, "_room", room)
    for size in (8, 9, 16, 31):
        a, y = regular(size, 2), RNG.normal(size=size)
        alike(several, (a, y), (a[::-1].copy(), y))
    assert seen
    for lu, pivots, _ in seen:
        assert (lu[:8] == 7.5).all() and (lu[-8:] == 7.5).all()
        assert (pivots[:8] == 77).all() and (pivots[-8:] == 77).all()


def test_threads_may_solve_at_once():
    points = [(regular(12, seed), np.arange(12.0)) for seed in range(12)]
    check_threads(ag.compile(several, *points[0], backend="llvm").value_and_grad, points)


@each("f", [several, every])
@each("entry", [0.0, math.nan, math.inf])
def test_a_matrix_that_cannot_be_solved_gives_what_it_gives_uncompiled(entry, f):
    a, y = regular(8, 1), np.ones(8)
    compiled = ag.compile(f, a, y, backend="llvm")
    compiled.value(a * 1.1, y)
    a[2] = a[:, 2] = entry

    def outcome(call):
        try:
            return call(a, y)
        except AgradError as error:
            return error.kind, error.message

    with np.errstate(all="ignore"):
        found, expected = outcome(compiled.value), outcome(lambda a, y: float(f(ag.tensor(a), ag.tensor(y))))
    assert found == expected or (math.isnan(found) and math.isnan(expected))
    assert compiled.value(regular(8, 1), y) == pytest.approx(float(f(ag.tensor(regular(8, 1)), y)), rel=1e-12)


def test_without_scipy_each_system_is_solved_alone(monkeypatch):
    monkeypatch.setattr(factors, "pointers", lambda: None)
    a, y = regular(10, 2), np.ones(10)
    compiled = ag.compile(several, a, y, backend="llvm")
    assert compiled.value(a * 1.1, y) == pytest.approx(float(several(ag.tensor(a * 1.1), ag.tensor(y))), rel=1e-13)
    compiled.grad(a, y)
    assert stages(compiled, "solve") == 0


def test_an_outer_product_is_a_part_of_a_loop():
    def f(x, y):
        return ag.sum(ag.exp(ag.reshape(x, (40, 1)) @ ag.reshape(y, (1, 30))) * 0.5)

    x, y = RNG.normal(size=40), RNG.normal(size=30)
    compiled = alike(f, (x, y), digits=1e-12)
    steps = compiled._gradient.known[0].native.program.steps
    assert [step.op.name for step in steps].count("matmul") == 2  # of the gradients
