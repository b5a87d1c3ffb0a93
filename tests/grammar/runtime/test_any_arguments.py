"""Any function called with any arguments gives a result or an AgradError."""

import pytest
from thinned import thinned

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

START = "var x = 2; y = x*x; t = [1, 2.0]; M = [[1, 2], [3, 4.0]]"
POSITIONAL = ["", "y.grad_fn", "None", '"a"', "x, y.grad_fn", "x, None", 'x, "a"', "x, sin", "t, y.grad_fn", "()"]
POSITIONAL += ["zeros(0, 3)", "((1, 2), 3)", "0..2", "t, t", "M, t", "t, 2", "t, nan", "M, inf", "t, (1, (2, 3))"]
POSITIONAL += ["nn.Linear", "nn.ReLU, 1", "nn.Linear, t", "nn.ReLU()", "optim.SGD, t", "[x, t]", "[]", "lambda u: u, 1"]
KEYWORDS = ["", 'axis="a"', "nosuch=1", "axis=y.grad_fn", "axis=(0, 0)", "axis=7", "axis=nan"]


def texts(name):
    """Calls of a function, also as a method."""
    for keywords in KEYWORDS:
        for given in POSITIONAL:
            yield f"{name}({', '.join(filter(None, (given, keywords)))})"
        for target in ("t", "x", "y.grad_fn"):
            yield f"({target}).{name}({keywords})"


@pytest.mark.parametrize("name", thinned(sorted(filter(str.isidentifier, FUNCTIONS)), 20))
def test_a_call_gives_a_result_or_an_error_of_agrad(name):
    session = Session()
    session.context.files.on = False
    session.run(START)
    for text in texts(name):
        try:
            session.run(text)
        except AgradError:
            pass
        except Exception as problem:
            raise AssertionError(text) from problem
