"""One turn of a loop, run on values that record all that is done to them: what a turn does, as a program.

What a loop finds under names when a turn begins stands for whatever it will find there, also plain numbers, also under
`no_grad`, also gradients; `backward` records the gradient's graph. Where a turn does what cannot be told beforehand
(prints, chooses by a value, makes random numbers, writes into entries, …), `NotStaticError` says so.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from agrad.engine.autodiff.backward import backward
from agrad.engine.autodiff.optim import STEPS, kept_of
from agrad.engine.core.context import current, scope
from agrad.engine.core.graph import Gradient, Node, collect, leaf, new_node
from agrad.engine.core.op import FUNCTIONS, OPS
from agrad.engine.core.tensor import Tensor, handle, tensor
from agrad.engine.core.versions import sharers
from agrad.engine.values import np, shape_of
from agrad.grammar.diagnostics import Span
from agrad.grammar.loops.placeholders import (
    GRADIENT,
    LEAF,
    MOMENT,
    NUMBER,
    PLAIN,
    Found,
    NotStaticError,
    as_value,
    is_held,
    recorded_behind,
)
from agrad.grammar.runtime.builtins import CONSTANTS, Closure
from agrad.grammar.runtime.bytecode import Code, Do
from agrad.grammar.runtime.compiler import BINARY, UNEVALUATED
from agrad.grammar.runtime.operations import as_array, iterate
from agrad.grammar.runtime.vm import Frame, Machine
from agrad.grammar.syntax import ast

if TYPE_CHECKING:
    from agrad.grammar.session.session import Session


_ATTRIBUTES = frozenset({"grad", "data", "shape", "ndim", "T"})
_METHODS = frozenset({"max", "min", "size", "dim", "numel", "view", "t", "float", "double", "contiguous", "cpu"})
_MAKERS = frozenset({"zeros", "ones", "full", "eye", "arange", "linspace", "zeros_like", "ones_like"})
_MOST_JUMPS = 1000
_OTHERS = frozenset({"tensor", "Variable", "detach", "float", "int"})
_TELLING = frozenset({"linear algebra", "derivatives"})  # families of what may refuse, or have a note on, some values


class Tracer(Machine):
    """A machine that runs a turn to find out what it does. It changes nothing that was there before."""

    def __init__(self, session: Session, counter: str) -> None:
        super().__init__(session)
        self.scope: dict[str, Any] = {}
        self.begun: dict[str, Any] = {}  # what the names that were read stood for when the turn began
        self.found: list[Found] = []  # the counter first
        self.handles: dict[Tensor, Found] = {}
        self.off = not current().recording
        self.counter = counter
        self.tests: list[tuple[Tensor, bool]] = []  # what was asked about the counter, and the answer
        self.jumps = 0
        self.reached: list[Tensor] = []  # gradients, and what may be refused: a turn is not run where these tell of it
        self.absent: set[str] = set()  # names that agrad's own constants and functions were found under

    def turn(self, code: Code, count: float) -> None:
        """Run a turn of the loop. Raises NotStaticError, or whatever the turn raises."""
        self.scope[self.counter] = self._enter_value(NUMBER, self.counter, count, count, False)
        with _apart(self.session):
            self._run(Frame(code, (self.scope,)))
            guard = current().guard
            if guard is not None:
                raise NotStaticError(f"{guard.name} decides what it does")

    # Names

    def look_up(self, name: str, span: Span) -> Any:
        """What the loop finds under a name, as what stands for it; what has been bound in the turn is in the scope."""
        for names in self.frames[-1].scopes[1:]:
            if name in names:
                return names[name]
        if name in self.session.names:
            self.scope[name] = self.begun[name] = value = self.taken(name, self.session.names[name])
            return value
        if name in CONSTANTS or name in FUNCTIONS:
            self.absent.add(name)
            return super().look_up(name, span)
        raise NotStaticError(f"{name} has no value when it begins")

    def taken(self, name: str, value: Any) -> Any:
        """What stands for a value from outside."""
        if type(value) is float:
            return self._enter_value(NUMBER, name, value, value, False)
        if not isinstance(value, Tensor):
            if isinstance(value, tuple | Node):
                raise NotStaticError(f"{name} is neither a number nor an array")
            return value
        known = next((found.traced for found in self.found if found.real is value), None)
        if known is not None:
            return known
        node = value.node
        if node.recorded and node.op is not None:
            raise NotStaticError(f"{name} was computed before, and has a graph")
        traced = self._enter_value(LEAF if node.requires_grad else PLAIN, name, value, value.value, node.requires_grad)
        if value.grad is not None:
            found = self.found[-1]
            gradient = self._enter_value(GRADIENT, name, value, value.grad.value, False)
            traced.node.grad, found.gradient = Gradient(gradient, (), 0, None), self.found[-1]
        return traced

    def _enter_value(self, kind: str, name: str, real: Any, value: Any, requires_grad: bool) -> Tensor:
        node = leaf(value, requires_grad)
        node.recorded, node.name, node.guard = True, name, None
        traced = handle(node)
        found = Found(kind, name, real, traced, node)
        self.found.append(found)
        self.handles[traced] = found
        return traced

    def _enter(self, function: Closure, args: tuple[Any, ...], keywords: dict[str, Any]) -> Frame:
        frame = super()._enter(function, args, keywords)
        outer = tuple(self.scope if scope is self.session.names else scope for scope in frame.scopes)
        return Frame(frame.code, outer)

    def _store(self, frame: Frame, detail: tuple[str, bool], span: Span) -> None:
        value = frame.stack.pop()
        found = isinstance(value, Tensor) and value in self.handles
        frame.scopes[0][detail[0]] = self.cut(value) if self.off and not found else value

    def cut(self, value: Any) -> Any:
        """The same without a record."""
        if not isinstance(value, Tensor) or (value.node.op is None and not value.requires_grad):
            return value
        return self._stopped(value, False)

    def _detached(self, value: Tensor) -> Any:
        """The same for an alias, which sees what is written later on as long as it is there."""
        alias = self.cut(value)
        if alias is not value and value in self.handles:
            self.handles[value].aliases.append(weakref.ref(alias))
        return alias

    @staticmethod
    def _stopped(value: Tensor, requires_grad: bool) -> Tensor:
        return handle(new_node(OPS["stop"], (value.node,), None, value.value, value.shape, requires_grad), value.value)

    def renew(self, target: Tensor, value: Any) -> None:
        """Give a value of outside new data, as a write in place does."""
        found = self.handles.get(target)
        if found is None or found.kind not in (LEAF, PLAIN):
            raise NotStaticError("it writes into a value of its own")
        if any(alias() is not None for alias in found.aliases) or len(sharers(found.real.node)) > 1:
            raise NotStaticError(f"{found.name} shares its data with another value")
        if shape_of(as_value(value)) != target.shape:
            raise NotStaticError(f"{found.name} is written with a value of another shape")
        given = value if isinstance(value, Tensor) else tensor(value)
        before, node = target.node, self._stopped(given, found.kind == LEAF).node
        node.keeps_grad, node.grad, node.name, node.value = before.keeps_grad, before.grad, before.name, given.value
        target.node, target.array = node, None
        node.handle = weakref.ref(target)
        found.writes += 1

    # Choices, which are the same in each turn if they are made by what no turn changes, and by the counter

    def told(self, value: Any) -> bool:
        """The truth of a value: of numbers that the program has, and of what follows from the counter."""
        if not isinstance(value, Tensor):
            return bool(value)
        if value.shape:
            raise NotStaticError("an array decides what it does")
        self.tests.append((value, bool(value.item())))
        return self.tests[-1][1]

    def _jump_if_false(self, frame: Frame, label: int, span: Span) -> int | None:
        return None if self.told(frame.stack.pop()) else label

    def _and(self, frame: Frame, label: int, span: Span) -> int | None:
        if not self.told(frame.stack[-1]):
            return label
        frame.stack.pop()
        return None

    def _or(self, frame: Frame, label: int, span: Span) -> int | None:
        if self.told(frame.stack[-1]):
            return label
        frame.stack.pop()
        return None

    def _not(self, frame: Frame, detail: None, span: Span) -> None:
        frame.stack.append(0.0 if self.told(frame.stack.pop()) else 1.0)

    def _iterate(self, frame: Frame, detail: Any, span: Span) -> None:
        value = frame.stack.pop()
        if not isinstance(value, range | Tensor):
            raise NotStaticError("it walks through what is neither a range nor an array")
        frame.stack.append(iterate(value))

    def _jump(self, frame: Frame, label: int, span: Span) -> int:
        self.jumps += 1
        if self.jumps > _MOST_JUMPS:
            raise NotStaticError("it is long")
        return super()._jump(frame, label, span)

    # Effects

    def _no_grad(self, frame: Frame, detail: None, span: Span) -> None:
        frame.switches.append(self.off)
        self.off = True

    def _end_no_grad(self, frame: Frame, detail: None, span: Span) -> None:
        self.off = frame.switches.pop()

    def _augment(self, frame: Frame, symbol: str, span: Span) -> None:
        value, target = as_array(frame.stack.pop()), frame.stack.pop()
        found = self.handles.get(target) if isinstance(target, Tensor) else None
        changed = OPS[BINARY[symbol]].call(target, value)
        if found is None and isinstance(target, Tensor) and not self._is_number(target):
            raise NotStaticError("it writes into a value of its own")
        if found is None or found.kind == NUMBER:
            frame.stack.append(self.cut(changed) if self.off else changed)
            return
        if not self.off and (found.kind == LEAF or (isinstance(value, Tensor) and value.requires_grad)):
            raise NotStaticError(f"{found.name} is written outside no_grad")
        self.renew(target, changed)
        frame.stack.append(target)

    def _is_number(self, value: Tensor) -> bool:
        """Whether a value was computed from plain numbers, and so is one."""
        numbers = {found.given for found in self.found if found.kind == NUMBER}
        behind = [x for node in collect([value.node]) for x in (node, *node.inputs) if isinstance(x, Node)]
        return not value.shape and all(node in numbers or (node.op is not None and node.recorded) for node in behind)

    def _attribute(self, frame: Frame, name: str, span: Span) -> None:
        if name not in _ATTRIBUTES:
            raise NotStaticError(f"it asks for .{name}")
        if name == "data":
            frame.stack.append(self._detached(frame.stack.pop()))
            return
        super()._attribute(frame, name, span)
        if frame.stack[-1] is None:
            raise NotStaticError("it asks for a gradient that there is not")

    def _set_attribute(self, frame: Frame, name: str, span: Span) -> None:
        target, value = frame.stack.pop(), frame.stack.pop()
        if name != "grad" or value is not None or target not in self.handles:
            raise NotStaticError(f"it assigns to .{name}")
        self.clear(target)

    def _method(self, frame: Frame, detail: tuple[str, int, tuple[str, ...]], span: Span) -> None:
        name, count, names = detail
        below = frame.stack[-1 - count - len(names)]
        if name == "backward" and isinstance(below, Tensor) and not count and set(names) <= {"retain_graph"}:
            del frame.stack[-1 - len(names) :]
            self.walk(below)
            frame.stack.append(None)
        elif name == "zero_" and isinstance(below, Tensor) and not count:
            self._zero(frame.stack.pop())
            frame.stack.append(None)
        elif name == "detach" and isinstance(below, Tensor):
            frame.stack[-1] = self._detached(below)
        elif name in _METHODS or _is_static(name):
            super()._method(frame, detail, span)
            self._heed(name, frame.stack[-1])
        else:
            raise NotStaticError(f"it calls .{name}()")

    def _zero(self, gradient: Tensor) -> None:
        """`w.grad.zero_()`."""
        scopes = [*(scope for frame in self.frames for scope in frame.scopes), self.session.names]
        for found in self.found:
            grad = found.traced.node.grad
            if found.kind == LEAF and grad is not None and grad.value is gradient:
                if any(is_held(held, scope) for held in (gradient, found.real.grad) for scope in scopes):
                    raise NotStaticError(f"the gradient of {found.name} has a name, and is written")
                found.zeroed = True
                zeros = tensor(np.zeros(gradient.shape) if gradient.shape else 0.0)
                found.traced.node.grad = Gradient(zeros, (), 0, None)
                return
        raise NotStaticError("it writes into a value of its own")

    def _call(self, stack: list[Any], detail: tuple[int, tuple[str, ...]], span: Span) -> bool:
        count, names = detail
        function = stack[-1 - count - len(names)]
        if not isinstance(function, Closure) and not _is_static(getattr(function, "__name__", "")):
            raise NotStaticError(f"it calls {getattr(function, '__name__', 'something')}")
        if super()._call(stack, detail, span):
            return True
        self._heed(function.__name__, stack[-1])
        return False

    def _heed(self, name: str, result: Any) -> None:
        """Compute, also where nobody asks for it, what may be refused at other values, or have something to say."""
        if name in FUNCTIONS and (FUNCTIONS[name].family in _TELLING or name == "norm"):
            self.reached += [x for x in (result if isinstance(result, tuple) else (result,)) if isinstance(x, Tensor)]

    def _show(self, frame: Frame, node: ast.Evaluate, span: Span) -> None:
        if frame.stack.pop() is not None:
            raise NotStaticError("it shows a value")

    def _command(self, frame: Frame, node: Any, span: Span) -> None:
        effects: dict[str, Callable[[Any, list[Any]], None]] = {
            "backward": self._walk_back,
            "zero_grad": self._clear,
            "set": self._set,
            "step": self._step,
        }
        if node.word not in effects:
            raise NotStaticError(f"{node.word} stands in it")
        operands = node.operands[1:] if node.word in UNEVALUATED else node.operands
        count = len(operands) + sum(value is not None for _, value in node.options)
        taken = frame.stack[len(frame.stack) - count :] if count else []
        del frame.stack[len(frame.stack) - count :]
        effects[node.word](node, taken)

    def _walk_back(self, node: Any, taken: list[Any]) -> None:
        if {name for name, _ in node.options} - {"retain"} or not isinstance(taken[0], Tensor):
            raise NotStaticError("backward stands in it with an option")
        self.walk(taken[0])

    def walk(self, value: Tensor) -> None:
        """`backward`, with the gradient's graph."""
        leaves = [(found, found.traced.node.grad) for found in self.found if found.kind == LEAF]
        behind = recorded_behind(value.node)
        backward(value, retain_graph=True, create_graph=True)
        for found, before in leaves:
            node = found.traced.node
            if node not in behind:
                node.grad = before  # behind what was cut off: it has got a 0
            elif node.grad is not None and node.grad.value is not None:
                self.reached.append(node.grad.value)
                found.calls += 1
                node.grad = Gradient(self.cut(node.grad.value), (), 0, None)

    def _clear(self, node: Any, taken: list[Any]) -> None:
        if not taken:
            names = self.session.names.items()
            taken = [self.taken(name, value) for name, value in names if _has_gradient(value)]
            taken += [found.traced for found in self.found if found.kind == LEAF]
        for target in taken:
            if target not in self.handles:
                raise NotStaticError("it clears the gradient of a value of its own")
            self.clear(target)

    def clear(self, target: Tensor) -> None:
        """`zero_grad` of one leaf."""
        self.handles[target].cleared = True
        target.clear_grad()

    def _set(self, node: Any, taken: list[Any]) -> None:
        target = self.scope.get(node.operands[0].id)
        if target is None:
            target = self.look_up(node.operands[0].id, node.span)
        value = as_array(taken[0])
        self.renew(target, self.cut(value) if isinstance(value, Tensor) else value)

    def _step(self, node: Any, taken: list[Any]) -> None:
        names = [name for name, _ in node.options if name != "method"]
        method = dict(node.options)["method"].value
        rates = dict(zip(names, taken[len(taken) - len(names) :], strict=True))
        if method not in STEPS or any(type(rate) is not float for rate in rates.values()):
            raise NotStaticError("step stands in it with a rate that may change")
        for target in taken[: len(node.operands)]:
            gradient = target.grad if target in self.handles else None
            if gradient is None:
                raise NotStaticError("it asks for a gradient that there is not")
            found = self.handles[target]
            kept = tuple(moment.traced for moment in self._moments(found))
            change, left = STEPS[method](gradient, kept, **rates)
            if len(left) != len(kept):
                raise NotStaticError("step keeps something else in the next turn")
            for moment, value in zip(found.moments, left, strict=True):
                moment.traced = value
            self.renew(target, OPS["sub"].call(target, change))

    def _moments(self, owner: Found) -> list[Found]:
        """What a method has kept of a leaf."""
        if not owner.moments:
            for place, value in enumerate(kept_of(owner.real.node)):
                self._enter_value(MOMENT, owner.name, owner.real, value, False)
                self.found[-1].place = place
                owner.moments.append(self.found[-1])
        return owner.moments


def _refused(what: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any) -> NoReturn:
        raise NotStaticError(f"{what} stands in it")

    return refuse


for _do in "SET_INDEX FORMAT PRINT ASSERT FAILS TIME DELETE VARIABLE DEFINE NEAR CHAIN IS_NONE".split():
    setattr(Tracer, f"_{Do[_do].name.lower()}", staticmethod(_refused(_do.lower())))


def _has_gradient(value: Any) -> bool:
    return isinstance(value, Tensor) and value.node.op is None and value.grad is not None


def _is_static(name: str) -> bool:
    """Whether a function of the table makes the same of the same, and nothing beside."""
    entry = FUNCTIONS.get(name)
    if entry is None or name in _OTHERS or entry.family == "files":
        return False
    return entry.family != "makers" or name in _MAKERS


@contextmanager
def _apart(session: Session) -> Iterator[None]:
    """Whatever is done in the meantime leaves no trace."""
    emit = session.emit
    session.emit = _refused("something to tell")
    try:
        with scope(recording=True, guard=None, listener=None, undo_log=None):
            yield
    finally:
        session.emit = emit
