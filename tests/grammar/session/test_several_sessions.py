"""Several sessions in one process: in threads, in tasks, and one inside a callback of another."""

import asyncio
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from claims import state_of

from agrad.engine.core.context import current
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

SCRIPTS = [
    "manual_seed(1)\nvar a = 3\nx = rand(4)\nb = sum(x)*a**2\nbackward b\na.grad\nno_grad: c = a*2\nc.requires_grad",
    "var w = [1, 2, 3]\ny = sum(sin(w)*w)\nbackward y retain\nw.grad\nset w = [3, 2, 1]\nforward y\ny\nbackward y\nw.grad",
    "var t = 0.5\ns = t*1\nfor i in range(40):\n    s = s*0.9 + sin(t)*i\nbackward s\nt.grad\nfails shape: [1, 2] + [1, 2, 3]",
    "manual_seed(5)\nm = randn(3, 3)\nvar v = m @ m\nif v[0, 0] > 0:\n    u = sum(v**2)\nelse:\n    u = sum(v)\nbackward u\n"
    "v.grad\ncheck sum(v**3)\nrand()",
]


def heard(session, text):
    """What a session says to a text, with its error."""
    said = []
    try:
        session.run(text, lambda result: said.append(result.text(session.settings)))
    except AgradError as problem:
        said.append(problem.message)
    return said


ALONE = [heard(Session(), text) for text in SCRIPTS]


@pytest.mark.parametrize("times", [10, pytest.param(200, marks=pytest.mark.long)])
def test_sessions_in_threads_give_what_they_give_alone(times):
    def work(place):
        return [heard(Session(), SCRIPTS[place]) for _ in range(times)]

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for pair in ([0, 1], [2, 3], [0, 0], [0, 1, 2, 3]):
            with ThreadPoolExecutor(len(pair)) as pool:
                for place, found in zip(pair, pool.map(work, pair), strict=True):
                    assert found == [ALONE[place]] * times
    finally:
        sys.setswitchinterval(before)


def test_sessions_in_tasks_that_interleave_statement_by_statement():
    async def work(place):
        session, said = Session(), []
        for statement in _statements(SCRIPTS[place]):
            said += heard(session, statement)
            await asyncio.sleep(0)
        return said

    async def main():
        return await asyncio.gather(*[work(place) for place in (0, 1, 2, 3, 0, 3)])

    assert asyncio.run(main()) == [ALONE[place] for place in (0, 1, 2, 3, 0, 3)]


def _statements(text):
    """The statements of a script, blocks whole."""
    found = []
    for line in text.split("\n"):
        if line.startswith((" ", "else")):
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found


def test_a_session_in_the_callback_of_another_that_then_fails_a_statement():
    outer, inner = Session(), Session()
    outer.run("var x = [1, 2]\nvar a = 2\ny = sum(x)*a\nmanual_seed(3)")
    inner.run("var x = 5")
    before, kept = state_of(outer), []

    def emit(result):
        kept.append(heard(inner, "x.grad; z = x*x; backward z; x.grad; k = rand()"))

    with pytest.raises(AgradError):
        outer.run(
            "if 1:\n    set x = [5, 6]\n    a = 7\n    no_grad: q = rand()\n    a\n    y = 1\n    backward nothing",
            emit,
        )
    assert kept
    assert state_of(outer) == before
    assert heard(inner, "x.grad") == ["x.grad = 10"] or heard(inner, "x.grad") == ["10"]
    outer.run("backward y")
    assert heard(outer, "x.grad; a.grad") == heard(outer, "x.grad; a.grad")


def test_a_statement_that_fails_in_an_inner_session_leaves_the_outer_one_alone():
    outer, inner = Session(), Session()
    said = []

    def emit(result):
        said.append(result.text(outer.settings))
        with pytest.raises(AgradError):
            inner.run("no_grad: b = 1/0; [1, 2] + [1, 2, 3]")
        assert current().recording is (len(said) > 1)

    outer.run("var x = 3\nno_grad:\n    x*2\n    y = x*x\nz = x*x\nz.requires_grad\ny.requires_grad", emit)
    assert said[0] == "6" and said[1:] == ["True", "False"]
    assert inner.names == {}


def test_a_session_that_runs_inside_itself():
    session = Session()
    session.run("var x = 3")
    said = []

    def emit(result):
        if not said:
            said.append(None)
            session.run("k = 5")

    with pytest.raises(AgradError):
        session.run("if 1:\n    x\n    no_such_name", emit)
    assert "k" not in session.names  # it was a part of what failed


def test_draws_of_one_session_do_not_shift_those_of_another():
    def draws(others):
        session = Session()
        session.run("manual_seed(11)")
        found = []
        for _ in range(5):
            for other in others:
                heard(other, "manual_seed(2); rand(3)")
            found += heard(session, "rand(2)")
        return found

    assert draws([]) == draws([Session(), Session()])


def test_limits_and_files_belong_to_a_session():
    strict, other = Session(), Session()
    strict.context.files.on = False
    strict.run('limit memory="1 MB"')
    assert heard(strict, "zeros(1e6);")[0].endswith("the limit is 1 MB")
    assert heard(other, "x = zeros(1e6)") == []
    assert heard(strict, 'load_csv("nothing.csv")') == ["load_csv: file access is switched off"]
    assert heard(other, 'load_csv("nothing.csv")') == ["load_csv: there is no file nothing.csv"]


def test_nothing_of_a_statement_is_left_in_the_context_around_it():
    around = current()
    session = Session()
    heard(session, "var x = 2\nno_grad: y = x*x\nif x > 1: z = x\nrand(3)\n[1, 2] + [1, 2, 3]")
    assert current() is around
    assert (around.recording, around.undo_log, around.statement, around.guard) == (True, None, None, around.guard)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
def test_the_time_of_a_statement_is_up_also_after_another_session_had_its_own_limit():
    outer, inner = Session(), Session()
    outer.watch.time, inner.watch.time = 1.0, 60.0
    with pytest.raises(AgradError, match=r"longer than 1 s"):
        outer.run("if 1:\n    1\n    while 1: x = 2", lambda result: inner.run("y = 3"))
    assert inner.names == {"y": 3.0} and outer.names == {}
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
