"""Replay is right: values and gradients are, bit for bit, those of a graph built afresh, also where it was freed. Every row and function."""

import random

import numpy as np
from random_programs import matrix_function
from refused import leaf, lines, named, refusal, refuses
from replays import Built, check, same_bits
from rows import each
from samples import function_of, samples, scipy_or_skipped

import agrad.engine as ag


def points(xs):
    """New data of the same shapes: near the old, then zeros, ties and whole numbers of either sign, near again.

    A choice that a rule makes in Python, by a value, comes out otherwise at one of these.
    """
    generator = np.random.default_rng(7)
    arrays = [np.array(x, dtype=float) for x in xs]

    def near():
        return [x * (1 + 0.1 * generator.normal(size=x.shape)) + 0.03 * generator.normal(size=x.shape) for x in arrays]

    return [
        near(),
        [np.zeros(x.shape) for x in arrays],
        [np.round(x) * generator.choice([-1.0, 1.0], size=x.shape) for x in arrays],
        [np.full(x.shape, 0.5) for x in arrays],
        near(),
    ]


CHOOSES_ENTRIES = {"interp"}  # by computed places: where these have changed, a replay is refused


@each("order", [1, 2], short=2)
@each("entry, sample", samples())
def test_every_operation_and_its_gradient_graph(entry, sample, order):
    function, xs = function_of(entry, sample)
    with scipy_or_skipped():
        built = Built(function, xs, order)
    for data in points(xs):
        check(built, function, data, order, data, may_refuse=entry.name in CHOOSES_ENTRIES)
    if order == 1 and built.number is not None and built.number.requires_grad:
        freed_and_replayed(Built(function, xs), function, xs)


def freed_and_replayed(built, function, xs):
    for scale in (1.0, 1.01):
        data = [np.array(x) * scale for x in xs]
        built.number.backward(fresh=True)
        try:
            built.run_again(data)
        except ag.AgradError as problem:
            gone = problem.kind == "freed" and "was freed with its graph" in problem.message
            assert gone or problem.kind == "guard", problem
            return
        expected = Built(function, data).everything()
        for found, one in zip(built.everything(), expected, strict=True):
            assert same_bits(found, one)


DATA_BY_NAME = {
    "max": (lambda x, y: ag.max(x, y) * x, [1.0, 2.0]),
    "min of three": (lambda x, y, z: ag.min(x, y, z) * x, [1.0, 2.0, 0.5]),
    "clip": (lambda x, lo, hi: ag.clip(x, lo, hi), [[0.5, 3.0, -2.0], -1.0, 2.0]),
    "einsum": (lambda a, b: ag.einsum("ij,jk->ik", a, b), [[[1.0, 2.0], [3.0, 4.0]], [[0.5, 1.0], [2.0, -1.0]]]),
}


@each("name", DATA_BY_NAME)
def test_operands_that_stand_behind_others_are_data_and_no_guard(name):
    function, xs = DATA_BY_NAME[name]
    for order in (1, 2):
        built = Built(function, xs, order)
        for data in points(xs):
            check(built, function, data, order, data)


@each("batch", range(20), short=10)
def test_random_expressions_over_the_whole_table(batch):
    for number in range(50 * batch, 50 * batch + 50):
        rng, generator = random.Random(number), np.random.default_rng(number)
        function, text = matrix_function(rng, rng.choice([1, 2, 3]))
        order = 2 if number % 10 == 0 else 1
        data = list(generator.normal(size=(2, 3, 3)))
        built = Built(function, data, order)
        for _ in range(2):
            chosen = rng.choice([(0,), (1,), (0, 1)])
            for place in chosen:
                data[place] = generator.normal(size=(3, 3))
            check(built, function, data, order, text, may_refuse="mask" in text)


SIZE = 37


WIDE = {
    "sum of products": lambda a, b: ag.sum(a @ b),
    "of a column": lambda a, b: ag.sum(a @ b[:, 0]),
    "of a row": lambda a, b: ag.sum(a @ b[0]),
    "means": lambda a, b: ag.mean(ag.sum(a, axis=0) * ag.sum(b, axis=1)),
    "solve": lambda a, b: ag.sum(ag.solve(a + 10 * np.eye(SIZE), b)),
    "norms": lambda a, b: ag.norm(a.T) + ag.sum(ag.norm(b, axis=0)),
    "spread": lambda a, b: ag.sum(ag.expand(a[0], SIZE, SIZE) @ b) + ag.sum(a[0] * b),
    "log_softmax": lambda a, b: ag.sum(ag.log_softmax(a) @ b),
}


@each("layout", ["C", "F"])
@each("name", WIDE)
def test_large_matrices_round_alike_however_their_entries_lie(name, layout):
    generator = np.random.default_rng(3)

    def draw():
        return [np.array(generator.normal(size=(SIZE, SIZE)), order=layout) for _ in range(2)]

    for order in (1, 2):
        built = Built(WIDE[name], draw(), order)
        for _ in range(3):
            check(built, WIDE[name], draw(), order, name)


def test_a_gradient_built_by_create_graph_can_be_run_again_like_any_value():
    x = ag.tensor(2.0, requires_grad=True)
    y = x * x * x
    g = ag.grad(y, x, create_graph=True)
    h = ag.grad(g, x, create_graph=True)
    x.set_(10.0)
    h.forward()
    assert (h.item(), ag.grad(h, x).item()) == (60, 6)
    g.forward()
    y.forward()
    assert (y.item(), g.item(), ag.grad(g, x).item()) == (1000, 300, 60)


def test_a_constant_that_is_a_mask_stays_one():
    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    m = (x > 0) * ag.greater(np.array([1.0, 5.0, 5.0]), 2.0)
    x.set_([1.0, -2.0, 3.0])
    m.forward()
    assert same_bits(x[m], [3.0])


def placeholder():
    a = leaf([[1.0, 2.0], [3.0, 4.0]], "a")
    return a, named("y", (a**2 * ag.exp(-a)).sum())


def test_a_placeholder_loop_without_retain():
    a, y = placeholder()
    for number in range(10):
        a.set_(np.array([[1.0, -2.0], [0.5, 3.0]]) * number / 4)
        a.clear_grad()
        y.forward()
        y.backward()
        x = np.array(a.data)
        np.testing.assert_allclose(a.grad.data, (2 * x - x**2) * np.exp(-x), rtol=1e-12, atol=1e-12)


def test_what_shares_a_part_is_not_stale():
    a = leaf([1.0, 2.0], "a")
    b = a * a
    d, e = b.sum(), (b * 2).sum()
    d.backward()
    d.forward()
    e.backward()
    assert a.grad.tolist() == [6, 12]
    e.forward()
    d.backward()
    assert a.grad.tolist() == [8, 16]


GONE = {
    "k": lambda a: named("k", ag.tensor([3.0, 4.0])) * a,
    "a constant of shape (2)": lambda a: np.array([3.0, 4.0]) * a,
    "an index with arrays in it": lambda a: a[np.array([1, 0, 1])],
}


@each("what", GONE)
def test_a_constant_that_is_gone_is_named_and_nothing_changes(what):
    a = leaf([1.0, 2.0], "a")
    b = named("b", a * a)
    c = named("c", GONE[what](b))
    y = named("y", c.sum())
    y.backward()
    a.set_([3.0, 4.0])
    for verb in (y.forward, y.forward):
        assert refusal(verb) == lines(
            f"freed: y cannot be replayed: {what} was freed with its graph",
            f"{c.node.title}Backward (c): {what} is gone",
            "freed by an earlier backward of y",
            "note: a freed graph keeps its leaves and numbers, but an array only while something else refers to it",
            "fix: keep the graph with retain_graph=True at that backward, or compute the value again",
        )
    assert b.tolist() == [1, 4]
    refuses(lambda: b.backward(ag.ones(2)), "part of its graph was freed")


def test_a_guard_that_changes_leaves_the_graph_freed():
    x = leaf(2.0, "x")
    s = x * x
    y = named("y", s * 3 if s > 1 else s)
    y.backward()
    x.set_(0.5)
    assert "cannot be replayed" in refusal(y.forward)
    assert (y.item(), x.grad.item()) == (12, 12)
    assert "part of its graph was freed" in refusal(y.backward)
    x.set_(3)
    y.forward()
    assert y.item() == 27


def test_a_guard_on_a_value_with_a_new_history_is_checked_after_another_replay():
    x = ag.tensor([2.0], requires_grad=True)
    y = x * 1
    doubled = y * 2
    assert y
    y[0] = y[0] * 3
    z = y * 5
    x.set_([0.0])
    ag.forward(doubled)  # computes the value of y again that the guard has read
    refuses(lambda: ag.forward(z), "was true; now it is false", kind="guard")


def test_a_constant_that_no_leaf_led_to_is_as_it_was():
    x, c = ag.tensor(2.0, requires_grad=True), ag.tensor([3.0, 1.0])
    y = (x * c).sum()
    x.set_(5.0)
    ag.forward(y)
    assert y.item() == 20.0
