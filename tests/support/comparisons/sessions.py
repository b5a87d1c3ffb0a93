"""A session says and holds what it does alone, also where another runs between its statements, and inside them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from agrad.engine.core.context import Context, current
from agrad.grammar.session.session import Session

from .answers import Program, assert_equal, begin_again, held, new_session, program, told
from .programs import START, statements

PROGRAMS, PAIRS = 12, 50


def cases(dice: random.Random) -> Iterator[None]:
    """Two programs in two sessions for each case."""
    first, second = new_session(START), new_session(START)
    programs = [program(statements(dice, dice.randint(2, 4), 6)) for _ in range(PROGRAMS)]
    alone = [_alone(first, each) for each in programs]
    for _ in range(PAIRS):
        places = dice.randrange(PROGRAMS), dice.randrange(PROGRAMS)
        begin_again(first, START)
        begin_again(second, START)
        switches = {name: getattr(current(), name) for name in Context.__slots__}
        said = _together(dice, first, second, programs[places[0]], programs[places[1]])
        found = (said[0], held(first)), (said[1], held(second))
        for place, each in zip(places, found, strict=True):
            for one, other in zip(each, alone[place], strict=True):
                assert_equal(one, other, *(f"{programs[number]}\n--" for number in places))
        left = {name: getattr(current(), name) for name in Context.__slots__}
        assert_equal(left, switches, str(programs[places[0]]), str(programs[places[1]]))
        yield


def _alone(session: Session, lines: Program) -> tuple[list[str], dict[str, Any]]:
    begin_again(session, START)
    return [text for line in lines for text in told(session, line)], held(session)


def _together(
    dice: random.Random, first: Session, second: Session, ones: Program, others: Program
) -> tuple[list[str], list[str]]:
    """What two sessions say: a statement of the second runs behind one of the first, or where that says something."""
    said: tuple[list[str], list[str]] = [], []
    waiting = list(others)

    def next_of_other(result: Any = None) -> None:
        if waiting and dice.random() < 0.7:
            said[1].extend(told(second, waiting.pop(0)))

    for line in ones:
        said[0].extend(told(first, line, next_of_other))
        next_of_other()
    while waiting:
        said[1].extend(told(second, waiting.pop(0)))
    return said
