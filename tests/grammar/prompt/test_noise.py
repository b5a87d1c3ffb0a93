"""The mark for rounding noise at the prompt."""

import random
from fractions import Fraction

import pytest

from agrad.cli.repl.printer import PromptPrinter
from agrad.grammar.prompt.changes import Changes
from agrad.grammar.prompt.noise import is_noise
from agrad.grammar.results import Shown
from agrad.grammar.session.session import Session


def value(text):
    session = Session()
    session.run(text)
    return session.names["y"]


@pytest.mark.parametrize(
    "text",
    [
        "var x = 0.1; y = 3*x - 0.3",
        "var x = 0.1; y = x + 0.2 - 0.3",
        "var x = 0.1; a = 0.3; y = -(x*3) + a",
        "var x = 2; y = sqrt(x)^2 - 2",
        "var x = pi; y = sin(x)",
        "var x = 1/3; y = 1 - x*3 + (x - 1/3) + 1e-17",
        "var x = 0.7; y = sin(x)^2 + cos(x)^2 - 1 + 1e-17",
        "var x = 49; y = 1 - x*(1/x)",
    ],
)
def test_noise(text):
    assert is_noise(value(text))


@pytest.mark.parametrize(
    "text",
    [
        "var x = 0.1; y = 3*x - 0.25",
        "var x = 1e-17; y = x*3",  # small, and accurate
        "var x = 2^-52; y = (x + 1) - 1",  # no operation rounds
        "var x = 1 + 2^-52; y = x - 1",
        "var x = 1 + 2^-52; y = x*2 - 2",
        "var x = 3; y = x - 3",  # exactly 0
        "var x = 1e-9; y = exp(x) - 1",
        "var x = 5e-324; y = x*1",
        "var x = inf; y = x*0",
        "var x = 2; y = x/inf + 1e-17",
        "var x = 0.1; y = 3*x - 0.3; backward y",  # freed
        "var x = 0.1; z = 3*x; y = z - 0.3; set x = 7",  # stale or not: z keeps its value
        "var x = [0.1]; y = 3*x - 0.3",  # an array
        "var x = [0.1]; y = sum(3*x - 0.3)",
        "x = 0.1; y = 3*x - 0.3",  # no graph
        "var x = 0.1; z = x\nfor i in range(200): z = z + 0\ny = 3*z - 0.3",  # a long computation is not looked at
        "y = 5e-17",
        "y = 'text'",
    ],
)
def test_no_noise(text):
    assert not is_noise(value(text))


def test_what_is_no_noise_has_the_right_sign():
    """Random sums and products with cancellation, beside exact arithmetic with the decimal numbers as typed."""
    chance, marked = random.Random(5), 0
    for _ in range(300):
        a, b, c = (round(chance.uniform(-2, 2), 2) or 1.0 for _ in range(3))
        found = value(f"var x = {a}; y = (x + {b})*{c} - x*{c} - {b}*{c}")
        x, y, z = (Fraction(str(number)) for number in (a, b, c))
        true = (x + y) * z - x * z - Fraction(repr(b * c))
        marked += is_noise(found)
        assert is_noise(found) or found.value == 0 or (found.value > 0) == (true > 0)
    assert marked > 100


def test_nothing_changes():
    session = Session()
    session.run("var x = 0.1; y = 3*x - 0.3")
    assert is_noise(session.names["y"])
    assert session.names["x"].grad is None
    session.run("backward y")
    assert session.names["x"].grad.value == 3


def test_the_prompt_says_so_unless_it_is_switched_off(capsys):
    session = Session()
    session.run("var x = 0.1; y = 3*x - 0.3")
    printer = PromptPrinter(session.settings)
    for session.settings.echo in (True, False):
        printer(Shown(session.names["y"]))
    assert capsys.readouterr().out == (
        "5.551115123e-17 (rounding noise)   <SubBackward>\n5.551115123e-17   <SubBackward>\n"
    )


def test_the_line_of_changes_says_so():
    session = Session()
    session.settings.echo = True
    changes = Changes(session)
    changes.begin()
    session.run("var x = 0.1; y = 3*x - 0.3")
    assert changes.line("y = 3*x - 0.3") == "x = 0.1, y = 5.551115123e-17 (rounding noise)"
