"""Placeholders: the values that a loop body reads from outside, and their proxies while it is staged."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

from agrad.engine.autodiff.backward import backward
from agrad.engine.autodiff.optim import STEPS, kept_of
from agrad.engine.core.context import current, next_stamp, taken_back
from agrad.engine.core.graph import Gradient, Node, behind, collect, leaf, new_node, sharers
from agrad.engine.core.op import FUNCTIONS, OPS, Entry
from agrad.engine.core.tensor import Tensor, handle, tensor
from agrad.engine.errors import Note
from agrad.engine.ops.arrays.indexing import Place
from agrad.engine.values import np, shape_of
from agrad.grammar.diagnostics import Span
from agrad.grammar.pytorch.names import DIFFERING, RENAMED
from agrad.grammar.results import Result
from agrad.grammar.runtime import attributes
from agrad.grammar.runtime.builtins import CONSTANTS, Closure, entry_of, is_object, parts_of
from agrad.grammar.runtime.bytecode import Code, Do, Frame, Staging
from agrad.grammar.runtime.calls import Host, Names
from agrad.grammar.runtime.compiler import BINARY, UNEVALUATED
from agrad.grammar.runtime.expressions import Expressions
from agrad.grammar.runtime.machine import Machine
from agrad.grammar.runtime.operations import SEQUENCES, as_array, combined, is_basic, iterate, mark
from agrad.grammar.syntax import ast
from agrad.grammar.values.lists import List

NUMBER, PLAIN, LEAF, GRADIENT, MOMENT = "number", "plain", "leaf", "gradient", "moment"


class NotTraceable(Exception):
    """A loop body does something that cannot be staged; with the reason."""


@dataclass(slots=True, eq=False)
class Placeholder:
    """A value that the loop body reads from outside, and the proxy that represents it while it is staged.

    `kind`: a number, a plain value, a leaf; the gradient of a leaf, or one of the moments that an optimiser keeps of
    it, which are found through the leaf.
    """

    kind: str
    name: str
    value: Any  # the value of the name; for a gradient or moment, the leaf that it belongs to
    proxy: Tensor
    leaf: Node  # the proxy's node when the iteration began
    gradient: Placeholder | None = None  # of a leaf
    moments: list[Placeholder] = field(default_factory=list)  # of a leaf
    place: int = 0  # among the moments
    writes: int = 0
    calls: int = 0  # of backward, that reached a leaf
    cleared: bool = False  # whether the iteration clears its gradient
    zeroed: bool = False  # whether the iteration sets its gradient to zero
    aliases: list[weakref.ref[Tensor]] = field(default_factory=list)  # detached from it in the iteration


def recorded_behind(root: Node) -> set[Node]:
    """The nodes that a backward of the uncompiled iteration visits: none beyond a `stop`."""
    return {*behind([root], lambda node: node.recorded, lambda node: () if node.op is OPS["stop"] else node.inputs)}


def is_held(gradient: Tensor | None, values: Iterable[Any]) -> bool:
    """Whether one of some values is a gradient, or shares its data; those in tuples and objects count."""
    if gradient is None:  # the leaf has none: it was cleared
        return False
    kin = sharers(gradient.node)
    for value in parts_of(values):
        if isinstance(value, Tensor):
            node = value.node
            if node in kin or (node.op is OPS["stop"] and node.inputs[0] in kin):
                return True
    return False


def as_value(value: Any) -> Any:
    """A number or array, of a handle or itself."""
    return value.value if isinstance(value, Tensor) else value


# The effects that a loop body may have and still be staged: writes in place, backwards, optimiser steps.
#
# Each has a rule here, which says what it does to a proxy. Where the instruction, method or command is defined, it is
# declared that there is a rule.

_MOST_COPIED = 4096  # entries of an array of which an iteration may write some: each write copies it


class Effects(Names, Expressions):
    """The rules of effects."""

    scope: dict[str, Any]
    scopes: tuple[dict[str, Any], ...]
    held: Callable[[], list[Any]]
    placeholders: list[Placeholder]
    by_proxy: dict[Tensor, Placeholder]
    recording: bool
    watched: list[Tensor]
    required: list[Tensor]

    @abstractmethod
    def proxy_of(self, name: str, value: Any) -> Any:
        """The proxy of a value from outside."""

    @abstractmethod
    def enter(self, kind: str, name: str, value: Any, data: Any, requires_grad: bool) -> Tensor:
        """A placeholder for a value from outside; returns its proxy."""

    @property
    def method_rules(self) -> dict[str, Callable[[Tensor, dict[str, Any]], Any]]:
        """The rules of methods: called with the value and the arguments, which all have names."""
        return {"backward": self._backward_method, "zero_": self._zero, "detach": self._detach}

    @property
    def command_rules(self) -> dict[str, Callable[[Any, list[Any]], None]]:
        """The rules of commands: called with the command as typed and the values of its operands and options."""
        return {"backward": self._backward, "zero_grad": self._zero_grad, "set": self._set, "step": self._step}

    # Writes in place

    def cut(self, value: Any) -> Any:
        """The value without its graph."""
        if not isinstance(value, Tensor) or (value.node.op is None and not value.requires_grad):
            return value
        return self._stopped(value, False)

    @staticmethod
    def _stopped(value: Tensor, requires_grad: bool) -> Tensor:
        return handle(new_node(OPS["stop"], (value.node,), None, value.value, value.shape, requires_grad), value.value)

    def _detach(self, value: Tensor, options: dict[str, Any]) -> Any:
        """The value without its graph: an alias, which sees later writes as long as it lives."""
        if options:
            raise NotTraceable("it calls .detach() with an argument")
        alias = self.cut(value)
        if alias is not value and value in self.by_proxy:
            self.by_proxy[value].aliases.append(weakref.ref(alias))
        return alias

    def renew(self, target: Tensor, value: Any) -> None:
        """Give a value from outside new data, as a write in place does."""
        one = self.by_proxy.get(target)
        if one is None or one.kind not in (LEAF, PLAIN):
            raise NotTraceable("it writes into a value that it computed")
        if any(alias() is not None for alias in one.aliases) or len(sharers(one.value.node)) > 1:
            raise NotTraceable(f"{one.name} shares its data with another value")
        if shape_of(as_value(value)) != target.shape:
            raise NotTraceable(f"{one.name} is written with a value of another shape")
        source = value if isinstance(value, Tensor) else tensor(value)
        before, node = target.node, self._stopped(source, one.kind == LEAF).node
        node.keeps_grad, node.grad, node.name, node.value = before.keeps_grad, before.grad, before.name, source.value
        target.node, target.array = node, None
        node.handle = weakref.ref(target)
        one.writes += 1

    def _set_index(self, frame: Frame, value_on_top: bool | None, span: Span) -> None:
        stack = frame.stack
        if value_on_top:
            value, index, target = stack.pop(), stack.pop(), stack.pop()
        else:
            index, target, value = stack.pop(), stack.pop(), stack.pop()
        if not isinstance(target, Tensor) or not target.shape or target not in self.by_proxy:
            raise NotTraceable("it writes an entry of what is no array from outside")
        value = as_array(value)
        if not self.recording:
            before, value = self.cut(target), self.cut(value)
        elif self.by_proxy[target].kind == LEAF or (isinstance(value, Tensor) and value.requires_grad):
            raise NotTraceable(f"an entry of {self.by_proxy[target].name} is written outside no_grad")
        else:
            before = target
        if target.size > _MOST_COPIED:
            raise NotTraceable(f"it writes an entry of {self.by_proxy[target].name}, which has many")
        parts = self.places_in(index)
        if parts is None:
            self.renew(target, OPS["index_put"].call(before, value, index=index))
        else:
            self.renew(target, OPS["put_at"].call((before, value, *parts[1]), index=parts[0]))

    def _augment_entry(self, frame: Frame, detail: tuple[str, Any, str], span: Span) -> None:
        value, old = frame.stack.pop(), frame.stack.pop()
        if not isinstance(old, Tensor) or not isinstance(frame.stack[-2], Tensor):
            raise NotTraceable("it writes an entry of what is no array from outside")
        frame.stack.append(OPS[BINARY[detail[0]]].call(old, as_array(value)))

    def _index(self, frame: Frame, detail: None, span: Span) -> None:
        parts = self.places_in(frame.stack[-1])
        if parts is None:
            super()._index(frame, detail, span)
            return
        index, value = frame.stack.pop(), frame.stack.pop()
        if not isinstance(value, Tensor) or not value.shape:
            raise NotTraceable("it takes an entry of what is no array by the counter")
        if value.requires_grad:
            if self.recording:
                raise NotTraceable("it takes an entry of what requires grad by the counter")
            value = self.cut(value)
        entry: Tensor = OPS["entries_at"].call((value, *parts[1]), index=parts[0])
        if is_basic(index):
            mark(entry, value)
        self.required.append(entry)
        frame.stack.append(entry)

    def places_in(self, index: Any) -> tuple[tuple[Any, ...], list[Tensor]] | None:
        """An index with the places that differ between iterations taken out, and these; None where there are none."""
        found: list[Tensor] = []

        def part_of(part: Any) -> Any:
            if isinstance(part, slice):
                return slice(part_of(part.start), part_of(part.stop), part_of(part.step))
            if not isinstance(part, Tensor) or part.shape:
                return part
            if not self.is_number(part):
                raise NotTraceable("an array decides what an index takes")
            found.append(part)
            return Place(len(found) - 1)

        parts = tuple([part_of(part) for part in (index if isinstance(index, tuple) else (index,))])
        if not found:
            return None
        ends = [x for part in parts for x in ((part.start, part.stop, part.step) if type(part) is slice else (part,))]
        if not all(end is None or end is Ellipsis or type(end) in (Place, float, int) for end in ends):
            raise NotTraceable("an index has an array and a place that differs between iterations")
        return parts, found

    def _augment(self, frame: Frame, symbol: str, span: Span) -> None:
        value, target = as_array(frame.stack.pop()), frame.stack.pop()
        one = self.by_proxy.get(target) if isinstance(target, Tensor) else None
        changed = OPS[BINARY[symbol]].call(target, value)
        if one is None and isinstance(target, Tensor) and not self.is_number(target):
            raise NotTraceable("it writes into a value that it computed")
        if one is None or one.kind == NUMBER:
            frame.stack.append(changed if self.recording else self.cut(changed))
            return
        if self.recording and (one.kind == LEAF or (isinstance(value, Tensor) and value.requires_grad)):
            raise NotTraceable(f"{one.name} is written outside no_grad")
        self.renew(target, changed)
        frame.stack.append(target)

    def is_number(self, value: Tensor) -> bool:
        """Whether a value was computed from plain numbers only, so that it is one when uncompiled."""
        numbers = {one.leaf for one in self.placeholders if one.kind == NUMBER}
        behind = [x for node in collect([value.node]) for x in (node, *node.inputs) if isinstance(x, Node)]
        return not value.shape and all(node in numbers or (node.op is not None and node.recorded) for node in behind)

    # Attributes

    def _attribute(self, frame: Frame, name: str, span: Span) -> None:
        known = attributes.ATTRIBUTES.get(name)
        value = frame.stack[-1]
        if known is None or known.staging is Staging.NEVER or not isinstance(value, Tensor):
            raise NotTraceable(f"it reads .{name}")
        if known.staging is Staging.AS_IS:
            frame.stack[-1] = known.read(value)
        elif name == "data":
            frame.stack[-1] = self._detach(value, {})
        elif name == "grad":
            frame.stack[-1] = self._gradient(value)
        else:
            raise NotTraceable(f"it reads .{name}")

    def _gradient(self, value: Tensor) -> Tensor:
        if value.grad is None:
            raise NotTraceable("it reads a gradient that does not exist")
        return value.grad

    def _set_attribute(self, frame: Frame, name: str, span: Span) -> None:
        target, value = frame.stack.pop(), frame.stack.pop()
        if name != "grad" or value is not None or target not in self.by_proxy:
            raise NotTraceable(f"it assigns to .{name}")
        self._clear(target)

    # Gradients

    def _backward_method(self, value: Tensor, options: dict[str, Any]) -> None:
        if not options.keys() <= {"retain_graph"}:
            raise NotTraceable("it calls .backward() with an argument")
        self._walk(value)

    def _backward(self, node: Any, values: list[Any]) -> None:
        if {name for name, _ in node.options} - {"retain"} or not isinstance(values[0], Tensor):
            raise NotTraceable("it has a backward with an option")
        self._walk(values[0])

    def _walk(self, value: Tensor) -> None:
        """A backward, which records the graph of the gradient."""
        leaves = [(one, one.proxy.node.grad) for one in self.placeholders if one.kind == LEAF]
        behind = recorded_behind(value.node)
        backward(value, retain_graph=True, create_graph=True)
        for one, before in leaves:
            node = one.proxy.node
            if node not in behind:
                node.grad = before  # only beyond a `stop`: it has got a 0
            elif node.grad is not None and node.grad.value is not None:
                self.watched.append(node.grad.value)
                one.calls += 1
                node.grad = Gradient(self.cut(node.grad.value), (), 0, None)

    def _zero(self, gradient: Tensor, options: dict[str, Any]) -> None:
        """`w.grad.zero_()`."""
        in_use = [*(x for frame in self.frames for scope in frame.scopes for x in scope.values()), *self.held()]
        for one in self.placeholders:
            grad = one.proxy.node.grad
            if one.kind == LEAF and grad is not None and grad.value is gradient and not options:
                if any(is_held(held, in_use) for held in (gradient, one.value.grad)):
                    raise NotTraceable(f"the gradient of {one.name} has a name, and is written")
                one.zeroed = True
                zeros = tensor(np.zeros(gradient.shape) if gradient.shape else 0.0)
                one.proxy.node.grad = Gradient(zeros, (), 0, None)
                return
        raise NotTraceable("it writes into a value that it computed")

    def _zero_grad(self, node: Any, values: list[Any]) -> None:
        if not values:
            names = self.session.names.items()
            values = [self.proxy_of(name, value) for name, value in names if _has_gradient(value)]
            known = {id(value) for value in parts_of(self.session.names.values())}
            values += [one.proxy for one in self.placeholders if one.kind == LEAF and id(one.value) in known]
        for target in values:
            if target not in self.by_proxy:
                raise NotTraceable("it clears the gradient of a value that it computed")
            self._clear(target)

    def _clear(self, target: Tensor) -> None:
        """Set the gradient of one leaf to none."""
        self.by_proxy[target].cleared = True
        target.clear_grad()

    # Commands

    def _show(self, frame: Frame, node: ast.Evaluate, span: Span) -> None:
        if frame.stack.pop() is not None:
            raise NotTraceable("it shows a value")

    def _command(self, frame: Frame, node: Any, span: Span) -> None:
        if self.session.commands[node.word].staging is not Staging.BY_RULE:
            raise NotTraceable(f"it has the command {node.word}")
        operands = node.operands[1:] if node.word in UNEVALUATED else node.operands
        count = len(operands) + sum(value is not None for _, value in node.options)
        values = frame.stack[len(frame.stack) - count :] if count else []
        del frame.stack[len(frame.stack) - count :]
        self.command_rules[node.word](node, values)

    def _set(self, node: Any, values: list[Any]) -> None:
        name = node.operands[0].id
        if len(self.scopes) > 1:
            raise NotTraceable("it sets a leaf in a function")
        target = self.scope[name] if name in self.scope else self.look_up(name, node.span)
        value = as_array(values[0])
        self.renew(target, self.cut(value) if isinstance(value, Tensor) else value)

    def _step(self, node: Any, values: list[Any]) -> None:
        names = [name for name, _ in node.options if name != "method"]
        method = dict(node.options)["method"].value
        rates = dict(zip(names, values[len(values) - len(names) :], strict=True))
        if method not in STEPS or any(type(rate) is not float for rate in rates.values()):
            raise NotTraceable("it has a step with a rate that may change")
        for target in values[: len(node.operands)]:
            if target not in self.by_proxy:
                raise NotTraceable("it has a step of a value that it computed")
            one, gradient = self.by_proxy[target], self._gradient(target)
            kept = tuple(moment.proxy for moment in self._moments(one))
            change, left = STEPS[method](target, gradient, kept, **rates)
            if len(left) != len(kept):
                raise NotTraceable("step keeps something else in the next iteration")
            for moment, value in zip(one.moments, left, strict=True):
                moment.proxy = value
            self.renew(target, OPS["sub"].call(target, change))

    def _moments(self, owner: Placeholder) -> list[Placeholder]:
        """What an optimiser keeps of a leaf."""
        if not owner.moments:
            for place, value in enumerate(kept_of(owner.value.node)):
                self.enter(MOMENT, owner.name, owner.value, value, False)
                self.placeholders[-1].place = place
                owner.moments.append(self.placeholders[-1])
        return owner.moments


def _has_gradient(value: Any) -> bool:
    return isinstance(value, Tensor) and value.node.op is None and value.grad is not None


# Staging of a loop body: one iteration is run on proxies, which record what is done to them.
#
# Every value that the body finds under a name when the iteration begins gets a proxy: also plain numbers, also under
# `no_grad`, also gradients; `backward` records the graph of the gradient. Only what declares that it may be staged is:
# an instruction in `bytecode.Do`, an attribute or method in `attributes`, a command in its registry, a function in its
# entry of the engine's table. Everything else raises `NotTraceable`, and the loop runs uncompiled.

_MOST_JUMPS = 1000


class Stager(Effects, Machine):
    """A machine that runs one iteration on proxies. It changes nothing that was there before."""

    def __init__(
        self,
        session: Host,
        counter: str,
        around: tuple[dict[str, Any], ...] = (),
        held: Callable[[], list[Any]] = list,
    ) -> None:
        super().__init__(session)
        self.around = around or (session.names,)  # the names around the loop, innermost first
        self.held = held  # gives the values under all names, and on stacks
        self.scopes: tuple[dict[str, Any], ...] = tuple([{} for _ in self.around])  # and their values in the iteration
        self.scope = self.scopes[0]
        # The values of the names that are read, at the beginning of the iteration; a name with the place of its scope.
        self.entry: dict[tuple[int, str], Any] = {}
        self.placeholders: list[Placeholder] = []  # the counter first
        self.by_proxy: dict[Tensor, Placeholder] = {}
        self.recording = current().recording  # what the body sees: while it is staged, everything is recorded
        self.counter = counter
        self.conditions: list[tuple[Tensor, bool]] = []  # values whose truth was asked for, and the answers
        self.jumps = 0
        self.began = 0  # the stamp at the beginning
        self.watched: list[Tensor] = []  # gradients, and what may raise or have a note where it is not finite
        self.required: list[Tensor] = []  # what may raise, and is computed for that also where nothing uses it
        self.absent: set[tuple[int, str]] = set()  # names that were looked for in a scope, and found further out
        self.rules = {do: rule for do in Do if (rule := self._rule(do)) is not None}

    def _rule(self, do: Do) -> Callable[[Frame, Any, Span], int | None] | None:
        """The rule for an instruction; None for one that may not be staged."""
        name = f"_{do.name.lower()}"
        own = getattr(type(self), name, None)
        if do.staging is Staging.NEVER or own is None:
            return None
        if do.staging is Staging.BY_RULE and own is getattr(Machine, name, None):
            raise TypeError(f"{do.name} is declared to be staged by a rule, and there is none")
        rule: Callable[[Frame, Any, Span], int | None] = getattr(self, name)
        return rule

    def stage(self, code: Code, count: float) -> None:
        """Run one iteration. Raises NotTraceable, or whatever the iteration raises."""
        self.scope[self.counter] = self.enter(NUMBER, self.counter, count, count, False)
        with self._undone():
            self._run(Frame(code, self.scopes))
            guard = current().guard
            if guard is not None:
                raise NotTraceable(f"{guard.name} decides what it does")

    @contextmanager
    def _undone(self) -> Iterator[None]:
        """Take back whatever happens inside; what would be shown or noted cannot be staged."""
        session, emit = self.session, self.session.emit
        session.emit = _refuse_to_tell
        try:
            with taken_back(recording=True, guard=None, listener=_refuse_to_tell, clock=None, undefined=None):
                self.began = next_stamp()
                yield
        finally:
            session.emit = emit

    def _loop(self, base: int) -> Any:
        """Run the topmost frame, and those it calls, until the one at `base` returns: each instruction by its rule."""
        while True:
            frame, result = self.frames[-1], None
            if frame.pc < len(frame.code.instructions):
                do, detail, span = frame.code.instructions[frame.pc]
                frame.pc += 1
                if do is not Do.RETURN:
                    rule = self.rules.get(do)
                    if rule is None:
                        raise NotTraceable(f"it has the instruction {do.name}")
                    target = rule(frame, detail, span)
                    if target is not None:
                        frame.pc = target
                    continue
                result = frame.stack.pop()
            self.frames.pop()
            if len(self.frames) == base:
                return result
            self.frames[-1].stack.append(result)

    # Names

    def _load(self, frame: Frame, name: str, span: Span) -> None:
        names = frame.scopes[0]
        if name not in names:
            frame.stack.append(self.look_up(name, span))
            return
        value = names[name]
        frame.stack.append(value if self._depth(names) is not None else self._inside(name, value))

    def _depth(self, names: dict[str, Any]) -> int | None:
        """Which of the scopes around the loop one is; None if it is one of a function that the iteration calls."""
        return next((depth for depth, one in enumerate(self.scopes) if one is names), None)

    def look_up(self, name: str, span: Span) -> Any:
        """The proxy of the value of a name, unless it was bound in the iteration."""
        for names in self.frames[-1].scopes:
            depth = self._depth(names)
            if name in names:
                return names[name] if depth is not None else self._inside(name, names[name])
            if depth is not None:
                if name in self.around[depth]:
                    value = self.proxy_of(name, self.around[depth][name])
                    names[name] = self.entry[depth, name] = value
                    return value
                self.absent.add((depth, name))
        if name in CONSTANTS or name in FUNCTIONS:
            return super().look_up(name, span)
        raise NotTraceable(f"{name} has no value when it begins")

    def _inside(self, name: str, value: Any) -> Any:
        """The value of a name in a function: computed in the iteration, or kept by the function from before."""
        parts = [value]
        while parts:
            part = parts.pop()
            if isinstance(part, tuple | List):
                parts += part
            elif isinstance(part, Tensor) and part not in self.by_proxy and part.node.seq < self.began:
                raise NotTraceable(f"a function keeps {name} from before")
        return value

    def proxy_of(self, name: str, value: Any) -> Any:
        """The proxy of a value from outside; functions and texts need none."""
        if type(value) is bool:
            value = float(value)
        if type(value) is float:
            return self.enter(NUMBER, name, value, value, False)
        if type(value) is List:
            return List([x if type(x) is float else self.proxy_of(name, x) for x in value], value.joins)
        if not isinstance(value, Tensor):
            if not isinstance(value, Closure | str) and value is not None and not callable(value):
                raise NotTraceable(f"{name} is neither a number nor an array")
            return value
        known = next((one.proxy for one in self.placeholders if one.value is value), None)
        if known is not None:
            return known
        node = value.node
        if node.recorded and (node.op is not None or not node.requires_grad):
            raise NotTraceable(f"{name} was computed before, and has a graph")
        proxy = self.enter(LEAF if node.requires_grad else PLAIN, name, value, value.value, node.requires_grad)
        if value.grad is not None:
            owner = self.placeholders[-1]
            gradient = self.enter(GRADIENT, name, value, value.grad.value, False)
            proxy.node.grad, owner.gradient = Gradient(gradient, (), 0, None), self.placeholders[-1]
        return proxy

    def enter(self, kind: str, name: str, value: Any, data: Any, requires_grad: bool) -> Tensor:
        """A placeholder for a value from outside; returns its proxy."""
        node = leaf(data, requires_grad)
        node.recorded, node.name, node.guard = True, name, None
        proxy = handle(node)
        self.placeholders.append(Placeholder(kind, name, value, proxy, node))
        self.by_proxy[proxy] = self.placeholders[-1]
        return proxy

    def _module(self, frame: Frame, detail: tuple[str, str], span: Span) -> None:
        module = detail[1].partition(".")[0]
        if any(module in scope for scope in (*frame.scopes, *self.around)):
            raise NotTraceable(f"{module} is a name of the script")
        super()._module(frame, detail, span)

    def _store(self, frame: Frame, detail: tuple[str, bool], span: Span) -> None:
        value = frame.stack.pop()
        is_proxy = isinstance(value, Tensor) and value in self.by_proxy
        frame.scopes[0][detail[0]] = value if self.recording or is_proxy else self.cut(value)

    # Instructions that the loop of the machine has no method for

    def _constant(self, frame: Frame, value: Any, span: Span) -> None:
        frame.stack.append(value)

    def _binary(self, frame: Frame, function: Callable[[Any, Any], Any], span: Span) -> None:
        right, left = frame.stack.pop(), frame.stack.pop()
        self._binary_of(frame, function, left, right)

    @staticmethod
    def _binary_of(frame: Frame, function: Callable[[Any, Any], Any], left: Any, right: Any) -> None:
        if is_object(left) or is_object(right):
            raise NotTraceable("it computes with an object")
        value = combined(function, left, right) if {type(left), type(right)} & SEQUENCES else function(left, right)
        if not isinstance(value, float | bool | Tensor):
            raise NotTraceable("it computes with what is neither a number nor an array")
        frame.stack.append(value)

    # Conditions: they must come out the same in each iteration, or depend on the counter

    def decide(self, value: Any) -> bool:
        """The truth of a value."""
        if not isinstance(value, Tensor):
            return bool(value)
        if value.shape:
            raise NotTraceable("an array decides what it does")
        self.conditions.append((value, bool(value.item())))
        return self.conditions[-1][1]

    def _jump_if_false(self, frame: Frame, label: int, span: Span) -> int | None:
        return None if self.decide(frame.stack.pop()) else label

    def _and(self, frame: Frame, label: int, span: Span) -> int | None:
        if not self.decide(frame.stack[-1]):
            return label
        frame.stack.pop()
        return None

    def _or(self, frame: Frame, label: int, span: Span) -> int | None:
        if self.decide(frame.stack[-1]):
            return label
        frame.stack.pop()
        return None

    def _not(self, frame: Frame, detail: None, span: Span) -> None:
        frame.stack.append(not self.decide(frame.stack.pop()))

    def _chain(self, frame: Frame, detail: tuple[Callable[[Any, Any], Any], int], span: Span) -> int | None:
        function, end = detail
        right, left = frame.stack.pop(), frame.stack.pop()
        self._binary_of(frame, function, left, right)
        if not self.decide(frame.stack[-1]):
            return end
        frame.stack[-1] = right
        return None

    def _iterate(self, frame: Frame, detail: Any, span: Span) -> None:
        value = frame.stack.pop()
        if not isinstance(value, range | Tensor | List):
            raise NotTraceable("it loops over what is neither a range, nor an array, nor a list")
        frame.stack.append(iterate(value))

    def _jump(self, frame: Frame, label: int, span: Span) -> int:
        self.jumps += 1
        if self.jumps > _MOST_JUMPS:
            raise NotTraceable("it is long")
        return super()._jump(frame, label, span)

    def _no_grad(self, frame: Frame, switch: tuple[str, bool], span: Span) -> None:
        name, on = switch
        if name != "recording":
            raise NotTraceable("it detects anomalies")
        frame.switches.append((name, self.recording))
        self.recording = on

    def _end_no_grad(self, frame: Frame, detail: None, span: Span) -> None:
        _, self.recording = frame.switches.pop()

    # Calls

    def _call(self, frame: Frame, detail: tuple[int, tuple[str, ...]], span: Span) -> None:
        count, names = detail
        function = frame.stack[-1 - count - len(names)]
        if isinstance(function, Closure):
            self.call_top(frame.stack, detail, span)
            return
        entry = self._pure(entry_of(function), getattr(function, "__name__", "something"))
        self._take_over(frame.stack, count + len(names))
        self.call_top(frame.stack, detail, span)
        self._watch(entry, frame.stack[-1])

    def _enter(self, function: Closure, args: tuple[Any, ...], keywords: dict[str, Any]) -> Frame:
        frame = super()._enter(function, args, keywords)
        staged = {id(real): names for real, names in zip(self.around, self.scopes, strict=True)}
        return Frame(frame.code, tuple([staged.get(id(scope), scope) for scope in frame.scopes]))

    def _take_over(self, stack: list[Any], count: int) -> None:
        """Let the engine call the user's functions among the arguments on this machine, so that they are staged too."""
        for place in range(len(stack) - count, len(stack)):
            stack[place] = self._on_this_machine(stack[place])

    def _on_this_machine(self, value: Any) -> Any:
        if isinstance(value, Closure):
            return Closure(value.definition, value.defaults, self, value.scopes)
        if isinstance(value, tuple):
            return tuple(self._on_this_machine(item) for item in value)
        if type(value) is List:
            return List([self._on_this_machine(item) for item in value], value.joins)
        if callable(value) and entry_of(value) is None and not isinstance(value, Tensor):
            raise NotTraceable("it passes on a function that was made before")
        return value

    def _method(self, frame: Frame, detail: tuple[str, int, tuple[str, ...]], span: Span) -> None:
        name, count, names = detail
        value = frame.stack[-1 - count - len(names)]
        if is_object(value):
            raise NotTraceable(f"it calls .{name}() of an object")
        if name in DIFFERING and self.session.imported:
            raise NotTraceable(f"it calls .{name}(), which means something else in PyTorch")
        known = attributes.METHODS.get(name)
        if known is None:
            entry = self._pure(FUNCTIONS.get(RENAMED.get(name, name)), f".{name}()")
            self._take_over(frame.stack, count + len(names))
            super()._method(frame, detail, span)
            self._watch(entry, frame.stack[-1])
        elif known.staging is Staging.AS_IS:
            super()._method(frame, detail, span)
        elif known.staging is Staging.BY_RULE and isinstance(value, Tensor) and not count:
            options = frame.stack[len(frame.stack) - len(names) :]
            del frame.stack[-1 - len(names) :]
            frame.stack.append(self.method_rules[name](value, dict(zip(names, options, strict=True))))
        else:
            raise NotTraceable(f"it calls .{name}()")

    def _pure(self, entry: Entry | None, name: str) -> Entry:
        """The entry of a function that may be staged."""
        if entry is None or not entry.pure:
            raise NotTraceable(f"it calls {name}")
        return entry

    def _watch(self, entry: Entry, result: Any) -> None:
        """Keep what may raise or have a note at other values, also where nothing uses it."""
        if not entry.total:
            self.watched += [x for x in (result if isinstance(result, tuple) else (result,)) if isinstance(x, Tensor)]


def _refuse_to_tell(result: Result | Note) -> NoReturn:
    raise NotTraceable("it has something to show")
