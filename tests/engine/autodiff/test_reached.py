"""A backward pass reaches a leaf through operations that have a derivative, and leaves no gradient where none leads."""

from pathlib import Path

import numpy as np
from answers import table
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine import optim

# The leaves that get a gradient in PyTorch 2.13.
REACHED = table(Path(__file__).with_name("reached.txt"))


def leaves(shape):
    return {name: ag.tensor(value if shape else value[0], requires_grad=True) for name, value in START.items()}


START = {"w": [2.0, 3.0], "x": [3.0, 4.0], "g": [1.0, -2.0]}
WAYS = {
    "plainly": {},
    "with a graph": {"create_graph": True},
    "watched": {"watch": lambda *_: None},
}


@each("text, reached", REACHED)
@each("way", [*WAYS])
@each("shape", [(), (2,)])
def test_a_leaf_gets_a_gradient_where_a_derivative_leads_to_it(text, reached, way, shape):
    if not shape and "[" in text:
        return
    names = leaves(shape)
    functions = {name: entry.call for name, entry in ag.FUNCTIONS.items()}
    y = ag.sum(eval(text, functions | names))
    for name in "wxg":
        if name in reached:
            assert ag.grad(y, names[name]).shape == shape
        else:
            refuses(lambda name=name: ag.grad(y, names[name]), kind="grad")
    y.backward(**WAYS[way])
    assert "".join(name for name in "wxg" if names[name].grad is not None) == reached


class Halved(ag.autograd.Function):
    """w/2, whose backward gives no gradient of x."""

    @staticmethod
    def forward(ctx, w, x):
        return w / 2

    @staticmethod
    def backward(ctx, g):
        return g / 2, None


@each("behind", ["x", "x*3", "x*g"])
@each("way", [*WAYS])
@each("shape", [(), (2,)])
def test_a_function_of_the_user_that_gives_no_gradient_leads_nowhere(behind, way, shape):
    names = leaves(shape)
    y = ag.sum(Halved.apply(names["w"], eval(behind, names)))
    y.backward(**WAYS[way], retain_graph=True)
    assert names["w"].grad.tolist() == np.full(shape, 0.5).tolist()
    assert names["x"].grad is None and names["g"].grad is None
    ag.sum(y + names["x"] * 2).backward()
    assert names["x"].grad.tolist() == np.full(shape, 2.0).tolist() and names["g"].grad is None


def test_an_optimiser_leaves_what_no_derivative_leads_to():
    for make in (
        lambda xs: optim.AdamW(xs, lr=0.1, weight_decay=0.5),
        lambda xs: optim.SGD(xs, lr=0.1, weight_decay=0.5),
    ):
        names = leaves((2,))
        optimiser = make([*names.values()])
        for _ in range(3):
            optimiser.zero_grad()
            ag.sum(ag.where(names["g"] > 0, names["w"], 2.0) * (names["x"] > 0)).backward()
            optimiser.step()
        assert names["w"].tolist() != START["w"]
        assert names["x"].tolist() == START["x"] and names["g"].tolist() == START["g"]


def test_a_value_retained_behind_a_comparison_has_no_gradient():
    w, x = ag.tensor(2.0, requires_grad=True), ag.tensor(3.0, requires_grad=True)
    inner = x * x
    inner.retain_grad()
    (w * (inner > 1)).backward()
    assert inner.grad is None and x.grad is None


def test_repeated_replays_reach_what_the_first_one_did():
    w, x = ag.tensor(2.0, requires_grad=True), ag.tensor(3.0, requires_grad=True)
    y = w * w * (x > 0)
    for step in range(20):
        w.data = float(step)
        ag.forward(y)
        w.grad = None
        y.backward(retain_graph=True)
        assert x.grad is None and w.grad.item() == 2.0 * step


def test_the_message_names_what_cuts_the_path():
    w, g = (ag.tensor(x, requires_grad=True) for x in ([2.0, 3.0], [1.0, 0.0]))
    y = ag.sum(ag.where(g * 1, w, 2.0))
    refuses(lambda: ag.grad(y, g), "where has none with respect to")
    refuses(lambda: ag.grad(ag.sum(w * (g * g > 1)), g), "greater has none")
    np.testing.assert_array_equal(ag.grad(y, w).data, [1.0, 0.0])
