"""`agrad repl` as it stands on a screen: long sessions in a pseudo-terminal, at two sizes."""

import os
import re
import stat
import sys

import pytest
import slow_numpy
from screens import Terminal, telling_its_cursor, terminals

from agrad.cli.repl.plain import greeting

pytestmark = pytest.mark.long

ENTER, TAB, UP, DOWN, RIGHT = "\r", "\t", "\x1b[A", "\x1b[B", "\x1b[C"
CTRL_C, CTRL_D, CTRL_R, EDITOR = "\x03", "\x04", "\x12", "\x18\x05"


@pytest.fixture
def terminal(environment, tmp_path):
    """Sessions on terminals."""
    with terminals(telling_its_cursor(environment), tmp_path) as opening:
        yield opening


@pytest.mark.parametrize("bare", [False, True])
def test_brackets_that_match_look_like_nothing_that_is_wrong(terminal, bare):
    one = terminal(**({"NO_COLOR": "1"} if bare else {}))
    one.type("unknown + (1) $")
    one.see("(1) $")
    one.type("\x1b[D" * 2)  # behind the bracket
    one.wait_for(lambda: one.line() == "agrad> unknown + (1)", "the cursor")
    one.see("(1) $")
    row = one.screen.buffer[1]
    styles = {
        part.data: (part.fg, part.bg, part.bold, part.underscore, part.reverse)
        for part in map(row.__getitem__, range(9, 24))
        if part.data in "u()1$"
    }
    plain = ("default", "default", False, False, False)
    if bare:
        assert set(styles.values()) == {plain}
    else:
        assert styles["("] == styles[")"] == ("cyan", "default", True, False, False)
        assert styles["$"] == ("red", "default", False, False, False)
        assert styles["u"] == ("default", "default", False, True, False)
        assert styles["1"] == ("cyan", "default", False, False, False)


def test_a_mistake_is_told_below_and_can_be_mended(terminal):
    one = terminal()
    one.type("2+3)" + ENTER)
    lines = one.see("this `)` closes nothing   fix: delete it, or open one before it")
    assert lines[1] == "agrad> 2+3)"
    assert one.screen.cursor.x == len("agrad 1> 2+3")
    one.type("\x1b[3~" + ENTER)
    assert one.see("\n5")[:4] == [greeting(), "agrad> 2+3", "5", "agrad>"]


def test_up_finds_what_began_the_same_also_from_earlier_sessions(terminal):
    one = terminal()
    for line in ("20 + 1", "30 + 1"):
        one.enter(line, str(int(line[:2]) + 1))
    one.type("2" + UP)
    one.see("31\nagrad> 20 + 1")
    two = terminal()
    two.type("3")
    two.see("agrad> 3")
    two.type(UP)
    two.see("agrad> 30 + 1")
    two.type(ENTER)
    two.see("\n31")


def test_the_right_arrow_takes_what_history_suggests(terminal):
    one = terminal()
    one.enter("20 + 1", "21")
    one.type("20")
    assert one.see("agrad> 20 + 1\n21\nagrad> 20 + 1")
    one.type(RIGHT + ENTER)
    assert "\n".join(one.see("21\nagrad> 20 + 1\n21")).count("\n21") == 2


def test_without_colour_what_is_typed_is_as_any_text(terminal):
    one = terminal(NO_COLOR="1")
    one.shown = ""
    one.type("var x = (nowhere) # none")
    one.see("# none")
    assert not re.search(r"\x1b\[[\d;]*[1-9][\d;]*m", one.shown.replace("\x1b[39m", "").replace("\x1b[49m", ""))


def test_without_colour_nothing_is_suggested(terminal):
    one = terminal(NO_COLOR="1")
    one.enter("20 + 1", "21")
    one.type("20")
    assert one.see("21\nagrad> 20")[3] == "agrad> 20"


def test_ctrl_r_searches_and_enter_takes_what_was_found(terminal):
    one = terminal()
    for line in ("20 + 1", "30 + 1"):
        one.enter(line, str(int(line[:2]) + 1))
    one.type(CTRL_R + "20")
    one.see("I-search backward: 20")
    one.type(ENTER)
    one.see("31\nagrad> 20 + 1")
    one.type(ENTER)
    one.see("agrad> 20 + 1\n21\nagrad>")


def test_the_editor_opens_on_what_is_typed(terminal, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text(f"#!{sys.executable}\nimport sys\nopen(sys.argv[1], 'a').write(' + 5')\n")
    os.chmod(editor, stat.S_IRWXU)
    one = terminal(EDITOR=str(editor), VISUAL=str(editor))
    one.type("2")
    one.see("agrad> 2")
    one.type(EDITOR)
    one.see("agrad> 2 + 5")


def test_ctrl_z_is_never_typed(terminal):
    one = terminal()
    one.type("6*\x1a7\r")  # a session that no shell waits for is not stopped
    one.see("agrad> 6*7\n42\n")


def test_carets_stand_below_what_they_mark_however_narrow_the_terminal_is(terminal):
    one = terminal(columns=60)
    one.type(f"y = {'1 + ' * 14}zz\r")
    lines = one.see("fix:")
    at = next(number for number, line in enumerate(lines) if " | …" in line)
    assert max(map(len, lines[at:])) < 60
    assert lines[at][lines[at + 1].index("^") :] == "zz"


def test_a_graph_is_folded_below_its_last_column(terminal):
    one = terminal(columns=50)
    one.enter("var weight = 2")
    one.enter("loss = sin(weight)*weight**2")
    one.enter("retain loss")
    one.enter("backward loss")
    one.enter("graph loss", "\n      = 3.637189707   freed by line 4, took %2 %3\n      retained   grad 1\n")


def test_tables_are_as_narrow_as_the_terminal(terminal):
    one = terminal(columns=50, rows=40)
    one.enter("var a = arange(50)")
    one.enter("b = a**2")
    one.enter("vars", "Pow, held")
    lines = one.enter("info b", "kept by  b")
    assert max(map(len, lines)) <= 50
    assert lines[5] == "a  leaf       (50)  [0, 1, 2, 3, 4, 5, 6, 7, 8, …"


def test_vi_keys_and_their_mode(environment, tmp_path):
    with Terminal(telling_its_cursor(environment), "repl", "--vi", folder=tmp_path) as one:
        one.see("agrad>", "vi: insert")
        one.type("2 + 3")
        one.see("2 + 3")
        one.type("\x1b")
        one.see("vi: navigation")
        one.type("0rx")
        one.see("agrad> x + 3")


def test_a_folder_that_cannot_be_made_is_one_note(terminal, tmp_path):
    (tmp_path / "nowhere").write_text("")
    one = terminal(XDG_STATE_HOME=str(tmp_path / "nowhere"), columns=200)
    lines = one.enter("6*7", "\n42\n")
    assert [line.partition(":")[2][:40] for line in lines if line.startswith("note")] == [
        " what you type is not kept after this se"
    ]


def test_the_screen_is_cleared_and_a_search_without_result_says_so(terminal):
    one = terminal()
    one.enter("20 + 1", "21")
    one.type("clear" + ENTER)
    one.wait_for(lambda: one.lines()[0] == "agrad>", "a screen with a prompt alone")
    one.type(CTRL_R + "20 +")
    assert "not found" not in "\n".join(one.see("20 + 1", "I-search backward: 20 +"))
    one.type("zz")
    one.see("not found: 20 +zz")
    one.type(CTRL_C)
    one.see("agrad>")


def test_escape_closes_the_menu(terminal):
    one = terminal()
    one.type("si" + TAB)
    one.see("sinh(x)")
    one.type("\x1b")
    one.wait_for(lambda: "sinh(x)" not in "\n".join(one.lines()), "no menu")
    one.type("n(0)" + ENTER)
    one.see("\n0\nagrad>")


def test_the_toolbar_at_40_columns(terminal):
    one = terminal(columns=40, rows=20)
    one.enter("var x = [1, 2, 3, 4]; y = x**2")
    one.enter("z = mean(y*y); w = sum(y)")
    lines = one.enter("backward z; var k = 2")
    assert re.fullmatch(r" (2 leaves   )?4 nodes, 3 of them freed   \S+ m?s", lines[-1])
    one.enter("var other = 3")
    for typed, below in (
        ("k**other + k*other", " = 14   d/dk 15   d/dother 7.545"),
        ("max(k, other", " max(x, ‹*others›, axis=None, …)   = 3"),
        ("k*other + sin(k)*cos(other)*exp(k)", " = -0.6516   d/dk -0.6075 …"),
        ("load_csv(", " load_csv(‹path›, columns=None, …)"),
    ):
        one.type(typed)
        one.wait_for(lambda below=below: one.lines()[-1] == below, below)
        one.type(CTRL_C)
        one.wait_for(lambda: one.line() == "agrad>", "an empty line")
    one.type("k 2" + ENTER)
    lines = one.see("fix: k*2")
    assert lines[-2:] == ["an operator is missing between `k` and", " `2`   fix: k*2   (Tab)"]


def test_the_first_array_is_not_blamed_for_loading_numpy(terminal, tmp_path):
    one = terminal(**slow_numpy.slow(tmp_path))
    one.enter("var x = [1, 2]")
    assert re.fullmatch(r" 1 leaf   \S+ ms", one.lines()[-1])
    one.enter("x*2", "[2, 4]")
