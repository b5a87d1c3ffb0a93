"""The table of commands: what a command declares, and what it is called with.

A command is one function with the decorator `command`, and its line in agrad.lark. What `help` says of it is in the
docstring of the function. Everything else reads this table: help, completion, syntax errors, lint, the session log,
`save`, undo.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, Protocol

from agrad.engine.core.context import Context
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Kind, Label, NoGraph, Note
from agrad.engine.struct import Struct
from agrad.engine.text import docstring
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.results import Noted, Result, Settings, Shown
from agrad.grammar.run.machine import Machine
from agrad.grammar.runtime.budget import Watch
from agrad.grammar.runtime.operations import describe_value
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.keywords import ALONE, NAMES_TOO, SHAPES
from agrad.lazy import Rows, rare

# What a command may change: gradients and the graph behind them; names, values and settings; or nothing.
Changes = Literal["nothing", "graph", "session"]
# What the session has to keep before a command can run: the log of statements, or what undo takes back.
Needs = Literal["log", "undo"]
Choices = Mapping[str, str]  # words, each with its meaning
Emit = Callable[[Result], None]  # shows a result, or keeps it


class Session(Protocol):
    """What a command needs of a session, which imports the commands, so that they do not import it."""

    names: dict[str, Any]
    last: tuple[Any, ...]  # the last answer; empty where there is none
    progress: Callable[..., Iterator[Any]] | None
    settings: Settings
    watch: Watch
    emit: Emit
    context: Context
    machine: Machine
    loading: list[str]
    fit: Any  # the latest, for `plot fit`
    constants: dict[str, Any]  # of `use`, once they are wanted
    restoring: bool  # whether statements of an earlier session run again
    steps: Any  # what `undo` can take back
    record: Any  # the log of the statements in effect
    told: Any  # where something infinite or nan was told of lately, with the fixes

    def all_at_once(self, action: Callable[[], Any], span: Span | None, emit: Emit) -> Any:
        """Run an action as one statement: all of it or nothing."""

    def evaluate(self, text: str) -> Any:
        """The value of one expression. Raises AgradError."""

    def include(self, source: Source) -> None:
        """Run the statements of another script as a part of the one that is running."""

    def limit(self, name: str, amount: float) -> None:
        """Set one of the limits of statements."""

    def read_python(self, is_on: bool) -> None:
        """Read what is typed as Python, or in the calculator's language."""

    def forget(self) -> None:
        """Go back to the state of a new session, as a part of the statement that is running."""

    def run_again(self, statement: ast.Statement, seed: int | None) -> None:
        """Run a statement of a session that has ended, without output."""

    def run_inside(self, source: Source) -> None:
        """Run the statements of a text as a part of the text that is running, each as a statement of its own."""

    def take_back(self, left: int) -> None:
        """Take back the last statements that changed something, until so many are left."""

    def undo(self, count: int, emit: Emit = ...) -> None:
        """Take back the last statements that changed something."""


class Call(Struct):
    """A command as typed, with the values of its operands and options."""

    node: ast.Command
    values: list[Any]
    options: dict[str, Any]
    names: dict[str, Any]
    span: Span

    def operand(self, position: int) -> ast.Expr:
        """An operand as written."""
        return self.node.operands[position]

    def option(self, name: str) -> ast.Expr | None:
        """The value of an option as written; None if it has none, or is not given."""
        return dict(self.node.options).get(name)

    def wrong(self, kind: Kind, message: str, *fixes: str) -> AgradError:
        """An error that concerns the whole command."""
        return wrong(kind, message, self.span, *fixes)

    def note(self, message: str) -> Noted:
        """A remark on what the command shows."""
        return Noted(Note(message, labels=[Label(self.span)]))

    def labels(self, name: str) -> list[Label]:
        """The place of the value of an option, for an error."""
        written = self.option(name)
        return [Label(written.span)] if written is not None else []

    def choice(self, name: str, usual: str) -> str:
        """The word after an option that has choices. Raises AgradError of kind `name` for one that is none of them."""
        found, choices = str(self.options.get(name, usual)), COMMANDS[self.node.word].options[name].choices
        if found in choices:
            return found
        what, whole, written = "form" if name == "as" else name, self.node.span, self.option(name)
        place = whole if written is None else written.span
        begin, end = (at - whole.start for at in (place.start, place.end))
        fixes = [f"{whole.text[:begin]}{one}{whole.text[end:]}" for one in choices]
        raise self.wrong("name", f"{self.node.word} has no {what} {found}", *fixes)


class Operands(Struct):
    """What follows the word of a command, or an option: what completion offers there."""

    wanted: Callable[[Any], bool] | None = None  # whether the value of a name is likely there; None: no names
    others: bool = False  # whether any other name may be meant too, though less likely
    expression: bool = False  # whether any expression is possible there
    file: bool = False  # whether it is a string that names a file
    given: str = ""  # how a name is given a value there, such as `=…`


NOTHING = Operands()


class Option(Struct):
    """A word after the operands of a command: its meaning in one line, and what follows it; or one of some words."""

    meaning: str
    value: Operands | None = None
    choices: Choices = MappingProxyType({})

    @property
    def writes(self) -> bool:
        """Whether its value is a file, which the command writes."""
        return self.value is not None and self.value.file


Handler = Callable[[Session, Call], None]
Check = Callable[[Call], object]


class Command(Struct):
    """One command; `command` says what its fields are."""

    word: str
    usage: str
    help: str
    example: str
    handler: Handler
    options: Mapping[str, Option]
    keywords: Mapping[str, str]  # by an example of each, as `lr=0.1`
    changes: Changes = "nothing"
    operands: Operands = NOTHING
    choices: Choices = MappingProxyType({})
    after: Mapping[str, Choices] = MappingProxyType({})
    check: Check | None = None
    logged: bool = True
    needs: Needs | None = None
    alone: bool = False
    writes: bool = False
    loads: bool = False
    clears: bool = False
    ends: bool = False

    @property
    def sets_leaves(self) -> bool:
        """Whether `name=value` after it gives new data to a leaf, so that each name has to be known."""
        return any(option.value is not None and option.value.given for option in self.options.values())

    def places(self) -> Iterator[tuple[str, Operands | None]]:
        """The word of the command and those of its options, each with what follows it."""
        yield self.word, self.operands
        yield from ((word, option.value) for word, option in self.options.items())

    def perform(self, session: Session, *parts: Any) -> None:
        """Run the command, as a part of the statement that is running; `parts` are those of a `Call`.

        Raises AgradError.
        """
        call = Call(*parts)
        if self.alone:
            raise call.wrong("syntax", f"{self.word} cannot be inside a block", f"{self.word}   on its own line")
        self.run_alone(session, call)

    def run_alone(self, session: Session, call: Call) -> None:
        """Run the command, between two statements; a name of the user that nothing follows is no command.

        Raises AgradError.
        """
        names = call.names if self.word in call.names else session.names
        if self.word in NAMES_TOO | ALONE and self.word in names and not (call.values or call.options):
            session.emit(Shown(names[self.word]))
            return
        writes = self.writes or any(word in call.options and option.writes for word, option in self.options.items())
        if writes and session.restoring:  # it was written before
            return
        if self.check is not None:
            self.check(call)
        self.handler(session, call)


COMMANDS: Rows[Command] = Rows()


def command(
    word: str = "", text: str = "", options: Mapping[str, Operands | Choices] = MappingProxyType({}), **facts: Any
) -> Callable[[Handler], Handler]:
    """Decorator: put a command into the table, which has the name of the function, and its docstring for a `text`.

    The docstring has three paragraphs: how the command is typed, each way on its own line; what it does; and, behind
    their names, the meaning of each option, a word or `name=value`; how it is typed in a syntax error, which is the
    first paragraph otherwise; and an example.

    `options`: what follows those of its options that something follows, or the words of which one does. The other
    facts, none of which is needed for a plain command:

    * changes: what it may change, if not nothing
    * operands: what completion offers after the word, and after `choices`, the words that may be its first operand
    * after: for some first words, the words or `name=` that may follow them, each with its meaning
    * check: raises AgradError for what is wrong with any values; runs first, and without values in lint
    * logged: whether it belongs to the history of a session, and so to what `save` writes
    * needs: what the session must keep for it: the log of its statements, or what undo takes back
    * alone: whether it must be outside any block, and cannot be undone itself
    * writes, loads: whether it does nothing but write a file, or its operand is a script that it runs
    * clears: whether it removes the effect of all statements before it; ends: whether nothing after it runs
    """

    def register(run: Handler) -> Handler:
        name = word or run.__name__.lstrip("_")
        usage, told, rows = _said(name, text or docstring(run))
        example, typed = rows.pop("example", ""), rows.pop("as typed", usage)
        keywords = {row: meaning for row, meaning in rows.items() if "=" in row}
        meanings = {row: meaning for row, meaning in rows.items() if "=" not in row} or dict.fromkeys(options, "")
        made = {row: _option(meaning, options.get(row)) for row, meaning in meanings.items()}
        COMMANDS[name] = Command(name, usage, told, example, run, made, keywords, **facts)
        SHAPES[name] = typed
        return run

    return register


def _said(word: str, text: str) -> tuple[str, str, dict[str, str]]:
    """The three parts of a docstring; without one there are no words about the command."""
    parts = rare.inspect.cleandoc(text).split("\n\n")
    usage, told, rows = parts if len(parts) == 3 else (word, "", "")
    usage = usage.replace(f"\n{word} ", f"   {word} ").replace("\n", " ")
    named = (row.partition(": ") for row in re.split(r"\n(?! )", rows) if row)
    meanings = {name: said.replace("\n  ", "\n" if name == "example" else " ") for name, _, said in named}
    return usage, told.replace("\n", " "), meanings


def _option(meaning: str, follows: Operands | Choices | None) -> Option:
    return Option(meaning, follows) if isinstance(follows, Operands | None) else Option(meaning, choices=follows)


def wrong(kind: Kind, message: str, place: Span, *fixes: str) -> AgradError:
    """An error at a place."""
    return AgradError(kind, message, labels=[Label(place)], fixes=fixes)


def of(statement: ast.Statement) -> Command | None:
    """The command that a statement is; None for any other statement."""
    return COMMANDS[statement.word] if isinstance(statement, ast.Command) else None


def graphed(call: Call, position: int) -> Tensor:
    """An operand that has to be a value of the engine. Raises AgradError of kind `grad`."""
    return with_graph(call.values[position], call.operand(position), call.node.word)


def all_graphed(call: Call) -> list[Tensor]:
    """All operands, each a value of the engine. Raises AgradError of kind `grad`."""
    return [graphed(call, position) for position in range(len(call.values))]


def with_graph(value: Any, written: ast.Expr, word: str) -> Tensor:
    """A value that a command takes, if it is one of the engine. Raises AgradError of kind `grad`."""
    if isinstance(value, Tensor):
        return value
    text = written.span.text
    named = isinstance(written, ast.Name)
    message = f"{word}: {text} is {describe_value(value)}, with no graph and no gradient"
    fixes = [Hint(f"var {text} = …   makes a leaf that requires grad")] if named else []
    if named and (function := getattr(value, "definition", None)) is not None:
        at = "; ".join(f"{x} = 1 ± 0.1" if word == "budget" else f"var {x} = 1" for x in function.parameters)
        fixes = [Hint(f"{at}; value = {text}({', '.join(function.parameters)}); {word} value")]
    facts = NoGraph(text) if named else None
    raise AgradError("grad", message, labels=[Label(written.span)], fixes=fixes, facts=facts)
