"""Threads and tasks that build and walk graphs at the same time: none sees the switches of another."""

import asyncio
import contextvars
import gc
import math
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event

import numpy as np
import pytest
from parallel import in_threads
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine.core.context import Context, allow, current, enter, scope
from agrad.engine.core.graph import collecting_later
from agrad.engine.core.numpy_warnings import quiet

MANY = 20_000


@pytest.mark.parametrize("times", [300, pytest.param(MANY, marks=pytest.mark.long)])
def test_eight_threads_build_and_walk_graphs_of_arrays_and_scalars(times):
    def work(number):
        at = number + 1.0
        slope = 2 * at * math.sin(at) + at * at * math.cos(at)
        for _ in range(times):
            x = ag.tensor([at] * 5, requires_grad=True)
            ag.sum(x * x * ag.sin(x) + x[1:4].mean()).backward()
            assert np.allclose(x.grad.numpy(), slope + 5 / 3 * np.array([0, 1, 1, 1, 0]), rtol=1e-12)
            a = ag.tensor(at, requires_grad=True)
            (a * a * ag.sin(a)).backward()
            assert a.grad.item() == pytest.approx(slope, rel=1e-12)
        return number

    assert in_threads(8, work) == list(range(8))


@pytest.mark.parametrize("times", [300, pytest.param(MANY, marks=pytest.mark.long)])
def test_overlapping_no_grad_in_threads_shows_in_none_but_its_own(times):
    def work(number):
        x = ag.tensor([1.0, 2.0], requires_grad=True)
        s = ag.tensor(2.0, requires_grad=True)
        for time in range(times):
            assert (x * x).requires_grad and (s * s).requires_grad
            with ag.no_grad():
                assert not (x * x).requires_grad and not (s * s).requires_grad
                if number % 2 and time % 100 == 0:
                    assert ag.check(lambda t: t * t, 3.0).ok
            assert (x + 1).requires_grad
        return current().recording

    assert in_threads(6, work) == [True] * 6


def test_overlapping_no_grad_in_tasks():
    x = ag.tensor([1.0, 2.0], requires_grad=True)

    async def one(order, enters, leaves):
        await order[enters].wait()
        assert (x * x).requires_grad
        with ag.no_grad():
            order[enters + 1].set()
            await order[leaves].wait()
            assert not (x * x).requires_grad
        assert (x * x).requires_grad
        order[leaves + 1].set()

    async def main():
        order = [asyncio.Event() for _ in range(6)]
        order[0].set()
        # The first enters, then the second; the first leaves, then the second.
        await asyncio.wait_for(asyncio.gather(one(order, 0, 2), one(order, 1, 3)), 10)

    asyncio.run(main())
    assert current().recording


def test_guards_made_inside_no_grad_count_outside_also_where_tasks_overlap():
    x = ag.tensor(2.0, requires_grad=True)
    y = ag.tensor(3.0, requires_grad=True)

    async def one(value, enters, leaves):
        await enters.wait()
        with ag.no_grad():
            assert value > 1
            leaves.set()
            await asyncio.sleep(0)

    async def main():
        first, second, third = (asyncio.Event() for _ in range(3))
        first.set()
        await asyncio.wait_for(asyncio.gather(one(x, first, second), one(y, second, third)), 10)

    with scope(guard=None):
        asyncio.run(main())
        made = current().guard
        assert made is not None and made.length == 2


def test_a_generator_that_is_closed_late_leaves_recording_as_it_is():
    x = ag.tensor(2.0, requires_grad=True)

    def off():
        with ag.no_grad():
            yield

    waiting = off()
    next(waiting)
    assert not (x * x).requires_grad
    with scope(recording=True):
        assert (x * x).requires_grad
        waiting.close()
        assert (x * x).requires_grad
    assert (x * x).requires_grad and current().scope is None

    first, second = off(), off()
    next(first)
    next(second)
    first.close()
    assert not (x * x).requires_grad
    second.close()
    assert (x * x).requires_grad


def test_one_no_grad_serves_many_times():
    x = ag.tensor(2.0, requires_grad=True)
    off = ag.no_grad()

    @off
    def down(depth):
        assert not (x * x).requires_grad
        return depth and down(depth - 1)

    assert down(3) == 0
    with off, off:
        assert not (x * x).requires_grad
    assert (x * x).requires_grad
    assert in_threads(4, lambda _: [down(2) for _ in range(100)] and (x * x).requires_grad) == [True] * 4


def test_a_scope_that_is_left_elsewhere_changes_nothing_there():
    off = ag.no_grad()
    contextvars.copy_context().run(off.__enter__)
    off.__exit__(None, None, None)
    assert current().recording


def test_a_seed_and_what_is_drawn_belong_to_a_thread():
    def work(number):
        ag.manual_seed(number)
        return [ag.rand(2).tolist() for _ in range(100)]

    together = in_threads(4, work)
    assert together == [in_threads(1, lambda _, number=number: work(number))[0] for number in range(4)]
    ag.manual_seed(7)
    expected = ag.rand(2).tolist(), ag.rand(2).tolist()
    ag.manual_seed(7)
    assert (ag.rand(2).tolist(), in_threads(2, work) and ag.rand(2).tolist()) == expected


def test_a_context_has_limits_and_random_numbers_of_its_own():
    def draw():
        ag.manual_seed(1)
        return ag.rand(2).tolist()

    ag.manual_seed(2)
    ag.rand(2)
    before = current().random.generator.bit_generator.state
    one, other = Context(), Context()
    assert enter(one, draw) == enter(other, draw)
    enter(one, allow, 800.0)
    refuses(lambda: enter(one, ag.zeros, 200), "the limit is 800")
    assert enter(other, ag.zeros, 200).shape == ag.zeros(200).shape == (200,)
    assert current().random.generator.bit_generator.state == before


def test_a_thread_is_traced_by_itself():
    inside, seen = Event(), Event()

    def other():
        def f(x):
            inside.set()
            seen.wait(100)
            return x * float(x)

        return ag.compile(f, 3.0).value(3.0)

    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(other)
        assert inside.wait(100)
        x = ag.tensor(2.0, requires_grad=True)
        with scope(guard=None) as context:
            assert context.tracing is None and float(x * x) == 4.0
        seen.set()
        assert found.result(100) == 9.0


def test_what_is_needed_once_is_made_in_many_threads_at_once():
    """In a new process, in which no operation has run: the first one of each of eight threads."""
    text = """
import sys, threading
sys.setswitchinterval(1e-6)
import agrad.engine as ag
together, wrong = threading.Barrier(8), []
def work(number):
    try:
        together.wait()
        x = ag.tensor([1.0, -2.0, number], requires_grad=True)
        y = ag.sum(x[x > 0] * ag.exp(x * 1000)[0] * 0) + ag.sum(ag.softmax(x) + ag.std(x)) + (x @ x)
        y.backward()
        assert not (x > 0).requires_grad and x[x > 0].shape[0] == 1 + (number > 0)
    except BaseException as error:
        wrong.append(repr(error))
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
sys.exit("\\n".join(wrong) or 0)
"""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-W", "error", "-c", text], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


WILD = np.array([np.inf, 1.0, 2.0])


@each("backend", ["python", "auto"])
def test_compiled_functions_do_not_warn_in_any_thread(backend):
    functions = [
        ag.compile(lambda x, k=k: ag.sum((x * 0 + x) * (k + 1.0)) / ag.sum(x * 0), np.ones(3), backend=backend)
        for k in range(6)
    ]
    columns = ag.compile(lambda x, y: x + 0 * y, 1.0, 1.0, backend=backend)
    expected = [f.value_and_grad(WILD) for f in functions]
    columns.map(WILD, WILD)

    def work(number):
        for _ in range(300):
            assert repr(functions[number].value_and_grad(WILD)) == repr(expected[number])
            columns.map(WILD, WILD)
        return np.geterr()

    before = np.geterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert in_threads(6, work) == [before] * 6
    assert np.geterr() == before


def is_off():
    silence = current().silence
    return silence is not None and silence.before is not None


def test_what_one_thread_turns_off_is_on_in_another():
    def look(_):
        before = np.geterr()["invalid"], is_off()
        with quiet():
            return before, np.geterr()["invalid"], is_off()

    with quiet():
        assert is_off()
        assert in_threads(2, look) == [(("warn", False), "ignore", True)] * 2
        assert is_off() and np.geterr()["invalid"] == "ignore"
    assert not is_off()


@pytest.mark.parametrize("call", ["isenabled", "disable"])
def test_python_looks_for_garbage_again_after_an_interrupt_or_the_end_of_another_thread_at_any_call(monkeypatch, call):
    original, other = getattr(gc, call), collecting_later()

    def interrupted():
        original()
        raise KeyboardInterrupt

    def while_another_ends():
        found = original()
        other.__exit__(None, None, None)
        return found

    if call == "isenabled":
        other.__enter__()
    monkeypatch.setattr(gc, call, while_another_ends if call == "isenabled" else interrupted)
    with suppress(KeyboardInterrupt), collecting_later():
        pass
    monkeypatch.undo()
    is_on = gc.isenabled()
    gc.enable()
    assert is_on
