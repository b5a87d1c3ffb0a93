"""The pass of the textbook, and the fast ones: they give the same, to the bit."""

import math
import random

import numpy as np
from random_programs import of_arrays
from refused import leaf

import agrad.engine as ag
from agrad.engine.autodiff.reverse import Flight, by_leaves, reverse, walk
from agrad.engine.core.numpy_warnings import walked
from agrad.engine.core.versions import walkable

NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 1e200, -1e-200, math.inf)
UNARY = (ag.sin, ag.exp, ag.log, ag.sqrt, ag.relu, abs, lambda x: -x, lambda x: x**3, lambda x: x.clip(-1, 1))
BINARY = (
    *(lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y, lambda x, y: x**y),
    *(ag.maximum, ag.minimum, lambda x, y: ag.where(x > y, x, y * y), lambda x, y: x.detach() * y),
)


def random_graph(seed):
    """A number computed from random numbers, some of them extreme, by random operations."""
    rng = random.Random(seed)
    values = [leaf(rng.choice(NUMBERS) if rng.random() < 0.3 else rng.gauss(0, 1)) for _ in range(4)]
    for _ in range(rng.randrange(2, 25)):
        x, y = rng.choice(values), rng.choice([*values, rng.gauss(0, 1)])
        values.append(rng.choice(UNARY)(x) if rng.random() < 0.4 else rng.choice(BINARY)(x, y))
    return values[-1] + 2 * values[-2] * values[0]


def bits(found):
    """The bits of each cotangent, where all nan are one."""
    return {node: np.where(np.isnan(value), math.nan, value).tobytes() for node, value in found.items()}


def check_passes(y):
    order, _ = walkable(y.node)
    seeds = {y.node: 1.0}
    exact = bits(walked(False, reverse, order, Flight(seeds), set(order)))
    assert bits(walk(order, seeds, False, order)) == exact
    direct = by_leaves(y.node)
    if direct is not None:
        slopes, nodes = direct
        assert nodes == [node for node in order if node.op is not None]
        leaves = {node: value for node, value in exact.items() if node.op is None}
        assert bits(slopes) == leaves
    return direct is not None


def test_the_fast_passes_give_the_bits_of_the_textbook_s_on_graphs_of_numbers():
    graphs = [y for y in map(random_graph, range(500)) if y.requires_grad]
    assert len(graphs) > 450
    assert 25 < sum(map(check_passes, graphs)) < 475


def test_the_fast_pass_gives_the_bits_of_the_textbook_s_on_graphs_of_arrays():
    for f in map(of_arrays, range(12)):
        check_passes(f(*map(leaf, f.examples)))
