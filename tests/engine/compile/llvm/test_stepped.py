"""Loops over bodies of arrays in machine code: what is the same in each iteration is computed and factorised once."""

import numpy as np
import pytest
from compiled import check_threads, same
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine.compile.llvm import stages, target
from agrad.engine.compile.llvm.repeated import divided
from agrad.engine.program import rolled
from agrad.engine.program.ir import optimised
from agrad.engine.program.trace import trace

pytest.importorskip("scipy")
pytestmark = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")
N = 70
RNG = np.random.default_rng(4)
SHIFT = np.eye(N, k=1) + np.eye(N, k=-1)
ROWS = 0.1 * RNG.normal(size=(12, N))


def implicit(flow, start):
    """Implicit steps, with the transposed system, too, and a determinant of the same matrix."""
    matrix = 3.0 * np.eye(N) - flow[:, None] * SHIFT

    def step(u, row):
        u = ag.solve(matrix, u + row)
        return ag.tanh(ag.solve(matrix.T, u)), ag.sum(u * row) * ag.slogdet(matrix)[1]

    last, seen = ag.scan(step, start, ROWS)
    return ag.sum(last * last) + ag.mean(seen)


def smoothed(flow, start):
    """A body without systems: a product of matrices, and sums."""
    weights = ag.exp(-(flow[:, None] ** 2)) * SHIFT * 0.4

    def step(u, row):
        u = ag.tanh(weights @ u + row) + 0.1 * ag.mean(u)
        return u, ag.sum(u)

    last, seen = ag.scan(step, start, ROWS)
    return ag.sum(last * flow) + ag.mean(seen * seen)


def explicit(flow, start):
    """A plain loop, which becomes the same operation."""
    matrix, u = 3.0 * np.eye(N) - flow[:, None] * SHIFT, start
    for _ in range(30):
        u = ag.solve(matrix, ag.sin(u)) + 0.01 * flow
    return ag.sum(u * u)


def points(count):
    return [(RNG.random(N), RNG.normal(size=N)) for _ in range(count)]


@pytest.mark.parametrize("f", [implicit, pytest.param(smoothed, marks=pytest.mark.long), explicit])
def test_value_gradient_and_products_with_the_hessian(f, monkeypatch):
    monkeypatch.setattr(rolled, "LONG", 60)
    first, *others = points(3)
    compiled, exact = (ag.compile(f, *first, backend=backend) for backend in ("llvm", "python"))
    for point in others:
        same(compiled.value_and_grad(*point), exact.value_and_grad(*point), 1e-9)
    found, expected = (one.hvp(first, others[0]) for one in (compiled, exact))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9 * np.abs(other).max())


def test_a_matrix_of_all_iterations_is_factorised_once_for_each_loop(monkeypatch):
    made, factorised = [], stages.factorised
    monkeypatch.setattr(stages, "factorised", lambda matrix: made.append(matrix) or factorised(matrix))
    first, second, other = points(3)
    compiled = ag.compile(implicit, *first, backend="llvm")
    compiled.value_and_grad(*first)
    compiled.value_and_grad(*second)
    made.clear()
    compiled.value_and_grad(*other)
    assert len(made) == 2  # forward and back, each of 12 iterations


def test_a_matrix_that_is_singular_is_the_error_that_it_is_uncompiled():
    def f(scale, start):
        return ag.sum(ag.scan(lambda u, row: (ag.solve(scale * np.eye(N), u + row), ()), start, ROWS)[0])

    compiled = ag.compile(f, 2.0, ROWS[0], backend="llvm")
    expected = refuses(lambda: f(0.0, ROWS[0]))
    for _ in range(2):
        assert refuses(lambda: compiled.value(0.0, ROWS[0])).message == expected.message
        assert compiled.value(2.0, ROWS[0]) == pytest.approx(float(f(2.0, ROWS[0])), rel=1e-13)


SMALL = np.array([[0.9, 0.1, 0.0], [0.0, 0.8, 0.2], [0.1, 0.0, 0.7]])
SEEN = RNG.normal(size=(40, 2))


def filtered(p, look):
    """A filter whose small matrices are factorised in each iteration, as a plain loop."""
    move, mean, spread, total = SMALL + p * SMALL.T, np.zeros(3), np.eye(3), 0.0
    for place in SEEN:
        mean, spread = move @ mean, move @ spread @ move.T + 0.1 * np.eye(3)
        whole, apart = look @ spread @ look.T + 0.2 * np.eye(2), place - look @ mean
        gain = ag.solve(whole, look @ spread).T
        total = total + ag.slogdet(whole)[1] + apart @ ag.inv(whole) @ apart + ag.log(ag.det(spread))
        mean, spread = mean + gain @ apart, spread - gain @ look @ spread
    return total


def test_small_matrices_are_factorised_in_the_body(monkeypatch):
    monkeypatch.setattr(rolled, "LONG", 60)
    first, second = (0.1, RNG.normal(size=(2, 3))), (-0.2, RNG.normal(size=(2, 3)))
    compiled = ag.compile(filtered, *first, backend="llvm")
    for given in (first, second):
        value, gradients = compiled.value_and_grad(*given)
        assert value == pytest.approx(float(filtered(*given)), rel=1e-12)
        expected = ag.grad(filtered, (0, 1))(*given)
        for one, known in zip(gradients, expected, strict=True):
            np.testing.assert_allclose(one, getattr(known, "value", known), rtol=1e-9, atol=1e-11)
    (used,) = compiled._gradient.known
    bodies = [step.attrs["body"] for step in used.lowered.program.steps if step.op.role == "loop"]
    assert len(bodies) == 2 and all(body.doubts and body.native is not None for body in bodies)


def test_a_small_matrix_that_is_singular_is_the_error_that_it_is_uncompiled():
    def f(scale, rows):
        return ag.sum(ag.scan(lambda u, row: (ag.solve(scale * SMALL + row[0], u), ()), np.ones(3), rows)[0])

    compiled = ag.compile(f, 2.0, SEEN, backend="llvm")
    expected = refuses(lambda: f(0.0, 0.0 * SEEN))
    for _ in range(2):
        assert refuses(lambda: compiled.value(0.0, 0.0 * SEEN)).message == expected.message
        assert compiled.value(2.0, SEEN) == pytest.approx(float(f(2.0, SEEN)), rel=1e-11)


@each("seed", range(20), short=10)
def test_the_parts_of_a_program_compute_what_it_computes(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    kinds = rng.integers(0, 5, size=12).tolist()

    def f(x, y, z):
        values = [x, y, z, ag.exp(z)]
        for kind in kinds:
            a, b = (values[int(place)] for place in rng.integers(0, len(values), size=2))
            made = [a * b, ag.sin(a) + 1.0, a @ b * a, ag.concat([a[1:], b[:1]]), ag.outer(a, b).T @ a]
            values.append(made[kind])
        return ag.concat([*values[-3:], x])

    given = [rng.normal(size=n) for _ in range(3)]
    program = optimised(trace(f, given))
    before, rest = divided(program, [2])
    fixed = before.run(given[2])
    (found,), (expected,) = rest.run(given[0], given[1], *fixed), program.run(*given)
    assert found.tobytes() == expected.tobytes()
    assert len(before.inputs) == 1 and len(rest.inputs) == 2 + len(fixed)


def test_threads_run_the_same_loop():
    check_threads(ag.compile(implicit, *points(1)[0], backend="llvm").value_and_grad, points(8))
