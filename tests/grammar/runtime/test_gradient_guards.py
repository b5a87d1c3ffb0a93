"""A choice by a gradient is a guard in the language too, also where a hot loop was compiled."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

CHOICES = {
    "a gradient": "y = x*x/2; backward y\nif x.grad > 0:\n    z = 2*x\nelse:\n    z = -x",
    "computed from it": "y = x*x/2; backward y; g = x.grad + 1\nz = 2*x if g > 0.5 else -x",
    "after a sum": "backward x*x/4; backward x*x/4\nz = 2*x if x.grad > 0 else -x",
    "a count": "backward x*x\nz = 0*x\nfor i in range(x.grad):\n    z = z + x",
    "a while": "backward x*x\nz = 0*x; n = 0\nwhile n < x.grad:\n    z = z + x; n += 1",
    "an index": "backward x*x/2\nw = [5, 7]; z = w[x.grad]*x",
    "grad(y, x)": "z = 2*x if grad(x*x, x) > 0 else -x",
    "a hot loop": """v = 0
for i in range(300):
    zero_grad
    y = x*x/2
    backward y
    no_grad: x -= 0.00001*x.grad
    v = 0.9*v + x.grad
z = 2*x if v > 0 else -x""",
    "the gradient of a hot loop": """for i in range(300):
    zero_grad
    y = x*x/2
    backward y
    no_grad: x -= 0.00001*x.grad
z = 2*x if x.grad > 0 else -x""",
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_by_a_gradient_is_a_guard(name):
    session = Session()
    session.run(f"var x = 1\n{CHOICES[name]}\nset x = -1\n")
    with pytest.raises(AgradError) as caught:
        session.run("forward z")
    assert caught.value.kind == "guard"


def test_a_value_with_a_gradient_as_a_constant_is_not_replayed():
    session = Session()
    session.run("var x = 1; var w = 2\nbackward x*x\nz = w*x.grad\nset w = 3\nforward z\nassert z == 6\nset x = 5")
    with pytest.raises(AgradError, match="without recording") as caught:
        session.run("forward z")
    assert caught.value.kind == "guard"
