"""`agrad learn` as a user calls it: from a pipe, and in a pseudo-terminal. tests/test_lesson.py plays each task."""

import json
import os
import re
import subprocess
import sys

import launch
import pytest
from rows import each
from screens import PATIENCE, above_toolbar, telling_its_cursor, terminals

from agrad.cli.lesson.chapters import chapters
from agrad.cli.repl.plain import Opening

CHAPTERS = chapters()
ENTER, TAB, CTRL_D = "\r", "\t", "\x04"


def typed(chapter):
    """The answers to the tasks of a chapter, a line each; an empty line ends a block."""
    statements = [one.statement for step in chapter.steps for one in step.answer]
    return "".join(f"{statement}\n" + "\n" * ("\n" in statement) for statement in statements)


def replies(out):
    """The paragraphs of an output, each in one line."""
    return [" ".join(part.split()) for part in out.split("\n\n")]


def kept(tmp_path):
    return json.loads((tmp_path / "agrad" / "lesson.json").read_text("utf-8"))


# From a pipe


def test_the_whole_lesson_from_a_pipe(agrad):
    out, err, code = agrad("learn", given="".join(map(typed, CHAPTERS)))
    assert code == 0
    assert err.count("error[") == 4 and {*re.findall(r"error\[(\w+)\]", err)} == {"freed", "stale", "leaf", "guard"}
    for chapter in CHAPTERS:
        assert f"\n\nChapter {chapter.number} of 9: {chapter.title}\n\n" in out
        for step in chapter.steps:
            assert step.right.text in replies(out)
    assert replies(out)[-1] == "This is the end of the lesson. You may go on here as in `agrad repl`; `quit` leaves."
    assert out.count("loss\n0.535\n") == 0 and "\n0.01435\n" in out  # the loss is seen to fall
    listed = agrad("learn", "--list")[0].splitlines()
    assert [line.split()[-1] for line in listed] == ["done"] * 9
    assert "You have done all chapters." in agrad("learn")[0]


def test_random_numbers_are_the_same_when_it_continues(agrad):
    first = agrad("learn", given="r = rand()\nr\n3**4\nr\n")[0]
    number = re.findall(r"^0\.\d+$", first, re.MULTILINE)[-1]
    assert f"\n{number}\n" in agrad("learn", given="r\n")[0]


def test_a_chapter_is_printed_for_a_class(agrad):
    one, whole = agrad("learn", "--print", "5")[0], agrad("learn", "--print")[0]
    assert f"\n\n{one.rstrip()}" in whole
    assert max(map(len, whole.splitlines())) <= 100


def test_a_pipe_loads_no_prompt(environment):
    command = [sys.executable, "-X", "importtime", "-m", "agrad.cli", "learn"]
    done = subprocess.run(command, input="", capture_output=True, text=True, env=environment, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "agrad.cli.main" in imported and not {"prompt_toolkit", "numpy"} & imported


@pytest.mark.skipif(os.name == "nt", reason="LANG has no meaning there")
def test_in_the_locale_c_everything_is_ascii(environment, tmp_path):
    given = "skip\n" * sum(len(chapter.steps) for chapter in CHAPTERS)
    plain = {name: text for name, text in environment.items() if name != "PYTHONUTF8"}
    plain |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [*launch.agrad(), "learn"], input=given.encode(), capture_output=True, env=plain, cwd=tmp_path, check=True
    )
    assert done.stdout.isascii() and done.stderr.isascii()
    assert b"This is the end of the lesson." in done.stdout
    assert b"\\u" not in done.stdout


# In a terminal


@pytest.fixture
def terminal(environment, tmp_path):
    """Lessons on terminals."""
    with terminals(telling_its_cursor(environment), tmp_path, "learn") as opening:
        yield opening


@pytest.mark.long
def test_a_chapter_in_a_terminal_and_enter_for_the_next(terminal, tmp_path):
    one = terminal(NO_COLOR="1", rows=60)
    one.enter("3*4", "A power has two stars.")
    one.enter("3**4", "Yes, 81.")
    one.enter("x = 3", "Write\n`var` before the name.")
    one.enter("var x = 3", "9   <PowBackward>")
    one.enter("hint", "It takes two lines: `z = 5*y`, and then `z`.")
    one.enter("skip", "45, made by a multiplication")
    lines = one.enter("graph z", "Press Enter")
    assert above_toolbar(lines).endswith(
        "In short: `var` makes a leaf. What is computed from a leaf has a graph.\n`graph z` shows it.\n\n"
        "> Press Enter for chapter 2, The chain rule by hand. Type `quit` to stop here.\nagrad>"
    )
    one.enter("2*x", "6   <MulBackward>")
    lines = one.enter("", "Chapter 2 of 9: The chain rule by hand")
    one.type(CTRL_D)
    one.until("continues with chapter 2, The chain rule by hand.")
    assert one.process.wait(PATIENCE) == 0
    assert kept(tmp_path)["chapter"] == "2_chain_rule"


@pytest.mark.long
def test_tab_completes_the_words_of_the_lesson_and_of_the_language(terminal):
    one = terminal()
    one.type("ski" + TAB)
    one.see("agrad> skip")
    one.type(ENTER)
    one.see("agrad> 3**4\n81", "> Make a leaf")
    one.type("backw" + TAB)
    one.see("agrad> backward")


@pytest.mark.long
def test_an_answer_in_words_is_answered_in_a_terminal_too_and_a_slip_can_be_corrected(terminal):
    one = terminal(NO_COLOR="1", rows=60)
    one.enter("eighty one", "Questions and words are not understood here.")
    one.type("3* *4" + ENTER)
    one.see("a value is missing between", "Not yet.")
    one.type("\x1b[A")
    one.see("agrad> 3* *4")


@pytest.mark.long
@pytest.mark.parametrize(
    "line",
    ["I don't know", "what is retain?", "z = 5y)", "y'' =", "graph (z"],
)
def test_enter_hands_over_a_wrong_line_and_a_word_works_behind_it(terminal, line):
    one = terminal("3", rows=60, NO_COLOR="1")
    one.see("> Type `backward z`")
    one.type(line + ENTER)
    one.see("error[syntax]", "`hint` helps, `skip` types")
    one.enter("hint", "It takes two lines. The first is `backward z`.")


@pytest.mark.long
@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("hint", "It takes two lines. The first is `backward z`."),
        ("help", "In the lesson, `hint` helps"),
        ("?", "In the lesson, `hint` helps"),
        ("skip", "30, as you computed by hand."),
        ("repeat", "Chapter 3 of 9"),
        ("back", "Chapter 2 of 9"),
        ("quit", "continues with chapter 3"),
    ],
)
def test_a_word_alone_in_an_unfinished_block_works(terminal, word, said):
    one = terminal("3", rows=60, NO_COLOR="1", TERM="dumb" if word == "skip" else "xterm")
    one.see("> Type `backward z`")
    one.type("for k in range(3):" + ENTER)
    one.see("...>")
    one.type("k + (1" + ENTER)
    one.see("k + (1", "...>", "...>")
    one.type(word + ENTER)
    one.until(said)


@pytest.mark.long
def test_in_a_narrow_terminal_no_line_of_the_lesson_is_broken_by_the_terminal(terminal):
    one = terminal("8", columns=40, rows=60, NO_COLOR="1")
    told = " ".join(" ".join(one.see("agrad>")).split())
    for part in CHAPTERS[7].steps[0].told:
        if hasattr(part, "text"):
            assert part.text in told
    assert CHAPTERS[7].steps[0].task in told


@pytest.mark.long
def test_code_is_bold_where_there_is_colour(terminal):
    one = terminal("3")
    assert "`" not in "\n".join(one.see("Type backward z, then grad x."))
    row = next(number for number, line in enumerate(one.lines()) if line.startswith("> Type backward z"))
    assert [one.screen.buffer[row][column].bold for column in (0, 3, 7, 14, 19)] == [True, False, True, True, False]


@pytest.mark.long
def test_a_loop_is_written_at_the_prompt(terminal):
    one = terminal("9", rows=60, NO_COLOR="1")
    for place in range(4):
        one.enter("skip", CHAPTERS[8].steps[place + 1].task[:30])
    one.type("for k in range(10):" + ENTER)
    for line in ("loss = mean((w*t + b - d)**2)", "print loss", "backward loss", "step sgd w b lr=0.1", "zero_grad"):
        one.see("  ...>     ")
        one.type(line + ENTER)
    one.type(ENTER)
    one.see("0.01435", "The loss falls with every round", "plot t, d, w*t + b")


@pytest.mark.long
def test_a_plot_and_what_is_said_of_it_fit_a_screen(terminal):
    one = terminal("9", NO_COLOR="1")
    for place in range(5):
        one.enter("skip", CHAPTERS[8].steps[place + 1].task[:30])
    one.enter("plot t, d, w*t + b", "> Press Enter for the end of the lesson.")
    one.see("agrad> plot t, d, w*t + b", "The points are d, and the line is yours.")
    one.enter("", "This is the end of the lesson.")


@pytest.mark.long
def test_a_dumb_terminal_is_taught_too(terminal):
    one = terminal(TERM="dumb")
    one.type("3**4\r")
    one.see("Yes, 81.", "> Make a leaf named x")


def test_who_has_finished_and_only_looks_has_still_finished(agrad):
    agrad("learn", given="".join(map(typed, CHAPTERS)))
    for _ in range(2):
        assert "You have done all chapters." in agrad("learn", given="vars\nquit\n")[0]
    assert "continues here" not in agrad("learn", "--list")[0]
    assert "continues here, with task 2" in agrad("learn", given="3**4\n")[0] + agrad("learn", "--list")[0]


@pytest.mark.parametrize("skipped", range(4))
def test_a_lost_leaf_can_be_had_back(agrad, skipped):
    lost = "skip\n" * skipped + "x = 4\n"
    assert "Type `undo`" in agrad("learn", "6", given=lost)[0].replace("\n", " ")
    for way in ("repeat\nskip\n", "skip\n", "x = 4\nk = 1\nskip\n", "backward y\ninfo x\nx += 1\nskip\n"):
        out, err, _ = agrad("learn", "6", given=lost + way)
        assert CHAPTERS[5].steps[skipped].right.text in replies(out)
        assert {*re.findall(r"error\[(\w+)\]", err)} <= {"stale", "leaf", "freed"}


@each(
    "text, waits",
    [
        ("graph (z", False),
        ("1 +", False),
        ("for k in range(3):", True),
        ("for k in range(3):  # rounds", True),
        ("for k in range(3):\n    print (k", True),
        ("for k in range(3):\n    print (k\n", False),
        ("for k in range(3):\n    print k", True),
        ("for k in range(3):\n    print k\n", False),
    ],
)
def test_in_the_lesson_only_a_block_waits_for_more(text, waits):
    assert Opening("", submits=True).waits(text) is waits


@pytest.mark.long
def test_the_line_below_the_prompt_does_not_give_the_answer_away(terminal):
    one = terminal("2", NO_COLOR="1")
    one.see("> What is the local derivative of y by x")
    one.type("3*7")
    one.see("agrad> 3*7")
    assert "21" not in "\n".join(one.lines())


def test_who_is_given_other_names_is_told(agrad):
    out, _, _ = agrad("learn", "8", given="skip\nskip\nbackward g\ngrad(grad(g, x), x)\n")
    assert replies(out).count("Names have been changed that this task needs: they are set back.") == 1
    assert CHAPTERS[7].steps[3].right.text in replies(out)
    for chapter in "123456789":
        told = agrad("learn", chapter, given="skip\n" * len(CHAPTERS[int(chapter) - 1].steps))[0]
        assert "set back" not in told


def test_the_name_that_a_failed_line_should_have_given_a_value_recalls_that_line_corrected(agrad):
    _, err, _ = agrad("learn", "4", given="xyz = 3\nz = xyy*2\nz\n")
    *_, last = err.split("error[")
    assert last.startswith("name]: z has no value")
    assert "the line that gives z its value has failed: z = xyy*2" in last
    assert re.findall(r"fix: (.*)", last) == ["z = xyz*2"]


def test_a_name_that_no_failed_line_is_about_recalls_none(agrad):
    _, err, _ = agrad("learn", "4", given="xyz = 3\nz = xyy*2\nw\n")
    assert "has failed" not in err
