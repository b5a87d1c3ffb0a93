"""What is too large is refused before it is made; what takes too long is stopped, and leaves no trace."""

import math
import signal
import threading
import time
from contextlib import suppress
from unittest.mock import Mock

import pytest
import slow_numpy
from rows import each
from sessions import error, said
from thinned import thinned

from agrad.engine.core.context import current, machine_memory
from agrad.engine.errors import TimeLimit
from agrad.grammar.diagnostics import render
from agrad.grammar.runtime import budget
from agrad.grammar.runtime.budget import bytes_of
from agrad.grammar.session.session import Session

timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timer that signals")


@pytest.fixture
def limited():
    """A session whose results may take 80 MB."""
    made = Session()
    made.run('limit memory="80 MB"')
    return made


# Memory


@pytest.mark.long
def test_a_refusal_says_how_to_allow_it_if_the_machine_has_the_memory(limited):
    problem = error("zeros(2e7)", limited)
    assert problem.fixes == ['limit memory="1 GB"']
    limited.run(f"{problem.fixes[0]}\nx = zeros(2e7)")


def test_otherwise_it_says_what_the_machine_has(limited):
    problem = error("zeros(1e15)", limited)
    assert not problem.fixes
    (note,) = problem.notes
    assert note.startswith("this machine has ")


def test_the_limit_of_one_session_is_not_that_of_another(limited):
    before = current().limits.memory
    Session().run("x = zeros(2e7)")
    error("zeros(2e7)", limited)
    assert current().limits.memory == before == machine_memory() / 2


def test_a_limit_holds_at_once_and_goes_with_a_failing_statement(limited):
    error("if 1:\n    limit memory=1e9\n    x = zeros(2e7)\n    no_such_name", limited)
    error("zeros(2e7)", limited)
    limited.run("if 1:\n    limit memory=1e9\n    x = zeros(2e7)")


@each(
    "text, size",
    [
        ("4 GB", 4e9),
        ("4GB", 4e9),
        ("4g", 4e9),
        ("1.5 kB", 1500),
        ("2 GiB", 2 * 1024**3),
        ("100 mib", 100 * 1024**2),
        ("2 TB", 2e12),
        ("4e9", 4e9),
        ("500", 500),
        ("12 bytes", 12),
        ("", 0),
        ("GB", 0),
        ("-3 GB", 0),
        ("4 GB and more", 0),
        ("4 QB", 0),
        ("1..5 GB", 0),
    ],
)
def test_sizes_are_read_as_people_write_them(text, size):
    assert bytes_of(text) == size


# Time


TREE = "def f(n) = f(n-1) + f(n-1) if n > 0 else 1"
ENDLESS = [
    ("", "while 1: pass"),
    ("def g():\n    while 1: k = 1", "g()"),
    ("", "for i in range(2**53): a.zero_()"),
    ("d = x\nfor i in range(100000): d = sin(d)", "for j in range(1e9): backward d retain"),
    ("d = x\nfor i in range(100000): d = sin(d)", "for j in range(1e9): forward d with x=j"),
    ("", "while 1:\n    fails name: q"),
    ("", "no_grad:\n    while 1: a += 1"),
    (TREE, "time: y = f(60)"),
    (TREE, "y = grad(f)(60)"),
    ("", "x = " + "+".join(["1"] * 400_000)),
    ("", "y = list(range(1e9))"),
]


@timer
@pytest.mark.parametrize(("before", "text"), thinned(ENDLESS, 6))
def test_a_statement_that_takes_too_long_is_stopped_and_leaves_no_trace(before, text):
    session = Session()
    session.run(f"var x = 1\na = [1, 2, 3]\ny = 2\n{before}")
    session.watch.time = 0.3
    names = dict(session.names)
    began = time.process_time()
    problem = error(text, session)
    assert time.process_time() - began < 60  # a second or two; it would take hours
    assert problem.kind == "limit"
    assert problem.message == "this took longer than 0.3 s, the limit"
    assert problem.facts == TimeLimit()
    session.watch.time = math.inf
    assert said("a\ny\nx\nx.grad is None", session) == ["[1, 2, 3]", "2", "1", "True"]
    assert session.names == names


@timer
def test_a_stop_that_is_lost_comes_again():
    session, lost = Session(), []

    def swallowing():
        """What Python does with an exception while it collects garbage."""
        with suppress(KeyboardInterrupt):
            while True:
                pass
        lost.append(True)
        return 1.0

    session.names["swallowing"] = swallowing
    began = time.monotonic()
    problem = error("limit time=0.1\nif 1:\n    swallowing()\n    while 1: pass", session)
    assert problem.facts == TimeLimit()
    assert lost
    assert time.monotonic() - began < 60


@timer
def test_the_timer_of_the_host_is_its_own_again_afterwards():
    before = signal.getsignal(signal.SIGALRM)
    session = Session()
    error("limit time=0.05\nwhile 1: pass", session)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    time.sleep(0.1)  # no signal is under way


def test_the_time_is_that_of_each_statement(monkeypatch):
    session, now = Session(), [1000.0]
    monkeypatch.setattr(budget, "monotonic", lambda: now[0])
    monkeypatch.setattr(budget, "signal", Mock(signal=Mock(side_effect=ValueError)))  # so that loops read the clock

    def wait():
        """Let 250 seconds pass."""
        now[0] += 250
        return 1.0

    session.names["wait"] = wait
    session.run("limit time=600")
    for _ in range(6):
        session.run("wait() + wait()")
    assert error("for i in range(10000): wait()", session).facts == TimeLimit()
    session.run("limit time=None\nfor i in range(4): wait()")


def test_a_deadline_is_for_everything():
    session = Session()
    session.watch.end_in(0.4)
    problem = error("while 1: pass", session)
    assert problem.message == "this took longer than 0.4 s, the limit"
    assert error("x = 1; y = 2", session).facts == TimeLimit()
    assert error("while 1: pass", session).facts == TimeLimit()


def test_in_a_thread_the_iterations_of_loops_look_at_the_clock():
    problems = []
    texts = ("while 1: pass", "def f(n) = f(n-1) + f(n-1) if n > 0 else 1\nf(60)")

    def work():
        session = Session()
        problems.extend(error(f"limit time=0.1\n{text}", session) for text in texts)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert [problem.message for problem in problems] == ["this took longer than 0.1 s, the limit"] * 2


# Nodes


@pytest.mark.long
@pytest.mark.parametrize(
    "text",
    [
        "for i in range(3000): y = x*i",
        "for i in range(3000):\n    y = x*i\n    backward y",
        "no_grad:\n    for i in range(3000): y = y + x",
        "for i in range(3000): y = (y + x).detach()",
        "for i in range(900): y = y + x",
        pytest.param(f"y = {'+'.join(['x'] * 900)}", id="a sum"),
        pytest.param(f"no_grad: y = {'+'.join(['x'] * 3000)}", id="a sum without recording"),
        pytest.param(f"y = [{', '.join(['(x + 1).item()'] * 3000)}]", id="a list of numbers"),
        pytest.param("if 1:\n" + "    y = x + 1\n" * 3000, id="a long block"),
    ],
)
def test_nodes_that_nothing_keeps_do_not_count(text):
    session = Session()
    session.run(f"var x = 1\ny = x\nlimit nodes=1000\n{text}")


@pytest.mark.parametrize(
    "text",
    [
        "t = ()\nfor i in range(3000): t = (t, x*i)",
        "def f(n) = x if n < 1 else f(n-1)*f(n-1)\nf(20)",
        "for i in range(3000):\n    y = x**3 + y\n    if i == 2000: y.backward(create_graph=True)",
        "for i in range(3):\n    for j in range(500): y = y + x",
        "def f(t):\n    for i in range(3000): t = t + x\n    return t\nf(y)",
        pytest.param(f"y = {'+'.join(['x'] * 5000)}", id="a sum that is kept"),
        pytest.param("+".join(["x"] * 5000), id="a sum that is shown"),
        pytest.param(f"print {'+'.join(['x'] * 5000)}", id="a sum that is printed"),
        pytest.param(f"f = 0\nif 1: f = {'+'.join(['x'] * 1200)}", id="a short sum that is kept"),
        pytest.param(f"def f(t) = {'+'.join(['t'] * 3000)}\nz = f(x)", id="a sum in a function"),
        pytest.param("if 1:\n" + "    y = y + x\n" * 1200, id="a long block"),
    ],
)
def test_nodes_are_counted_wherever_they_are_kept(text):
    session = Session()
    assert "nodes" in error(f"var x = 1\ny = x\nlimit nodes=1000\n{text}", session).message


# The command


# Length and depth: what a limit is not needed for

LARGE = {
    "terms": ("+".join(["1"] * 50_000), "50000"),
    "brackets": ("(" * 3000 + "1" + ")" * 3000, "1"),
    "calls": ("abs(" * 1000 + "-1" + ")" * 1000, "1"),
    "powers": ("1" + "**1" * 5000, "1"),
    "a tower of powers": ("str(9**9**9)", "inf"),
    "minuses": ("-" * 5000 + "1", "1"),
    "indices": ("x = [1]\nx" + "[[0]]" * 3000, "[1]"),
    "attributes": ("x = [1]\nx" + ".T" * 3000, "[1]"),
    "methods": ("x = [1]\nx" + ".abs()" * 3000, "[1]"),
    "branches": ("if 0: 1\n" + "elif 0: 2\n" * 3000 + "else: 3", "3"),
    "conditions": ("1 if 0 else " * 3000 + "2", "2"),
    "f-strings": ('print f"' + "{1}" * 3000 + '"', "1" * 3000),
    "f-strings in f-strings": ("print f\"{f'{1+1}'}\"", "2"),
    "targets": ("(" * 500 + "x" + ",)" * 500 + " = " + "(" * 500 + "1" + ",)" * 500 + "\nx", "1"),
    "a list of lists": ("x = " + "[" * 30 + "1" + "]" * 30 + "\nsum(x)", "1"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", thinned(LARGE, 4))
def test_what_is_long_or_deep_is_computed(name):
    text, expected = LARGE[name]
    assert said(text) == [expected]


TOO_DEEP = {
    "lists": ("[" * 3000 + "1" + "]" * 3000, "stack: an array has at most 32 axes"),
    "blocks": ("".join(" " * i + "if 1:\n" for i in range(1000)) + " " * 1000 + "1", "blocks are nested more than"),
    "calls of functions": ("def f(x) = f(x)\nf(1)", "f: calls are nested more than 2000 deep"),
    "derivatives of themselves": ("def f(x) = grad(f)(x)\nf(1)", "this nests too deeply"),
}


@each("name", TOO_DEEP)
def test_what_is_too_deep_is_refused(name):
    text, message = TOO_DEEP[name]
    problem = error(text)
    assert problem.kind == "limit"
    assert problem.message.startswith(message)


def test_a_word_of_a_million_letters_is_cut_in_the_report():
    assert len(render(error("a" * 1_000_000))) < 1000


@pytest.mark.long
def test_the_first_array_is_not_blamed_for_loading_numpy(tmp_path):
    assert slow_numpy.said(tmp_path, f"limit time={slow_numpy.SECONDS / 2}\nx = [1, 2]*2\nx") == "[2, 4]\n"
    stopped = slow_numpy.said(tmp_path, f"limit time={slow_numpy.SECONDS / 2}\nx = [1, 2]*2\nwhile 1: x = x*1")
    assert f"this took longer than {slow_numpy.SECONDS / 2} s, the limit" in stopped
