"""The teacher: tells and shows a chapter step by step, and answers to what a learner has done."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import click

from agrad.cli.lesson.chapters import (
    Chapter,
    Heard,
    Prose,
    Step,
    Transcript,
    Typed,
    heading,
    holds,
    say,
    task,
)
from agrad.cli.main import complain
from agrad.cli.output import note
from agrad.cli.repl.plain import prompts
from agrad.cli.repl.printer import PromptPrinter
from agrad.cli.settings import folder, make_folder
from agrad.cli.terminal import ignored
from agrad.engine.errors import AgradError, Hint, UnknownName
from agrad.grammar.commands.registry import COMMANDS
from agrad.grammar.diagnostics import Source, Span, suggest
from agrad.grammar.files import require_ordinary
from agrad.grammar.results import Result
from agrad.grammar.session.log import DEPTH, Entry, number_of, restore
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.errors.messages import corrected

WORDS = {
    "hint": "help with the task",
    "skip": "let agrad type the answer, and go on",
    "back": "return to the task before",
    "repeat": "tell and show this task again, from its beginning",
}
_OPEN = "Not yet. `hint` helps, `skip` types the answer, `repeat` starts this task again."
FOR_HELP = ("help", "?")
_HELP = (
    "In the lesson, `hint` helps with the task, as here, `skip` types the answer, `repeat` starts the task again, "
    "`back` returns to the one before, and `quit` leaves. `help backward` explains a statement."
)
_SENTENCE = re.compile(r"[^\W\d]+(['’][^\W\d]+)?([ ,]+[^\W\d]+(['’][^\W\d]+)?)*[ .!?]*")  # as to a person
_TALK = frozenset(("yes", "no", "next", "ok", "okay", "continue", "why", "what", "how"))
_PROSE = "Questions and words are not understood here. " + _OPEN.removeprefix("Not yet. ")
_NEXT_SENTENCE = re.compile(r"(?<=[.?!]) +(?=[A-Z])")
_END = "This is the end of the lesson. You may go on here as in `agrad repl`; `quit` leaves."
_CODE = re.compile(r"`([^`]+)`")
_SET_BACK = "Names have been changed that this task needs: they are set back."
_PATIENCE = 2  # statements that nothing was said to, until this is said


def in_words(text: str, problem: AgradError) -> bool:
    """Whether a learner has answered as to a person, as in `two` or `I do not know`, and not made a slip."""
    if problem.kind not in ("name", "syntax") or not _SENTENCE.fullmatch(text.strip()):
        return False
    if text.rstrip().endswith("?"):
        return True
    if " " in text.strip() and text.split()[0] in COMMANDS:
        return False
    return all(isinstance(fix, Hint) for fix in problem.fixes)  # what can be corrected is a slip


def shown(step: Step) -> list[Typed]:
    """The statements that a step shows."""
    return [typed for part in step.told if not isinstance(part, Prose) for typed in part]


class Teacher:
    """Goes through the chapters with one learner, in one session.

    `waits`: whether Enter is awaited between two chapters, for which there must be someone to press it.
    """

    def __init__(self, session: Session, chapters: Sequence[Chapter], progress: Progress, waits: bool) -> None:
        self.session = session
        self.chapters = chapters
        self.progress = progress
        self.waits = waits
        self.printer = PromptPrinter(session.settings)
        self.printer.spare = 9  # so that what is said of a plot stands below it
        self.heard = Heard()
        self.chapter = chapters[0]
        self.place = 0  # of the step in the chapter
        self.resting = False  # between two chapters, or behind the last
        self._ends = False  # whether the end of the last chapter is yet to be told
        self._hints = self._unanswered = 0
        self._said = ""  # the last reply
        self._typed = ""  # the last statement
        self._failed: tuple[str, list[str]] = "", []  # the last line that has failed, with what can be typed instead
        self._ready: list[Entry] = []  # the statements in effect when the task was set

    # What the loop of the prompt calls

    def emit(self, result: Result) -> None:
        """Print a result, and remember it."""
        self.heard.results.append(result)
        self.printer(result)

    def report(self, problem: AgradError) -> int:
        """Print an error, and remember it; its exit code."""
        self.heard.error = problem
        self._prefer(problem)
        self._recall(problem)
        return complain(problem)

    def _recall(self, problem: AgradError) -> None:
        """Recall the line that has failed, where only the name is typed that it should have given a value."""
        line, fixes = self._failed
        word = self.heard.text
        if not (word.isidentifier() and re.match(rf"(var\s+)?{word}\s*=(?!=)", line)):
            near = suggest(problem.facts.name, self.session.names) if isinstance(problem.facts, UnknownName) else []
            meant = [corrected(cast(Span, problem.labels[0].origin), name) for name in near[:1] if problem.labels]
            self._failed = word, meant or [fix for fix in problem.fixes if not isinstance(fix, Hint)]
        elif problem.kind == "name":
            problem.notes.append(f"the line that gives {word} its value has failed: {line}")
            problem.fixes = fixes or [line]

    def _prefer(self, problem: AgradError) -> None:
        """Of a command that is misspelt, offer the one that the task asks for, if it may be meant."""
        word, _, rest = self.heard.text.partition(" ")
        if problem.message != f"agrad has no command `{word}`" or self.resting:
            return
        asked = [code.partition(" ")[0] for code in _CODE.findall(self.step.task)]
        problem.fixes = [f"{meant} {rest}" for meant in suggest(word, set(asked) & {*COMMANDS}, 2)[:1]] or problem.fixes

    def taught(self, statements: Iterator[str]) -> Iterator[str]:
        """The statements that a learner types, without the words to the teacher, who answers after each."""
        for text in statements:
            word, names = text.strip(), self.session.names
            if word in WORDS and word not in names:
                with ignored():
                    self._obey(word)
            elif word in FOR_HELP and not self.resting:
                say(_HELP)
                self._hint()
            elif not self.resting and (spoken := word.lower().rstrip(" .!?")) in _TALK and spoken not in names:
                self.heard = Heard(said=spoken)
                with ignored():
                    self._answer()
            elif self.resting and not word:
                with ignored():
                    self._next_chapter()
            else:
                self.heard, self._typed = Heard(text=word), word
                yield text
                with ignored():
                    self._answer()

    # Going through a chapter

    def begin(self, chapter: Chapter, place: int = 0) -> None:
        """Begin a chapter at its start, or continue at a step that `progress` has the statements before of."""
        continues = chapter.key == self.progress.chapter and 0 < place < len(chapter.steps)
        self.chapter, self.resting = chapter, False
        if not (continues and self._restore(self.progress.starts[place])):
            place = 0
            self._clear()
            self.progress.starts = []
        heading(f"Chapter {chapter.number} of {len(self.chapters)}: {chapter.title}")
        self._tell(place)

    @property
    def step(self) -> Step:
        """The step that the learner is at."""
        return self.chapter.steps[self.place]

    def _tell(self, place: int) -> None:
        """Tell and show a step, from the state that the session is in, or, where its task cannot be done, a new one."""
        step = self.chapter.steps[place]
        if not self._can_be_done(self.session.record.entries, (*shown(step), *step.answer), place):
            self._rebuild(place)
        self.place = place
        again = place == 0 and self.chapter is self.chapters[0] and len(self.progress.done) == len(self.chapters)
        if not again or self.progress.chapter:  # who has done all chapters has not begun again by looking
            self.progress.chapter, self.progress.step = self.chapter.key, place
        starts = self.progress.starts
        starts[place:] = [list(self.session.record.entries)]
        self.progress.save()
        self._unroll(self.step.told)
        task(self.step.task)
        self._hints = self._unanswered = 0
        self._said = ""
        self._ready = list(self.session.record.entries)
        self.session.last = ()  # so that an answer of before is none to this task

    def _unroll(self, parts: Sequence[Prose | Transcript]) -> None:
        for part in parts:
            if isinstance(part, Prose):
                say(part.text)
            else:
                self._show(part)

    def _show(self, transcript: Transcript) -> None:
        """Run the statements of a transcript, as if they were typed."""
        click.echo()
        for typed in transcript:
            self._echo(typed)
            try:
                self.session.run(typed.statement, self.printer)
            except AgradError as problem:
                complain(problem)

    def _echo(self, typed: Typed) -> None:
        """Write a statement as it stands where the learner would type it."""
        for line in typed.lines(*prompts(self.session.line)) if self.session.by_entry else typed.lines():
            click.echo(line.rstrip())

    def _answer(self) -> None:
        """Look at what the learner has done, and answer."""
        if self.resting:
            return
        entries = self.session.record.entries[len(self._ready) :]
        self.heard.typed = (*(entry.span.text for entry in entries), self.heard.text)
        if all(holds(check, self.session, self.heard) for check in self.step.checks):
            self._done()
            return
        text = next((one.text for one in self.step.replies if holds(one.condition, self.session, self.heard)), "")
        self._unanswered += 1
        problem = self.heard.error
        foreseen = any(one.condition == f"says {self.heard.said}" for one in self.step.replies)
        if (self.heard.said and not foreseen) or (problem is not None and in_words(self._typed, problem)):
            say(_PROSE)
        elif text:
            say(text if text != self._said else f"As before: {_NEXT_SENTENCE.split(text)[-1]}")
            self._said, self._unanswered = text, 0
        elif problem is not None or self._unanswered >= _PATIENCE:
            self._unanswered = 0
            say(_OPEN)

    def _done(self) -> None:
        """The task is done: go on to the next, or end the chapter."""
        say(self.step.right.text)
        if self.place + 1 < len(self.chapter.steps):
            self._tell(self.place + 1)
            return
        following = self._following()
        self._ends = following is None and self.waits
        if not self._ends:
            self._unroll(self.chapter.end)
        done = dict.fromkeys([*self.progress.done, self.chapter.key])
        self.progress.done = list(done)
        self.progress.chapter, self.progress.step = (following.key if following else ""), 0
        self.progress.save()
        self.resting = True
        if self._ends:
            task("Press Enter for the end of the lesson.")
        elif following is None:
            say(_END)
        elif self.waits:
            task(f"Press Enter for chapter {following.number}, {following.title}. Type `quit` to stop here.")
        else:
            self.begin(following)

    def _following(self) -> Chapter | None:
        return self.chapters[self.chapter.number] if self.chapter.number < len(self.chapters) else None

    def _next_chapter(self) -> None:
        following = self._following()
        if following is not None:
            self.begin(following)
        elif self._ends:
            self._ends = False
            self._unroll(self.chapter.end)
            say(_END)
        else:
            say("This was the last chapter. `quit` leaves.")

    # The words to the teacher

    def _obey(self, word: str) -> None:
        if self.resting and word in ("hint", "skip"):
            self._next_chapter()
        elif word == "hint":
            self._hint()
        elif word == "skip":
            self._skip()
        elif word == "back" and not self.resting:
            self._back()
        else:
            self._return(self.place)

    def _hint(self) -> None:
        """The next hint; behind the last, the answer."""
        hints = self.step.hints
        if self._hints < len(hints):
            say(hints[self._hints])
        else:
            say("This does it; `skip` types it for you:")
            click.echo()
            for typed in self.step.answer:
                self._echo(typed)
        self._hints += 1

    def _skip(self) -> None:
        """Type the answer, from the state in which the task began, and go on."""
        if self.session.record.entries != self._ready:
            self._restore(self._ready)
        if not self._can_be_done(self._ready, self.step.answer):
            self._rebuild(self.place, with_told=True)
        self._show(self.step.answer)
        self._done()

    def _back(self) -> None:
        """Return to the step before; at the beginning of a chapter, to the chapter before."""
        if self.place > 0:
            self._return(self.place - 1)
        elif self.chapter.number > 1:
            self.begin(self.chapters[self.chapter.number - 2])
        else:
            self._return(0)

    def _return(self, place: int) -> None:
        """Return to the state in which a step began, and tell it again."""
        self.resting = False
        if place == 0 or not self._restore(self.progress.starts[place]):
            self.begin(self.chapter)
        else:
            self._tell(place)

    # The state of the session

    def _clear(self) -> None:
        """Make the session a new one."""
        session = self.session
        session.all_at_once(session.forget)
        session.record.cut(0)
        session.steps.clear()
        session.steps.depth = DEPTH
        session.line = 1

    def _can_be_done(self, entries: Sequence[Entry], typed: Sequence[Typed], place: int | None = None) -> bool:
        """Whether a task is done by some statements behind others: tried in a session of its own."""
        trial, heard = Session(), Heard()
        try:
            restore(trial, entries)
        except AgradError:
            return False
        for one in typed:
            heard.text, heard.error = one.statement, None
            try:
                trial.run(one.statement, heard.results.append)
            except AgradError as problem:
                heard.error = problem
        step = self.step if place is None else self.chapter.steps[place]
        heard.typed = tuple(one.statement for one in step.answer)
        return all(holds(check, trial, heard) for check in step.checks)

    def _rebuild(self, place: int, with_told: bool = False) -> None:
        """Bring the session to the state in which a step begins for who types the answers, and nothing else."""
        say(_SET_BACK)
        self._clear()
        steps = self.chapter.steps
        parts = [one for step in steps[:place] for one in (*shown(step), *step.answer)]
        for one in [*parts, *(shown(steps[place]) if with_told else ())]:
            with suppress(AgradError):
                self.session.run(one.statement)

    def _restore(self, entries: list[Entry]) -> bool:
        """Bring the session to the state behind some statements; whether that is possible."""
        self._clear()
        with suppress(AgradError):
            restore(self.session, entries)
            return True
        return False


# How far a learner came: a file beside the history, so that `agrad learn` continues there.


@dataclass(slots=True)
class Progress:
    """The chapter and the step that a learner is at, and the chapters that are done.

    `starts` has, for each step of the chapter up to this one, the statements in effect when it began.
    """

    chapter: str = ""
    step: int = 0
    done: list[str] = field(default_factory=list)
    starts: list[list[Entry]] = field(default_factory=list)
    keeps: bool = True  # whether it is written to the file

    def save(self) -> None:
        """Write the file, whole or not at all; the first failure gives a note."""
        if not self.keeps:
            return
        starts = [
            [(number_of(one), one.span.source.is_entry, one.seed, one.span.text) for one in entries]
            for entries in self.starts
        ]
        data = {"chapter": self.chapter, "step": self.step, "done": self.done, "starts": starts}
        target = path()
        beside = target.with_name(f"{target.name}.{os.getpid()}")
        try:
            make_folder(target.parent)
            beside.write_text(json.dumps(data), encoding="utf-8")
            os.replace(beside, target)
        except OSError as problem:
            with suppress(OSError):
                beside.unlink()
            self.keeps = False
            note(f"how far you came is not kept after this session: {target}: {problem.strerror}")


def path() -> Path:
    """The file."""
    return Path(folder(), "lesson.json")


def kept() -> Progress:
    """What the file says; the beginning if there is none, or it is damaged."""
    try:
        require_ordinary(path())
        data = json.loads(path().read_text(encoding="utf-8"))
        match data:
            case {"chapter": str(chapter), "step": int(step), "done": list(done), "starts": list(starts)}:
                read = [[_entry(entry) for entry in entries] for entries in starts]
                if 0 <= step < len(read) and all(isinstance(key, str) for key in done):
                    return Progress(chapter, step, done, read)
    except (OSError, ValueError, TypeError, RecursionError):
        pass
    return Progress()


def _entry(data: Any) -> Entry:
    """A statement that was written down. Raises ValueError."""
    match data:
        case [int(line), bool(is_entry), int() | None as seed, str(text)]:
            return Entry(Span(Source("session", text, line, False, is_entry), 0, len(text)), seed)
    raise ValueError
