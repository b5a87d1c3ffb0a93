"""A loop that is compiled says and leaves, to the bit, what the same loop says and leaves that is not."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager

from agrad.grammar.loops import compiled_run, hot_loops

from .answers import assert_equal, begin_again, held, new_session, read, told
from .programs import START, Script

MOST_NODES = 20_000
TURNS = 14
AFTER = ("backward s", "forward s", "undo", "graph z", "a.version", "for i in range(9): s = s*a.item()", "backward c")
counted = {"compiled": 0}


@contextmanager
def eager_to_compile(dice: random.Random) -> Iterator[None]:
    """Compile loops of a few iterations, so that a case is short; with pieces of several lengths."""
    kept = hot_loops.WORTH, compiled_run._BLOCK, compiled_run.CompiledIteration.run
    run = compiled_run.CompiledIteration.run

    def counting(self, *arguments):  # type: ignore[no-untyped-def]
        done = run(self, *arguments)
        counted["compiled"] += done
        return done

    hot_loops.WORTH, compiled_run._BLOCK = 4, dice.choice((1, 2, 3, 32))
    compiled_run.CompiledIteration.run = counting  # type: ignore[method-assign]
    try:
        yield
    finally:
        hot_loops.WORTH, compiled_run._BLOCK = kept[:2]
        compiled_run.CompiledIteration.run = kept[2]  # type: ignore[method-assign]


def cases(dice: random.Random) -> Iterator[None]:
    """A loop for each case, in two sessions."""
    sessions = new_session(START), new_session(START)
    sessions[1].compiles = False
    for session in sessions:
        session.watch.nodes = MOST_NODES
    script = Script(dice)
    for _ in range(100):
        text = script.loop(dice.choice((8, 8, TURNS, 40)), 3)
        if dice.random() < 0.3:
            text = f"{script.simple()}\n{text}"
        if dice.random() < 0.3:
            text = f"{text}\n{dice.choice(AFTER)}"
        both = []
        with eager_to_compile(dice):
            for session in sessions:
                begin_again(session, START)
                both.append((_compared(told(session, read(text)), text), held(session)))
        if any("nodes, the limit" in said for said in both[1][0]):
            continue  # a compiled loop makes fewer nodes
        for first, second in zip(*both, strict=True):
            assert_equal(first, second, text)
        yield


def _compared(said: list[str], text: str) -> list[str]:
    """What is said, but of a nan only the place: a compiled iteration skips what no later one needs.

    With several places it may be another one, or none: it also skips the side of a choice that is not taken, and the
    value of which only the gradient is needed.
    """
    if "where(" in text or " if " in text or ";" in text or text.count("\n") > 1:
        return [one for one in said if not re.match(r"note: .+ is nan", one)]
    return [re.sub(r" is nan: .+", " is nan", one) for one in said]
