"""Work in threads that change often gives what it gives alone: programs in sessions, and a compiled function they share."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import agrad.engine as ag

from .answers import assert_equal, begin_again, held, new_session, program, told
from .programs import START, statements

THREADS, PROGRAMS, GROUPS, FUNCTIONS = 2, 10, 40, 8
POINTS = (0.5, -1.0, 2.0, 0.0, -0.0, 0.25, 3.0, -0.7)
UNARY = (ag.sin, ag.exp, ag.tanh, ag.abs, ag.relu, ag.square, ag.sigmoid)


@contextmanager
def changing_often() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def cases(dice: random.Random) -> Iterator[None]:
    """What all threads do at once for each case."""
    with ThreadPoolExecutor(THREADS) as pool, changing_often():
        sessions = [new_session(START) for _ in range(THREADS)]
        programs = [program(statements(dice, dice.randint(2, 4), 6)) for _ in range(PROGRAMS)]

        def work(number: int, place: int) -> tuple[list[str], dict[str, Any]]:
            session = sessions[number]
            begin_again(session, START)
            return [text for line in programs[place] for text in told(session, line)], held(session)

        alone = [work(0, place) for place in range(PROGRAMS)]
        for _ in range(GROUPS):
            places = [dice.randrange(PROGRAMS) for _ in range(THREADS)]
            for place, found in zip(places, pool.map(work, range(THREADS), places), strict=True):
                for one, other in zip(found, alone[place], strict=True):
                    assert_equal(one, other, *(f"{programs[number]}\n--" for number in places))
            yield
        for _ in range(FUNCTIONS):
            yield from _shared(dice, pool)


def _shared(dice: random.Random, pool: ThreadPoolExecutor) -> Iterator[None]:
    """A compiled function with choices, which each thread calls at points of its own; new choices come meanwhile."""
    plan = [(dice.randrange(len(UNARY)), dice.choice(POINTS), dice.random() < 0.5) for _ in range(dice.randint(1, 5))]

    def function(x: Any, y: Any) -> Any:
        for place, bound, first in plan:
            x = UNARY[place](x) * y if (x if first else y) > bound else x - UNARY[place](y)
        return x * y

    compiled = ag.compile(function, 1.0, 1.0, backend="python")
    points = [(dice.choice(POINTS), dice.choice(POINTS)) for _ in range(4 * THREADS)]
    wanted = [_eager(function, point) for point in points]
    groups = [range(number, len(points), THREADS) for number in range(THREADS)]

    def work(places: range) -> list[Any]:
        return [_exact(*compiled.value_and_grad(*points[place])) for place in places]

    for places, found in zip(groups, pool.map(work, groups), strict=True):
        for place, one in zip(places, found, strict=True):
            assert_equal(one, wanted[place], repr(plan), repr(points[place]))
    yield


def _eager(function: Callable[[Any, Any], Any], point: tuple[float, float]) -> Any:
    leaves = [ag.tensor(x, requires_grad=True) for x in point]
    y = function(*leaves)
    y.backward()
    return _exact(y.item(), [0.0 if leaf.grad is None else leaf.grad.item() for leaf in leaves])


def _exact(value: float, slopes: Any) -> Any:
    return float(value).hex(), [(float(slope) + 0.0).hex() for slope in slopes]  # docs/python.md: a 0 has either sign
