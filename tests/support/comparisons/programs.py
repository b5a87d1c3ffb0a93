"""Random scripts of which most lines run: loops, gradients, writes in place, choices, and what is printed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

from transcript import sections

START = Path(__file__).with_suffix(".ag").read_text("utf-8")
LEAVES = ("a", "b")
SCALARS = ("a", "b", "s", "c", "a", "s")
VECTORS = ("u", "t", "q", "u")
ON_SCALARS = "sin cos exp tanh abs square sqrt log relu sigmoid floor sign reciprocal softplus log1p atan -".split()
ON_VECTORS = "sin exp tanh abs square relu sigmoid floor sqrt log cumsum flip sort softmax neg".split()
REDUCTIONS = "sum mean max min prod norm var logsumexp".split()
NUMBERS = ("0", "1", "2", "0.5", "-1", "0.1", "3", "-0.0", "1e-3", "-0.25")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class Script:
    """Random expressions and statements over the names of START; inside a loop, also over its counter `i`."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.counters: tuple[str, ...] = ()
        self.scalars, self.vectors = SCALARS, VECTORS

    def scalar(self, depth: int = 3) -> str:
        """An expression that is a number."""
        dice, d = self.dice, depth - 1
        if depth <= 0 or dice.random() < 0.15:
            return dice.choice((*self.scalars, *self.counters, *self.counters, dice.choice(NUMBERS)))
        kind = dice.randrange(12)
        if kind < 5:
            return f"({self.scalar(d)} {dice.choice('+-*/+-*')} {self.scalar(d)})"
        if kind < 7:
            return f"{dice.choice(ON_SCALARS)}({self.scalar(d)})"
        if kind == 7:
            return f"{dice.choice(REDUCTIONS)}({self.vector(d)})"
        if kind == 8:
            return f"{dice.choice(self.vectors)}[{self.place(('0', '1', '-1', '2', 'c', '0', '-3'))}]"
        if kind == 9:
            return f"({self.scalar(d)})**{dice.choice(('2', '3', '0.5', '-1', '2', 's'))}"
        if kind == 10:
            return f"({self.scalar(d)} if {self.condition(d)} else {self.scalar(d)})"
        return f"where({self.condition(d)}, {self.scalar(d)}, {self.scalar(d)})"

    def vector(self, depth: int = 3) -> str:
        """An expression that is a vector of three, most often."""
        dice, d = self.dice, depth - 1
        if depth <= 0 or dice.random() < 0.15:
            return dice.choice(self.vectors)
        kind = dice.randrange(12)
        if kind < 4:
            return f"({self.vector(d)} {dice.choice('+-*/+-*')} {self.vector(d)})"
        if kind < 6:
            return f"({self.vector(d)} {dice.choice('+-*/+-*')} {self.scalar(d)})"
        if kind < 8:
            return f"{dice.choice(ON_VECTORS)}({self.vector(d)})"
        if kind == 8:
            if self.counters and dice.random() < 0.3:
                return f"M[{self.place(('0', 'i % 2', '-1'))}]"
            return f"{dice.choice(self.vectors)}[{dice.choice(('[0, 0, 2]', '[2, 1, 0]', '::-1', ':', '[1, 1, 1]'))}]"
        if kind == 9:
            return f"where({self.vector(d)} {dice.choice(COMPARISONS)} {self.scalar(d)}, {self.vector(d)}, {self.vector(d)})"
        if kind == 10:
            return f"((M @ {self.vector(d)}) @ M)"
        return f"outer({self.vector(d)}, {self.vector(d)})[{dice.choice('012')}]"

    def place(self, others: tuple[str, ...]) -> str:
        """An index of one entry; in a loop, often one that its counter gives."""
        with_counter = ("i % 3", "i % 3", "-1 - i % 3", "2 - i % 3", "i % 4", "i - 2", "i % 2:i % 2 + 1", "i")
        return self.dice.choice(with_counter if self.counters and self.dice.random() < 0.5 else others)

    def condition(self, depth: int = 1) -> str:
        """A comparison of numbers."""
        return f"{self.scalar(depth)} {self.dice.choice(COMPARISONS)} {self.scalar(depth)}"

    def loss(self) -> str:
        """A number to be differentiated, which depends on a leaf, most often."""
        kept = self.scalars, self.vectors
        self.scalars, self.vectors = SCALARS, VECTORS
        value, array = self.scalar(3), self.vector(2)
        self.scalars, self.vectors = kept
        return self.dice.choice((f"{value} + a*b", f"sum({array}*u) + b*a", f"{value}*a + b"))

    def simple(self) -> str:
        """A statement of one line, without a block."""
        return self.dice.choice(_SIMPLE)(self)

    def statement(self) -> str:
        """A statement, also a block or a choice."""
        kind = self.dice.randrange(10)
        if kind == 0:
            return f"if {self.condition(2)}:\n    {self.simple()}"
        if kind == 1:
            return f"if {self.condition(1)}:\n    {self.simple()}\nelse:\n    {self.simple()}"
        if kind == 2:
            return f"fails {self.dice.choice(('shape', 'type', 'name', 'grad', 'stale'))}:\n    {self.simple()}"
        return self.simple()

    def loop(self, turns: int, most: int = 4) -> str:
        """A loop over a range; most often what it carries over has no graph, so that the loop can be compiled."""
        self.counters, kinds = ("i",), _IN_LOOPS
        if self.dice.random() < 0.85:
            self.scalars, self.vectors, kinds = ("s", "c", "i"), ("t", "q"), _PLAIN
        lines = [self.dice.choice(kinds)(self) for _ in range(self.dice.randint(1, most))]
        if self.dice.random() < 0.5:
            lines = [self.descent(), *lines] if self.dice.random() < 0.5 else [*lines, self.descent()]
        self.counters, self.scalars, self.vectors = (), SCALARS, VECTORS
        body = "\n".join(f"    {line}" for statement in lines for line in statement.split("\n"))
        start = self.dice.choice(("", "", "1, ", "-3, "))
        loop = f"for i in range({start}{turns}):\n{body}"
        if self.dice.random() < 0.3:
            lines = "\n".join(f"    {line}" for line in loop.split("\n"))
            parameters = self.dice.choice(("s, c, t, q", "s, c, t, q", "s, t"))
            return f"def f({parameters}):\n{lines}\n    return {parameters}\n{parameters} = f({parameters})"
        return loop

    def descent(self) -> str:
        """A gradient and a step, as a loop of an optimisation has them."""
        return self.dice.choice(_DESCENTS)(self)


def forms(title: str) -> list[Callable[[Script], str]]:
    """What makes a statement, for each line of a part of programs.txt: the text of an f-string, of a script `m`."""
    lines = sections(Path(__file__).with_name("programs.txt"))[title][0].splitlines()
    return [eval(f"lambda m: f'''{line}'''", globals()) for line in lines]


_SIMPLE, _DESCENTS = forms("simple"), forms("descents")
_PLAIN = [*_SIMPLE[:7], *_SIMPLE[:4], *forms("plain")]
_IN_LOOPS = [*_PLAIN, *_SIMPLE, *forms("in loops")]


def statements(dice: random.Random, count: int, turns: int = 12) -> Iterator[str]:
    """Random statements, one after the other; a tenth of them are loops."""
    script = Script(dice)
    for _ in range(count):
        yield script.loop(turns) if dice.random() < 0.1 else script.statement()
