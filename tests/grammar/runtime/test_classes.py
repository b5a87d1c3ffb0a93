"""`class`: modules and small classes, as PyTorch's users write them."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session

NET = """
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
manual_seed(1)
class Net(nn.Module):
    "Two layers."
    width = 3
    def __init__(self, outputs=1):
        super().__init__()
        self.fc1 = nn.Linear(2, self.width)
        self.fc2 = nn.Linear(self.width, outputs, bias=False)
        self.calls = 0

    def hidden(self, x):
        return F.relu(self.fc1(x))

    def forward(self, x):
        self.calls += 1
        return self.fc2(self.hidden(x))
net = Net()
x = randn(5, 2)
y = randn(5, 1)
"""
POINT = """
class Point:
    def __init__(self, x, y=0):
        self.x = x
        self.y = y
    def norm(self):
        return sqrt(self.x**2 + self.y**2)
    def scaled(self, factor): return Point(self.x*factor, self.y*factor)
    def depth(self, n):
        if n == 0: return 0
        return 1 + self.depth(n - 1)
p = Point(3, 4)
"""


def session(text, depth=0):
    made = Session()
    made.steps.depth = depth
    made.run(text)
    return made


def said(made, text):
    """What a session prints."""
    lines = []
    made.run(text, lambda result: lines.append(result.text(made.settings)))
    return lines


def refused(made, text):
    with pytest.raises(AgradError) as error:
        made.run(text)
    return error.value


def test_a_module_is_trained():
    made = session(NET)
    made.run("""
opt = optim.SGD(net.parameters(), lr=0.05)
first = F.mse_loss(net(x), y).item()
for epoch in range(100):
    opt.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    opt.step()
assert loss < first
assert net.calls == 101
assert net.fc1.weight.grad.shape == (3, 2)
""")


def test_a_module_is_printed_as_pytorch_prints_it():
    assert said(session(NET), "net; net.eval(); net.train(False); print(net)")[-1].splitlines() == [
        "Net(",
        "  (fc1): Linear(in_features=2, out_features=3, bias=True)",
        "  (fc2): Linear(in_features=3, out_features=1, bias=False)",
        ")",
    ]
    assert len(said(session(NET), "net.eval()\nnet")) == 1


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("for name, p in net.named_parameters(): print name, p.shape",
         ["fc1.weight (3, 2)", "fc1.bias (3,)", "fc2.weight (1, 3)"]),
        ("print sum(p.numel() for p in net.parameters())", ["12"]),
        ("print Net.width, net.width, net.training, net.fc1.in_features", ["3 3 True 2"]),
        ("net.eval().training", ["False"]),
        ("print Net, nn.Linear, optim.SGD", ["class Net class Linear class SGD"]),
        ("net.hidden", ["function hidden(self, x)"]),
        ("net.fc2.bias is None", ["True"]),
        ("net.fc1 = None; net.fc1 is None", ["True"]),
        ("s = net.state_dict(); s['fc1.bias'].shape", ["(3,)"]),
        ("for name in net.state_dict(): print name", ["fc1.weight", "fc1.bias", "fc2.weight"]),
        ("for m in net.children(): print m", ["Linear(in_features=2, out_features=3, bias=True)",
                                               "Linear(in_features=3, out_features=1, bias=False)"]),
        ("net.requires_grad_(False); net.fc1.weight.requires_grad", ["False"]),
        ("net.zero_grad(); net.fc1.weight.grad is None", ["True"]),
        ("nn.Sequential(nn.Linear(2, 2), nn.ReLU())[0].weight.shape", ["(2, 2)"]),
        ("net2 = Net(outputs=4); net2(x).shape", ["(5, 4)"]),
        ("net(x).backward(ones(5, 1)); zero_grad; net.fc1.weight.grad is None", ["True"]),
        ("nn.init.zeros_(net.fc2.weight); net(x).sum()", ["0"]),
        ("opt = optim.Adam(net.parameters()); opt.param_groups[0]['lr']", ["0.001"]),
        ("opt = optim.Adam(net.parameters()); opt.param_groups[0]['lr'] = 0.5; opt.param_groups[0]['lr']", ["0.5"]),
        ("optim = optim.SGD(net.parameters(), lr=0.1); optim.zero_grad(); optim.step(); optim.param_groups[0]['lr']", ["0.1"]),
        ("from torch.optim.lr_scheduler import StepLR; opt = optim.SGD(net.parameters(), lr=1); s = StepLR(opt, 1); s.step(); s.get_last_lr()",
         ["(0.1,)"]),
        ("from torch.utils.data import DataLoader as L, TensorDataset; len(L(TensorDataset(x, y), batch_size=2))", ["3"]),
        ("from torch.nn import Linear; Linear(2, 2, bias=False)", ["Linear(in_features=2, out_features=2, bias=False)"]),
        ("graph net(x).sum() as text", None),
    ],
)  # fmt: skip
def test_what_modules_can_do(text, printed):
    found = said(session(NET), text.replace("graph net(x).sum() as text", "z = net(x).sum(); graph z as text"))
    if printed is None:
        assert "net.fc1.weight" in found[-1]
    else:
        assert found[-len(printed) :] == printed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("p.norm()", "5"),
        ("p", "Point(x=3, y=4)"),
        ("p.scaled(2)", "Point(x=6, y=8)"),
        ("p.x += 1; p.x", "4"),
        ("p.name = 'a'; p", "Point(x=3, y=4, name='a')"),
        ("p.me = p; p", "Point(x=3, y=4, me=…)"),
        ("q = p; q.x = 9; p.x", "9"),
        ("p.depth(300)", "300"),
        ("var a = 3; q = Point(a, a); q.norm().backward(); a.grad", "1.414213562"),
        ("f = p.norm; f()", "5"),
        ("Point.norm(p)", "5"),
        ("class A(object):\n    n = 2\n    def __call__(self, x): return x*self.n\n    def __len__(self): return 7\n"
         "    def __getitem__(self, i): return i + 1\n    def __repr__(self): return f'A {self.n}'\n\na = A(); (a(5), len(a), a[2])", "(10, 7, 3)"),
        ("class A:\n    def __repr__(self): return f'A of {1 + 1}'\n\nA()", "A of 2"),
        ("class A: pass\na = A(); a.t = (1, 2); a.t", "(1, 2)"),
        ("p.y = None; p.y is None", "True"),
        ("y = p.x if p else 2; y", "3"),
    ],
)  # fmt: skip
def test_what_small_classes_can_do(text, printed):
    assert said(session(POINT), text)[-1] == printed


@pytest.mark.parametrize(
    ("start", "text", "kind", "message", "fixes"),
    [
        (POINT, "class A(3): pass", "type", "A cannot inherit from the number 3", ["class A(nn.Module): …", "class A: …"]),
        (POINT, "class A:\n    def __enter__(self): return 1\n", "name",
         "A.__enter__: agrad does not call this method of a class", []),
        (POINT, "p.z", "name", "Point has no attribute .z", []),
        (POINT, "p.nrm()", "name", "Point has no attribute .nrm", ["p.norm()"]),
        (POINT, "Point()", "arity", "__init__ needs x: __init__(self, x, y=…)", []),
        (POINT, "p.norm(1)", "arity", "norm takes 1 argument, and got 2: norm(self)", []),
        (POINT, "p + 1", "type", "`+` of a Point and the number 1 is not defined",
         ["def __add__(self, other): return …   in the class Point"]),
        (POINT, "p()", "type", "a Point cannot be called", []),
        (POINT, "p[0]", "type", "a Point has no entries", []),
        (POINT, "for i in p: i", "type", "a Point cannot be iterated over", ["range(n) for whole numbers"]),
        (POINT, "p.__dict__", "name", "Point has no attribute .__dict__", []),
        (POINT, "p.__dict__ = 3", "name", ".__dict__ of an object cannot be assigned to", []),
        (POINT, "Point.x = 3", "type", None, []),
        (POINT, "super()", "name", "there is no function super", None),
        (NET, "net.fc3", "name", "Net has no attribute .fc3", ["net.fc1", "net.fc2"]),
        (NET, "net.forward.closure", "name", None, []),
        (NET, "net._modules", "name", "Net has no attribute ._modules", []),
        (NET, "net._machine", "name", "Net has no attribute ._machine", []),
        (NET, "nn.Linear(3)", "arity",
         "Linear: missing a required argument: 'out_features': Linear(in_features, out_features, bias=True)", []),
        (NET, "net.train(1, 2)", "arity", "train: too many positional arguments: train(mode=True)", []),
        (NET, "nn.Linera(2, 3)", "name", "agrad has no nn.Linera", None),
        (NET, "net(1, 2)", "arity", "forward takes 2 arguments, and got 3: forward(self, x)", []),
        (NET, "net(ones(3))", "shape", "linear: x of shape (3) does not fit the weight of shape (3, 2)", []),
        (NET, "net.fc1 = 3", "type", "Net.fc1 is a module, and cannot become the number 3", []),
        (NET, "net + 1", "type", None, []),
        (NET, "sin(net)", "type", None, []),
        (NET, "optim.SGD(net, lr=0.1)", "type", "an optimiser takes a list of parameters, not a Net", []),
        (NET, "optim.SGD(lr=0.1)", "arity", None, []),
        (NET, "optim.Adam(net.parameters(), betas=3)", "type", None, []),
        (NET, "net.load_state_dict(3)", "type", "load_state_dict needs what state_dict() returns, not the number 3", []),
        (NET, "class B(nn.Module):\n    def __init__(self): self.a = nn.Linear(1, 1)\n\nB()", "type",
         "B.a is assigned before B is initialised", ["super().__init__()   is the first line of __init__"]),
        (NET, "class B(nn.Module): pass\nB()(3)", "type", "B has no forward", ["def forward(self, x): return …   in the class"]),
        (NET, "net.state_dict()[net.state_dict()]", "name", None, []),
        (NET, "net.state_dict()['fc9']", "name",
         'there is no entry the text "fc9": there are "fc1.weight", "fc1.bias", "fc2.weight"', []),
    ],
)  # fmt: skip
def test_a_mistake_is_named(start, text, kind, message, fixes):
    problem = refused(session(start), text)
    assert problem.kind == kind
    if message is not None:
        assert problem.message == message
    if fixes:
        assert [str(fix) for fix in problem.fixes] == fixes


def test_the_older_spelling_of_super():
    made = session(NET)
    made.run(
        "class B(nn.Module):\n    def __init__(self):\n        super(B, self).__init__()\n        self.a = nn.Linear(2, 2)\n"
    )
    assert said(made, "B()")[-1].startswith("B(\n  (a)")


def test_a_module_may_inherit_from_one_of_the_users():
    made = session(NET)
    made.run("class Wide(Net):\n    width = 9\n    def forward(self, x): return super().forward(x)*2\n")
    assert said(made, "w = Wide(2); (w.fc1.weight.shape, w(x).shape, w.calls)") == ["((9, 2), (5, 2), 1)"]


def test_what_a_failed_statement_did_is_undone():
    made = session(NET)
    before = said(made, "(net.calls, net.training, net.fc1.weight.sum()); net.fc1")
    refused(made, "for i in range(2): net.eval(); net.calls = 7; net.fc1 = nn.Linear(1, 1); net.new = i; foo")
    assert said(made, "(net.calls, net.training, net.fc1.weight.sum()); net.fc1") == before
    refused(made, "net.new")
    made.run("fails name:\n    net.calls = 5\n    foo\n")
    assert said(made, "net.calls") == ["0"]


def test_undo_restores_attributes_parameters_and_optimisers():
    made = session(NET + "opt = optim.Adam(net.parameters(), lr=0.1); F.mse_loss(net(x), y).backward()", DEPTH)
    look = "print net.calls, net.training, net.fc1.weight, opt.param_groups[0]['lr'], len(opt.state)"
    before = said(made, look)
    for text in (
        "net.calls = 9",
        "net.eval()",
        "opt.step()",
        "opt.param_groups[0]['lr'] = 3",
        "net.fc1 = nn.Linear(2, 2)",
    ):
        made.run(text)
        assert said(made, look) != before, text
        made.undo(1)
        assert said(made, look) == before, text


def test_a_class_is_undone_as_a_name_is():
    made = session("class A: pass", DEPTH)
    made.run("class A:\n    n = 1\n")
    made.undo(1)
    refused(made, "A.n")


def test_methods_see_the_names_around_the_class_but_not_those_in_it():
    made = session("k = 2\nclass A:\n    n = 5\n    def f(self): return k\n    def g(self): return n\n\na = A()")
    made.run("k = 3")
    assert said(made, "a.f()") == ["3"]
    assert refused(made, "a.g()").message == "n has no value"


def test_a_guard_on_what_a_method_reads_is_known():
    made = session(
        "var a = 1\nif a > 0: k = 2\nclass A:\n    def f(self, x): return k*x\n\no = A()\ny = o.f(a)\nset a = -1"
    )
    assert refused(made, "forward y").kind == "guard"
    made = session("var a = 1\nclass A: pass\no = A()\nif a > 0: o.k = 2\ny = o.k*a\nset a = -1")
    assert refused(made, "forward y").kind == "guard"


def test_modules_of_two_sessions_are_apart():
    first, second = session(NET), session(NET)
    second.run("net.calls = 5")
    assert said(first, "net.calls") == ["0"]


def test_parameters_are_replayed():
    made = session(NET)
    made.run("z = net(x).sum(); first = z.item()\nno_grad: net.fc2.weight *= 2\nforward z\nassert z ~= 2*first")
