"""Compiled functions against eager ones on 1,000 random expression trees over every operation on numbers.

Values and gradients, at edge values: 0, -0, inf, nan, denormals, huge numbers. With the python backend they are equal in
every bit, but for the sign of a gradient that is 0; in machine code each step is within 4 ulp for each function of the
C library.
"""

import random
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from differences import eager
from expressions import NEEDED, SPECIAL, on_numbers, points, trees
from native import ELSEWHERE, VARIANTS, check_steps
from replays import same_bits
from rows import each

import agrad.engine as ag
from agrad.engine.compile.llvm import backend, target
from agrad.engine.core.op import OPS
from agrad.engine.program.passes import optimised
from agrad.engine.program.trace import gradient_of, trace

KINDS = [(name, len(OPS[name].signature.operands), attrs) for name, attrs in on_numbers()]
NATIVE = [kind for kind in KINDS if kind[0] not in ELSEWHERE.split() and not kind[2].get("digits")]
EXAMPLES = (0.7, -1.3)
GROUP = 100
GROUPS = range(10)


def grown(group, kinds):
    """The trees of a group, and what draws the points for them."""
    rng = random.Random(group)
    return trees(rng, kinds, range(GROUP * group, GROUP * (group + 1))), rng


def number(x):
    return float(x.value if isinstance(x, ag.Tensor) else x)


def test_every_operation_on_numbers_is_the_root_of_some_trees():
    of_arrays_and_graphs = {"centre", "lower_middle", "upper_middle", "depends"}
    lacking = {*SPECIAL} if find_spec("scipy") else {*SPECIAL, *NEEDED}
    on_floats = {name for name, op in OPS.items() if op.scalar is not None and op.total and not op.variadic}
    assert {kind[0] for kind in KINDS} >= on_floats - of_arrays_and_graphs - lacking
    assert {kind[0] for kind in NATIVE} == {variant[0] for variant in VARIANTS} - {"depends"}
    assert len(GROUPS) * GROUP >= 1000 > 5 * len(KINDS)


@each("group", GROUPS, short=len(GROUPS))
def test_in_python_values_and_gradients_are_bit_for_bit_those_of_eager(group):
    grown_trees, rng = grown(group, KINDS)
    for f in grown_trees:
        compiled = ag.compile(f, *EXAMPLES, backend="python")
        for point in points(rng, 4):
            expected, *slopes = eager(f, point)
            value, found = compiled.value_and_grad(*point)
            assert same_bits(value, expected) and same_bits(compiled.value(*point), expected), (str(f), point)
            assert np.array_equal(found, [*map(number, slopes)], equal_nan=True), (str(f), point)


@pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")
@each("group", GROUPS, short=len(GROUPS))
def test_in_machine_code_each_step_of_value_and_gradients_is_that_of_eager(group):
    grown_trees, rng = grown(group, NATIVE)
    compiled = 0
    for f in grown_trees:
        short = optimised(trace(f, EXAMPLES, ("x", "y")), again=True)
        program = optimised(gradient_of(short, EXAMPLES, (0, 1)))
        last = program.first + len(program.steps)
        native = replace(program, outputs=(*program.outputs, *range(program.first, last)))
        reason = backend.supports(native)
        if reason is not None:  # a rule may need what has none
            assert reason.removesuffix(" has no machine code") in ELSEWHERE.split(), str(f)
            continue
        compiled += 1
        steps = [(step.op.name, step.operands, step.attrs) for step in program.steps]
        code = backend.Native(native, fast=False)
        whole = ag.compile(f, *EXAMPLES, backend="llvm")
        for point in points(rng, 4):
            found = code.call(*point)
            check_steps(steps, (*point, *program.constants), found[3:])
            value, slopes = whole.value_and_grad(*point)
            assert same_bits((value, *slopes), found[:3]), (str(f), point)
    assert compiled > 0.9 * GROUP
