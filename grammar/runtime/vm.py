"""Runs code: a stack, the names, and a frame for each function under way.

The loop knows four instructions by itself, those that make up most of an expression, and calls; every other one is a
method. Functions of the language do not use Python's stack: a frame is an entry of a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from agrad.engine.core.context import UndoLog, current, next_stamp, scope
from agrad.engine.core.graph import Node, collect, touch
from agrad.engine.core.guards import choose, entries
from agrad.engine.core.op import FUNCTIONS, OPS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.core.versions import changed_behind
from agrad.engine.errors import AgradError, Label, Note
from agrad.engine.ops.data_files import Chunks
from agrad.engine.values import describe
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.loops.hot_loops import WORTH, Turns
from agrad.grammar.results import Noted, Printed, Shown, text_of
from agrad.grammar.runtime import attributes, pytorch_names
from agrad.grammar.runtime.builtins import CONSTANTS, Closure, as_tensor
from agrad.grammar.runtime.bytecode import Code, Definition, Do, Loop
from agrad.grammar.runtime.compiler import BINARY, UNEVALUATED
from agrad.grammar.runtime.errors.name_errors import not_called, unknown, unknown_in
from agrad.grammar.runtime.leak_warning import Growth
from agrad.grammar.runtime.operations import (
    IN_PLACE,
    adapted,
    as_array,
    entry_at,
    formatted,
    holds,
    is_near,
    iterate,
    joined,
    rows,
    sides,
    truth,
    tuple_of,
)
from agrad.grammar.runtime.pytorch_names import IGNORED
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.keywords import SHAPES

if TYPE_CHECKING:
    from agrad.grammar.session.session import Session

MISSING = object()
MAX_CALLS = 2000
_STRETCH = 1000  # instructions after which the machine looks at what was taken, where no jump did


class Frame:
    """A function, or the top level, under way."""

    __slots__ = ("code", "pc", "scopes", "stack", "switches")

    def __init__(self, code: Code, scopes: tuple[dict[str, Any], ...]) -> None:
        self.code = code
        self.pc = 0
        self.scopes = scopes  # where names are looked up: innermost first, the session's last
        self.stack: list[Any] = []
        self.switches: list[bool] = []  # whether recording was on outside each no_grad under way


class Machine:
    """Runs code against the names of a session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.frames: list[Frame] = []
        self.growth = Growth()
        self.expecting = 0  # how many `fails` are under way
        self.handlers: dict[Do, Callable[[Frame, Any, Span], int | None]] = {
            do: getattr(self, f"_{do.name.lower()}") for do in Do if hasattr(self, f"_{do.name.lower()}")
        }

    def run(self, code: Code) -> Any:
        """Run the code of a statement (or expression) at the top level."""
        self.growth.next_round()
        return self._run(Frame(code, (self.session.names,)))

    def evaluate(self, code: Code) -> Any:
        """Run the code of an expression among the names that the statement under way sees."""
        scopes = self.frames[-1].scopes if self.frames else (self.session.names,)
        return self._run(Frame(code, scopes))

    def run_inside(self, code: Code, frame: Frame) -> None:
        """Run the code of statements among the names of a frame under way."""
        self._run(Frame(code, frame.scopes))

    def call(self, function: Closure, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a function of the language from Python: how the engine differentiates one."""
        return self._run(self._enter(function, args, keywords))

    def _run(self, frame: Frame) -> Any:
        base = len(self.frames)
        try:
            self.frames.append(frame)  # inside, since a Ctrl-C may come as soon as it is done
            return self._loop(base)
        except AgradError as error:
            self._locate(error, base)
            raise
        finally:
            del self.frames[base:]

    def _loop(self, base: int) -> Any:
        """Run the topmost frame, and those it calls, until the one at `base` returns."""
        load, constant, binary, call, leave = Do.LOAD, Do.CONSTANT, Do.BINARY, Do.CALL, Do.RETURN
        handlers, frames, context = self.handlers, self.frames, current()
        while True:
            frame, depth, result = frames[-1], len(frames), None
            stack, names, instructions = frame.stack, frame.scopes[0], frame.code.instructions
            end = len(instructions)
            if end > _STRETCH:
                end = min(end, frame.pc + _STRETCH)
            while frame.pc < end:
                do, detail, span = instructions[frame.pc]
                frame.pc += 1
                if do is load:
                    value = names.get(detail, MISSING)
                    stack.append(self.look_up(detail, span) if value is MISSING else value)
                elif do is constant:
                    stack.append(detail)
                elif do is binary:
                    right = stack.pop()
                    context.origin = span
                    value = detail(stack.pop(), right)
                    stack.append(value if type(value) is float or type(value) is Tensor else no_arithmetic(span))
                elif do is call:
                    if self._call(stack, detail, span):
                        break  # into the frame that this opened
                elif do is leave:
                    result = stack.pop()
                    break
                else:
                    target = handlers[do](frame, detail, span)
                    if target is not None:
                        frame.pc = target
            else:
                if next_stamp() > self.session.watch.due:
                    self.session.watch.look(frames)
                if end < len(instructions):
                    continue
            if len(frames) > depth:
                continue
            frames.pop()
            if len(frames) == base:
                return result
            frames[-1].stack.append(result)

    def _locate(self, error: AgradError, base: int) -> None:
        """Say where an error happened: the instruction under way, and the calls that led there."""
        places = [frame.code.instructions[frame.pc - 1][2] for frame in self.frames[base:] if frame.pc]
        if not places or "at" in error.facts:
            return
        *callers, place = places
        error.facts["at"], error.facts["statement"] = place, current().statement
        if not error.labels:
            error.labels.append(Label(place))
            error.labels.extend(Label(caller, "called here") for caller in callers[:1])

    # Names

    def look_up(self, name: str, span: Span) -> Any:
        """The value of a name that the innermost scope does not have."""
        for names in self.frames[-1].scopes[1:]:
            if name in names:
                return names[name]
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in FUNCTIONS:
            return FUNCTIONS[name].call
        if name in ("_", "ans"):
            if self.session.answer is None:
                raise AgradError("name", f"{name} is the last answer, and there is none yet", labels=[Label(span)])
            return self.session.answer
        raise self.unknown(name, span)

    def unknown(self, name: str, span: Span) -> AgradError:
        """An unknown name, with what may have been meant."""
        return unknown(name, span, [*self.session.names, *self.frames[-1].scopes[0]])

    def _module(self, frame: Frame, detail: tuple[str, str], span: Span) -> None:
        name, module = detail
        own = frame.scopes[0].get(module, self.session.names.get(module))
        if own is not None:
            frame.stack.append(attributes.attribute(own, name))
            return
        if name in CONSTANTS:
            frame.stack.append(CONSTANTS[name])
            return
        function = pytorch_names.function(module, name)
        if function is None and name not in IGNORED:
            raise unknown_in(module, name, span)
        frame.stack.append(function)

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
        """Give a name a value; at the top level so that a failing statement can take it back."""
        if names is self.session.names or self.expecting:
            self.session.remember_name(names, name)
        if isinstance(value, Tensor) and (value.node.name is None or self._is_strange(value.node, names)):
            touch(value.node)
            value.node.name = name
        names[name] = value

    def _is_strange(self, node: Node, names: dict[str, Any]) -> bool:
        """Whether a value is known by a name that does not stand for it at the top level, where it gets another."""
        known = self.session.names.get(node.name or "")
        return names is self.session.names and not (isinstance(known, Tensor) and known.node is node)

    def _note_lost_leaf(self, name: str, old: Any, new: Any, span: Span) -> None:
        """`w = w - …` over a leaf: PyTorch's users expect an update and get another value."""
        if not (isinstance(old, Tensor) and old.requires_grad and old.is_leaf) or new is old or old.name != name:
            return  # under another name the leaf is there as ever
        if isinstance(new, Tensor) and new.requires_grad and new.is_leaf:
            return
        now = "was computed" if isinstance(new, Tensor) and new.requires_grad else "is a plain value"
        note = Note(
            f"{name} is no longer a leaf: the new {name} {now}",
            labels=[Label(span)],
            fixes=[f"no_grad: {name} -= …   to update the leaf in place", f"set {name} = …   for new data"],
        )
        self.session.emit(Noted(note))

    def _variable(self, frame: Frame, name: str, span: Span) -> None:
        value = as_tensor(as_array(frame.stack.pop()), f"var {name}")
        self.bind(frame.scopes[0], name, tensor(value, requires_grad=True))

    def _delete(self, frame: Frame, name: str, span: Span) -> None:
        if name not in frame.scopes[0]:
            if name in CONSTANTS or name in FUNCTIONS:
                raise AgradError("name", f"{name} is agrad's own, and stays", labels=[Label(span)])
            problem = self.unknown(name, span)
            likely = [f"del {one}" for one in suggest(name, frame.scopes[0])]
            problem.fixes = likely or ["vars   lists the names there are"]
            raise problem
        self.session.remember_name(frame.scopes[0], name)
        log = current().undo_log
        if log is not None:
            log.remember_first((id(frame.scopes[0]), "order"), _in_order(frame.scopes[0]))
        del frame.scopes[0][name]

    # Expressions

    def _unary(self, frame: Frame, function: Callable[[Any], Any], span: Span) -> None:
        current().origin = span
        frame.stack.append(function(as_array(frame.stack.pop())))

    def _not(self, frame: Frame, detail: None, span: Span) -> None:
        current().origin = span
        frame.stack.append(0.0 if truth(frame.stack.pop()) else 1.0)

    def _is_none(self, frame: Frame, negated: bool, span: Span) -> None:
        frame.stack.append(float((frame.stack.pop() is None) is not negated))

    def _chain(self, frame: Frame, detail: tuple[Callable[[Any, Any], Any], int], span: Span) -> int | None:
        function, end = detail
        right, left = frame.stack.pop(), frame.stack.pop()
        current().origin = span
        result = function(left, right)
        if type(result) is not float and type(result) is not Tensor:
            no_arithmetic(span)
        if truth(result):
            frame.stack.append(right)
            return None
        frame.stack.append(result)
        return end

    def _near(self, frame: Frame, given: bool, span: Span) -> None:
        tolerance = as_tensor(frame.stack.pop(), "a tolerance").item() if given else None
        right, left = as_array(frame.stack.pop()), as_array(frame.stack.pop())
        frame.stack.append(float(is_near(left, right, tolerance)))

    def _list(self, frame: Frame, count: int, span: Span) -> None:
        stack = frame.stack
        items = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        current().origin = span
        if all(type(item) is float for item in items):
            stack.append(tensor(items))
        else:
            stack.append(OPS["stack"].call(rows(items)))

    def _tuple(self, frame: Frame, count: int, span: Span) -> None:
        stack = frame.stack
        items = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        stack.append(tuple_of(items))

    def _unpack(self, frame: Frame, count: int, span: Span) -> None:
        value = frame.stack.pop()
        entries = [value] if isinstance(value, float) or getattr(value, "shape", None) == () else list(iterate(value))
        if len(entries) != count:
            number = "1 value" if len(entries) == 1 else f"{len(entries)} values"
            raise AgradError("arity", f"{number} for {count} names", labels=[Label(span)])
        frame.stack.extend(reversed(entries))

    def _slice(self, frame: Frame, detail: None, span: Span) -> None:
        step, stop, start = frame.stack.pop(), frame.stack.pop(), frame.stack.pop()
        frame.stack.append(slice(start, stop, step))

    def _index(self, frame: Frame, detail: None, span: Span) -> None:
        index, value = frame.stack.pop(), frame.stack.pop()
        current().origin = span
        if isinstance(value, tuple | range):
            frame.stack.append(entry_at(value, index))
        else:
            frame.stack.append(as_tensor(value, "an index")[index])

    def _set_index(self, frame: Frame, value_on_top: bool | None, span: Span) -> None:
        stack = frame.stack
        if value_on_top:
            value, index, target = stack.pop(), stack.pop(), stack.pop()
        else:
            index, target, value = stack.pop(), stack.pop(), stack.pop()
        if not isinstance(target, Tensor):
            raise AgradError("type", f"the entries of {describe(target)} cannot be assigned to", labels=[Label(span)])
        current().origin = span
        target[index] = as_array(value)

    def _attribute(self, frame: Frame, name: str, span: Span) -> None:
        current().origin = span
        frame.stack.append(attributes.attribute(frame.stack.pop(), name))

    def _set_attribute(self, frame: Frame, name: str, span: Span) -> None:
        target = frame.stack.pop()
        attributes.set_attribute(target, name, as_array(frame.stack.pop()))

    def _augment(self, frame: Frame, symbol: str, span: Span) -> None:
        value, target = as_array(frame.stack.pop()), as_array(frame.stack.pop())
        current().origin = span
        if isinstance(target, Tensor):
            target = IN_PLACE[symbol](target, value)
        else:
            target = OPS[BINARY[symbol]].call(target, value)
        frame.stack.append(target)

    def _format(self, frame: Frame, parts: tuple[Any, ...], span: Span) -> None:
        values = [part for part in parts if not isinstance(part, str)]
        taken = frame.stack[len(frame.stack) - len(values) :] if values else []
        del frame.stack[len(frame.stack) - len(values) :]
        for value in taken:
            if isinstance(value, Tensor):
                choose(value.node, value.value, entries)  # a text may be asked about, or made a number of
        texts = iter(taken)
        settings = self.session.settings
        pieces = [part if isinstance(part, str) else formatted(part, next(texts), settings) for part in parts]
        frame.stack.append(joined(pieces))

    def _copy(self, frame: Frame, depth: int, span: Span) -> None:
        frame.stack.append(frame.stack[-1 - depth])

    def _pop(self, frame: Frame, detail: None, span: Span) -> None:
        frame.stack.pop()

    # Calls

    def _call(self, stack: list[Any], detail: tuple[int, tuple[str, ...]], span: Span) -> bool:
        """Call what stands below its arguments; True if that opened a frame."""
        function, args, keywords = _arguments(stack, detail)
        if isinstance(function, Closure):
            self.frames.append(self._enter(function, args, keywords))
            return True
        if not callable(function):
            raise not_called(function, (*args, *keywords), span)
        current().origin = span
        stack.append(invoke(function, args, keywords))
        return False

    def _enter(self, function: Closure, args: tuple[Any, ...], keywords: dict[str, Any]) -> Frame:
        if len(self.frames) > MAX_CALLS:
            raise AgradError("limit", f"{function.__name__}: calls are nested more than {MAX_CALLS} deep")
        if next_stamp() > self.session.watch.due:
            self.session.watch.look(self.frames)
        return Frame(function.definition.code, (function.bind(args, keywords), *function.scopes))

    def _method(self, frame: Frame, detail: tuple[str, int, tuple[str, ...]], span: Span) -> None:
        name, count, names = detail
        if name == "backward":
            self.growth.next_round()
        value, args, keywords = _arguments(frame.stack, (count, names))
        current().origin = span
        frame.stack.append(invoke(attributes.method(value, name), (value, *args), keywords))

    def _define(self, frame: Frame, definition: Definition, span: Span) -> None:
        count = definition.defaults
        defaults = tuple(frame.stack[len(frame.stack) - count :])
        del frame.stack[len(frame.stack) - count :]
        self.bind(frame.scopes[0], definition.name, Closure(definition, defaults, self, frame.scopes))

    # Control

    def _statement(self, frame: Frame, detail: None, span: Span) -> None:
        current().statement = span

    def _jump(self, frame: Frame, label: int, span: Span) -> int:
        if next_stamp() > self.session.watch.due:
            self.session.watch.look(self.frames)
        return label

    def _jump_if_false(self, frame: Frame, label: int, span: Span) -> int | None:
        current().origin = span
        return None if truth(frame.stack.pop()) else label

    def _and(self, frame: Frame, label: int, span: Span) -> int | None:
        current().origin = span
        if truth(frame.stack[-1]):
            frame.stack.pop()
            return None
        return label

    def _or(self, frame: Frame, label: int, span: Span) -> int | None:
        current().origin = span
        if not truth(frame.stack[-1]):
            frame.stack.pop()
            return None
        return label

    def _iterate(self, frame: Frame, loop: Loop | None, span: Span) -> None:
        value = frame.stack.pop()
        turns, progress = iterate(value), self.session.progress
        if progress is not None:
            turns = progress(turns, None if isinstance(value, Chunks) else len(value))
        if type(value) is range and len(value) >= WORTH and loop is not None and not loop.refused:
            turns = self._as_program(turns, value, loop, frame)
        frame.stack.append(turns)

    def _as_program(self, turns: Iterator[Any], numbers: range, loop: Loop, frame: Frame) -> Iterator[Any]:
        """The same turns, of which those that do the same may be run as a program."""
        if len(frame.scopes) > 1 or self.expecting or current().clock is not None or not self.session.compiles:
            return turns
        return Turns(turns, numbers, loop)

    def _next(self, frame: Frame, label: int, span: Span) -> int | None:
        turns = frame.stack[-1]
        if type(turns) is Turns and turns.position >= turns.due:
            turns.leap(self)
        value = next(turns, MISSING)
        if value is MISSING:
            return label
        frame.stack.append(value)
        return None

    def _no_grad(self, frame: Frame, detail: None, span: Span) -> None:
        context = current()
        frame.switches.append(context.recording)
        context.recording = False

    def _end_no_grad(self, frame: Frame, detail: None, span: Span) -> None:
        current().recording = frame.switches.pop()

    # Statements

    def _show(self, frame: Frame, node: ast.Evaluate, span: Span) -> None:
        value = frame.stack.pop()
        if isinstance(value, Tensor | float):
            self.session.answer = tensor(value.value) if isinstance(value, Tensor) else value
        if node.silent:
            return
        if isinstance(node.value, ast.Name) and node.value.id in SHAPES and _is_own(node.value.id, value):
            raise unknown(node.value.id, span, ())  # `grad`, the command without its operand
        if value is not None:
            self._note_stale([value], span)
            self.session.emit(Shown(value))
            return
        reason = self.session.why_none(node.value)
        if reason:
            self.session.emit(Printed(reason))

    def _note_stale(self, values: list[Any], span: Span) -> None:
        """What is shown may have been computed from data that have changed since."""
        for value in values:
            changed = changed_behind(value.node) if isinstance(value, Tensor) else None
            if changed is not None:
                name = value.node.spell()
                held = value.node.op is not None and all(node.freed is None for node in collect([value.node]))
                fixes = [f"forward {value.node.name}"] if value.node.name and held else []
                message = f"{name} has its old value: {changed.spell()} was changed since"
                listener = current().listener
                if listener is not None:
                    listener(Note(message, labels=[Label(span)], fixes=fixes))

    def _print(self, frame: Frame, count: int, span: Span) -> None:
        stack = frame.stack
        items = stack[len(stack) - count :] if count else []
        del stack[len(stack) - count :]
        self._note_stale(items, span)
        self.session.emit(Printed(" ".join(text_of(item, self.session.settings) for item in items)))

    def _assert(self, frame: Frame, kind: str, span: Span) -> None:
        with scope(recording=False, guard=current().guard):  # an assertion makes no guard
            self._hold(frame.stack, kind, span)

    def _hold(self, stack: list[Any], kind: str, span: Span) -> None:
        """Stop where an assertion does not hold."""
        message = stack.pop()
        if kind:
            tolerance = as_tensor(stack.pop(), "a tolerance").item() if kind == "+-" else None
            right, left = stack.pop(), stack.pop()
            symbol = "~=" if kind == "+-" else kind
            if holds(symbol, left, right, tolerance):
                return
            notes = sides(symbol, left, right)
        else:
            value = stack.pop()
            if truth(value):
                return
            notes = [f"it is {text_of(value, self.session.settings)}"]
        text = f": {text_of(message, self.session.settings)}" if message is not None else ""
        raise AgradError("assert", f"the assertion does not hold{text}", labels=[Label(span)], notes=notes)

    def _fails(self, frame: Frame, detail: tuple[str, Code], span: Span) -> None:
        kind, code = detail
        context, answer = current(), self.session.answer
        inner = UndoLog(context.undo_log)
        self.expecting += 1
        try:
            with scope(undo_log=inner, guard=context.guard):
                self.run_inside(code, frame)
        except AgradError as error:
            inner.roll_back()
            self.session.answer = answer
            if error.kind != kind:
                error.notes.append(f"expected an error of kind {kind}")
                raise
            return
        finally:
            self.expecting -= 1
        raise AgradError("assert", f"expected an error of kind {kind}, and there was none", labels=[Label(span)])

    def _time(self, frame: Frame, code: Code, span: Span) -> None:
        from agrad.grammar.commands.time import timed  # here, since few sessions time anything

        timed(self, frame, code, span)

    def _command(self, frame: Frame, node: Any, span: Span) -> None:
        from agrad.grammar.commands import COMMANDS, Call  # commands reach the session, and so this machine

        if node.word == "backward":
            self.growth.next_round()
        command = COMMANDS[node.word]
        values = [value for _, value in node.options if value is not None]
        operands = node.operands[1:] if node.word in UNEVALUATED else node.operands
        count = len(values) + len(operands)
        taken = frame.stack[len(frame.stack) - count :] if count else []
        del frame.stack[len(frame.stack) - count :]
        rest = iter(taken[len(operands) :])
        options = {name: next(rest) if value is not None else True for name, value in node.options}
        command.run(self.session, Call(node, taken[: len(operands)], options, frame.scopes[0], span))


def _is_own(name: str, value: Any) -> bool:
    """Whether a value is the function that agrad itself has under a name."""
    return name in FUNCTIONS and value is FUNCTIONS[name].call


def _in_order(names: dict[str, Any]) -> Callable[[], None]:
    """What puts names, of which some were gone meanwhile, in the order that they are in now."""
    order = list(names)
    kept: dict[str, Any] = {}  # out here, so that no name is lost if a Ctrl-C comes in between: then this runs again

    def undo() -> None:
        kept.update({name: names[name] for name in order if name in names})
        names.clear()
        names.update(kept)

    return undo


def no_arithmetic(span: Span) -> NoReturn:
    """A tuple is a shape, an index, several arguments, and a range is for loops; what computes is a vector."""
    fixes = ["[1, 2] or arange(3) for a vector; concat([a, b]) to put two together"]
    raise AgradError("type", "tuples and ranges have no arithmetic", labels=[Label(span)], fixes=fixes)


def invoke(function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call a function of the table. Those of one or two operands take them by position only: names are bound here."""
    signature = getattr(function, "signature", None)
    if signature is not None and keywords:
        args, keywords = signature.bind(args, keywords)
    return adapted(function(*args, **keywords))


def _arguments(stack: list[Any], detail: tuple[int, tuple[str, ...]]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """What is called, its arguments and its keyword arguments, from the stack."""
    count, names = detail
    total = count + len(names)
    given = stack[len(stack) - total :] if total else []
    del stack[len(stack) - total :]
    return stack.pop(), tuple(given[:count]), dict(zip(names, given[count:], strict=True))
