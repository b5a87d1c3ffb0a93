"""A program of tensors leaves what it leaves in PyTorch, statement by statement, or is refused."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Iterator
from typing import Any

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

START = """import torch
x = torch.tensor([0.5, -1.5, 2.0], requires_grad=True)
y = torch.tensor([1.0, 2.0, -0.25], requires_grad=True)
s = torch.tensor(0.75, requires_grad=True)
k = torch.tensor([3.0, -0.5, 1.5])
opt = torch.optim.SGD([x, s], lr=0.125, momentum=0.5, weight_decay=0.25)
a = x*y
b = x + 1
c = a.sum()*s
d = x.exp()
"""
LEAVES, COMPUTED = ("x", "y", "s"), ("a", "b", "c", "d")
UNARY = (
    "exp() sin() tanh() abs() relu() sigmoid() square() neg() clone() detach() sum() mean() max() cumsum(0) clamp(0)"
)
UNARY = f"{UNARY} sign() floor() softmax(0) logsumexp(0) norm() prod() flip(0)"
WRITES = "add_({n}) mul_({n}) sub_({v}) mul_({v}) copy_({v}) zero_() fill_({n}) clamp_(0) exp_() div_(2)"
# What agrad refuses where PyTorch does not, as the documents say.
REFUSED = "^freed|^leaf: .* would overwrite .* which was computed and has a graph|no axis 0 of shape \\(\\)"


class Script:
    """Random statements that both can read."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.retains = dice.random() < 0.5  # `autograd.grad` would fill the gradients of such values, too, in PyTorch

    def value(self) -> str:
        """A name."""
        return self.dice.choice((*LEAVES, *COMPUTED, "k", "a", "b"))

    def number(self) -> str:
        """A number whose products are exact."""
        return self.dice.choice(("0.5", "2.0", "-1.0", "0.0", "3.0"))

    def expression(self, depth: int = 2) -> str:
        """A computed value."""
        dice = self.dice
        kind = dice.randrange(7) if depth else 6
        one, other = (self.expression(depth - 1) if depth else "" for _ in range(2))
        if kind < 2:
            return f"({one} {dice.choice('+-**/')} {other})"
        if kind == 2:
            return f"{one}.{dice.choice(UNARY.split())}"
        if kind == 3:
            return f"torch.where({one} > {self.number()}, {one}, {other})"
        if kind == 4:
            return f"({one}*({other} > 0))"
        if kind == 5:
            return f"(({one})**{dice.choice('0123')})"
        return dice.choice((self.value(), self.value(), self.value(), f"torch.tensor({self.number()})"))

    def write(self, name: str) -> str:
        """One in place."""
        dice = self.dice
        method = dice.choice(WRITES.split()).format(n=self.number(), v=self.value())
        return dice.choice((f"{name}.{method}", f"{name} {dice.choice('+-*')}= {self.number()}", f"{name}[1] = 2.0"))

    def statement(self) -> str:
        """One statement, or two under `no_grad`."""
        dice, kind = self.dice, self.dice.randrange(14)
        if kind < 4:
            return f"{dice.choice(COMPUTED)} = {self.expression()}"
        if kind < 6:
            return f"with torch.no_grad():\n    {self.write(dice.choice((*LEAVES, *COMPUTED, 'k')))}"
        if kind == 6:
            return self.write(dice.choice((*COMPUTED, "k")))
        if kind == 7:
            return dice.choice(("opt.step()", "opt.zero_grad()", "x.grad = None", "x.grad.zero_()", "y.grad.mul_(2.0)"))
        if kind == 8:
            kept = ("a.retain_grad()", "b.retain_grad()") if self.retains else ()
            return dice.choice(("k.requires_grad_()", "b = b.detach()", *kept))
        if kind == 9 and not self.retains:
            return f"d = torch.autograd.grad({self.value()}.sum(), {dice.choice(LEAVES)}, retain_graph=True)[0].clone().detach()"
        keep = dice.choice(("", "retain_graph=True", "retain_graph=True"))
        return f"{self.value()}.sum().backward({keep})"


def state(names: dict[str, Any], kind: type) -> dict[str, Any]:
    """The values of the names, and their gradients, as lists."""
    found = {}
    for name in (*LEAVES, *COMPUTED, "k"):
        value = names.get(name)
        if isinstance(value, kind):
            kept = value.is_leaf or (value.node.keeps_grad if kind is Tensor else value.retains_grad)
            gradient = value.grad if kept else None
            found[name] = [value.tolist(), None if gradient is None else gradient.tolist(), bool(value.requires_grad)]
        elif value is not None:
            found[name] = [float(value), None, False]
    return found


def close(one: Any, other: Any) -> bool:
    """Whether two states are the same but for rounding."""
    if isinstance(one, dict | list | tuple) and type(one) is type(other) and len(one) == len(other):
        pairs = (
            zip(one.values(), other.values(), strict=True) if isinstance(one, dict) else zip(one, other, strict=True)
        )
        return all(close(*pair) for pair in pairs)
    if isinstance(one, float) and isinstance(other, float | int | bool):
        return (
            one == other or abs(one - other) <= 1e-9 * max(1, abs(one), abs(other)) or (one != one and other != other)
        )
    return one == other


def cases(dice: random.Random) -> Iterator[None]:
    """A program for each case, which ends with the first statement that one of them refuses."""
    import torch

    torch.set_default_dtype(torch.float64)
    for _ in range(50):
        script, session, names, text = Script(dice), Session(), {}, START
        session.run(START)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(START, names)
            for _ in range(dice.randint(3, 12)):
                line = script.statement()
                text += f"{line}\n"
                refused = ""
                try:
                    session.run(line)
                except AgradError as problem:
                    refused = f"{problem.kind}: {problem.message}"
                try:
                    exec(line, names)
                except (RuntimeError, LookupError, AttributeError, TypeError, ValueError):
                    break  # it also refuses what reads a value that was written since, of which agrad has the old data
                if refused:
                    by_mask = refused.startswith("stale") and " > " in text  # what a mask was computed from was written
                    assert by_mask or re.search(REFUSED, refused), f"{text}is refused: {refused}"
                    break
                there, here = state(names, torch.Tensor), state(session.names, Tensor)
                if "nan" in str(there):
                    break  # where PyTorch passes on the nan of a side of `where` that was not taken, agrad does not
                assert close(there, here), f"{text}gives {told(here, there)}, not {told(there, here)}"
        yield


def told(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """What of one differs from the other."""
    return {name: value for name, value in one.items() if not close(value, other.get(name))}
