"""Ctrl-C at any moment leaves a session as it was before the statement, to the last bit.

A real signal comes at a random moment of a statement, and a picture of all that the session holds is compared with
the one from before. A shot that comes when no statement is under way does nothing: there is nothing to stop.
"""

import random
import signal
import sys
import time
from contextlib import contextmanager, suppress
from functools import partial

import numpy as np
import pytest
from interruptions import Interruption, at_bytecode
from session_state import assert_same, picture, plain
from thinned import thinned

from agrad.cli.terminal import stop_once
from agrad.engine.core.context import UndoLog, current
from agrad.engine.errors import AgradError
from agrad.grammar.session.log import SessionLog, Steps
from agrad.grammar.session.session import Session

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timer that signals")

TRIES = 14
SCALARS = "var x = 1.1\nvar w = 0.5\nd = x\nfor i in range(3400):\n    d = sin(d*w) + x\n"
ARRAYS = "manual_seed(1)\nvar a = rand(50, 40)\nvar b = rand(40)\ne = a\nfor i in range(600):\n    e = tanh(e*b) + a\n"
DATA = "t = zeros(3, 400)\nu = t.detach()\nvar p = ones(400)\nq = p*p\nr = sum(q)\nanswer = 42\n"

# What is there before, and the statement that is interrupted. A statement that uses up what it needs is run on a
# session made afresh.
CASES = {
    "forward of scalars": (SCALARS, "for i in range(4000):\n    d = exp(-d*x) + w"),
    "forward of arrays": (ARRAYS, "for i in range(300):\n    e = reshape(sin(e @ b + 1), 50, 1) * b + exp(-a)"),
    "backward of scalars": (SCALARS, "backward d"),
    "backward that retains": (SCALARS, "for i in range(2): retain d; backward d retain"),
    "backward of arrays": (ARRAYS, "backward sum(e)"),
    "backward with a graph": (ARRAYS, "backward e[0, 0] create_graph"),
    "replay of scalars": (SCALARS, "forward d with x=1.3, w=0.4"),
    "replay of arrays": (ARRAYS, "forward e with b=0.5*b.data"),
    "writes in place": (DATA, "for i in range(1500):\n    t[i % 3] += i\n    no_grad: p -= 0.01*p\n    r = r + 1"),
    "a failure": (SCALARS + "backward d\n", "for i in range(600):\n    w = w*x\n    if i == 599: backward w*d"),
    "a block of everything": (
        SCALARS + DATA,
        "for i in range(40):\n"
        "    no_grad: w += 0.001\n"
        "    y = w*x if w < 0.52 else w - x\n"
        "    if y > 0: set p = rand(400)\n"
        "    fails stale: backward r\n"
        "    fails name: answer = 1; u[0] = 7; no_such_name\n"
        "    zero_grad\n"
        "    forward r\n"
        "    backward y + sum(p**3)\n"
        "    step sgd w lr=0.01\n"
        "    q *= randn(400)\n"
        "    u[1] = p.detach()\n"
        "    del answer\n"
        "    answer = i\n"
        "    var p = p.detach()\n"
        "    r = sum(p*q.detach()); q = p*p\n"
        "    r = sum(q)\n"
        "    y",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", thinned(CASES, 15))
def test_an_interrupted_statement_leaves_everything_as_it_was(name):
    hits = interrupted_many_times(*CASES[name], raising)
    assert hits >= TRIES // 4, "the signal hardly ever came while the statement ran: this tests nothing"


@pytest.mark.long
def test_a_ctrl_c_that_is_held_down_stops_a_statement_once_and_not_the_tidying_up():
    assert interrupted_many_times(SCALARS, "forward d with x=1.3, w=0.4", pressing, repeat=0.0003) >= TRIES // 4


@pytest.mark.parametrize(
    "statement",
    thinned(["backward sum(e)", "c = sum(a*b)", "no_grad: a += 1", "if e[0, 0] > 0: b = 1/0*b; c = b"], 4),
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a generator that was being freed
def test_a_statement_is_taken_back_from_each_call_inside_it(statement):
    """Where the random moments hardly ever fall, as between the end of the work and what tidies up."""
    before = "manual_seed(1)\nvar a = rand(5, 4)\nvar b = rand(4)\ne = tanh(a*b) + a\n"
    fresh(before).run(statement)  # what is needed once is loaded
    moment, interrupted = 0, [0]
    while interrupted:
        session, moment = fresh(before), moment + 1
        start = picture(session)
        try:
            with at_call(moment) as interrupted:
                session.run(statement)
        except KeyboardInterrupt:
            assert_same(start, picture(session))
    assert moment > 50


@contextmanager
def at_call(moment):
    """A Ctrl-C when the nth function is entered while a statement is under way; the list says whether it came."""
    entered, interrupted = 0, []

    def trace(frame, event, arg):
        nonlocal entered
        if current().undo_log is not None:
            entered += 1
            if entered == moment:
                sys.settrace(None)
                interrupted.append(moment)
                raise KeyboardInterrupt

    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        yield interrupted
    finally:
        sys.settrace(outer)


FAILING = {
    "a write": "no_grad:\n    x = 5\n    nosuch",
    "everything": "no_grad:\n    x = 5\n    a += 1\n    backward sum(e)\n    set b = zeros(4)\n    del k\n    nosuch",
    "what is expected to fail": "fails name:\n    x = 5\n    nosuch\n1/nosuch",
}


def test_a_block_that_must_fail_is_left_at_any_bytecode_as_before():
    leaving, statement = type(at_call(0)).__exit__, "fails name:\n    x = 5\n    nosuch\n    never = 6"
    fresh("a = 1\n").run(statement)  # what is needed once is loaded
    for session, interrupted in at_each_bytecode("a = 1\n", (leaving,)):
        start = picture(session)
        try:
            with interrupted():
                session.run(statement)
        except KeyboardInterrupt:
            session.machine.expecting = 0  # as the next statement does
            assert_same(start, picture(session))


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "a write" else pytest.mark.long) for name in FAILING]
)
def test_a_failed_statement_is_taken_back_from_each_bytecode_of_its_roll_back(name):
    before = "manual_seed(1)\nvar a = rand(3)\nvar b = rand(4)\nvar x = 1\nk = 2\ne = tanh(a*x) + a\n"
    for session, interrupted in at_each_bytecode(before, (Session._take_back, Session._end)):
        start = picture(session)
        with pytest.raises((KeyboardInterrupt, AgradError)) as stop, interrupted():
            session.run(FAILING[name])
        assert_same(start, picture(session))
        assert (session._log, session.emit("nothing"), len(session.record.entries)) == (None, None, 0), stop


def test_an_undo_that_has_begun_goes_on_to_its_end_from_each_bytecode():
    for session, interrupted in at_each_bytecode(
        "var x = 1\ny = x*2\n", (UndoLog.roll_back, Steps.drop, SessionLog.cut)
    ):
        session.steps.depth, session.record.on = 10, True
        session.run("4")
        start = picture(session)
        session.run("no_grad:\n    x += 1\n    z = [1, 2]\n    y = 3")
        with suppress(KeyboardInterrupt), interrupted():
            session.run("undo")
        assert_same(start, picture(session))
        assert (len(session.steps), len(session.record.entries)) == (0, 1)
        assert not session.steps.nodes


def at_each_bytecode(before, functions):
    """Fresh sessions, each with a Ctrl-C at the next bytecode of some functions, or of what these call."""
    interruption = Interruption(1)
    while True:
        yield fresh(before), partial(at_bytecode, functions, interruption)
        if not interruption.came:
            break
        interruption = Interruption(interruption.moment + 1)
    assert interruption.moment > 50


@pytest.mark.long
def test_an_interrupted_measurement_leaves_no_clock_behind():
    session = fresh(SCALARS)
    start = picture(session)
    for delay in (0.004, 0.01, 0.03, 0.05, 0.08):
        with pytest.raises(KeyboardInterrupt), shot(delay, pressing, repeat=0.02):
            session.run("time: w = d*x; backward w + 1")
        assert_same(start, picture(session))


def test_a_roll_back_that_is_interrupted_goes_on_to_its_end():
    written = {"first": 1, "second": 2, "third": 3}
    pressed = []

    def undo(key):
        if key != "first" and key not in pressed:
            pressed.append(key)
            raise KeyboardInterrupt
        written[key] = 0

    log = UndoLog()
    for key in written:
        log.remember(key, lambda key=key: undo(key))
    with pytest.raises(KeyboardInterrupt):
        log.roll_back()
    assert written == {"first": 0, "second": 0, "third": 0}
    assert pressed == ["third", "second"] and not log.undos


def interrupted_many_times(before, statement, handler, repeat=0.0):
    """Interrupts a statement at random moments; how often it was under way. The session goes on to work each time."""
    expected = fresh(before)
    took = seconds(expected, statement)
    session, draw, hits = fresh(before), random.Random(before + statement), 0
    start = picture(session)
    for attempt in range(10 * TRIES):
        if attempt >= TRIES and hits >= TRIES // 4:
            break
        try:
            with shot(draw.uniform(0, took), handler, repeat):
                session.run(statement)
        except (KeyboardInterrupt, AgradError) as stop:
            hits += type(stop) is KeyboardInterrupt
            assert_same(start, picture(session))
        else:
            took *= 0.8  # the machine is faster than it was
            session = fresh(before)
            start = picture(session)
    seconds(session, statement)
    assert plain(session) == plain(expected)
    return hits


def fresh(before):
    session = Session()
    session.context.random.generator = np.random.default_rng(7)
    session.run(before)
    return session


def seconds(session, statement):
    """How long a statement takes to its end, or to its error."""
    began = time.perf_counter()
    with suppress(AgradError):
        session.run(statement)
    return time.perf_counter() - began


@contextmanager
def shot(delay, handler, repeat):
    """A signal comes after a delay, and from then on again and again if `repeat` says so."""
    alarm, interrupt = signal.signal(signal.SIGALRM, handler), signal.signal(signal.SIGINT, stop_once)
    signal.setitimer(signal.ITIMER_REAL, max(delay, 1e-6), repeat)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, alarm)
        signal.signal(signal.SIGINT, interrupt)


def raising(number, frame):
    if current().undo_log is not None:
        raise KeyboardInterrupt


def pressing(number, frame):
    if current().undo_log is not None:
        signal.raise_signal(signal.SIGINT)
