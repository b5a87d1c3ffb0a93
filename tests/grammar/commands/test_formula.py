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


def written(text, session=None):
    """What a command prints."""
    session, lines = session or Session(), []
    session.run(text, lambda result: lines.append(result.line) if isinstance(result, Printed) else None)
    return lines


def test_what_is_shared_is_named_where_the_formula_would_be_long():
    session = Session()
    session.run("var a = 0.1\nz = a\nfor i in range(40): z = sin(z)*z + a")
    *parts, result = written("formula z", session)
    assert len(parts) > 30
    check = Session()
    check.run("a = 0.1\n" + "\n".join(parts) + f"\nfound = {result}")
    assert check.names["found"] == pytest.approx(session.names["z"].item(), rel=1e-12)


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
