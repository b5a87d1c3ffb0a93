"""Hooks, `watch`, Functions of the user and saved values in the language."""

from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session

START = "var a = 3; b = a**2; c = 2*b"


def session(text=START, depth=0):
    made = Session()
    made.steps.depth = depth
    made.run(text)
    return made


def said(made, text):
    lines = []
    made.run(text, lambda result: lines.append(result.text(made.settings)))
    return lines


def test_hooks_are_undone():
    made = session(START, DEPTH)
    made.run("watch b")
    made.undo(1)
    assert said(made, "backward c retain") == []
    made.run("h = b.register_hook(sin)")
    made.run("fails name:\n    h.remove()\n    foo\n")
    made.run("zero_grad; backward c retain; assert a.grad ~= 6*sin(2)")


def test_a_long_loop_calls_a_hook_in_each_iteration():
    made = session("var w = 1; n = [0]\ndef count(g): n[0] += 1\nh = w.register_hook(count)")
    made.run("for i in range(300):\n    loss = (w - 3)**2\n    backward loss\n    step sgd w lr=0.01\n    zero_grad\n")
    assert said(made, "n[0]") == ["300"]
