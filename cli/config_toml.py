"""Reading config.toml. An error in it is reported with its line, and does not stop the program."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from agrad.engine.errors import AgradError, Hint, Label, Note
from agrad.grammar.diagnostics import Source, Span, suggest
from agrad.grammar.files import read_text, require_ordinary


class Configuration(NamedTuple):
    """The content of config.toml: values with their lines, and notes on its errors."""

    values: dict[str, tuple[Any, int]]
    problems: list[Note]


def read(path: str, settings: Mapping[str, Any]) -> Configuration:
    """The settings of a file, and notes on its errors; `settings`: the table of all there are."""
    try:
        if not os.path.isdir(path):  # reported when it is read
            require_ordinary(path)
        text = read_text(path)
    except OSError as problem:
        return Configuration({}, [Note(f"cannot read {path}: {problem.strerror}; the file is ignored")])
    except AgradError as problem:
        return Configuration({}, [Note(f"{problem.message}; the file is ignored")])
    source = Source(path, text, 1, True)
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as problem:  # a TOMLDecodeError, or a number of more digits than Python reads
        told = str(problem) if isinstance(problem, ValueError) else "It nests too deeply"
        return Configuration({}, [_broken(source, told)])
    found = Configuration({}, [])
    groups = {name.partition(".")[0] for name in settings if "." in name}
    lines = _lines(text, groups)
    for name, value in _entries(table, groups):
        line = lines.get(name, 1)
        try:
            if name in settings:
                found.values[name] = settings[name].read(value), line
            else:
                found.problems.append(_unknown(name, value, _span(source, line), settings))
        except (ValueError, TypeError):
            message = f"{name} must be {settings[name].takes}; this value is ignored"
            fixes = [_line(name, name.rpartition(".")[0], settings)]
            found.problems.append(Note(message, [Label(_span(source, line))], fixes))
    return found


def _entries(table: dict[str, Any], groups: set[str]) -> Iterator[tuple[str, Any]]:
    """The entries of a table, by dotted names, including those of the inner tables in `groups`."""
    for key, value in table.items():
        if key in groups and isinstance(value, dict):
            yield from ((f"{key}.{inner}", part) for inner, part in value.items())
        else:
            yield key, value


def _lines(text: str, groups: set[str]) -> dict[str, int]:
    """The line of each entry of a text that is TOML.

    tomllib does not give lines, but it shows where a statement ends: each is parsed by itself, below the header of its
    table, and has as many lines as it takes until that succeeds.
    """
    found: dict[str, int] = {}
    header, statement, first = "", "", 1
    for number, line in enumerate(text.split("\n"), 1):
        first = first if statement else number
        statement += f"{line}\n"
        is_header = statement.lstrip().startswith("[")
        try:
            table = tomllib.loads(statement if is_header else header + statement)
        except ValueError:
            continue
        if is_header:
            header = statement
        for name, _ in _entries(table, groups):
            found.setdefault(name, first)
        statement = ""
    return found


def _span(source: Source, number: int) -> Span:
    """A line, without the white space around it."""
    line, start = source.line(number), source.offset(number, 1)
    return Span(source, start + len(line) - len(line.lstrip()), start + len(line.rstrip()))


def _unknown(name: str, value: Any, place: Span, settings: Mapping[str, Any]) -> Note:
    table, _, last = name.rpartition(".")
    same = [full for full in settings if full.rpartition(".")[2] == last]  # in another table
    inner = [full for full in settings if suggest(last, [full.rpartition(".")[2]])]
    fixes = [_line(full, table, settings, value) for full in same or suggest(name, settings) or inner]
    message = f"there is no setting {name}; it is ignored"
    return Note(message, [Label(place)], fixes or [Hint(f"the settings are {', '.join(settings)}")])


def _broken(source: Source, told: str) -> Note:
    """The note on a text that is not TOML, from the message of tomllib."""
    reason, at_place, place = told.rpartition(" (at ")  # "line 2, column 5)", or "end of document)"
    numbers = [int(word) for word in place.rstrip(")").replace(",", "").split() if word.isdecimal()]
    at = len(source.text.rstrip())
    if at_place and len(numbers) == 2:
        at = source.offset(*numbers)
    reason = reason if at_place else told
    message = f"this is not TOML: {reason[0].lower()}{reason[1:]}; the file is ignored"
    fixes = [Hint("agrad config   shows an example")]
    return Note(message, [Label(Span(source, at, min(at + 1, len(source.text))))], fixes)


def _line(name: str, table: str, settings: Mapping[str, Any], value: Any = None) -> str:
    """A setting as a line of the file, inside a table; with the value if it is valid, else with an example."""
    own, _, last = name.rpartition(".")
    below = f"   below [{own}]" if own and own != table else "   above all tables" if own != table else ""
    try:
        settings[name].read(value)
        written = str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else value
    except (ValueError, TypeError):
        written = settings[name].example
    return f"{last} = {written}{below}"


def first(problems: Sequence[Note]) -> Note:
    """One note for all problems."""
    head, *others = problems
    more = f"{len(others)} more {'problem' if len(others) == 1 else 'problems'}: agrad config shows all"
    return Note(head.message, head.labels, head.fixes, [*head.notes, *([more] if others else [])])
