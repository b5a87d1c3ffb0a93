"""Every rule of the table, from the table's own samples: orders 1, 2 and 3 against differences of the order below."""

import numpy as np
import pytest
from differences import error_of
from rows import each
from samples import ROWS, function_of, samples

import agrad.engine as ag
from agrad.engine.core.dispatch import row
from agrad.engine.core.op import OPS

TOLERANCE = {1: 1e-9, 2: 1e-9, 3: 1e-8}


@each("order", [1, 2, 3], short=3)
@each("entry, sample", samples())
def test_rule(entry, sample, order):
    function, xs = function_of(entry, sample)
    try:
        error = error_of(function, xs, order)
    except ag.AgradError as problem:
        if problem.fixes != ['pip install "agrad[science]"']:
            raise
        pytest.skip("SciPy is not installed")
    if entry in ROWS:
        assert (error is not None) == entry.differentiable
    assert error is None or error < TOLERANCE[order]


def test_a_wrong_rule_is_seen():
    right = {"x": ("x", lambda g, out, x: g * (3.0 * x * x))}
    wrong = {"x": ("x", lambda g, out, x: g * (3.0 * x))}
    words = {"family": "internal", "array": lambda x: x * x * x, "doc": "", "samples": ((1.5,),)}
    try:
        error = {
            name: error_of(row(name, "x", rules=rules, **words), (1.5,), 1)
            for name, rules in (("right_cube", right), ("wrong_cube", wrong))
        }
    finally:
        for name in ("right_cube", "wrong_cube"):
            OPS.pop(name, None)
    assert error["right_cube"] < TOLERANCE[1]
    assert error["wrong_cube"] > 0.1


def test_a_rule_that_is_right_only_in_the_first_order_is_seen():
    words = {"family": "internal", "array": lambda x: x * x * x, "doc": ""}
    rules = {"x": ("x", lambda g, out, x: g * float(3 * np.asarray(getattr(x, "value", x)) ** 2))}
    try:
        cube = row("frozen_cube", "x", rules=rules, **words)
        assert error_of(cube, (1.5,), 1) < TOLERANCE[1]
        assert error_of(cube, (1.5,), 2) > 0.1
    finally:
        OPS.pop("frozen_cube", None)


def test_plain_and_recorded_contributions_to_one_value_add_up():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = ag.sum(x * x) + ag.sum(x * [3.0, 4.0]) + ag.sum(x * [5.0, 6.0])
    g = ag.grad(y, x, create_graph=True)
    np.testing.assert_array_equal(g.data, [10, 14])
    np.testing.assert_array_equal(ag.grad(ag.sum(g * g), x).data, [40, 56])


def test_a_number_that_no_entry_was_taken_from_passes_on_0():
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    for choice, slope in (([0.0, 0.0], 0), ([1.0, 0.0], 1)):
        y = ag.sum(ag.where(choice, ag.sum(x), 3.0))
        np.testing.assert_array_equal(ag.grad(y, x).data, [slope, slope])
