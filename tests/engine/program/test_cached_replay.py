"""Replays that come again and again give what ordinary ones give, to the bit, whatever happens in between."""

import random
import weakref

import numpy as np
import pytest
from rows import each

import agrad.engine as ag
from agrad.engine.errors import AgradError
from agrad.engine.program import replay
from agrad.grammar.diagnostics import render
from agrad.grammar.session.session import Session

FORMULAS = {
    "a sum": "y = a + b*c - 2",
    "functions": "y = sin(a)*exp(b) + c**3/(1 + a**2)",
    "a shared part": "s = a*b; y = s**2 + sin(s)*c",
    "a constant": "k = 3; y = k*a + b**2*c",
    "edges": "y = sqrt(a)*b + c/(a - b)",
    "a leaf alone": "s = a*a; y = s*b + c",
    "kinks": "y = relu(a)*abs(b) + maximum(a, c)",
    "derivatives": "y = grad(a**3*b, a) + c",
}
VALUES = (0.0, -0.0, 1.0, -2.5, 0.1, 3.0, 1e200, 1e-310, float("inf"))


@pytest.fixture
def at_once(monkeypatch):
    """Compile at the second replay."""
    monkeypatch.setattr(replay, "COST", 0.0)


def told(session, text):
    said = []
    try:
        session.run(text, lambda result: said.append(result.text(session.settings)))
    except AgradError as error:
        said.append(render(error))
    return said


def happening(chance):
    """Something that may come between two replays."""
    name, value = chance.choice("abc"), chance.choice(VALUES)
    others = [
        f"set {name} = {value!r}",
        "forward y",
        f"forward y with {name}={value!r}",
        "backward y retain",
        "zero_grad; backward y retain; grad a b c",
        "y",
        "vars",
        "grad a b c",
        "undo",
        f"no_grad: {name} += 1",
        f"alias = {name}.detach()",
        "alias = y.detach()",
        "retain y",
        "retain s",
        "set k = 5",
        "k = k + 1",
        "z = y*2; backward z retain; grad a",
        "backward y",
        "info y",
        f"fails assert: forward y with {name}=7; assert 0",
    ]
    return chance.choice([*others[:5]] * 6 + others)


@each("seed", range(8), short=4)
@each("name", sorted(FORMULAS))
def test_any_course_of_events_goes_as_without_programs(monkeypatch, name, seed):
    courses = []
    for cost in (0.0, 1e9):
        monkeypatch.setattr(replay, "COST", cost)
        chance, session = random.Random(seed), Session()
        session.settings.precision, session.steps.depth = None, 10
        said = [told(session, f"var a = 1; var b = 2; var c = 3; {FORMULAS[name]}; backward y retain")]
        said += [told(session, happening(chance)) for _ in range(60)]
        courses.append([[line.replace(" graph built anew", "") for line in part] for part in said])
    assert courses[0] == courses[1]


def test_the_programs_are_used(at_once):
    x, z = ag.tensor(2.0, requires_grad=True), ag.tensor(1.0, requires_grad=True)
    y = ag.sin(x) * z
    for value in (3.0, 4.0, 5.0, 6.0):
        x.set_(value)
        y.forward()
        y.backward(retain_graph=True)
    found = replay.cached_replay_of(y.node)
    assert found.program is not None
    assert found.slope is not None
    calls = []
    program, slope = found.program, found.slope
    found.program = lambda *values: calls.append("forward") or program(*values)
    found.slope = lambda *values: calls.append("backward") or slope(*values)
    x.set_(7.0)
    y.forward()
    y.backward(retain_graph=True)
    assert calls == ["forward", "backward"]
    assert found.gradients(y.node) is not None
    x.set_(1e300)
    z.set_(np.inf)
    y.forward()
    assert found.gradients(y.node) is None  # an ordinary backward finds where an inf began


def test_a_cached_replay_keeps_no_graph_alive(at_once, uncollected):
    a = ag.tensor(2.0, requires_grad=True)
    y = ag.sin(a) * a
    for value in range(5):
        a.set_(float(value))
        y.forward()
        y.backward(retain_graph=True)
    node = weakref.ref(y.node)
    del y
    assert node() is None
