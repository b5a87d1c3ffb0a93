"""Messages that take a look at the session, each as a whole, and what is as it was after them."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import render
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session

WHOLE = {
    "grad": """\
error[syntax]: `grad` is written `grad a b`
  session line 1 | grad
                 |     ^""",
    "x = 1; var": """\
error[syntax]: `var` is written `var x = 2`
  session line 1 | x = 1; var
                 |           ^""",
    "retain  # what?": """\
error[syntax]: `retain` is written `retain b`
  session line 1 | retain  # what?
                 |       ^""",
    "a, b = 1": """\
error[arity]: 1 value for 2 names
  session line 1 | a, b = 1
                 | ^^^^""",
    "x = 2; grad(x*2, x)": """\
error[type]: grad needs a function, or a value with a graph: the number 4 has no graph
  session line 1 | x = 2; grad(x*2, x)
                 |        ^^^^^^^^^^^^
  fix: var x = …   and compute the value from x, outside no_grad and without detach""",
    "limit tiem=3": """\
error[name]: there is no limit tiem; the limits are memory, time, nodes
  session line 1 | limit tiem=3
                 |            ^
  fix: limit time=10""",
    "info*2": """\
error[name]: info has no value
  session line 1 | info*2
                 | ^^^^
  fix: info x""",
    'limit memory="lots"': """\
error[type]: a limit of memory must be a size: a number of bytes, or a text such as "4 GB" or "500 MB"
  session line 1 | limit memory="lots"
                 |              ^^^^^^
  fix: limit memory="4 GB\"""",
    'load "nowhere.ag"': """\
error[file]: there is no file nowhere.ag
  session line 1 | load "nowhere.ag"
                 |      ^^^^^^^^^^^^""",
    "def cube(x) = x**3\nvar a = 2\nhessian(cube, a)": """\
error[arity]: hessian: a function is followed by the number of an argument, not by a value
  session line 3 | hessian(cube, a)
                 | ^^^^^^^^^^^^^^^^
  fix: hessian(cube)(a)   at the point a
  fix: hessian(cube(a), a)   of the value cube(a), by the leaf a""",
    "def cube(x) = x**3\na = 2\ngrad(cube, a)": """\
error[arity]: grad: cube has no argument 2, counted from 0
  session line 3 | grad(cube, a)
                 | ^^^^^^^^^^^^^
  fix: grad(cube)(a)   at the point a
  fix: grad(cube(a), a)   of the value cube(a), by the leaf a""",
    "grad(sin, 1)(2)": """\
error[arity]: grad: sin has no argument 1, counted from 0
  session line 1 | grad(sin, 1)(2)
                 | ^^^^^^^^^^^^^^^
  fix: grad(sin)(x)   at the point x
  fix: grad(sin(x), x)   of a value, by the leaf x""",
    "var x = 1\ny = x*x\nbackward y\nz = 1\nbackward y": """\
error[freed]: y cannot be differentiated: part of its graph was freed
  session line 2 | y = x*x
                 |     ^^^ MulBackward lost its saved values
  session line 3 | backward y
                 | ^^^^^^^^^^ … here
  fix: backward y retain   at line 3, or evaluate line 2 again
  fix: undo 2   brings it back; then backward y retain""",
    "x = (1, 2)\nfor i in range(60): x = (x, x)": """\
error[limit]: tuples inside a tuple have 5000 entries at most
  session line 2 | for i in range(60): x = (x, x)
                 |                         ^^^^^^ at i = 10
  fix: concat([a, b]) to put vectors together""",
}


def session() -> Session:
    made = Session()
    made.steps.depth = DEPTH
    return made


@pytest.mark.parametrize("text", sorted(WHOLE))
def test_whole_message(text: str) -> None:
    with pytest.raises(AgradError) as caught:
        session().run(text)
    assert render(caught.value) == WHOLE[text]


@pytest.mark.parametrize("word", ["grad", "var", "retain", "info", "set", "step", "forward", "check", "graph"])
def test_a_name_of_the_users_own_is_no_command(word: str) -> None:
    made, said = session(), []
    made.run(f"{word} = 3\n{word}", lambda result: said.append(result.text(made.settings)))
    assert said == ["3"]


def test_undo_brings_a_graph_back_as_the_fix_says() -> None:
    made = session()
    made.run("var x = 2\ny = x*x\nbackward y\nz = 1\nfails freed: backward y\nundo 2\nbackward y retain\nbackward y")
    made.run("assert x.grad == 8")


def test_a_freed_graph_whose_backward_cannot_be_taken_back_has_no_undo_in_its_fix() -> None:
    made = Session()
    with pytest.raises(AgradError) as caught:
        made.run("var x = 1\ny = x*x\nbackward y\nbackward y")
    assert caught.value.fixes == ["backward y retain   at line 3, or evaluate line 2 again"]


@pytest.mark.parametrize(
    "text",
    [
        "del x; assert 0",
        "if 1:\n  x = 2\n  del x\n  y = 3\n  x = 5\n  w = 6\n  del y\n  assert 0",
        "for i in range(2):\n  x = i\n  del x, z\n  z = 4\n  x = 5\n  assert i < 1",
        "fails assert:\n  del x\n  assert 0",
    ],
)
def test_names_keep_their_order_when_a_statement_fails(text: str) -> None:
    made = session()
    made.run("x = 1\ny = 2\nz = 3")
    try:
        made.run(text.replace("; ", "\n"))
    except AgradError:
        if text.startswith("del x;"):
            made.run("undo")
    assert list(made.names) == ["x", "y", "z"]
    assert [made.names[name] for name in "xyz"] == [1, 2, 3]


def test_names_keep_their_order_when_del_is_taken_back() -> None:
    made = session()
    made.run("x = 1\ny = 2\nz = 3\ndel y\nw = 4\ny = 5\nundo 3")
    assert list(made.names) == ["x", "y", "z"]


NOTES = {
    "grad(sqrt(x), x)": "the derivative of sqrt(x) is inf at x = 0",
    "grad(grad(x**1.5, x), x)": "the derivative of pow in grad(x**1.5, x) is inf at x = 0",
    "hessian(x**1.5, x)": "the derivative of pow in hessian(x**1.5, x) is inf at x = 0",
    "hessian(sqrt)(0)": "the derivative of sqrt in hessian(sqrt)(0) is inf at 0",
    "jacobian(sqrt(v), v)": "the derivative of sqrt(v) is inf at v[0] = 0",
    "jvp(sqrt(v), v, [1, 1])": "the derivative of sqrt(v) is inf at v[0] = 0",
    "vjp(sqrt(v), v, [1, 1])": "the derivative of sqrt(v) is inf at v[0] = 0",
    "backward sqrt(x) create_graph": "the derivative of sqrt(x) is inf at x = 0",
    "hessian(x**3, x)": None,
    "def f(t) = where(t > 0, sqrt(t), 0); hessian(f)(0)": None,
}


@pytest.mark.parametrize("text", sorted(NOTES))
def test_a_derivative_that_is_not_finite_says_once_where_it_began(text: str) -> None:
    made, heard = session(), []
    made.run("var x = 0\nvar v = [0, 1]")
    made.run(text, lambda result: heard.append(result.text(made.settings)))
    notes = [line for said in heard for line in said.splitlines() if "inf or nan" in line]
    said = NOTES[text]
    wanted = [] if said is None else [said]
    assert [note.partition("a gradient is inf or nan: ")[2] for note in notes] == wanted
