"""The chapters of the lesson, as their files say; the format is described in `__init__`."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import click

from agrad.cli.terminal import coloured
from agrad.engine.errors import AgradError
from agrad.engine.text import glued, wrap
from agrad.grammar.diagnostics import Source
from agrad.grammar.results import Result
from agrad.grammar.session.session import Session

FIRST, MORE = "agrad> ", "  ...> "
_FOLDER = Path(__file__).with_name("chapters")
_DIRECTIVE = re.compile(r"(check|right|when|also|hint|answer): *(.*)")
_CLAIM = re.compile(r"<!-- *(.*?) *-->")
_TRY = "try: "
SEPARATOR = " ;; "


@dataclass(frozen=True, slots=True)
class Typed:
    """A statement of a transcript, and what is printed below it."""

    statement: str
    output: str

    def lines(self, first: str = FIRST, more: str = MORE) -> list[str]:
        """The statement behind its prompts."""
        return [(more if place else first) + line for place, line in enumerate(self.statement.split("\n"))]


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph, and the claims in it."""

    text: str
    claims: tuple[str, ...] = ()


Transcript: TypeAlias = tuple[Typed, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said to a wrong answer: under which condition, and an example of such an answer."""

    condition: str
    tried: tuple[str, ...]
    text: str


@dataclass(slots=True)
class Step:
    """What is told and shown, and one task."""

    told: list[Prose | Transcript] = field(default_factory=list)
    task: str = ""
    checks: list[str] = field(default_factory=list)
    right: Prose = field(default_factory=lambda: Prose(""))
    replies: list[Reply] = field(default_factory=list)
    also: list[tuple[str, ...]] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    answer: Transcript = ()


@dataclass(slots=True)
class Chapter:
    """A chapter: its steps, and what is told at its end."""

    key: str  # the name of its file
    number: int
    title: str
    steps: list[Step]
    end: list[Prose | Transcript]


def chapters() -> list[Chapter]:
    """All chapters. Raises ValueError for a file that is not written as it should be."""
    return [read(path, number) for number, path in enumerate(files(), 1)]


def files() -> list[Path]:
    """The files of the chapters, in order."""
    return sorted(_FOLDER.glob("*.md"))


def read(path: Path, number: int) -> Chapter:
    """A chapter from its file. Raises ValueError as above."""
    steps: list[Step] = []
    open_step = Step()
    title = ""
    for place, block in _blocks(path.read_text(encoding="utf-8")):
        try:
            if block.startswith("# "):
                title = block[2:].strip()
            elif _DIRECTIVE.match(block):
                _direct(steps[-1], block)
            elif block.startswith("> "):
                open_step.task = _joined(re.sub(r"(?m)^> ?", "", block))
                steps.append(open_step)
                open_step = Step()
            else:
                open_step.told.append(_told(block))
        except (ValueError, IndexError) as problem:
            raise ValueError(f"{path.name}, line {place}: {problem}") from None
    return Chapter(path.stem, number, title, steps, open_step.told)


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """The parts between empty lines, each with the number of its first line; a directive and a fence are whole."""
    block: list[str] = []
    start = 1
    for number, line in enumerate([*text.split("\n"), ""], 1):
        fenced = bool(block) and block[0].startswith("```") and (len(block) == 1 or not block[-1].startswith("```"))
        starts = not fenced and (not line.strip() or bool(_DIRECTIVE.match(line)))
        if starts and block:
            yield start, "\n".join(block)
            block = []
        if line.strip() or fenced:
            start = start if block else number
            block.append(line)


def _told(block: str) -> Prose | Transcript:
    if block.startswith("```"):
        kind, *lines, end = block.split("\n")
        if kind != "```agrad" or end != "```":
            raise ValueError("a block is to begin with ```agrad and to end with ```")
        return transcript(lines)
    return _prose(block)


def _prose(text: str) -> Prose:
    return Prose(_joined(_CLAIM.sub("", text)), tuple(_CLAIM.findall(text)))


def _joined(text: str) -> str:
    return " ".join(text.split())


def transcript(lines: list[str]) -> Transcript:
    """What was typed behind the prompts, each with the lines below it. Raises ValueError if there is no prompt."""
    found: list[tuple[list[str], list[str]]] = []
    for line in lines:
        if line.startswith(FIRST.rstrip()):
            found.append(([line[len(FIRST) :]], []))
        elif not found:
            raise ValueError(f"a transcript begins with {FIRST.rstrip()}")
        elif line.startswith(MORE.rstrip()) and not found[-1][1]:
            found[-1][0].append(line[len(MORE) :])
        else:
            found[-1][1].append(line)
    return tuple(Typed("\n".join(typed), "\n".join(printed).rstrip()) for typed, printed in found)


def _direct(step: Step, block: str) -> None:
    """Add a directive to the step that it stands below. Raises ValueError where something is missing."""
    first, *rest = block.split("\n")
    found = _DIRECTIVE.match(first)
    assert found is not None
    word, value = found.groups()
    lines = [line.removeprefix("    ") for line in rest]
    match word:
        case "when":
            tried = [line.removeprefix(_TRY) for line in lines if line.startswith(_TRY)]
            text = _joined(" ".join(line for line in lines if not line.startswith(_TRY)))
            if not (tried and text):
                raise ValueError("`when` needs an example, `try: …`, and what is said")
            step.replies.append(Reply(value, split(tried[0]), text))
        case "answer":
            step.answer = transcript(lines)
        case "check":
            step.checks.append(value)
        case "also":
            step.also.append(split(value))
        case "hint":
            step.hints.append(_joined(" ".join([value, *lines])))
        case _:
            step.right = _prose(" ".join([value, *lines]))


def split(text: str) -> tuple[str, ...]:
    r"""The statements of an example, where `\n` stands for a new line of a block."""
    return tuple(part.replace("\\n", "\n") for part in text.split(SEPARATOR))


# Whether a condition holds of a session, after the last statement; looking changes nothing.


@dataclass(slots=True)
class Heard:
    """What became of the last statement: its results, and its error; or the word that was said, as in `no`.

    `text`: the statement, `typed`: those in effect since the task was set, and it.
    """

    results: list[Result] = field(default_factory=list)
    error: AgradError | None = None
    said: str = ""
    text: str = ""
    typed: tuple[str, ...] = ()


_NUMBER = re.compile(r"-?[\d.]+")


class _Looked(Exception):
    """Takes back what a condition has changed."""


def holds(conditions: str, session: Session, heard: Heard) -> bool:
    """Whether all of some conditions hold, which are separated as examples are."""
    return all(_holds(condition, session, heard) for condition in conditions.split(SEPARATOR))


def _holds(condition: str, session: Session, heard: Heard) -> bool:
    """Whether a condition holds, of the session or of the last statement."""
    word, _, rest = condition.partition(" ")
    if word == "error":
        return heard.error is not None and heard.error.kind == rest
    if word == "typed" or word == "untyped":
        return any(re.search(rest, text) for text in heard.typed) is (word == "typed")
    if condition == "computed":
        return not _NUMBER.fullmatch(heard.text.strip())
    if word == "says":
        return heard.said == rest
    if word == "prints":
        return any(rest in result.text(session.settings) for result in heard.results)
    return _is_true(condition, session)


def _is_true(condition: str, session: Session) -> bool:
    statement = condition if condition.startswith("fails ") else f"assert ({condition})"

    def look() -> None:
        session.run_inside(Source("condition", statement))
        raise _Looked

    try:
        with suppress(AgradError):
            session.all_at_once(look)
    except _Looked:
        return True
    return False


# What the teacher says, as wide as the terminal; code is in bold where there is colour, else in backquotes.

WIDTH = 78  # columns of prose, at most
_CODE = re.compile(r"`([^`]+)`")


def heading(text: str) -> None:
    """Write the heading of a chapter."""
    hues = coloured(sys.stdout)
    click.echo("\n" + (click.style(text, bold=True) if hues else text), color=hues or None)


def say(text: str) -> None:
    """Write a paragraph below an empty line."""
    _write(wrapped(text, _columns()))


def task(text: str) -> None:
    """Write a task behind its mark."""
    _write(wrapped(text, _columns(), "> "), "green")


def wrapped(text: str, width: int, mark: str = "") -> str:
    """A paragraph in lines of at most `width` columns, which break outside of code; `mark`: before the first line."""
    whole = _CODE.sub(lambda found: glued(found[0]), text)
    return "\n".join(wrap(whole, max(width, 20), " " * len(mark), mark))


def _columns() -> int:
    return min(shutil.get_terminal_size().columns, WIDTH) if sys.stdout.isatty() else WIDTH


def _write(text: str, hue: str | None = None) -> None:
    """Write below an empty line; with a hue, the mark at the beginning has it."""
    hues = coloured(sys.stdout)
    if hues:
        text = _CODE.sub(lambda found: click.style(found[1], bold=True), text)
        if hue is not None:
            text = click.style(text[:1], hue, bold=True) + text[1:]
    click.echo(f"\n{text}", color=hues or None)
