"""What the tests of replay compare: a graph that was replayed, and one built afresh at the same data, bit for bit."""

from itertools import count

import numpy as np
from differences import leaf, outputs, weighted

import agrad.engine as ag


def value(y):
    return np.asarray(y.read_only() if isinstance(y, ag.Tensor) else y, dtype=float)


def same_bits(found, expected):
    """Equal entries, nan where there is nan, and the same sign of zero."""
    a, b = value(found), value(expected)
    there = ~np.isnan(a)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a[there]), np.signbit(b[there]))


class Built:
    """A function at a point: its leaves, its results, and one number made of these; with `order` 2 of its gradients."""

    def __init__(self, function, xs, order=1):
        self.leaves = [leaf(x) for x in xs]
        self.results = [y for y in outputs(function(*self.leaves)) if y.node.op]
        self.number = weighted(self.results, count())
        if order == 2 and self.number is not None:
            self.results = self.gradients(create_graph=True)
            self.number = weighted(self.results, count(3))

    def gradients(self, create_graph=False):
        """By each leaf that the number depends on."""
        found = []
        for x in self.leaves:
            try:
                found.append(ag.grad(self.number, x, create_graph=create_graph))
            except ag.AgradError as error:
                if error.kind != "grad":
                    raise
        return found

    def run_again(self, xs):
        """New data for the leaves (None leaves one alone), and a replay."""
        for x, data in zip(self.leaves, xs, strict=True):
            if data is not None:
                x.set_(data)
        ag.forward(*self.results, *([self.number] if self.number is not None else []))

    def everything(self):
        """All values, and the gradients, by `grad` and by a backward that keeps the graph."""
        found = list(self.results)
        if self.number is not None:
            found += [self.number, *self.gradients()]
            self.number.backward(retain_graph=True, fresh=True)
            found += [x.grad for x in self.leaves if x.grad is not None]
        return [value(y) for y in found]


def outcome(make):
    """What came of it: all values, or the kind of the error."""
    try:
        return make()
    except ag.AgradError as error:
        return error.kind


def check(built, function, data, order, text, may_refuse=False):
    """The replay of `built` at new data, and once more, against the function built afresh there."""
    fresh = outcome(lambda: Built(function, data, order).everything())

    def again():
        built.run_again(data)
        built.run_again([None] * len(data))
        return built.everything()

    found = outcome(again)
    if may_refuse and found == "guard":
        return
    if isinstance(fresh, str) or isinstance(found, str):
        assert found == fresh, text
        return
    for number, (a, b) in enumerate(zip(found, fresh, strict=True)):
        assert same_bits(a, b), (text, number, a, b)


def state(*tensors):
    """All that can be seen of some values and of what they were computed from, to be compared later."""
    nodes, stack = {}, [t.node for t in tensors]
    while stack:
        node = stack.pop()
        if hasattr(node, "inputs") and node not in nodes:
            own = None if node.value is None else value(node.value).tobytes()
            gradient = None if node.grad is None else (node.grad.calls, value(node.grad.value).tobytes())
            facts = [node.inputs, node.stamp, node.freed, node.guard, node.storage, node.name, node.keeps_grad]
            nodes[node] = (own, gradient, *map(id, facts[:1]), *facts[1:])
            stack.extend(node.inputs)
    return (
        nodes,
        [(id(t.node), value(t).tobytes(), id(t.array)) for t in tensors if t.shape],
        [value(t).tobytes() for t in tensors],
    )
