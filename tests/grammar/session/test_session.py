"""Running statements: what the language means, and that a statement which fails has done nothing."""

import math

import pytest

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.grammar.results import Noted, Quit
from agrad.grammar.session.session import Session


def said(text, session=None):
    """The lines that statements hand out, notes left aside."""
    session = session or Session()
    lines = []
    session.run(text, lambda result: None if isinstance(result, Noted) else lines.append(result.text(session.settings)))
    return lines


def error(text, session=None):
    with pytest.raises(AgradError) as caught:
        said(text, session)
    return caught.value


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("-2**2", "-4"),
        ("2**3**2", "512"),
        ("2**-1", "0.5"),
        ("2^10", "1024"),
        ("7//2, 7%3, -7//2, -7%3", "(3, 1, -4, 2)"),
        ("1/3", "0.3333333333"),
        ("1e-12", "1e-12"),
        ("1_000*1000", "1000000"),
        ("1e20", "1e20"),
        ("True + True", "2"),
        ("pi", "3.141592654"),
        ("1 < 2 < 3, 1 < 3 < 2, not 0", "(True, False, True)"),
        ("0 or 5, 0 and 5, 3 and 5", "(5, 0, 5)"),
        ("1 if 0 else 2", "2"),
        ("[1, 2, 3]", "[1, 2, 3]"),
        ("[[1, 2], [3, 4]]", "[[1, 2], [3, 4]]"),
        ("5*[1, 2]", "[5, 10]"),
        ("[[1, 2], [3, 4]] @ [1, 1]", "[3, 7]"),
        ("[1, 2, 3][1:], [1, 2, 3][-1], [1, 2, 3][::-1]", "([2, 3], 3, [3, 2, 1])"),
        ("[[1, 2], [3, 4]][:, -1], [[1, 2], [3, 4]][0, 1:], [[1, 2], [3, 4]][..., 0]", "([2, 4], [2], [1, 3])"),
        ("[1, 5, 2][[1, 5, 2] > 1]", "[5, 2]"),
        ("[1, 5, 2][[2, 0]]", "[2, 1]"),
        ("sum([1, 2]), [1, 2].sum(), sum([[1, 2], [3, 4]], axis=0)", "(3, 3, [4, 6])"),
        ("ones(2, 3).shape == (2, 3)", "True"),
        ("[2, 3] == (2, 3)", "[1, 1]"),
        ("torch.sin(0), np.pi, math.exp(0)", "(0, 3.141592654, 1)"),
        ("torch.linalg.inv([[2, 0], [0, 4]])", "[[0.5, 0], [0, 0.25]]"),
        ("len([1, 2, 3])", "3"),
        ("1/0, -1/0, 0/0, (-8)**(1/3), 0**-1", "(inf, -inf, nan, nan, inf)"),
        ("exp(1000), log(0), log(-1), 9.0**9.0**9", "(inf, -inf, nan, inf)"),
        ('f"{2/3:.3f} {[1, 2]} {1 + 1=}"', "0.667 [1, 2] 1 + 1=2"),
        ("max(2, 3), max([1, 5, 2]), min(2, 3)", "(3, 5, 2)"),
        ("range(3)", "range(0, 3)"),
    ],
)
def test_an_expression_has_this_value(text, answer):
    assert said(text) == [answer]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("x = y = 3; x + y", ["6"]),
        ("a, b = 1, [2, 3]; a, b", ["(1, [2, 3])"]),
        ("x = [1, 2, 3]; x[0] = 5; x[1:] += 1; x", ["[5, 3, 4]"]),
        ("x = zeros(2, 2); x[0, 1] = 3; x", ["[[0, 3], [0, 0]]"]),
        ("x = 3; x **= 2; x -= 1; x", ["8"]),
        ("1 + 1; 2 + 2", ["4"]),
        ("3; _ + 1; ans * 2", ["8"]),
        ("def f(x, y=2) = x*y\nf(3), f(3, y=4)", ["(6, 12)"]),
        ("def f(n):\n    if n < 2: return 1\n    return n*f(n - 1)\nf(5)", ["120"]),
        ("def f(x):\n    s = 0\n    for i in range(3):\n        s = s + x**i\n    return s\nf(2)", ["7"]),
        ("def outer(a):\n    def inner(b) = a + b\n    return inner(1)\nouter(2)", ["3"]),
        ("n = 0\nwhile 1:\n    n += 1\n    if n == 2: continue\n    if n > 4: break\nn", ["5"]),
        ("for i in [1, 2]:\n    print i, i**2", ["1 1", "2 4"]),
        ("for p in (1, [2, 3]): print p", ["1", "[2, 3]"]),
        ("for a, b in [[1, 2], [3, 4]]: print a - b", ["-1", "-1"]),
        ("if 0: 1\nelif 1: 2\nelse: 3", ["2"]),
        ("x = 2\nno_grad:\n    for i in range(3):\n        if i: break\nx", ["2"]),
        ("print 1, [1, 2], 'text'\nprint(f'{1:.1f}')", ["1 [1, 2] text", "1.0"]),
        ("var = 3\ngrad = 4\nset = 5\nvar + grad + set", ["12"]),
        ("var(([1, 2, 3]))", ["0.6666666667"]),
        ("#!/usr/bin/env agrad\n3 # three", ["3"]),
        ("import torch\nfrom torch.autograd import Variable\nVariable(torch.ones(1, 2)).requires_grad", ["False"]),
        ("x = torch.tensor([2.0], requires_grad=True)\nx.grad is None, x.is_leaf, x.grad_fn", ["(True, True, None)"]),
        ("var x = 2\ny = 3*x + 1\ny.grad_fn, y.grad_fn.next_functions[0][0]", ["(<AddBackward>, <MulBackward>)"]),
        ("var x = 2\nx.requires_grad_()\nmanual_seed(1)", []),
        ("manual_seed(3)\na = rand(2)\nmanual_seed(3)\nassert rand(2) == a", []),
        ("a = [1, 2]\nb = a\nb += 1\na", ["[2, 3]"]),
    ],
)
def test_statements_hand_out_these_lines(text, answer):
    assert said(text) == answer


def test_functions_of_functions():
    assert said("def f(x, y) = x**2*y\ngrad(f)(3, 2), grad(f, 1)(3, 2), grad(f, (0, 1))(3, 2)") == ["(12, 9, (12, 9))"]
    assert said("grad(grad(sin))(1)") == [f"{-math.sin(1):.10g}"]
    assert said("hessian(f)([1, 2])", _with("def f(x) = x[0]**2*x[1]")) == ["[[4, 2], [2, 0]]"]
    assert said("jacobian(exp)([0, 0])") == ["[[1, 0], [0, 1]]"]
    assert said("var x = [1, 2]\njacobian(x**2, x)\nhessian(sum(x**3), x)") == ["[[2, 0], [0, 4]]", "[[6, 0], [0, 12]]"]
    assert said("jvp(sin, 0, 2), vjp(sin, 0, 3)") == ["(2, 3)"]


def test_a_derivative_of_a_function_inside_no_grad():
    assert said("no_grad: g = grad(sin)(0)\ng, g.requires_grad") == ["(1, False)"]
    assert said("var w = 3\ndef loss(w) = w**2\nno_grad: w -= 0.1*grad(loss)(w)\nw, w.is_leaf") == ["(2.4, True)"]
    assert said("no_grad: print jvp(sin, 0, 2), hessian(exp)(0)") == ["2 1"]


def _with(text):
    session = Session()
    session.run(text)
    return session


def test_an_answer_keeps_no_graph_alive():
    session = _with("var x = 2\nx**2")
    assert isinstance(session.answer, Tensor)
    assert not session.answer.requires_grad


def deep(session):
    """All that a failing statement must leave alone."""
    state = {}
    for name, value in session.names.items():
        state[name] = id(value)
        if isinstance(value, Tensor):
            node = value.node
            gradient = None if value.grad is None else value.grad.tolist()
            state[name] = (id(value), id(node), value.tolist(), gradient, node.stamp, node.freed, node.keeps_grad)
    return state


@pytest.mark.parametrize(
    "doomed",
    [
        "for i in range(2):\n    x = i\n    nothing",
        "for i in range(2):\n    new = i\n    nothing",
        "for i in range(2):\n    backward y\n    nothing",
        "for i in range(2):\n    backward y",
        "for i in range(2):\n    zero_grad\n    nothing",
        "for i in range(2):\n    x.grad.zero_()\n    nothing",
        "for i in range(2):\n    set x = [7, 8]\n    nothing",
        "for i in range(2):\n    k[0] = 7\n    nothing",
        "for i in range(2):\n    k += 7\n    nothing",
        "for i in range(2):\n    b += 7\n    nothing",
        "for i in range(2):\n    b[0] = x[0]\n    nothing",
        "for i in range(2):\n    no_grad: x -= 1\n    nothing",
        "for i in range(2):\n    x.detach().zero_()\n    nothing",
        "for i in range(2):\n    retain b\n    nothing",
        "for i in range(2):\n    del k\n    nothing",
        "for i in range(2):\n    step sgd x lr=0.1\n    nothing",
        "for i in range(2):\n    k.requires_grad_()\n    nothing",
        "no_grad:\n    x += 1\n    nothing",
        "for i in range(1):\n    fails freed: backward y\n    nothing",
    ],
)
def test_a_statement_that_fails_leaves_everything_as_it_was(doomed):
    session = _with("var x = [1, 2]\nk = [3, 4]\nb = x*k\ny = sum(b**2)\nbackward y retain")
    before = deep(session)
    assert error(doomed, session).kind in ("name", "freed", "assert")
    assert deep(session) == before
    said("backward y", session)


def test_a_statement_that_fails_leaves_the_random_numbers_as_they_were():
    session = _with("manual_seed(5)")
    error("for i in range(2):\n    z = rand(3)\n    nothing", session)
    error("for i in range(2):\n    manual_seed(6)\n    nothing", session)
    assert said("rand(2)", session) == said("manual_seed(5); rand(2)")


def test_an_interrupted_statement_leaves_everything_as_it_was():
    session = _with("var x = [1, 2]\ny = sum(x**2)\nbackward y retain\ni = 0")
    before = deep(session)

    def stop(result):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session.run("for i in range(9):\n    backward y retain\n    no_grad: x -= 1\n    print i", stop)
    assert deep(session) == before


def test_what_fails_expects_has_done_nothing_either():
    session = _with("var x = [1, 2]\ny = sum(x**2)\nbackward y")
    before = deep(session)
    said("fails name:\n    zero_grad\n    x = 3\n    nothing", session)
    assert deep(session) == before


def test_nothing_runs_of_a_text_that_cannot_be_read():
    session = Session()
    assert error("x = 1\ny = (2", session).kind == "syntax"
    assert session.names == {}


def test_statements_before_the_one_that_fails_stand():
    session = Session()
    assert error("x = 1\ny = nothing\nz = 3", session).kind == "name"
    assert set(session.names) == {"x"}


def test_recording_is_on_again_after_a_failure_inside_no_grad():
    session = _with("var x = 2")
    error("no_grad: nothing", session)
    assert said("(x*2).requires_grad", session) == ["True"]
    assert said("def f():\n    no_grad: return 3\nf()\n(x*2).requires_grad", session) == ["3", "True"]


def test_quit_ends_the_session():
    with pytest.raises(Quit):
        Session().run("quit")


@pytest.mark.long
@pytest.mark.parametrize("depth", [50_000])
def test_a_sum_of_many_terms(depth):
    session = _with("var x = 1")
    session.run("y = " + "+".join(["x"] * depth))
    session.run("backward y")
    assert said("x.grad", session) == [str(depth)]


def test_deep_nesting_gives_a_result_or_an_error():
    assert said("(" * 3000 + "1" + ")" * 3000) == ["1"]
    assert said("abs(" * 1000 + "-1" + ")" * 1000) == ["1"]
    assert error("def f(n) = f(n + 1)\nf(0)").kind == "limit"
    assert error("def f(n) = grad(f)(n)\nf(1)").kind == "limit"


def test_every_example_of_a_command_runs(tmp_path, monkeypatch):
    from agrad.grammar.commands import COMMANDS

    monkeypatch.chdir(tmp_path)  # some write a file

    for command in COMMANDS.values():
        session = Session()
        try:
            session.run(command.example)
        except Quit:
            assert command.word == "quit"


def test_every_example_of_a_function_is_true():
    from agrad.grammar.runtime.builtins import FUNCTIONS

    for entry in FUNCTIONS.values():
        if entry.example:
            session = Session()
            session.run(entry.example.partition("# with ")[2])  # the function that it takes
            session.run(f"assert {entry.example}")


def test_help_has_something_on_every_word():
    from agrad.grammar.commands import COMMANDS
    from agrad.grammar.runtime.builtins import FUNCTIONS

    for word in [*COMMANDS, *FUNCTIONS]:
        (text,) = said(f"help {word}")
        assert text.startswith(word)
    assert "backward d [retain]" in said("help")[0]
    assert error("help sine").fixes == ["help sin", "help sinc", "help sinh"]


def test_a_loop_that_fails_says_that_it_is_taken_back():
    session = Session()
    session.record.on = True
    session.run("x = 1")
    for text, told in (("for i in range(3): x = x + 1; nothing", True), ("for i in range(nothing): x = 2", False)):
        with pytest.raises(AgradError) as caught:
            session.run(text)
        assert ("the loop is taken back: all is as it was before it" in caught.value.notes) is told
        assert session.names["x"] == 1
