"""Hooks, `watch`, Functions of the user and saved values in the language."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session

START = "var a = 3; b = a**2; c = 2*b"
FUNCTION = """
import torch
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.factor = 3
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        return grad_output*ctx.factor*x**2
var a = 2
"""


def session(text=START, depth=0):
    made = Session()
    made.steps.depth = depth
    made.run(text)
    return made


def said(made, text):
    lines = []
    made.run(text, lambda result: lines.append(result.text(made.settings)))
    return lines


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("watch b; backward c", ["gradient of b = 2"]),
        ("watch a; backward c retain; backward c", ["gradient of a = 12", "gradient of a = 12"]),
        ("watch b as sqrt; backward c; print a.grad", ["gradient of b = 2   ->   1.414213562", "8.485281374"]),
        ("def f(g) = None\nwatch b as f; backward c; print a.grad", ["gradient of b = 2", "12"]),
        ("watch b; watch b off; backward c; print a.grad", ["12"]),
        ("def f(g): print 'hook', g\nh = b.register_hook(f); backward c retain; h.remove(); backward c", ["hook 2"]),
        ("h = a.register_hook(sin); backward c; print a.grad ~= sin(12)", ["True"]),
        ("h = b.register_hook(sin); h", ["hook of b"]),
        ("watch = 3; watch + 1", ["4"]),
        ("c.grad_fn.next_functions[1][0].next_functions[0][0].variable", ["3"]),
        ("(c.grad_fn._saved_self, b.grad_fn._saved_exponent)", ["(2, 2)"]),
        ("d = [1, 2]; print d._version; d += 1; print d._version", ["0", "1"]),
    ],
)  # fmt: skip
def test_hooks(text, printed):
    assert said(session(), text) == printed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("y = Cube.apply(a); y", ["8"]),
        ("y = Cube.apply(a); y.backward(); print a.grad, y.grad_fn", ["12 <CubeBackward>"]),
        ("y = Cube.apply(a**2); grad(grad(y, a), a)", ["480"]),
        ("cube = Cube.apply; cube([1, 2])", ["[1, 8]"]),
        ("torch.autograd.gradcheck(Cube.apply, (a,))", ["True"]),
        ("y = Cube.apply(a); set a = 3; forward y; y", ["27"]),
        ("from torch.autograd import Function, gradcheck\nclass F2(Function):\n    @staticmethod\n    def forward(ctx, x): return 2*x\n"
         "    @staticmethod\n    def backward(ctx, g): return 2*g\n\ngradcheck(F2.apply, [a])", ["True"]),
        ("class A:\n    @staticmethod\n    def f(x): return x + 1\n\nprint A.f(1), A().f(2)", ["2 3"]),
        ("@torch.no_grad()\ndef f(x):\n    return x*2\n\nf(a).requires_grad", ["False"]),
        ("class N(torch.nn.Module):\n    @torch.no_grad()\n    def f(self, x): return x*2\n\nN().f(a).requires_grad", ["False"]),
        ("with torch.autograd.detect_anomaly():\n    y = a*2\n    y.backward()\na.grad", ["2"]),
        ("with torch.autograd.set_detect_anomaly(True):\n    y = a*2\n    y.backward()\na.grad", ["2"]),
        ("torch.autograd.set_detect_anomaly(True)\ntorch.autograd.set_detect_anomaly(False)\nvar q = 0\n(q/q).backward()\n"
         "isnan(q.grad)", ["1"]),
    ],
)  # fmt: skip
def test_functions_of_the_user(text, printed):
    assert said(session(FUNCTION), text)[-1:] == printed


@pytest.mark.parametrize(
    ("start", "text", "kind", "message"),
    [
        (START, "watch 3", "grad", "watch: 3 is the number 3, with no graph and no gradient"),
        (START, "k = [1, 2]; watch k", "grad", "k does not require grad: it depends on no leaf that does"),
        (START, "watch b as 3", "type", "watch b as needs a function, not the number 3"),
        (START, "b.register_hook(3)", "type", "a hook is a function of the gradient, not the number 3"),
        (START, "def f(g) = [1, 2]\nwatch b as f; backward c", "shape", "the hook of b returned shape (2): its gradient has ()"),
        (START, "def f(g) = foo\nh = b.register_hook(f); backward c", "name", "foo has no value"),
        (START, "c.grad_fn._saved_result", "name", "<MulBackward> saved nothing of that name"),
        (START, "backward c; c.grad_fn._saved_self", "freed", None),
        (FUNCTION, "torch.autograd.gradcheck(Cube, (a,))", "type", None),
        (FUNCTION, "with torch.autograd.detect_anomaly():\n    var q = 0\n    (q/q).backward()\n", "grad",
         "a gradient is inf or nan: (q/q) is nan at q = 0"),
        (FUNCTION, "with torch.autograd.set_detect_anomaly(True):\n    var q = 0\n    (q/q).backward()\n", "grad",
         "a gradient is inf or nan: (q/q) is nan at q = 0"),
        (FUNCTION, "torch.autograd.set_detect_anomaly(True)\nvar q = 0\n(q/q).backward()\n", "grad",
         "a gradient is inf or nan: (q/q) is nan at q = 0"),
        (FUNCTION, "torch.autograd.set_detect_anomaly(True)\nvar q = 0\nfor k in range(2000):\n    ((q - k/1000)**2).sqrt().backward()\n",
         "grad", None),
        (FUNCTION, "torch.autograd.set_detect_anomaly(tensor([1, 2]))", "type",
         "set_detect_anomaly: mode must be True or False, not an array of shape (2)"),
        (FUNCTION, "@foo\ndef f(x): return x\n", "syntax", "agrad knows no decorator `@foo` here"),
        (FUNCTION, "@staticmethod\ndef f(x): return x\n", "syntax", "agrad knows no decorator `@staticmethod` here"),
        (FUNCTION, "def backward(x): return x\n", "syntax", "`backward` is a reserved word of agrad, so it cannot be a name"),
        (FUNCTION, "if a > 0:\n    def backward(x): return x\n", "syntax",
         "`backward` is a reserved word of agrad, so it cannot be a name"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(start, text, kind, message):
    made = session(start)
    with pytest.raises(AgradError) as error:
        made.run(text)
    assert kind is None or error.value.kind == kind
    assert message is None or error.value.message == message


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
