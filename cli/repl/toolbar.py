"""The line below the prompt: how many nodes the graphs have, what they hold, and how long the last statement took."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from prompt_toolkit.application import Application, get_app
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.search import SearchState
from prompt_toolkit.validation import ValidationError, Validator

from agrad.cli.output import as_read, as_shown
from agrad.cli.settings import find
from agrad.engine.errors import AgradError, SyntaxMistake, typed
from agrad.engine.text import counted, display_width
from agrad.engine.values import format_bytes, format_number
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.prompt.changes import Survey, survey
from agrad.grammar.prompt.live import Live
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.readings import parse
from agrad.lazy import pattern

_MOST = 10_000  # nodes to visit, which takes some milliseconds
_NO_GRAD = pattern(r"( *)(no_grad|with (torch\.)?no_grad\(\)) *:")


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
        leaves = [f"{found.leaves} {'leaf' if found.leaves == 1 else 'leaves'}"] if found.leaves else []
        nodes, state = nodes_of(found), nodes_of(found, saved=False)
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
        text, place = as_read(document.text), document.cursor_position
        live = as_shown(self.live(text[:place], text[place:]))
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


def nodes_of(found: Survey, saved: bool = True) -> list[str]:
    """`5 nodes, 96 bytes saved, held`; `saved`: whether to say how many bytes."""
    if not found.nodes:
        return []
    nodes = f"over {_MOST} nodes" if found.more else counted(found.nodes, "node")
    held = f"{format_bytes(found.bytes)} saved, " if saved and found.bytes and not found.more else ""
    told = [(found.freed, "freed"), (found.stale, "stale")]
    states = [word if count == found.nodes else f"{count} of them {word}" for count, word in told if count]
    return [f"{nodes}, {held}{', '.join(states) or 'held'}"]


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


# What a line has room for: what matters first, cut between words.

GAP = "   "


def cut(text: str, room: int) -> str:
    """The words of a text that there is room for, and `…` if that is not all of it; there is room for one column."""
    if display_width(text) <= room:
        return text
    kept = ""
    for word in re.findall(r"\s*\S+", text):
        longer = f"{kept}{word}"
        if display_width(f"{longer.rstrip(',')} …") > room:
            break
        kept = longer
    return f"{kept.rstrip(',')} …" if kept else "…"


def first_that_fits(texts: Iterable[str], room: int) -> str:
    """The first of some texts, the best one first, that there is room for; else as much as fits of the last."""
    text = ""
    for text in texts:
        if display_width(text) <= room:
            return text
    return cut(text, room)


def live_lines(line: str) -> Iterator[str]:
    """A live line, then with less: first without its last derivatives, then with a shorter signature, and with none."""
    yield line
    parts = line.split(GAP)
    usage = "" if parts[0].startswith("= ") else parts.pop(0)
    for count in range(len(parts) - 1, 0, -1):
        yield GAP.join(filter(None, [usage, *parts[:count]])) + " …"
    value = parts[:1]
    for short in signatures(usage):
        yield GAP.join([short, *value])
    if value:
        yield value[0]


def signatures(usage: str) -> Iterator[str]:
    """`f(x, ‹y›, z)` with ever fewer arguments: those furthest from the one that is typed are left out first."""
    found = re.fullmatch(r"([^(]*)\((.*)\)(.*)", usage)
    if found is None:
        return
    parts = found[2].split(", ")
    typed = next((place for place, part in enumerate(parts) if part.startswith("‹")), 0)
    first, last = 0, len(parts)
    while last - first > 1:
        if last - 1 - typed >= typed - first:
            last -= 1
        else:
            first += 1
        shown = [*["…"] * (first > 0), *parts[first:last], *["…"] * (last < len(parts))]
        yield f"{found[1]}({', '.join(shown)}){found[3]}"


# Enter on a statement that is complete but wrong: the cursor goes to the error, and the line can be corrected.

TOLD = 3  # so many messages of a session say which key takes a fix
_MOST_BELOW = 5  # lines below the first
_MARGIN = 5


class SyntaxValidator(Validator):
    """Refuses what cannot be parsed. `prepare` makes a statement from the typed text."""

    def __init__(self, prepare: Callable[[str], str], session: Session) -> None:
        self.prepare, self.session, self.untold = prepare, session, TOLD

    def validate(self, document: Document) -> None:
        """Raise ValidationError at the place of the error, with its message and fix."""
        try:
            parse(Source("session", self.prepare(document.text), is_python=self.session.reads_python))
        except AgradError as problem:
            if problem.kind != "syntax":  # other errors are reported when the statement runs
                return
            place = problem.labels[-1].origin if problem.labels else None
            fixes = typed(problem.fixes)
            fix = f"   fix: {as_shown(problem.fixes[0])}" if problem.fixes else ""
            if self.untold and fixes[:1] == problem.fixes[:1] != []:
                self.untold -= 1
                fix += "   (Tab)"
            start = place.start if isinstance(place, Span) else len(document.text)
            if isinstance(problem.facts, SyntaxMistake) and problem.facts.name == "unterminated string":
                start = len(document.text)  # where the quote is missing
            mistake = Mistake(start, as_shown(problem.message), fix, get_app().output.get_size().columns)
            mistake.fixes = [*map(as_shown, fixes)]
            raise mistake from None


class Mistake(ValidationError):
    """A syntax error: its message and fix in the line below the text, and in more, `rest`, where that is narrow.

    `fixes`: what can be typed instead of the line.
    """

    fixes: Sequence[str] = ()

    def __init__(self, place: int, message: str, fix: str, columns: int) -> None:
        self.rest = ""
        if display_width(message + fix) <= columns:
            message += fix
        else:
            message, *below = textwrap.wrap(message, columns)
            below = textwrap.wrap(" ".join(below), columns, initial_indent=" ", subsequent_indent=" ")
            if below and display_width(f"{below[-1]}{fix}") <= columns:
                below[-1] += fix
            elif fix:
                below += textwrap.wrap(fix, columns, subsequent_indent=" " * _MARGIN, break_on_hyphens=False)
            if len(below) > _MOST_BELOW:
                below[_MOST_BELOW - 1 :] = [cut(f"{below[_MOST_BELOW - 1]} {below[_MOST_BELOW].strip()}", columns)]
            self.rest = "\n".join(below)
        super().__init__(place, message)
