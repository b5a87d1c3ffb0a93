"""The rules of optimisers beside the same formulas in NumPy, written as PyTorch documents them."""

import numpy as np
import pytest
from rows import each

from agrad.engine.autodiff.optim import STEPS

CHANCE = np.random.default_rng(5)
GRADIENTS = [CHANCE.normal(size=3) * scale for scale in (1.0, 5.0, 0.1, 0.2)]


def adam(x, *, amsgrad, decay=0.0, decoupled=0.0, lr=0.1):
    mean = square = largest = np.zeros(3)
    for t, g in enumerate(GRADIENTS, 1):
        g = g + decay * x
        mean, square = 0.9 * mean + 0.1 * g, 0.999 * square + 0.001 * g * g
        largest = np.maximum(largest, square) if amsgrad else square
        x = x - lr * decoupled * x - lr * mean / (1 - 0.9**t) / (np.sqrt(largest / (1 - 0.999**t)) + 1e-8)
    return x


@each("amsgrad", [0.0, 1.0])
@each(
    "name, given, same",
    [
        ("adam", {}, {}),
        ("adam", {"weight_decay": 0.3}, {"decay": 0.3}),
        ("adamw", {"weight_decay": 0.3}, {"decoupled": 0.3}),
        ("adamw", {"weight_decay": 0.0}, {}),
    ],
)
def test_steps_are_those_of_the_formula(name, given, same, amsgrad):
    x, kept = np.array([1.0, -2.0, 3.0]), ()
    for g in GRADIENTS:
        change, kept = STEPS[name](x, g, kept, lr=0.1, amsgrad=amsgrad, **given)
        x = x - np.asarray(getattr(change, "value", change))
    assert x == pytest.approx(adam(np.array([1.0, -2.0, 3.0]), amsgrad=amsgrad, **same), rel=1e-12)
