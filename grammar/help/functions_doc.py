"""The functions as a document: docs/functions.md, made from the same tables as `help`."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
    lines += ["* [kinks](#kinks)", ""]
    for family, entries in groups:
        lines += [f"## {family}", ""]
        for entry in entries:
            lines += _lines(entry)
        lines.append("")
    return "\n".join([*lines, *_kinks()]) + "\n"


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


def escaped(text: str) -> str:
    """A text with its markup escaped."""
    return re.sub(r"([\\`*_\[<|])", r"\\\1", text)
