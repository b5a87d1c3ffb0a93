"""Fixes are typed: what an error says to type is typed, in the session as it was when the error came."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from claims import alarm

from agrad.engine.errors import AgradError, typed
from agrad.grammar.results import Quit, unheard
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session


def new_session(start: str = "") -> Session:
    """A session as at the prompt, after some statements."""
    session = Session()
    session.steps.depth = DEPTH
    session.run(start)
    return session


def failure(session: Session, text: str, emit: Callable[[Any], None] = unheard) -> AgradError | None:
    """The error of a text, if it has one; what it shows goes to `emit`."""
    try:
        with alarm():
            session.run(text, emit)
    except AgradError as error:
        return error
    except (Quit, KeyboardInterrupt, PermissionError):  # the last is of `alarm`, for files
        pass
    return None


def bad_fixes(before: list[str], text: str) -> Iterator[str]:
    """The fixes of a statement's error that do not help: that cannot be read, or fail in the same way.

    `before`: what was typed until then. Each fix is tried in a session of its own.
    """
    error = _error_after(before, text)
    for fix in typed(error.fixes) if error is not None else []:
        again = _error_after(before, text, fix)
        if "…" in fix or (again is not None and again.kind in ("syntax", error.kind)):
            yield f"{text!r}: {error.message}: typing {fix!r}: {again.message if again else 'is a template'}"


def _error_after(before: list[str], *texts: str) -> AgradError | None:
    """The error of the last of some texts; None if one of those before it fails with none."""
    session = new_session()
    for each in before:
        failure(session, each)
    found = None
    for text in texts:
        found = failure(session, text)
    return found
