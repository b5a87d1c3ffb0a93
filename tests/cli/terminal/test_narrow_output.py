"""The output of the commands in a narrow terminal."""

from contextlib import suppress

import pytest
from screens import Terminal

SCRIPT = """\
var x = 2
u = x^2
y = sin(u)*u
explain y
graph y
backward y trace
"""
# What each is to show whole, which the edge of the screen would cut.
SHOWN = [
    (["graph", "sin(x^2)*x", "x=2"], ["%3  sin(x^2)    Sin   ()", "= -0.7568024953"]),
    (["check", "sin(x^2)", "x=2"], ["rel  verdict"]),
    (["run", "script.ag"], ["= -0.7568024953", "%4  y = sin(u)*u  Mul   ()"]),
    (["learn", "--list"], ["9  Training a line"]),
    (["repl", "--resumee"], ["error[usage]: no such option --resumee", "fix: agrad repl --resume"]),
]


@pytest.mark.parametrize(("arguments", "shown"), SHOWN)
def test_lines_are_folded(environment, tmp_path, arguments, shown):
    (tmp_path / "script.ag").write_text(SCRIPT, "utf-8")
    with Terminal(environment, *arguments, columns=40, rows=60, folder=tmp_path) as one:
        with suppress(AssertionError):  # it has ended
            one.wait_for(lambda: False, "the end")
        lines = [line.strip() for line in one.lines()]
    assert [text for text in shown if text not in lines] == [], "\n".join(lines)
