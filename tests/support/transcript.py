"""Transcripts: what a user types behind `agrad> ` (and `  ...> `), and, below it, all that agrad answers.

Those of documents are as at a terminal: a prompt has the number of its line, and what a statement has changed is said.
"""

from __future__ import annotations

import re
from pathlib import Path

from agrad.cli.repl.printer import SAYS, PromptPrinter
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import render
from agrad.grammar.prompt.changes import Changes, with_newest
from agrad.grammar.results import Noted
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session

PROMPT = "agrad> "
MORE = "  ...> "


def replayed(text: str, at_terminal: bool = False) -> str:
    """The transcript as it comes out now: the typed lines with today's answers."""
    session, lines = Session(), []
    session.steps.depth = DEPTH  # as at the prompt
    session.by_entry = session.settings.echo = session.record.on = at_terminal
    session.shows = True, True
    changes = Changes(session)
    for typed in statements(text):
        first = f"agrad {session.line}> " if at_terminal else PROMPT
        more = f"{'...> ':>{len(first)}}"
        lines += [(more if position else first) + line for position, line in enumerate(typed.split("\n"))]
        typed, about = with_newest(typed, session) if at_terminal else (typed, "")
        changes.begin()
        lines += [*[about] * bool(about), *answers(session, typed, at_terminal)]
        if at_terminal and not (typed.rstrip().endswith(";") or SAYS.match(typed)):
            lines += filter(None, changes.line(typed).split("\n"))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def answers(session: Session, typed: str, at_terminal: bool = False) -> list[str]:
    """Everything a statement hands out, and its error as it is shown."""
    lines: list[str] = []
    printer = PromptPrinter(session.settings)

    def emit(result):
        text = printer.text(result, session.settings) if at_terminal else result.text(session.settings)
        lines.extend((render(result.note) if isinstance(result, Noted) else text).split("\n"))

    try:
        session.run(typed, emit)
    except AgradError as error:
        lines += render(error).split("\n")
    return lines


def statements(text: str) -> list[str]:
    """What was typed, statement by statement; comments of the transcript (`##`) are left out."""
    typed: list[str] = []
    for line in text.split("\n"):
        if first := re.match(r"agrad( \d+)?>( |$)", line):
            typed.append(line[first.end() :])
        elif more := re.match(r" +\.\.\.>( |$)", line):
            typed[-1] += "\n" + line[more.end() :]
    return typed


def blocks(markdown: str) -> list[str]:
    """The transcripts in a document: its ```agrad blocks."""
    return re.findall(r"^```agrad\n(.*?)^```", markdown, re.MULTILINE | re.DOTALL)


def sections(path: Path) -> dict[str, list[str]]:
    """The texts of a file by their names: a text begins with `=== NAME`, and lines `---` divide it."""
    found = [part.partition("\n") for part in path.read_text("utf-8").split("=== ")[1:]]
    return {name: [f"{text.rstrip()}\n" for text in body.split("---\n")] for name, _, body in found}
