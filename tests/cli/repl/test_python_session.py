"""The real program at a prompt where Python is read: values, mistakes, Ctrl-C, undo, quitting, and coming back."""

import os

import pytest
from screens import PATIENCE, Terminal

pytestmark = pytest.mark.skipif(os.name == "nt", reason="it needs a pseudo-terminal")

LINES = [
    "y = 2^3;",
    "import torch",
    "y",
    "w = torch.tensor([1., 2.], requires_grad=True)",
    "(w*w).sum().backward(); w.grad",
    "def f(a):\n    return [a]*2\n",
    "f(3)",
    "1/0",
    "_",
]
SHOWN = """\
agrad> y = 2^3;
agrad> import torch
note: from here on this session reads Python; `calculator` goes back
agrad> y
8.0
agrad> w = torch.tensor([1., 2.], requires_grad=True)
agrad> (w*w).sum().backward(); w.grad
tensor([2., 4.])
agrad> def f(a):
  ...>     return [a]*2
agrad> f(3)
[3, 3]
agrad> 1/0
error[domain]: ZeroDivisionError: division by zero
  session line 8 | 1/0
                 | ^^^
agrad> _
[3, 3]"""


def test_a_session_of_torch_goes_on_after_mistakes_and_comes_back(tmp_path):
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    environment = os.environ | home | {"TERM": "xterm"}
    with Terminal(environment, columns=110, rows=60) as one:
        one.wait("agrad>")
        for line in LINES:
            first, *below = line.split("\n")
            if below:
                one.type(f"{first}\r{below[0].strip()}\r\r")
                one.wait(f"...>     {below[0].strip()}\nagrad>")
            else:
                one.enter(line)
        assert SHOWN in "\n".join(one.lines())
        one.until("_")
        one.type('print("be" "gun"); all(True for _ in iter(int, 1))\r')
        one.until("begun\r\n")
        one.type("\x03")
        one.wait("interrupted: everything is as before this statement\nagrad>")
        one.enter("undo")
        one.wait("took back: def f(a): …")
        one.type("x = 2..3\r")
        one.wait("SyntaxError: invalid syntax")
        one.type("\x03")
        one.type("torch.nn.Line\t")
        one.wait("torch.nn.Linear")
        one.type("\x03quit\r")
        one.process.wait(PATIENCE)
    with Terminal(environment, "repl", "--resume", columns=110, rows=60) as one:
        one.wait("agrad>")
        assert "this session reads Python; `calculator` goes back" in "\n".join(one.lines())
        one.enter("print(w.grad, y)")
        one.wait("tensor([2., 4.]) 8.0")
        one.enter("f")
        one.wait("NameError: name 'f' is not defined")
        one.enter("calculator")
        one.enter("2*w")
        one.wait("[2, 4]   <MulBackward0>")


def test_a_session_goes_on_as_its_script_ended(tmp_path, agrad):
    told = "note: this session reads Python, as the script did; `calculator` goes back\n"
    for text, out, err in (("x = [1]\n", "[1, 1]\n", told), ("import math\ncalculator\nx = [1]\n", "[2]\n", "")):
        script = tmp_path / ("a.py" if err else "a.ag")
        script.write_text(text, "utf-8")
        assert agrad("repl", str(script), given="print(x*2)\n") == (out, err, 0)
