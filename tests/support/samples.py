"""The samples of every operation, as functions of the operands that can be differentiated by."""

from contextlib import contextmanager

import pytest

import agrad.engine as ag
from agrad.engine.core.dispatch import row
from agrad.engine.core.op import OPS

# Operands that are no numbers to differentiate by: a choice, places, subscripts.
FIXED = {"where": {0}, "take_along": {1}, "put_along": {1}, "einsum": {0}}
ROWS = list(OPS.values())
ENTRIES = [*ROWS, *(entry for entry in ag.FUNCTIONS.values() if entry not in ROWS and entry.family != "creation")]


def samples():
    """Each entry of the table with each of its samples."""
    return [(entry, sample) for entry in ENTRIES for sample in entry.samples]


def function_of(entry, sample):
    """The sample's function of those operands that are numbers to differentiate by."""
    operands, attrs = (sample[:-1], sample[-1]) if isinstance(sample[-1], dict) else (sample, {})
    fixed = FIXED.get(entry.name, set()) if not entry.signature.variadic else set()
    free = [place for place in range(len(operands)) if place not in fixed]

    def function(*xs):
        full = list(operands)
        for place, x in zip(free, xs, strict=True):
            full[place] = x
        return entry.call(full, **attrs) if entry.signature.variadic else entry.call(*full, **attrs)

    return function, [operands[place] for place in free]


@contextmanager
def scipy_or_skipped():
    """Skip what needs SciPy, where it is not installed."""
    try:
        yield
    except ag.AgradError as problem:
        if problem.fixes != ['pip install "agrad[science]"']:
            raise
        pytest.skip("SciPy is not installed")


@contextmanager
def operation(rule, array, scalar=None):
    """A new operation on x with this rule, as long as the block lasts."""
    try:
        yield row("new", "x", rules={"x": ("x", rule)}, family="internal", array=array, scalar=scalar or array, doc="")
    finally:
        OPS.pop("new", None)
