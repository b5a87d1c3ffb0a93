"""Compiled functions against eager ones on random programs: trees of numbers, arrays with loops, and decisions.

Trees at edge values: 0, -0, inf, nan, denormals, huge numbers. With the python backend values and gradients are equal in
every bit, but for the sign of a gradient that is 0; in machine code each step is within 4 ulp for each function of the
C library. Programs of arrays: values, gradients, Jacobians and Hessian products, on 1 to 4 threads; in Python values are
bit for bit the eager ones, unless a loop passes a matrix to BLAS in another layout, and gradients have the same terms in
another order; machine code is compared with a relative error. AGRAD_SEEDS=2000 in the environment makes more programs.
"""

import os
import random
from dataclasses import replace
from importlib.util import find_spec
from math import isnan

import numpy as np
import pytest
from backends import USABLE
from compiled import check_threads, eagerly, gradient_of, near, same
from differences import eager
from native import ELSEWHERE, VARIANTS, check_steps
from random_programs import NEEDED, SPECIAL, branching, deciding, on_numbers, points, trees, with_loops
from replays import same_bits
from rows import each

import agrad.engine as ag
from agrad.engine.compile import specializations
from agrad.engine.compile.llvm import backend, target
from agrad.engine.core.op import OPS
from agrad.engine.program import rolled
from agrad.engine.program.ir import optimised
from agrad.engine.program.trace import trace

native = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")
KINDS = list(on_numbers())
NATIVE = [(name, attrs) for name, attrs in KINDS if name not in ELSEWHERE.split() and not attrs.get("digits")]
EXAMPLES = (0.7, -1.3)
SEEDS = int(os.environ.get("AGRAD_SEEDS", "500"))

# Trees of numbers


def grown(group, kinds):
    """The trees of a group of a hundred, and what draws the points for them."""
    rng = random.Random(group)
    return trees(rng, kinds, range(100 * group, 100 * (group + 1))), rng


def number(x):
    return float(x.value if isinstance(x, ag.Tensor) else x)


def test_every_operation_on_numbers_is_the_root_of_some_trees():
    of_arrays_and_graphs = {"centre", "lower_middle", "upper_middle", "projection", "depends"}
    lacking = {*SPECIAL} if find_spec("scipy") else {*SPECIAL, *NEEDED}
    on_floats = {name for name, op in OPS.items() if op.scalar is not None and op.total and not op.variadic}
    assert {name for name, _ in KINDS} >= on_floats - of_arrays_and_graphs - lacking
    assert {name for name, _ in NATIVE} == {variant[0] for variant in VARIANTS} - {"depends"}
    assert 5 * len(KINDS) < 1000


@each("group", range(10), short=10)
def test_in_python_values_and_gradients_are_bit_for_bit_those_of_eager(group):
    grown_trees, rng = grown(group, KINDS)
    for f in grown_trees:
        compiled = ag.compile(f, *EXAMPLES, backend="python")
        for point in points(rng, 4):
            expected, *slopes = eager(f, point)
            value, found = compiled.value_and_grad(*point)
            assert same_bits(value, expected) and same_bits(compiled.value(*point), expected), (str(f), point)
            assert np.array_equal(found, [*map(number, slopes)], equal_nan=True), (str(f), point)


@native
@each("group", range(10), short=10)
def test_in_machine_code_each_step_of_value_and_gradients_is_that_of_eager(group):
    grown_trees, rng = grown(group, NATIVE)
    for f in grown_trees:
        short = optimised(trace(f, EXAMPLES, ("x", "y")), again=True)
        program = optimised(gradient_of(short, EXAMPLES, (0, 1)))
        last = program.first + len(program.steps)
        steps = replace(program, outputs=(*program.outputs, *range(program.first, last)))
        reason = backend.supports(steps)
        if reason is not None:  # a rule may need what has none
            assert reason.removesuffix(" has no machine code") in ELSEWHERE.split(), str(f)
            continue
        code, whole = backend.Native(steps), ag.compile(f, *EXAMPLES, backend="llvm")
        code.fast = False
        for point in points(rng, 4):
            found = code.call(*point)
            made = [(step.op.name, step.operands, step.attrs) for step in program.steps]
            check_steps(made, (*point, *program.constants), found[3:])
            slots = [*point, *program.constants, *found[3:]]
            if any(name == "sign_bit" and isnan(slots[x]) for name, (x, *_), _ in made):
                continue  # LLVM, like IEEE 754, does not say what the sign of a nan is that was computed
            value, slopes = whole.value_and_grad(*point)
            assert same_bits((value, *slopes), found[:3]), (str(f), point)


# Arrays, with loops


def backends_of(seed):
    """Machine code takes a second to make, and is tried for every tenth function."""
    return [backend for backend in USABLE if backend == "python" or (backend == "llvm" and seed % 10 == 3)]


@pytest.mark.parametrize("group", [0, *[pytest.param(one, marks=pytest.mark.long) for one in range(1, SEEDS // 10)]])
def test_random_functions_of_arrays_compute_what_they_compute_eagerly(group, monkeypatch):
    monkeypatch.setattr(rolled, "LONG", 60)
    for seed in range(10 * group, 10 * (group + 1)):
        f = with_loops(seed)
        for name in backends_of(seed):
            check(f, ag.compile(f, *f.examples, backend=name), seed)


def check(f, compiled, seed):
    for point in f.points(2):
        expected, slopes = eagerly(f, point)
        scale = max(abs(expected), *[np.abs(x).max() for x in slopes], 1.0)
        value, found = compiled.value_and_grad(*point)
        if compiled.backend == "python":
            close = compiled._unrolled is not None and abs(value - expected) <= 1e-13 * scale
            assert same_bits(compiled.value(*point), expected) or close, seed
        same((value, found), (expected, slopes))
    direction = tuple(np.cos(np.asarray(x) * 3) for x in point)
    if seed % 4 == 1:
        along = sum(float(np.sum(s * v)) for s, v in zip(slopes, direction, strict=True))
        near(compiled.jvp(point, direction), along, scale * max(1.0, abs(along)), 1e-9)
    if seed % 10 == 3:
        expected = ag.hvp(f, point, direction)
        most = max(1.0, *[np.abs(x).max() for x in expected])
        for one, other in zip(compiled.hvp(point, direction), expected, strict=True):
            near(one, other, most, 1e-8)


@pytest.mark.long
@each("seed", range(12))
def test_several_threads_get_what_one_gets(seed):
    f = with_loops(seed)
    for name in USABLE:
        check_threads(ag.compile(f, *f.examples, backend=name).value_and_grad, f.points(8))


# Decisions


@native
@pytest.mark.long
@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("seed", range(SEEDS // 16))
def test_random_functions_that_decide_compute_what_they_compute_eagerly(soon, seed, is_large):
    f = deciding(seed, is_large)
    several = f.points(8)
    expected = [eagerly(f, point) for point in several]
    compiled = ag.compile(f, *f.examples)
    for _ in range(4):
        for point, known in zip(several, expected, strict=True):
            same(compiled.value_and_grad(*point), known)
            near(compiled.value(*point), known[0])
    for point in f.points(4, 3):
        same(compiled.value_and_grad(*point), eagerly(f, point))
    if seed % 5 == 1:
        check_products(f, compiled, several[:6], expected)
    if seed % 5 == 2:
        columns = [np.array(one) for one in zip(*several, strict=True)]
        for _ in range(3):
            values, slopes = compiled.map(*columns)
            for row, known in enumerate(expected):
                same((values[row], [one[row] for one in slopes]), known)


def check_products(f, compiled, several, expected):
    for _ in range(3):
        for point, (value, slopes) in zip(several, expected, strict=False):
            direction = tuple(np.cos(np.asarray(x) * 3) for x in point)
            along = sum(float(np.sum(s * v)) for s, v in zip(slopes, direction, strict=True))
            near(compiled.jvp(point, direction), along, abs(along) + abs(value), 1e-9)
            for one, slope in zip(compiled.vjp(point, 2.0), slopes, strict=True):
                near(one, 2.0 * slope, np.abs(slope).max() + 1.0)
            products = ag.hvp(f, point, direction)
            most = max(1.0, *[np.abs(x).max() for x in products])
            for one, other in zip(compiled.hvp(point, direction), products, strict=True):
                near(one, other, most, 1e-8)


@native
@each("name", ["auto", "llvm"])
@each("seed", range(40), short=20)
def test_random_functions_of_numbers_that_decide_become_one_function(soon, seed, name):
    f = branching(seed)
    several = f.points(120)
    compiled, expected = ag.compile(f, *several[0], backend=name), [eagerly(f, point) for point in several]
    for _ in range(2):
        for point, known in zip(several, expected, strict=True):
            same(compiled.value_and_grad(*point), known, 1e-12)
    if len(compiled._gradient.known) > 1:
        assert len(compiled._gradient.together.code.members) > 1
    for point in f.points(60, 3):
        known = eagerly(f, point)
        same(compiled.value_and_grad(*point), known, 1e-12)
        assert compiled.value(*point) == pytest.approx(known[0], rel=1e-12, abs=1e-12)


def crossroads(x):
    total = ag.sum(x * x)
    for k in range(12):
        total = total * 1.1 + x[k] if x[k] > 0.0 else total - ag.sin(x[k] * total)
    return total


@native
@pytest.mark.long
@each("size", [12, 150])
def test_where_nearly_every_call_takes_a_new_path_most_are_computed_without_a_program(monkeypatch, size):
    monkeypatch.setattr(specializations, "_FEW", 4)
    several = np.random.default_rng(1).normal(size=(60, size)) * 0.4
    compiled = ag.compile(crossroads, several[0])
    v, families = np.cos(np.arange(size)), set()
    for x in several:
        value, (slope,) = eagerly(crossroads, (x,))
        near(compiled.value(x), value)
        same((value, [compiled.grad(x)]), (value, [slope]))
        near(compiled.jacobian(x), slope, 1.0, 1e-9)
        near(compiled.jvp(x, v), slope @ v, 1.0, 1e-9)
        near(compiled.vjp(x, 3.0), 3.0 * slope, 1.0, 1e-9)
        near(compiled.hvp(x, v), ag.hvp(crossroads, x, v), 10.0, 1e-8)
        families |= {compiled._value, compiled._gradient, compiled._rows, *compiled._products.values()}
    assert len(families) == 6
    for family in families:
        assert family.calls < specializations._RARE * family.missed and len(family.known) < 20


@native
def test_hessians_of_new_paths_are_made_without_programs(monkeypatch):
    monkeypatch.setattr(specializations, "_FEW", 3)
    several = np.random.default_rng(2).normal(size=(25, 12)) * 0.4
    compiled = ag.compile(crossroads, several[0])
    for x in several:
        near(compiled.hessian(x), ag.hessian(crossroads)(ag.tensor(x)).value, 10.0, 1e-8)
    assert len(compiled._hessian.specializations.known) < 10
