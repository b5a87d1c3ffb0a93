"""A machine that runs each part of code by a rule of its own: to stage a loop, to compute apart from a session.

It runs code that is made for it: names are those of scopes which the machine keeps, and no operator is Python's own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from types import CodeType
from typing import Any, NoReturn

from agrad.grammar.diagnostics import Span
from agrad.grammar.run.code import ruled
from agrad.grammar.run.machine import SIGNS, Machine
from agrad.grammar.runtime.builtins import Closure
from agrad.grammar.runtime.operations import function_of

Scopes = tuple[dict[str, Any], ...]


class ByRule(Machine):
    """A machine that runs only what it has a rule for: a method of its own, or one of the machine that is named."""

    as_is = frozenset({"call"})  # the parts of code that are run as by any machine
    refused: type[Exception]  # raised where another part is to run

    def __init__(self, session: Any) -> None:
        super().__init__(session)
        self.scopes_of_calls: list[Scopes] = []  # of the functions that run, innermost last

    def rule(self, word: str) -> Callable[..., Any]:
        """What runs a part of code; what raises `refused` where that may not run."""
        name = f"on_{word}"
        if word in self.as_is or getattr(type(self), name, None) is not getattr(Machine, name, None):
            return getattr(self, name)  # type: ignore[no-any-return]

        def refuse(*_: object) -> NoReturn:
            raise self.refused(f"it has {word}")

        return refuse

    def helper(self, name: str) -> Any:
        """What the code calls by a name."""
        return partial(self.on_operator, function_of(SIGNS[name])) if name in SIGNS else self.rule(name[1:])

    def on_constant(self, value: Any) -> Any:
        """A value that is written."""
        return value

    def on_store(self, site: tuple[str, Span], value: Any) -> None:
        """A name gets a value."""
        self.scopes_of_calls[-1][0][site[0]] = value

    def on_poll(self) -> None:
        """A loop or a function goes on."""

    def on_checked(self, site: tuple[tuple[str, Any], Span], left: Any, right: Any) -> Any:
        """An operator that asks something of its operands."""
        self.check_operands(site, left, right)
        return self.on_operator(function_of(site[0][0]), left, right)

    def on_binary(self, site: tuple[str, Span], left: Any, right: Any) -> Any:
        """A comparison."""
        return self.on_operator(function_of(site[0]), left, right)

    @abstractmethod
    def on_operator(self, function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        """An operator or a comparison."""

    def run_in(self, code: CodeType, scopes: Scopes) -> Any:
        """Run code in some scopes."""
        self.scopes_of_calls.append(scopes)
        try:
            return self.function(code, {})()
        finally:
            self.scopes_of_calls.pop()

    def enter(self, function: Closure, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a function of the user."""
        made = function.definition
        if made.ruled is None:
            made.ruled = ruled(made.tree, made.span)
        return self.run_in(made.ruled, (function.bind(args, keywords), *map(self.around_call, function.scopes)))

    def around_call(self, names: dict[str, Any]) -> dict[str, Any]:
        """The names that a call sees, for names around its function."""
        return names

    def call(self, function: Closure, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a function of the user from Python."""
        return self.enter(function, args, keywords)
