"""Forward mode: what a direction becomes, held against the walk backward for every row of the table."""

import numpy as np
from differences import outputs, weights
from refused import leaf, refuses
from rows import each
from samples import function_of, samples

import agrad.engine as ag
from agrad.engine.autodiff.forward_mode import push
from agrad.engine.core.graph import reachable


def number(value):
    return np.asarray(getattr(value, "value", value))


@each("create_graph", [False, True])
@each("entry, sample", samples())
def test_forward_and_reverse_hold_together(entry, sample, create_graph):
    """u (J v) = (u J) v, for every result of every row at its samples."""
    function, operands = function_of(entry, sample)
    xs = [leaf(operand) for operand in operands]
    directions = {x.node: weights(x.shape, place) for place, x in enumerate(xs)}
    for y in outputs(function(*xs)):
        if not y.requires_grad:
            continue
        pushed = push(y, directions, create_graph)
        u = weights(y.shape, 7)
        forward = 0.0 if pushed is None else np.sum(u * number(pushed))
        behind = [x for x in xs if x.node in reachable(y.node)]
        pulled = zip(behind, ag.grad(y, behind, gradient=u), strict=True)
        backward = sum(np.sum(number(g) * directions[x.node]) for x, g in pulled)
        np.testing.assert_allclose(forward, backward, rtol=1e-10, atol=1e-12)


def test_a_pushed_direction_can_be_differentiated_again():
    x = leaf(2.0)
    slope = ag.jvp(x**3, x, 1.0, create_graph=True)
    assert slope.item() == 12
    assert ag.grad(slope, x).item() == 12
    assert ag.grad(ag.jvp(3 * x, x, 1.0, create_graph=True), x).item() == 0  # still tied to its value


def test_what_is_not_selected_contributes_nothing():
    x = leaf(0.0)
    assert ag.jvp(ag.where(x > 0, ag.log(x), 5.0), x, 1.0).item() == 0
    assert ag.jvp(ag.maximum(ag.sqrt(x), 1.0), x, 1.0).item() == 0


def test_a_chain_of_many_operations():
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = y + 1.0
    assert ag.jvp(y, x, 3.0).item() == 3


def test_a_freed_graph_is_refused():
    x = leaf(2.0)
    y = x * x
    y.backward()
    refuses(lambda: ag.jvp(y, x, 1.0), kind="freed")


def test_a_direction_has_the_shape_of_its_value():
    x = leaf([1.0, 2.0])
    refuses(lambda: ag.jvp(x * x, x, [1.0, 2.0, 3.0]), r"the direction has shape \(3\), not \(2\)")


def at_random(*shapes):
    numbers = np.random.default_rng(1)
    return [leaf(numbers.normal(size=shape)) for shape in shapes]


@each(
    "function, shapes",
    [
        (lambda a, b: a @ b, [(17, 19), (19, 17)]),
        (lambda a, b: a @ b, [(17,), (17,)]),
        (lambda a, b: (a.T @ b).sum(axis=0), [(17, 5), (17, 17)]),
        (lambda a: (a.T * 2).sum(), [(17, 70)]),
        (lambda a: a.T.cumsum(axis=0).sum(), [(17, 5)]),
        (lambda a: ag.softmax(a, axis=1).T.sum(axis=1), [(17, 5)]),
        (lambda a, b: ag.stack([a, b, a * b], axis=1).T.sum(axis=1), [(17,), (17,)]),
        (lambda a, b: ag.einsum("ij,kj,ij->", a, b, a), [(17, 17), (17, 17)]),
        (lambda a: a[:, 1:].T.sum(axis=1), [(17, 5)]),
        (lambda a, b: ag.solve(a, b), [(17, 17), (17,)]),
    ],
)
def test_the_same_bits_with_and_without_a_graph(function, shapes):
    """Also where the rounding of a sum, or of a product of matrices, depends on the memory layout."""
    xs, directions = at_random(*shapes), at_random(*shapes)
    y = function(*xs)
    given = {x.node: v.value for x, v in zip(xs, directions, strict=True)}
    plain, recorded = push(y, given, False), push(y, given, True)
    assert np.asarray(plain).tobytes() == number(recorded).tobytes()


def test_nothing_is_recorded_where_no_graph_is_asked_for():
    x, c = leaf([1.0, 2.0]), leaf(3.0)
    for slope in (ag.jvp(ag.sin(x) * c, x, [1.0, 0.0]), ag.jvp(lambda x: ag.sin(x) * 2, x.detach(), [1.0, 0.0])):
        assert not slope.requires_grad
        assert slope.node.inputs == ()
    slope = ag.jvp(lambda x: x * x * c, 5.0, 1.0)  # which has another leaf behind it
    assert ag.grad(slope, c).item() == 10


def test_a_direction_of_the_caller_is_not_handed_back():
    v = np.array([1.0, 2.0])
    slope = ag.jvp(lambda x: x + 1, [1.0, 2.0], v)
    v[0] = 9.0
    assert slope.tolist() == [1, 2]
