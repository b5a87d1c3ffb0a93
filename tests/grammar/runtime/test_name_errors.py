"""What is advised where a name, an option or a function is not what it was taken for: whole messages."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import render
from agrad.grammar.session.session import Session

WHOLE = {
    "torch": """\
error[name]: torch is not a value: it is a prefix of functions, as in torch.sin(x)
  session line 1 | torch
                 | ^^^^^""",
    "backwrd(3)": """\
error[name]: there is no function backwrd
  session line 1 | backwrd(3)
                 | ^^^^^^^
  fix: did you mean backward?""",
    "var d = 3; graph d sa dot": """\
error[name]: sa has no value
  session line 1 | var d = 3; graph d sa dot
                 |                    ^^
  fix: var d = 3; graph d as dot""",
    "forwrd": """\
error[name]: forwrd has no value
  session line 1 | forwrd
                 | ^^^^^^
  fix: did you mean forward?""",
    "var w = 3; step sgd w rl=0.1": """\
error[arity]: step sgd has no option rl; its options are lr, momentum, dampening, weight_decay, nesterov
  session line 1 | var w = 3; step sgd w rl=0.1
                 |                       ^^^^^^
  fix: var w = 3; step sgd w lr=0.1""",
    "var w = 3; step adam w lr=1 bta1 = 0.2": """\
error[arity]: step adam has no option bta1; its options are lr, beta1, beta2, eps, weight_decay, amsgrad
  session line 1 | var w = 3; step adam w lr=1 bta1 = 0.2
                 |                             ^^^^^^^^^^
  fix: var w = 3; step adam w lr=1 beta1=0.2""",
    "set q = 3": """\
error[name]: q has no value
  session line 1 | set q = 3
                 |     ^
  fix: var q = …   makes a leaf""",
    'd = pd.read_csv("a.csv", sep=";")': """\
error[name]: pd comes from pandas, and agrad has nothing of it
  session line 1 | d = pd.read_csv("a.csv", sep=";")
                 |     ^^
  fix: d = load_csv("a.csv")""",
    "scipy.optimize.curve_fit(f, x, y)": """\
error[name]: scipy is a module, and agrad has nothing of it
  session line 1 | scipy.optimize.curve_fit(f, x, y)
                 | ^^^^^
  fix: fit y ~ a*x + b over a, b from a=1, b=1""",
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


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ('x = read("a.csv")', 'x = load_csv("a.csv")'),
        ('t = CSV.read("a.csv", DataFrame)', 't = load_csv("a.csv")'),
        ("scatter([1, 2], [3, 4])", "plot [1, 2], [3, 4]"),
        ("errorbar([1, 2], [3, 4], yerr=0.1)", "plot [1, 2], [3, 4] +- 0.1"),
        ("hist([1, 2], bins=3)", "histogram [1, 2]"),
        ("sns.histplot(data=d)", "histogram x"),
        ("stats.linregress(x, y)", "fit y ~ a*x + b over a, b from a=1, b=1"),
        (
            'np.savetxt("out.csv", r)',
            'for i in range(len(x)): print f"{x[i]},{y[i]}"   in a script: agrad run a.ag > out.csv',
        ),
        ("ls", 'load_csv("   and Tab lists the files'),
    ],
)
def test_what_other_programs_read_draw_and_fit_with(text, fix):
    with pytest.raises(AgradError) as caught:
        Session().run(text)
    assert caught.value.fixes == [fix]


def test_a_gradient_of_a_gradient_that_is_not_there_is_no_leaf_to_be():
    said = []
    session = Session()
    session.run("x = 3\ngrad x.grad", lambda result: said.append(result.text(session.settings)))
    assert said == ["x.grad.grad = none: x.grad is None"]


# What is advised can be typed.

FIXES = {
    "grad(sin)([1, 2])": ["jacobian(sin)([1, 2])"],
    "hessian(sin)([1, 2])": ["jacobian(jacobian(sin))([1, 2])"],
    "grad(grad(sin))([1, 2])": ["jacobian(jacobian(sin))([1, 2])"],
    "def f(a, x) = [x, x**2]\ngrad(f, 1)(2, 3)": ["jacobian(f, 1)(2, 3)"],
    "def f(a, x) = [x, x**2]\nhessian(f, 1)(2, 3)": ["jacobian(jacobian(f, 1), 1)(2, 3)"],
    "def f(x) = [x, x**2]\ng = grad(f)\ng(2)": ["jacobian(f)(2)"],
    "x = 3\nx(4)": ["x*(4)"],
    "x = [1, 2]\nx[0](3 + 1)": ["x[0]*(3 + 1)"],
    "x = 3\n(x + 1)(x - 1)": ["(x + 1)*(x - 1)"],
    "x = 3\nx()": ["x"],
}
NONE = ["x = 3\nx(1, 2)", "x = 3\nx(a=1)", "(1, 2)(3)", 'x = "a"\nx(3)', 'x = 3\nx("(")']


@pytest.mark.parametrize("text", FIXES)
def test_what_is_advised_can_be_typed(text):
    with pytest.raises(AgradError) as caught:
        Session().run(text)
    assert caught.value.fixes == FIXES[text]
    Session().run("\n".join([*text.split("\n")[:-1], *caught.value.fixes]))


@pytest.mark.parametrize("text", NONE)
def test_nothing_is_advised_where_nothing_is_meant(text):
    with pytest.raises(AgradError, match="cannot be called") as caught:
        Session().run(text)
    assert not caught.value.fixes


def test_an_engine_error_says_what_the_result_is():
    with pytest.raises(AgradError, match=r"^grad of sin, whose result has shape \(2\), not one number"):
        Session().run("vjp(grad(sin), [1, 2], [1, 2])")


@pytest.mark.parametrize(("written", "new"), [("w[0] = 7", "w.clone(); w2[0] = 7"), ("w += 1", "w + 1")])
def test_the_fixes_of_a_loaded_script_are_of_its_statement(tmp_path, written, new):
    path = tmp_path / "part.ag"
    path.write_text(f"{written}\n")
    with pytest.raises(AgradError) as caught:
        Session().run(f'var w = [1, 2]\nload "{path}"')
    assert caught.value.fixes == [f"no_grad: {written}   to update the leaf", f"w2 = {new}   to make a new value"]


def test_what_is_not_there_is_not_given_a_value_to_be_deleted():
    with pytest.raises(AgradError) as caught:
        Session().run("del zork")
    assert (caught.value.message, caught.value.fixes) == ("zork has no value", ["vars   lists the names"])
    with pytest.raises(AgradError) as caught:
        Session().run("loss = 1; del los")
    assert caught.value.fixes == ["del loss"]
