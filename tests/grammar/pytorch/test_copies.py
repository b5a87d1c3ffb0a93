"""Copies of modules and values, functions that write in place, and recording switched for all that follows."""

import pytest
from refused import message_of

from agrad.grammar.session.session import Session

TRUE = {
    "a copied module": """
import copy
m = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
m[0].bias.requires_grad_(False)
c = copy.deepcopy(m)
with torch.no_grad():
    for p in c.parameters(): p.zero_()
assert m(ones(1, 2)).abs().sum() > 0 and c(ones(1, 2)).abs().sum() == 0
assert [n for n, _ in c.named_parameters()] == [n for n, _ in m.named_parameters()]
assert c[0].weight.requires_grad and not c[0].bias.requires_grad
assert isinstance(c[0].weight, nn.Parameter) and repr(c) == repr(m)""",
    "what is shared is shared in the copy": """
import copy
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = self.a
        self.parts = [self.a, {"k": (self.a, 1)}]
t = copy.deepcopy(Tied())
assert t.a is t.b and t.parts[0] is t.a and t.parts[1]["k"][0] is t.a and len(list(t.parameters())) == 2""",
    "a copied leaf has its gradient": """
import copy
var w = [1, 2]
(w*w).sum().backward()
c = copy.deepcopy(w)
assert c.is_leaf and c.requires_grad; assert c.grad == [2, 4]
c.grad.zero_()
with torch.no_grad(): c += 1
assert w.grad == [2, 4]; assert w == [1, 2]""",
    "lists and dictionaries": """
import copy
x = zeros(2)
xs = [x, {"k": x}]
ys, zs = copy.copy(xs), copy.deepcopy(xs)
assert ys[0] is x and zs[0] is not x and zs[0] is zs[1]["k"]
d = {"a": x}
e = copy.copy(d)
e["b"] = 1
assert len(d) == 1 and e["a"] is x""",
    "functions in place": """
x = tensor([-1, 2, 5])
y = x
x.clamp_(0, 3).exp_().neg_()
assert y is x and torch.allclose(x, [-1, -exp(2), -exp(3)])
x.clamp_(min=-2); assert x == [-1, -2, -2]
var w = [1, -2]
h = w*3
h.relu_()
h.sum().backward()
assert h == [3, 0]; assert w.grad == [3, 0]""",
    "random numbers in place": """
x = zeros(1000)
manual_seed(1)
assert x.uniform_(2, 3).min() >= 2 and x.max() < 3
assert abs(x.normal_(5, 0.1).mean() - 5) < 0.05""",
    "recording switched": """
var x = 2
torch.set_grad_enabled(False)
y = x*x
torch.set_grad_enabled(True)
z = x*x
assert not y.requires_grad and z.requires_grad and torch.is_grad_enabled()""",
    "names of classes": """
m = nn.Linear(2, 1)
class Point: pass
assert type(m).__name__ == "Linear" and m.__class__.__name__ == "Linear" and Point.__name__ == "Point"
assert Point().__class__ is Point and type("a").__name__ == "str" """,
}


@pytest.mark.parametrize("name", TRUE)
def test_it_holds(name):
    Session().run(TRUE[name])


MESSAGES = {
    "import copy\nvar x = 2\ny = x*x; copy.deepcopy(y)": "copy.deepcopy: y was computed, and only leaves are copied",
    "import copy\ncopy.copy(ones(2))": "copy.copy of an array would share its data",
    "x = ones(2); x.unsqueeze_(0)": ".unsqueeze_ would change the shape, and agrad has no such method: assign the result "
    "of .unsqueeze",
    "var w = [1, 2]; w.clamp_(0)": "a leaf that requires grad is being used in an in-place operation: w",
    "m = ones(2, 2); m[0].clamp_(0, 0.5)": "m[0] is a copy, not a view: a write into it would be lost",
    "(ones(2) + 1).clamp_(0)": "(ones(2) + 1) is a copy, not a view: a write into it would be lost",
    "m = ones(2, 2)\nfor r in m: r.relu_()": "r is a copy, not a view: a write into it would be lost",
}


@pytest.mark.parametrize("text", MESSAGES)
def test_a_mistake_is_named(text):
    assert message_of(text) == MESSAGES[text]
