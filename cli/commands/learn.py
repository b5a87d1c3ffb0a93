"""`agrad learn`: a lesson at the prompt."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import click

import agrad
from agrad.cli.arguments import Options, argument, completions, declared, flag, keys_option
from agrad.cli.commands.repl import keyboard, loop, new_session, piped
from agrad.cli.main import Command, Wrong, limit_memory
from agrad.cli.repl.plain import Opening
from agrad.cli.terminal import folded
from agrad.engine.text import align

if TYPE_CHECKING:
    from agrad.cli.lesson.chapters import Chapter
    from agrad.cli.lesson.teacher import Progress

_GREETING = (
    "A lesson in {} short chapters: about an hour. A line that begins with > is a task. Type what it asks for, or "
    "anything else: this is the prompt of `agrad repl`. `hint` helps, `skip` types the answer, `repeat` starts the "
    "task again, `back` returns to the one before. Ctrl-C drops a line, and Up brings one back. The line at the bottom "
    "counts what agrad has recorded. `quit` leaves, and `agrad learn` continues where you left."
)
_DONE = "You have done all chapters. This begins again; `agrad learn --list` shows them."


def _numbers() -> dict[str, str]:
    """The numbers of the chapters, with their titles."""
    return {str(chapter.number): chapter.title for chapter in agrad.cli.lesson.chapters.chapters()}


class Asked(Options):
    """What `agrad learn` takes."""

    chapter: str | None = argument(required=False, metavar="[CHAPTER]", shell_complete=completions(_numbers))
    listing: bool = flag("--list", "List the chapters, and which of them are done.")
    printing: bool = flag("--print", "Print the chapters, or only CHAPTER, as text for a class.")
    vi: bool | None = keys_option


@declared("learn", Command, Asked)
def command(asked: Asked) -> int:
    """Learn how derivatives are computed from a graph, in nine short chapters, at the prompt.

    Each chapter explains, shows, and sets tasks; agrad looks at what you did and answers to it. All statements of agrad
    work, and Tab completes, as in `agrad repl`. In addition, hint helps with a task, skip types its answer, repeat
    starts it again, back returns to the one before, and quit leaves.

    The lesson continues where it was left; the number of a CHAPTER begins that one. How far you came is kept in
    lesson.json, in the folder that `agrad config --path` prints.

    \b
    agrad learn
    agrad learn --list
    agrad learn --print 4
    """
    found, chapter = agrad.cli.lesson.chapters.chapters(), asked.chapter
    if chapter is not None and chapter not in {str(one.number) for one in found}:
        raise Wrong(f"there is no chapter {chapter}", "agrad learn --list")
    number = int(chapter) if chapter is not None else None
    if asked.printing:
        click.echo(agrad.cli.lesson.pages.text(found if number is None else [found[number - 1]]))
        return 0
    progress = agrad.cli.lesson.teacher.kept()
    if asked.listing:
        click.echo(folded("\n".join(_listed(found, progress))))
        return 0
    return _teach(found, progress, number, asked.vi)


def _listed(found: list[Chapter], progress: Progress) -> list[str]:
    """The chapters, with what is done, and where the lesson continues."""
    here = _continues(found, progress)
    told = {chapter.key: "done" for chapter in found if chapter.key in progress.done}
    if progress.chapter:
        told[here.key] = f"agrad learn continues here, with task {progress.step + 1} of {len(here.steps)}"
    return align((str(one.number), one.title, told.get(one.key, "")) for one in found)


def _continues(found: list[Chapter], progress: Progress) -> Chapter:
    """The chapter that the lesson continues with."""
    return next((chapter for chapter in found if chapter.key == progress.chapter), found[0])


def _teach(found: list[Chapter], progress: Progress, number: int | None, vi: bool | None) -> int:
    """Teach from a chapter on, or from where the lesson was left, until the learner leaves."""
    limit_memory(None)
    session = new_session(precision=10)
    session.by_entry = at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if at_terminal:
        session.settings.width = shutil.get_terminal_size().columns
    teacher = agrad.cli.lesson.teacher.Teacher(session, found, progress, waits=at_terminal)
    starts_over = number is None and progress.done and not progress.chapter
    agrad.cli.lesson.chapters.say(_DONE if starts_over else _GREETING.format(len(found)))
    if number is not None:
        teacher.begin(found[number - 1])
    else:
        teacher.begin(_continues(found, progress), progress.step)
    alone = frozenset((*agrad.cli.lesson.teacher.WORDS, *agrad.cli.lesson.teacher.FOR_HELP, "quit", "exit"))
    opening = Opening("", words=agrad.cli.lesson.teacher.WORDS, submits=True, alone=alone, live=False)
    statements = keyboard(session, vi, opening) if at_terminal else piped(session)
    loop(session, teacher.taught(statements), interactive=True, printer=teacher.emit, report=teacher.report)
    if at_terminal and progress.chapter and progress.keeps:
        here = _continues(found, progress)
        agrad.cli.lesson.chapters.say(f"`agrad learn` continues with chapter {here.number}, {here.title}.")
    return 0
