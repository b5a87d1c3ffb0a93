"""Scripts of PyTorch as agrad reads them: rewritten lines say how, and what comes out runs as the script does."""

import re

import pytest
from thinned import thinned

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source
from agrad.grammar.lint.port import ported
from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session
from tests.support.tutorials import SCRIPTS

LINES = {
    "import torch": "# import torch   dropped: the names of agrad, math, numpy and torch are known",
    "import sys  # for exit": "# import sys  # for exit   dropped: sys is not needed: quit ends a script, and args has its arguments",
    "import torch; x = 3": "pass; x = 3  # import torch dropped: the names of agrad, math, numpy and torch are known",
    "if 1: import torch": "if 1: pass  # import torch dropped: the names of agrad, math, numpy and torch are known",
    "from torch.nn import Linear as L": "from torch.nn import Linear as L",
    "x = 3  # as it is": "x = 3  # as it is",
    "y = torch.sin(torch.pi)": "y = sin(pi)  # torch.sin -> sin, torch.pi -> pi",
    "y = torch.cat([[1], [2]], dim=0)": "y = concat([[1], [2]], axis=0)  # torch.cat -> concat, dim -> axis",
    "y = torch.clamp(3, min=1, max=2)": "y = clip(3, lo=1, hi=2)  # torch.clamp -> clip, min -> lo, max -> hi",
    "y = tensor(3).clamp(min=4)": "y = tensor(3).clip(lo=4)  # clamp -> clip, min -> lo",
    "y = torch.max(tensor([1, 3]), dim=0)": "y = torch.max(tensor([1, 3]), dim=0)",
    "y = nn.Linear(2, 3)": "y = nn.Linear(2, 3)",
    'y = "torch.sin(1)"': 'y = "torch.sin(1)"',
    'y = f"{torch.sin(1)}"': 'y = f"{sin(1)}"  # torch.sin -> sin',
    "y = zeros(2, dtype=torch.float64)": "y = zeros(2, dtype=torch.float64)",
    "y = torch.foo(1)": "y = torch.foo(1)  # agrad cannot run this: agrad has no torch.foo",
    "y = 3 +": "y = 3 +  # agrad cannot run this: a value is missing after `+`",
    "y = zzz": "y = zzz  # agrad cannot run this: zzz has no value",
}


def port(text):
    return ported(Source("a.py", text, 1, True))


@pytest.mark.parametrize("line", LINES)
def test_a_line(line):
    assert port(f"{line}\n").text == f"{LINES[line]}\n"


def test_a_name_of_the_script_is_not_taken_for_a_function():
    text = "exp = 2\ny = torch.exp(exp)\ndef f(sin): return math.sin(sin)\n"
    assert port(text).text == text
    text = "class A:\n    def clamp(self, x): return x\nA().clamp(3)\n"
    assert port(text).text == text


def test_what_it_cannot_run_is_reported_and_the_rest_is_rewritten():
    found = port("x = torch.sin(1)\nz = (3\nw = torch.cos(3)\n")
    assert [problem.message for problem in found.problems] == ["this `(` is never closed"]
    assert found.text.split("\n") == [
        "x = sin(1)  # torch.sin -> sin",
        "z = (3  # agrad cannot run this: this `(` is never closed",
        "w = cos(3)  # torch.cos -> cos",
        "",
    ]


def test_a_transcript():
    assert port(">>> import torch\n>>> x = torch.sin(1)\n>>> x\n0.84\n").text.split("\n")[1:3] == [
        "x = sin(1)  # torch.sin -> sin",
        "x",
    ]


def outputs(text):
    session, found = Session(), []

    def emit(result):
        if not isinstance(result, Noted):
            found.append(result.text(session.settings))

    try:
        session.run(text, emit, "a.py", is_file=True)
    except AgradError as error:
        found.append(error.message)
    return [re.sub(r"\d+\.\d+ s", "", one) for one in found]


@pytest.mark.parametrize("name", thinned(SCRIPTS, 3))
def test_what_comes_out_runs_as_the_script_does(name):
    text = SCRIPTS[name][0]
    found = port(text)
    assert found.problems == []
    assert outputs(found.text) == outputs(text)
    again = port(found.text)
    assert again.text == found.text
