"""Random expressions over the whole table: second and mixed derivatives against differences of the exact gradient."""

import random

import numpy as np
from random_programs import matrix_function
from rows import each

import agrad.engine as ag


def gradients(f, arrays, create_graph=False):
    leaves = [ag.tensor(a, requires_grad=True) for a in arrays]
    y = ag.sum(f(*leaves) * np.cos(np.arange(9.0)).reshape(3, 3))
    return [ag.grad(y + 0 * ag.sum(x), x, create_graph=create_graph) for x in leaves], leaves


def difference(f, at, along, seeds, h):
    ends = [[np.asarray(g.data) for g in gradients(f, at + side * h * along)[0]] for side in (1, -1)]
    return sum(np.sum((a - b) * seed) for a, b, seed in zip(*ends, seeds, strict=True)) / (2 * h)


def compared(f, generator):
    """The second derivative along two directions, exact and by differences of two widths, and the size of it all."""
    at, along, seeds = (generator.normal(size=(2, 3, 3)) for _ in range(3))
    firsts, leaves = gradients(f, at, create_graph=True)
    total = sum(ag.sum(g * seed) for g, seed in zip(firsts, seeds, strict=True))
    seconds = [np.asarray(ag.grad(total + 0 * ag.sum(x), x).data) for x in leaves]
    exact = sum(np.sum(g * v) for g, v in zip(seconds, along, strict=True))
    size = 1 + abs(exact) + sum(np.abs(np.asarray(g.data)).max() for g in firsts)
    return exact, *(difference(f, at, along, seeds, h) for h in (2e-5, 1e-5)), size


@each("group", range(20), short=10)
def test_second_and_mixed_derivatives_of_random_expressions(group):
    for number in range(1000 * group, 1000 * group + 50):
        rng, generator = random.Random(number), np.random.default_rng(number)
        f, text = matrix_function(rng, rng.choice([1, 2, 2, 3]))
        exact, wide, narrow, size = compared(f, generator)
        if abs(wide - narrow) > 1e-3 * size:  # a kink lies between: a wrong rule would show at both widths alike
            exact, wide, narrow, size = compared(f, generator)
        assert abs(exact - (4 * narrow - wide) / 3) < 1e-7 * size, (text, exact, narrow)
