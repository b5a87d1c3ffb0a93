"""Machine code touches nothing but the rows of its columns, and refuses what it could not hold to that with."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import guarded
import numpy as np
import pytest
from refused import refuses
from rows import each

from agrad.engine.compile.llvm import target
from agrad.engine.compile.llvm.backend import Native
from agrad.engine.program.trace import trace

pytestmark = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")


@pytest.mark.skipif(os.name != "posix", reason="pages are protected otherwise there")
@pytest.mark.parametrize(
    ("piece", "lanes"),
    [
        pytest.param(piece, lanes, marks=[] if (piece, lanes) == (64, 8) else pytest.mark.long)
        for piece in (5, 9, 64)
        for lanes in (2, 4, 8)
    ],
)
def test_nothing_outside_the_rows_is_read_or_written(piece, lanes):
    if lanes > target.machine().lanes:
        pytest.skip("vectors are narrower here")
    program = [sys.executable, Path(guarded.__file__), "70", str(piece), str(lanes)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def native():
    return Native(trace(lambda x, y: x * y + 1, (0.3, 0.7)))


def numbers(*sizes):
    return [np.arange(float(size)) for size in sizes]


@each(
    "columns, outs, kind, words",
    [
        (numbers(5), numbers(5), "arity", "2 inputs and 1 outputs, and was given 1 columns and 1 arrays"),
        (numbers(5, 5), numbers(5, 5), "arity", "2 inputs and 1 outputs, and was given 2 columns and 2 arrays"),
        (numbers(5, 6), numbers(5), "shape", "must have one length, not 5, 6"),
        (numbers(5, 5), numbers(4), "shape", "must have one length, not 4, 5"),
        ([*numbers(5), np.arange(5)], numbers(5), "type", "array of float64 of one dimension"),
        ([*numbers(5), np.arange(5, dtype=">f8")], numbers(5), "type", "array of float64 of one dimension"),
        ([*numbers(5), np.ones((5, 1))], numbers(5), "type", "array of float64 of one dimension"),
        ([*numbers(5), [1.0] * 5], numbers(5), "type", "array of float64 of one dimension"),
        ([*numbers(5), 2.0], numbers(5), "type", "array of float64 of one dimension, not the number 2"),
        (numbers(5, 5), [np.arange(5, dtype=np.float32)], "type", "array of float64 of one dimension"),
        (numbers(5, 5), [np.arange(10.0)[::2]], "type", "contiguous, aligned and writeable"),
        (numbers(5, 5), [np.arange(10.0)[4::-1]], "type", "contiguous, aligned and writeable"),
        (numbers(5, 5), [np.zeros(41, np.uint8)[1:].view(np.float64)], "type", "contiguous, aligned and writeable"),
        (numbers(5, 5), [np.broadcast_to(1.0, 5)], "type", "contiguous, aligned and writeable"),
    ],
)
def test_an_array_that_does_not_fit_is_refused(native, columns, outs, kind, words):
    before = [np.array(out) for out in outs]
    refuses(lambda: native.map(columns, outs), words, kind=kind)
    assert all(np.array_equal(out, old) for out, old in zip(outs, before, strict=True))


def test_results_that_share_memory_are_refused():
    native = Native(trace(lambda x: (x + 1) * 2, (0.3,)))
    both = Native(type(native.program)(native.program.inputs, (), (), (0, 0), ()))
    memory = np.zeros(9)
    refuses(lambda: both.map([np.ones(5)], [memory[:5], memory[4:]]), "share their memory")
    both.map([np.ones(4)], [memory[:4], memory[4:8]])
    assert memory.tolist() == [1.0] * 8 + [0.0]


@each("shift", [-3, -1, 0, 1, 2, 17])
def test_results_may_go_where_a_column_was(shift):
    native = Native(trace(lambda x: x * 2 + 1, (0.3,)))
    memory = np.arange(200.0)
    column, out = memory[20:120], memory[20 + shift : 120 + shift]
    expected = column * 2 + 1
    native.map([column], [out])
    assert np.array_equal(out, expected)


def test_no_rows_are_no_work(native):
    native.map([np.empty(0), np.empty(0)], [np.empty(0)])


@each("many", [1, 2, 3, 4, None])
def test_all_rows_are_computed_on_any_number_of_threads(native, many):
    x, y = np.random.default_rng(0).normal(size=(2, 4 * target.PIECE + 11))
    out = np.full(len(x), np.nan)
    native.map([x, y], [out], many)
    assert np.array_equal(out, x * y + 1)


def test_each_row_is_in_one_piece():
    seen = []
    target.in_pieces(3 * target.PIECE + 1, lambda first, end: seen.append((first, end)), 4)
    ends = [0, *(end for _, end in sorted(seen))]
    assert [first for first, _ in sorted(seen)] == ends[:-1] and ends[-1] == 3 * target.PIECE + 1


def test_without_room_for_threads_one_does_it_all(monkeypatch, native):
    def start(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(target.Thread, "start", start)
    x = np.arange(3.0 * target.PIECE)
    out = np.empty_like(x)
    native.map([x, x], [out], 4)
    assert np.array_equal(out, x * x + 1)


@each("many", [1, 3])
def test_a_failure_or_an_interruption_ends_all_threads_and_is_raised(many):
    begun = []

    def work(first, end):
        begun.append(first)
        if len(begun) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        target.in_pieces(1000 * target.PIECE, work, many)
    assert len(begun) < 100


def test_an_interruption_while_it_waits_leaves_no_thread_behind(monkeypatch):
    before, join, waits = threading.active_count(), threading.Thread.join, []

    def interrupted(self, timeout=None):
        waits.append(self)
        if len(waits) == 1:
            raise KeyboardInterrupt
        join(self, timeout)

    monkeypatch.setattr(target.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        target.in_pieces(10 * target.PIECE, lambda first, end: time.sleep(0.01), 3)
    assert threading.active_count() == before and len(waits) == 3
