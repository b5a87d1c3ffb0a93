"""The mark for rounding noise at the prompt."""

import random
from fractions import Fraction
from pathlib import Path

from answers import answers
from rows import each

from agrad.cli.repl.printer import PromptPrinter
from agrad.grammar.prompt.changes import Changes
from agrad.grammar.prompt.noise import NOISE, is_noise, mark
from agrad.grammar.results import Shown
from agrad.grammar.session.session import Session

HERE = Path(__file__).parent


def value(text):
    session = Session()
    session.run(text)
    return session.names["y"]


@each("text, said", answers(HERE / "noise_of_values.txt").items())
def test_the_value_of_a_name(text, said):
    assert is_noise(value(text)) is (said == "noise")


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
    for session.settings.noise in (True, False):
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


GIVEN = (
    "a = [0.1, 0.2, 0.3]; b = 0.1*3; k = 5; M = [[2, 1], [1, 3]]; var v = [0.1, 0.2, 0.3]; h = 0.1\ndef f(x) = x*3\n"
    "def g(x):\n    for i in range(1): x = x*3\n    return x\n"
)


def marked(*texts):
    """What is said of the noise in the last value that is shown."""
    session, shown = Session(), []
    for text in (GIVEN, *texts):
        session.run(text, lambda result: shown.append(mark(result.value, result.expression, result.names)))
    return shown[-1]


@each("text, said", answers(HERE / "noise_of_expressions.txt").items())
def test_an_expression_as_it_is_typed(text, said):
    assert marked(text) == said


@each("form", ["{a} + {b}*{c} - {d}", "({a} + {b})*{c} - {a}*{c} - {b}*{c}", "sum([{a}, {b}, {c}]) - {d}"])
def test_a_number_without_a_mark_has_the_right_sign(form):
    chance, several = random.Random(form), 0
    for _ in range(100):
        a, b, c = (round(chance.uniform(-2, 2), 1) for _ in range(3))
        d = round(a + b * c if "*" in form else a + b + c, 2)
        text = form.format(a=f"({a})", b=f"({b})", c=f"({c})", d=f"({d})")
        session = Session()
        shown = []
        session.run(text, shown.append)
        found = shown[-1]
        number = float(found.value.value if hasattr(found.value, "value") else found.value)
        exact = eval(  # the same with decimal numbers
            form.format(a="A", b="B", c="C", d="D"),
            {"A": Fraction(str(a)), "B": Fraction(str(b)), "C": Fraction(str(c)), "D": Fraction(str(d)), "sum": sum},
        )
        is_marked = mark(found.value, found.expression, found.names) == NOISE
        several += is_marked
        assert is_marked or (number > 0) - (number < 0) == (exact > 0) - (exact < 0)
    assert several > 5


@each("text", ["sum([{}, {}, {}]) - {}", "{}*{} - {}*{}", "[{}, {}]*{} - {}"])
def test_what_no_operation_rounds_has_no_mark(text):
    chance = random.Random(text)
    for _ in range(50):
        numbers = (chance.randrange(-99, 99) / 64 for _ in range(4))
        assert marked(text.format(*(f"({number!r})" for number in numbers))) == ""


def test_nothing_of_the_session_changes_by_looking():
    session = Session()
    session.run("manual_seed(1); var x = [0.1]; y = 3*x - 0.3")
    before = session.names["x"].node.seq, list(session.names)
    session.run("3*x - 0.3", PromptPrinter(session.settings))
    session.run("rand(2) - 0.5", PromptPrinter(session.settings))
    after = session.evaluate("rand()").value
    assert (session.names["x"].node.seq, list(session.names)) == before
    other = Session()
    other.run("manual_seed(1); rand(2) - 0.5")
    assert after == other.evaluate("rand()").value


def test_set_turns_the_marks_off_and_undo_on_again(capsys):
    session = Session()
    session.steps.depth = 10
    printer = PromptPrinter(session.settings)
    for text in (
        "0.1 + 0.2 - 0.3",
        "set noise off",
        "0.1 + 0.2 - 0.3",
        "undo",
        "0.1 + 0.2 - 0.3",
        "set noise off",
        "set noise on",
        "sin(pi)",
    ):
        session.run(text, printer)
    lines = [line for line in capsys.readouterr().out.splitlines() if "e-" in line]
    assert [NOISE in line for line in lines] == [True, False, True, True]
