"""The functions as a document: docs/functions.md, made from the same tables as `help`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from agrad.engine.core.op import Entry
from agrad.grammar.help.help import facts, families
from agrad.grammar.help.kinks import FOOTING, HEADING, all_kinks


def markdown() -> str:
    """All functions by family, and the table of kinks."""
    lines = [
        "# Functions",
        "",
        "Made by `make docs` from the table of functions; `help sin` in a session, and `agrad help sin`, say the same.",
        "",
    ]
    groups = families()
    lines += [f"* [{family}](#{family.replace(' ', '-')})" for family, _ in groups]
    lines += ["* [kinks](#kinks)", "* [index](#index)", ""]
    for family, entries in groups:
        lines += [f"## {family}", ""]
        for entry in entries:
            lines += _lines(entry)
        lines.append("")
    return "\n".join([*lines, *_kinks(), *_index(groups)]) + "\n"


def _lines(entry: Entry) -> Iterator[str]:
    """One function: how it is called and what it computes, then its other facts."""
    yield f"* `{entry.signature.usage}`: {escaped(entry.doc)}"
    for word, text in facts(entry):
        yield f"  * {word}: {f'`{text}`' if word == 'example' else escaped(text)}"


def _kinks() -> Iterator[str]:
    yield from ("## kinks", "", f"{escaped(HEADING)}.", "", "| at | value | derivative |", "|---|---|---|")
    for kink in all_kinks():
        yield f"| {escaped(kink.at)} | {escaped(kink.value)} | {escaped(kink.derivative)} |"
    yield from ("", escaped(FOOTING))


def _index(groups: Iterable[tuple[str, list[Entry]]]) -> Iterator[str]:
    """All functions by name, each with a link to its family."""
    places = {entry.name: family for family, entries in groups for entry in entries}
    yield from ("", "## index", "")
    for initial, names in groupby(sorted(places, key=str.lower), key=lambda name: name[0].upper()):
        links = [f"[{escaped(name)}](#{places[name].replace(' ', '-')})" for name in names]
        yield f"* {initial}: {', '.join(links)}"


def prose(text: str) -> str:
    """A text in which nothing is markup but `code`."""
    return re.sub(r"`[^`]*`|[^`]+", lambda part: part[0] if part[0][0] == "`" else escaped(part[0]), text)


def escaped(text: str) -> str:
    """A text with its markup escaped."""
    return re.sub(r"([\\`*_\[<|])", r"\\\1", text)
