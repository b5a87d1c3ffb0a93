"""Functions of arrays that decide by what they compute: their specialisations are one function."""

import math

import numpy as np
import pytest
from compiled import check_threads, eagerly, near, same
from rows import each

import agrad.engine as ag
from agrad.engine.compile import specializations
from agrad.engine.compile.llvm import backend, target
from agrad.engine.errors import AgradError

pytestmark = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")

SIZES = [3, 200]  # numbers, and loops


@pytest.fixture
def soon(monkeypatch):
    """The one function is made after few calls, but not at once."""
    monkeypatch.setattr(specializations.cost, "repaid_by_one_function", lambda length: 2e5 + 300.0 * length)


def steps(x):
    total = ag.sum(x * x)
    for k in range(5):
        x = ag.sin(x) * 1.1 - 0.1 if ag.mean(x) > 0.1 * k else x * 0.7 + ag.tanh(x) * 0.2
        total = total + ag.mean(x * x) * (k + 1.0)
    return total


def until(x):
    while ag.sqrt(ag.mean(x * x)) > 0.5:
        x = x - 0.3 * ag.tanh(x)
    return ag.sum(x * x)


def all_kinds(x):
    y = x * 2.0
    if ag.any(x > 1.5):
        y = y + 1.0
    if ag.all(x <= 1.0):
        y = y * x
    if x[0] == 0.0:
        y = y - 3.0
    if x[1] >= x[2]:
        y = ag.exp(-y * y)
    if not (x[2] < 0.5):
        return ag.sum(y) * 0.25
    return ag.mean(y) if x[0] else ag.sum(y)


def points(size, count=40):
    rng = np.random.default_rng(5)
    return [rng.normal(size=size) + 1.5 * rng.normal() for _ in range(count)]


def alike(f, compiled, given):
    """What a compiled function gives is what it gives uncompiled, each time."""
    for x in given * 3:
        with np.errstate(all="ignore"):
            same(compiled.value_and_grad(x), eagerly(f, (x.astype(float),)))
    assert compiled._gradient.together is not None


@each("size", SIZES, short=2)
@each("f", [steps, until, all_kinds])
def test_all_paths_are_one_function(soon, f, size):
    compiled = ag.compile(f, np.ones(size))
    given = points(size)
    expected = [eagerly(f, (x,)) for x in given]
    for _ in range(3):
        for x, known in zip(given, expected, strict=True):
            same(compiled.value_and_grad(x), known)
            assert compiled.value(x) == pytest.approx(known[0], rel=1e-12)
    assert len(compiled._gradient.known) > 3
    for family in (compiled._gradient, compiled._value):
        assert len(family.together.code.members) > 3


@each("bad", [math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324])
@each("size", SIZES, short=2)
def test_edge_values_take_the_path_that_they_take_uncompiled(soon, bad, size):
    usual = points(size, 20)
    edges = []
    for place in range(3):
        for x in usual[:3]:
            edges.append(x.copy())
            edges[-1][place] = bad
    edges += [np.full(size, bad), np.full(size, 1.0), np.where(np.arange(size) % 2, 1.0, 1.5)]
    compiled = ag.compile(all_kinds, usual[0])
    alike(all_kinds, compiled, [*usual, *edges])


@each("kind", ["f8", "i8", "?", "f4", ">f8"])
@each("size", SIZES, short=2)
def test_arrays_of_every_kind_may_be_decided_by(soon, kind, size):
    given = [(x > 0.3 if kind == "?" else x * 3.0).astype(kind) for x in points(size)]
    compiled = ag.compile(all_kinds, given[0])
    alike(all_kinds, compiled, [*given, *[np.repeat(x, 2)[::2] for x in given]])


def test_a_singular_matrix_on_a_path_is_refused_each_time(soon):
    def f(m):
        if ag.sum(m) > 0.0:
            m = m * 2.0
        x = ag.solve(m, m[0] * 0.0 + 1.0)
        return ag.sum(x) if x[0] > 0.0 else ag.sum(x * x)

    rng = np.random.default_rng(1)
    given = [rng.normal(size=(3, 3)) + 2.0 * np.eye(3) * sign for sign in (1.0, -1.0) * 10]
    compiled = ag.compile(f, given[0])
    alike(f, compiled, given)
    count = len(compiled._gradient.known)
    for bad in [np.ones((3, 3)), -np.ones((3, 3)), np.zeros((3, 3))]:
        for _ in range(3):
            with pytest.raises(AgradError, match="singular"):
                f(ag.tensor(bad))
            with pytest.raises(AgradError, match="singular"):
                compiled.value_and_grad(bad)
    assert len(compiled._gradient.known) == count


@each("size", SIZES, short=2)
def test_threads_share_it(soon, size):
    compiled = ag.compile(steps, np.ones(size))
    check_threads(compiled.value_and_grad, [(x,) for x in points(size, 120)] * 3, same)
    assert compiled._gradient.together is not None


@each("size", SIZES, short=2)
def test_results_may_be_of_another_structure_and_shape_in_each_branch(soon, size):
    def f(x):
        if ag.sum(x) > 0.0:
            return {"all": x * 2.0, "first": x[0]}
        return (x[:2], ag.outer(x, x[:3])) if x[0] > 0.0 else x

    compiled = ag.compile(f, np.ones(size))
    for x in points(size) * 3:
        found, expected = compiled.value(x), f(ag.tensor(x))
        parts, wanted = ((one.values() if isinstance(one, dict) else one) for one in (found, expected))
        assert type(found) is type(expected) or isinstance(found, np.ndarray)
        for one, other in zip(parts, wanted, strict=True):
            near(one, other.value)
    assert compiled._value.together is not None
    first = [compiled.value(x) for x in points(size)]
    again = [compiled.value(x) for x in points(size)]
    for one, other in zip(first, again, strict=True):
        if isinstance(one, np.ndarray):
            assert not np.shares_memory(one, other)
            one[:] = 7.0


@each("size", SIZES, short=2)
def test_an_error_in_a_branch_is_raised_each_time(soon, size):
    def f(x):
        if ag.sum(x) < -4.0:
            raise ValueError("far below 0")
        return ag.sum(x * 2.0) if ag.sum(x) > 1.0 else ag.sum(x)

    compiled = ag.compile(f, np.full(size, 2.0))
    for _ in range(200):
        assert compiled.value(np.full(size, 1.0)) == pytest.approx(2.0 * size)
        assert compiled.value(np.full(size, -0.5 / size)) == pytest.approx(-0.5)
    assert len(compiled._value.together.code.members) == 2
    for _ in range(3):
        with pytest.raises(ValueError, match="far below 0"):
            compiled.value(np.full(size, -5.0))


@each("size", SIZES, short=2)
def test_code_is_bounded_and_what_does_not_fit_is_computed_by_itself(soon, monkeypatch, size):
    monkeypatch.setattr(backend, "_MOST_LOOPS", 300)
    monkeypatch.setattr(backend, "MOST_JOINED", 1_000)
    given = points(size)
    compiled = ag.compile(steps, given[0])
    alike(steps, compiled, given)
    family = compiled._gradient
    assert 1 < len(family.together.code.members) < len(family.known)
    assert len(family.together.code.paths.program.steps) <= (300 if size > 100 else 1_000)
    assert family.tried == {*family.known} != family.together.inside
    together = family.together
    for x in given * 3:
        compiled.value_and_grad(x)
    assert family.together is together  # nothing is made anew for what does not fit


@pytest.mark.long
def test_guards_that_read_more_than_a_truth_are_read_by_python(soon):
    def f(x):
        total = ag.sum(x[x > 1.0]) if x[0] > 0.0 else ag.sum(x)
        for _ in range(int(abs(x[1]) * 2.0)):
            total = total * 0.5 + x[2]
        return total * x[int(abs(x[3]))]

    rng = np.random.default_rng(1)
    far = rng.normal(size=(3, 6000))
    given = [np.concatenate([rng.normal(size=4), one]) for one in far for _ in range(8)]
    for x in given:
        x[0] = -abs(x[0]) if rng.random() < 0.8 else x[0]
    compiled = ag.compile(f, given[0])
    alike(f, compiled, [*given, *given])
    code = compiled._gradient.together.code
    assert any(pause.guard is not None for pause in code.driver.pauses)
    assert sum(code.along((x,)) is not None for x in given) > 12


def test_nothing_outside_the_arrays_is_written(soon):
    given = points(200)
    compiled = ag.compile(steps, given[0])
    for x in given * 3:
        compiled.value_and_grad(x)
    loops = compiled._gradient.together.code
    for x in given:
        buffers = loops._buffers()
        arena = np.full(loops.memory.length + 32, 7.25)
        inside = arena[16:-16]
        for slot, begin in loops.memory.places.items():
            buffers.table[slot] = inside[begin:].ctypes.data
        buffers.enter((x,))
        frames = {}
        for slot, shape in buffers.fresh:
            frames[slot] = np.full(int(np.prod(shape)) + 32, 7.25)
            buffers.table[slot] = frames[slot][16:].ctypes.data
        with np.errstate(all="ignore"):
            assert loops._run(buffers) >= 0
        for one in (arena, *frames.values()):
            assert (one[:16] == 7.25).all() and (one[-16:] == 7.25).all()
