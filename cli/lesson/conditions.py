"""Whether a condition holds of a session, after the last statement; looking changes nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from agrad.cli.lesson.chapters import SEPARATOR
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source
from agrad.grammar.results import Result
from agrad.grammar.session.session import Session


@dataclass(slots=True)
class Heard:
    """What became of the last statement: its results, and its error; or the word that was said, as in `no`.

    `text`: the statement, `typed`: those in effect since the task was set, and it.
    """

    results: list[Result] = field(default_factory=list)
    error: AgradError | None = None
    said: str = ""
    text: str = ""
    typed: tuple[str, ...] = ()


_NUMBER = re.compile(r"-?[\d.]+")


class _Looked(Exception):
    """Takes back what a condition has changed."""


def holds(conditions: str, session: Session, heard: Heard) -> bool:
    """Whether all of some conditions hold, which are separated as examples are."""
    return all(_holds(condition, session, heard) for condition in conditions.split(SEPARATOR))


def _holds(condition: str, session: Session, heard: Heard) -> bool:
    """Whether a condition holds, of the session or of the last statement."""
    word, _, rest = condition.partition(" ")
    if word == "error":
        return heard.error is not None and heard.error.kind == rest
    if word == "typed" or word == "untyped":
        return any(re.search(rest, text) for text in heard.typed) is (word == "typed")
    if condition == "computed":
        return not _NUMBER.fullmatch(heard.text.strip())
    if word == "says":
        return heard.said == rest
    if word == "prints":
        return any(rest in result.text(session.settings) for result in heard.results)
    return _is_true(condition, session)


def _is_true(condition: str, session: Session) -> bool:
    statement = condition if condition.startswith("fails ") else f"assert ({condition})"

    def look() -> None:
        session.run_inside(Source("condition", statement))
        raise _Looked

    try:
        session.all_at_once(look)
    except _Looked:
        return True
    except AgradError:
        return False
    return False
