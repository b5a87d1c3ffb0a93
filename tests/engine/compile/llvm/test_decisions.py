"""Specialisations as one function of machine code, which branches at their guards: the results of each alone."""

import numpy as np
import pytest
from compiled import eagerly, same
from refused import refuses

import agrad.engine as ag
from agrad.engine.compile import specializations
from agrad.engine.compile.llvm import target
from agrad.engine.compile.llvm.backend import Lowered, together
from agrad.engine.errors import AgradError
from agrad.engine.program.trace import trace

pytestmark = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")


def deep(x, y):
    for _ in range(8):
        if x > y:
            x, y = y * 0.5 + 0.3, ag.sin(x)
        else:
            y = y * x - 0.1
    return x * y


def test_what_specialisations_share_is_computed_once(soon):
    points = np.random.default_rng(1).normal(size=(400, 2)).tolist()
    compiled = ag.compile(deep, *points[0])
    for point in points * 3:
        same(compiled.value_and_grad(*point), eagerly(deep, point))
    code = compiled._gradient.together.code
    assert len(code.members) > 8
    assert code.text.count("fcmp une") < 0.5 * sum(len(one.exact.checks) for one in compiled._gradient.known)
    assert f"{len(code.members)} specialisations are one function of {code.length} instructions" in compiled.explain()
    assert code.text.count("call double @sin") < sum(
        [step.op.name for step in one.exact.steps].count("sin") for one in compiled._gradient.known
    )


def test_a_path_that_is_not_known_is_traced_and_joins_the_others(soon):
    compiled = ag.compile(deep, 2.0, 1.0)
    for _ in range(100):
        for point in ((2.0, 1.0), (-2.0, 1.0)):
            compiled.value_and_grad(*point)
    family = compiled._gradient
    known = family.together.code.members
    point = (0.2, -0.7)
    same(compiled.value_and_grad(*point), eagerly(deep, point))
    assert len({*family.known} - family.together.inside) == 1
    for _ in range(300):
        same(compiled.value_and_grad(*point), eagerly(deep, point))
    assert {*family.known} == family.together.inside and len(family.together.code.members) == len(known) + 1


def test_results_are_inside_their_buffer():
    programs = [trace(lambda x: x + 1.0 if x > 0.0 else x, (sign,)) for sign in (1.0, -1.0)]
    code = together([*map(Lowered, programs)])
    for x, result in ((0.5, 1.5), (-0.5, -0.5)):
        guarded = np.full(9, 7.25)
        found = np.array([x])
        code._function_of_rows(found.ctypes.data, guarded[4:].ctypes.data, 0, 1)
        number = int(guarded[5:6].view(np.int64)[0])
        assert guarded[4] == result and (np.delete(guarded, [4, 5]) == 7.25).all()
        assert code.along((x,)) == (number, (result,))


def test_what_does_not_fit_is_left_out():
    above, below = (trace(lambda x: x + 1.0 if x > 0.0 else x, (sign,)) for sign in (1.0, -1.0))
    other = trace(lambda x: x * 2.0 if x > 1.0 else x, (3.0,))
    plain = trace(lambda x: x * 2.0, (3.0,))
    code = together([*map(Lowered, [above, below, other, plain, above])])
    assert code.members == {0, 1}
    assert together([Lowered(above)]).along((-2.0,)) is None


def test_its_code_is_bounded(soon, monkeypatch):
    monkeypatch.setattr(specializations, "MOST_JOINED", 600)
    monkeypatch.setattr(specializations, "_FEW", 4)
    points = np.random.default_rng(3).normal(size=(300, 2)).tolist()
    compiled = ag.compile(deep, *points[0])
    for point in points * 2:
        same(compiled.value_and_grad(*point), eagerly(deep, point))
    family = compiled._gradient
    assert sum(one.size for one in family.known) <= 600
    assert family.together is None or family.together.code.length < 3_000


def test_a_function_that_raises_before_anything_is_known_raises(soon):
    def f(x):
        if x > 0.0:
            raise AgradError("domain", "above")
        return x

    compiled = ag.compile(f, -1.0)
    for _ in range(3):
        refuses(lambda: compiled.value(1.0), "above")
