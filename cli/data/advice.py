"""Fixes for errors in a table, as options of the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from agrad.cli.arguments.expression import Formula
from agrad.engine.data.tables import NAMES
from agrad.engine.errors import AgradError, BadEntry, Hint, NamedColumns, OtherForm, UnknownColumn
from agrad.grammar.diagnostics import suggest
from agrad.grammar.runtime.graph_fixes import leading
from agrad.grammar.session.inputs import open_names
from agrad.grammar.session.rowwise import AlongRows


@contextmanager
def advised(typed: Sequence[str], data: str, command_line: Callable[[Sequence[str]], str]) -> Iterator[None]:
    """Add fixes to an error inside: options for `map`, whose arguments are the words in `typed`.

    `data`: the file with the rows, or - for standard input.
    """
    try:
        yield
    except AgradError as problem:
        facts = problem.facts
        if fixes := _of_form(facts, typed, command_line):
            problem.fixes = fixes
        elif problem.row and "--on-error" not in typed:
            again = command_line([*typed, "--on-error", "null"])
            missing = _of_missing(facts, typed, command_line)
            problem.fixes = [*missing, *problem.fixes, Hint(f"go on without such rows: {again}")]
        elif isinstance(facts, BadEntry) and facts.copied:
            problem.fixes = [Hint("write .csv or .jsonl, which take texts too")]
        elif isinstance(facts, NamedColumns):
            problem.fixes = [Hint("leave --columns out")]
        elif isinstance(facts, AlongRows):
            problem.fixes = _whole_column(facts.text, data)
            name = facts.text.partition("(")[0]
            if name in NAMES and data != "-" and "--whole" not in typed:
                problem.fixes.insert(0, command_line([*typed, "--whole", name]))
        elif isinstance(facts, UnknownColumn):
            problem.fixes = _named(facts, typed, command_line) or _other_columns(facts, bool(problem.labels))
        raise


@contextmanager
def divided(typed: Sequence[str], command_line: Callable[[Sequence[str]], str]) -> Iterator[None]:
    """Add the option to an error inside that says how the rows of a file are divided, or which column is meant."""
    try:
        yield
    except AgradError as problem:
        fixes = _of_form(problem.facts, typed, command_line)
        if isinstance(problem.facts, UnknownColumn):
            fixes = _named(problem.facts, typed, command_line) or _other_columns(problem.facts, False)
        problem.fixes = fixes or problem.fixes
        raise


def _of_form(facts: object, typed: Sequence[str], command_line: Callable[[Sequence[str]], str]) -> list[str]:
    """The options that say how the rows of a file are divided, where an error is about that."""
    if isinstance(facts, OtherForm):
        return [command_line([*typed, f"--{facts.option}", one]) for one in facts.values]
    if isinstance(facts, BadEntry) and facts.decimal and "--decimal" not in typed:
        return [command_line([*typed, "--decimal", facts.decimal])]
    if isinstance(facts, BadEntry) and facts.damaged and "--encoding" not in typed:
        return [command_line([*typed, "--encoding", "cp1252"])]
    return []


def _of_missing(facts: object, typed: Sequence[str], command_line: Callable[[Sequence[str]], str]) -> list[str]:
    """The option that says which entries are missing, where an error is about one that may be."""
    if not isinstance(facts, BadEntry) or facts.missing is None or "--resume" in typed:  # which goes on as it began
        return []
    words = [*typed, "--na", facts.missing]
    if "--na" in typed:
        words, place = [*typed], typed.index("--na") + 1
        words[place] += f",{facts.missing}"
    return [f"{command_line(words)}   reads it as nan"]


def _whole_column(text: str, data: str) -> list[str]:
    """How to use a function of a whole column in each row: compute it before, and pass it as a constant."""
    names = open_names(text)
    if len(names) != 1 or os.path.splitext(data)[1] in (".npy", ".npz", ".parquet", ".pq") or data == "-":
        return ["-D m=…   for a number that is the same in every row"]
    column = Formula("eval", [], {}, []).typed([text, f"{names[0]}=@{data}:{names[0]}"])
    return [f"{column}   for the whole column, then -D m=… with its value, and m in the expression"]


def _named(facts: UnknownColumn, typed: Sequence[str], command_line: Callable[[Sequence[str]], str]) -> list[str]:
    """The option that gives a column a name without its unit: `-c 't=t [min]'`."""
    columns = [] if suggest(facts.name, facts.columns) else leading(facts.name, facts.columns)
    return [command_line([*typed, "-c", f"{facts.name}={one}"]) for one in columns]


def _other_columns(facts: UnknownColumn, in_expression: bool) -> list[str]:
    """Suggestions for an unknown column."""
    name, columns = facts.name, facts.columns
    if close := suggest(name, columns):
        return [f"did you mean {' or '.join(close)}?"]
    fixes: list[str] = [Hint(f"name the columns: --columns {','.join([name, *columns[1:]])}")] if facts.nameless else []
    if in_expression:
        fixes.append(Hint(f"give it one value for all rows: -D {name}=1"))
    return fixes
