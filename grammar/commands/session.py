"""The commands about the session itself."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from agrad.engine.core.context import current
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Label
from agrad.engine.text import fit
from agrad.engine.values import format_bytes, format_number
from agrad.grammar.commands.registry import COMMANDS, Call, Command, command
from agrad.grammar.diagnostics import suggest
from agrad.grammar.help.help import help_on, overview
from agrad.grammar.results import Quit, Shown, Table
from agrad.grammar.runtime.budget import bytes_of
from agrad.grammar.syntax.keywords import SHAPES

if TYPE_CHECKING:
    from agrad.grammar.session.session import Session

COMMANDS["time"] = Command(
    "time",
    "time: STATEMENT",
    "How long a statement, or an indented block, takes: to build the graph, to compute, to walk it backward.",
    "time: y = sum(arange(1000)**2)",
)


@command("vars", "vars", "Lists the names there are, with shape and what they are.", "var a = 3; k = 2; vars")
def _vars(session: Session, call: Call) -> None:
    from agrad.grammar.commands.info import list_names  # here, since it asks the commands why there is no gradient

    session.emit(Table(list_names(session)))


@command(
    "limit",
    'limit [memory="4 GB"] [time=10] [nodes=1e6]',
    "What a statement may take: bytes for one result, seconds, nodes that it keeps. When the time is up, the operation "
    "under way still comes to its end. None lifts a limit; alone it shows them.",
    'limit memory="100 MB" time=10; limit',
)
def _limit(session: Session, call: Call) -> None:
    known = call.names.get("limit", session.names.get("limit"))
    if not call.options:  # a user's own name is no command
        session.emit(Table(_limits(session)) if known is None else Shown(known))
    for name, value in call.options.items():
        written = call.option(name)
        labels = [Label(written.span)] if written is not None else []
        if name not in _LIMITS:
            message = f"there is no limit {name}, but of {', '.join(_LIMITS)}"
            likely = [_LIMITS[known] for known in suggest(name, _LIMITS)]
            raise AgradError("name", message, labels=labels, fixes=likely or ["limit   shows what they are"])
        amount = _amount(name, value, labels)
        watch = session.watch
        change = watch.allow if name == "memory" else partial(setattr, watch, name)
        log = current().undo_log
        if log is not None:
            log.remember((id(watch), name), partial(change, getattr(watch, name)))
        change(amount)


_LIMITS = {
    "memory": 'limit memory="4 GB"',
    "time": "limit time=10",
    "nodes": "limit nodes=1e6",
}


def _amount(name: str, value: Any, labels: list[Label]) -> float:
    """A limit as given: a number, for memory also a text such as "4 GB"; None for no limit."""
    amount = value.item() if isinstance(value, Tensor) and value.size == 1 else value
    if amount is None:
        return math.inf
    if name == "memory" and isinstance(amount, str):
        amount = bytes_of(amount)
    if isinstance(amount, float) and amount > 0:
        return amount
    message = f"a limit of {name} is a number above 0"
    if name == "memory":
        message = 'a limit of memory is a size: a number of bytes, or a text such as "4 GB" or "500 MB"'
    raise AgradError("type", message, labels=labels, fixes=[_LIMITS[name]])


def _limits(session: Session) -> str:
    watch = session.watch
    rows = [
        ("memory", watch.memory, f"{format_bytes(watch.memory)} for one result"),
        ("time", watch.time, f"{format_number(watch.time)} s for a statement"),
        ("nodes", watch.nodes, f"{format_number(watch.nodes)} that a statement keeps"),
    ]
    return "\n".join(f"{name:<6}  {'none' if amount == math.inf else text}" for name, amount, text in rows)


@command(
    "undo",
    "undo [3]",
    "Takes back the last statement that changed something, or so many: names, values, gradients, freed graphs, random "
    "numbers, limits. A session keeps the last 100, fewer where what they replaced would take more than a quarter of "
    "the memory; a script keeps them if it says undo.",
    "var x = 2; x = 3; undo; assert x == 2",
)
def _undo(session: Session, call: Call) -> None:
    fixes = ["undo   on a line of its own"]
    raise AgradError("syntax", "undo stands by itself, outside of any block", labels=[Label(call.span)], fixes=fixes)


@command(
    "load",
    SHAPES["load"],
    "Runs another script among the names that there are: all of it, or nothing if it fails. Its path starts in the "
    "folder of the script that says so.",
    'fails file: load "nowhere.ag"',
)
def _load(session: Session, call: Call) -> None:
    from agrad.grammar.session.load import load  # here, since few sessions load a script

    load(session, call)


@command("help", "help [word]", "Explains a command or a function; alone, lists what there is.", "help backward")
def _help(session: Session, call: Call) -> None:
    word = call.options.get("word")
    text = overview(COMMANDS) if word is None else help_on(str(word), COMMANDS)
    session.emit(Table(fit(text, session.settings.width)))


@command("quit", "quit", "Ends the session.", "quit")
def _quit(session: Session, call: Call) -> None:
    raise Quit
