"""Calls: of functions and methods, the engine's and the user's."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from agrad.engine.core.context import current, next_stamp
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Label
from agrad.grammar.diagnostics import Span
from agrad.grammar.pytorch.names import DIFFERING, NAMESPACES, method_there
from agrad.grammar.results import Noted
from agrad.grammar.runtime import attributes
from agrad.grammar.runtime.at_once import at_once
from agrad.grammar.runtime.builtins import Closure, between, is_object, is_result, meaning
from agrad.grammar.runtime.bytecode import Code, Definition, Frame, Spread
from agrad.grammar.runtime.compiler import DERIVATIVES, SKIPPED
from agrad.grammar.runtime.errors.cut_paths import READERS
from agrad.grammar.runtime.errors.name_errors import not_called
from agrad.grammar.runtime.operations import (
    adapted,
    added_up,
    as_array_if_list,
    as_tuple_if_list,
    given_as,
    is_table,
    iterate,
    listed,
    spread,
)
from agrad.grammar.runtime.views import ALIASES, VIEWERS, carry, mark
from agrad.grammar.runtime.views import METHODS as VIEW_METHODS
from agrad.grammar.runtime.vm.core import MISSING
from agrad.grammar.runtime.vm.names import Names
from agrad.grammar.values.list_methods import LENGTHENING, ListMethod
from agrad.grammar.values.lists import List, Star, become_list

MAX_CALLS = 2000
_OF_OBJECTS = frozenset(NAMESPACES.values())  # the modules whose functions take objects and classes
# Functions that call the operators of objects, or ask for their attributes.
FOLDING = {FUNCTIONS[name].call: name for name in ("sum", "max", "min", "abs", "float", "hasattr", "getattr")}
FOLDING[FUNCTIONS["stack"].call] = "stack"  # of truths
ENTERED = -1  # what an instruction returns that pushed a frame, instead of a place to jump to
DIFFERENTIATE = tuple(FUNCTIONS[name].call for name in DERIVATIVES)


class Calls(Names):
    """The instructions that call, and the one that defines a function."""

    def call(self, function: Closure, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a function of the user from Python, as the engine does to differentiate it."""
        self.calling += 1
        try:
            return self._run(self._enter(function, args, keywords))
        finally:
            self.calling -= 1

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
        if (
            function in FOLDING
            and args
            and (found := self.folded(FOLDING[function], args, keywords, span)) is not MISSING
        ):
            stack.append(found)
            return False
        stack.append(invoke(function, args, keywords))
        return False

    @abstractmethod
    def folded(self, name: str, args: tuple[Any, ...], keywords: dict[str, Any], span: Span) -> Any:
        """What a function of several values gives of objects, by their operators; MISSING where there are none."""

    def _of_unknown(self, frame: Frame, detail: tuple[Code, tuple[str, ...], str], span: Span) -> None:
        code, names, text = detail
        unknown = tuple([name for name in names if not self._has_value(name, frame)])
        if len(unknown) > 1:
            message = f"{' and '.join(unknown)} have no value, and an expression has one unknown here"
            raise AgradError("name", message, labels=[Label(span)])
        function = Closure(Definition(text, unknown, (), code, span), (), self, frame.scopes)
        frame.stack.append(function if unknown else self.call(function, (), {}))

    @staticmethod
    def _has_value(name: str, frame: Frame) -> bool:
        return meaning(name, frame.scopes, MISSING) is not MISSING or name in ("_", "ans") or is_result(name)

    def _each(self, frame: Frame, detail: tuple[Definition, bool, str, bool], span: Span) -> None:
        definition, has_last, apart, flat = detail
        current().origin = span
        last = frame.stack.pop() if has_last else None
        values = between(frame.stack.pop(), last) if has_last else frame.stack.pop()
        function = Closure(definition, (), self, frame.scopes)
        if not apart:
            whole = at_once(self, function, values)
            if whole is not None:
                frame.stack.append(whole)
                return
        found = (self.call(function, (value,), {}) for value in iterate(values))
        results = [result for result in found if result is not SKIPPED]
        if flat:
            results = [entry for result in results for entry in result]
        current().origin = span
        if apart:
            frame.stack.append(tuple(results) if apart == "tuple" else List(results, joins=True))
        else:
            frame.stack.append(listed(results))

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
        args = tuple(map(as_tuple_if_list, args))
        keywords = {name: as_tuple_if_list(value) for name, value in keywords.items()}
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
        value, args, keywords = _arguments(frame.stack, (count, names))
        if name == "backward":
            self.before_backward(value, span)
        if is_table(value):
            from agrad.grammar.runtime import tables  # here, since few scripts have one

            value = tables.callee(value, name)
        if is_object(value):
            from agrad.grammar.runtime import objects  # here, since few calculations have objects

            found = objects.attribute(value, name)
            if isinstance(found, Closure):  # of a class
                self.frames.append(self._enter(found, args, keywords))
                return ENTERED
            return ENTERED if self._call_object(frame.stack, found, args, keywords, span) else None
        current().origin = span
        if name in DIFFERING and self.session.imported and type(value) is Tensor:
            own = method_there(name, args, keywords, self.session.imported)
            if own is not None:
                found = adapted(own(value, *args, **keywords))
                if name == "split":
                    mark(found, value)
                frame.stack.append(found)
                return None
        if name in LENGTHENING and type(value) is Tensor and value.shape and not value.node.recorded:
            value = become_list(value, self._places(args))
        if name in READERS:
            self.note_number(name, value, span)
        found = invoke(attributes.method(value, name), (value, *args), keywords)
        if name in VIEW_METHODS:
            mark(found, value)
        elif name in ALIASES:
            carry(found, value)
        frame.stack.append(found)
        return None

    def note_number(self, name: str, value: Any, span: Span) -> None:
        """Note that a value becomes a plain number, where that cuts a derivative."""
        note = self.cut_paths.at_number(name, value, span)
        if note is not None:
            self.session.emit(Noted(note))

    def _lambda(self, frame: Frame, definition: Definition, span: Span) -> None:
        count = len(definition.defaulted)
        defaults = tuple(frame.stack[len(frame.stack) - count :])
        del frame.stack[len(frame.stack) - count :]
        frame.stack.append(Closure(definition, defaults, self, frame.scopes))

    def _define(self, frame: Frame, definition: Definition, span: Span) -> None:
        count = len(definition.defaulted)
        defaults = tuple(frame.stack[len(frame.stack) - count :])
        del frame.stack[len(frame.stack) - count :]
        self.bind(frame.scopes[0], definition.name, Closure(definition, defaults, self, frame.scopes))


def invoke(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call a function of the table. Its keywords are bound here, since operations take operands by position."""
    signature = getattr(function, "signature", None)
    if type(function) is not ListMethod:
        if function is FUNCTIONS["sum"].call and len(args) == 1 and not keywords and type(args[0]) is List:
            return added_up(args[0])
        args, keywords = _without_lists(function, args, keywords)
    if signature is not None and keywords:
        args, keywords = signature.bind(args, keywords)
    elif getattr(function, "__module__", "") in _OF_OBJECTS:
        from agrad.grammar.runtime import objects  # here, since few calculations have objects

        return adapted(objects.call(function, args, keywords))
    try:
        found = adapted(function(*args, **keywords))
    except TypeError as problem:
        if signature is not None and not any(isinstance(one, type) for one in args):
            raise
        # The engine has called a class as a function: one of the arguments, or that of `grad(nn.Linear)(w)`.
        raise AgradError("arity", f"{getattr(function, '__name__', 'a function')}: {problem}") from None
    if function in VIEWERS and args:
        mark(found, args[0])
    return found


def _without_lists(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, Any]:
    """The arguments as a function of the engine takes them: lists as arrays, or as tuples where they are several."""
    if List not in map(type, args) and List not in map(type, keywords.values()):
        return args, keywords
    convert = given_as(function)
    if function in DIFFERENTIATE and args:
        args = (as_array_if_list(args[0]), *args[1:])  # what is differentiated, by one value or several
    return tuple(map(convert, args)), {name: convert(value) for name, value in keywords.items()}


def _arguments(stack: list[Any], detail: tuple[int, tuple[str, ...]]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Pop the function, its arguments and its keyword arguments."""
    count, names = detail
    total = count + len(names)
    given = stack[len(stack) - total :] if total else []
    del stack[len(stack) - total :]
    if type(names) is Spread:
        return (stack.pop(), *_spread(given[:count], zip(names, given[count:], strict=True)))
    return stack.pop(), tuple(given[:count]), dict(zip(names, given[count:], strict=True))


def _spread(given: list[Any], named: Iterable[tuple[str, Any]]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments, with the entries of `*xs` and `**options` in their places."""
    keywords: dict[str, Any] = {}
    for name, value in named:
        more: dict[Any, Any] = (value.named or {}) if type(value) is Star else {name: value}
        if not all(isinstance(one, str) for one in more):
            raise AgradError("type", "the names of arguments are texts, and a key of this dictionary is none")
        twice = next((one for one in more if one in keywords), None)
        if twice is not None:
            raise AgradError("arity", f"the argument {twice} is given twice")
        keywords |= more
    return tuple(spread(given)), keywords
