"""`torch.jit.script`, `torch.jit.trace` and `torch.compile` give what they get."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

NOTE = "note: it is given back as it is: `forward y` runs a graph again, and long loops run compiled"


def said(*texts):
    session, shown = Session(), []
    for text in texts:
        session.run(text, lambda result: shown.append(result.text(session.settings)))
    return shown


@pytest.mark.parametrize(
    "call", ["torch.jit.script(f)", "torch.jit.trace(f, torch.tensor(1.0))", 'torch.compile(f, mode="default")']
)
def test_a_function_is_given_back_with_a_note(call):
    assert said("import torch\ndef f(x) = x*2", f"g = {call}", "g(3), g is f") == [NOTE, "(6, True)"]


@pytest.mark.parametrize("decorator", ["torch.jit.script", "torch.compile", "torch.compile()"])
def test_a_decorator_leaves_a_function_as_it_is(decorator):
    assert said(f"import torch\n@{decorator}\ndef f(x):\n    return x*2", "f(3)") == ["6"]


def test_only_what_can_be_called_is_compiled():
    with pytest.raises(AgradError, match=r"^a function or a module can be compiled, not the number 2"):
        Session().run("import torch\ntorch.jit.script(2)")
