"""The commands about the log of a session: showing it, saving it, starting over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agrad.engine.errors import AgradError, Label
from agrad.engine.lazy import pattern
from agrad.engine.text import fit
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
    "Lists the statements in effect, or those of the last lines, with the numbers of their lines. Those that failed, "
    "were undone or changed nothing are left out.",
    "x = 2; y = x**2; history",
    changes="nothing",
    forms="history, or history 9",
    logged=False,
    needs="log",
)
def _history(session: Session, call: Call) -> None:
    if _is_name(session, call):  # a list of losses, say
        return
    from agrad.grammar.session.log import lines_of  # here: the log imports the table of commands

    found = list(lines_of(_entries(session, call)))
    found = found[-int(call.values[0]) :] if call.values else found
    width = max((len(number) for number, _ in found), default=0)
    lines = [f"{number:>{width}}  {text}".replace("\n", "\n" + " " * (width + 2)) for number, text in found]
    text = fit("\n".join(lines), session.settings.width)
    session.emit(Table(text) if lines else Printed("no statement is in effect yet"))


_STEP = pattern(r"\s*(undo|redo)\b")


@command(
    "again",
    "again [5]",
    "Runs a line of the session again, by its number: the one in the prompt, in messages and in `history`. `again` "
    "alone runs the last one that is no undo or redo, `again 2..4` several. What runs belongs to the line that asks.",
    "x = 2; history",
    changes="session",
    forms="again, again 5 or again 2..4",
    logged=False,
    needs="log",
    alone=True,
)
def _again(session: Session, call: Call) -> None:
    if _is_name(session, call):
        return
    from agrad.grammar.session.log import again  # here: the log imports the table of commands

    _entries(session, call)
    typed = session.record.typed.items()
    last = max((number for number, text in typed if number < _line(call) and not _STEP.match(text)), default=0)
    numbers = [int(value) for value in call.values] or [last]
    if not numbers[0]:
        raise AgradError("name", "again: nothing was typed before this", labels=[Label(call.span)])
    again(session, numbers[0], numbers[-1], call.span)


def _line(call: Call) -> int:
    """The number of the line that a command is on."""
    return call.span.source.position(call.span.start)[0]


def _is_name(session: Session, call: Call) -> bool:
    """Show the value of a name that is spelled as a command that nothing follows, if there is one."""
    word = call.node.word
    if word in session.names and not call.values:
        session.emit(Shown(session.names[word]))
        return True
    return False


@command(
    "redo",
    "redo [3]",
    "Brings back what `undo` took back last, or several: the statements run again, without showing their results or "
    "writing files. Once something else has changed, there is nothing to bring back.",
    "var x = 2; x = 3; undo; redo; assert x == 3",
    changes="session",
    forms="redo, or redo 3",
    logged=False,
    needs="log",
    alone=True,
)
def _redo(session: Session, call: Call) -> None:
    if _is_name(session, call):
        return
    from agrad.grammar.session.log import redo  # here: the log imports the table of commands

    _entries(session, call)
    redo(session, int(call.values[0]) if call.values else 1, call.span)


@command(
    "save",
    'save "session.ag"',
    "Writes the statements in effect as a script that gives the same names, values, gradients and random numbers. "
    "Into a file that ends in .md or .html: the transcript, all that was typed and what was shown for it, with plots "
    "and graphs as pictures where the extra `plot` is installed. A file that save did not write, or that has changed "
    "since, is not overwritten.",
    'fails file: save "nowhere/session.ag"',
    changes="nothing",
    operands=FILE,
    logged=False,
    needs="log",
    writes=True,
)
def _save(session: Session, call: Call) -> None:
    from agrad.grammar.session.saving import save  # here, since few sessions are saved

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
