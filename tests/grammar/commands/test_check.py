"""`check` in a session: what it prints, when it fails, and that it leaves no trace."""

import pytest

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.grammar.results import Checked
from agrad.grammar.session.session import Session

CORNERS = dict.fromkeys(("A[0, 0]", "A[0, 1]", "A[1, 0]", "A[1, 1]"), "ok")
START = "var x = 3; var A = [[1, 2], [3, 4]]; k = 2; y = x**2; z = sin(y)*y"


def session_of(text=START):
    session = Session()
    session.run(text)
    return session


def report(text, session=None):
    results = []
    (session or session_of()).run(text, results.append)
    (result,) = results
    assert isinstance(result, Checked)
    return result.report


def error(text, session=None):
    with pytest.raises(AgradError) as caught:
        (session or session_of()).run(text)
    return caught.value


def entries(text, session=None):
    return {finding.entry: finding.verdict for finding in report(text, session).findings}


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        ("check x**2*sin(x)", {"x": "ok"}),
        ("check sum(A)*x wrt x", {"x": "ok"}),
        ("check det(A)*x", {"x": "ok"} | CORNERS),
        ("check det(A) wrt x", {"x": "ok"}),
        ("check abs(x - 3)", {"x": "kink"}),
        ("check floor(x)", {"x": "kink"}),
        ("check (x - 3)**2 if x > 3 else 3 - x", {"x": "kink"}),
        # what was computed before is computed again
        ("check z", {"x": "ok"}),
        ("check z*y + x", {"x": "ok"}),
        ("check (z, x)[0]", {"x": "ok"}),
        ("def f(t) = t*z\ncheck f(y)", {"x": "ok"}),
        ("def f(t, s=z) = t*s\ncheck f(2)", {"x": "ok"}),
        # what is a derivative already
        ("check grad(z, x)", {"x": "ok"}),
        ("check grad(sin)(x)", {"x": "ok"}),
        ("check hessian(z, x)", {"x": "ok"}),
        ("w = exp(x)*tanh(A[0, 0])\ncheck grad(w, x)*grad(grad(w, x), A)[0, 0]", {"x": "ok"} | CORNERS),
        # from inside
        ("def g(t):\n    var u = t\n    check u**3*x\ng(2)", {"x": "ok", "u": "ok"}),
        ("no_grad: check x**2", {"x": "ok"}),
        ("def f(t):\n    no_grad: s = t*2\n    return t*2\ncheck f(x)", {"x": "ok"}),
        ("def f(t):\n    if t > 3: assert 0\n    return t\ncheck f(x)", {"x": "kink"}),
        (
            "manual_seed(1); check sum(A*rand(2, 2)) wrt A",
            CORNERS,
        ),
    ],
)
def test_verdicts(text, verdicts):
    assert entries(text) == verdicts


def test_a_mismatch_is_shown_and_fails():
    results = []
    session = session_of()
    with pytest.raises(AgradError) as caught:
        session.run("check x*detach(x)", results.append)
    assert results[0].text(session.settings).splitlines()[1].split() == ["x", "3", "6", "3", "0.5", "mismatch"]
    assert caught.value.kind == "assert"
    assert caught.value.message == "the derivative with respect to x does not match the differences"
    assert caught.value.notes == ["detach and no_grad do not affect the differences"]
    session.run("fails assert: check x*detach(x)")


def test_several_mismatches_are_named():
    message = "4 derivatives with respect to A[0, 0], A[0, 1], A[1, 0], A[1, 1] do not match the differences"
    assert error("check sum(A*detach(A)) + x").message == message


@pytest.mark.parametrize(
    ("text", "kind", "message", "fix"),
    [
        ("check A", "shape", "check needs one number, not an array of shape (2, 2)", "check sum(A)"),
        ('check "text"', "type", 'check needs one number, not the text "text"', None),
        (
            "check x wrt k",
            "leaf",
            "check varies leaves that require grad, and k is the number 2, which does not require grad",
            "var k = …   makes a leaf",
        ),
        (
            "check x wrt y",
            "leaf",
            "check varies leaves that require grad, and y was computed",
            "name the leaves it was computed from, or leave out wrt",
        ),
        ("check k", "grad", "this does not depend on a leaf that requires grad", None),
        ("check 3", "grad", "this does not depend on a leaf that requires grad", None),
        (
            "check sum(tensor([1, 2], requires_grad=True))",
            "grad",
            "this does not depend on a leaf that requires grad",
            None,
        ),
        ("check x*nothing", "name", "nothing has no value", None),
        ("check x wrt nothing", "name", "nothing has no value", None),
        ("backward z; check z", "freed", "z cannot be differentiated: part of its graph was freed", None),
        ("set x = 4; check z", "stale", None, None),
        ("check check", "name", "check has no value", None),
    ],
)
def test_what_cannot_be_checked(text, kind, message, fix):
    problem = error(text)
    assert problem.kind == kind
    assert message is None or problem.message == message
    assert fix is None or problem.fixes == [fix]
    assert problem.labels


def trace(session):
    """All that a check must leave alone."""
    state = {"answer": session.answer, "names": list(session.names)}
    for name, value in session.names.items():
        if isinstance(value, Tensor):
            node = value.node
            gradient = None if node.grad is None else (node.grad.calls, node.grad.value)
            state[name] = (id(value), id(node), value.tolist(), node.stamp, gradient, node.keeps_grad, node.freed)
    return state


@pytest.mark.parametrize(
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
    session = session_of()
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
