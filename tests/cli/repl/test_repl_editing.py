"""Typing at the prompt: lines and margins, pasted text, mistakes, questions, colour, keys."""

import random
import sys
from collections import deque
from pathlib import Path

import pytest
from answers import answers
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.search import SearchDirection, SearchState
from prompt_toolkit.validation import ValidationError
from rows import each

from agrad.cli.repl.editor import Highlighter, KeptHistory, highlighted, search_quickly
from agrad.cli.repl.plain import answered
from agrad.cli.repl.plain import pasted_statements as statements
from agrad.cli.repl.toolbar import SyntaxValidator
from agrad.cli.settings import state_folder
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.parser import tokens

CTRL_C, CTRL_D, ALT_ENTER, BACKSPACE, DELETE, TAB = "\x03", "\x04", "\x1b\r", "\x7f", "\x1b[3~", "\t"


def pasted(text):
    """As a terminal hands on what is pasted."""
    return f"\x1b[200~{text}\x1b[201~"


# Lines and margins


def test_a_block_is_indented_and_ends_with_an_empty_line(typed):
    assert typed("def f(x):\rif x:\rreturn 2\r" + "return 3\r\rf(0), f(1)\r" + CTRL_D) == ("(3, 2)\n", "")


def test_what_follows_the_colon_is_a_remark(typed):
    assert typed("if 1:  # always\r2\r\r" + CTRL_D) == ("2\n", "")


def test_backspace_in_a_margin_goes_back_one_block(typed):
    assert typed("if 0:\r1\r" + BACKSPACE + "else:\r2\r\r" + CTRL_D) == ("2\n", "")


def test_tab_in_a_margin_goes_to_the_next_block(typed):
    assert typed("if 1:\r" + BACKSPACE + " " + TAB + "3\r\r" + CTRL_D) == ("3\n", "")


def test_alt_enter_breaks_a_line_that_is_complete(typed):
    assert typed("x = 1" + ALT_ENTER + "x + 1\r" + CTRL_D) == ("2\n", "")


def test_an_open_bracket_waits_for_its_end(typed):
    assert typed("sum([1,\r2,\r3])\r" + CTRL_D) == ("6\n", "")


# Pasted


PROGRAM = "def f(x):\n    y = x*2\n\n    if y > 1:\n        y = 1\n    return y\nf(3)\nf(0)\n"


def test_a_pasted_block_runs_as_a_whole(typed):
    assert typed(pasted("x = 2\ny = x*3\ny\n") + "\r" + CTRL_D) == ("6\n", "")
    assert typed(pasted(PROGRAM) + "\r" + CTRL_D) == ("1\n0\n", "")


def test_a_pasted_line_waits_for_enter(typed):
    assert typed(pasted("6*7\n") + "+1\r" + CTRL_D) == ("43\n", "")


def test_the_rest_of_a_line_that_is_cut_short_can_be_typed(typed):
    assert typed("x = 3\rx*" + CTRL_C + "7\r" + CTRL_D) == ("7\n", "")


def test_an_error_in_a_pasted_block_has_its_line(typed):
    out, err = typed("1\r" + pasted("2\nsin(q)\n3\n") + "\rsin(p)\r" + CTRL_D)
    assert out == "1\n2\n"
    assert "session line 3 | sin(q)" in err
    assert "session line 5 | sin(p)" in err


@each(
    "text, left",
    [
        ("x = 2\ny = 3\n", "x = 2\ny = 3\n"),
        ("agrad> x = 2\nagrad> x*3\n6\nagrad> \n", "x = 2\nx*3\n\n"),
        ("agrad> def f(x):\n  ...>     return x\n  ...>\nagrad> f(2)\n2", "def f(x):\n    return x\n\nf(2)"),
        (">>> x = 2\r\n>>> for i in x:\r\n...     i\r\n...\r\n2\r\n", "x = 2\nfor i in x:\n    i\n\n"),
        ("In [1]: x = [1,\n   ...: 2]\n\nIn [2]: x\nOut[2]: [1, 2]", "x = [1,\n2]\nx"),
        ("x = 1 >>> 2", "x = 1 >>> 2"),
        ("...", "..."),
    ],
)
def test_prompts_are_left_out_with_the_answers_between_them(text, left):
    assert statements(text) == left


def test_a_transcript_can_be_pasted(typed):
    text = "agrad> x = 2\nagrad> def f(y):\n  ...>     return x*y\n  ...>\nagrad> f(4)\n8\nagrad> f(5)\n"
    assert typed(pasted(text) + "\r" + CTRL_D) == ("8\n10\n", "")


def test_a_torch_snippet_can_be_pasted(typed):
    text = ">>> import torch\n>>> x = torch.tensor([1., 2.], requires_grad=True)\n>>> y = (x**2).sum()\n"
    text += ">>> y.backward()\n>>> x.grad\ntensor([2., 4.])\n"
    told = "note: from here on this session reads Python; `calculator` goes back\n"
    assert typed(pasted(text) + "\r" + CTRL_D) == ("tensor([2., 4.])\n", told)


# Mistakes


@each(
    "text, place, message",
    [
        ("2+3)", 3, "this `)` closes nothing   fix: delete it, or open one before it"),
        ("x = = 2", 4, None),
        ("backward = 3", 0, None),
        ("1\n2 3", 4, "an operator is missing between `2` and `3`   fix: 2*3   (Tab)"),
        ("2 +", 3, None),
        ('x = load_csv("a', 15, None),
    ],
)
def test_the_cursor_goes_to_the_mistake(text, place, message):
    with pytest.raises(ValidationError) as caught:
        SyntaxValidator(lambda text: text, Session()).validate(Document(text))
    assert caught.value.cursor_position == place
    assert message in (None, caught.value.message)


def test_a_line_with_a_mistake_does_not_run_and_can_be_mended(typed):
    assert typed("2+3)\r" + DELETE + "\r" + CTRL_D) == ("5\n", "")


@each("text", ["", "# nothing", "sin(q)", "x = 3", "def f(x):\n    return x\n"])
def test_what_can_be_parsed_is_let_through(text):
    SyntaxValidator(lambda text: text, Session()).validate(Document(text))


# Questions


@each(
    "text, command",
    [
        ("?", "help"),
        ("? sin", "help sin"),
        ("sin?", "help sin"),
        ("  sin ? ", "help sin"),
        ("?**", "help **"),
        ("x?", "info x"),
        ("? x", "info x"),
        ("x = 3", "x = 3"),
        ("a b?", "a b?"),
    ],
)
def test_a_question_is_help(text, command):
    assert answered(text, {"x"}) == command


def test_questions_at_the_prompt(typed):
    out, err = typed("sin?\r? operators\rx = 2\rx?\r?sinn\r" + CTRL_D)
    assert out.startswith("sin(x)\n  The sine")
    assert "operators, the tightest first" in out
    assert "x      plain" in out
    assert err.startswith("error[name]: there is no help on sinn\n")
    assert "  fix: help sin\n" in err


# Colour


def coloured(text):
    return highlighted(text, tokens(text))


def test_the_coloured_pieces_join_to_the_text():
    text = "var x = [1,\n  2]  # two\n\nprint 'é', x²\n"
    joined = "\n".join("".join(piece for _, piece in line) for line in coloured(text))
    assert joined == text


def test_tokens_are_coloured_by_their_kind():
    assert ("class:number", "12") in coloured("12 + x")[0]
    assert ("class:comment", "# hi") in coloured("1\n2 # hi")[1]


@each("text, strangers", answers(Path(__file__).with_name("unknown_names.txt")).items())
def test_names_that_mean_nothing_are_underlined(text, strangers):
    session = Session()
    session.run("x = 1")
    lines = Highlighter(session).lex_document(Document(text))
    pieces = [piece for number in range(text.count("\n") + 1) for piece in lines(number)]
    assert [text for style, text, *_ in pieces if "class:unknown" in style] == strangers.split()


def test_a_text_that_is_edited_has_the_colours_of_one_that_is_not():
    session = Session()
    session.run("x = 1")
    typed, dice = Highlighter(session), random.Random(3)
    text = "var q = x*2 + (y\n" + "p = [x, q, r]  # why\n" * 40
    for _ in range(100):
        at = dice.choice((len(text), dice.randrange(len(text))))
        text = (
            text[:at]
            + dice.choice(["q", " = 1\n", ")", "\n", '"', " sin(z) ", "# ", ""])
            + text[at + dice.choice((0, 1)) :]
        )
        document = Document(text, 0)
        one, other = typed.lex_document(document), Highlighter(session).lex_document(document)
        assert all(one(number) == other(number) for number in range(text.count("\n") + 1))


def test_a_name_is_known_as_soon_as_it_is():
    session = Session()
    highlighter = Highlighter(session)
    before = highlighter.invalidation_hash()
    session.run("q = 1")
    assert highlighter.invalidation_hash() != before


def test_a_very_long_text_is_not_coloured():
    text = "x = [" + "1, " * 10000 + "]"
    assert Highlighter(Session()).lex_document(Document(text))(0) == [("", text)]


# Keys


def test_vi_keys(typed):
    assert typed("2 + 3\x1b0xi4\r" + CTRL_D, vi=True) == ("7\n", "")


def test_with_vi_keys_escape_and_enter_are_two_and_o_opens_a_line(typed):
    assert typed("1 + 2\x1b\r" + CTRL_D, vi=True) == ("3\n", "")
    assert typed("if 1:\x1bo    6*7\x1b\r\r" + CTRL_D, vi=True) == ("42\n", "")


def test_with_the_other_keys_escape_and_enter_break_the_line(typed):
    assert typed("(1 + 2)\x1b\r\x7f\r" + CTRL_D) == ("3\n", "")
    assert typed("[1\x1b\r, 2]\r" + CTRL_D) == ("[1, 2]\n", "")


def test_shift_tab_takes_back_an_indentation(typed):
    """The third line is no part of the inner block."""
    assert typed("for i in range(2):\rif i:\r7\r\x1b[Z8\r\r" + CTRL_D) == ("8\n7\n8\n", "")


def test_the_history_offers_each_line_once(tmp_path):
    kept = KeptHistory(tmp_path / "history")
    for line in ("1 + 1", "2 + 2", "1 + 1", "3 + 3"):
        kept.store_string(line)
    assert list(KeptHistory(tmp_path / "history").load_history_strings()) == ["3 + 3", "1 + 1", "2 + 2"]


def test_a_search_finds_what_prompt_toolkit_finds(tmp_path):
    """The quick search beside the library's, from every line, upper case and lower case."""
    lines = ["alpha = 1", "beta = Alpha + 1", "x = 2\ny = alpha", "gamma", "Beta", ""]
    for text in ("alpha", "Alpha", "beta", "a", "=", "nothing", "2\ny"):
        for ignore in (True, False):
            for start in range(len(lines)):
                found = []
                for quick in (False, True):
                    buffer = Buffer()
                    buffer._working_lines = deque(lines)
                    buffer.working_index = start
                    if quick:
                        search_quickly(buffer)
                    state = SearchState(text, SearchDirection.BACKWARD, ignore_case=ignore)
                    found.append(buffer._search(state))
                assert found[0] == found[1], (text, ignore, start)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all is in one folder")
def test_what_an_earlier_version_kept_is_moved(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "config" / "agrad" / "sessions").mkdir(parents=True)
    (tmp_path / "config" / "agrad" / "history").write_text("kept")
    (tmp_path / "config" / "agrad" / "init.ag").write_text("x = 1")
    assert state_folder() == str(tmp_path / "state" / "agrad")
    assert (tmp_path / "state" / "agrad" / "history").read_text() == "kept"
    assert sorted(path.name for path in (tmp_path / "config" / "agrad").iterdir()) == ["init.ag"]
    (tmp_path / "config" / "agrad" / "history").write_text("of another version")
    state_folder()
    assert (tmp_path / "state" / "agrad" / "history").read_text() == "kept"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all is in one folder")
@pytest.mark.parametrize("place", ["", "relative"])
def test_a_state_folder_that_is_no_absolute_path_is_ignored(place, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", place)
    assert state_folder() == str(tmp_path / ".local" / "state" / "agrad")


@each(
    "pasted, lines",
    [
        ("for i in x:\n\ty = i\n\t\tz\n", "for i in x:\n    y = i\n        z\n"),
        (">>> for i in x:\n...   \ty\n", "for i in x:\n    y\n"),
        ('s = "a\tb"\n', 's = "a\tb"\n'),
    ],
)
def test_tabs_in_the_margin_of_a_paste_are_spaces(pasted: str, lines: str) -> None:
    assert statements(pasted) == lines


# Fixes


ALT_1, ALT_2 = "\x1b1", "\x1b2"


@each(
    "keys, expected",
    [
        ("sin 1\r" + TAB + "\r", "0.8414709848"),  # a line that is refused
        ("sin 1\r" + ALT_1 + "\r", "0.8414709848"),
        ("if 1:\rsin 1\r\r" + TAB + "\r\r", "0.8414709848"),  # of several lines, the one that is wrong
        ("solve p + q = 3\r" + TAB + "\r", "p = 2"),  # an error, on the empty line after it
        ("solve p + q = 3\r" + ALT_2 + "\r", "q = 1"),
    ],
)
def test_a_key_puts_a_fix_into_the_line(keys, expected, typed):
    out, _ = typed("p = 2; q = 1\r" + keys + CTRL_D)
    assert expected in out


def test_a_fix_is_offered_until_the_next_line_runs(typed):
    out, _ = typed("p = 2; q = 1\rsolve p + q = 3\r3\r" + TAB + BACKSPACE * 40 + "p*10\r" + CTRL_D)
    assert out.endswith("20\n")
