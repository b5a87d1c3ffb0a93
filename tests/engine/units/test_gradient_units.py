"""The unit of each recorded gradient is that of the value over that of the operand: a second test of what rows state.

The first, in test_rules.py, scales the operands; this one infers over the graph of the derivative, made of other rows.
"""

import numpy as np
import pytest
from rows import each
from samples import FIXED, samples_of, scipy_or_skipped

import agrad.engine as ag
from agrad.engine.core.dispatch import prepared
from agrad.engine.core.graph import Units
from agrad.engine.core.op import OPS
from agrad.engine.units.infer import Inference
from agrad.engine.units.quantity import quantity
from agrad.engine.units.rules import rule_of
from agrad.engine.units.unit import read, times

BASES = "m s kg A".split()
# Rows whose derivatives pass through values that have no single unit, so that nothing can be inferred over their graphs.
MIXED = {
    "prod": "cumulative products have a different unit in each entry",
    "eigh_vectors": "1 is added to differences that are 0",
    "svd_left": "1 is added to differences that are 0",
    "svd_right": "1 is added to differences that are 0",
}
CONSTANT = {**FIXED, "pow": {1}}  # a value with a unit has powers that are known
STEPS = set("floor_divide slogdet_sign sign floor ceil trunc round gammasgn sign_bit step".split())  # derivative 0


@pytest.fixture(autouse=True)
def units_are_not_noted(monkeypatch):
    """So that gradients are not given units where they are returned: these are to be inferred."""
    monkeypatch.setattr(Units, "exist", False)


def applied(op, sample):
    """The values of a row at a sample, and its operands as leaves in units that the row takes."""
    operands, given = (sample[:-1], sample[-1]) if isinstance(sample[-1], dict) else (sample, {})
    values = tuple([x if isinstance(x, float) else np.array(x, dtype=float) for x in operands])
    letters, _ = rule_of(op, values, prepared(op, values, {**op.signature.attributes, **given}))
    fixed, units, xs = () if op.signature.variadic else CONSTANT.get(op.name, ()), {}, list(operands)
    for place, letter in enumerate(letters):
        if place not in fixed:
            xs[place] = ag.tensor(operands[place], requires_grad=True)
            if letter not in ("1", "-"):
                xs[place].node.unit = units.setdefault(letter, read(BASES[len(units)]))
    found = op.call(xs, **given) if op.signature.variadic else op.call(*xs, **given)
    leaves = [x for place, x in enumerate(xs) if place not in fixed]
    return found if isinstance(found, tuple) else (found,), leaves


def gradients(op):
    """All (value, operand, gradient) of a row at its samples."""
    for ys, leaves in (applied(op, sample) for sample in samples_of(op)):
        for y in [y for y in ys if y.requires_grad]:
            one = (y * np.linspace(0.7, 1.9, y.value.size).reshape(y.shape)).sum() if y.shape else y
            for x in leaves:
                try:
                    yield y, x, ag.grad(one, x, create_graph=True)
                except ag.AgradError as problem:
                    if problem.kind != "grad":
                        raise


@each("op", [op for op in OPS.values() if samples_of(op) and op.name not in MIXED and any(op.rules)])
def test_the_unit_of_a_gradient_is_that_of_the_value_over_that_of_the_operand(op):
    with scipy_or_skipped():
        known = []
        for y, x, gradient in gradients(op):
            work = Inference()
            work.of([y.node, gradient.node])
            known.append(work.is_known(work.known[gradient.node]))
            ours, of_y, of_x = (work.known[one.node] for one in (gradient, y, x))
            assert work.equal(ours.dim, times((of_y.dim, 1), (of_x.dim, -1))), (work.text(ours), x.value, y.value)
        assert any(known) or not known or op.name in STEPS


def test_an_operation_on_the_same_units_is_inferred_once(monkeypatch):
    inferred, by_rule = [], Inference._by_rule
    monkeypatch.setattr(Inference, "_by_rule", lambda *given: inferred.append(given[1]) or by_rule(*given))
    x, t = quantity(3, "km"), quantity(2, "h")
    v = x / t
    for _ in range(500):
        v = v + x / t * 2.0 - (x * t) / (t * t)
    work = Inference()
    work.of([v.node])
    assert len(work.known) > 3000
    assert len(inferred) < 20
    assert work.unit(v.node).text == "km/h"
