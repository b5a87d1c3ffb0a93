"""The commands about the log of a session: showing it, saving it, starting over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agrad.engine.errors import AgradError, Label
from agrad.grammar.commands.operands import FILE
from agrad.grammar.commands.registry import Call, command
from agrad.grammar.results import Printed, Shown, Table

if TYPE_CHECKING:
    from agrad.grammar.commands.host import Session

_MANY = 8  # names in a line


@command(
    "reset",
    "reset",
    "Starts over: forgets all names with their graphs and gradients, the last answer, the seed of random numbers and "
    "the limits. `undo` brings them back.",
    "x = 2; reset; x = 3",
    changes="session",
    clears=True,
)
def _reset(session: Session, call: Call) -> None:
    forgotten = called(list(session.names))
    session.forget()
    session.emit(Printed(f"forgot {forgotten}" if forgotten else "there are no names to forget"))


def called(names: list[str]) -> str:
    """`a, b, c`; of many, the first, and how many more there are. Empty for none."""
    shown = names if len(names) <= _MANY else [*names[: _MANY - 1], f"… and {len(names) - _MANY + 1} more"]
    return ", ".join(shown).replace(", …", " …")


@command(
    "history",
    "history [9]",
    "Lists the statements in effect, or the last of them. Those that failed, were undone or changed nothing are left "
    "out.",
    "x = 2; y = x**2; history",
    changes="nothing",
    forms="history, or history 9",
    logged=False,
    needs="log",
)
def _history(session: Session, call: Call) -> None:
    if "history" in session.names and not call.values:  # a list of losses, say
        session.emit(Shown(session.names["history"]))
        return
    entries = _entries(session, call)
    first = max(len(entries) - int(call.values[0]), 0) if call.values else 0
    width = len(str(len(entries)))
    lines = []
    for number, entry in enumerate(entries[first:], first + 1):
        span = entry.span
        typed = span.source.text[span.start : span.end]
        lines.append(f"{number:>{width}}  {typed}".replace("\n", "\n" + " " * (width + 2)))
    session.emit(Table("\n".join(lines)) if lines else Printed("no statement is in effect yet"))


@command(
    "save",
    'save "session.ag"',
    "Writes the statements in effect as a script that gives the same names, values, gradients and random numbers. A "
    "file that save did not write, or that has changed since, is not overwritten.",
    'fails file: save "nowhere/session.ag"',
    changes="nothing",
    operands=FILE,
    logged=False,
    needs="log",
    writes=True,
)
def _save(session: Session, call: Call) -> None:
    from agrad.grammar.session.save import save  # here, since few sessions are saved

    _entries(session, call)
    save(session, call)


def _entries(session: Session, call: Call) -> list[Any]:
    """The log of a session. Raises AgradError of kind `name` where none is kept."""
    if not session.record.on:
        word = call.node.word
        message = f"{word}: a script keeps a log of its statements only if it contains {word} itself"
        raise AgradError("name", message, labels=[Label(call.span)])
    entries: list[Any] = session.record.entries
    return entries
