"""What uncertainties, checks and derivatives by place take, and the note about gradients that are not finite."""

import math

import numpy as np
import pytest
from rows import each

import agrad.engine as ag
from agrad.engine.autodiff import anomalies, gradcheck, uncertainty
from agrad.engine.core.context import current
from agrad.engine.errors import AgradError


@each("dof, is_refused", [(0.0, True), (-1.0, True), (math.nan, True), (0.5, False), (math.inf, False), (None, False)])
def test_degrees_of_freedom_are_positive(dof, is_refused):
    if is_refused:
        with pytest.raises(AgradError, match="dof is positive"):
            ag.normal(1.0, 0.1, dof=dof)
    else:
        assert uncertainty.uncertainty(2 * ag.normal(1.0, 0.1, dof=dof)) == pytest.approx(0.2)


@each("y", [1.5, 3, None, np.ones(2), ag.tensor(2.0), ag.tensor(2.0, requires_grad=True)])
def test_what_depends_on_nothing_uncertain_has_no_uncertainty(y):
    ag.normal(1.0, 0.1)
    assert uncertainty.uncertainty(y) is None


@each("y", [2.0, 2, np.float64(2.0), np.array(2.0), np.array([2.0]), ag.tensor([[2.0]])])
def test_a_check_takes_one_number_in_any_form(y):
    found = gradcheck._number(y)
    assert float(np.ravel(getattr(found, "value", found))[0]) == 2.0


@each(
    "names, message",
    [
        ("x", "x.grad is still inf or nan"),
        ("xy", "x.grad, y.grad are still inf or nan"),
        ("xyz", "x.grad, y.grad, z.grad are"),
    ],
)
def test_gradients_that_are_still_not_finite_are_told_in_one_note(monkeypatch, names, message):
    told = []
    leaves = [ag.tensor(1.0, requires_grad=True) for _ in names]
    for name, leaf in zip(names, leaves, strict=True):
        leaf.node.name = name
        (leaf * math.nan).backward()
    monkeypatch.setattr(current(), "listener", told.append)
    anomalies.say_still_not_finite({leaf.node: 1.0 for leaf in leaves})
    assert [note.message.startswith(message) for note in told] == [True]
    assert told[0].fixes == [f"zero_grad {' '.join(names)}"]


@each("function, places, is_refused", [("x", 1, True), ("x", 0, False), ("x, y", 2, True), ("x, y", 1, False)])
def test_the_number_of_an_argument_is_below_that_of_arguments(function, places, is_refused):
    def f(*xs):
        return sum(x * x for x in xs)

    f.places = len(function.split(","))
    if is_refused:
        with pytest.raises(AgradError):
            ag.grad(f, places)
    else:
        assert float(ag.grad(f, places)(*[3.0] * f.places)) == 6.0
