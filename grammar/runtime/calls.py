"""The core of the machine: its frames; the instructions for names and calls, and what it asks of its session."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from agrad.engine.core.context import current, next_stamp
from agrad.engine.core.graph import Node, touch
from agrad.engine.core.op import FUNCTIONS, VIEWERS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label, Note
from agrad.grammar import pytorch, runtime, values
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.pytorch.libraries import NAMESPACES
from agrad.grammar.results import Noted, Plot, Result, Settings
from agrad.grammar.runtime import attributes
from agrad.grammar.runtime.analysis import at_once
from agrad.grammar.runtime.budget import Watch
from agrad.grammar.runtime.builtins import CONSTANTS, Closure, as_tensor, between, is_object, is_result, meaning
from agrad.grammar.runtime.bytecode import Code, Definition, Do, Frame, Loop, Spread, Staging
from agrad.grammar.runtime.compiler import DERIVATIVES, SKIPPED
from agrad.grammar.runtime.notes import READERS, CutPaths, Growth, SpreadLosses, iteration
from agrad.grammar.runtime.operations import (
    ALIASES,
    VIEW_METHODS,
    adapted,
    added_up,
    as_array,
    as_array_if_list,
    as_tuple_if_list,
    carry,
    given_as,
    is_table,
    iterate,
    listed,
    mark,
    spread,
)
from agrad.grammar.syntax import ast
from agrad.grammar.values.lists import LENGTHENING, List, ListMethod, Star, become_list

MISSING = object()
_SAME_EACH_TIME = ("syntax", "name", "arity")  # errors of what is written, whichever iteration finds them


class Core(ABC):
    """What every group of instructions uses: the session that the machine runs for, and the frames."""

    def __init__(self, session: Host) -> None:
        self.session = session
        self.frames: list[Frame] = []
        self.growth = Growth()
        self.cut_paths = CutPaths()
        self.spread_losses = SpreadLosses()
        self.figure: Any = None  # what `plt` draws on
        self.line = ""  # what was printed without the end of its line
        self.noted: dict[tuple[int, int], Any] = {}  # by the place of a note: its text, which keeps its identity
        self.column_noted = False  # whether a note has said that one index of a table is a column
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

    def is_first(self, span: Span) -> bool:
        """Whether nothing was noted at a place so far, such as in an earlier iteration of a loop."""
        place = id(span.source), span.start
        if place in self.noted:
            return False
        self.noted[place] = span.source
        return True

    def note_rounded(self, message: str, span: Span) -> None:
        """Note, once, what rounding does at a place."""
        if self.is_first(span):
            self.session.emit(Noted(Note(message, labels=[Label(span)])))

    def before_backward(self, loss: Any, span: Span) -> None:
        """Begin a new round, and note a loss that compares each entry with each."""
        self.growth.next_round()
        note = self.spread_losses.of(loss, span)
        if note is not None:
            self.session.emit(Noted(note))

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

    @abstractmethod
    def _loop(self, base: int) -> Any:
        """Run the topmost frame, and those it calls, until the one at `base` returns."""


# The protocol of the session that a machine runs for.


class HostedCommand(Protocol):
    """A command that the machine can run."""

    @property
    def staging(self) -> Staging:
        """Whether a loop body with this command may be compiled."""

    @property
    def perform(self) -> Callable[..., None]:
        """Called with the session, the command as typed, the values of its operands and options, names and place."""


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
    def commands(self) -> Mapping[str, HostedCommand]:
        """Every command, by its word."""

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


# Names: reading and binding them.


class Names(Core):
    """The instructions that read, bind and delete names."""

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
            return runtime.name_errors.of_a_module(name, self.session.absent[name], span)
        return runtime.name_errors.unknown(name, span, [*self.session.names, *self.frames[-1].scopes[0]])

    def _module(self, frame: Frame, detail: tuple[str, str], span: Span) -> None:
        name, module = detail
        first, *path = module.split(".")
        own = meaning(first, frame.scopes, None)
        if own is not None:
            frame.stack.append(adapted(runtime.objects.member(own, [*path, name])))
            return
        if module in pytorch.names.DRAWERS:
            frame.stack.append(self._drawer(module, name, span))
            return
        function = pytorch.names.function(module, name)
        if function is None:
            function = pytorch.names.constant(module, name)
            if function is None:
                raise runtime.name_errors.unknown_in(module, name, span)
        frame.stack.append(function)

    def _drawer(self, module: str, name: str, span: Span) -> Any:
        """What `plt.name` calls."""
        if self.figure is None:
            self.figure = values.figures.Figure(lambda plot: self.session.emit(plot), self.session.draw)
        found = self.figure.member(name)
        if found is None:
            drawing = values.figures.DRAWING
            close = [Hint(f"{module}.{one}") for one in suggest(name, drawing) or drawing[:2]]
            raise AgradError("name", f"agrad has no {module}.{name}", labels=[Label(span)], fixes=close)
        return found

    def _store(self, frame: Frame, detail: tuple[str, bool], span: Span) -> None:
        name, again = detail
        value = frame.stack.pop()
        names = frame.scopes[0]
        if len(frame.scopes) == 1 and again:
            self._note_lost_leaf(name, names.get(name), value, span)
            note = self.growth.stored(name, names.get(name), value, span)
            if note is not None:
                self.session.emit(Noted(note))
        self.bind(names, name, value)

    def bind(self, names: dict[str, Any], name: str, value: Any) -> None:
        """Bind a name; at the top level, a statement that fails undoes that."""
        if names is self.session.names or self.expecting:
            self.session.remember_name(names, name)
        if type(value) is List and value.name is None:
            value.name = name
        if isinstance(value, Tensor) and (value.node.name is None or self._is_strange(value.node, names)):
            touch(value.node)
            value.node.name = name
        elif is_object(value):
            runtime.objects.bound(name, value)
        names[name] = value

    def _is_strange(self, node: Node, names: dict[str, Any]) -> bool:
        """Whether the name of a value refers to something else at the top level, so that the value gets a new name."""
        known = self.session.names.get(node.name or "")
        return names is self.session.names and not (isinstance(known, Tensor) and known.node is node)

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
        self.session.emit(Noted(note))

    def _variable(self, frame: Frame, name: str, span: Span) -> None:
        value = as_tensor(as_array(frame.stack.pop()), f"var {name}")
        current().origin = span  # where the leaf comes from: computing a number sets no place, or an earlier one
        note = self.cut_paths.at_leaf(name, value, span)
        if note is not None:
            self.session.emit(Noted(note))
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


def _in_order(names: dict[str, Any]) -> Callable[[], None]:
    """A function that restores the present order of names, some of which may be deleted in the meantime."""
    order = list(names)
    kept: dict[str, Any] = {}  # outside `undo`, which runs again if a Ctrl-C interrupts it: no name is lost then

    def undo() -> None:
        kept.update({name: names[name] for name in order if name in names})
        names.clear()
        names.update(kept)

    return undo


# Calls: of functions and methods, the engine's and the user's.

MAX_CALLS = 2000
# The modules whose functions take objects and classes.
_OF_OBJECTS = frozenset({*NAMESPACES.values(), "agrad.engine.autodiff.gradcheck"})
# Functions that call the operators of objects, or ask for their attributes.
FOLDING = frozenset({"sum", "max", "min", "abs", "float", "hasattr", "getattr"}) | {"stack"}  # of truths
ENTERED = -1  # what an instruction returns that pushed a frame, instead of a place to jump to


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
            raise runtime.name_errors.not_called(function, (*args, *keywords), span)
        current().origin = span
        name = getattr(function, "__name__", "")
        if name in FOLDING and args and function is FUNCTIONS[name].call:
            found = self.folded(name, args, keywords, span)
            if found is not MISSING:
                stack.append(found)
                return False
        stack.append(invoke(function, args, keywords))
        return False

    @abstractmethod
    def folded(self, name: str, args: tuple[Any, ...], keywords: dict[str, Any], span: Span) -> Any:
        """What a function of several values gives of objects, by their operators; MISSING where there are none."""

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
        current().origin = span
        own = runtime.objects.entered(function, args)
        if own is not None:
            self.frames.append(self._enter(*own, keywords))
            return True
        if not callable(function):
            raise runtime.name_errors.not_called(function, (*args, *keywords), span)
        args = tuple(map(as_tuple_if_list, args))
        keywords = {name: as_tuple_if_list(value) for name, value in keywords.items()}
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
        value, args, keywords = _arguments(frame.stack, (count, names))
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
        if len(args) == 1 and not keywords and type(args[0]) is List and function is FUNCTIONS["sum"].call:
            return added_up(args[0])
        args, keywords = _without_lists(function, args, keywords)
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


def _without_lists(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, Any]:
    """The arguments as a function of the engine takes them: lists as arrays, or as tuples where they are several."""
    if List not in map(type, args) and List not in map(type, keywords.values()):
        return args, keywords
    convert = given_as(function)
    name = getattr(function, "__name__", "")
    if name in DERIVATIVES and args and function is FUNCTIONS[name].call:
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
