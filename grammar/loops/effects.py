"""The effects that a loop body may have and still be staged: writes in place, backwards, optimiser steps.

Each has a rule here, which says what it does to a proxy. Where the instruction, method or command is defined, it is
declared that there is a rule.
"""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from agrad.engine.autodiff.backward import backward
from agrad.engine.autodiff.optim import STEPS, kept_of
from agrad.engine.core.graph import Gradient, Node, collect, new_node
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, handle, tensor
from agrad.engine.core.versions import sharers
from agrad.engine.ops.arrays.indexing import Place
from agrad.engine.values import np, shape_of
from agrad.grammar.diagnostics import Span
from agrad.grammar.loops.placeholders import (
    LEAF,
    MOMENT,
    NUMBER,
    PLAIN,
    NotTraceable,
    Placeholder,
    as_value,
    is_held,
    recorded_behind,
)
from agrad.grammar.runtime import attributes
from agrad.grammar.runtime.builtins import parts_of
from agrad.grammar.runtime.bytecode import Frame, Staging
from agrad.grammar.runtime.compiler import BINARY, UNEVALUATED
from agrad.grammar.runtime.operations import as_array
from agrad.grammar.runtime.views import is_basic, mark
from agrad.grammar.runtime.vm.expressions import Expressions
from agrad.grammar.runtime.vm.names import Names
from agrad.grammar.syntax import ast

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
