"""The commands about the session itself, and about its log: showing it, saving it, starting over."""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Label
from agrad.engine.text import fit
from agrad.engine.values import format_bytes, format_number
from agrad.grammar import commands
from agrad.grammar import help as helps
from agrad.grammar import session as sessions
from agrad.grammar.commands.operands import FILE
from agrad.grammar.commands.registry import COMMANDS, Call, Session, command
from agrad.grammar.diagnostics import suggest
from agrad.grammar.results import Printed, Quit, Table
from agrad.grammar.runtime.budget import bytes_of
from agrad.grammar.session.inputs import load
from agrad.grammar.session.log import again, lines_of, redo
from agrad.lazy import pattern


@command(changes="session")
def _time(session: Session, call: Call) -> None:  # a statement with a block, which the machine runs
    """time: STATEMENT

    Measures how long a statement, or an indented block, takes: to compute, to build its graph, to run backward.

    as typed: time: y = f(x)
    example: time: y = sum(arange(1000)**2)
    """


@command(logged=False)
def _vars(session: Session, call: Call) -> None:
    """vars

    Lists all names, with their shapes and kinds.

    example: var a = 3; k = 2; vars
    """
    session.emit(Table(commands.info.list_names(session), True))


_LIMITS = {"memory": 'limit memory="4 GB"', "time": "limit time=10", "nodes": "limit nodes=1e6"}


def _check_limits(call: Call) -> None:
    """Refuse an unknown limit."""
    for name in call.options:
        if name not in _LIMITS:
            message = f"there is no limit {name}; the limits are {', '.join(_LIMITS)}"
            likely = [_LIMITS[known] for known in suggest(name, _LIMITS)]
            raise AgradError("name", message, labels=call.labels(name), fixes=likely or ["limit   shows the limits"])


@command(changes="session", check=_check_limits)
def _limit(session: Session, call: Call) -> None:
    """limit [memory="4 GB"] [time=10] [nodes=1e6]

    Limits what a statement may use: bytes for one result, seconds, nodes that it keeps. When the time is up, the
    current operation still finishes. None removes a limit; `limit` alone shows them.

    memory="4 GB": the most bytes in one result
    time=10: the most seconds for a statement
    nodes=1e6: the most nodes that a statement keeps
    as typed: limit, or limit memory="4 GB" time=10 nodes=1e6
    example: limit memory="100 MB" time=10; limit
    """
    if not call.options:
        session.emit(Table(_limits(session)))
    for name, value in call.options.items():
        session.limit(name, _amount(name, value, call.labels(name)))


def _amount(name: str, value: Any, labels: list[Label]) -> float:
    """A limit as given: a number, for memory also a text such as "4 GB"; None for no limit."""
    amount = value.item() if isinstance(value, Tensor) and value.size == 1 else value
    if amount is None:
        return math.inf
    if name == "memory" and isinstance(amount, str):
        amount = bytes_of(amount)
    if isinstance(amount, float) and amount > 0:
        return amount
    message = f"a limit of {name} must be a number above 0"
    if name == "memory":
        message = 'a limit of memory must be a size: a number of bytes, or a text such as "4 GB" or "500 MB"'
    raise AgradError("type", message, labels=labels, fixes=[_LIMITS[name]])


def _limits(session: Session) -> str:
    watch = session.watch
    rows = [
        ("memory", watch.memory, f"{format_bytes(watch.memory)} for one result"),
        ("time", watch.time, f"{format_number(watch.time)} s for a statement"),
        ("nodes", watch.nodes, f"{format_number(watch.nodes)} that a statement keeps"),
    ]
    return "\n".join(f"{name:<6}  {'none' if amount == math.inf else text}" for name, amount, text in rows)


@command(changes="session", logged=False, needs="undo", alone=True)
def _undo(session: Session, call: Call) -> None:
    """undo [3]

    Takes back the last statement that changed something, or several: names, values, gradients, freed graphs, random
    numbers, limits. A session can take back the last 100, fewer if the old values need more than 256 MB or a quarter of
    the memory; vars says how much they need. A script can only if it contains undo.

    as typed: undo, or undo 3
    example: var x = 2; x = 3; undo; assert x == 2
    """
    session.undo(int(call.values[0]) if call.values else 1, session.emit)


@command(changes="session", operands=FILE, loads=True)
def _load(session: Session, call: Call) -> None:
    """load "model.ag"

    Runs another script with the current names; if it fails, nothing changes. The path is relative to the folder of the
    script that contains the load. A script that `save` wrote does not write files again.

    example: fails file: load "nowhere.ag"
    """
    load(session, call)


@command(logged=False)
def _help(session: Session, call: Call) -> None:
    """help [word]

    Explains a command or a function; alone, says what to type first. `help everything` lists all there is.

    as typed: help, or help sin
    example: help backward
    """
    word = call.options.get("word")
    page, settings = helps.help, session.settings
    if word == "everything":
        text = page.overview(COMMANDS, settings.columns)
    else:
        text = page.start() if word is None else page.help_on(str(word), COMMANDS)
    session.emit(Table(page.fitted(text, settings.width)))


@command(ends=True)
def _quit(session: Session, call: Call) -> None:
    """quit

    Ends the session.

    example: quit
    """
    raise Quit


# The log

_MANY = 8  # names in a line


@command(changes="session", clears=True)
def _reset(session: Session, call: Call) -> None:
    """reset

    Starts over: forgets all names with their graphs and gradients, the last answer, the seed of random numbers and the
    limits. `undo` brings them back.

    example: x = 2; reset; x = 3
    """
    forgotten = called(list(session.names))
    session.forget()
    session.emit(Printed(f"forgot {forgotten}" if forgotten else "there are no names to forget"))


@command(changes="session")
def _calculator(session: Session, call: Call) -> None:
    """calculator

    Goes back to the calculator's language in a session, or a script, that reads Python since an import. Whole numbers
    become numbers then, lists of numbers vectors.

    example: import math; [1, 2]*2
      calculator
      [1, 2]*2
    """
    if not call.span.source.is_file:
        session.read_python(False)


def called(names: list[str]) -> str:
    """`a, b, c`; of many, the first, and how many more there are. Empty for none."""
    shown = names if len(names) <= _MANY else [*names[: _MANY - 1], f"… and {len(names) - _MANY + 1} more"]
    return ", ".join(shown).replace(", …", " …")


@command(logged=False, needs="log")
def _history(session: Session, call: Call) -> None:
    """history [9]

    Lists the statements in effect, or those of the last lines, with the numbers of their lines. Those that failed, were
    undone or changed nothing are left out.

    as typed: history, or history 9
    example: x = 2; y = x**2; history
    """
    found = list(lines_of(_entries(session, call)))[-int(call.values[0]) if call.values else None :]
    width = max((len(number) for number, _ in found), default=0)
    lines = [f"{number:>{width}}  {text}".replace("\n", "\n" + " " * (width + 2)) for number, text in found]
    text = fit("\n".join(lines), session.settings.width)
    session.emit(Table(text) if lines else Printed("no statement is in effect yet"))


_STEP = pattern(r"\s*(undo|redo)\b")


@command(changes="session", logged=False, needs="log", alone=True)
def _again(session: Session, call: Call) -> None:
    """again [5]

    Runs a line of the session again, by its number: the one in the prompt, in messages and in `history`. `again` alone
    runs the last one that is no undo or redo, `again 2..4` several. What runs belongs to the line that asks.

    as typed: again, again 5 or again 2..4
    example: x = 2; history
    """
    _entries(session, call)
    typed, line = session.record.typed.items(), call.span.source.position(call.span.start)[0]
    last = max((number for number, text in typed if number < line and not _STEP.match(text)), default=0)
    numbers = [int(value) for value in call.values] or [last]
    if not numbers[0]:
        raise call.wrong("name", "again: nothing was typed before this")
    again(session, numbers[0], numbers[-1], call.span)


@command(changes="session", logged=False, needs="log", alone=True)
def _redo(session: Session, call: Call) -> None:
    """redo [3]

    Brings back what `undo` took back last, or several: the statements run again, without showing their results or
    writing files. Once something else has changed, there is nothing to bring back.

    as typed: redo, or redo 3
    example: var x = 2; x = 3; undo; redo; assert x == 3
    """
    _entries(session, call)
    redo(session, int(call.values[0]) if call.values else 1, call.span)


@command(operands=FILE, logged=False, needs="log", writes=True)
def _save(session: Session, call: Call) -> None:
    """save "session.ag"

    Writes the statements in effect as a script that gives the same names, values, gradients and random numbers. Into a
    file that ends in .md or .html: the transcript, all that was typed and what was shown for it, with plots and graphs
    as pictures where the extra `plot` is installed. A file that save did not write, or that has changed since, is not
    overwritten.

    example: fails file: save "nowhere/session.ag"
    """
    _entries(session, call)
    sessions.saving.save(session, call)


@command(operands=FILE, logged=False, needs="log", writes=True)
def _report(session: Session, call: Call) -> None:
    """report "report.html"

    Writes what a session has found, for others to read: what was measured, the formulas, the budget of each result, the
    latest fit with its picture, the correlations of the results, the versions of the programs, and the script that
    gives all this again. The ending of the file says what it is: .html, .md, .tex or, if LaTeX or a browser is
    installed, .pdf.

    example: x = 2.0 ± 0.1; report "report.html"
    """
    _entries(session, call)
    sessions.report.save(session, call)


def _entries(session: Session, call: Call) -> Any:
    """The log of a session. Raises AgradError of kind `name` where none is kept."""
    if not session.record.on:
        word = call.node.word
        raise call.wrong("name", f"{word}: a script keeps a log of its statements only if it contains {word} itself")
    return session.record.entries
