"""Each fix that is text to type is typed, and helps: it can be read, and does not fail in the same way."""

from __future__ import annotations

import random

import pytest
from claims import START
from fixes import bad_fixes, failure, new_session
from sentences import ROOT, STORE, mutate
from thinned import thinned
from transcript import statements

import agrad.grammar.commands  # noqa: F401  # which says how each command is written
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError, Hint, typed
from agrad.grammar.diagnostics import Source, render
from agrad.grammar.results import Quit
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.errors.messages import CARET, MESSAGES
from agrad.grammar.syntax.parser import parse

# The timer that ends a slow fix may go off where Python ignores what is raised: in a callback of garbage collection.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

# What people type who come from elsewhere, and what they are to be told to type.
ELSEWHERE = {
    "let z = 4": "z = 4",
    "const k = 3": "k = 3",
    "y = sin x": "y = sin(x)",
    "y = 2*sin x + 1": "y = 2*sin(x) + 1",
    "y = sin f(2)": "y = sin(f(2))",
    "5 mod 3": "5 % 3",
    "20% of 50": "20/100*50",
    "d/dx f(x)": "grad(f)(1)",
    "d/dx(f(x))": "grad(f)(x)",
    "d²/dx² x³": "grad(grad(lambda x: x³))(1)",
    "d^2/dx^2 (x^3)": "grad(grad(lambda x: x^3))(x)",
    "d2/dx2 2x^3": "grad(grad(lambda x: 2*x^3))(1)",
    "x²y": "x²*y",
    "{x[0] + 1}^{2}": "(x[0] + 1)^(2)",
    "2*sin⁻¹(0.5)": "2*asin(0.5)",
    "sin⁻¹ n": "asin(n)",
    "sin⁻¹ 0.5": "asin(0.5)",
    "2*sin² 0.5": "2*sin(0.5)^2",
    "1/cos^-2 n": "1/cos(n)^-2",
    "W(1, 2)": "W[0, 1]",
    "disp(x)": "print(x)",
    "b = budget y": "budget y",
    "b = graph y as svg": "graph y as svg",
    "e = explain y": "explain y",
    "v = var 3": "var v = 3",
    "g = grad x": "g = x.grad",
    'd = load "a.csv"': 'd = load_csv("a.csv")',
    'd = load "a.ag"': 'load "a.ag"',
    "budget(y)": "budget y",
    "graphs()": "graphs",
    "y = 1 000 000.5*2": "y = 1000000.5*2",
    "sind(30)": "sin(30*pi/180)",
    "cosd(x + 1)": "cos((x + 1)*pi/180)",
    "derivative(f, 1)": "grad(f)(1)",
    "tg(x)": "tan(x)",
    "ctg(x)": "(1/tan(x))",
    "radians(180)": "deg2rad(180)",
    "q = ufloat(1, 0.1)": "q = (1 ± 0.1)",
    "nan_to_num(x)": "torch.nan_to_num(x)",
    "(1 ± 0.1).std_dev": "(1 ± 0.1).u",
    "(1 ± 0.1).nominal_value": "(1 ± 0.1).data",
    "TRUE": "True",
    "ifelse(x > 1, 1, 0)": "where(x > 1, 1, 0)",
    "length(x)": "len(x)",
    "avg(x)": "mean(x)",
    "deg(pi)": "rad2deg(pi)",
    "rad(180)": "deg2rad(180)",
    "rem(7, 3)": "fmod(7, 3)",
    "clear x": "del x",
    "x === 2": "x == 2",
    "7 %/% 2": "7 // 2",
    "A = [[2, 1], [1, 3]]; A %*% [1, 2]": "A = [[2, 1], [1, 3]]; A @ [1, 2]",
    "h = x => x**2": "h = x >= x**2",
    "[1, 2] .^ 2 .+ 1": "[1, 2] ^ 2 + 1",
    "sin.(x) .+ 1": "sin(x) + 1",
    "h = @(x) x.^2": "def h(x) = x^2",
    "h <- function(x, z) x^2*z": "def h(x, z) = x^2*z",
    "root(@(x) x^2-2, 1)": "root(lambda x: x^2-2, 1)",
    "y = 1:5": "y = arange(1, 6)",
    "0:0.1:1": "linspace(0, 1, 11)",
    "y = [1 2 3]": "y = [1, 2, 3]",
    "y = [1 -2; 3 4] # rows": "y = [[1, -2], [3, 4]]",
    "[1, 2; x, 4;]": "[[1, 2], [x, 4]]",
    "if x[0] > 1 then y = 2": "if x[0] > 1: y = 2",
    "y = x[0] > 1 ? 2 : -x[0]": "y = 2 if x[0] > 1 else -x[0]",
    "x[0] == 2 ? 1 : 0": "1 if x[0] == 2 else 0",
    "e^{2x}": "e^(2*x)",
    "x**2 at x=3": "x=3; x**2",
    "derivative of x**2": "grad(lambda x: x**2)(1)",
    "d/dx(x**2)": "grad(lambda x: x**2)(x)",
    "d/dx x^2": "grad(lambda x: x^2)(1)",
    "d/dx (x^2+1)^3": "grad(lambda x: (x^2+1)^3)(x)",
    "d/dx[sin(x^2)]": "grad(lambda x: sin(x^2))(x)",
    "d/dx (x+1)*(x-1)": "grad(lambda x: (x+1)*(x-1))(x)",
    "f(x) = 3x^2 + 1": "def f(x) = 3*x^2 + 1",
    "cot 2 + 1": "(1/tan(2)) + 1",
    "var u = 2, v = 3": "var u = 2; var v = 3",
    "x = 2, y = 3": "x = 2; y = 3",
    "x^{2}": "x^(2)",
    "y = e^{-3} + 1": "y = e^(-3) + 1",
    "2/sec(3*x)^2": "2/(1/cos(3*x))^2",
    "cot(x)": "(1/tan(x))",
    "sin²x": "sin(x)^2",
    "2*sin^2 x + 1": "2*sin(x)^2 + 1",
    "cos 3x + 1": "cos(3*x) + 1",
    "sin 2x^2 - 2x": "sin(2*x^2) - 2*x",
    "sin(45°)": "sin(45*pi/180)",
    "jacobian(lambda v: v^2, [1, 2])": "jacobian(lambda v: v^2)([1, 2])",
    "d/dt 3t^2 + 2t": "grad(lambda t: 3*t^2 + 2*t)(1)",
    "dy/dx": "grad(y, x)",
    "y = 3x^2 + 2x + 1": "y = 3*x^2 + 2*x + 1",
    "f'(2)": "grad(f)(2)",
    "f''(2)": "grad(grad(f))(2)",
    "g'(2)": "grad(g)(2)",
    "y = f'(2) + g'(2)": "y = grad(f)(2) + grad(g)(2)",
    "D(f)": "grad(f)",
    "nDeriv(x^2, x, 3)": "grad(lambda x: x^2)(3)",
    "sin^2(2)": "sin(2)^2",
    "y = sin²(2) + 1": "y = sin(2)^2 + 1",
    "sin^-1(0.5)": "asin(0.5)",
    "2*|x - 1| + 1": "2*abs(x - 1) + 1",
    "ln x": "log(x)",
    "y = ln 2x": "y = log(2*x)",
    "sin 2x": "sin(2*x)",
    "arcsin x": "asin(x)",
    "f(x) = x^2": "def f(x) = x^2",
    "function h(x) = x^2": "def h(x) = x^2",
    "let h(x, z) := x*z": "def h(x, z) = x*z",
    "h = x -> x^2": "h = lambda x: x^2",
    "h: x -> x^2": "def h(x) = x^2",
    "solve(x**2-2=0, x)": "solve x**2-2 == 0 for x from 1",
    "solve(z^2 == 4, z)": "solve z^2 == 4 for z from 1",
    "d/dt(t**2)": "grad(lambda t: t**2)(1)",
    "np.diff(x)": "x[1:] - x[:-1]",
    "diff(x**2, x)": "grad(x**2, x)",
    "y = ln(3) + 1  # of three": "y = log(3) + 1",
    "var (a,b) = (1,2)": "var a = 1; var b = 2",
    "sin(x)?": "help sin",
    "dump u": "graph u",
    'display "a"': 'print "a"',
    "plot sin(q)": "plot sin(q) for q in -2..2",
    "x(3)": "x*(3)",
    "5!": "gamma(5 + 1)",
    "√x²": "sqrt(x**2)",
    "mean(1,2,3)": "mean([1, 2, 3])",
    "C(5, 2)": "comb(5, 2)",
    "1 + nPr(5, 2)": "1 + perm(5, 2)",
    "2x + 1": "2*x + 1",
    "y = 2x + 1": "y = 2*x + 1",
    "if x[0] = 3: y": "if x[0] == 3: y",
}
# A product without its sign behind a sign that may be of all of it: both ways to read it.
TWO_READINGS = {
    "e^2x": ["e^(2*x)", "e^2*x"],
    "e^-2x + 3x": ["e^(-2*x) + 3*x", "e^-2*x + 3*x"],
    "y = 1/2x^2 # a half": ["y = 1/(2*x^2)", "y = 1/2*x^2"],
    "1/2sin(x)": ["1/(2*sin(x))", "1/2*sin(x)"],
    "√2x": ["√(2*x)", "√2*x"],
    "2*2x": ["2*2*x"],
    "y = 3x + e^2x": ["3*x, and brackets around what divides or is a power: 1/(2*x), e^(2*x)"],
    "d/dx e^2x": [],
}
# These are told what is not there, and how to do without it, in words.
WITHOUT = {
    "1+2i": "2*i   if i is one of your names",
    "3 km to m": "multiply by the factor between them",
    "x = 1; while x < 3: x += 1": "put it on the next line",
    "if x[0] > 1: x = 1; while x < 3: x += 1": "put it on the next line, indented",
    "W.view(6)[0] = 9": "write into W itself, by the indices of the entries in it",
    "C2(5, 2)": "def C2(x, y) = …   defines it",
    "(2 + 3)!": "gamma(n + 1) for n!",
    "precision 5": 'print f"{x:.5g}"',
    "50 + 20%": "20/100 for 20 percent",
    "x.data()(2)": ".data",
}


@pytest.mark.parametrize("text", ELSEWHERE)
def test_what_is_written_otherwise_elsewhere(text: str) -> None:
    error = failure(new_session(START), text)
    assert error is not None
    assert typed(error.fixes)[0] == ELSEWHERE[text], render(error)
    assert not list(bad_fixes([START], text))


@pytest.mark.parametrize("text", TWO_READINGS)
def test_what_may_be_read_in_two_ways_is_not_decided(text: str) -> None:
    error = failure(new_session("x = 2"), text)
    assert error is not None
    assert error.fixes == TWO_READINGS[text]


@pytest.mark.parametrize("name", [name for name, entry in FUNCTIONS.items() if entry.pure])
def test_fixes_of_a_function_that_is_given_numbers(name: str) -> None:
    session = new_session()
    for arguments in ("1, 2", "1, 2, 3"):
        error = failure(session, f"{name}({arguments})")
        for fix in typed(error.fixes) if error is not None else []:
            again = failure(session, fix)
            assert again is None, render(again)


@pytest.mark.parametrize("text", WITHOUT)
def test_what_has_no_counterpart(text: str) -> None:
    error = failure(new_session(START), text)
    assert error is not None
    assert any(fix.startswith(WITHOUT[text]) and isinstance(fix, Hint) for fix in error.fixes), render(error)
    assert not list(bad_fixes([START], text))


READ = {
    "2×3·4÷6−1": 3,
    "pi·2": 6.283185307179586,
    "3²": 9,
    "2³²": 2**32,
    "−2²": -4,
    "2⁻² + 10⁻¹": 0.35,
    "√16 + √(2 + 2)*2": 8,
    "√√16": 2,
    "cos(π)": -1,
    "(3 ≤ 3) + (2 ≠ 3) + (2 ≥ 3)": 2,
    "0x1F + 0b101 + 0o17 + 0xff_ff": 31 + 5 + 15 + 65535,
    "log(1000, 10)": 3,
    "log(8, base=2)": 3,
    "comb(5, 2) + perm(5, 2)": 30,
    "sum(k**2 for k in 1..3) + prod(k for k in 1..5)": 134,
    "sum([k**2 for k in range(4)])": 14,
    "gcd(12, 18, 27) + lcm([4, 6, 10])": 63,
    "mod(-5, 3)": 1,
    "0x" + "f" * 400: float("inf"),
}


@pytest.mark.parametrize("text", READ)
def test_signs_of_mathematics_are_read(text: str) -> None:
    assert new_session().evaluate(text) == READ[text]


@pytest.mark.parametrize("text", ["exit", "exit()", "exit  # done", "x = 1; exit"])
def test_exit_quits(text: str) -> None:
    with pytest.raises(Quit):
        new_session().run(text)


def test_exit_is_a_name_elsewhere() -> None:
    new_session().run("exit = 3\nassert exit + 1 == 4\nassert 3 == exit")


def test_a_backward_of_a_plain_value_names_the_value() -> None:
    error = failure(new_session(), "x = 2; y = x**2; y.backward()")
    assert error is not None
    assert error.message.startswith("y does not require grad")


def test_an_attribute_that_a_function_has_not_is_refused_with_brackets_as_without() -> None:
    messages = [getattr(failure(new_session(), text), "message", None) for text in ("qr.data()", "qr.data")]
    assert messages == [".data needs a number or an array, not the function qr"] * 2


EXAMPLES = [example.replace(CARET, "") for entry in MESSAGES.values() for example in entry.examples]


@pytest.mark.parametrize("start", thinned(["", START], 2))
def test_the_fixes_of_all_syntax_errors(start: str) -> None:
    assert not [bad for example in EXAMPLES for bad in bad_fixes([start], example)]


FILES = sorted((ROOT / "tests" / "transcripts").glob("*.txt"))


@pytest.mark.parametrize("file", thinned(FILES, 4), ids=lambda file: file.stem)
def test_the_fixes_of_the_transcripts(file) -> None:  # type: ignore[no-untyped-def]
    found = statements(file.read_text(encoding="utf-8"))
    session, bad = new_session(), []
    for position, text in enumerate(found):
        error = failure(session, text)
        if error is not None and typed(error.fixes):
            bad += bad_fixes(found[:position], text)
    assert not bad


def mutated(count: int, seed: int) -> list[str]:
    """Random texts that are nearly right."""
    dice = random.Random(seed)
    return [mutate(dice.choice(STORE), dice) for _ in range(count)]


@pytest.mark.parametrize("seed", thinned(range(4), 4))
def test_the_fixes_of_random_statements(seed: int) -> None:
    assert not [bad for text in mutated(60, seed) for bad in bad_fixes([START], text)]


def test_a_fix_that_is_shown_is_whole() -> None:
    long = " + ".join(["2x"] * 40)
    error = failure(Session(), long)
    assert error is not None
    assert not typed(error.fixes)


def test_the_right_line_can_be_read() -> None:
    for fix in ELSEWHERE.values():
        parse(Source("session", fix))


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("grad(y, x, w)", "grad(y, [x, w])"),
        ("trace(y)", "backward y trace   shows each step of a backward"),
        ("trace y", "backward y trace   shows each step of it"),
        ("plot x^2", "plot x^2 for x in -2..2"),
        ("x.grad + 1", "backward y   of a y that depends on x; until then x.grad is none"),
        ("x.grad ~= 4", "backward y   of a y that depends on x; until then x.grad is none"),
        ("sinx", "sin(x)"),
        ("y = 2*cosx^2", "y = 2*cos(x)^2"),
        ("xsin(x)", "x*sin(x)"),
        ("y = sin(x)cos(x)", "y = sin(x)*cos(x)"),
        ("y = x sin x", "y = x*sin(x)"),
        ("3 sin x", "3*sin(x)"),
        ("(x + 1) sin x", "(x + 1)*sin(x)"),
        ("gradient y", "grad(y, x)   of a value y by a leaf x; grad(y)(1) of a function"),
        ("2*x.grad()", "2*x.grad"),
        ('save "x.pdf"', 'save "x.ag"'),
        ("watch y as 2*y", "watch y as lambda g: 2*g   passes on twice the gradient g"),
        ("formula sum(v)*x wrt x", "explain sum(v)*x"),
        ("save lesson.ag", 'save "lesson.ag"'),
        ("grad y wrt x", "grad(y, x)"),
        ("backward y step", "backward y trace"),
        ("backward y wrt x", "grad(y, x)"),
        ("formula y wrt x order 2", "formula grad(y, x)"),
        ("formula y order 2", "formula grad(y, x)   by a leaf x"),
        ("solve t^2 - 4 = 0", "solve t^2 - 4 == 0 for t from 1"),
        ("plot t^2 from -1 to 2", "plot t^2 for t in -1..2"),
        ("plot y = t^2", "plot t^2 for t in -2..2"),
        ("plot t^2 for t = 0..2*pi", "plot t^2 for t in 0..2*pi"),
        ("plot sin(t), t = -2..2", "plot sin(t) for t in -2..2"),
        ('load_csv(my.data.csv, na="")', 'load_csv("my.data.csv", na="")'),
        ("dq/dx", "grad(q, x)   of a value q that was computed from a leaf x; grad(f)(2) of a function f"),
    ],
)
def test_what_a_pupil_of_the_chain_rule_types(text: str, fix: str) -> None:
    session = new_session("var x = 2; var w = 3; y = x^2*w; var v = [1, 2]")
    error = failure(session, text)
    assert error is not None
    assert error.fixes[0] == fix, render(error)


def test_at_is_told_with_what_holds_for_a_value_that_has_been_computed():
    session = Session()
    session.run("var x = 2; y = x**3")
    with pytest.raises(AgradError, match="no `at`") as caught:
        session.run("y at x=3")
    first, other = caught.value.fixes
    assert other == "x=3; y"  # which shows the old y
    session.run(first.partition("   ")[0])
    assert session.evaluate("y.item()") == 27


def test_a_number_that_is_called_may_be_meant_as_a_function() -> None:
    error = failure(new_session("x = 2"), "f = x^2; f(3)")
    assert error is not None
    assert error.fixes == ["f = x^2; f*(3)", "def f(x) = …   makes a function of it"]
