"""Alt-Up and Alt-Down on the name of a leaf: its value moves, and with it what is shown."""

from pathlib import Path

from answers import table
from rows import each
from sessions import session_of

from agrad.grammar.prompt.changes import Stepping

UP, DOWN, END, LEFT, CTRL_D, CLEAR = "\x1b[1;3A", "\x1b[1;3B", "\x05", "\x1b[D", "\x04", "\x05\x15"


@each(
    "value, up, down",
    table(Path(__file__).with_name("steps.txt")),
)
def test_a_step_is_one_in_the_last_digit_or_about_a_hundredth(value, up, down):
    for direction, there in ((1, up), (-1, down)):
        assert Stepping(session_of(f"var x = {value}")).statement("x", direction) == f"set x = {there};"


def test_further_steps_have_the_size_of_the_first():
    session = session_of("var x = 1.9")
    stepping = Stepping(session)
    said = []
    for direction in (1, 1, -1, -1, -1):
        said.append(stepping.statement("x", direction))
        session.run(said[-1])
    assert said == ["set x = 2;", "set x = 2.1;", "set x = 2;", "set x = 1.9;", "set x = 1.8;"]
    session.run("set x = 7")
    assert stepping.statement("x", 1) == "set x = 8;"


def test_a_value_that_was_computed_and_is_shown_follows():
    session = session_of("var x = 2; y = x**2; z = y + 1; k = 3; var w = 1; q = w*2")
    stepping = Stepping(session)
    assert stepping.statement("x", 1, "x + y*k + q", "plot z*a for a in 0..1") == "forward y z with x=3;"
    session.run("forward y z with x=3;")
    assert (session.names["y"].value, session.names["z"].value) == (9, 10)


@each(
    "text, cursor, name",
    table(Path(__file__).with_name("cursors.txt")),
)
def test_the_name_at_the_cursor(text, cursor, name):
    session = session_of("var x = 2; var xy = 3; y = x*2; var v = [1, 2]; k = 4; var huge = inf; a = [1, 2]")
    assert Stepping(session).leaf(text, int(cursor)) == name


def test_keys_move_a_leaf_and_the_line_stays(typed):
    assert typed(f"var x = 2\rx*10{LEFT * 3}{UP}{UP}{END} + 1\rx\r{CTRL_D}") == ("41   <AddBackward>\n4   <leaf>\n", "")
    assert typed(f"var x = 2\rx{DOWN}\r{CTRL_D}") == ("1   <leaf>\n", "")


def test_a_step_is_one_statement(typed):
    assert typed(f"var x = 2\rx{UP}{UP}\r_2, _3, sin(q)\r{CTRL_D}")[0].startswith("4   <leaf>\n")


def test_what_cannot_be_computed_again_is_reported_and_changes_nothing(typed):
    out, err = typed(f"var x = 1\ry = x*3 if x < 2 else x**2\ry + x{UP}{CLEAR}x\r{CTRL_D}")
    assert out == "1   <leaf>\n"
    assert "y cannot be replayed: it was built where x < 2 was true; now it is false" in err
