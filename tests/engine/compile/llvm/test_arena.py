"""The memory of a call: arrays share places only while one of them is not needed."""

import numpy as np
import pytest
from random_programs import of_arrays
from rows import each
from test_loops import check, program_of

import agrad.engine as ag
from agrad.engine.compile.llvm import loops as arena
from agrad.engine.compile.llvm import target
from agrad.engine.compile.llvm.loops import Loops
from agrad.engine.compile.llvm.schedule import Schedule
from agrad.engine.values import size_of

pytestmark = pytest.mark.skipif(target.binding() is None, reason="llvmlite is not installed")
RNG = np.random.default_rng(8)


def chain(x):
    """Each step needs the sums of the one before."""
    for _ in range(8):
        x = ag.sin(x) + ag.sum(x, 0) * ag.sum(x * x, 1)[:, None]
        x = x / (1.0 + ag.sum(ag.abs(x)))
    return ag.sum(x)


def test_a_chain_needs_as_much_as_a_few_of_its_steps():
    x = RNG.normal(size=(60, 50))
    loops = check(chain, x, gradients=False, rtol=1e-12)
    assert loops.memory.length < 4 * 60 * 50
    assert check(chain, x, rtol=1e-9).memory.length < 18 * 60 * 50


@each(
    "f",
    [
        lambda x: ag.sum(ag.sort(ag.sin(x) @ x.T) * ag.exp(x @ x.T * 0.1)),
        lambda x: ag.sum((ag.sin(x) @ ag.cos(x).T)[::-1].T @ ag.reshape(ag.exp(0.1 * x), (50, 60)).T),
        lambda x: ag.sum(ag.solve(x[:50].T @ x[:50] + np.eye(50), ag.sum(ag.sin(x), 0))),
        lambda x: ag.sum(ag.cumsum(ag.sin(x), 0) * ag.cumsum(ag.cos(x), 1)),
    ],
)
def test_what_the_library_reads_and_returns_keeps_its_place(f):
    check(f, RNG.normal(size=(60, 50)), rtol=1e-10)


@each("seed", range(60), short=12)
def test_no_two_arrays_that_are_needed_at_once_overlap(seed):
    grown = of_arrays(seed)
    schedule = Schedule(program_of(grown, *grown.examples))
    memory = Loops(schedule.program).memory
    last = arena._last_reads(schedule)
    spans, seen = [], set()
    for number, stage in enumerate(schedule.stages):
        for slot in arena._written(stage):
            if slot in memory.places and slot not in seen:
                seen.add(slot)  # parts of it may be written later
                begin = memory.places[slot]
                spans.append(
                    (begin, begin + size_of(schedule.program.shape(slot)), number, max(number, last.get(slot, number)))
                )
    assert len(spans) == len(memory.places)
    for i, (begin, end, first, until) in enumerate(spans):
        assert 0 <= begin < end <= memory.length
        for other_begin, other_end, other_first, other_until in spans[:i]:
            apart = end <= other_begin or other_end <= begin
            assert apart or until < other_first or other_until < first
