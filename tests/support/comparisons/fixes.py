"""A fix that is text to type can be read, and does not fail as the statement did that it is for."""

from __future__ import annotations

import random
from collections.abc import Iterator

from claims import START
from fixes import bad_fixes, failure
from sentences import SENTENCES, STORE, mutate

from agrad.engine.errors import typed
from agrad.grammar.session.session import Session

from .answers import begin_again
from .programs import Script

DEPTH = 10_000


def cases(dice: random.Random) -> Iterator[None]:
    """A text for each case: most of them nearly right. What it changes is taken back for the next."""
    session, script = Session(), Script(dice)
    session.steps.depth = DEPTH
    begin_again(session, START)
    for _ in range(100):
        kind = dice.random()
        if kind < 0.6:
            text = mutate(dice.choice(STORE), dice)
        elif kind < 0.8:
            text = mutate(script.statement(), dice)
        else:
            text = SENTENCES.text(dice, "line")
        error = failure(session, text)
        for fix in typed(error.fixes) if error is not None else []:
            before = len(session.steps)
            again = failure(session, fix)
            if "…" in fix or (again is not None and again.kind in ("syntax", error.kind)):  # type: ignore[union-attr]
                for problem in bad_fixes([START], text):  # in a session of its own
                    raise AssertionError(problem)
            if len(session.steps) > before:
                session.undo(len(session.steps) - before)
        if session.steps or "reset" in text:
            begin_again(session, START)
        yield
