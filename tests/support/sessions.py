"""Sessions of the language: one begun by texts, what it prints at a text, and the error that a text ends with."""

from __future__ import annotations

from typing import Any

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session


def session_of(*texts: str) -> Session:
    """A session that has run some texts."""
    session = Session()
    for text in texts:
        session.run(text)
    return session


def said(text: str, session: Session | None = None, **more: Any) -> list[str]:
    """What a text hands out, notes too, in a session of its own if none is given."""
    session, lines = session or Session(), []
    session.run(text, lambda result: lines.append(result.text(session.settings)), **more)
    return lines


def error(text: str, session: Session | None = None, **more: Any) -> AgradError:
    """The error that a text is refused with."""
    with pytest.raises(AgradError) as caught:
        (session or Session()).run(text, **more)
    return caught.value
