"""A gradient through an index that names a place twice: a plain backward and one with a graph agree to the bit."""

import random

import numpy as np
from rows import each

import agrad.engine as ag


def terms(x, dice):
    """Sums of entries times numbers without pattern, taken by indices of all kinds."""
    size = x.shape[0]
    for _ in range(dice.randrange(1, 6)):
        places = [dice.randrange(-size, size) for _ in range(dice.randrange(1, 6))]
        kind = dice.choice(["places", "one", "slice", "all", "rows", "mask"])
        index = {
            "places": places,
            "one": places[0],
            "slice": slice(0, dice.randrange(1, size + 1)),
            "all": slice(None),
            "rows": [places, places[::-1]],
            "mask": np.arange(size) % 2 == 0,
        }[kind]
        taken = x[np.array(index)] if isinstance(index, list) else x[index]
        weights = np.array([dice.uniform(-1, 1) for _ in range(int(np.prod(taken.shape)))]).reshape(taken.shape)
        yield ag.sum(taken * (weights if taken.shape else float(weights)))


@each("shape", [[1], [3], [4, 2]], short=3)
@each("seed", range(60))
def test_all_walks_sum_in_the_same_order(shape, seed):
    def f(x):
        total = 0.0
        for term in terms(x, random.Random(seed)):
            total = total + term
        return total * 1.5

    data = np.linspace(0.1, 0.9, int(np.prod(shape))).reshape(shape)
    x = ag.tensor(data, requires_grad=True)
    f(x).backward()
    y = ag.tensor(data, requires_grad=True)
    with_graph = ag.grad(f(y), y, create_graph=True)
    assert (x.grad.numpy() + 0.0).tobytes() == (with_graph.detach().numpy() + 0.0).tobytes()
    value, gradient = ag.compile(f, data, backend="python").value_and_grad(data)
    assert value == f(x).item()
    assert (gradient + 0.0).tobytes() == (x.grad.numpy() + 0.0).tobytes()
