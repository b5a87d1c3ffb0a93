"""What is advised where a name, an option or a function is not what it was taken for: whole messages."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import render
from agrad.grammar.session import Session

PRINT = """\
error[name]: print is a statement: it takes values alone, with no sep= and no end=, and gives none
  session line 1 | {line}
                 | {margin}^^^^^
  fix: print a, b   or print f"{{a}}, {{b}}\""""

WHOLE = {
    'print(1, end="")': PRINT.format(line='print(1, end="")', margin=""),
    "x = print(3)": PRINT.format(line="x = print(3)", margin="    "),
    "torch": """\
error[name]: torch is no value: it stands before a function, as in torch.sin(x)
  session line 1 | torch
                 | ^^^^^""",
    "backwrd(3)": """\
error[name]: there is no function backwrd
  session line 1 | backwrd(3)
                 | ^^^^^^^
  fix: did you mean backward?""",
    "forwrd": """\
error[name]: forwrd has no value
  session line 1 | forwrd
                 | ^^^^^^
  fix: did you mean forward?""",
    "var w = 3; step sgd w rl=0.1": """\
error[arity]: step sgd has no option rl, but lr, momentum
  session line 1 | var w = 3; step sgd w rl=0.1
                 |                       ^^^^^^
  fix: lr=0.1""",
    "var w = 3; step adam w lr=1 bta1 = 0.2": """\
error[arity]: step adam has no option bta1, but lr, beta1, beta2, eps
  session line 1 | var w = 3; step adam w lr=1 bta1 = 0.2
                 |                             ^^^^^^^^^^
  fix: beta1=0.2""",
    "set q = 3": """\
error[name]: q has no value
  session line 1 | set q = 3
                 |     ^
  fix: var q = …   makes a leaf""",
    "sin + 1": """\
error[type]: numbers are needed here, not the function sin
  session line 1 | sin + 1
                 | ^^^^^^^
  fix: sin(…)   calls it""",
}


@pytest.mark.parametrize("text", sorted(WHOLE))
def test_whole_message(text):
    with pytest.raises(AgradError) as caught:
        Session().run(text)
    assert render(caught.value) == WHOLE[text]


def test_a_gradient_of_a_gradient_that_is_not_there_is_no_leaf_to_be():
    said = []
    session = Session()
    session.run("x = 3\ngrad x.grad", lambda result: said.append(result.text(session.settings)))
    assert said == ["x.grad.grad = none: x.grad is None"]
