"""Which paths a walk takes: what is refused where none leads, what vanishes, and what was not selected."""

import numpy as np
import pytest
from refused import leaf, lines, named, refusal

import agrad.engine as ag

# What does not lead anywhere


def test_unused_is_an_error():
    x, z = leaf(2, "x"), leaf(1, "z")
    y = named("y", x**2)
    assert refusal(lambda: ag.grad(y, z)) == lines(
        "grad: y does not depend on z: no path of the graph connects them",
        "fix: compute y from z, without detach and outside no_grad",
    )
    k = named("k", ag.tensor(3))
    assert (
        refusal(lambda: ag.grad(y, k)) == "grad: k does not require grad, so no derivative is taken with respect to it"
    )


def test_unused_shows_the_cut():
    x, w = leaf(2, "x"), leaf(3)
    with ag.no_grad():
        h = named("h", x * 2)
    loss = named("L", named("y", w * h) + 1)
    assert refusal(lambda: ag.grad(loss, x)) == lines(
        "grad: L does not depend on x: h was computed from x without recording",
        "note: L <- y <- h",
        "fix: compute L from x, without detach and outside no_grad",
    )


def test_unused_of_a_long_path_shows_the_ends():
    x, w = leaf(2, "x"), leaf(3, "w")
    y = named("k", x.detach())
    for step in range(9):
        y = named(f"y{step}", w * y)
    note = refusal(lambda: ag.grad(y, x)).split("\n")[1]
    assert note == "  note: y8 <- y7 <- y6 <- … <- y0 <- k"


def test_a_vanishing_derivative_is_zero():
    x = leaf(2)
    assert ag.grad(ag.grad(3 * x, x, create_graph=True), x).item() == 0
    assert ag.grad(ag.floor(x), x).item() == 0
    assert ag.hessian(3 * x, x).item() == 0


def test_no_grad_at_all():
    k = named("k", ag.tensor(3))
    assert refusal(k.backward) == lines(
        "grad: k does not require grad: it depends on no leaf that does",
        "fix: make a leaf with requires_grad=True and compute the value from it, outside no_grad",
    )


def test_no_grad_at_all_when_the_leaf_is_gone():
    x = leaf(2)
    with ag.no_grad():
        h = named("h", x * 2)
    del x
    assert refusal(h.backward) == lines(
        "grad: h does not require grad: it was computed from a leaf that no longer exists without recording",
        "fix: compute h from a leaf, without detach and outside no_grad",
    )


# Shapes, and what was not selected


def test_shape_is_that_of_the_value():
    c, r = leaf([[1], [2], [3]]), leaf([1, 2, 3, 4])
    (c * r).sum().backward()
    assert c.grad.tolist() == [[10], [10], [10]]
    assert r.grad.tolist() == [6, 6, 6, 6]
    message = "shape: cannot assign a gradient of shape (3) to (4): a gradient has the shape of its value"
    assert refusal(lambda: setattr(r, "grad", [1, 2, 3])) == message


CHOICES = {
    "where": lambda x: ag.where(x > 0, ag.log(x), 0.0).sum(),
    "index": lambda x: ag.log(x)[1],
    "mask": lambda x: ag.log(x)[x > 0].sum(),
    "max": lambda x: ag.max(ag.log(x)),
    "maximum": lambda x: ag.maximum(ag.log(x), 0.1).sum(),
    "relu": lambda x: ag.relu(ag.log(x)).sum(),
    "clip": lambda x: ag.clip(ag.log(x), 0.1, 5).sum(),
}


@pytest.mark.parametrize("name", CHOICES)
def test_not_selected_contributes_exactly_zero_in_all_orders(name):
    x = leaf([0.0, 2.0])
    first = ag.grad(CHOICES[name](x), x, create_graph=True)
    assert first.tolist() == [0, 0.5]
    assert ag.grad(first.sum(), x).tolist() == [0, -0.25]


def test_not_selected_by_a_row_of_a_jacobian():
    x = leaf([0.0, 2.0])
    assert ag.jacobian(ag.log(x), x).tolist() == [[float("inf"), 0], [0, 0.5]]


def test_computed_zeros_stay_ieee():
    x = leaf(0.0)
    assert np.isnan(ag.grad(ag.sqrt(x) ** 2, x).item())
    assert np.isnan(ag.grad(ag.exp(ag.log(x)), x).item())
