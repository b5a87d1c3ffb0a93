"""A fix that is text to type can be read, and does not fail as the statement did that it is for."""

from __future__ import annotations

import random
from collections.abc import Iterator

from claims import START
from fixes import failure
from sentences import SENTENCES, STORE, mutate

from agrad.engine.errors import AgradError, typed
from agrad.grammar.session.session import Session

from .answers import begin_again
from .programs import Script

DEPTH = 10_000
MOST = 10  # mistakes in a text


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
        if error := failure(session, text):
            _follow(session, text, error, [text])
        if session.steps:
            begin_again(session, START)
        yield


def _follow(session: Session, text: str, error: AgradError, seen: list[str]) -> None:
    """Type the fixes of an error, and those of their errors, since a random text has several mistakes at once."""
    for fix in typed(error.fixes):
        assert "…" not in fix, f"{text!r}: {error.message}: {fix!r} is a template"
        before = len(session.steps)
        again = failure(session, fix)
        if len(session.steps) > before:
            session.undo(len(session.steps) - before)
        if again is None or again.kind not in ("syntax", error.kind):
            continue
        told = f"{text!r}: {error.message}: typing {fix!r}: {again.message}"
        assert again.kind != "syntax" or error.kind == "syntax", told
        assert fix not in seen and len(seen) < MOST, f"{told}, and so on: {seen}"
        further = typed(again.fixes)
        assert further or again.message != error.message, told
        if further:
            _follow(session, fix, again, [*seen, fix])
