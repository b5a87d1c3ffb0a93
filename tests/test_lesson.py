"""The texts of the lesson: what they show is what agrad prints, what they claim holds, and each answer gets its reply.

After a change that is meant: python tests/test_lesson.py writes today's output into the transcripts of the chapters.
"""

import io
import re
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))  # for Python; pytest adds it by itself
from rows import each

from agrad.cli.commands.repl import loop
from agrad.cli.lesson.chapters import WIDTH, Heard, Prose, chapters, files, holds, transcript, wrapped
from agrad.cli.lesson.teacher import Progress, Teacher
from agrad.engine.errors import AgradError
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session

CHAPTERS = chapters()
STEPS = [(chapter, place) for chapter in CHAPTERS for place in range(len(chapter.steps))]
SHOWN = re.compile(r"^```agrad\n(?P<fenced>.*?)^```|^answer:\n(?P<answer>(?:    [^\n]*\n)+)", re.MULTILINE | re.DOTALL)


def heard(action, *given):
    """What is printed by it, on something that can show every character."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with redirect_stdout(out), redirect_stderr(out):
        action(*given)
    return out.buffer.getvalue().decode()


def again(path):
    """The text of a chapter, with today's output in its transcripts."""
    session = Session()
    session.steps.depth = DEPTH  # as at the prompt

    def shown(found):
        margin = "" if found["fenced"] is not None else "    "
        lines = [line.removeprefix(margin) for line in (found["fenced"] or found["answer"]).rstrip("\n").split("\n")]
        made = []
        for typed in transcript(lines):
            made += [*typed.lines(), *heard(loop, session, iter([typed.statement]), True).rstrip("\n").split("\n")]
        body = "".join(f"{margin}{line}".rstrip() + "\n" for line in made if line)
        return f"```agrad\n{body}```" if found["fenced"] is not None else f"answer:\n{body}"

    return SHOWN.sub(shown, path.read_text(encoding="utf-8"))


@each("path", files())
def test_what_a_chapter_shows_is_what_agrad_prints(path):
    assert again(path) == path.read_text(encoding="utf-8"), "python tests/test_lesson.py writes it anew"


# Playing it

ROWS = 22  # of a terminal with 24: the prompt and the line below it take two
ASKED = {"f(1) == 1"}  # the conditions that hold before anything is done, and say so


class Lesson:
    """A lesson that is played, from the beginning of a chapter; `said` is what was printed since the last statement."""

    def __init__(self, chapter):
        self.session = Session()
        self.session.record.on = True
        self.teacher = Teacher(self.session, CHAPTERS, Progress(keeps=False), waits=True)
        self.said = heard(self.teacher.begin, chapter)

    def type(self, *statements):
        """Type statements; what is printed for the last."""
        for statement in statements:
            typed = self.teacher.taught(iter([statement]))
            self.said = heard(loop, self.session, typed, True, self.teacher.emit, self.teacher.report)
        return self.said

    def at(self, place):
        """Go on to a step of the chapter."""
        while self.teacher.place < place:
            self.type("skip")
        return self

    def is_past(self, place):
        """Whether the task of a step is done."""
        return self.teacher.place == place + 1 or self.teacher.resting

    def return_to(self, place):
        """Go back to a step, from it or from behind it: the session is as it was at its beginning."""
        self.type("back" if self.teacher.place == place + 1 else "repeat")
        assert (self.teacher.place, self.teacher.resting) == (place, False)


def named(chapter, place):
    return f"{chapter.number}.{place + 1}"


def paragraph(text):
    return "\n" + wrapped(text, WIDTH) + "\n"


@each("chapter, place", STEPS)
def test_the_answer_of_a_task_is_right_and_nothing_less(chapter, place):
    lesson, wanted = Lesson(chapter).at(place), chapter.steps[place]
    *first, last = [typed.statement for typed in wanted.answer]
    for statement in first:
        lesson.type(statement)
        assert (lesson.teacher.place, lesson.teacher.resting) == (place, False)
    assert paragraph(wanted.right.text) in lesson.type(last)
    assert lesson.is_past(place)


@each("chapter, place", STEPS[:-1])  # the last draws a plot, as high as the terminal
def test_an_answer_with_the_next_task_fits_a_screen(chapter, place):
    lesson = Lesson(chapter)
    assert lesson.said.count("\n") <= ROWS
    lesson.at(place)
    for typed in chapter.steps[place].answer:
        assert lesson.type(typed.statement).count("\n") + len(typed.lines()) <= ROWS


@each("chapter, place", STEPS)
def test_another_right_answer_is_right(chapter, place):
    lesson, wanted = Lesson(chapter).at(place), chapter.steps[place]
    for statements in wanted.also:
        assert paragraph(wanted.right.text) in lesson.type(*statements), statements
        assert lesson.is_past(place)
        lesson.return_to(place)


@each("chapter, place", STEPS)
def test_each_wrong_answer_gets_its_reply(chapter, place):
    lesson, wanted = Lesson(chapter).at(place), chapter.steps[place]
    for reply in wanted.replies:
        assert lesson.type(*reply.tried).endswith(paragraph(reply.text)), reply
        assert not lesson.is_past(place)
        lesson.return_to(place)


@each("chapter, place", STEPS, short=3)
def test_after_a_wrong_answer_the_lesson_can_be_continued(chapter, place):
    lesson, wanted = Lesson(chapter).at(place), chapter.steps[place]
    for reply in wanted.replies:
        lesson.type(*reply.tried)
        assert paragraph(wanted.right.text) in lesson.type("skip"), reply
        lesson.return_to(place)


@each("chapter, place", STEPS)
def test_who_only_asks_something_else_gets_no_reply_to_a_wrong_answer(chapter, place):
    lesson, wanted = Lesson(chapter).at(place), chapter.steps[place]
    said = lesson.type("print 'hello'")
    assert said in ("hello\n", *(f"hello\n{paragraph(one.text)}" for one in wanted.replies if one.condition in ASKED))


@each("chapter, place", STEPS)
def test_each_claim_holds(chapter, place):
    lesson, wanted = Lesson(chapter).at(place), chapter.steps[place]
    told = [claim for part in wanted.told if isinstance(part, Prose) for claim in part.claims]
    assert all(holds(claim, lesson.session, Heard()) for claim in told), told
    for typed in wanted.answer:
        with suppress(AgradError):
            lesson.session.run(typed.statement)
    assert all(holds(claim, lesson.session, Heard()) for claim in wanted.right.claims), wanted.right


def advised(said):
    """What a reply says to type, statement by statement."""
    return re.findall(r"`([^`]+)`", " ".join(said.split()).partition("ype ")[2])


@each("chapter, place", STEPS, short=3)
def test_who_follows_a_reply_and_those_after_it_gets_on(chapter, place):
    lesson, wanted = Lesson(chapter).at(place), chapter.steps[place]
    for reply in wanted.replies:
        lesson.type(*reply.tried)
        advice = advised(reply.text)
        for _ in range(4):
            for line in advice:
                if not lesson.is_past(place):
                    lesson.type(line)
            advice = advised(lesson.said.rpartition("\n\n")[2])
        if not {*advised(reply.text)} <= {"undo", "repeat"}:
            assert lesson.is_past(place), (reply, lesson.said)
        lesson.return_to(place)


def main():
    for path in files():
        path.write_text(again(path), encoding="utf-8")


if __name__ == "__main__":
    main()
