"""Optimiser steps against their definitions, written out."""

import math

import pytest
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine.autodiff.optim import kept_of, step
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

LOSSES = {
    "a bowl": lambda w: ag.sum((w - 3) ** 2),
    "a valley": lambda w: ag.sum(w**4 - w),
}
STARTS = [0.5, [1.0, -2.0, 0.25]]


def steps(method, loss, start, count=25, **options):
    """The values of a leaf after each of so many steps."""
    w, path = ag.tensor(start, requires_grad=True), []
    for _ in range(count):
        w.grad = None
        loss(w).backward()
        step(method, [w], **options)
        path.append(w.tolist())
    return path


def entry(path, position):
    return [values if position is None else values[position] for values in path]


def gradients(loss, value):
    w = ag.tensor(value, requires_grad=True)
    loss(w).backward()
    return w.grad.item()


@each("start", STARTS)
@each("name", sorted(LOSSES))
def test_adam_is_algorithm_1_of_kingma_and_ba(name, start):
    loss = LOSSES[name]
    path = steps("adam", loss, start, lr=0.05, beta1=0.8, beta2=0.99)
    for position, begin in [(None, start)] if isinstance(start, float) else list(enumerate(start)):
        x, m, v = begin, 0.0, 0.0
        for count, reached in enumerate(entry(path, position), 1):
            g = gradients(loss, x)
            m, v = 0.8 * m + 0.2 * g, 0.99 * v + 0.01 * g * g
            x -= 0.05 * (m / (1 - 0.8**count)) / (math.sqrt(v / (1 - 0.99**count)) + 1e-8)
            assert reached == pytest.approx(x, rel=1e-12)


@each("momentum", [0.0, 0.9])
@each("start", STARTS)
def test_sgd_with_momentum_sums_the_gradients_that_decay(start, momentum):
    loss = LOSSES["a bowl"]
    path = steps("sgd", loss, start, lr=0.05, momentum=momentum)
    for position, begin in [(None, start)] if isinstance(start, float) else list(enumerate(start)):
        x, v = begin, 0.0
        for reached in entry(path, position):
            v = momentum * v + gradients(loss, x)
            x -= 0.05 * v
            assert reached == pytest.approx(x, rel=1e-12)


@each("options", [{"beta1": 1.0}, {"beta2": -0.1}, {"eps": 0.0}])
def test_what_adam_cannot_divide_by_is_refused_before_anything_changes(options):
    w = ag.tensor(2.0, requires_grad=True)
    (w**2).backward()
    refuses(lambda: step("adam", [w], **options))
    assert (w.item(), w.version, kept_of(w.node)) == (2.0, 0, ())


def test_a_step_that_is_taken_back_never_was():
    """A failing statement, and undo, give back the means too: the path goes on as if nothing had been."""
    paths = []
    for disturbed in (False, True):
        session = Session()
        session.steps.depth = 5
        session.run("var w = [1, 2]\nfor i in range(3):\n    zero_grad; backward sum(w**2); step adam w lr=0.1")
        if disturbed:
            session.run("step adam w lr=0.1")
            session.run("undo")
            with pytest.raises(AgradError):
                session.run("for i in range(2):\n    step adam w lr=0.1\n    nowhere")
        session.run("step adam w lr=0.1")
        paths.append(session.names["w"].tolist())
    assert paths[0] == paths[1]


def test_options_that_a_method_lacks_are_named():
    session = Session()
    session.run("var w = 1; backward w**2")
    refuses(lambda: session.run("step sgd w beta1=0.5"), "step sgd has no option beta1; its options are lr, momentum")
