"""The line below the prompt: how many nodes the graphs have, what they hold, and how long the last statement took."""

from __future__ import annotations

import re
from typing import Any

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.validation import ValidationError

from agrad.cli.settings.settings import find
from agrad.engine.text import truncate
from agrad.engine.values import format_bytes, format_number
from agrad.grammar.prompt.live import Live
from agrad.grammar.session.session import Session
from agrad.grammar.session.survey import Graphs, survey

_MOST = 10_000  # nodes to visit, which takes some milliseconds
_NO_GRAD = re.compile(r"( *)(no_grad|with (torch\.)?no_grad\(\)) *:")
_GAP = "   "


class Toolbar:
    """Counts the graphs of a session after each statement, not after each key."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.told = ""
        self.live = Live(session)
        self.live.on = bool(find("live")[0])

    def look(self, seconds: float | None = None) -> None:
        """Count the graphs now; `seconds`: how long the last statement took."""
        parts = graphs(survey(self.session, _MOST))
        if self.session.steps.told:
            parts.append(f"undo {format_bytes(self.session.steps.bytes)}")
        if seconds is not None:
            parts.append(duration(seconds))
        self.told = _GAP.join(parts)

    def __call__(self) -> str:
        """The text of the toolbar; empty until there is something to show."""
        app = get_app()
        if rest := behind(app.current_buffer.validation_error, app.output.get_size().columns):
            return rest
        if missed := not_found(app):
            return f" not found: {missed}"
        document = app.current_buffer.document
        live = self.live(document.text_before_cursor, document.text_after_cursor)
        live = truncate(live, app.output.get_size().columns - 2)
        parts = [live] if live else [self.told] if self.told else []
        if inside_no_grad(document.text_before_cursor):
            parts.append("no_grad")
        if app.editing_mode == EditingMode.VI:
            parts.append(f"vi: {app.vi_state.input_mode.value.removeprefix('vi-')}")
        return f" {_GAP.join(parts)}" if parts else " no graph yet: var x = 2 makes a leaf"


def not_found(app: Application[Any]) -> str:
    """What is searched for in the history, if no line has it."""
    target = app.layout.search_target_buffer_control
    if target is None:
        return ""
    wanted = app.current_buffer.text
    return wanted if wanted.lower() not in target.buffer.text.lower() else ""


def graphs(found: Graphs) -> list[str]:
    """`2 leaves`, and `5 nodes, 96 bytes saved, held`."""
    parts = [f"{found.leaves} {'leaf' if found.leaves == 1 else 'leaves'}"] if found.leaves else []
    if found.nodes:
        count = f"over {_MOST} nodes" if found.more else f"{found.nodes} node{'' if found.nodes == 1 else 's'}"
        saved = f"{format_bytes(found.bytes)} saved, " if found.bytes and not found.more else ""
        parts.append(f"{count}, {saved}{_state(found)}")
    return parts


def _state(found: Graphs) -> str:
    """Whether a backward can use the nodes: held, or how many are freed or stale."""
    told = [(found.freed, "freed"), (found.stale, "stale")]
    parts = [word if count == found.nodes else f"{count} of them {word}" for count, word in told if count]
    return ", ".join(parts) or "held"


def duration(seconds: float) -> str:
    """A time in words: 0.4 ms, 12 ms, 3.1 s."""
    if seconds < 1:
        return f"{format_number(seconds * 1000, 2 if seconds < 0.01 else 3)} ms"
    return f"{format_number(seconds, 3)} s"


def behind(mistake: ValidationError | None, columns: int) -> str:
    """The fix of a syntax error, if it does not fit on the line above, which shows message and fix."""
    if mistake is None or len(mistake.message) <= columns:
        return ""
    message, told, fix = mistake.message.partition("   fix: ")
    return f"   fix: {fix}" if told else f"… {message[columns:]}"


def inside_no_grad(text: str) -> bool:
    """Whether the end of a text is inside a block that records nothing."""
    *above, line = text.split("\n")
    margin = len(line) - len(line.lstrip(" ")) if line.strip() else len(line)
    for earlier in reversed(above):
        indent = len(earlier) - len(earlier.lstrip(" "))
        if earlier.strip() and indent < margin:
            margin = indent
            if _NO_GRAD.match(earlier):
                return True
    return False
