"""`check` in a session: what it prints, when it fails, and that it leaves no trace."""

import pytest
from rows import each
from sessions import session_of

from agrad.engine.core.tensor import Tensor
from agrad.grammar.results import Checked

START = "var x = 3; var A = [[1, 2], [3, 4]]; k = 2; y = x**2; z = sin(y)*y"


def report(text, session=None):
    results = []
    (session or session_of(START)).run(text, results.append)
    (result,) = results
    assert isinstance(result, Checked)
    return result.report


def entries(text, session=None):
    return {finding.entry: finding.verdict for finding in report(text, session).findings}


def trace(session):
    """All that a check must leave alone."""
    state = {"answer": session.answer, "names": list(session.names)}
    for name, value in session.names.items():
        if isinstance(value, Tensor):
            node = value.node
            gradient = None if node.grad is None else (node.grad.calls, node.grad.value)
            state[name] = (id(value), id(node), value.tolist(), node.stamp, gradient, node.keeps_grad, node.freed)
    return state


@each(
    "text",
    [
        "check z*x",
        "check det(A)*z",
        "fails assert: check z*detach(x)",
        "fails grad: check k",
        "fails shape: check A",
        "def f(t):\n    backward t\n    zero_grad x\n    set x = 7\n    print 1\n    5\n    return t\nfails freed: check f(z)",
        "def f(t):\n    backward t retain\n    no_grad: A[0, 0] = t\n    5\n    print 6\n    A\n    return t*x\ncheck f(z)",
    ],
)
def test_nothing_is_disturbed(text):
    session = session_of(START + "; retain y; backward z retain; 1 + 1;")
    *definitions, last = text.rsplit("\n", 1)
    for definition in definitions:
        session.run(definition)
    before = trace(session)
    results = []
    session.run(last, results.append)
    assert trace(session) == before
    assert all(isinstance(result, Checked) for result in results)
    session.run("backward z")


def test_random_numbers_go_on_as_if_nothing_had_been():
    session = session_of("manual_seed(5); var w = [1, 2, 3]; rand(2);")
    assert entries("check sum(w*rand(3)*rand(3))", session) == {"w[0]": "ok", "w[1]": "ok", "w[2]": "ok"}
    session.run("a = rand(4); manual_seed(5); rand(2); assert a == rand(4)")


def test_an_interrupt_leaves_everything_as_it_was():
    session = session_of(START)
    before = trace(session)
    calls = 0
    evaluate = session.machine.evaluate

    def interrupted(code):
        nonlocal calls
        calls += 1
        if calls == 6:
            raise KeyboardInterrupt
        return evaluate(code)

    session.machine.evaluate = interrupted
    with pytest.raises(KeyboardInterrupt):
        session.run("check z*x")
    assert trace(session) == before


def test_the_words_of_the_command_stay_names():
    session = session_of("check = 3; wrt = 4; def check2(x) = x*check*wrt")
    results = []
    session.run("check2(2)\ncheck + wrt\ncheck*wrt\nwrt", results.append)
    assert [result.text(session.settings) for result in results] == ["24", "7", "12", "4"]
    session.run("def check(x) = 2*x\nassert check(4) == 8")
