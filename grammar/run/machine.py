"""The machine: it runs code against the names of a session, and tells errors with their places.

A helper of the code is a method `on_name`, which the code knows as `.name`. Names that a script reads and does not bind
are looked up in builtins, which get them when code is about to run that reads them.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from functools import partial
from math import inf
from sys import _getframe
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

from agrad.engine import units
from agrad.engine.core.arguments import tidy_slice
from agrad.engine.core.context import (
    UndoLog,
    current,
    next_stamp,
    put_back,
    remember_entry,
    remember_order,
    restored,
    scope,
)
from agrad.engine.core.graph import Units, touch
from agrad.engine.core.guards import choose, entries
from agrad.engine.core.op import FUNCTIONS, OPERATORS, OPS, VIEWERS
from agrad.engine.core.tensor import Tensor, no_grad
from agrad.engine.errors import AgradError, Hint, Label, Note
from agrad.engine.ops.tables import Table, Texts, compared
from agrad.engine.values import IEEE, MISSING, describe
from agrad.grammar import runtime
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.elsewhere import SCHOOL
from agrad.grammar.results import Noted, Printed, Quit, Shown, Written, text_of, whole_text_of
from agrad.grammar.run import code as codes
from agrad.grammar.run.code import EXACT, HELPERS, OF_ARRAYS
from agrad.grammar.run.places import THUNK, Local, Running, frames, innermost, place_of, raised
from agrad.grammar.runtime import attributes, builtins, notes, operations
from agrad.grammar.runtime.builtins import CONSTANTS, Closure, Definition, as_tensor, is_object, is_result, meaning
from agrad.grammar.runtime.operations import SEQUENCES, adapted, as_array, function_of, is_table, iterate, truth
from agrad.grammar.syntax import ast, depth
from agrad.grammar.syntax.keywords import SHAPES
from agrad.grammar.values import lists
from agrad.grammar.values.lists import List, Star, entries_of, plain, tensors_in

PLAIN = frozenset({float, Tensor})


SIGNS = {helper: sign for sign, helper in HELPERS.items()}
_TRUE_TOO = PLAIN | {bool}


SKIPPED = object()  # the value for each where a condition does not hold
# Functions that the machine calls in another way on lists and tuples, or notes something of.
FOLDING = frozenset({"sum", "max", "min", "float", "stack"})


MAX_CALLS = 2000
_MOST_FRAMES = 2 * MAX_CALLS + 500
_MOST_FROM_PYTHON = 100  # calls of functions of the user by the engine, each within the one before
_MANY_CALLS = 500  # frames in a row, of which the limit is meant by an error of Python's
_SAME_EACH_TIME = ("syntax", "name", "arity")  # errors of what is written, whichever iteration finds them
_QUOTED = re.compile(r"'([^']+)'")
_WHOLE = (".top", ".def", ".tim")  # begin the names of the frames that are not parts of an expression


class Machine:
    """Runs code against the names of a session."""

    most_frames = _MOST_FRAMES  # of Python, one in the other

    def __init__(self, session: Any) -> None:
        self.session = session
        self.growth = notes.Growth()
        self.cut_at: set[tuple[str, int]] = set()  # the places of notes on paths that a derivative does not take
        self.line: dict[type[Printed], str] = {}  # what was printed without the end of its line
        # By the kind and the place of a note: its text, which keeps its identity
        self.noted: dict[tuple[str, int, int], Any] = {}
        self.expecting = 0  # how many `fails` blocks are running
        self.calling = 0  # how many functions of the user the engine is calling
        self.adapters: dict[Any, Any] = {}  # how functions of the engine are called
        self.given = False  # whether the text is the value of a name on the command line
        self.running: Any = Running(session.watch, self._look) if session is not None else None
        self.builtins: dict[str, Any] = {
            ".type": type,
            ".float": float,
            ".plain": PLAIN,
            ".tensors": {Tensor},
            ".closure": Closure,
            ".range": range,
            ".skipped": SKIPPED,
            ".stop": False,
            ".known": self.adapters.get,
            ".NameError": NameError,
            ".slice": slice,
            ".fresh": lambda number: number + 0.0,  # an object of its own, as one that is written is
            ".second": lambda first, second: second,
            "__name__": "agrad",
        }
        # A function that is made without builtins gets those of the function that makes it.
        make = (lambda kind, *parts: kind(*parts)).__code__
        self._make = partial(FunctionType(make, {"__builtins__": self.builtins}), FunctionType)

    # Code

    statement = staticmethod(codes.of_statement)
    expression = staticmethod(codes.of_expression)

    def function(self, code: CodeType, names: dict[str, Any], *parts: Any) -> Any:
        """A function with this code, whose names are these, and the language's own."""
        for name in code.co_filename.needs - self.builtins.keys():  # type: ignore[attr-defined]
            if name[0] == ".":
                helper = self.helper(name)
                if helper is not None:
                    self.builtins[name] = helper
            elif name in CONSTANTS:
                self.builtins[name] = CONSTANTS[name]
            elif name not in names and name in FUNCTIONS:
                self.builtins[name] = FUNCTIONS[name].call
            elif name not in names and name in SCHOOL:
                self.builtins[name] = runtime.school.function(name)
        return self._make(code, names, *parts)

    def helper(self, name: str) -> Any:
        """What the code calls by a name; None for a name of its own."""
        if name[:4] == ".op ":
            return FUNCTIONS[name[4:]].call
        return self.arithmetic(SIGNS[name]) if name in SIGNS else getattr(self, f"on_{name[1:]}", None)

    def run(self, code: CodeType) -> Any:
        """Run the code of a statement (or expression) at the top level."""
        self.growth.next_round()
        context, file, levels = current(), code.co_filename, depth.needed()
        log, before = self._remembered(file.binds)  # type: ignore[attr-defined]
        if innermost(_getframe(1)) is None:
            self.calling = self.expecting = 0  # a Ctrl-C may have come right after it was raised
        self.builtins[".stop"] = self.session.watch.polled
        script, context.script, self.running.due = context.script, self.running, self.session.watch.due
        depth.need(max(levels, self.most_frames))
        try:
            found = self.function(code, self.session.names)()
        except Exception as error:
            problem = self.located(error, error.__traceback__)
            context.begun = getattr(problem, "statement", None) or context.begun
            raise problem from None
        finally:
            context.script = script
            depth.need(levels)
            self._changed(log, before)
        tree = file.tree  # type: ignore[attr-defined]
        context.place = tree.span if isinstance(tree, ast.Expr) else None  # of what is made of the value
        return found

    def _remembered(self, binds: Collection[str]) -> tuple[Any, dict[str, Any]]:
        """The log, and the values of names that a statement may bind; they are put back if it fails."""
        names, before = self.session.names, dict[str, Any]()
        log: Any = current().undo_log
        for name in binds if log is not None else ():
            if (id(names), name) not in log.undos:
                before[name] = was = names.get(name, MISSING)
                log.undos[id(names), name] = partial(put_back, names, name, was)
        return log, before

    def _changed(self, log: Any, before: dict[str, Any]) -> None:
        """Forget the values of the names that a statement has not bound.

        The log is the one of the beginning: a Ctrl-C that comes while a part of the statement is taken back may leave
        another one in the context.
        """
        names = self.session.names
        for name, was in before.items():
            if names.get(name, MISSING) is was:
                log.undos.pop((id(names), name), None)
            elif was is not MISSING:
                log.held.append(was)

    def evaluate(self, code: CodeType) -> Any:
        """Run the code of an expression in the scopes of the running statement."""
        *inner, names = self.scopes_of(innermost(sys._getframe(1)))
        function = self.function(code, {**names, **inner[0]} if inner else names)
        return self._from_python(function)

    def _located(self, run: Callable[[], Any]) -> Any:
        """Run something that is a part of what runs; errors are told as its own."""
        try:
            return run()
        except Exception as error:
            raise self.located(error, error.__traceback__) from None

    def outside(self, run: Callable[[], Any]) -> Any:
        """Run what calls functions of the user."""
        if self.calling >= _MOST_FROM_PYTHON:  # each takes some kB of the stack of C
            raise AgradError("limit", "this nests too deeply")
        self.calling += 1
        try:
            return self._located(run)
        finally:
            self.calling -= 1

    def call(self, function: Closure, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a function of the user from Python, as the engine does to differentiate it."""
        self.on_poll()
        return self._from_python(lambda: self.outside(lambda: self.enter(function, args, keywords)))

    def _from_python(self, run: Callable[[], Any]) -> Any:
        """Run code whose frames say where it is."""
        context = current()
        script, place, context.script, context.place = context.script, context.place, self.running, None
        try:
            return self._located(run)
        finally:
            context.script, context.place = script, place

    def enter(self, function: Closure, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a function of the user, as code does."""
        run = function.run or self.compiled(function)
        try:
            return run(*args, **keywords)
        except TypeError as error:
            if error.__traceback__.tb_next is None:  # type: ignore[union-attr]
                function.bind(args, keywords)
            raise

    def compiled(self, function: Closure) -> Any:
        """The code of a function that was not made by code."""
        made, scopes = function.definition, function.scopes
        names = scopes[0] if len(scopes) == 1 else {name: x for scope in scopes[::-1] for name, x in scope.items()}
        function.run = self.function(codes.of_function(made.parameters, made.tree), names)
        return function.run

    def run_inside(self, run: Callable[[], None], frame: FrameType) -> None:
        """Run a part of a statement, so that the log that is open takes back what it binds."""
        log = current().undo_log
        if log is not None:
            self.remember_names(log, frame)
        self._located(run)

    def remember_names(self, log: UndoLog, frame: FrameType) -> None:
        """Let a log take back what the code of a frame binds."""
        own, names = self.scopes_of(frame)[0], self.session.names
        log.remember(("names", id(names)), partial(restored, names, dict(names)))
        if isinstance(own, Local):
            log.remember(("names", id(frame)), own.restore)

    # Limits

    def on_poll(self) -> None:
        """Stop where the time of a statement is used up."""
        if self.builtins[".stop"] and next_stamp() > self.session.watch.due:
            self.session.watch.look(self.in_use)

    def _look(self, node: Any) -> None:
        """Stop where the nodes of a statement are used up."""
        try:
            self.session.watch.look(self.in_use, node)
        except AgradError as error:
            frame = innermost(sys._getframe(1))
            if frame is not None:
                place = place_of(frame)
                loops = frame.f_code.co_filename.loops(place)
                error.labels.append(Label(loops[-1].span if loops else place))
            raise

    # Frames

    @property
    def depth(self) -> int:
        """How many functions run, and the statement."""
        codes = (frame.f_code for frame in frames(sys._getframe(1)))
        return sum(
            one.co_name[:4] in _WHOLE or (one.co_name == "<lambda>" and THUNK not in one.co_varnames) for one in codes
        )

    def scopes_of(self, frame: FrameType | None) -> tuple[dict[str, Any], ...]:
        """Where names are looked up: innermost first, the session's last."""
        names = self.session.names
        if frame is None or frame.f_code.co_name[:4] == ".top":
            return (names,)
        return Local(frame), names

    def running_scopes(self) -> tuple[dict[str, Any], ...]:
        """Where names are looked up by what runs."""
        return self.scopes_of(innermost(sys._getframe(1)))

    def places(self, args: Sequence[Any]) -> list[Any]:
        """Everything that refers to values: names, and the arguments of a call that begins."""
        return [self.session.names, *(self.scopes_of(one)[0] for one in frames(sys._getframe(1))), list(args)]

    def in_use(self) -> list[Any]:
        """The values under names."""
        return [value for scope in self.places(())[:-1] for value in scope.values()]

    here: Any = staticmethod(Running.origin)

    def iteration(self) -> str:
        """The counters of the loops that run."""
        return notes.counters([(one, place_of(one)) for one in frames(sys._getframe(1))][::-1])

    # Errors

    def located(self, error: Exception, traceback: TracebackType | None) -> Exception:
        """An error with its place; that of Python in the words of the language."""
        places = raised(traceback)
        if not places:
            return error
        frame, place = places[-1]
        error = self.worded(error, frame, place, len(places) > _MANY_CALLS)
        if not isinstance(error, AgradError) or error.at is not None:
            return error
        error.at, error.statement = place, frame.f_code.co_filename.statement(place)  # type: ignore[attr-defined]
        if not error.labels:
            error.labels.append(Label(place))
            error.labels.extend(Label(one, "called here") for _, one in places[:-1][:1])
        if error.kind not in _SAME_EACH_TIME and not error.labels[0].text and (told := notes.counters(places)):
            error.labels[0] = Label(error.labels[0].origin, f"at {told}")
        return error

    def worded(self, error: Exception, frame: FrameType, place: Span, is_deep: bool) -> Exception:
        """An error in the words of the language, if it has some for it."""
        tree = frame.f_code.co_filename.tree  # type: ignore[attr-defined]
        if isinstance(tree, ast.Python):
            return self.session.python.worded(error, frame, place, is_deep)  # type: ignore[no-any-return]
        if isinstance(error, RecursionError) and is_deep:
            name = frame.f_code.co_name.removeprefix(".def ").strip("<>")
            return AgradError("limit", f"{name}: calls are nested more than {MAX_CALLS} deep")
        if isinstance(error, NameError):
            return self.unknown(error.name or _QUOTED.findall(str(error))[0], place, self.scopes_of(frame)[0])
        names = {**self.session.names, **frame.f_locals}
        found = runtime.fixes.misfit(error, tree, place, names) if isinstance(error, TypeError) else error
        if not isinstance(found, AgradError) and "python" in vars(self.session):  # of a function of Python, say
            return self.session.python.worded(found, frame, place, is_deep)  # type: ignore[no-any-return]
        return found

    def unknown(self, name: str, span: Span, own: Iterable[str] | None = None) -> AgradError:
        """The error for an unknown name, with suggestions; `own`: the names of the function that runs."""
        inner = self.running_scopes()[0] if own is None else own
        return runtime.fixes.unknown(name, span, dict.fromkeys(inner) | self.session.names)

    def is_first(self, span: Span, kind: str = "") -> bool:
        """Whether nothing of a kind was noted at a place so far, such as in an earlier iteration of a loop."""
        place = kind, id(span.source), span.start
        if place in self.noted:
            return False
        self.noted[place] = span.source
        return True

    def tell(self, note: Note | None) -> None:
        """Show a note, if there is one."""
        if note is not None:
            self.session.emit(Noted(note))

    # Operators

    def arithmetic(self, sign: str) -> Callable[[Any, Any], Any]:
        """The helper for an operator."""
        function, scalar = function_of(sign), operations.scalar_of(sign)

        def apply(a: Any, b: Any) -> Any:
            if type(a) is float and type(b) is float:
                try:
                    return scalar(a, b)
                except IEEE:
                    pass
            if type(a) in _TRUE_TOO and type(b) in _TRUE_TOO:
                return function(a, b)
            return self.operated(sign, a, b, self.here())

        return apply

    def on_binary(self, site: tuple[str, Span], left: Any, right: Any) -> Any:
        """An operator."""
        sign, span = site
        if type(left) in _TRUE_TOO and type(right) in _TRUE_TOO:
            return function_of(sign)(left, right)
        return self.operated(sign, left, right, span)

    def on_checked(self, site: tuple[tuple[str, Any], Span], left: Any, right: Any) -> Any:
        """An operator that asks something of its operands."""
        if type(left) is float and type(right) is float and right and abs(left) <= EXACT and site[0][0] == "%":
            return operations.scalar_of("%")(left, right)
        self.check_operands(site, left, right)
        return self.on_binary((site[0][0], site[1]), left, right)

    def check_operands(self, site: tuple[tuple[str, Any], Span], left: Any, right: Any) -> None:
        """Refuse a product on paper of two arrays; note a remainder of a whole number beyond 2**53."""
        (sign, between), span = site
        if between is not None and operations.has_axes(left) and operations.has_axes(right):
            operations.refuse_ambiguous(left, right, between[:2], between[2])
        number = left.node.value if type(left) is Tensor else left
        if sign == "%" and type(number) is float and EXACT < abs(number) < inf:
            told = "whole numbers beyond 2**53 are rounded, so that the remainder may be wrong"
            self.on_note(((f"{span.text}: {told}",), span))

    def on_neg(self, value: Any) -> Any:
        """`-x`."""
        return -value if type(value) is float else OPS["neg"].call(as_array(value))

    @staticmethod
    def on_pos(value: Any) -> Any:
        """`+x`."""
        return OPS["mul"].call(1.0, as_array(value))

    def operated(self, sign: str, left: Any, right: Any, span: Span) -> Any:
        """An operator on what need not be a number or an array."""
        if type(left) is str and sign == "%":
            given = tuple(map(operations.in_text, right)) if type(right) is tuple else operations.in_text(right)
            return self.of_python(self.session.python.mod, left, given)
        if is_table(left) or is_table(right):
            texts, other = (left, right) if isinstance(left, Texts) else (right, left)
            if isinstance(texts, Texts) and sign in ("==", "!="):
                return compared(texts, other, sign == "==")
            return self.operated(sign, as_array(left), as_array(right), span)
        if is_object(left) or is_object(right):
            name = operations.BINARY.get(sign) or operations.COMPARE[sign]
            return self.of_python(getattr(operator, OPERATORS[name].method), left, right)
        if sign in ("==", "!=") and operations.is_ragged(left, right):
            return self.are_equal(left, right) is (sign == "==")
        if type(left) in SEQUENCES or type(right) in SEQUENCES:
            several = next((x for x in (left, right) if type(x) is tuple and len(x) > 1), ())
            if sign == "*" and several and all(type(x) is float for x in several):
                vector = f"[{text_of(several)[1:-1]}]"
                self.on_note(((f"* repeats a tuple; of the vector {vector} it gives multiples",), span))
            value = operations.combined(function_of(sign), left, right)
        else:
            value = function_of(sign)(left, right)
        if not isinstance(value, float | bool | Tensor | List | str | tuple):
            raise operations.no_arithmetic(span)
        return value

    def on_augment(self, site: tuple[str, Span], target: Any, value: Any) -> Any:
        """`x += y`."""
        sign, span = site
        if type(target) is Tensor and type(value) in PLAIN:
            return operations.in_place(sign)(target, value)
        if is_object(target) or (is_object(value) and type(target) is not str):
            return self.operated(sign, target, value, span)
        is_written = getattr(target, "bracketed", False) and len(target.shape) == 1 and not target.node.recorded
        if sign == "+" and type(value) is List and is_written:
            target = lists.become_list(target, self.places(()))  # under all its names, as `append` makes it one
        return operations.augmented(sign, target, value)

    def on_augment_entry(
        self, site: tuple[tuple[str, Any, str], Span], target: Any, index: Any, before: Any, value: Any
    ) -> None:
        """`x[i] += y`."""
        (sign, written, text), span = site
        if is_object(before) or is_object(value):
            found = self.on_augment((sign, span), before, value)
        elif type(target) is List:
            operations.check_write(before, self.in_use, written, text)
            found = operations.augmented(sign, before, value)
        else:
            found = function_of(sign)(before, as_array(value))
        self.on_set_index((None, span), found, target, index)

    # Truth and equality

    @staticmethod
    def on_truth(value: Any) -> bool:
        """Whether a value counts as true."""
        if value is True or value is False:
            return value
        return value != 0.0 if type(value) is float else truth(value)

    def on_logic(self, site: tuple[str, Span], left: Any, right: Callable[[], Any]) -> Any:
        """`a and b`, `a or b`."""
        return right() if self.on_truth(left) is (site[0] == "and") else left

    def on_chain(self, site: tuple[str, Span], left: Any, *parts: Any) -> Any:
        """`a < b < c`: the first link that does not hold, or the last."""
        (sign, span), (*links, final) = site, parts
        for compare, operand in zip(links[::2], links[1::2], strict=True):
            right = operand()
            result = function_of(compare)(*(x if type(x) is tuple else as_array(x) for x in (left, right)))
            if not isinstance(result, float | bool | Tensor):
                raise operations.no_arithmetic(span)
            if not self.on_truth(result):
                return result
            left = right
        return (self.on_binary if sign in operations.COMPARE else self.on_test)((sign, span), left, final())

    @staticmethod
    def on_near(site: tuple[None, Span], left: Any, right: Any, *tolerance: Any) -> bool:
        """`a ~= b +- t`."""
        near = [operations.tolerance(left, one) for one in tolerance]
        return operations.is_near(as_array(left), as_array(right), near[0] if near else None)

    def on_test(self, site: tuple[str, Span], left: Any, right: Any) -> bool:
        """`in`, `not in`, `is`, `is not`."""
        sign = site[0]
        found = operations.is_same(left, right) if sign.startswith("is") else self.contains(right, left)
        return found is not ("not" in sign.split())

    def contains(self, container: Any, value: Any) -> bool:
        """Whether a value is in something."""
        if isinstance(container, str):
            if not isinstance(value, str):
                raise AgradError("type", f"`in` of a text needs a text, not {operations.describe_value(value)}")
            return value in container
        if is_object(container):
            return bool(self.of_python(operator.contains, container, value))
        if isinstance(container, Tensor) and container.shape:
            if isinstance(value, float | Tensor):
                units.common([container, value])
            return truth(FUNCTIONS["any"].call(OPS["equal"].call(container, value)))
        return any(self.are_equal(value, entry) for entry in iterate(container))

    def are_equal(self, left: Any, right: Any) -> bool:
        """Whether two values are the same, or equal, as `in` and `==` of lists ask."""
        if left is right:
            return True
        numbers = (float, bool, Tensor)
        if isinstance(left, numbers) and isinstance(right, numbers):
            shapes = [x.shape if isinstance(x, Tensor) else () for x in (left, right)]
            if any(shapes):
                fixes = [Hint("any(x is y for y in ys)   finds the very same one"), Hint("all(x == y)")]
                raise AgradError("type", "arrays are compared entry by entry: one truth is asked for", fixes=fixes)
            if Units.exist and any(isinstance(x, Tensor) for x in (left, right)):
                units.common([left, right])
                return truth(OPS["equal"].call(left, right))
            return bool(plain(left) == plain(right))
        if isinstance(left, List | tuple) and type(left) is type(right):
            for one, other in zip(left, right, strict=False):  # no `all(…)`, which would take from the stack of C
                if not self.are_equal(one, other):
                    return False
            return len(left) == len(right)
        return type(left) is type(right) and bool(left == right)

    # Lists and the like

    @staticmethod
    def on_list(site: tuple[str, Span], *items: Any) -> Any:
        """`[x, y]`."""
        return operations.listed(operations.spread([*items]), site[0])

    @staticmethod
    def on_tuple(site: tuple[None, Span], *items: Any) -> Any:
        """`(x, y)`."""
        return operations.tuple_of(operations.spread([*items]))

    @staticmethod
    def on_star(value: Any) -> Star:
        """`*xs`."""
        return Star(list(iterate(value)))

    def on_format(self, site: tuple[tuple[Any, ...], Span], *given: Any) -> str:
        """An f-string."""
        for value in tensors_in(given):
            choose(value.node, value.value, entries)  # a text may be compared, or read as a number
        waiting = iter(given)
        pieces = [part if isinstance(part, str) else operations.formatted(part, next(waiting)) for part in site[0]]
        return operations.joined(pieces)

    def on_unpack(self, target: ast.Tuple, value: Any) -> list[Any]:
        """The entries of a value for the names of a target; one of these may take the rest."""
        stars = [place for place, item in enumerate(target.items) if isinstance(item, ast.Starred)]
        count, span = len(target.items), target.span
        alone = isinstance(value, float) or getattr(value, "shape", None) == ()
        found = [value] if alone and not stars else list(iterate(value))
        if not stars and len(found) != count:
            number = "1 value" if len(found) == 1 else f"{len(found)} values"
            raise AgradError("arity", f"{number} for {count} names", labels=[Label(span)])
        if stars and len(found) < count - 1:
            raise AgradError("arity", f"{len(found)} values for {count - 1} names, and the rest", labels=[Label(span)])
        for place in stars:
            end = len(found) - (count - 1 - place)
            found[place:end] = [List(found[place:end], joins=True)]
        return found

    def on_nested(self, target: Any, value: Any) -> list[Any]:
        """The entries of a value for the names of a target, in the order of these."""
        target = target.value if isinstance(target, ast.Starred) else target
        if not isinstance(target, ast.Tuple):
            return [value]
        pairs = zip(target.items, self.on_unpack(target, value), strict=True)
        return [entry for item, part in pairs for entry in self.on_nested(item, part)]

    def on_index(self, site: tuple[None, Span], value: Any, index: Any) -> Any:
        """`x[i]`."""
        kind = type(index)
        if type(value) is Tensor and (kind is float or kind is slice):
            entry = value[int(index) if kind is float and index.is_integer() else operations.whole_index(index)]
            operations.mark(entry, value)
            return entry
        if type(value) is not Tensor:
            if isinstance(value, List | tuple | range | str):
                return operations.entry_at(value, index)
            if isinstance(value, Table):
                told = "column", 0, 0  # the first index that might be meant for a row
                note = None if told in self.noted else attributes.note_on_index(value, index, site[1])
                if note is not None:
                    self.noted[told] = note
                    self.tell(note)
                return adapted(attributes.table_entry(value, index))
            if is_object(value) and not is_table(value):
                return self.of_python(operator.getitem, value, operations.whole_index(index))
        # Each list in an index is the array of its entries.
        if type(index) is tuple:
            index = tuple([as_array(part) if type(part) is List else part for part in index])
        elif type(index) is List:
            index = as_array(index)
        if is_table(value):
            return adapted(value[index])
        entry = as_tensor(value, "an index")[operations.whole_index(index)]
        if type(index) is float or operations.is_basic(index):
            operations.mark(entry, value)
        return entry

    # Writes into a value

    def on_set_index(self, site: tuple[None, Span], value: Any, target: Any, index: Any) -> None:
        """`x[i] = y`."""
        if type(target) is Tensor or (isinstance(target, Tensor) and not is_object(target)):  # of Python's reading, too
            target[operations.whole_index(index)] = value if type(value) in PLAIN else as_array(value)
        elif is_object(target):
            self.of_python(operator.setitem, self.session.python.logged(target), operations.whole_index(index), value)
        elif type(target) is List and isinstance(index, slice):
            parts = list(target.parts)
            parts[tidy_slice(index)] = entries_of(value)
            lists.refuse_itself(target, tuple(parts))
            target.change(parts)
        elif type(target) is List and isinstance(index, tuple):
            fixes = [Hint("xs[0][1] = …   writes into the first entry of the list")]
            raise AgradError(
                "type", "an entry of a list is assigned to by one index; the list is no array", fixes=fixes
            )
        elif type(target) is List:
            target.put(lists.place_in(target, index), value)
        else:
            raise AgradError("type", f"the entries of {describe(target)} cannot be assigned to")

    @staticmethod
    def on_delete_index(site: tuple[None, Span], target: Any, index: Any) -> None:
        """`del x[i]`."""
        if type(target) is not List:
            what, fixes = operations.describe_value(target), [Hint("x[1:], x[:-1]   leaves out an entry")]
            raise AgradError("type", f"the entries of {what} cannot be deleted", fixes=fixes)
        parts = list(target.parts)
        del parts[tidy_slice(index) if isinstance(index, slice) else lists.place_in(target, index)]
        target.change(parts)

    def on_writable(self, site: tuple[tuple[Any, str], Span], value: Any) -> Any:
        """A value that is written into: not a copy of a part of something."""
        operations.check_write(value, self.in_use, *site[0])
        return value

    @staticmethod
    def on_no_number(site: tuple[tuple[Any, str], Span], value: Any) -> Any:
        """A value of which a method writes: not a plain number."""
        operations.check_number(value, *site[0])
        return value

    def on_set_attribute(self, site: tuple[str, Span], value: Any, target: Any) -> None:
        """`x.name = y`."""
        if is_object(target):
            self.session.python.setattr(target, site[0], value)
        else:
            attributes.set_attribute(target, site[0], as_array(value))

    # Attributes and methods

    def on_attribute(self, site: tuple[str, Span], value: Any) -> Any:
        """`x.name`."""
        name = site[0]
        if is_table(value):
            found = adapted(attributes.table_attribute(value, name))
        elif is_object(value):
            return self.of_python(self.session.python.getattr, value, name)
        else:
            found = attributes.attribute(value, name)
        return operations.shared(found, name, value)

    def on_method(self, site: tuple[tuple[str, int, Any], Span], value: Any, *given: Any) -> Any:
        """`x.name(y)`."""
        (name, count, names), span = site
        is_plain = not names and Star not in map(type, given)
        if is_plain and type(value) in PLAIN and name in OF_ARRAYS:
            return self.on_callee(span, FUNCTIONS[name].call)(value, *given)
        args, keywords = (given, {}) if is_plain else arguments(given, count, names)
        if name == "backward":
            self.before_backward(value, span)
        if type(value) is Tensor:
            if name in attributes.LENGTHENING and value.shape and not value.node.recorded:
                if name != "extend":
                    lists.refuse_itself(value, args)
                value = lists.become_list(value, self.places(args))
        elif is_table(value):
            value = attributes.table_callee(value, name)
        if type(value) is not Tensor and is_object(value):
            return self.of_python(self.of_python(self.session.python.getattr, value, name), *args, **keywords)
        if type(value) is str:
            if name == "format" and re.search(r"\{\w*[.\[]", value):
                raise AgradError("name", "a place in this text is a number or a name", fixes=['f"{x.grad}"'])
            attributes.refuse_special(name)
            change = operations.in_text if name == "format" else operations.of_text
            method = self.of_python(self.session.python.getattr, value, name)
            return self.of_python(method, *map(change, args), **{key: change(one) for key, one in keywords.items()})
        if name in notes.READERS:
            self.tell(notes.at_number(value, span, self.cut_at))
        return operations.shared(self.invoke(attributes.method(value, name), (value, *args), keywords), name, value)

    def of_python(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """What is done to a value that Python's reading has made, whose exceptions are told as there."""
        try:
            return adapted(runtime.crossing.for_calculator(function(*args, **options), {}))
        except (AgradError, Quit):
            raise
        except Exception as error:
            frame = innermost(_getframe(1))
            raise self.session.python.worded(error, frame, place_of(frame), False) from None

    # Functions and calls

    def on_define(self, site: tuple[Definition, Span], function: Any, *defaults: Any) -> Closure:
        """A function of the user."""
        definition = site[0]
        if defaults:
            known = dict(zip(definition.defaulted, defaults, strict=True))
            placed = definition.parameters[: definition.placed]
            function.__defaults__ = tuple([known[name] for name in placed if name in known]) or None
            function.__kwdefaults__ = {name: x for name, x in known.items() if name not in placed} or None
        return Closure(definition, defaults, self, (self.session.names,), function)

    @staticmethod
    def on_factorial(n: Any) -> Any:
        """`n!`."""
        return runtime.school.factorial(n)

    @staticmethod
    def on_written(value: Any, form: str) -> Any:
        """`x as hex`."""
        return runtime.forms.written(value, form)

    @staticmethod
    def on_prime(value: Any, order: float) -> Any:
        """`f''`."""
        return runtime.school.prime(value, int(order))

    def on_leibniz(self, function: Any, x: Any, order: float, is_of: float, word: str) -> Any:
        """`d/dx`, at the value of x.

        `is_of`: whether what is differentiated has x in it; `word`: what `dx(…)` would call.
        """
        names = self.session.names
        if "d" in names and callable(names.get(word)):
            raise runtime.school.unclear(word)
        return runtime.school.derivative(function, int(order), x, bool(is_of), function.definition.parameters[0])

    def on_callee(self, span: Span, function: Any) -> Any:
        """What calls a value."""
        if type(function) is Closure:
            return function.run or self.compiled(function)
        if type(function) is not FunctionType:
            return lambda *args: self.called(function, args, {}, span)
        known = self.adapters.get(function)
        if known is None:
            known = self.adapters[function] = self.adapter(function)
        return known

    def adapter(self, function: Any) -> Any:
        """A function of the engine as the language calls it."""
        is_viewer = function in VIEWERS

        def slow(*args: Any) -> Any:
            return self.called(function, args, {}, self.here())

        def call(*args: Any) -> Any:
            for one in args:
                if type(one) not in PLAIN:
                    return slow(*args)
            found = function(*args)
            if is_viewer and args:
                operations.mark(found, args[0])
            return found if type(found) in PLAIN else adapted(found)

        def counted(*args: Any) -> Any:
            is_count = len(args) == 1 and type(args[0]) is float and args[0].is_integer() and abs(args[0]) <= EXACT
            return range(int(args[0])) if is_count else call(*args)

        return {FUNCTIONS["float"].call: slow, FUNCTIONS["range"].call: counted}.get(function, call)  # slow: it notes

    def on_call(self, site: tuple[tuple[int, Any], Span], function: Any, *given: Any) -> Any:
        """A call with arguments by name, or with those in a list."""
        args, keywords = arguments(given, *site[0])
        if type(function) is Closure:
            function.bind(args, keywords)  # raises the error where they do not fit
        return self.called(function, args, keywords, site[1])

    def called(self, function: Any, args: tuple[Any, ...], keywords: dict[str, Any], span: Span) -> Any:
        """The value of a call."""
        if type(function) is Closure:
            return self.enter(function, args, keywords)
        if not callable(function):
            raise runtime.fixes.not_called(function, (*args, *keywords), span)
        name = getattr(function, "__name__", "")
        if name in FOLDING and args and function is FUNCTIONS[name].call:
            if name in notes.READERS:
                self.tell(notes.at_number(args[0], span, self.cut_at))
            found = operations.folded(self, name, args, keywords, span)
            if found is not MISSING:
                return found
        return self.invoke(function, args, keywords)

    def invoke(self, function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a function of the table. Its keywords are bound here, since operations take operands by position."""
        signature = getattr(function, "signature", None)
        if type(function) is not attributes.ListMethod:
            if len(args) == 1 and not keywords and type(args[0]) is List and function is FUNCTIONS["sum"].call:
                return operations.added_up(args[0])
            if List in map(type, args) or List in map(type, keywords.values()):
                convert, name = operations.given_as(function), getattr(function, "__name__", "")
                if name in operations.DERIVATIVES and args and function is FUNCTIONS[name].call:
                    # what is differentiated, by one value or several
                    args = operations.as_array_if_list(args[0]), *args[1:]
                args, keywords = tuple(map(convert, args)), {name: convert(x) for name, x in keywords.items()}
        if signature is not None and keywords:
            args, keywords = signature.bind(args, keywords)
        found = adapted(function(*args, **keywords))
        if function in VIEWERS and args:
            operations.mark(found, args[0])
        return found

    def on_of_unknown(self, site: tuple[tuple[Any, Any, Any], Span], *known: Callable[[], Any]) -> Any:
        """An expression as a function of the one name in it that has no value."""
        (node, names, own), span = site
        around: dict[str, Any] = {}
        for name, value in zip(own, known, strict=True):
            try:
                around[name] = value()
            except NameError:
                continue
        scopes = (around, self.session.names) if around else (self.session.names,)
        there = {name for name in names if is_result(name) or meaning(name, scopes, MISSING) is not MISSING}
        unknown = tuple([name for name in names if name not in there | {"_", "ans"}])
        if (problem := runtime.fixes.several_unknown(unknown, names, span)) is not None:
            raise problem
        function = Closure(Definition(span.text, unknown, (), node, span), (), self, scopes)
        return function if unknown else self.call(function, (), {})

    def on_each(self, site: tuple[tuple[Any, ...], Span], function: Any, given: Any, last: Any = None) -> Any:
        """The value of a function for each of some values."""
        (definition, has_last, apart, flat), _ = site
        given = runtime.builtins.between(given, last) if has_last else given
        closure = Closure(definition, (), self, (self.session.names,), function)
        whole = None if apart else self.session.at_once(closure, given)
        if whole is not None:
            return whole
        found = self.outside(lambda: [one for x in iterate(given) if (one := function(x)) is not SKIPPED])
        if flat:
            found = [entry for one in found for entry in one]
        if apart:
            return tuple(found) if apart == "tuple" else List(found, joins=True)
        return operations.listed(found)

    # Names

    def on_look(self, site: tuple[str, Span]) -> Any:
        """A name that has a value of its own where the script gives it none."""
        name, span = site
        names = self.session.names
        if name in names:
            return names[name]
        if name in ("_", "ans"):
            if self.session.answer is None:
                raise AgradError("name", f"{name} is the last answer, and there is none yet", labels=[Label(span)])
            return self.session.answer
        if is_result(name):
            return self.session.record.result(int(name[1:]), name, span)
        raise self.unknown(name, span)

    def on_valued(self, site: tuple[tuple[str, ...], Span]) -> bool:
        """Whether all names of a unit have values, so that it is a product; notes what has both meanings."""
        names, span = site
        both = [name for name in names if name in self.session.names and not self.given]
        is_product = len(both) == len(names)
        if both and self.is_first(span):
            self.tell(notes.of_unit(both, names[0], is_product, span))
        factor, note = notes.of_factor(names[-1], span)
        if note is not None and factor in self.session.names and self.is_first(span, "factor"):
            self.tell(note)
        return is_product

    def on_outer(self, site: tuple[str, Span]) -> Any:
        """The value of a name outside of the function that binds it. Raises NameError."""
        found = meaning(site[0], (self.session.names,), MISSING)
        if found is MISSING:
            raise NameError
        return found

    def bind(self, names: dict[str, Any], name: str, value: Any) -> None:
        """Bind a name; at the top level, a statement that fails undoes that."""
        builtins.bindable(name)
        if names is self.session.names:
            remember_entry(names, name)
            self.on_named(name, value)
        else:
            self.on_local(name, value)
        names[name] = value

    def on_named(self, name: str, value: Any) -> None:
        """A name of the session gets a value: one that refers to something else there is replaced."""
        if not isinstance(value, Tensor):
            self.on_local(name, value)
            return
        node = value.node
        if node.name is not None:
            known = self.session.names.get(node.name)
            if known is value or (isinstance(known, Tensor) and known.node is node):
                return
        log = current().undo_log
        if log is not None and node.seq <= log.since:
            touch(node)
        node.name = name

    @staticmethod
    def on_local(name: str, value: Any) -> None:
        """A name of a function gets a value."""
        if isinstance(value, Tensor):
            if value.node.name is None:
                touch(value.node)
                value.node.name = name
        elif type(value) is List:
            value.name = value.name or name

    def on_again(self, site: tuple[str, Span], new: Any) -> None:
        """A name of the session is about to get a value that was computed from its old one."""
        name, span = site
        old = self.session.names.get(name)
        self.tell(notes.of_lost_leaf(name, old, new, span))
        self.tell(self.growth.stored(name, old, new, span))
        self.on_named(name, new)

    def on_variable(self, site: tuple[tuple[str, bool], Span], given: Any) -> Any:
        """A new leaf."""
        (name, top), span = site
        value = as_tensor(as_array(given), f"var {name}")
        self.tell(notes.at_leaf(name, value, span, self.cut_at))
        made = FUNCTIONS["tensor"].call(value, requires_grad=True)
        made.node.origin = span
        (self.on_named if top else self.on_local)(name, made)
        return made

    def on_delete(self, site: tuple[str, Span]) -> None:
        """`del x`; that of a function is deleted by its code."""
        name, span = site
        names = self.scopes_of(_getframe(1))[0]
        if name not in names:
            if name in CONSTANTS or name in FUNCTIONS:
                raise AgradError("name", f"{name} is built into agrad, and cannot be deleted", labels=[Label(span)])
            problem = self.unknown(name, span)
            problem.fixes = [f"del {one}" for one in suggest(name, names)] or ["vars   lists the names"]
            raise problem
        if names is self.session.names:
            remember_entry(names, name)
            remember_order(names)
            del names[name]

    # What is shown

    def on_show(self, site: tuple[Any, Span], value: Any) -> None:
        """The value of a statement."""
        node, span = site
        meant = value.value if isinstance(value, Written) else value
        if isinstance(meant, Tensor | float):
            self.session.last = (operations.answer(meant),)
        function = node.value.function if isinstance(node.value, ast.Call) else None
        called = function if isinstance(function, ast.Attribute) else None
        if node.silent or (called is not None and called.name.endswith("_")):  # `w.grad.zero_()`, `nn.init.zeros_(w)`
            return
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        if name in SHAPES and name in FUNCTIONS and value is FUNCTIONS[name].call:
            raise runtime.fixes.unknown(name, span, ())  # `grad`, the command without its operand
        self.end_line()
        if value is not None:
            notes.of_origin([value], span, self.tell)
            self.session.emit(Shown(value))
            notes.of_second_order(value, span, self.tell)
            return
        reason = self.session.why_none(node.value)
        if reason:
            self.session.emit(Printed(reason))

    def on_print(self, site: tuple[None, Span], *given: Any) -> None:
        """`print`: the values, what is between them, and what is behind."""
        *given, separator, end = given  # type: ignore[assignment]
        items = operations.spread([*given])
        notes.of_origin(items, site[1], self.tell)
        settings = self.session.settings
        parts = [whole_text_of(item, settings) for item in items]
        between, after = (text_of(" " if one is None else one, settings) for one in (separator, end))
        self.write(operations.joined([*[piece for part in parts for piece in (part, between)][:-1], after]))

    def write(self, text: str, kind: type[Printed] = Printed) -> None:
        """Show a text, all but a last line without its end, which waits for that."""
        *lines, self.line[kind] = operations.joined([self.line.get(kind, ""), text]).split("\n")
        if lines:
            self.session.emit(kind("\n".join(lines)))

    def on_printer(self, *values: Any) -> None:
        """`print` as a function."""
        self.on_print((None, self.here()), *values, " ", "\n")

    def end_line(self) -> None:
        """Show what was printed without the end of its line."""
        for kind in [kind for kind, text in self.line.items() if text]:
            self.write("\n", kind)

    def on_note(self, site: tuple[tuple[str, ...], Span]) -> None:
        """Note something, once for a place."""
        messages, span = site
        if self.is_first(span):
            for message in messages:
                self.tell(Note(message, labels=[Label(span)]))

    def on_unused(self, site: tuple[str, Span], value: Any) -> Any:
        """A value; notes that a name is not sorted, unless it was a list."""
        name, span = site
        if isinstance(value, Tensor | tuple):
            self.tell(notes.of_unsorted(name, span))
        return value

    # Checks

    def on_assert(self, site: tuple[str, Span], left: Any, *others: Any) -> None:
        """Raise an error if an assertion does not hold. It makes no guard."""
        (kind, span), (*more, message), settings = site, others, self.session.settings
        symbol = "~=" if kind == "+-" else kind
        with scope(recording=False, guard=current().guard):
            if not kind:
                is_so, told = truth(left), [("it is ", left)]
            elif symbol != "~=" and not operations.is_numeric(symbol, left, more[0]):
                told = [("left:  ", left), ("right: ", more[0])]
                is_so = truth(self.operated(symbol, left, more[0], span))
            else:
                tolerance = operations.tolerance(left, more[1]) if kind == "+-" else None
                if all(isinstance(side, float | Tensor) for side in (left, more[0])):
                    units.common([left, more[0]])
                is_so, told = operations.holds(symbol, left, more[0], tolerance), []
            if not is_so:
                lines = [f"{side}{text_of(x, settings)}" for side, x in told] or operations.sides(symbol, left, more[0])
                text = f": {text_of(message, settings)}" if message is not None else ""
                raise AgradError("assert", f"the assertion does not hold{text}", labels=[Label(span)], notes=lines)

    @contextmanager
    def on_fails(self, site: tuple[str, Span]) -> Iterator[None]:
        """`fails kind:`, a block that must fail, and is taken back."""
        (kind, span), context, last = site, current(), self.session.last
        if self.expecting >= _MOST_FROM_PYTHON:
            raise AgradError("limit", "this nests too deeply")
        inner = UndoLog(context.undo_log)
        self.remember_names(inner, innermost(_getframe(1)))
        self.expecting += 1
        try:
            with scope(undo_log=inner, guard=context.guard):
                yield
        except Exception as error:
            problem = self.located(error, error.__traceback__)
            if not isinstance(problem, AgradError):
                raise
            inner.roll_back()
            self.session.last = last
            if problem.kind != kind:
                problem.notes.append(f"expected an error of kind {kind}")
                raise problem from None
            return
        finally:
            self.expecting -= 1
        raise AgradError("assert", f"expected an error of kind {kind}, and there was none", labels=[Label(span)])

    # What runs next

    on_unrecorded = staticmethod(no_grad)

    def on_iterate(self, site: tuple[Any, Span], value: Any) -> Iterator[Any]:
        """The iterator of a loop."""
        loop, progress = site[0], self.session.progress
        iterator = iterate(value)
        if progress is not None:
            iterator = progress(iterator, len(value) if isinstance(value, Sized) else None)
        # Not in what may fail, nor in a function that the engine calls or traces.
        if type(value) is range and loop is not None and self.session.compiles and not self.expecting:
            context = current()
            if not loop.in_function or not (self.calling or context.tracing is not None or context.reads is not None):
                iterator = self.session.count(iterator, value, loop)
        return iterator

    def on_time(self, site: tuple[None, Span], run: Callable[[], None]) -> None:
        """`time:`."""
        frame = _getframe(1)
        self.session.time(lambda: self.run_inside(run, frame), lambda: self.scopes_of(frame)[0])

    def before_backward(self, loss: Any, span: Span) -> None:
        """Begin a new round, and note a loss that compares each entry with each."""
        self.growth.next_round()
        if isinstance(loss, Tensor) and self.is_first(span, "loss"):
            self.tell(notes.of_spread_loss(loss))

    def on_command(self, site: tuple[tuple[Any, Span | None], Span], *given: Any) -> None:
        """A command. What it computes has the place of the expression that was computed before it."""
        (node, place), span = site
        operands, options = ast.given_to(node, given)
        if node.word == "backward":
            self.before_backward(operands[0], span)
        context, names = current(), self.scopes_of(_getframe(1))[0]
        context.place = place
        self.session.commands[node.word].perform(self.session, node, operands, options, names, span)
        context.place = None


def arguments(given: Sequence[Any], count: int, names: tuple[str, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments by place and by name, with the entries of `*xs` in its place."""
    return tuple(operations.spread([*given[:count]])), dict(zip(names, given[count:], strict=True))
