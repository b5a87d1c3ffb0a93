"""Programs of sessions in threads that change often give what they give alone."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from .answers import assert_equal, begin_again, held, new_session, program, told
from .programs import START, statements

THREADS, PROGRAMS, GROUPS = 2, 10, 40


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
