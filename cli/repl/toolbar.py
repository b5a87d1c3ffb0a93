"""The line below the prompt: how many nodes the graphs have, what they hold, and how long the last statement took."""

from __future__ import annotations

import re
from typing import Any

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.search import SearchState
from prompt_toolkit.validation import ValidationError

from agrad.cli.repl.narrow import GAP, cut, first_that_fits, live_lines
from agrad.cli.repl.validator import Mistake
from agrad.cli.settings.settings import find
from agrad.engine.values import format_bytes, format_number
from agrad.grammar.prompt.graphs import Graphs, survey
from agrad.grammar.prompt.live import Live
from agrad.grammar.session.session import Session

_MOST = 10_000  # nodes to visit, which takes some milliseconds
_NO_GRAD = re.compile(r"( *)(no_grad|with (torch\.)?no_grad\(\)) *:")


class Toolbar:
    """Counts the graphs of a session after each statement, not after each key."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.told = ""
        self.shorter: list[str] = []  # the same with less, for a narrow terminal
        self.live = Live(session)
        self.live.on = bool(find("live")[0])

    def look(self, seconds: float | None = None) -> None:
        """Count the graphs now; `seconds`: how long the last statement took."""
        found = survey(self.session, _MOST)
        undo = [f"undo {format_bytes(self.session.steps.bytes)}"] if self.session.steps.told else []
        time = [] if seconds is None else [duration(seconds)]
        leaves, nodes, state = leaves_of(found), nodes_of(found), nodes_of(found, saved=False)
        self.told = GAP.join([*leaves, *nodes, *undo, *time])
        less = ([*leaves, *state, *undo, *time], [*leaves, *state, *time], [*state, *time] if state else leaves, state)
        self.shorter = [GAP.join(parts) for parts in less if parts]

    def __call__(self) -> str:
        """The text of the toolbar; empty until there is something to show."""
        app = get_app()
        columns = app.output.get_size().columns
        if rest := behind(app.current_buffer.validation_error):
            return rest
        if missed := not_found(app):
            return cut(f" not found: {missed}", columns - 1)
        document = app.current_buffer.document
        modes = ["no_grad"] if inside_no_grad(document.text_before_cursor) else []
        if app.editing_mode == EditingMode.VI:
            modes.append(f"vi: {app.vi_state.input_mode.value.removeprefix('vi-')}")
        room = columns - 2 - sum(len(mode) + len(GAP) for mode in modes)
        live = self.live(document.text_before_cursor, document.text_after_cursor)
        line = first_that_fits(live_lines(live) if live else [self.told, *self.shorter], room)
        parts = [*filter(None, [line]), *modes]
        return f" {GAP.join(parts)}" if parts else cut(" no graph yet: var x = 2 makes a leaf", columns - 1)


def not_found(app: Application[Any]) -> str:
    """What is searched for in the history, if no line has it."""
    target = app.layout.search_target_buffer_control
    if target is None:
        return ""
    state = SearchState(app.current_buffer.text, target.search_state.direction, ignore_case=True)
    found = target.buffer.document_for_search(state).text.lower()
    return state.text if state.text.lower() not in found else ""


def leaves_of(found: Graphs) -> list[str]:
    """`2 leaves`."""
    return [f"{found.leaves} {'leaf' if found.leaves == 1 else 'leaves'}"] if found.leaves else []


def nodes_of(found: Graphs, saved: bool = True) -> list[str]:
    """`5 nodes, 96 bytes saved, held`; `saved`: whether to say how many bytes."""
    if not found.nodes:
        return []
    count = f"over {_MOST} nodes" if found.more else f"{found.nodes} node{'' if found.nodes == 1 else 's'}"
    held = f"{format_bytes(found.bytes)} saved, " if saved and found.bytes and not found.more else ""
    return [f"{count}, {held}{_state(found)}"]


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


def behind(mistake: ValidationError | None) -> str:
    """What the line above, which tells a mistake, has no room for: the rest of the message, and the fix."""
    return mistake.rest if isinstance(mistake, Mistake) else ""


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
