"""Parts of the loops of machine code: small products of matrices, sums by places, calls side by side, and the memory of a call."""

import math
import re
from itertools import product

import numpy as np
import pytest
from random_programs import of_arrays
from rows import each, functions
from test_loops import check, program_of, stages

import agrad.engine as ag
from agrad.engine.compile.llvm import memory as arena
from agrad.engine.compile.llvm import target
from agrad.engine.compile.llvm.loops import Loops
from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.compile.llvm.stages import Kernel, Library
from agrad.engine.compile.llvm.target import machine
from agrad.engine.values import size_of

pytestmark = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")


RNG = np.random.default_rng(5)


LONG = RNG.normal(size=100)


def entries(*shape):
    return RNG.normal(size=shape)


def with_loop(y, x):
    """A number of a matrix, with a loop over many entries."""
    return ag.sum(y * y) + ag.sum(ag.sin(LONG * ag.sum(x)))


@each("rows, columns", list(product([1, 3, 4, 5, 9, 48], [*range(1, 20), 31, 32, 33, 48, 49, 100, 128])), short=9)
def test_every_number_of_rows_and_columns(rows, columns):
    inner = (rows * columns) % 17 + 1
    loops = check(lambda a, b: with_loop(a @ b, a), entries(rows, inner), entries(inner, columns))
    assert Library not in stages(loops)
    assert stages(loops).count("product") == 3


@each("f", functions("a, b", """
    a.T @ b; a @ b.T; a.T @ b.T; a[::-1] @ b[:, ::-1]; a[1:4, 2:5] @ b[2:5, 1:2]
    a[:, [2, 0, 1]] @ b[[0, 5, 5]]; a * b @ (b + 1.0) @ a; a @ b @ (b @ a).T @ a; a @ a
    ag.reshape(a, (3, 12)) @ ag.reshape(b, (12, 3)); a @ b * ag.sum(a @ b, 0); ag.stack([a @ b, b @ a])
""", globals()).values())  # fmt: skip
def test_matrices_are_read_where_they_lie(f):
    loops = check(lambda a, b: with_loop(f(a, b), b), entries(6, 6), entries(6, 6), rtol=1e-12)
    assert "product" in stages(loops)


def test_what_is_not_finite_stays_in_its_row_and_column():
    a, b = entries(9, 9), entries(9, 9)
    a[2, 3], b[4, 5] = np.inf, np.nan
    check(lambda a, b: ag.exp(LONG)[:9] * (a @ b), a, b, gradients=False)


def test_a_long_chain_is_computed_without_python():
    def f(a):
        term = total = np.eye(20)
        for k in range(1, 11):
            term = term @ a / k
            total = total + term
        return ag.sum(total * total)

    loops = check(f, 0.3 * entries(20, 20), rtol=1e-12)
    assert Library not in stages(loops)
    assert len(loops.driver.parts) == 1


def test_large_products_are_left_to_the_library():
    loops = check(lambda a: with_loop(a @ a, a), entries(129, 129), rtol=1e-12)
    assert "product" not in stages(loops)


@each(
    "index",
    [
        [0, 0, 0],
        [3, 1, 3, 0, 4, 4],
        [-1, 0, -1],
        (slice(None), [0, 1, 1, 0]),
        ([0, 2, 2], [1, 1, 1]),
        ([[0, 1], [1, 0]],),
        (slice(None, None, -1), slice(None, None, 2)),
    ],
)
def test_sums_by_places(index):
    index = (
        tuple(np.array(x) if isinstance(x, list) else x for x in index) if isinstance(index, tuple) else np.array(index)
    )
    loops = check(lambda x: ag.sum(ag.exp(x[index]) * 1.5) + ag.sum(ag.sin(LONG * ag.sum(x))), entries(5, 3))
    assert Library not in stages(loops)


def test_sums_by_places_are_added_in_their_order():
    i, j = np.triu_indices(40, 1)

    def f(x):
        d = x[i] - x[j]
        return ag.sum(ag.exp(-ag.sum(d * d, 1)))

    x = entries(40, 3)
    loops = check(f, x)
    assert stages(loops).count("scatter") == 2
    assert stages(loops).count(Kernel) >= 1
    g = entries(len(i), 3)
    one = check(lambda g: ag.grad(lambda x: ag.sum(x[i] * g))(x) + ag.sum(ag.sin(LONG)), g, gradients=False)
    expected = np.zeros((40, 3))
    np.add.at(expected, i, g)
    assert (one.call(g)[0] == expected + float(np.sum(np.sin(LONG)))).all()


def test_explain_names_them():
    compiled = ag.compile(lambda a: with_loop(a @ a, a), entries(30, 30), backend="llvm")
    assert "a product of matrices, 30x30 by 30x30" in compiled.explain()


def test_a_number_in_all_entries_of_a_matrix_is_multiplied_like_others():
    check(lambda a, m: ag.sum(ag.sin(LONG) * a) * ag.mean(m @ m.T) * a, 0.5, entries(3, 3), rtol=1e-12)


pytest.importorskip("llvmlite")


needs_vectors = pytest.mark.skipif(machine().vector_name("tanh", 1) is None, reason="there is no libmvec here")


@needs_vectors
@each("size, count", [(1, 0), (8, 2), (24, 2)])
def test_calls_side_by_side_become_one(size, count, monkeypatch):
    llvm, texts = target.llvmlite(), []
    make = llvm.create_mcjit_compiler
    monkeypatch.setattr(llvm, "create_mcjit_compiler", lambda made, *rest: texts.append(str(made)) or make(made, *rest))
    found = ag.compile(
        lambda x: ag.scan(lambda s, _: (ag.tanh(ag.tanh(s)), ()), x, count=5)[0], np.zeros(size), backend="llvm"
    )
    found.value(np.ones(size))
    (loop,) = [text for text in texts if "@repeat(" in text]
    calls = re.findall(r"call <(\d+) x double> @_ZGV", loop)
    assert sum(map(int, calls)) == count * size
    assert (loop.count("call double @tanh") > 0) == (not count)


@each("size, name", list(product([1, 2, 3, 7, 8, 9, 17], ["tanh", "exp", "sin", "log1p"])), short=3)
def test_a_loop_gives_what_python_gives(name, size):
    f = getattr(ag, name)

    def run(start, rows):
        def step(state, row):
            state = f(0.3 * f(0.5 * state * state) + row * row)
            return state, ag.sum(state)

        last, sums = ag.scan(step, start, rows)
        return ag.sum(last) + ag.sum(sums)

    start, rows = np.linspace(0.1, 1.0, size), np.linspace(0.2, 0.8, 5 * size).reshape(5, size)
    compiled = ag.compile(run, start, rows, backend="llvm")
    for scale in (1.0, 1.1):
        value, gradients = compiled.value_and_grad(scale * start, scale * rows)
        xs = [ag.tensor(scale * x, requires_grad=True) for x in (start, rows)]
        expected = run(*xs)
        expected.backward()
        assert value == pytest.approx(expected.item(), rel=1e-13)
        for found, x in zip(gradients, xs, strict=True):
            np.testing.assert_allclose(found, x.grad.numpy(), rtol=1e-12)


def test_edges_are_those_of_the_c_library():
    edges = np.array([0.0, -0.0, 1e-320, 710.0, -746.0, math.inf, -math.inf, math.nan, 1.0])

    def run(start):
        def step(state, _):
            return ag.exp(state), ag.tanh(state)

        return ag.scan(step, start, np.zeros(1))[1]

    compiled = ag.compile(run, edges, backend="llvm")
    compiled.value(0.5 * edges)
    np.testing.assert_allclose(compiled.value(edges)[0], np.tanh(edges), rtol=1e-15)


def chain(x):
    """Each step needs the sums of the one before."""
    for _ in range(8):
        x = ag.sin(x) + ag.sum(x, 0) * ag.sum(x * x, 1)[:, None]
        x = x / (1.0 + ag.sum(ag.abs(x)))
    return ag.sum(x)


def test_a_chain_needs_as_much_as_a_few_of_its_steps():
    x = RNG.normal(size=(60, 50))
    loops = check(chain, x, gradients=False, rtol=1e-12)
    assert loops.memory.length < 4 * 60 * 50
    assert check(chain, x, rtol=1e-9).memory.length < 18 * 60 * 50


@each("f", functions("x", """
    ag.sum(ag.sort(ag.sin(x) @ x.T) * ag.exp(x @ x.T * 0.1))
    ag.sum((ag.sin(x) @ ag.cos(x).T)[::-1].T @ ag.reshape(ag.exp(0.1 * x), (50, 60)).T)
    ag.sum(ag.solve(x[:50].T @ x[:50] + np.eye(50), ag.sum(ag.sin(x), 0)))
    ag.sum(ag.cumsum(ag.sin(x), 0) * ag.cumsum(ag.cos(x), 1))
""", globals()).values())  # fmt: skip
def test_what_the_library_reads_and_returns_keeps_its_place(f):
    check(f, RNG.normal(size=(60, 50)), rtol=1e-10)


@each("seed", range(60), short=12)
def test_no_two_arrays_that_are_needed_at_once_overlap(seed):
    grown = of_arrays(seed)
    schedule = Schedule(program_of(grown, *grown.examples))
    memory = Loops(schedule.program).memory
    last = arena._last_reads(schedule)
    spans, seen = [], set()
    for number, stage in enumerate(schedule.stages):
        for slot in schedule.accesses(stage)[0]:
            if slot in memory.places and slot not in seen:
                seen.add(slot)  # parts of it may be written later
                begin = memory.places[slot]
                spans.append(
                    (begin, begin + size_of(schedule.program.shape(slot)), number, max(number, last.get(slot, number)))
                )
    assert len(spans) == len(memory.places)
    for i, (begin, end, first, until) in enumerate(spans):
        assert 0 <= begin < end <= memory.length
        for other_begin, other_end, other_first, other_until in spans[:i]:
            apart = end <= other_begin or other_end <= begin
            assert apart or until < other_first or other_until < first


@each("f", functions("m, v", """
    m @ v; v @ m; m.T @ v; v @ m.T; (m @ v) @ v; v @ m @ v; m[::-1, 2:4] @ v[2:4]; m @ (m @ (m @ v)); ag.tanh(m @ v) @ m
""", globals()).values())  # fmt: skip
def test_products_with_vectors_are_parts_of_loops(f):
    matrix, vector = entries(50, 50) / 7, entries(50)
    made = ag.compile(lambda m, v: with_loop(f(m, v), v), matrix, vector, backend="llvm")
    eager = ag.compile(lambda m, v: with_loop(f(m, v), v), matrix, vector, backend="python")
    for found, expected in zip(made.grad(matrix, vector), eager.grad(matrix, vector), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
    assert "by the library" not in made.explain()


def test_tanh_and_its_slope_have_their_digits_in_loops():
    """From -1e-300 to infinity, also where 1 - tanh(x)**2 has none; the sign of zero is that of the argument."""
    sizes = np.concatenate([np.geomspace(1e-300, 340.0, 600), np.linspace(0.1, 30.0, 600), [0.0, np.inf]])
    x = np.concatenate([sizes, -sizes])
    compiled = ag.compile(lambda x: (ag.tanh(x), ag.sum(ag.tanh(x))), x, backend="llvm")
    found, slope = compiled.value(x)[0], ag.compile(lambda x: ag.sum(ag.tanh(x)), x, backend="llvm").grad(x)
    np.testing.assert_array_max_ulp(found, np.tanh(x), 4)
    t = np.exp(-2.0 * np.abs(x))
    np.testing.assert_allclose(slope, 4.0 * t / (1.0 + t) ** 2, rtol=2e-15)
    assert (np.signbit(found) == np.signbit(x)).all()


def test_tanh_and_its_slope_are_computed_in_one_loop():
    """Also where the slope is wanted after a sum that needs tanh: it is stored, since most of it is there."""
    loops = check(lambda x: ag.sum(ag.tanh(x) * ag.sum(ag.tanh(x) * x)), LONG, rtol=1e-13)
    kernels = [stage for stage in loops.schedule.stages if isinstance(stage, Kernel)]
    names = [{loops.schedule.step(slot).op.name for slot in kernel.steps} for kernel in kernels]
    assert len(kernels) > 1 and [{"tanh", "sech_squared"} <= some for some in names].count(True) == 1
    assert sum(not some.isdisjoint(("tanh", "sech_squared")) for some in names) == 1


@each("f", functions("m", """
    ag.max(m); ag.min(m); ag.sum(ag.max(m, axis=0)); ag.sum(ag.min(m * m, axis=1)); ag.max(ag.exp(m) - ag.max(ag.sin(m)))
    ag.sum(ag.log(ag.sum(ag.exp(m - ag.max(m, axis=1, keepdims=True)), axis=1)) + ag.max(m, axis=1)); ag.max(m[:, :1])
""", globals()).values())  # fmt: skip
def test_largest_and_smallest_entries_are_parts_of_loops(f):
    loops = check(lambda m: with_loop(f(m), m), entries(90, 7), rtol=1e-12)
    assert Library not in stages(loops)


def test_extremes_of_what_is_not_finite_in_loops():
    """As numpy has them: nan is the largest and the smallest of all."""
    m = entries(5000, 3)
    m[0, 0], m[4000, 1], m[7, 2] = -np.inf, np.nan, np.inf
    shown = ag.compile(lambda m: (ag.max(m, axis=0), ag.min(m, axis=0), ag.max(m), ag.max(m[::-1])), m, backend="llvm")
    for found, expected in zip(shown.value(m), (m.max(0), m.min(0), m.max(), m.max()), strict=True):
        np.testing.assert_array_equal(found, expected)
