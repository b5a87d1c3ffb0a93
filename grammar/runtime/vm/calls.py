"""Calls: of functions and methods, the engine's and the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agrad.engine.core.context import current, next_stamp
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Span
from agrad.grammar.runtime import attributes
from agrad.grammar.runtime.at_once import at_once
from agrad.grammar.runtime.builtins import Closure, between, is_object
from agrad.grammar.runtime.bytecode import Code, Definition, Frame
from agrad.grammar.runtime.errors.name_errors import not_called
from agrad.grammar.runtime.operations import adapted, iterate, listed
from agrad.grammar.runtime.vm.names import Names

MAX_CALLS = 2000
ENTERED = -1  # what an instruction returns that pushed a frame, instead of a place to jump to


class Calls(Names):
    """The instructions that call, and the one that defines a function."""

    def call(self, function: Closure, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a function of the user from Python, as the engine does to differentiate it."""
        return self._run(self._enter(function, args, keywords))

    def call_top(self, stack: list[Any], detail: tuple[int, tuple[str, ...]], span: Span) -> bool:
        """Call the function below its arguments on the stack; True if that pushed a frame."""
        function, args, keywords = _arguments(stack, detail)
        if isinstance(function, Closure):
            self.frames.append(self._enter(function, args, keywords))
            return True
        if is_object(function):
            return self._call_object(stack, function, args, keywords, span)
        if not callable(function):
            raise not_called(function, (*args, *keywords), span)
        current().origin = span
        stack.append(invoke(function, args, keywords))
        return False

    def _each(self, frame: Frame, detail: tuple[Definition, bool, bool], span: Span) -> None:
        definition, has_last, apart = detail
        current().origin = span
        last = frame.stack.pop() if has_last else None
        values = between(frame.stack.pop(), last) if has_last else frame.stack.pop()
        function = Closure(definition, (), self, frame.scopes)
        if not apart:
            whole = at_once(self, function, values)
            if whole is not None:
                frame.stack.append(whole)
                return
        results = [self.call(function, (value,), {}) for value in iterate(values)]
        current().origin = span
        frame.stack.append(tuple(results) if apart else listed(results))

    def _enter(self, function: Closure, args: tuple[Any, ...], keywords: dict[str, Any]) -> Frame:
        if len(self.frames) > MAX_CALLS:
            raise AgradError("limit", f"{function.__name__}: calls are nested more than {MAX_CALLS} deep")
        if next_stamp() > self.session.watch.due:
            self.session.watch.look(self.frames)
        return Frame(function.definition.code, (function.bind(args, keywords), *function.scopes))

    def _call_object(
        self, stack: list[Any], function: Any, args: tuple[Any, ...], keywords: dict[str, Any], span: Span
    ) -> bool:
        """Call an object, a class, or a method of one; True if that pushed a frame."""
        from agrad.grammar.runtime import objects  # here, since few calculations have objects

        current().origin = span
        own = objects.entered(function, args)
        if own is not None:
            self.frames.append(self._enter(*own, keywords))
            return True
        if not callable(function):
            raise not_called(function, (*args, *keywords), span)
        stack.append(adapted(objects.call(function, args, keywords)))
        return False

    def _class(self, frame: Frame, detail: tuple[str, bool, Code], span: Span) -> None:
        from agrad.grammar.runtime import objects  # here: see above

        name, has_base, code = detail
        base = frame.stack.pop() if has_base else None
        body: dict[str, Any] = {}
        self._run(Frame(code, (body, *frame.scopes)))
        self.bind(frame.scopes[0], name, objects.make_class(name, base, body, self, frame.scopes))

    def _method(self, frame: Frame, detail: tuple[str, int, tuple[str, ...]], span: Span) -> int | None:
        name, count, names = detail
        if name == "backward":
            self.growth.next_round()
        value, args, keywords = _arguments(frame.stack, (count, names))
        if is_object(value):
            from agrad.grammar.runtime import objects  # here, since few calculations have objects

            found = objects.attribute(value, name)
            if isinstance(found, Closure):  # of a class
                self.frames.append(self._enter(found, args, keywords))
                return ENTERED
            return ENTERED if self._call_object(frame.stack, found, args, keywords, span) else None
        current().origin = span
        frame.stack.append(invoke(attributes.method(value, name), (value, *args), keywords))
        return None

    def _define(self, frame: Frame, definition: Definition, span: Span) -> None:
        count = definition.defaults
        defaults = tuple(frame.stack[len(frame.stack) - count :])
        del frame.stack[len(frame.stack) - count :]
        self.bind(frame.scopes[0], definition.name, Closure(definition, defaults, self, frame.scopes))


def invoke(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call a function of the table. Its keywords are bound here, since operations take operands by position."""
    signature = getattr(function, "signature", None)
    if signature is not None and keywords:
        args, keywords = signature.bind(args, keywords)
    return adapted(function(*args, **keywords))


def _arguments(stack: list[Any], detail: tuple[int, tuple[str, ...]]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Pop the function, its arguments and its keyword arguments."""
    count, names = detail
    total = count + len(names)
    given = stack[len(stack) - total :] if total else []
    del stack[len(stack) - total :]
    return stack.pop(), tuple(given[:count]), dict(zip(names, given[count:], strict=True))
