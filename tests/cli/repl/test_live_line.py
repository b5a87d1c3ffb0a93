"""The live line: the value of what is typed, its derivatives, how a function is called; and that it changes nothing."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from answers import answers
from rows import each
from session_state import assert_same, picture
from thinned import thinned

from agrad.engine.core.op import FUNCTIONS
from agrad.grammar.prompt.live import Live
from agrad.grammar.session.session import Session

START = Path(__file__).with_name("live_line.ag").read_text()


def opened():
    session = Session()
    session.record.on, session.steps.depth = True, 10
    session.run(START)
    return session


@each("text, line", answers(Path(__file__).with_name("live_line.txt")).items())
def test_the_line_of_a_text(text, line):
    assert Live(opened())(text) == line


@each(
    "before, after, line",
    [
        ("x", "**2*k", "= 16   d/dx 16"),
        ("sin(", "x)", "sin(‹x›)   = 0.9093   d/dx -0.4161"),
        ("", "x", "= 2"),
        ("x", " +* 2", "= 2"),
        ("q", " = x*y", "= 10   d/dx 5   d/dy 2"),
    ],
)
def test_the_value_is_that_of_the_whole_line(before, after, line):
    assert Live(opened())(before, after) == line


def test_it_can_be_turned_off():
    live = Live(opened())
    live.on = False
    assert live("sin(x)") == ""


def test_a_default_with_a_graph_has_no_live_value_and_gets_no_gradient():
    session = Session()
    session.run(
        "var a = 2; b = a*3; var z = 1\ndef f(x, k=a) = k*x\ndef g(x, ks=[a, b]) = sum(ks)*x\ndef h(x, k=3) = k*x"
    )
    live = Live(session)
    assert [live.value(text) for text in ("f(3)", "f(z)", "g(z)", "h(z)")] == ["", "", "", "= 3   d/dz 3"]
    assert session.names["a"].grad is None
    session.run("backward b")  # whose graph is still there


def test_it_follows_the_session():
    session = opened()
    live = Live(session)
    assert live("x*3") == "= 6   d/dx 3"
    session.run("set x = 4")
    assert live("x*3") == "= 12   d/dx 3"


NAMES = "x y v w k z u big empty f g h deep drawn total m exp2 nowhere _ ans x.grad z.data".split()
SIGNS = [" + ", " - ", "*", "/", "**", " @ ", " < ", " and ", " if k else ", ", ", "; ", " = ", " += ", "[0]", "."]
WORDS = ["var q = ", "print ", "backward ", "set x = ", "zero_grad", "del x", "for i in v: ", "step sgd x", "x[0] = "]
WORDS += ["no_grad: x += ", "x.fill_(3)", "x.add_(1)", "manual_seed(1)", "watch x", "history", 'save "a.ag"']
WORDS += ['graph z to "g.gv"']


def text_of(made, depth=0):
    """A random expression, or something like one."""
    kind = made.random()
    if depth > 3 or kind < 0.3:
        return made.choice([*NAMES, "2", "0.5", "1e308", "[1, 2]", "(1, 2)", '"a"', "x.requires_grad_()"])
    if kind < 0.6:
        arguments = [text_of(made, depth + 1) for _ in range(made.randint(0, 3))]
        return f"{made.choice([*FUNCTIONS, *'fgh', 'drawn', 'total', 'x.backward', 'z.backward', 'v.add_'])}({', '.join(arguments)})"
    return text_of(made, depth + 1) + made.choice(SIGNS) + text_of(made, depth + 1)


@pytest.mark.parametrize("number", thinned(range(40), 10))
def test_it_never_changes_anything(number, tmp_path, monkeypatch):
    """Prefixes of random statements, as they are while one types: the session is the same to the last bit."""
    monkeypatch.chdir(tmp_path)
    made, session = random.Random(number), opened()
    heard = []
    session.emit = heard.append
    before, names, steps = picture(session), dict(session.names), len(session.steps)
    live, line = Live(session), session.line
    for _ in range(50):
        text = made.choice(["", "", *WORDS]) + text_of(made)
        place = made.randint(1, len(text))
        live(text[:place])
        live(text[:place], text[place:])
        live(text)
    assert_same(before, picture(session))
    assert list(session.names) == list(names) and all(session.names[name] is value for name, value in names.items())
    assert (heard, len(session.steps), session.line) == ([], steps, line)
    assert list(tmp_path.iterdir()) == []


WITHOUT_NUMPY = Path(__file__).with_name("live_line_without_numpy.txt").read_text()


@pytest.mark.long
def test_no_key_waits_for_numpy_to_load():
    subprocess.run([sys.executable, "-X", "utf8", "-c", WITHOUT_NUMPY], check=True, timeout=100)
