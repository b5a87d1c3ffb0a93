"""A loop whose turns do the same gives, run as a program, to the bit what it gives turn by turn; and says the same."""

import pytest
from thinned import thinned

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import render
from agrad.grammar.loops import compiled_run
from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session

DATA = "manual_seed(1); x = randn(20); y = 2*x + 1; A = randn(3, 4); var w = 0.5; var b = 0; var W = randn(4)\n"

# Loops of which most turns are run as a program.
STATIC = {
    "descent": """for i in range(300):
    loss = mean((w*x + b - y)**2)
    backward loss
    no_grad:
        w -= 0.1*w.grad
        b -= 0.1*b.grad
    zero_grad""",
    "descent that prints now and then": """for i in range(500):
    loss = mean((w*x + b - y)**2)
    backward loss
    step sgd w b lr=0.05
    zero_grad
    if i % 150 == 0: print i, loss""",
    "gradients that go on growing": """for i in range(300):
    zero_grad b
    backward (w - 1)**2 + b
    no_grad: w -= 0.001*w.grad""",
    "as PyTorch spells it": """for epoch in range(200):
    loss = ((w*x + b - y)**2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1*w.grad
        b -= 0.1*b.grad
    w.grad.zero_()
    b.grad.zero_()""",
    "gradients set to none": """for epoch in range(200):
    loss = (w*x - y).abs().sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.001*w.grad
    w.grad = None""",
    "arrays and matrices": """for i in range(200):
    zero_grad
    z = A @ W
    backward sum(relu(z)**2) + 0.1*W @ W
    no_grad: W -= 0.01*W.grad""",
    "momentum by hand": """v = zeros(4)
for i in range(250):
    zero_grad
    backward sum(W**4)
    no_grad:
        v = 0.9*v + W.grad
        W -= 0.01*v""",
    "adam": """for i in range(200):
    zero_grad
    backward mean((w*x + b - y)**2) + sum(W**4)
    step adam w b W lr=0.01""",
    "momentum": """for i in range(200):
    zero_grad
    backward mean((w*x + b - y)**2) + sum(W**4)
    step sgd w b W lr=0.01 momentum=0.9""",
    "plain numbers": """s = 0
k = 1
for i in range(1000):
    k = k*0.99
    s = s + k*i
    s += 1""",
    "a plain array written in place": """t = zeros(3)
for i in range(200):
    t += [1, i, 0.5]
    t *= 0.99""",
    "new data": """var p = 1
for i in range(150):
    set p = i/10
    zero_grad
    q = exp(-p)*sin(p)
    backward q""",
    "functions of the user": """def model(x, scale=2) = scale*w*x + b
def cost(u):
    r = model(u) - y
    return mean(r*r)
for i in range(200):
    backward cost(x)
    step sgd w b lr=0.05
    zero_grad""",
    "a derivative as a value": """for i in range(200):
    g = grad(mean((w*x - y)**2), w)
    no_grad: w -= 0.1*g""",
    "two losses, one graph": """for i in range(200):
    zero_grad
    u = w*x
    l1 = sum(u**2); l2 = sum(cos(u))
    backward l1 retain
    backward l2
    no_grad: w -= 0.001*w.grad""",
    "a constant loop inside": """for i in range(150):
    p = 1
    for j in range(3): p = p*w
    zero_grad
    backward (p - 2)**2
    no_grad: w -= 0.01*w.grad""",
    "an update before the graph": """for i in range(150):
    no_grad: w *= 0.999
    zero_grad
    backward (w*3 - 1)**2
    no_grad: w -= 0.01*w.grad""",
    "what is chosen by a setting": """fast = 1
for i in range(300):
    zero_grad
    backward (w - 3)**2
    if fast and i > 20: step sgd w lr=0.1
    else: step sgd w lr=0.01""",
    "without a graph": """no_grad:
    c = 1
for i in range(200):
    no_grad:
        c = c + sin(c)*0.1""",
    "an array of the loop's own": """for i in range(200):
    m = [w, b, 1]
    zero_grad
    backward sum(m*m*m) + i*w
    no_grad: w -= 1e-5*w.grad""",
    "parts of an array": """for i in range(200):
    zero_grad
    backward W[0]*W[1] + sum(W[2:]**2)
    no_grad: W -= 0.01*W.grad""",
    "a leaf detached": """backward b
for i in range(200):
    zero_grad w
    backward w.detach()*w + (w > 0)
    no_grad: w -= 0.001*w.grad
    backward (w - b.detach())**2""",
    "choices of what is not recorded": """backward w
for i in range(200):
    no_grad: k = w > 0
    backward where(k, b, b)*1
    set b = w > i""",
    "what is called as agrad's own, until the next loop": """s = 0
for k in range(3):
    for i in range(200): s = s*e + sin(i)
    e = 0.1
    sin = cos""",
    "one point after the other": """for i in range(300):
    k = i % 20
    zero_grad
    backward (w*x[k] + b - y[k])**2
    step sgd w b lr=0.05""",
    "one batch after the other": """for i in range(300):
    begin = 5*(i % 4)
    zero_grad
    backward mean((w*x[begin:begin + 5] + b - y[begin:begin + 5])**2)
    no_grad: w -= 0.05*w.grad""",
    "rows of a matrix": """for i in range(300):
    zero_grad
    backward (A[i % 3] @ W - A[i % 3, 1])**2
    no_grad: W -= 0.01*W.grad""",
    "entries that are written": """t = zeros(300)
for i in range(1, 300):
    t[i] = 0.9*t[i - 1] + sin(i)
    t[0] += 0.1""",
    "a list of losses in an array": """t = zeros(300)
for i in range(300):
    loss = mean((w*x + b - y)**2)
    backward loss
    no_grad: t[i] = loss
    step sgd w b lr=0.05
    zero_grad""",
    "entries of a leaf": """for i in range(300):
    zero_grad
    backward sum(W**2)
    no_grad: W[i % 4] -= 0.1*W.grad[i % 4]""",
    "in a function": """def fit(count, rate):
    for i in range(count):
        zero_grad
        loss = mean((w*x + b - y)**2)
        backward loss
        no_grad:
            w -= rate*w.grad
            b -= rate*b.grad
    return loss
fit(200, 0.1)
loss = fit(200, 0.01)""",
    "an index that is out of range at last, of what is not used": """z = 1
for i in range(310):
    z = z*0.5
    k = x[(i - i % 15)/15]""",
    "an index that is out of range at last, in a condition": """z = 1
for i in range(310):
    if x[(i - i % 15)/15] < 100: z = z*0.5""",
    "in a function, of its arguments": """def fall(z, count):
    h = 0.01; v = 0
    for i in range(count):
        v = v - h*9.81
        z = z + h*[v, 1, 0]
        k = h*v
    return z + k
fall([1, 2, 3], 200); fall([1, 2, 3], 150); loss = fall(W.detach()[:3], 200)""",
    "in a function, with a list of losses": """def fit(count):
    losses = []
    for epoch in range(count):
        loss = ((w*x + b - y)**2).mean()
        if w.grad is not None:
            w.grad.zero_()
            b.grad.zero_()
        loss.backward()
        with torch.no_grad():
            w -= 0.1*w.grad
            b -= 0.1*b.grad
        if epoch % 50 == 0:
            losses.append(loss.item())
            print(epoch, loss.item())
    return stack(losses)
fit(400)""",
    "in a function that has a function": """def outer(scale, count):
    def model(u) = scale*w*u + b
    for i in range(count):
        zero_grad
        backward mean((model(x) - y)**2)
        step sgd w b lr=0.02
    return scale
outer(1, 150); outer(2, 150)""",
    "in a function, of what is outside and inside": """k = 2
def g(u) = u*k
def f(count):
    k = 1
    for i in range(count):
        k = k*0.99 + 0.01*g(1)
    return k
f(200); f(300)""",
    "in a function, with what its caller keeps": """def f(g):
    for i in range(150):
        w.grad.zero_()
        backward (w - 1)**2
    return g
backward w
f(w.grad)""",
    "within bounds": """s = 0
for i in range(300):
    if 10 < i <= 290: s = s + i""",
    "prints every tenth iteration": """for i in range(400):
    zero_grad
    backward (w - 3)**2
    step sgd w lr=0.01
    if i % 10 == 9: print i, w""",
    "prints in the iteration that is tried first": """for i in range(3, 400):
    k = i % 100
    if i % 100 == 6: print i
    s = k*i""",
    "a long range with a step": """total = 0
for i in range(1000, 0, -3): total = total + i**0.5""",
}
# Loops that no turn tells about the next.
DYNAMIC = {
    "gradients set to zero and then to none": """for i in range(300):
    backward (w - 1)**2*i
    w.grad.zero_()
    zero_grad w
    b.grad""",
    "random numbers": "for i in range(150):\n    backward (w*randn() - 1)**2; step sgd w lr=0.01; zero_grad",
    "a choice by a value": "for i in range(150):\n    if w < 2: w = w + 0.02\n    else: w = w - 1",
    "a history that grows": "total = 0\nfor i in range(120): total = total + w**2",
    "prints": "for i in range(120): print i",
    "an entry by the counter of what is differentiated": "for i in range(150):\n    backward W[i % 4]**2; zero_grad",
    "an entry of a list": "l = [[1], [2, 3]]\nfor i in range(150): z = l[i % 2]",
    "an entry at a place that was computed": "p = [0, 1, 2]\nfor i in range(150): z = x[p[1]*i - i]",
    "in a function that is differentiated": """def f(u):
    s = 0
    for i in range(150): s = s*0.5 + i
    return s*u
z = grad(f)(2)""",
    "a name that becomes a local one": """k = 1
def f():
    for i in range(150):
        z = k
        if i > 2: k = i
    return z
f()""",
    "an array with many entries": "t = zeros(5000)\nfor i in range(150): t[i] = i",
    "a number that was read": "s = 0\nfor i in range(150):\n    s = s + float(w**2)\n    no_grad: w *= 0.99",
    "leaves that are made": "for i in range(150): var u = i; v = u**2",
    "assertions": "for i in range(150): assert i >= 0",
    "a text": 'for i in range(150): t = f"{w}"',
    "a leaf that is none any more": "for i in range(150): w = w - 0.1",
    "swapped names": "p = 1; q = 2\nfor i in range(151): p, q = q, p",
    "an early end": "for i in range(200):\n    w = w*1.01\n    if i == 170: break",
    "a function that changes": "g = sin\nfor i in range(150): g = grad(g)",
    "another shape in each turn": "r = [1]\nfor i in range(150): r = concat([r, [i]])",
    "retained gradients": "for i in range(150):\n    u = w*2; retain u; backward u**2; zero_grad",
    "an alias": "a = w.detach()\nfor i in range(150):\n    zero_grad; backward w**2; step sgd w lr=0.01",
    "an alias of the turn's own": "for i in range(150):\n    k = w.detach()\n    no_grad: w -= 0.01\n    z = k*w\n    k = 0",
    "a gradient with a name, set to zero": """s = 0
backward w
for i in range(150):
    w.grad.zero_()
    z = s*1
    backward w*w
    s = w.grad""",
    "a graph from outside": "u = w*2\nfor i in range(150): backward u retain",
    "another file": 'for i in range(150):\n    fails file: load "nowhere.ag"',
}
# Loops whose first compiled iteration would change the kind of a value.
OTHER_KIND = {
    "a number that becomes a value": """k = 1.5
z = [1, 2]
for i in range(-3, 200):
    if i >= i*i: k -= z[0]""",
    "a value that becomes a number": """k = [1, 2][0]
for i in range(-3, 200):
    u = k
    if i >= i*i: k = 2*i""",
}
AFTER = (
    "vars",
    "grad w",
    "grad W",
    "info w",
    "graph loss",
    "backward loss",
    "forward loss",
    "w.version",
    "undo",
    "vars",
)


@pytest.fixture
def stretches(monkeypatch):
    """How many turns each stretch had."""
    seen = []
    run = compiled_run.CompiledIteration.run

    def counted(*arguments):
        seen.append(run(*arguments))
        return seen[-1]

    monkeypatch.setattr(compiled_run.CompiledIteration, "run", counted)
    return seen


def told(session, text):
    """All that a text makes a session say."""
    said = []

    def emit(result):
        said.append(render(result.note) if isinstance(result, Noted) else result.text(session.settings))

    try:
        session.run(text, emit)
    except AgradError as error:
        said.append(render(error))
    return said


def everything(text, compiles):
    session = Session()
    session.settings.precision = None
    session.steps.depth = 100
    session.compiles = compiles
    said = told(session, DATA) + told(session, text)
    return said + [told(session, line) for line in (*AFTER, *sorted(session.names))]


@pytest.mark.parametrize("name", thinned(sorted(STATIC), 3))
def test_a_loop_whose_iterations_do_the_same(stretches, name):
    assert everything(STATIC[name], True) == everything(STATIC[name], False)
    assert sum(stretches) > 90


@pytest.mark.parametrize("name", sorted(DYNAMIC))
def test_a_loop_whose_iterations_differ_is_interpreted(stretches, name):
    assert everything(DYNAMIC[name], True) == everything(DYNAMIC[name], False)
    assert sum(stretches) == 0


@pytest.mark.parametrize("name", sorted(OTHER_KIND))
def test_a_value_keeps_its_version_where_a_choice_changes_its_kind(name):
    versions = []
    for compiles in (True, False):
        session = Session()
        session.compiles = compiles
        session.run(OTHER_KIND[name])
        k = session.names["k"]
        versions.append((type(k), getattr(k, "version", None)))
    assert versions[0] == versions[1]


def test_a_gradient_that_is_not_finite_is_reported_in_its_iteration(stretches):
    text = "for i in range(300):\n    zero_grad; backward sqrt(w)\n    no_grad: w -= 0.002*w.grad"
    text = "var w = 0.5\n" + text
    assert everything(text, True) == everything(text, False)


def test_an_iteration_that_fails_takes_the_whole_loop_back():
    text = "for i in range(300):\n    zero_grad; backward (w - 1)**2; step sgd w lr=0.01\n    if i == 250: nowhere"
    assert everything(text, True) == everything(text, False)


@pytest.mark.parametrize(
    "step",
    [
        "z = inv(M)",
        "s = s + sum(M.inv())",
        "z = solve(M, [1, 2])",
        "zero_grad; backward sum(M)*p; z = grad(sqrt(p - M[1, 1] + M[0, 0]), p)",
    ],
)
def test_what_is_refused_or_has_a_note_at_some_values_is_so_also_where_it_is_not_used(stretches, step):
    text = f"M = eye(2); s = 0; var p = 1\nfor i in range(200):\n    M -= [[1/128, 0], [0, 0]]\n    {step}"
    assert everything(text, True) == everything(text, False)
    assert sum(stretches) > 90


def test_a_loop_inside_a_loop_is_traced_once(stretches, monkeypatch):
    traced = []
    trace = compiled_run.CompiledIteration.__init__
    monkeypatch.setattr(
        compiled_run.CompiledIteration, "__init__", lambda *arguments: traced.append(1) or trace(*arguments)
    )
    text = "for k in range(5):\n    for i in range(200):\n        zero_grad; backward (w - k)**2; step sgd w lr=0.01"
    assert everything(text, True) == everything(text, False)
    assert len(traced) == 1
    assert sum(stretches) > 900


def test_what_is_stopped_in_between_has_changed_nothing(monkeypatch):
    session = Session()
    session.run(DATA)
    before = session.names["w"].item(), session.names["w"].version
    run = compiled_run.CompiledIteration.run

    def stopped(self, *arguments):
        step, count = self.step, []

        def interrupted(*values):
            count.append(1)
            if len(count) == 50:
                raise KeyboardInterrupt
            return step(*values)

        self.step = interrupted
        return run(self, *arguments)

    monkeypatch.setattr(compiled_run.CompiledIteration, "run", stopped)
    with pytest.raises(KeyboardInterrupt):
        session.run(STATIC["descent"])
    assert (session.names["w"].item(), session.names["w"].version) == before
    assert "loss" not in session.names


@pytest.mark.long
def test_a_limit_of_time_stops_it():
    session = Session()
    session.run("limit time=1; s = 1")
    with pytest.raises(AgradError, match="took longer"):
        session.run("for i in range(1e9): s = s*1.0000001")
    assert session.names["s"] == 1.0
