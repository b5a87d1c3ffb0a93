"""`formula`: the derivatives of a textbook, and 1,000 random expressions, which read back to the same."""

import math
import random

import pytest
from thinned import thinned

from agrad.engine.errors import AgradError
from agrad.engine.program.printer import parts
from agrad.grammar.results import Printed
from agrad.grammar.session import formulas
from agrad.grammar.session.session import Session

DERIVATIVES = {
    "5": "0", "x": "1", "3*x": "3", "a*x + b": "a", "x**2": "2*x", "x**3 + 2*x - 5": "3*x**2 + 2", "1/x": "-1/x**2",
    "1/x**2": "-2/x**3", "sqrt(x)": "1/(2*sqrt(x))", "1/sqrt(x)": "-1/(2*x**(3/2))", "x**2.5": "5*x**(3/2)/2",
    "x**n": "n*x**(n - 1)", "2**x": "2**x*log(2)", "a**x": "a**x*log(a)", "x**x": "x**x + x**x*log(x)", "exp(x)": "exp(x)",
    "exp(-x)": "-exp(-x)", "exp(-x**2)": "-2*x*exp(-x**2)", "exp(a*x)": "a*exp(a*x)", "log(x)": "1/x",
    "log(sin(x))": "cos(x)/sin(x)", "x*log(x)": "log(x) + 1", "log10(x)": "1/(x*log(10))", "log2(x)": "1/(x*log(2))",
    "log1p(x)": "1/(1 + x)", "sin(x)": "cos(x)", "cos(x)": "-sin(x)", "tan(x)": "1 + tan(x)**2",
    "sin(3*x + 1)": "3*cos(3*x + 1)", "sin(w*t + p)": "0", "sin(x)**2": "2*cos(x)*sin(x)",
    "sin(x)*cos(x)": "cos(x)**2 - sin(x)**2", "x*sin(x)": "sin(x) + x*cos(x)", "x**2*sin(x)": "2*x*sin(x) + x**2*cos(x)",
    "sin(x)/x": "cos(x)/x - sin(x)/x**2", "exp(x)*sin(x)": "exp(x)*sin(x) + exp(x)*cos(x)", "asin(x)": "1/sqrt(1 - x**2)",
    "acos(x)": "-1/sqrt(1 - x**2)", "atan(x)": "1/(1 + x**2)", "sinh(x)": "cosh(x)", "cosh(x)": "sinh(x)",
    "tanh(x)": "1/cosh(x)**2", "asinh(x)": "1/sqrt(x**2 + 1)", "acosh(x)": "1/(sqrt(x - 1)*sqrt(x + 1))",
    "atanh(x)": "1/(1 - x**2)", "sqrt(1 - x**2)": "-x/sqrt(1 - x**2)", "(x + 1)**5": "5*(x + 1)**4",
    "1/(1 + x**2)": "-2*x/(1 + x**2)**2", "x/(x + 1)": "1/(x + 1) - x/(x + 1)**2", "exp(sin(x))": "exp(sin(x))*cos(x)",
    "pi*x**2": "2*pi*x", "4*pi*x**3/3": "4*pi*x**2", "abs(x)": "sign(x)", "sigmoid(x)": "sigmoid(x)*sigmoid(-x)",
    "softplus(x)": "sigmoid(x)", "erf(x)": "2*exp(-x**2)/sqrt(pi)", "ndtr(x)": "exp(-x**2/2)/sqrt(2*pi)",
    "cbrt(x)": "1/(3*cbrt(x)**2)", "hypot(x, y)": "x/sqrt(x**2 + y**2)", "relu(x)": "where(x > 0, 1, 0)",
    "where(x > 0, x, -x)": "where(x > 0, 1, -1)", "x/3 + x/3": "2/3", "x - x": "0",
    "x**2/x": "1", "m*c**2 + x": "1", "G*m/x**2": "-2*G*m/x**3",
}  # fmt: skip


def written(text, session=None):
    """What a command prints."""
    session, lines = session or Session(), []
    session.run(text, lambda result: lines.append(result.line) if isinstance(result, Printed) else None)
    return lines


@pytest.mark.parametrize(("expression", "derivative"), thinned(DERIVATIVES.items(), 4))
def test_derivatives_as_a_textbook_has_them(expression, derivative):
    assert written(f"formula grad({expression}, x)") == [derivative]


def test_an_expression_of_names_with_values_and_without():
    session = Session()
    session.run("var a = 3; k = 4; y = a*k + sin(a); def f(t) = t**2 + 1")
    assert written("formula y", session) == ["4*a + sin(a)"]
    assert written("formula y wrt a", session) == ["4*a + sin(a)", "d/da = 4 + cos(a)"]
    assert written("formula k*x**2 wrt x, k", session) == ["k*x**2", "d/dx = 2*x*k", "d/dk = x**2"]
    assert written("formula grad(grad(f(x), x), x)", session) == ["2"]
    assert written("formula y", session) == ["4*a + sin(a)"]
    assert sorted(session.names) == ["a", "f", "k", "y"]
    assert session.names["a"].grad is None


def test_nothing_is_said_of_the_point_where_a_name_has_no_value():
    shown = []
    Session().run("formula acosh(x) + log(-x) wrt x", shown.append)
    assert [type(one) for one in shown] == [Printed, Printed]


def test_latex():
    assert written("formula a*sqrt(x)/(2*alpha) + log(speed**2)/abs(x) - 2*pi*x**(3/2) wrt alpha as latex") == [
        r"\frac{a \sqrt{x}}{2 \alpha} + \frac{\ln\left(\mathrm{speed}^{2}\right)}{\left|x\right|} - 2 \pi x^{\frac{3}{2}}",
        r"\frac{\partial}{\partial \alpha} = -\frac{a \sqrt{x}}{2 \alpha^{2}}",
    ]


def test_what_is_shared_is_named_where_the_formula_would_be_long():
    session = Session()
    session.run("var a = 0.1\nz = a\nfor i in range(40): z = sin(z)*z + a")
    *parts, result = written("formula z", session)
    assert len(parts) > 30
    check = Session()
    check.run("a = 0.1\n" + "\n".join(parts) + f"\nfound = {result}")
    assert check.names["found"] == pytest.approx(session.names["z"].item(), rel=1e-12)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("formula x if x > 0 else -x", "guard", "the formula would hold only where x > 0 is true, line 1"),
        ("formula [1, 2]", "shape", "a formula has numbers only, and [1, 2] has shape (2)"),
        ("var w = [1, 2]; formula sum(w)", "shape", "a formula has numbers only, and w has shape (2)"),
        ("formula grad(sinc(x), x)", "type", "there is no formula of the operation SincDerivative"),
        ("formula x as html", "name", "formula has no form html"),
        ('formula "a"', "type", 'a formula is of a number, not of the text "a"'),
        ("formula q(x)", "name", "there is no function q"),
        ("formula x*inf", "type", "there is no formula of a number that is not finite"),
    ],
)
def test_what_has_no_formula(text, kind, message):
    with pytest.raises(AgradError) as caught:
        written(text)
    assert (caught.value.kind, caught.value.message) == (kind, message)


FUNCTIONS = (
    "sin cos exp log sqrt tanh atan sinh cosh abs cbrt asinh sigmoid softplus erf square reciprocal log1p".split()
)


def random_expression(dice, depth):
    """An expression of x and y."""
    if not depth or dice.random() < 0.15:
        return dice.choice(["x", "y", "x", "y", "2", "3", "0.5", "1", "pi", "0.1"])
    parts = [random_expression(dice, depth - 1) for _ in range(2)]
    kind = dice.randrange(12)
    if kind == 10:
        return f"({parts[0]} {dice.choice(['<', '>', '<=', '==', '%', '//'])} {parts[1]})"
    if kind == 11:
        return f"where({parts[0]} < {parts[1]}, {random_expression(dice, depth - 1)}, y)"
    if kind < 6:
        return f"({parts[0]} {dice.choice('+-*/+*')} {parts[1]})"
    if kind < 9:
        return f"{dice.choice(FUNCTIONS)}({parts[0]})"
    return f"({parts[0]})**{dice.choice(['2', '3', '(-1)', '0.5', '(-2)', 'y', '(x - 1)'])}"


@pytest.mark.parametrize("seed", thinned(range(20), 20))
def test_random_formulas_read_back_to_the_same_value_and_gradient(seed):
    dice, compared = random.Random(seed), 0
    for _ in range(60):
        text = random_expression(dice, dice.randint(1, 4))
        session = Session()
        session.run(f"var x = {dice.uniform(0.2, 2)}; var y = {dice.uniform(0.2, 2)}; z = {text} + 0*x + 0*y")
        try:
            lines = written("formula z wrt x, y", session)
        except AgradError as error:
            assert "no formula" in error.message
            continue
        session.run("backward z")
        wanted = [session.names["z"].item(), *[session.names[name].grad.item() for name in "xy"]]
        found = [numbers(block, session) for block in blocks(lines)]
        if all(map(math.isfinite, wanted)):
            compared += 1
            assert found == pytest.approx(wanted, rel=1e-10, abs=1e-10), f"{text}\n{lines}"
    assert compared > 40


@pytest.mark.parametrize("seed", thinned(range(20), 20))
def test_a_formula_is_never_longer_than_the_program_that_it_comes_from(seed, monkeypatch):
    write, seen = formulas.written, []
    monkeypatch.setattr(formulas, "written", lambda *given: seen.append((given[0], write(*given))) or seen[-1][1])
    dice, compared = random.Random(100 + seed), 0
    for _ in range(60):
        session, text = Session(), random_expression(dice, dice.randint(1, 4))
        session.run(f"var x = {dice.uniform(0.2, 2)}; var y = {dice.uniform(0.2, 2)}; z = {text}")
        try:
            written("formula z wrt x, y", session)
        except AgradError as error:
            assert "no formula" in error.message
            continue
        compared += 1
    for program, found in seen:
        steps = [line.partition("  #")[0].rstrip() for line in parts(program)[1]]
        assert not steps or found.length <= sum(map(len, steps)), f"{steps}\n{found}"
    assert compared > 45
    assert len(seen) > 2 * compared


def blocks(lines):
    """The value and both derivatives, each with the lines of its parts."""
    block = []
    for line in lines:
        if line.startswith("t") and " = " in line:
            block.append(line)
        else:
            yield [*block, f"found = {line.partition(' = ')[2] if line.startswith('d/d') else line}"]
            block = []


def numbers(block, session):
    """What lines compute."""
    with_values = Session()
    with_values.run("\n".join([f"{name} = {session.names[name].item()!r}" for name in "xy"] + block))
    return float(with_values.names["found"])
