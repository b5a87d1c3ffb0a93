"""Reading config.toml. What is wrong in it is told, with its place, and never stops anything."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from agrad.cli.settings.settings import SETTINGS, Configuration
from agrad.engine.errors import AgradError, Label, Note
from agrad.grammar.diagnostics import Source, Span, suggest
from agrad.grammar.files import read_text

_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_KEY = re.compile(rf"[ \t]*({_PART}(?:[ \t]*\.[ \t]*{_PART})*)[ \t]*=")
_HEADER = re.compile(rf"[ \t]*\[+[ \t]*({_PART}(?:[ \t]*\.[ \t]*{_PART})*)[ \t]*\]")
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def read(path: str) -> Configuration:
    """What a file says, and notes on what it should not say."""
    try:
        text = read_text(path)
    except AgradError as problem:
        return Configuration({}, [Note(f"{problem.message}; all settings are as if there were no such file")])
    source = Source(path, text, 1, True)
    try:
        table = tomllib.loads(text)
    except ValueError as problem:  # a TOMLDecodeError, or a number of more digits than Python reads
        return Configuration({}, [_broken(source, str(problem))])
    except RecursionError:
        return Configuration({}, [_broken(source, "It nests too deeply")])
    found = Configuration({}, [])
    places = dict(reversed(list(_places(text))))  # the first of each
    for name, value in _entries(table):
        place = _place(name, places)
        if name not in SETTINGS:
            found.problems.append(_unknown(name, value, source, place))
            continue
        try:
            found.values[name] = SETTINGS[name].read(value), source.position(place[0])[0]
        except (ValueError, TypeError):
            found.problems.append(_wrong(name, source, place))
    return found


def _entries(table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a table says, by dotted names; a table that may hold settings is looked into."""
    groups = {name.partition(".")[0] for name in SETTINGS if "." in name}
    for key, value in table.items():
        if key in groups and isinstance(value, dict):
            yield from ((f"{key}.{inner}", part) for inner, part in value.items())
        else:
            yield key, value


def _places(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Every key and header with its dotted name, and where it starts and ends."""
    table, start = "", 0
    for line in text.splitlines(keepends=True):
        header = _HEADER.match(line)
        if found := header or _KEY.match(line):
            name = ".".join(part.strip("\"'") for part in re.findall(_PART, found[1]))
            if header:
                table = f"{name}."
            yield name if header else table + name, (start + found.start(1), start + found.end(1))
        start += len(line)


def _place(name: str, places: dict[str, tuple[int, int]]) -> tuple[int, int]:
    """Where a name stands; inside an inline table, where that does."""
    return places.get(name) or places.get(name.rpartition(".")[0]) or (0, 0)


def _unknown(name: str, value: Any, source: Source, place: tuple[int, int]) -> Note:
    table, _, last = name.rpartition(".")
    same = [full for full in SETTINGS if full.rpartition(".")[2] == last]  # in another table
    inner = [full for full in SETTINGS if suggest(last, [full.rpartition(".")[2]])]
    fixes = [_line(full, table, value) for full in same or suggest(name, SETTINGS) or inner]
    message = f"there is no setting {name}; what it says is not heeded"
    return Note(message, [Label(Span(source, *place))], fixes or [f"the settings are {', '.join(SETTINGS)}"])


def _wrong(name: str, source: Source, place: tuple[int, int]) -> Note:
    start = place[0]
    line = source.text[start:].partition("\n")[0].rstrip()
    message = f"{name} is {SETTINGS[name].takes}; what it says here is not heeded"
    return Note(message, [Label(Span(source, start, start + len(line)))], [_line(name, name.rpartition(".")[0])])


def _broken(source: Source, told: str) -> Note:
    """What to say of a text that is no TOML, from what the library says."""
    found = _PLACE.search(told)
    reason = _PLACE.sub("", told)
    at = len(source.text.rstrip())
    if found and found[1]:
        lines = source.text.split("\n")
        at = sum(len(line) + 1 for line in lines[: int(found[1]) - 1]) + int(found[2]) - 1
    message = f"this is not TOML: {reason[0].lower()}{reason[1:]}; nothing that the file says is heeded"
    fixes = ["agrad config   shows how it is written"]
    return Note(message, [Label(Span(source, at, min(at + 1, len(source.text))))], fixes)


def _line(name: str, table: str, value: Any = None) -> str:
    """A setting as a line of the file, seen from a table; with the value if it may have that, else with another."""
    own, _, last = name.rpartition(".")
    below = f"   below [{own}]" if own and own != table else "   above all tables" if own != table else ""
    try:
        SETTINGS[name].read(value)
        written = str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else value
    except (ValueError, TypeError):
        written = SETTINGS[name].example
    return f"{last} = {written}{below}"


def first(problems: Sequence[Note]) -> Note:
    """One note that stands for all."""
    head, *others = problems
    if not others:
        return head
    more = f"{len(others)} more {'such place' if len(others) == 1 else 'such places'}: agrad config shows all"
    return Note(head.message, head.labels, head.fixes, [*head.notes, more])
