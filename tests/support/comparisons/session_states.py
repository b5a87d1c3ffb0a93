"""Sessions that read both languages, beside a small model of them: sequences of statements, of either reading.

After each line the session has the names, the answer and the reading that the model has: an error leaves them, `undo`
gives what was before, `redo` what was after, `again` repeats. In the end a script that `save` writes, and the session
that `--resume` restores from its log, have the same.
"""

from __future__ import annotations

import copy
import os
import random
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from agrad.cli.repl import crash_log
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.grammar.runtime.builtins import Closure
from agrad.grammar.runtime.modules import Module
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.saving import script
from agrad.grammar.session.session import Session
from agrad.grammar.values.lists import List

STATEMENTS = 20  # of a sequence
SEQUENCES = 125  # of a seed
IMPORTS = {"import math": ["math"], "import torch, math": ["torch", "math"], "import random as r": ["r"]}


class Vector(list[float]):
    """What both readings have as a tensor."""


class Leaf:
    """A leaf, with its gradient."""

    def __init__(self, value: float) -> None:
        self.value, self.grad = value, None


class Failed(Exception):
    """A statement fails."""


Effect = Callable[[dict[str, Any]], Any]


class Model:
    """What a session has: names, whether Python is read, and the last answer."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.python = self.has_python = False
        self.answer: Any = None
        self.told = 0  # how many answers there were
        self.undone: list[Model] = []
        self.before: list[Model] = []

    def copy(self) -> Model:
        """The same, apart; what can be undone is not a part of it."""
        made = Model()
        made.names, made.answer = copy.deepcopy((self.names, self.answer))
        made.python, made.has_python, made.told = self.python, self.has_python, self.told
        return made

    def become(self, other: Model) -> None:
        """Go to another state."""
        made = other.copy()
        vars(self).update({name: value for name, value in vars(made).items() if name not in ("undone", "before")})

    def run(self, effect: Effect, by_python: bool) -> None:
        """Run a statement of a reading."""
        made = self.copy()
        if by_python is not made.has_python:
            made.names = crossed(made.names, by_python)
            made.has_python = by_python
        try:
            answer = effect(made.names)
        except (Failed, IndexError, KeyError):
            return
        made.names.pop("__builtins__", None)
        if answer is not None:
            made.answer, made.told = answer, made.told + 1
        made.python = by_python
        self.become(made)


def crossed(names: dict[str, Any], to_python: bool) -> dict[str, Any]:
    """The names where the other reading goes on."""
    known: dict[int, Any] = {}

    def of(value: Any) -> Any:
        if id(value) in known:
            return known[id(value)]
        made = value
        if type(value) is int and not to_python:
            made = float(value)
        elif type(value) is list:
            made = known[id(value)] = []
            made += map(of, value)
            if not to_python and value and all(type(one) is float for one in made):
                made = Vector(made)
        elif type(value) is tuple:
            made = tuple(map(of, value))
        known[id(value)] = made
        return made

    return {name: of(value) for name, value in names.items()}


def plain(value: Any) -> Any:
    """A value of the model or of a session, so that two can be compared."""
    if isinstance(value, Leaf):
        return "leaf", value.value, value.grad
    if isinstance(value, Tensor):
        if value.requires_grad:
            return "leaf", value.item(), None if value.grad is None else value.grad.item()
        return "tensor", value.tolist()
    if isinstance(value, Vector):
        return "tensor", list(value)
    if value is None or isinstance(value, bool | int | float | str):
        return type(value).__name__, value
    if isinstance(value, list | List | tuple):
        return "tuple" if isinstance(value, tuple) else "list", [*map(plain, value)]
    if isinstance(value, dict):
        return "dict", [(key, plain(one)) for key, one in value.items()]
    if isinstance(value, Imported | Module):
        return "module"
    if isinstance(value, FunctionType | Closure):
        return "function", value.__name__
    if isinstance(value, type):
        return "class", value.__name__
    return "object", type(value).__name__, [(name, plain(one)) for name, one in vars(value).items()]


def state(held: Session | Model) -> Any:
    """All that is compared."""
    names = [(name, plain(value)) for name, value in held.names.items()]
    return names, plain(held.answer), held.reads_python if isinstance(held, Session) else held.python


# The statements


def executed(text: str) -> Effect:
    """What CPython does with a text; the value of an expression."""

    def effect(names: dict[str, Any]) -> Any:
        try:
            try:
                return eval(compile(text, "model", "eval"), names)
            except SyntaxError:
                exec(compile(text, "model", "exec"), names)
                return None
        except Exception:
            raise Failed from None

    return effect


def fails(names: dict[str, Any]) -> Any:
    """A statement that fails."""
    raise Failed


class Writer:
    """Writes statements that fit the names of a model."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice

    def one(self, kind: Any, names: dict[str, Any]) -> str | None:
        """A name with a value of a kind."""
        found = [name for name, value in names.items() if type(value) is kind]
        return self.dice.choice(found) if found else None

    def number(self, names: dict[str, Any]) -> str:
        """A number, or a name of one."""
        found = [name for name, value in names.items() if type(value) in (int, float) and abs(value) < 1e6]
        return self.dice.choice(found) if found and self.dice.random() < 0.7 else str(self.dice.randint(1, 9))

    def calculator(self, names: dict[str, Any]) -> tuple[str, Effect]:
        """A statement of the calculator's language."""
        dice, name, x = self.dice, self.dice.choice("abcde"), self.number(names)
        leaf, vector = self.one(Leaf, names), self.one(Vector, names)

        def value(env: dict[str, Any]) -> float:
            return float(env[x] if x.isidentifier() else x)

        forms: list[tuple[str, Effect]] = [
            (f"{name} = {x}^2", lambda env: env.update({name: value(env) ** 2})),
            (f"{name} = {x}", lambda env: env.update({name: value(env)})),
            (f"{x} + 1", lambda env: value(env) + 1),
            (
                f"for k in range(3): {name} = {x} + k",
                lambda env: env.update({"k": 2.0, name: value(env) + 2 + (name == x)}),
            ),
            (f"for k in range(3): {name} = k; zork", fails),
            ("zork", fails),
            (f"v = [{x}, 2, 3]", lambda env: env.update({"v": Vector([value(env), 2.0, 3.0])})),
            (f"var p = {x}", lambda env: env.update({"p": Leaf(value(env))})),
            ('xs = ["a", 2]', lambda env: env.update({"xs": ["a", 2.0]})),
            ('s = "ab"', lambda env: env.update({"s": "ab"})),
            (f"def f(t) = t + {dice.randint(1, 9)}", lambda env: env.update({"f": named("f")})),
            (f"1 = {x}", fails),
        ]
        if leaf is not None:
            forms += [
                (f"({leaf}*{leaf}).backward()", lambda env: stepped(env[leaf])),
                (f"backward {leaf}*{leaf}", lambda env: stepped(env[leaf])),
                (f"for k in range(3): ({leaf}*{leaf}).backward(); zork", fails),
                (f"zero_grad {leaf}", lambda env: setattr(env[leaf], "grad", None)),
            ]
        if vector is not None:
            forms += [
                (f"w = 2*{vector}", lambda env: env.update({"w": Vector([2 * one for one in env[vector]])})),
                (f"{vector}[1] = {x}", lambda env: env[vector].__setitem__(1, value(env))),
                (f"{vector}", lambda env: Vector(env[vector])),
                (f"{name} = sum({vector}).item()", lambda env: env.update({name: sum(env[vector])})),
            ]
        return dice.choice(forms)

    def python(self, names: dict[str, Any]) -> tuple[str, Effect]:
        """A statement of Python."""
        dice, name, x = self.dice, self.dice.choice("abcde"), self.number(names)
        leaf, vector = self.one(Leaf, names), self.one(Vector, names)
        items, table, thing = self.one(list, names), self.one(dict, names), self.one(Thing, names)
        texts = [
            f"{name} = {x} + 1", f"{name} = {x}", f"{x}*2", f"{name} = {x} / 4", f"for k in range(3):\n    {name} = k",
            f"xs = [{x}, 2]", f"ys = [{x}, 'a']", f"d = {{'k': {x}}}", "t = (1, 'a')", "zork", "1/0", f"{name} = None",
            f"try:\n    {name} = zork\nexcept NameError as e:\n    {name} = 7", f"{name} = {x} > 2",
            f"def g(n):\n    return n*{dice.randint(2, 9)}", f"s = 'ab' * {dice.randint(1, 3)}", f"def h():\n    global {name}\n    {name} = 5\nh()",
        ]  # fmt: skip
        for one in filter(None, (items,)):
            texts += [
                f"{one}.append({x})", f"{one}[0] = {x}", f"zs = {one}", f"d = {{'k': {one}}}", f"{one} += [1]", f"{one}.pop()",
                f"if True:\n    {one}.append(9)\n    {one}.zork", f"[*{one}]", f"del {one}", f"for k in {one}:\n    {one}[-1] = 0\n    1/0",
            ]  # fmt: skip
        if table is not None:
            texts += [
                f"{table}['n'] = {x}",
                f"{table}.clear()",
                f"{table}.update(m={x})",
                f"{table}['zork']",
                f"len({table})",
            ]
        if thing is not None:
            texts += [
                f"{thing}.v = {x}",
                f"if True:\n    {thing}.v = 0\n    {thing}.zork",
                f"del {thing}.v",
                f"{name} = {thing}.v",
            ]
        forms: list[tuple[str, Effect]] = [(text, executed(text)) for text in texts]
        forms += [
            ("class Thing: pass\no = Thing()", lambda env: env.update({"Thing": Thing, "o": Thing()})),
            ("def f(t) = t", fails),
            (f"print({x})", lambda env: None),
            (f"var p = {dice.randint(1, 9)}/2", executed("p = 1")),
        ]
        value = float(forms[-1][0][8:-2]) / 2
        forms[-1] = forms[-1][0], lambda env: env.update({"p": Leaf(value)})
        if leaf is not None:
            forms += [
                (f"({leaf}*{leaf}).backward()", lambda env: stepped(env[leaf])),
                (f"if True:\n    ({leaf}*{leaf}).backward()\n    1/0", fails),
                (f"{leaf}.grad = None", lambda env: setattr(env[leaf], "grad", None)),
                (f"zero_grad {leaf}", lambda env: setattr(env[leaf], "grad", None)),
            ]
        if vector is not None:
            forms += [
                (f"w = 2*{vector}", lambda env: env.update({"w": Vector([2*one for one in env[vector]])})),
                (f"{vector}[1] = 4", lambda env: env[vector].__setitem__(1, 4.0)),
                (f"{vector} += 1", lambda env: env[vector].__setitem__(slice(None), [one + 1 for one in env[vector]])),
                (f"{vector} += 1; zork", lambda env: env[vector].__setitem__(slice(None), [one + 1 for one in env[vector]])),
                (f"{name} = {vector}.sum().item()", lambda env: env.update({name: sum(env[vector])})),
            ]  # fmt: skip
        return dice.choice(forms)


class Imported:
    """A module in the model."""


class Thing:
    """What a class of a script is in the model."""


def named(name: str) -> Any:
    """A function of a name."""
    made = lambda: None  # noqa: E731
    made.__name__ = name
    return made


def stepped(leaf: Leaf) -> None:
    """A backward of the square of a leaf."""
    leaf.grad = (leaf.grad or 0.0) + 2 * leaf.value


# The comparison


class Typed(NamedTuple):
    """A line that was typed: what it does, in which reading, and the types of the names in it."""

    line: int
    text: str
    effect: Effect
    by_python: bool
    kinds: dict[str, type]


class Pair:
    """A session and its model."""

    def __init__(self, dice: random.Random) -> None:
        self.dice, self.writer, self.model = dice, Writer(dice), Model()
        self.session, self.typed = new_session(), list[Typed]()
        self.texts: list[str] = []

    def run(self, text: str) -> None:
        """Type a line."""
        self.texts.append(text)
        with suppress(AgradError):
            self.session.run(text)

    def statement(self, text: str, effect: Effect, by_python: bool) -> None:
        """Type a statement, and let the model do the same."""
        before, last, line = self.model.copy(), self.last(), self.session.line
        kinds = self.kinds(text)
        self.run(text)
        if not text.startswith("again"):
            self.typed.append(Typed(line, text, effect, by_python, kinds))
        self.model.run(effect, by_python)
        if self.last() is not last:
            self.model.before.append(before)
            self.model.undone.clear()

    def kinds(self, text: str) -> dict[str, type]:
        """The types of the values of names in a text."""
        names = self.model.names
        return {name: type(names[name]) for name in sorted(set(re.findall(r"[^\W\d]\w*", text))) if name in names}

    def again(self) -> None:
        """Run a line again, if it means the same now."""
        found = [one for one in self.typed if one.by_python is self.model.python and one.kinds == self.kinds(one.text)]
        if found:
            one = self.dice.choice(found)
            self.statement(f"again {one.line}", one.effect, one.by_python)

    def reset(self) -> None:
        """Forget all."""
        self.statement("reset", lambda names: names.clear(), self.model.python)
        self.typed.pop()
        self.model.answer, self.model.python = None, False

    def last(self) -> Any:
        """What `undo` takes back next."""
        return self.session.steps.last if len(self.session.steps) else None

    def step(self) -> None:
        """One line."""
        dice, model = self.dice, self.model
        kind = dice.random()
        if kind < 0.1 and model.before:
            self.run("undo")
            after, before = model.copy(), model.before.pop()
            if after.names and after.told == before.told:  # `reset` has no answer
                after.answer = NotImplemented  # which stays what it will be
            model.undone.append(after)
            model.become(before)
        elif kind < 0.15 and model.undone:
            self.run("redo")
            model.before.append(before := model.copy())
            model.become(model.undone.pop())
            if model.answer is NotImplemented:
                model.answer = before.answer
        elif kind < 0.18:
            self.again()
        elif kind < 0.19:
            self.reset()
        elif kind < 0.25 and model.python:
            self.statement("calculator", lambda env: None, True)
            model.run(lambda env: None, False)
            self.typed.pop()
        elif kind < 0.3 or (not model.python and kind < 0.4):
            text = dice.choice([*IMPORTS])
            names = IMPORTS[text]
            self.statement(text, lambda env: env.update({name: Imported() for name in names}), True)
            self.typed.pop()
        else:
            text, effect = (self.writer.python if model.python else self.writer.calculator)(model.names)
            self.statement(text, effect, model.python)

    def check(self) -> None:
        """The session is as the model is."""
        found, meant = state(self.session), state(self.model)
        assert found == meant, "\n".join([*self.texts, "--", f"has   {found}", f"meant {meant}"])

    def check_kept(self, folder: str) -> None:
        """A script that is saved, and the session that is restored, have the same."""
        held, lines = state(self.session), "\n".join(self.texts)
        made = Session()
        text, _ = script(self.session.record.entries, folder)
        made.run(text, source=str(Path(folder, "x.ag")), is_file=True)
        assert state(made)[0] == held[0], f"{lines}\n-- saved\n{text}\n{state(made)[0]}\nmeant {held[0]}"
        other = new_session()
        if self.log._file is not None:
            os.close(self.log._file)
            crash_log.open_log(other, True)
            assert state(other) == held, f"{lines}\n-- restored\n{state(other)}\nmeant {held}"


def new_session() -> Session:
    """A session as at a prompt."""
    session = Session()
    session.steps.depth, session.record.on, session.by_entry = DEPTH, True, True
    return session


def cases(dice: random.Random) -> Iterator[None]:
    """Sequences of statements."""
    for _ in range(SEQUENCES):
        one_case(dice)
        yield


def one_case(dice: random.Random) -> None:
    """A sequence of statements, each looked at, and what is kept of them."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("XDG_STATE_HOME")
        os.environ["XDG_STATE_HOME"] = folder
        try:
            pair = Pair(dice)
            pair.log = pair.session.record.keeper = crash_log.CrashLog(pair.session.record)
            for _ in range(STATEMENTS):
                pair.step()
                pair.check()
            pair.check_kept(folder)
        finally:
            os.environ.pop("XDG_STATE_HOME")
            os.environ.update({} if before is None else {"XDG_STATE_HOME": before})
