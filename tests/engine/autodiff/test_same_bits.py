"""A rule gives on plain numbers, to the bit, what it gives when its graph is recorded, which programs are read off."""

import math
import random

from rows import each

import agrad.engine as ag
from agrad.engine.core.op import OPS

TAKEN = (0.0, 1.0, -1.0, 2.0)


def slopes(op, values, attrs, seed, create_graph):
    leaves = [ag.tensor(value, requires_grad=True) for value in values]
    y = op.call(*leaves, **attrs) * seed
    return [slope.item() for slope in ag.grad(y, leaves, create_graph=create_graph)]


def of_numbers():
    """The operations on a fixed count of numbers that have a derivative."""
    return sorted(
        name
        for name, op in OPS.items()
        if op.scalar is not None and not op.variadic and op.differentiable and op.samples
    )


@each("name", of_numbers(), short=4)
def test_the_same_bits_with_and_without_a_graph(name):
    op, rng = OPS[name], random.Random(1)
    *_, last = op.samples[0]
    attrs = last if isinstance(last, dict) else {}
    for _ in range(60):
        values = [rng.choice((rng.gauss(0, 2), rng.uniform(0, 1), *TAKEN)) for _ in op.signature.operands]
        seed = rng.gauss(0, 2)
        pairs = zip(slopes(op, values, attrs, seed, False), slopes(op, values, attrs, seed, True), strict=True)
        for plain, recorded in pairs:
            assert plain == recorded or (math.isnan(plain) and math.isnan(recorded)), (values, seed)


@each("f", [ag.sum, ag.max, ag.median])
def test_the_median_of_a_nan_has_a_derivative(f):
    x = ag.tensor([math.nan, 2.0], requires_grad=True)
    ag.median(f(x)).backward()
    assert x.grad.shape == (2,)
