"""The samples of every operation, as functions of the operands that can be differentiated by."""

import math
from contextlib import contextmanager
from pathlib import Path

import pytest

import agrad.engine as ag
from agrad.engine.core.dispatch import row
from agrad.engine.core.op import OPS, Op
from agrad.engine.ops.arrays.indexing import Place

# Operands that are no numbers to differentiate by: a choice, places, subscripts.
FIXED = {"where": {0}, "take_along": {1}, "put_along": {1}, "einsum": {0}}
ROWS = list(OPS.values())
ENTRIES = [*ROWS, *(entry for entry in ag.FUNCTIONS.values() if entry not in ROWS and entry.family != "creation")]

# By the number of operands, those of functions that all numbers have, and of those that not all have.
USUAL = {
    1: (((0.5,), ([-1.3, 2.1],)), ((0.5,), ([0.3, 0.8],))),
    2: (
        ((1.5, -2.0), ([1.0, 2.0], 3.0), ([[1.0], [-2.0]], [3.0, -4.0])),
        ((1.5, 2.0), ([1.0, 2.0], 3.5), ([[1.0], [2.0]], [3.0, 0.5])),
    ),
}


def _table():
    """The samples that are in the file, by the names of rows and functions."""
    text = Path(__file__).with_suffix(".txt").read_text("utf-8").partition("\n\n")[2].replace("\n    ", " ")
    rows = [line.split(": ", 1) for line in text.splitlines()]
    known = {"nan": math.nan, "slice": slice, "Place": Place}
    return {name: eval(f"({row},)", known) for names, row in rows for name in names.split()}


TABLE = _table()


def samples_of(entry):
    """Tuples of operands, with a dict of attributes at the end where these are given."""
    is_row = isinstance(entry, Op)
    name = entry.name if ag.FUNCTIONS.get(entry.name, entry) is entry else f"{entry.name}.row"
    if name in TABLE:
        return TABLE[name]
    if hasattr(entry.call, "alone"):
        return samples_of(OPS[entry.call.alone.__name__])
    is_usual = is_row and entry.scalar is not None and entry.differentiable and not entry.signature.attributes
    return USUAL.get(len(entry.signature.operands), ((), ()))[entry.domain != ""] if is_usual else ()


def samples():
    """Each entry of the table with each of its samples."""
    return [(entry, sample) for entry in ENTRIES for sample in samples_of(entry)]


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
