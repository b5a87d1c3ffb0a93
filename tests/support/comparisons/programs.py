"""Random scripts of which most lines run: loops, gradients, writes in place, choices, and what is printed."""

from __future__ import annotations

import random
from collections.abc import Iterator

START = """\
manual_seed(1)
var a = 0.5
var b = -0.25
var u = [0.5, -1, 2]
s = 1.5
c = 0
t = [1, -2, 0.25]
q = [0, 3, 1]
M = [[1, 0.5, -1], [2, -0.25, 0.125]]
"""
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


_SIMPLE = (
    lambda m: f"s = {m.scalar()}",
    lambda m: f"c = {m.scalar(2)}",
    lambda m: f"t = {m.vector()}",
    lambda m: f"q = {m.vector(2)}",
    lambda m: f"s {m.dice.choice('+-*')}= {m.scalar(2)}",
    lambda m: f"t {m.dice.choice('+-*')}= {m.vector(2)}",
    lambda m: f"q[{m.place(('0', '1', '2'))}] = {m.scalar(2)}",
    lambda m: f"q[{m.place(('0', '1', '2'))}] += {m.scalar(1)}",
    lambda m: f"t = t.detach(); t[:2] = {m.scalar(1)}",
    lambda m: f"q *= {m.dice.choice(NUMBERS)}",
    lambda m: f"backward {m.loss()}{m.dice.choice(('', '', ' retain', ' fresh'))}",
    lambda m: f"s = {m.loss()}; backward s{m.dice.choice(('', ' retain', ' create_graph'))}",
    lambda m: f"k = grad({m.loss()}, a)",
    lambda m: f"c = {m.loss()}; zero_grad; backward c; a.grad",
    lambda m: f"set {m.dice.choice(LEAVES)} = {m.scalar(1)}",
    lambda m: f"no_grad: {m.dice.choice(LEAVES)} -= {m.dice.choice(('0.01*a.grad', '0.1', 's*0.01'))}",
    lambda m: f"step {m.dice.choice(('sgd', 'adam'))} a b lr=0.01",
    lambda m: "zero_grad",
    lambda m: "no_grad: u *= 0.9",
    lambda m: f"var a = {m.scalar(1)}",
    lambda m: f"print {m.scalar(1)}, {m.vector(1)}",
    lambda m: m.scalar(2),
    lambda m: m.vector(2),
    lambda m: f"retain s; {m.scalar(1)}",
    lambda m: "forward s",
    lambda m: f"s, c = {m.scalar(1)}, s",
    lambda m: "c = rand()",
    lambda m: f'print f"{{{m.dice.choice(("s", "c", "a"))}:.3f}}"',
    lambda m: f"assert {m.condition(1)}",
)
_PLAIN = (
    *_SIMPLE[:7],
    *_SIMPLE[:4],
    lambda m: f"s = 0.9*s + {m.scalar(2)}",
    lambda m: f"t = 0.5*t + {m.vector(2)}",
    _SIMPLE[6],
    _SIMPLE[7],
    lambda m: f"{m.dice.choice('tq')}[{m.place(('0', '1:'))}] = {m.scalar(1)}",
    lambda m: f"no_grad: u[{m.place(('0', '2'))}] {m.dice.choice(('', '-', '*'))}= {m.scalar(1)}",
    lambda m: f"c = c + {m.scalar(2)}*0.1",
    lambda m: f"if {m.condition(1)}: {m.dice.choice(_SIMPLE[:8])(m)}",
    lambda m: f"if {m.condition(1)}:\n    {m.dice.choice(_SIMPLE[:8])(m)}\nelse:\n    {m.dice.choice(_SIMPLE[:8])(m)}",
    lambda m: f"if i % {m.dice.choice(('5', '7'))} == 3: print i, {m.scalar(1)}",
    lambda m: f"no_grad: {m.dice.choice(_SIMPLE[:8])(m)}",
    lambda m: f"s, c = {m.scalar(1)}, s",
    lambda m: f"z = {m.loss()}; s = z.item()",
    lambda m: f"set a = {m.scalar(1)}",
    lambda m: f"k = {m.scalar(2)}; s = k*0.5 - {m.scalar(1)}",
    lambda m: "for j in range(2): s = s*0.5 + j",
    lambda m: "no_grad: s = a*b; t = u*a",
)
_IN_LOOPS = (
    *_PLAIN,
    *_SIMPLE,
    lambda m: f"k = grad({m.loss()}, {m.dice.choice(LEAVES)})",
    lambda m: f"zero_grad; backward {m.loss()}",
    lambda m: "c = rand()*s",
    lambda m: "s = s.detach()" if m.dice.random() < 0.5 else "t = t.detach()",
    lambda m: f"if {m.condition(1)}: break" if m.dice.random() < 0.3 else f"if {m.condition(1)}: continue",
)
_DESCENTS = (
    lambda m: f"zero_grad\nbackward {m.loss()}\nno_grad:\n    a -= 0.01*a.grad",
    lambda m: f"s = {m.loss()}\nbackward s\nstep {m.dice.choice(('sgd', 'adam'))} a b lr=0.01\nzero_grad",
    lambda m: f"zero_grad\nbackward {m.loss()} + sum(u**2)\nno_grad: u -= 0.05*u.grad",
    lambda m: f"backward {m.loss()} fresh\nif a.grad > 0: s = {m.scalar(1)}",
    lambda m: f"zero_grad a; backward {m.loss()}\nc = 0.5*c + a.grad",
    lambda m: f"backward {m.loss()} fresh\nno_grad: u -= 0.01*u.grad if norm(u) > 0.1 else u",
    lambda m: f"z = {m.loss()}\nz.backward()\nwith torch.no_grad(): b -= 0.01*b.grad\na.grad.zero_(); b.grad.zero_()",
)


def statements(dice: random.Random, count: int, turns: int = 12) -> Iterator[str]:
    """Random statements, one after the other; a tenth of them are loops."""
    script = Script(dice)
    for _ in range(count):
        yield script.loop(turns) if dice.random() < 0.1 else script.statement()
