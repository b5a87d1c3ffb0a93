"""A graph that is replayed at new data, again and again, is to the bit the one that is built afresh at these data."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager

from agrad.engine.core.tensor import Tensor
from agrad.engine.program import replay

from .answers import assert_equal, begin_again, bits, new_session, told
from .programs import START, Script

POINTS = ("0.5", "-1", "2", "0", "0.25", "-0.0", "3", "1e-3", "-0.7", "1.3", "7", "-2.5")


@contextmanager
def eager_to_compile(dice: random.Random) -> Iterator[None]:
    """Compile replays from the second on, or not at all."""
    kept, replay.COST = replay.COST, dice.choice((0.0, 0.0, 1e9))
    try:
        yield
    finally:
        replay.COST = kept


def cases(dice: random.Random) -> Iterator[None]:
    """A graph at new data for each case: some points for each graph."""
    replayed, fresh = new_session(START), new_session(START)
    script = Script(dice)
    for _ in range(20):
        of_scalars = dice.random() < 0.5  # only these are compiled
        if of_scalars:
            script.vectors = ("[a, b, 0.5]",)
        expression = script.loss()
        script.vectors = ("u", "t", "q", "u")
        build, after = f"y = {expression}", dice.choice(("backward y retain fresh", "backward y retain", "y"))
        begin_again(replayed, START)
        if told(replayed, f"{build}\nzero_grad") or "y" not in replayed.names:
            continue  # it fails, or has a note
        point = {"a": "0.5", "b": "-0.25", "u": "[0.5, -1, 2]"}
        for _ in range(10):
            for name in dice.choice((("a",), ("a", "b"), ("a", "b"), ("u",), ("a", "b", "u"))):
                numbers = [dice.choice(POINTS) for _ in range(3)]
                point[name] = f"[{', '.join(numbers)}]" if name == "u" else numbers[0]
            new = ", ".join(f"{name}={value}" for name, value in point.items())
            with eager_to_compile(dice):
                said = told(replayed, f"zero_grad\nforward y with {new}\n{after}")
            if any("guard" in line or "forward" in line for line in said):
                break  # it is refused, which is right or not, but not silent
            begin_again(fresh, START)
            told(fresh, "\n".join(f"var {name} = {value}" for name, value in point.items()))
            expected = told(fresh, f"{build}\n{after}")
            if _is_of_constants(said, expected):
                continue
            found = [_without_lines(said), *(_value(replayed, name) for name in "yabu")]
            wanted = [_without_lines(expected), *(_value(fresh, name) for name in "yabu")]
            assert_equal(found, wanted, build, f"forward y with {new}", after)
            yield


def _is_of_constants(said: list[str], expected: list[str]) -> bool:
    """Whether a note is on an operation on constants alone, which a replay does not compute again."""
    places = [found[1] for text in expected if (found := re.match(r"note: (.+?) is nan", text))]
    return said != expected and any(not set(re.findall(r"\b[abuy]\b", place)) for place in places)


def _without_lines(said: list[str]) -> list[str]:
    """What is said, without the numbers of lines: one session has had more than the other, and pictures are as wide."""
    return [re.sub(r"line \d+", "line", re.sub(r"^ +\|", "|", text, flags=re.MULTILINE)) for text in said]


def _value(session, name):  # type: ignore[no-untyped-def]
    """The value of a name and its gradient, without its version: a leaf that was set has another."""
    found = session.names.get(name)
    if not isinstance(found, Tensor):
        return bits(found)
    gradient = None if found.grad is None else bits(found.grad.value + 0.0)  # a gradient of 0 may have either sign
    return bits(found.value), gradient
