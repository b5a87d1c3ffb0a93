"""Machine code touches nothing but the rows of its columns."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import guarded
import numpy as np
import pytest
from rows import each

import agrad.engine as ag
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


@each("shift", [-3, -1, 0, 1, 2, 17])
def test_results_may_go_where_a_column_was(shift):
    compiled = ag.compile(lambda x: x * 2 + 1, 0.3, wrt=(), backend="llvm")
    memory = np.arange(200.0)
    column, out = memory[20:120], memory[20 + shift : 120 + shift]
    expected = column * 2 + 1
    compiled.map(column, out=(out, []))
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
