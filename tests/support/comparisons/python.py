"""A program that agrad and CPython both read leaves the same under each name, and prints the same."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Iterator
from typing import Any

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session
from agrad.grammar.values.lists import List

from .tensors import close

START = """a = 3.0
b = -1.5
c = 0.25
n = 4.0
xs = list((2.0, -1.0, 0.5))
ys = ["p", "q"]
t = (1.0, "u")
s = "word"
def f(x, y=2.0):
    return x*y - 1.0
def g(x):
    if x > 0.0:
        return x
    return f(x, y=x)
"""
NUMBERS, CALLS = ("a", "b", "c", "n"), ("abs", "f", "g", "float")
STRINGS = ("s", "ys[0]", "s.upper()", 's + "x"', "s[1:3]", 's.replace("o", "0")', '"-".join(ys)', "t[1]", "s*2")


class Script:
    """Random statements; `locals` are the names of numbers."""

    def __init__(self, dice: random.Random) -> None:
        self.dice, self.depth = dice, 0

    def number(self, depth: int = 3) -> str:
        """An expression that is a float."""
        dice, d = self.dice, depth - 1
        if not depth or dice.random() < 0.2:
            return dice.choice((*NUMBERS, *NUMBERS, "2.0", "-0.5", "1e3", "0.1", "7.0"))
        forms = (
            lambda: f"({self.number(d)} {dice.choice('+-*/')} {self.number(d)})",
            lambda: f"({self.number(d)} {dice.choice(('+', '-', '*', '//', '%'))} {self.number(d)})",
            lambda: f"{dice.choice(CALLS)}({self.number(d)})",
            lambda: f"({self.number(d)} if {self.condition(d)} else {self.number(d)})",
            lambda: f"({self.number(0)})**{dice.choice(('2', '3', '0', '-1'))}",
            lambda: f"{dice.choice(('min', 'max'))}({self.number(d)}, {self.number(d)})",
            lambda: f"xs[{dice.choice(('0', '-1', 'len(xs) - 1', 'int(abs(n)) % len(xs)'))}]",
            lambda: f"sum([{self.number(d)} for q in xs if q > {self.number(0)}] + [0.0])",
            lambda: dice.choice(("len(s)*1.0", "len(xs) + 0.5", "t[0]", "sum(xs)", "max(xs)")),
            lambda: f"-{self.number(d)}",
        )
        return dice.choice(forms)()

    def condition(self, depth: int = 2) -> str:
        """An expression that is true or false."""
        dice, d = self.dice, max(depth - 1, 0)
        forms = (
            lambda: f"{self.number(d)} {dice.choice(('<', '<=', '>', '>=', '==', '!='))} {self.number(d)}",
            lambda: f"{self.number(d)} < {self.number(d)} <= {self.number(d)}",
            lambda: f"(not {self.condition(d)})" if depth else "s == 'word'",
            lambda: f"({self.condition(d)} {dice.choice(('and', 'or'))} {self.condition(d)})" if depth else "'p' in ys",
            lambda: f"{self.number(0)} in xs",
            lambda: dice.choice(("xs", "s", "'q' not in ys", "t[1] == 'u'")),
        )
        return f"{dice.choice(forms)()}"

    def simple(self) -> str:
        """A statement of one line."""
        dice = self.dice
        name = dice.choice(NUMBERS)
        forms = (
            lambda: f"{name} = {self.number()}",
            lambda: f"{name} = {name} {dice.choice('+-*')} {self.number(2)}",
            lambda: (
                f"{name}, {dice.choice([one for one in NUMBERS if one != name])} = {self.number(2)}, {self.number(2)}"
            ),
            lambda: dice.choice(
                (f"xs.append({self.number(2)})", f"xs[0] = {self.number(2)}", "xs.reverse()", "xs.sort()")
            ),
            lambda: (
                f"xs = list([{self.number(1)} for q in {dice.choice(('xs', 'range(3)', 'xs[1:]'))}] + [q for q in xs])"
            ),
            lambda: f"xs = list(sorted(xs, reverse={dice.choice(('True', 'False'))})[:5])",
            lambda: dice.choice((f"ys.append({self.string()})", f"ys.insert(0, {self.string()})", "ys = ys[::-1][:6]")),
            lambda: f"t = ({self.number(2)}, {self.string()})",
            lambda: f"s = ({self.string()})[:9]",
            lambda: f"print({self.string()}, len(ys))",
            lambda: f"print(f'{{{name}:.3f}} {{{self.number(0)}:10.2e}}|{{s:>6}}|{{s!r}}', '%5.1f %s' % ({name}, s))",
        )
        return dice.choice(forms)()

    def string(self) -> str:
        """An expression that is a text."""
        return self.dice.choice(STRINGS)

    def statement(self) -> str:
        """A statement, most often of one line."""
        dice = self.dice
        block = "\n".join(f"    {self.simple()}" for _ in range(dice.randint(1, 3)))
        forms = (
            lambda: f"if {self.condition()}:\n{block}",
            lambda: (
                f"if {self.condition()}:\n{block}\nelif {self.condition()}:\n    {self.simple()}\nelse:\n    c = 1.0"
            ),
            lambda: (
                f"for i in range({dice.randint(0, 4)}):\n{block}\n    if {self.condition(1)}: {dice.choice(('break', 'continue'))}\n    b = b + i"
            ),
            lambda: f"for i, q in enumerate(xs[:4]):\n    a = a*0.5 + q*i\n{block}",
            lambda: f"k = 0\nwhile k < 3 and {self.condition(1)}:\n    k += 1\n{block}",
            lambda: f"def f(x, y={self.number(0)}):\n    c = x*{self.number(1)}\n    return c - y",
            lambda: "for q, w in zip(xs[:3], ys[:3]):\n    n = n + q\n    s = (s + w)[:7]",
        )
        return dice.choice(forms)() if dice.random() < 0.4 else self.simple()


def plain(value: Any) -> Any:
    """A value as Python has it, with all numbers as floats."""
    if isinstance(value, Tensor):
        return plain(value.tolist())
    if isinstance(value, List | list):
        return [plain(one) for one in value]
    if isinstance(value, tuple):
        return tuple(plain(one) for one in value)
    return float(value) if isinstance(value, int | float) else value


def cases(dice: random.Random) -> Iterator[None]:
    """A program for each case, which ends with the first statement that Python refuses."""
    for _ in range(50):
        script, session, names, text, said = Script(dice), Session(), {}, START, []
        session.run(START)
        exec(START, names)
        for _ in range(dice.randint(2, 10)):
            line, printed, here = script.statement(), io.StringIO(), []
            text += f"{line}\n"
            try:
                with contextlib.redirect_stdout(printed):
                    exec(line, names)
            except (ArithmeticError, LookupError, NameError, RecursionError, ValueError, TypeError):
                break
            if any(isinstance(one, complex) or (type(one) is float and abs(one) > 1e15) for one in names.values()):
                break
            try:
                session.run(line, lambda result: here.append(result) if not isinstance(result, Noted) else None)  # noqa: B023
            except AgradError as problem:
                raise AssertionError(f"{text}is refused: {problem.message}") from None
            said = "".join(f"{result.text(session.settings)}\n" for result in here)
            assert said == printed.getvalue(), f"{text}prints {said!r}, not {printed.getvalue()!r}"
            for name in ("a", "b", "c", "n", "xs", "ys", "t", "s"):
                found, meant = plain(session.names[name]), plain(names[name])
                assert close(meant, found), f"{text}leaves {name} = {found}, not {meant}"
        yield
