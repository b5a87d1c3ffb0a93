"""A loop gives the same bits compiled and uncompiled, and in one run as in several: signs of zero included."""

import random
import struct

import pytest
from thinned import thinned

from agrad.engine.errors import AgradError
from agrad.engine.values import np
from agrad.grammar.loops import compiled_run, hot_loops
from agrad.grammar.session.session import Session

TURNS = 80  # more than a loop needs to be compiled, also where it runs in four parts
FUNCTIONS = ["sin", "cos", "tanh", "exp", "abs", "sigmoid", "relu", "square"]


def expression(dice, depth, names):
    if depth == 0 or dice.random() < 0.15:
        return dice.choice([*names, repr(round(dice.uniform(-2, 2), 2)), "-0.0", "0", "1", "2"])

    def part():
        return expression(dice, depth - 1, names)

    return dice.choice(
        [
            lambda: f"({part()} {dice.choice('+-*/')} {part()})",
            lambda: f"({part()} {dice.choice('+-*')} {part()})",
            lambda: f"{dice.choice(FUNCTIONS)}({part()})",
            lambda: f"where({part()} {dice.choice('<>')} {part()}, {part()}, {part()})",
            lambda: f"{dice.choice(['max', 'min'])}({part()}, {part()})",
            lambda: f"(-{part()})",
            lambda: f"({part()})**{dice.choice(['2', '3', '1'])}",
        ]
    )()


def program(seed):
    """What is typed before a loop, and the lines of its body."""
    dice = random.Random(seed)
    kind = ("scalar", "vector", "matrix")[seed % 3]
    if kind == "scalar":
        start = f"var w = {dice.uniform(-1, 1)!r}; var u = {dice.uniform(-1, 1)!r}; x = {dice.choice(['0.0', '-0.0'])}"
        start += f"; b = {dice.uniform(-1, 1)!r}; v = 0.0"
        loss = f"0*w + {expression(dice, dice.randrange(2, 5), ['w', 'u', 'x', 'b', 'v'])}"
    elif kind == "vector":
        start = (
            f"manual_seed({seed}); var w = randn(3); var u = randn(3); x = randn(3)*{dice.choice('01')}; v = zeros(3)"
        )
        names = ["w", "u", "x", "v", "w[[0, 0, 1]]", "u[[2, 1, 1]]", "w[0]", "u[-1]"]
        loss = f"sum({expression(dice, dice.randrange(2, 4), names)} + 0*w)"
    else:
        start = (
            f"manual_seed({seed}); var w = randn(3, 4); var u = randn(4, 2); x = randn(5, 3); b = randn(2); v = 0.0*w"
        )
        product = dice.choice(["x@w@u", "(w.T@x.T).T@u", "x@(w@u)", "tanh(x@w)@u", "(x@w)@u + b", "x@w@u*b"])
        loss = f"{dice.choice(['sum', 'mean'])}({dice.choice(['', 'tanh', 'square', 'sin'])}({product}))"
    body = [*dice.choice([["zero_grad"], []]), f"y = {loss}", "backward y"]
    body += dice.choice([[f"no_grad: w -= {step}*w.grad"] for step in ("0.01", "1e-3", "0")] + [[]])
    body += dice.choice([["v = 0.9*v + w.grad"], []])
    return start, body


def bits(value):
    if type(value) is float:
        return struct.pack("d", value)
    gradient = None if value.grad is None else np.asarray(value.grad.value).tobytes()
    return np.asarray(value.value).tobytes(), gradient


def after(seed, parts):
    start, body = program(seed)
    session = Session()
    session.run(start.replace("0.0*w", "zeros(3, 4)"))
    turns = TURNS * 4 // parts
    try:
        for part in range(parts):
            lines = "\n".join(f"    {line}" for line in body)
            session.run(f"for i in range({turns * part}, {turns * (part + 1)}):\n{lines}\n")
    except AgradError as error:
        return error.kind, error.message
    return {name: bits(value) for name, value in session.names.items()}


@pytest.mark.parametrize("seed", thinned(range(30), 6))
def test_a_loop_compiled_in_one_run_and_in_four_and_uncompiled(seed, monkeypatch):
    whole, parts = after(seed, 1), after(seed, 4)
    monkeypatch.setattr(hot_loops, "WORTH", 1e9)
    assert whole == parts == after(seed, 1)


def test_such_loops_are_compiled(monkeypatch):
    done, run = [], compiled_run.CompiledIteration.run
    monkeypatch.setattr(compiled_run.CompiledIteration, "run", lambda *given: done.append(run(*given)) or done[-1])
    for seed in range(12):
        after(seed, 1)
    assert sum(done) > 4 * TURNS * 3
