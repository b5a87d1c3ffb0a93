"""Ordinary code run on other values, under guards: to stage a loop, to compute apart from a session.

The code is that which the machine of a session runs; what differs is what can be reached from it. A name is asked for
when it is first read, and what it gives is up to the machine. Each operator and call is a method of the machine, since
no value counts as a plain number or array there. A part of code that the machine does not have by itself is refused.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from types import CellType
from typing import Any, NoReturn

from agrad.engine.core.op import OPS
from agrad.grammar.diagnostics import Span
from agrad.grammar.run.machine import SIGNS, Machine
from agrad.grammar.runtime.builtins import Closure
from agrad.grammar.runtime.operations import function_of


class Names(dict[str, Any]):
    """The names of code: one that is not there yet is found when it is first read. KeyError: the language's own."""

    def __init__(self, find: Callable[[str], Any]) -> None:
        super().__init__()
        self.find = find

    def __missing__(self, name: str) -> Any:
        if name[0] == ".":
            raise KeyError(name)
        return self.find(name)


class Guarded(Machine):
    """A machine that runs only the parts of code that it has by itself, or names as those of any machine."""

    as_is = frozenset({"call", "checked"})
    refused: type[Exception]  # raised where another part is to run
    names: dict[str, Any]  # those of a session

    def __init__(self, session: Any) -> None:
        super().__init__(session)
        self.owned: dict[Closure, Closure] = {}  # functions of the user as they run here
        self.inside = 0  # how many of them are running
        self.builtins |= {".plain": (), ".known": {}.get, ".stop": True, ".float": None, ".tensors": ()}
        self.builtins |= {".closure": None, ".range": None}

    def helper(self, name: str) -> Any:
        """What the code calls by a name."""
        if name in SIGNS:
            return self.arithmetic(SIGNS[name])
        word = f"on_{name[1:]}"
        if name[1:] in self.as_is or getattr(type(self), word, None) is not getattr(Machine, word, None):
            return getattr(self, word)

        def refuse(*_: object) -> NoReturn:
            raise self.refused(f"it has {name[1:]}")

        return refuse

    def own(self, function: Closure) -> Closure:
        """A function of the user as this machine runs it: with its names, and what stands for the values it keeps.

        These are the values of its defaults, and of the names of the functions around it.
        """
        if function not in self.owned:
            run = function.run or function.machine.compiled(function)
            code, cells = run.__code__, run.__closure__ or ()
            if [name for name in code.co_freevars if name[0] == "."] or len(function.around) > 1:
                raise self.refused("a function keeps what is around it")
            inner = tuple([CellType() for _ in cells])
            made = self.function(code, self.names, run.__name__, None, inner)
            self.owned[function] = Closure(function.definition, function.defaults, self, function.around, made)
            for name, own, cell in zip(code.co_freevars, inner, cells, strict=True):
                if cell != own:  # it has a value
                    self.fill(own, name, cell.cell_contents)
            made.__defaults__ = tuple(map(self.kept, run.__defaults__ or ()))
            made.__kwdefaults__ = {name: self.kept(value) for name, value in (run.__kwdefaults__ or {}).items()}
        return self.owned[function]

    def fill(self, cell: CellType, name: str, value: Any) -> None:
        """Keep the value of a name for a function."""
        cell.cell_contents = self.kept(value)

    @abstractmethod
    def kept(self, value: Any) -> Any:
        """What stands for a value that a function keeps."""

    def enter(self, function: Closure, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a function of the user."""
        self.inside += 1
        try:
            return super().enter(function, args, keywords)
        finally:
            self.inside -= 1

    # Names

    def on_look(self, site: tuple[str, Span]) -> Any:
        """A name that has a value of its own where the script gives it none."""
        try:
            return self.names[site[0]]
        except KeyError:
            raise self.refused(f"it has {site[0]}") from None

    def on_outer(self, site: tuple[str, Span]) -> Any:
        """The value of a name outside of the function that binds it. Raises NameError."""
        try:
            return self.names[site[0]]
        except (KeyError, self.refused):
            raise NameError from None

    def on_named(self, name: str, value: Any) -> None:
        """A name gets a value, of which nothing is told."""

    on_local = on_again = on_named  # type: ignore[assignment]

    # Operators and calls

    def arithmetic(self, sign: str) -> Callable[[Any, Any], Any]:
        """The helper for an operator."""
        return lambda left, right: self.operated(sign, left, right, self.here())

    def on_binary(self, site: tuple[str, Span], left: Any, right: Any) -> Any:
        """An operator."""
        return self.operated(site[0], left, right, site[1])

    def operated(self, sign: str, left: Any, right: Any, span: Span) -> Any:
        """An operator or a comparison, as the function that it calls."""
        return self.called(function_of(sign), (left, right), {}, span)

    def on_neg(self, value: Any) -> Any:
        """`-x`."""
        return self.called(OPS["neg"].call, (value,), {}, self.here())

    def on_callee(self, span: Span, function: Any) -> Any:
        """What calls a value: each call is looked at."""
        return lambda *args: self.called(function, args, {}, span)

    def on_poll(self) -> None:
        """A loop or a function goes on."""
