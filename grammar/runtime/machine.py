"""The machine that runs code: a stack, the names, a frame for each running function; instructions by groups.

The loop itself runs loads, constants, binary operators, calls and returns, which make up most of an expression; every
other instruction is a method. Functions of the user do not use Python's stack: a frame is an entry of a list.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from math import inf
from typing import Any, NoReturn, Protocol

from agrad.engine import autodiff
from agrad.engine.autodiff.backward import is_gradient
from agrad.engine.core.arguments import tidy_slice
from agrad.engine.core.context import UndoLog, current, next_stamp, scope
from agrad.engine.core.graph import Uncertainty, collect, touch
from agrad.engine.core.guards import choose, entries
from agrad.engine.core.op import FUNCTIONS, OPERATORS, OPS, VIEWERS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.core.versions import changed_behind, was_cut
from agrad.engine.errors import AgradError, Hint, Label, Note
from agrad.engine.ops.tables import Table, Texts, compared
from agrad.engine.values import describe, format_number
from agrad.grammar import pytorch, runtime, values
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.pytorch import CONSTANTS, NAMESPACES
from agrad.grammar.results import Noted, Plot, Printed, Result, Settings, Shown, text_of, uncertainty_of, whole_text_of
from agrad.grammar.runtime import attributes, operations
from agrad.grammar.runtime.analysis import at_once
from agrad.grammar.runtime.budget import Watch
from agrad.grammar.runtime.builtins import OTHERS, Closure, Kind, as_tensor, between, is_object, is_result, meaning
from agrad.grammar.runtime.bytecode import Code, Definition, Do, Frame, Loop, Spread, popped
from agrad.grammar.runtime.compiler import BINARY, COMPARE_CALLS, DERIVATIVES, EXACT, SKIPPED, UNEVALUATED, module_name
from agrad.grammar.runtime.notes import READERS, Growth, at_leaf, at_number, iteration, of_spread_loss
from agrad.grammar.runtime.operations import (
    SEQUENCES,
    adapted,
    as_array,
    describe_value,
    is_table,
    iterate,
    mark,
    truth,
)
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.errors.messages import corrected
from agrad.grammar.syntax.keywords import SHAPES
from agrad.grammar.values import lists
from agrad.grammar.values.lists import List, Star, entries_of, plain, tensors_in

MISSING = object()
_SAME_EACH_TIME = ("syntax", "name", "arity")  # errors of what is written, whichever iteration finds them
MAX_CALLS = 2000
# The modules whose functions take objects and classes.
_OF_OBJECTS = frozenset({*NAMESPACES.values(), "agrad.engine.autodiff.gradcheck"})
# Functions that call the operators of objects, or ask for their attributes.
FOLDING = frozenset({"sum", "max", "min", "abs", "float", "hasattr", "getattr"}) | {"stack"}  # of truths
ENTERED = -1  # what an instruction returns that pushed a frame, instead of a place to jump to
_LONG = 1000  # instructions between two checks of the limits, where there is no jump
_PLAIN = frozenset({float, Tensor, bool})

# Operators of objects: the methods `__add__`, `__radd__`, `__eq__` of the user's classes; also `in` and `is`.

_COMPARING = {call: sign for sign, call in COMPARE_CALLS.items()}
# The methods of an operator: of the operand on the left, and of that on the right.
_SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
_METHODS = {
    made.sign: (f"__{made.method}__", f"__{_SWAPPED.get(made.method, 'r' + made.method)}__")
    for name, made in OPERATORS.items()
    if name != "neg"
}


def _sign(function: Callable[[Any, Any], Any]) -> str:
    """The sign of what an operator calls; empty for a function that has none, such as `±`."""
    operation = OPS.get(getattr(function, "__name__", ""))
    is_operator = operation is not None and operation.call is function and operation.operator is not None
    return operation.operator.sign if is_operator else _COMPARING.get(function, "")


def found_method(value: Any, name: str) -> Closure | None:
    """The method of an object of the user's that an operator calls."""
    if not is_object(value) or isinstance(value, type):
        return None
    return runtime.objects.operator_of(type(value), name)


# The protocol of the session that a machine runs for.


class Host(Protocol):
    """The session that a machine runs for."""

    names: dict[str, Any]
    last: tuple[Any, ...]  # the last answer; empty where there is none
    settings: Settings
    watch: Watch
    emit: Callable[[Result], None]
    progress: Callable[..., Iterator[Any]] | None
    compiles: bool
    imported: set[str]
    absent: dict[str, str]

    @property
    def commands(self) -> Mapping[str, Any]:
        """Every command, by its word: what it does, and whether a loop with it may be compiled."""

    @property
    def answer(self) -> Any:
        """The last answer; None where there is none."""

    def numbered(self, name: str, span: Span) -> Any:
        """The value of `_5`, the result of line 5. Raises AgradError where there is none."""

    def draw(self, plot: Plot, path: str) -> None:
        """Write a plot to a file."""

    def write(self, path: str, text: str) -> None:
        """Write a text to a file."""

    def remember_name(self, names: dict[str, Any], name: str) -> None:
        """Remember the value of a name, so that a failing statement can be undone."""

    def why_none(self, expression: ast.Expr) -> str | None:
        """The text to show instead of a bare None."""

    def count(self, iterator: Iterator[Any], numbers: range, loop: Loop) -> Iterator[Any]:
        """The counter of a `for` over a range, which may run many iterations compiled."""

    def time(self, frame: Frame, code: Code, span: Span) -> None:
        """Measure and run the body of `time:`."""


class Machine:
    """Runs code against the names of a session."""

    def __init__(self, session: Host) -> None:
        self.session = session
        self.frames: list[Frame] = []
        self.growth = Growth()
        self.cut_at: set[tuple[str, int]] = set()  # the places of notes on paths that a derivative does not take
        self.figure: Any = None  # what `plt` draws on
        self.line = ""  # what was printed without the end of its line
        # By the kind and the place of a note: its text, which keeps its identity
        self.noted: dict[tuple[str, int, int], Any] = {}
        self.expecting = 0  # how many `fails` blocks are running
        self.calling = 0  # how many functions of the user the engine is calling
        self.handlers: dict[Do, Callable[[Frame, Any, Span], int | None]] = {
            do: getattr(self, f"_{do.name.lower()}") for do in Do if hasattr(self, f"_{do.name.lower()}")
        }

    def run(self, code: Code) -> Any:
        """Run the code of a statement (or expression) at the top level."""
        self.growth.next_round()
        if not self.frames:
            self.calling = 0  # a Ctrl-C may have come right after it was raised
        return self._run(Frame(code, (self.session.names,)))

    def _places(self, args: tuple[Any, ...]) -> list[Any]:
        """Everything that refers to values: names, stacks, and the arguments of a call that begins."""
        scopes = [scope for frame in self.frames for scope in frame.scopes]
        return [self.session.names, *scopes, *(frame.stack for frame in self.frames), list(args)]

    def look(self) -> None:
        """Stop where the time or the nodes of a statement are used up."""
        if next_stamp() > self.session.watch.due:
            self.session.watch.look(self.frames)

    def decide(self, value: Any) -> bool:
        """Whether a value counts as true, where that decides what runs next."""
        return truth(value)

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

    def before_backward(self, loss: Any, span: Span) -> None:
        """Begin a new round, and note a loss that compares each entry with each."""
        self.growth.next_round()
        if isinstance(loss, Tensor) and self.is_first(span, "loss"):
            self.tell(of_spread_loss(loss))

    def evaluate(self, code: Code) -> Any:
        """Run the code of an expression in the scopes of the running statement."""
        scopes = self.frames[-1].scopes if self.frames else (self.session.names,)
        return self._run(Frame(code, scopes))

    def run_inside(self, code: Code, frame: Frame) -> None:
        """Run the code of statements in the scopes of a running frame."""
        self._run(Frame(code, frame.scopes))

    def _run(self, frame: Frame) -> Any:
        base = len(self.frames)
        try:
            self.frames.append(frame)  # inside `try`, since a Ctrl-C may come right after it
            return self._loop(base)
        except AgradError as error:
            self._locate(error, base)
            raise
        finally:
            del self.frames[base:]

    def _locate(self, error: AgradError, base: int) -> None:
        """Add the place to an error: the running instruction, and the calls around it."""
        places = [frame.code.instructions[frame.pc - 1][2] for frame in self.frames[base:] if frame.pc]
        if not places or error.at is not None:
            return
        *callers, place = places
        error.at, error.statement = place, current().statement
        if not error.labels:
            error.labels.append(Label(place))
            error.labels.extend(Label(caller, "called here") for caller in callers[:1])
        if error.kind not in _SAME_EACH_TIME and not error.labels[0].text and (told := iteration(self.frames)):
            error.labels[0] = Label(error.labels[0].origin, f"at {told}")

    # Names: reading, binding and deleting them

    def look_up(self, name: str, span: Span) -> Any:
        """The value of a name that the innermost scope does not have."""
        found = meaning(name, self.frames[-1].scopes[1:], MISSING)
        if found is not MISSING:
            return found
        if name in ("_", "ans"):
            if self.session.answer is None:
                raise AgradError("name", f"{name} is the last answer, and there is none yet", labels=[Label(span)])
            return self.session.answer
        if is_result(name):
            return self.session.numbered(name, span)
        if name == "__name__":
            return "__main__"
        if name in ("dict", "set"):
            return values.dicts.Dict if name == "dict" else values.dicts.Set
        if name == "make_dot":
            return lambda y, params=None: values.figures.make_dot(y, self.session.write)
        raise self.unknown(name, span)

    def unknown(self, name: str, span: Span) -> AgradError:
        """The error for an unknown name, with suggestions."""
        if name in self.session.absent:
            return runtime.fixes.of_a_module(name, self.session.absent[name], span)
        return runtime.fixes.unknown(name, span, [*self.session.names, *self.frames[-1].scopes[0]])

    def _module(self, frame: Frame, detail: tuple[str, str], span: Span) -> None:
        name, module = detail
        first, *path = module.split(".")
        own = meaning(first, frame.scopes, None)
        if own is not None:
            frame.stack.append(adapted(runtime.objects.member(own, [*path, name])))
            return
        if module in pytorch.names.DRAWERS:
            if self.figure is None:
                self.figure = values.figures.Figure(lambda plot: self.session.emit(plot), self.session.draw)
            found = self.figure.member(name)
            if found is None:
                drawing = values.figures.DRAWING
                close = [Hint(f"{module}.{one}") for one in suggest(name, drawing) or drawing[:2]]
                raise AgradError("name", f"agrad has no {module}.{name}", labels=[Label(span)], fixes=close)
        else:
            found = pytorch.names.function(module, name)
            found = pytorch.names.constant(module, name) if found is None else found
            if found is None:
                raise runtime.fixes.unknown_in(module, name, span)
        frame.stack.append(found)

    def _store(self, frame: Frame, detail: tuple[str, bool], span: Span) -> None:
        name, again = detail
        value = frame.stack.pop()
        names = frame.scopes[0]
        if len(frame.scopes) == 1 and again:
            self._note_lost_leaf(name, names.get(name), value, span)
            self.tell(self.growth.stored(name, names.get(name), value, span))
        self.bind(names, name, value)

    def bind(self, names: dict[str, Any], name: str, value: Any) -> None:
        """Bind a name; at the top level, a statement that fails undoes that."""
        if names is self.session.names or self.expecting:
            self.session.remember_name(names, name)
        if type(value) is List and value.name is None:
            value.name = name
        if isinstance(value, Tensor):
            node, known = value.node, self.session.names.get(value.node.name or "")
            # A name that refers to something else at the top level is replaced.
            is_strange = names is self.session.names and not (isinstance(known, Tensor) and known.node is node)
            if node.name is None or is_strange:
                touch(node)
                node.name = name
        elif is_object(value):
            runtime.objects.bound(name, value)
        names[name] = value

    def _note_lost_leaf(self, name: str, old: Any, new: Any, span: Span) -> None:
        """Note `w = w - …` of a leaf: users of PyTorch expect an update and get a new value."""
        if not (isinstance(old, Tensor) and old.requires_grad and old.is_leaf) or new is old or old.name != name:
            return  # the leaf still has its own name
        if isinstance(new, Tensor) and new.requires_grad and new.is_leaf:
            return
        now = "was computed" if isinstance(new, Tensor) and new.requires_grad else "is a plain value"
        note = Note(
            f"{name} is no longer a leaf: the new {name} {now}",
            labels=[Label(span)],
            fixes=[Hint(f"no_grad: {name} -= …   to update the leaf in place"), Hint(f"set {name} = …   for new data")],
        )
        self.tell(note)

    def _variable(self, frame: Frame, name: str, span: Span) -> None:
        value = as_tensor(as_array(frame.stack.pop()), f"var {name}")
        current().origin = span  # where the leaf comes from: computing a number sets no place, or an earlier one
        self.tell(at_leaf(name, value, span, self.cut_at))
        self.bind(frame.scopes[0], name, FUNCTIONS["tensor"].call(value, requires_grad=True))

    def _delete(self, frame: Frame, name: str, span: Span) -> None:
        if name not in frame.scopes[0]:
            if name in CONSTANTS or name in FUNCTIONS:
                raise AgradError("name", f"{name} is built into agrad, and cannot be deleted", labels=[Label(span)])
            problem = self.unknown(name, span)
            likely = [f"del {one}" for one in suggest(name, frame.scopes[0])]
            problem.fixes = likely or ["vars   lists the names"]
            raise problem
        self.session.remember_name(frame.scopes[0], name)
        log = current().undo_log
        if log is not None:
            log.remember_first((id(frame.scopes[0]), "order"), _in_order(frame.scopes[0]))
        del frame.scopes[0][name]

    # Calls: of functions and methods, the engine's and the user's

    def call(self, function: Closure, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a function of the user from Python, as the engine does to differentiate it."""
        self.calling += 1
        try:
            return self._run(self._enter(function, args, keywords))
        finally:
            self.calling -= 1

    def call_top(self, stack: list[Any], detail: tuple[int, tuple[str, ...]], span: Span) -> bool:
        """Call the function below its arguments on the stack; True if that pushed a frame."""
        function, args, keywords = arguments(stack, detail)
        if isinstance(function, Closure):
            self.frames.append(self._enter(function, args, keywords))
            return True
        if is_object(function):
            return self._call_object(stack, function, args, keywords, span)
        if not callable(function):
            raise runtime.fixes.not_called(function, (*args, *keywords), span)
        current().origin = span
        name = getattr(function, "__name__", "")
        if name in FOLDING and args and function is FUNCTIONS[name].call:
            found = self.folded(name, args, keywords, span)
            if found is not MISSING:
                stack.append(found)
                return False
        stack.append(invoke(function, args, keywords))
        return False

    def _of_unknown(self, frame: Frame, detail: tuple[Code, tuple[str, ...], str], span: Span) -> None:
        code, names, text = detail
        known = {name for name in names if meaning(name, frame.scopes, MISSING) is not MISSING or is_result(name)}
        unknown = tuple([name for name in names if name not in known | {"_", "ans"}])
        if len(unknown) > 1:
            message = f"{' and '.join(unknown)} have no value, and an expression has one unknown here"
            raise AgradError("name", message, labels=[Label(span)])
        function = Closure(Definition(text, unknown, (), code, span), (), self, frame.scopes)
        frame.stack.append(function if unknown else self.call(function, (), {}))

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
            frame.stack.append(operations.listed(results))

    def _enter(self, function: Closure, args: tuple[Any, ...], keywords: dict[str, Any]) -> Frame:
        if len(self.frames) > MAX_CALLS:
            raise AgradError("limit", f"{function.__name__}: calls are nested more than {MAX_CALLS} deep")
        self.look()
        return Frame(function.definition.code, (function.bind(args, keywords), *function.scopes))

    def _call_object(
        self, stack: list[Any], function: Any, args: tuple[Any, ...], keywords: dict[str, Any], span: Span
    ) -> bool:
        """Call an object, a class, or a method of one; True if that pushed a frame."""
        current().origin = span
        own = runtime.objects.entered(function, args)
        if own is not None:
            self.frames.append(self._enter(*own, keywords))
            return True
        if not callable(function):
            raise runtime.fixes.not_called(function, (*args, *keywords), span)
        args = tuple(map(operations.as_tuple_if_list, args))
        keywords = {name: operations.as_tuple_if_list(value) for name, value in keywords.items()}
        stack.append(adapted(runtime.objects.call(function, args, keywords)))
        return False

    def _class(self, frame: Frame, detail: tuple[str, bool, Code], span: Span) -> None:
        name, has_base, code = detail
        base = frame.stack.pop() if has_base else None
        body: dict[str, Any] = {}
        self._run(Frame(code, (body, *frame.scopes)))
        self.bind(frame.scopes[0], name, runtime.objects.make_class(name, base, body, self, frame.scopes))

    def _method(self, frame: Frame, detail: tuple[str, int, tuple[str, ...]], span: Span) -> int | None:
        name, count, names = detail
        value, args, keywords = arguments(frame.stack, (count, names))
        if name == "backward":
            self.before_backward(value, span)
        if is_table(value):
            value = attributes.table_callee(value, name)
        if is_object(value):
            found = runtime.objects.attribute(value, name)
            if isinstance(found, Closure):  # of a class
                self.frames.append(self._enter(found, args, keywords))
                return ENTERED
            return ENTERED if self._call_object(frame.stack, found, args, keywords, span) else None
        current().origin = span
        if self.session.imported and name in pytorch.names.DIFFERING and type(value) is Tensor:
            own = pytorch.names.method_there(name, args, keywords, self.session.imported)
            if own is not None:
                found = adapted(own(value, *args, **keywords))
                if name == "split":
                    mark(found, value)
                frame.stack.append(found)
                return None
        if name in lists.LENGTHENING and type(value) is Tensor and value.shape and not value.node.recorded:
            value = lists.become_list(value, self._places(args))
        if name in READERS:
            self.tell(at_number(value, span, self.cut_at))
        found = invoke(attributes.method(value, name), (value, *args), keywords)
        if name in operations.VIEW_METHODS:
            mark(found, value)
        elif name in operations.ALIASES:
            operations.carry(found, value)
        frame.stack.append(found)
        return None

    def _lambda(self, frame: Frame, definition: Definition, span: Span) -> None:
        defaults = tuple(popped(frame.stack, len(definition.defaulted)))
        frame.stack.append(Closure(definition, defaults, self, frame.scopes))

    def _define(self, frame: Frame, definition: Definition, span: Span) -> None:
        self._lambda(frame, definition, span)
        self.bind(frame.scopes[0], definition.name, frame.stack.pop())

    # Values computed from those on the stack

    def _unary(self, frame: Frame, function: Callable[[Any], Any], span: Span) -> int | None:
        value = frame.stack.pop()
        method = found_method(value, "__neg__" if function is OPS["neg"].call else "__pos__")
        if method is not None:
            self.frames.append(self._enter(method, (value,), {}))
            return ENTERED
        current().origin = span
        frame.stack.append(function(as_array(value)))
        return None

    def _sign(self, frame: Frame, sides: tuple[Span, Span], span: Span) -> None:
        left, right = frame.stack[-2:]
        if operations.has_axes(left) and operations.has_axes(right):
            operations.refuse_ambiguous(left, right, sides, span)

    def _whole(self, frame: Frame, detail: None, span: Span) -> None:
        left = frame.stack[-2]
        left = left.node.value if type(left) is Tensor else left
        if type(left) is float and EXACT < abs(left) < inf:
            told = "whole numbers beyond 2**53 are rounded, so that the remainder may be wrong"
            self._note(frame, (f"{span.text}: {told}",), span)

    def _not(self, frame: Frame, detail: None, span: Span) -> None:
        current().origin = span
        frame.stack.append(not self.decide(frame.stack.pop()))

    def _is_none(self, frame: Frame, negated: bool, span: Span) -> None:
        frame.stack.append((frame.stack.pop() is None) is not negated)

    def _chain(self, frame: Frame, detail: tuple[Callable[[Any, Any], Any], int], span: Span) -> int | None:
        function, end = detail
        right, left = frame.stack.pop(), frame.stack.pop()
        current().origin = span
        result = function(*(x if type(x) is tuple else as_array(x) for x in (left, right)))
        if not isinstance(result, float | bool | Tensor):
            no_arithmetic(span)
        if self.decide(result):
            frame.stack.append(right)
            return None
        frame.stack.append(result)
        return end

    def _near(self, frame: Frame, given: bool, span: Span) -> None:
        tolerance = as_tensor(frame.stack.pop(), "a tolerance").item() if given else None
        right, left = as_array(frame.stack.pop()), as_array(frame.stack.pop())
        frame.stack.append(operations.is_near(left, right, tolerance))

    def _list(self, frame: Frame, detail: tuple[int, str], span: Span) -> None:
        stack, (count, kind) = frame.stack, detail
        items = popped(stack, count)
        current().origin = span
        stack.append(operations.listed(operations.spread(items), kind))

    def _tuple(self, frame: Frame, count: int, span: Span) -> None:
        frame.stack.append(operations.tuple_of(operations.spread(popped(frame.stack, count))))

    def _unpack(self, frame: Frame, count: int, span: Span) -> None:
        value = frame.stack.pop()
        entries = [value] if isinstance(value, float) or getattr(value, "shape", None) == () else list(iterate(value))
        if len(entries) != count:
            number = "1 value" if len(entries) == 1 else f"{len(entries)} values"
            raise AgradError("arity", f"{number} for {count} names", labels=[Label(span)])
        frame.stack.extend(reversed(entries))

    def _unpack_rest(self, frame: Frame, detail: tuple[int, int], span: Span) -> None:
        count, place = detail
        entries = list(iterate(frame.stack.pop()))
        behind = count - 1 - place
        if len(entries) < count - 1:
            raise AgradError(
                "arity", f"{len(entries)} values for {count - 1} names, and the rest", labels=[Label(span)]
            )
        end = len(entries) - behind
        parts = [*entries[:place], List(entries[place:end], joins=True), *entries[end:]]
        frame.stack.extend(reversed(parts))

    def _star(self, frame: Frame, sign: str, span: Span) -> None:
        value = frame.stack.pop()
        current().origin = span
        if sign == "*":
            frame.stack.append(Star(list(iterate(value))))
        elif isinstance(value, dict):
            frame.stack.append(Star([], value))
        else:
            raise AgradError("type", f"** needs a dictionary, not {describe_value(value)}", labels=[Label(span)])

    def _braces(self, frame: Frame, detail: tuple[str, int], span: Span) -> None:
        kind, count = detail
        items = popped(frame.stack, count)
        current().origin = span
        frame.stack.append(values.dicts.Set(operations.spread(items)) if kind == "set" else values.dicts.dict_of(items))

    def _slice(self, frame: Frame, detail: None, span: Span) -> None:
        step, stop, start = frame.stack.pop(), frame.stack.pop(), frame.stack.pop()
        frame.stack.append(slice(start, stop, step))

    def _index(self, frame: Frame, detail: None, span: Span) -> None:
        index, value = frame.stack.pop(), frame.stack.pop()
        current().origin = span
        if isinstance(value, List | tuple | range | str):
            frame.stack.append(operations.entry_at(value, index))
            return
        if isinstance(value, Table):
            told = "column", 0, 0  # the first index that might be meant for a row
            note = None if told in self.noted else attributes.note_on_index(value, index, span)
            if note is not None:
                self.noted[told] = note
                self.tell(note)
            frame.stack.append(adapted(attributes.table_entry(value, index)))
            return
        if is_object(value) and not is_table(value):
            frame.stack.append(adapted(runtime.objects.entry(value, index)))
            return
        # Each list in an index is the array of its entries.
        parts = [
            as_array(part) if type(part) is List else part for part in (index if type(index) is tuple else (index,))
        ]
        index = tuple(parts) if type(index) is tuple else parts[0]
        if is_table(value):
            frame.stack.append(adapted(value[index]))
            return
        entry = as_tensor(value, "an index")[index]
        if operations.is_basic(index):
            mark(entry, value)
        frame.stack.append(entry)

    def _attribute(self, frame: Frame, name: str, span: Span) -> None:
        current().origin = span
        value = frame.stack.pop()
        if is_table(value):
            found = adapted(attributes.table_attribute(value, name))
        elif is_object(value):
            found = adapted(runtime.objects.attribute(value, name))
        else:
            found = attributes.attribute(value, name)
        if name in operations.VIEW_ATTRIBUTES:
            mark(found, value)
        elif name in operations.ALIASES:
            operations.carry(found, value)
        frame.stack.append(found)

    def _format(self, frame: Frame, parts: tuple[Any, ...], span: Span) -> None:
        taken = popped(frame.stack, sum(not isinstance(part, str) for part in parts))
        for value in tensors_in(taken):
            choose(value.node, value.value, entries)  # a text may be compared, or read as a number
        given, form, settings = iter(taken), operations.formatted, self.session.settings
        pieces = [part if isinstance(part, str) else form(part, next(given), settings) for part in parts]
        frame.stack.append(operations.joined(pieces))

    def _copy(self, frame: Frame, depth: int, span: Span) -> None:
        frame.stack.append(frame.stack[-1 - depth])

    def _pop(self, frame: Frame, detail: None, span: Span) -> None:
        frame.stack.pop()

    # Writes into a value: its entries, its attributes, all of it in place

    def _set_index(self, frame: Frame, value_on_top: bool | None, span: Span) -> None:
        stack = frame.stack
        if value_on_top:
            value, index, target = stack.pop(), stack.pop(), stack.pop()
        else:
            index, target, value = stack.pop(), stack.pop(), stack.pop()
        current().origin = span
        if is_object(target) and not isinstance(target, type) and hasattr(type(target), "__setitem__"):
            target[index] = value
            return
        if type(target) is List:
            if isinstance(index, slice):
                parts = list(target.parts)
                parts[tidy_slice(index)] = entries_of(value)
                lists.refuse_itself(target, tuple(parts))
                target.change(parts)
            elif isinstance(index, tuple):
                message = "an entry of a list is assigned to by one index; the list is no array"
                raise AgradError(
                    "type", message, fixes=[Hint("xs[0][1] = …   writes into the first entry of the list")]
                )
            else:
                target.put(lists.place_in(target, index), value)
            return
        if not isinstance(target, Tensor):
            raise AgradError("type", f"the entries of {describe(target)} cannot be assigned to", labels=[Label(span)])
        target[index] = as_array(value)

    def _delete_index(self, frame: Frame, detail: None, span: Span) -> None:
        index, target = frame.stack.pop(), frame.stack.pop()
        if is_object(target) and hasattr(type(target), "__delitem__"):
            del target[index]
            return
        if type(target) is not List:
            message = f"the entries of {describe_value(target)} cannot be deleted"
            raise AgradError("type", message, labels=[Label(span)], fixes=[Hint("x[1:], x[:-1]   leaves out an entry")])
        parts = list(target.parts)
        del parts[tidy_slice(index) if isinstance(index, slice) else lists.place_in(target, index)]
        target.change(parts)

    def _writable(self, frame: Frame, detail: tuple[Any, str], span: Span) -> None:
        written, text = detail
        operations.check_write(frame.stack[-1], self.in_use, written, text)

    def _no_number(self, frame: Frame, detail: tuple[Any, str], span: Span) -> None:
        operations.check_number(frame.stack[-1], *detail)

    def in_use(self) -> list[Any]:
        """The values under names."""
        scopes = {id(scope): scope for frame in self.frames for scope in frame.scopes}
        scopes[id(self.session.names)] = self.session.names
        return [value for scope in scopes.values() for value in scope.values()]

    def all_in_use(self) -> list[Any]:
        """The values under names and on stacks."""
        return [*self.in_use(), *(value for frame in self.frames for value in frame.stack)]

    def _set_attribute(self, frame: Frame, name: str, span: Span) -> None:
        target = frame.stack.pop()
        value = frame.stack.pop()
        if is_object(target):
            runtime.objects.set_attribute(target, name, value)
        else:
            attributes.set_attribute(target, name, as_array(value))

    def _augment(self, frame: Frame, symbol: str, span: Span) -> int | None:
        """`x += y`; of an object `__iadd__`, or else `__add__`."""
        value, target = frame.stack.pop(), frame.stack.pop()
        if (is_object(target) or is_object(value)) and type(target) is not str:
            method = found_method(target, f"__i{_METHODS[symbol][0][2:]}")
            if method is not None:
                self.frames.append(self._enter(method, (target, value), {}))
                return ENTERED
            return ENTERED if self.operate(frame, OPS[BINARY[symbol]].call, target, value, span) else None
        current().origin = span
        is_written = getattr(target, "bracketed", False) and len(target.shape) == 1 and not target.node.recorded
        if symbol == "+" and type(value) is List and is_written:
            target = lists.become_list(target, self._places(()))  # under all its names, as `append` makes it one
        frame.stack.append(operations.augmented(symbol, target, value))
        return None

    def _augment_entry(self, frame: Frame, detail: tuple[str, Any, str], span: Span) -> int | None:
        symbol, written, text = detail
        value, old = frame.stack[-1], frame.stack[-2]
        if is_object(old) or is_object(value):
            return self._augment(frame, symbol, span)
        del frame.stack[-2:]
        current().origin = span
        if type(frame.stack[-2]) is List or isinstance(frame.stack[-2], dict):
            operations.check_write(old, self.in_use, written, text)
            frame.stack.append(operations.augmented(symbol, old, value))
        else:
            frame.stack.append(OPS[BINARY[symbol]].call(old, as_array(value)))
        return None

    # Operators on values that are neither numbers nor arrays

    def operate(self, frame: Frame, function: Callable[[Any, Any], Any], left: Any, right: Any, span: Span) -> bool:
        """Apply an operator; True if that pushed a frame, which leaves the result on the stack."""
        if type(left) is str and _sign(function) == "%":
            frame.stack.append(with_sequences(function, left, right, span))
            return False
        called = self._method_of(function, left, right)
        if called is not None:
            self.frames.append(self._enter(*called, {}))
            return True
        frame.stack.append(self._applied(function, left, right, span))
        return False

    def _method_of(
        self, function: Callable[[Any, Any], Any], left: Any, right: Any
    ) -> tuple[Closure, tuple[Any, Any]] | None:
        """The method that an operator calls, and its arguments."""
        if not (is_object(left) or is_object(right)):
            return None
        for name, pair in zip(_METHODS[_sign(function)], ((left, right), (right, left)), strict=True):
            method = found_method(pair[0], name)
            if method is not None:
                return method, pair
        return None

    def _applied(self, function: Callable[[Any, Any], Any], left: Any, right: Any, span: Span) -> Any:
        if is_table(left) or is_table(right):
            texts, other = (left, right) if isinstance(left, Texts) else (right, left)
            if isinstance(texts, Texts) and _sign(function) in ("==", "!="):
                return compared(texts, other, _sign(function) == "==")
            return self._applied(function, as_array(left), as_array(right), span)
        if is_object(left) or is_object(right):
            sign = _sign(function)
            if sign in ("==", "!="):
                return self.are_equal(left, right) is (sign == "==")
            name = _METHODS[sign][0]
            known = type(left).__name__ if is_object(left) else type(right).__name__
            message = f"`{sign}` of {describe_value(left)} and {describe_value(right)} is not defined"
            fixes: list[str] = [Hint(f"def {name}(self, other): return …   in the class {known}")]
            if "Set" in (type(left).__name__, type(right).__name__) and "{" in span.text:  # x^{2}, as in TeX
                fixes = [corrected(span, re.sub(r"\{([^{}]*)\}", r"(\1)", span.text))]
            raise AgradError("type", message, labels=[Label(span)], fixes=fixes)
        sign = _sign(function)
        if sign in ("==", "!=") and operations.is_ragged(left, right):
            return self.are_equal(left, right) is (sign == "==")
        if type(left) in SEQUENCES or type(right) in SEQUENCES:
            return with_sequences(function, left, right, span)
        value = function(left, right)
        return value if isinstance(value, float | bool | Tensor) else no_arithmetic(span)

    def applied(self, sign: str, left: Any, right: Any, span: Span) -> Any:
        """The value of an operator, for functions that use it, such as `sum` and `sorted`."""
        function = COMPARE_CALLS[sign] if sign in COMPARE_CALLS else OPS[BINARY[sign]].call
        called = self._method_of(function, left, right)
        return self.call(*called, {}) if called is not None else self._applied(function, left, right, span)

    def are_equal(self, left: Any, right: Any) -> bool:
        """Whether two values are the same, or equal, as `in` and `==` of lists ask."""
        if left is right:
            return True
        if type(left) is Kind or type(right) is Kind:
            fixes = [Hint("isinstance(x, list), isinstance(x, torch.Tensor), …")]
            raise AgradError("type", "types are not compared: isinstance tells of what kind a value is", fixes=fixes)
        for pair in ((left, right), (right, left)):
            method = found_method(pair[0], "__eq__")
            if method is not None:
                return truth(self.call(method, pair, {}))
        if is_object(left) or is_object(right):
            if type(left) is not type(right):
                return False
            if isinstance(left, dict):
                return left.keys() == right.keys() and all(self.are_equal(x, right[key]) for key, x in left.items())
            return type(left).__name__ == "Set" and bool(left == right)
        numbers = (float, bool, Tensor)
        if isinstance(left, numbers) and isinstance(right, numbers):
            shapes = [x.shape if isinstance(x, Tensor) else () for x in (left, right)]
            if any(shapes):
                message = "arrays are compared entry by entry: one truth is asked for"
                fixes = [Hint("any(x is y for y in ys)   finds the very same one"), Hint("torch.equal(x, y)")]
                raise AgradError("type", message, fixes=fixes)
            return bool(plain(left) == plain(right))
        if isinstance(left, List | tuple) and type(left) is type(right):
            return len(left) == len(right) and all(map(self.are_equal, left, right))
        return type(left) is type(right) and bool(left == right)

    def folded(self, name: str, args: tuple[Any, ...], keywords: dict[str, Any], span: Span) -> Any:
        """`sum`, `max`, `min` and `abs` of objects; also `sum(xs, start)` of a list, and `max(xs, key=f)`."""
        first = args[0]
        if name in ("hasattr", "getattr"):
            (x, wanted), options = FUNCTIONS[name].signature.bind(args, keywords)
            has_default = len(args) > 2 or "default" in keywords
            return _attribute(name, x, wanted, options["default"] if has_default else MISSING)
        if name in READERS:
            self.tell(at_number(first, span, self.cut_at))
        if name == "stack" and len(args) == 1 and not keywords:
            made = lists.mask_of(first)
            return MISSING if made is None else made
        if any(map(is_table, args)):
            return invoke(FUNCTIONS[name].call, tuple(map(as_array, args)), keywords)
        method = found_method(first, f"__{name}__")
        if method is not None and len(args) == 1 and not keywords:
            return self.call(method, (first,), {})
        if name in ("max", "min"):
            is_several = type(first) in (tuple, List, range) or isinstance(first, dict)
            is_several = is_several or (isinstance(first, Tensor) and first.shape != ())
            parts = list(iterate(first)) if len(args) == 1 and is_several else list(args)
            if "key" in keywords or any(map(is_object, parts)):
                return self._extreme(name, parts, span, **keywords)
        if (name == "sum" and not keywords and type(first) in (tuple, List)) or isinstance(first, dict):
            start = args[1] if len(args) == 2 else 0.0
            given = type(first) is tuple or (type(first) is List and first.joins)
            if any(map(is_object, (*first, start))) or (len(args) == 2 and given):
                for part in first:
                    start = self.applied("+", start, part, span)
                return start
        return MISSING

    def _extreme(
        self, name: str, parts: list[Any], span: Span, key: Any = None, default: Any = MISSING, **others: Any
    ) -> Any:
        if others:
            raise AgradError("arity", f"{name} of several values has no argument {next(iter(others))}")
        if not parts:
            if default is not MISSING:
                return default
            raise AgradError("shape", f"{name} of no values")
        if key is not None and not callable(key):
            raise AgradError("type", f"the key of {name} is a function, not {describe_value(key)}")
        best = parts[0]
        keyed = [part if key is None else key(part) for part in parts]
        top = keyed[0]
        for part, value in zip(parts[1:], keyed[1:], strict=True):
            if truth(self.applied(">" if name == "max" else "<", value, top, span)):
                best, top = part, value
        return best

    # Instructions

    def _test(self, frame: Frame, symbol: str, span: Span) -> None:
        right, left = frame.stack.pop(), frame.stack.pop()
        current().origin = span
        found = is_same(left, right) if symbol.startswith("is") else self.contains(right, left)
        frame.stack.append(found is not ("not" in symbol.split()))

    def contains(self, container: Any, value: Any) -> bool:
        """Whether a value is in something."""
        if isinstance(container, str):
            if not isinstance(value, str):
                raise AgradError("type", f"`in` of a text needs a text, not {describe_value(value)}")
            return value in container
        method = found_method(container, "__contains__")
        if method is not None:
            return truth(self.call(method, (container, value), {}))
        if is_object(container) and hasattr(type(container), "__contains__"):
            return value in container
        if isinstance(container, Tensor) and container.shape:
            return truth(FUNCTIONS["any"].call(OPS["equal"].call(container, value)))
        return any(self.are_equal(value, entry) for entry in iterate(container))

    # What runs next

    def _statement(self, frame: Frame, detail: None, span: Span) -> None:
        current().statement = span

    def _jump(self, frame: Frame, label: int, span: Span) -> int:
        self.look()
        return label

    def _jump_if_false(self, frame: Frame, label: int, span: Span) -> int | None:
        current().origin = span
        return None if self.decide(frame.stack.pop()) else label

    def _and(self, frame: Frame, label: int, span: Span) -> int | None:
        current().origin = span
        if self.decide(frame.stack[-1]):
            frame.stack.pop()
            return None
        return label

    def _or(self, frame: Frame, label: int, span: Span) -> int | None:
        current().origin = span
        if not self.decide(frame.stack[-1]):
            frame.stack.pop()
            return None
        return label

    def _iterate(self, frame: Frame, loop: Loop | None, span: Span) -> None:
        value = frame.stack.pop()
        iterator, progress = iterate(value), self.session.progress
        if progress is not None:
            iterator = progress(iterator, len(value) if isinstance(value, Sized) else None)
        # Not in what may fail, nor in a function that the engine calls or traces.
        if type(value) is range and loop is not None and self.session.compiles and not self.expecting:
            context = current()
            called = loop.in_function and not self.calling and context.tracing is None and context.reads is None
            if called or len(frame.scopes) == 1:
                iterator = self.session.count(iterator, value, loop)
        frame.stack.append(iterator)

    def _next(self, frame: Frame, label: int, span: Span) -> int | None:
        value = next(frame.stack[-1], MISSING)
        if value is MISSING:
            return label
        frame.stack.append(value)
        return None

    def _no_grad(self, frame: Frame, switch: tuple[str, bool], span: Span) -> None:
        context, name = current(), switch[0]
        frame.switches.append((name, getattr(context, name)))
        setattr(context, *switch)

    def _end_no_grad(self, frame: Frame, detail: None, span: Span) -> None:
        setattr(current(), *frame.switches.pop())

    # Statements that show, check or time something, and commands

    def _show(self, frame: Frame, node: ast.Evaluate, span: Span) -> None:
        value = frame.stack.pop()
        if isinstance(value, Tensor | float):
            self.session.last = (_answer(value),)
        function = node.value.function if isinstance(node.value, ast.Call) else None
        called = function if isinstance(function, ast.Attribute) else None
        if node.silent or (called is not None and called.name.endswith("_")):  # `w.grad.zero_()`, `nn.init.zeros_(w)`
            return
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        is_class = name in OTHERS and isinstance(value, type)
        if name in SHAPES and (is_class or (name in FUNCTIONS and value is FUNCTIONS[name].call)):
            raise runtime.fixes.unknown(name, span, ())  # `grad`, the command without its operand
        if getattr(type(value), "is_silent", False) and called is not None and module_name(called) is None:
            return  # such as `net.eval()`, which is called for its effect
        self.end_line()
        if value is not None:
            self._note_origin([value], span)
            names = frame.scopes[0]
            self.session.emit(Shown(value, node.value, names) if names is self.session.names else Shown(value))
            note_second_order(value, span, self.session.emit)
            return
        reason = self.session.why_none(node.value)
        if reason:
            self.session.emit(Printed(reason))

    def _note_origin(self, values: list[Any], span: Span) -> None:
        """Note values that were computed from data that have changed since, or from uncertain ones in no_grad."""
        for value in values:
            if not isinstance(value, Tensor):
                continue
            name, changed = value.node.spell(), changed_behind(value.node)
            message = autodiff.uncertainty.lost(value) if was_cut(value.node) else ""
            if message:
                self.tell(Note(message, labels=[Label(span)]))
            if changed is not None and not is_gradient(value):
                held = value.node.op is not None and all(node.freed is None for node in collect([value.node]))
                fixes = [f"forward {value.node.name}"] if value.node.name and held else []
                message = f"{name} still has its old value: {changed.spell()} has changed since"
                listener = current().listener
                if listener is not None:
                    listener(Note(message, labels=[Label(span)], fixes=fixes))

    def _print(self, frame: Frame, count: int, span: Span) -> None:
        stack = frame.stack
        end, separator = stack.pop(), stack.pop()
        items = operations.spread(popped(stack, count))
        self._note_origin(items, span)
        settings = self.session.settings
        parts = [whole_text_of(item, settings) for item in items]
        between, after = (text_of(" " if one is None else one, settings) for one in (separator, end))
        text = operations.joined([self.line, *[piece for part in parts for piece in (part, between)][:-1], after])
        *lines, self.line = text.split("\n")
        if lines:
            self.session.emit(Printed("\n".join(lines)))

    def end_line(self) -> None:
        """Show what was printed without the end of its line."""
        if self.line:
            line, self.line = self.line, ""
            self.session.emit(Printed(line))

    def _note(self, frame: Frame, messages: tuple[str, ...], span: Span) -> None:
        if self.is_first(span):
            for message in messages:
                self.tell(Note(message, labels=[Label(span)]))

    def _unused(self, frame: Frame, name: str, span: Span) -> None:
        if isinstance(frame.stack[-1], Tensor | tuple):
            message = f".sort() gives the entries in order, and {name} stays as it is"
            fixes = [f"{name} = sorted({name})"]
            self.tell(Note(message, labels=[Label(span)], fixes=fixes))

    def _import(self, frame: Frame, detail: tuple[tuple[str, ...], dict[str, str]], span: Span) -> None:
        libraries, absent = detail
        self.session.imported.update(libraries)
        self.session.absent.update(absent)

    def _assert(self, frame: Frame, kind: str, span: Span) -> None:
        with scope(recording=False, guard=current().guard):  # an assertion makes no guard
            self._hold(frame.stack, kind, span)

    def _hold(self, stack: list[Any], kind: str, span: Span) -> None:
        """Raise an error if an assertion does not hold."""
        message = stack.pop()
        if kind:
            tolerance = as_tensor(stack.pop(), "a tolerance").item() if kind == "+-" else None
            right, left = stack.pop(), stack.pop()
            symbol = "~=" if kind == "+-" else kind
            if symbol in ("==", "!=") and operations.is_ragged(left, right):
                if self.are_equal(left, right) is (symbol == "=="):
                    return
                texts = [text_of(side, self.session.settings) for side in (left, right)]
                notes = [f"left:  {texts[0]}", f"right: {texts[1]}"]
            elif operations.holds(symbol, left, right, tolerance):
                return
            else:
                notes = operations.sides(symbol, left, right)
        else:
            value = stack.pop()
            if truth(value):
                return
            notes = [f"it is {text_of(value, self.session.settings)}"]
        text = f": {text_of(message, self.session.settings)}" if message is not None else ""
        raise AgradError("assert", f"the assertion does not hold{text}", labels=[Label(span)], notes=notes)

    def _fails(self, frame: Frame, detail: tuple[str, Code], span: Span) -> None:
        kind, code = detail
        context, last = current(), self.session.last
        inner = UndoLog(context.undo_log)
        self.expecting += 1
        try:
            with scope(undo_log=inner, guard=context.guard):
                self.run_inside(code, frame)
        except AgradError as error:
            inner.roll_back()
            self.session.last = last
            if error.kind != kind:
                error.notes.append(f"expected an error of kind {kind}")
                raise
            return
        finally:
            self.expecting -= 1
        raise AgradError("assert", f"expected an error of kind {kind}, and there was none", labels=[Label(span)])

    def _time(self, frame: Frame, code: Code, span: Span) -> None:
        self.session.time(frame, code, span)

    def _command(self, frame: Frame, node: Any, span: Span) -> None:
        operands, options = self.given(frame.stack, node)
        if node.word == "backward":
            self.before_backward(operands[0], span)
        self.session.commands[node.word].perform(self.session, node, operands, options, frame.scopes[0], span)

    @staticmethod
    def given(stack: list[Any], node: ast.Command) -> tuple[list[Any], dict[str, Any]]:
        """Pop the values of the operands of a command, and of its options; True of an option without a value."""
        given = popped(stack, sum(value is not None for _, value in node.options))
        operands = popped(stack, len(node.operands) - (node.word in UNEVALUATED))
        rest = iter(given)
        return operands, {name: next(rest) if value is not None else True for name, value in node.options}

    def _loop(self, base: int) -> Any:
        """Run the topmost frame, and those it calls, until the one at `base` returns."""
        load, constant, binary, call, leave = Do.LOAD, Do.CONSTANT, Do.BINARY, Do.CALL, Do.RETURN
        handlers, frames, context = self.handlers, self.frames, current()
        while True:
            frame, depth, result = frames[-1], len(frames), None
            stack, names, instructions = frame.stack, frame.scopes[0], frame.code.instructions
            end = len(instructions)
            if end > _LONG:
                end = min(end, frame.pc + _LONG)
            while frame.pc < end:
                do, detail, span = instructions[frame.pc]
                frame.pc += 1
                if do is load:
                    value = names.get(detail, MISSING)
                    stack.append(self.look_up(detail, span) if value is MISSING else value)
                elif do is constant:
                    stack.append(detail)
                elif do is binary:
                    right, left = stack.pop(), stack.pop()
                    context.origin = span
                    if type(left) not in _PLAIN or type(right) not in _PLAIN:
                        if self.operate(frame, detail, left, right, span):
                            break  # into the frame of the operator of an object
                        continue
                    value = detail(left, right)
                    stack.append(value if type(value) in _PLAIN else no_arithmetic(span))
                elif do is call:
                    if self.call_top(stack, detail, span):
                        break  # into the frame that this opened
                elif do is leave:
                    result = stack.pop()
                    break
                else:
                    target = handlers[do](frame, detail, span)
                    if target is not None:
                        if target is ENTERED:
                            break
                        frame.pc = target
            else:
                self.look()
                if end < len(instructions):
                    continue
            if len(frames) > depth:
                continue
            context.statement = frames.pop().statement
            if len(frames) == base:
                return result
            frames[-1].stack.append(result)


class ByRule(Machine):
    """A machine that runs each instruction by a method of its own, and only those that it has a rule for."""

    @abstractmethod
    def rule(self, do: Do) -> Callable[[Frame, Any, Span], int | None]:
        """What runs an instruction. Raises an exception for one that may not be run."""

    def _constant(self, frame: Frame, value: Any, span: Span) -> None:
        frame.stack.append(value)

    def _loop(self, base: int) -> Any:
        """Run the topmost frame, and those it calls, until the one at `base` returns."""
        while True:
            frame, result = self.frames[-1], None
            if frame.pc < len(frame.code.instructions):
                do, detail, span = frame.code.instructions[frame.pc]
                frame.pc += 1
                if do is not Do.RETURN:
                    target = self.rule(do)(frame, detail, span)
                    if target is not None:
                        frame.pc = target
                    continue
                result = frame.stack.pop()
            self.frames.pop()
            if len(self.frames) == base:
                return result
            self.frames[-1].stack.append(result)


# What the instructions call


def _in_order(names: dict[str, Any]) -> Callable[[], None]:
    """A function that restores the present order of names, some of which may be deleted in the meantime."""
    order = list(names)
    kept: dict[str, Any] = {}  # outside `undo`, which runs again if a Ctrl-C interrupts it: no name is lost then

    def undo() -> None:
        kept.update({name: names[name] for name in order if name in names})
        names.clear()
        names.update(kept)

    return undo


def invoke(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call a function of the table. Its keywords are bound here, since operations take operands by position."""
    signature = getattr(function, "signature", None)
    if type(function) is not lists.ListMethod:
        if len(args) == 1 and not keywords and type(args[0]) is List and function is FUNCTIONS["sum"].call:
            return operations.added_up(args[0])
        if List in map(type, args) or List in map(type, keywords.values()):
            convert = operations.given_as(function)
            name = getattr(function, "__name__", "")
            if name in DERIVATIVES and args and function is FUNCTIONS[name].call:
                args = (
                    operations.as_array_if_list(args[0]),
                    *args[1:],
                )  # what is differentiated, by one value or several
            args, keywords = tuple(map(convert, args)), {name: convert(value) for name, value in keywords.items()}
    if signature is not None and keywords:
        args, keywords = signature.bind(args, keywords)
    elif getattr(function, "__module__", "") in _OF_OBJECTS:
        return adapted(runtime.objects.call(function, args, keywords))
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


def arguments(stack: list[Any], detail: Sequence[Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Pop the function, its arguments and its keyword arguments."""
    count, names = detail
    given = popped(stack, count + len(names))
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
    return tuple(operations.spread(given)), keywords


def with_sequences(function: Callable[[Any, Any], Any], left: Any, right: Any, span: Span) -> Any:
    """An operation of which an operand is a list, a tuple, a text or a range."""
    found = operations.combined(function, left, right)
    known = isinstance(found, float | bool | Tensor | List | str | tuple)
    return found if known else no_arithmetic(span)


def no_arithmetic(span: Span) -> NoReturn:
    """Raise the error for arithmetic with a tuple or a range: vectors are for arithmetic."""
    fixes = [Hint("[1, 2] or arange(3) for a vector; concat([a, b]) to put two together")]
    raise AgradError("type", "tuples and ranges have no arithmetic", labels=[Label(span)], fixes=fixes)


def _attribute(function: str, x: Any, name: Any, default: Any = MISSING) -> Any:
    """`hasattr(x, name)` and `getattr(x, name, default)`."""
    if not isinstance(name, str):
        raise AgradError("type", f"the name of an attribute is a text, not {describe_value(name)}")
    try:
        found = adapted(runtime.objects.member(x, [name]))
    except AgradError:
        if function == "getattr" and default is MISSING:
            raise
        return default if function == "getattr" else False
    return found if function == "getattr" else True


def is_same(left: Any, right: Any) -> bool:
    """Whether two values are the very same one: of numbers and texts there is no such question."""
    if left is right or left is None or right is None:
        return left is right
    if isinstance(left, bool) or isinstance(right, bool):
        return type(left) is type(right) and left == right
    if isinstance(left, float | str) or isinstance(right, float | str):
        if type(left) is not type(right):
            return False
        raise AgradError("type", "`is` tells objects apart; numbers and texts are compared with ==", fixes=["=="])
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return left.node is right.node
    return False


def _answer(value: Any) -> Any:
    """A value as `_` has it: without its graph, unless it is uncertain, which it stays, with its correlations."""
    if not isinstance(value, Tensor):
        return value
    if uncertainty_of(value) is None:
        return tensor(value.value)
    return value if value.node.op is not None else FUNCTIONS["clone"].call(value)


def note_second_order(value: Any, span: Span, emit: Callable[[Result], None]) -> None:
    """Note a result that is far from linear in what is uncertain, so that its uncertainty says too little."""
    second = autodiff.uncertainty.doubtful(value) if Uncertainty.exists else None
    if second is not None:
        terms = f"the second adds a bias of {format_number(second.bias, 2)} and u = {format_number(second.u, 2)} more"
        fixes = [f"budget {span.text} order 2", f"budget {span.text} samples 1e6"]
        if not any(second):
            terms, fixes = "the slope is 0 here, as at a kink or on a step", fixes[1:]
        message = f"the uncertainty is of the first order: {terms}"
        emit(Noted(Note(message, labels=[Label(span)], fixes=fixes)))
