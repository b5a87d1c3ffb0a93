"""One iteration of a loop: recorded on proxies of its values, and run many times in a row, compiled."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import product, starmap
from sys import _getframe
from types import CellType, CodeType, FrameType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import ref

from agrad.engine.autodiff.backward import backward
from agrad.engine.autodiff.optim import STEPS, kept_of, remember
from agrad.engine.compile import llvm
from agrad.engine.compile.cost import iterations_at_once, iterations_to_repay
from agrad.engine.compile.python_backend import Compiled
from agrad.engine.compile.scalarise import scalarised
from agrad.engine.core.context import MOST_UNDEFINED, current, taken_back
from agrad.engine.core.graph import Gradient, Node, Storage, behind, collect, leaf, new_node, sharers, together, touch
from agrad.engine.core.op import FUNCTIONS, OPS, Entry, Op
from agrad.engine.core.tensor import Tensor, bare, handle, tensor
from agrad.engine.errors import AgradError, Note
from agrad.engine.ops.arrays.indexing import Place
from agrad.engine.program.ir import Program, optimised, spans, unchecked
from agrad.engine.program.trace import extract
from agrad.engine.values import IEEE, Array, Value, np, shape_of, size_of
from agrad.grammar.diagnostics import Span
from agrad.grammar.elsewhere import RENAMED
from agrad.grammar.results import Result
from agrad.grammar.run.guarded import Guarded, Names
from agrad.grammar.run.machine import arguments
from agrad.grammar.run.places import Running, frames
from agrad.grammar.runtime import attributes
from agrad.grammar.runtime.builtins import Closure, entry_of
from agrad.grammar.runtime.operations import SEQUENCES, as_array, combined, function_of, is_basic, iterate, mark
from agrad.grammar.syntax import ast
from agrad.grammar.values.lists import List, parts_of

if TYPE_CHECKING:
    from agrad.grammar.run.machine import Machine


NUMBER, PLAIN, LEAF, GRADIENT, MOMENT = "number", "plain", "leaf", "gradient", "moment"


class NotTraceable(Exception):
    """A loop body does something that cannot be staged; with the reason."""


def refuse(is_so: object, reason: str) -> None:
    """Raise NotTraceable where it is so."""
    if is_so:
        raise NotTraceable(reason)


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
    way: str = "update"  # of the last write: see `Storage.way`
    calls: int = 0  # of backward, that reached a leaf
    cleared: bool = False  # whether the iteration clears its gradient
    zeroed: bool = False  # whether the iteration sets its gradient to zero
    aliases: list[weakref.ref[Tensor]] = field(default_factory=list)  # detached from it in the iteration


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


# Staging of a loop body: one iteration is run on proxies, which record what is done to them.
#
# Every value that the body finds under a name when the iteration begins gets a proxy: also plain numbers, also under
# `no_grad`, also gradients; `backward` records the graph of the gradient. Only what declares that it may be staged is:
# a part of code in `as_is`, an attribute or method in `attributes`, a command in its registry, a function in its
# entry of the engine's table. Everything else raises `NotTraceable`, and the loop runs uncompiled.

_MOST_JUMPS = 1000
_MOST_COPIED = 4096  # entries of an array of which an iteration may write some: each write copies it


class Stager(Guarded):
    """A machine that runs one iteration on proxies. It changes nothing that was there before."""

    # What works on proxies as on values, and has no side effect.
    as_is = frozenset("neg pos chain logic writable no_number list tuple unpack call checked".split())
    refused = NotTraceable

    def __init__(
        self, session: Any, counter: str, around: tuple[dict[str, Any], ...] = (), held: Callable[[], list[Any]] = list
    ) -> None:
        super().__init__(session)
        self.around = around or (session.names,)  # the names around the loop, innermost first
        self.held = held  # gives the values under all names, and on stacks
        # And their values in the iteration.
        self.scopes = tuple([Names(partial(self._found, depth)) for depth in range(len(self.around))])
        self.scope, self.names = self.scopes[0], self.scopes[-1]
        # The values of the names that are read, at the beginning of the iteration; a name with the place of its scope.
        self.entry: dict[tuple[int, str], Any] = {}
        self.placeholders: list[Placeholder] = []  # the counter first
        self.by_proxy: dict[Tensor, Placeholder] = {}
        self.recording = current().recording  # what the body sees: while it is staged, everything is recorded
        self.running = _Recorder(self)
        self.counter = counter
        self.conditions: list[tuple[Tensor, bool]] = []  # values whose truth was asked for, and the answers
        self.jumps = 0
        self.followed: dict[int, str] = {}  # the names of the iteration that functions keep, by the place of each
        self.watched: list[Tensor] = []  # gradients, and what may raise or have a note where it is not finite
        self.required: list[Tensor] = []  # what may raise, and is computed for that also where nothing uses it
        self.absent: set[tuple[int, str]] = set()  # names that were looked for in a scope, and found further out
        self.rules = {"backward": self._backward, "zero_": self._zero, "detach": self._detach}  # of methods

    def stage(self, code: CodeType, count: float) -> None:
        """Run one iteration. Raises NotTraceable, or whatever the iteration raises."""
        self.scope[self.counter] = self.hold(NUMBER, self.counter, count, count).proxy
        session, emit = self.session, self.session.emit
        session.emit = _refuse_to_tell  # what would be shown or noted cannot be staged; whatever happens is taken back
        apart = {"listener": _refuse_to_tell, "clock": None, "undefined": None, "place": None, "script": self.running}
        try:
            with taken_back(recording=True, guard=None, **apart):
                self.function(code, self.scope)()
                guard = current().guard
                if guard is not None:
                    raise NotTraceable(f"{guard.name} decides what it does")
        except (NameError, TypeError) as error:
            raise NotTraceable(str(error)) from None
        finally:
            session.emit = emit

    # Names

    def _found(self, depth: int, name: str) -> Any:
        """What a name stands for that was not bound in the iteration: the proxy of what it was when that began."""
        around, names = self.around[depth], self.scopes[depth]
        if name in around:
            value = around[name]
            names[name] = proxy = self.proxy_of(name, value)
            self.entry[depth, name] = value if isinstance(value, Closure) else proxy
            return proxy
        self.absent.add((depth, name))
        if names is self.names:
            raise KeyError(name)
        return self.scopes[depth + 1][name]

    def fill(self, cell: CellType, name: str, value: Any) -> None:
        """Keep the value of a name for a function: that of the iteration where the loop is in the function around."""
        if self.around[0].get(name) is value:
            self.followed[id(cell)] = name
        else:
            super().fill(cell, name, value)

    def enter(self, function: Closure, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a function of the user."""
        for cell in function.run.__closure__ or ():
            if id(cell) in self.followed:
                cell.cell_contents = self.scope[self.followed[id(cell)]]
        return super().enter(function, args, keywords)

    def kept(self, value: Any) -> Any:
        """What stands for a value that a function keeps."""
        if isinstance(value, Closure):
            return self.own(value)
        refuse(value is not None and not isinstance(value, float | str), "a function keeps a value from before")
        return value

    def proxy_of(self, name: str, value: Any) -> Any:
        """The proxy of a value from outside; functions and texts need none."""
        if type(value) is bool:
            value = float(value)
        if type(value) is float:
            return self.hold(NUMBER, name, value, value).proxy
        if type(value) is List:
            return List([x if type(x) is float else self.proxy_of(name, x) for x in value], value.joins)
        if isinstance(value, Closure):
            return self.own(value)
        if not isinstance(value, Tensor):
            if value is not None and not isinstance(value, str) and entry_of(value) is None:
                raise NotTraceable(f"{name} is neither a number nor an array")
            return value
        known = next((one.proxy for one in self.placeholders if one.value is value), None)
        if known is not None:
            return known
        node = value.node
        is_computed = node.recorded and (node.op is not None or not node.requires_grad)
        refuse(is_computed, f"{name} was computed before, and has a graph")
        refuse(node.unit is not None, f"{name} has a unit, which is inferred over what is recorded")
        owner = self.hold(LEAF if node.requires_grad else PLAIN, name, value, value.value)
        if value.grad is not None:
            owner.gradient = self.hold(GRADIENT, name, value, value.grad.value)
            owner.leaf.grad = Gradient(owner.gradient.proxy, (), 0)
        return owner.proxy

    def hold(self, kind: str, name: str, value: Any, data: Any) -> Placeholder:
        """A placeholder for a value from outside, or for data that belongs to one."""
        node = leaf(data, kind == LEAF)
        node.requires_grad = kind == LEAF  # also in no_grad
        node.recorded, node.name, node.guard = True, name, None
        one = Placeholder(kind, name, value, handle(node), node)
        self.placeholders.append(one)
        self.by_proxy[one.proxy] = one
        return one

    def operated(self, sign: str, left: Any, right: Any, span: Span) -> Any:
        """An operator or a comparison."""
        function, kinds = function_of(sign), {type(left), type(right)}
        refuse(str in kinds, "it computes with texts")
        value = combined(function, left, right) if kinds & SEQUENCES else function(left, right)
        refuse(not isinstance(value, float | bool | Tensor), "it computes with what is neither a number nor an array")
        return value

    # Conditions: they must come out the same in each iteration, or depend on the counter

    def on_truth(self, value: Any) -> bool:  # type: ignore[override]
        """The truth of a value."""
        if not isinstance(value, Tensor):
            return bool(value)
        refuse(value.shape, "an array decides what it does")
        self.conditions.append((value, bool(value.item())))
        return self.conditions[-1][1]

    def on_iterate(self, site: tuple[Any, Span], value: Any) -> Iterator[Any]:
        """The iterator of a loop."""
        is_known = isinstance(value, range | Tensor | List)
        refuse(not is_known, "it loops over what is neither a range, nor an array, nor a list")
        return iterate(value)

    def on_poll(self) -> None:
        """A loop or a function goes on."""
        self.jumps += 1
        refuse(self.jumps > _MOST_JUMPS, "it is long")

    @contextmanager
    def on_unrecorded(self) -> Iterator[None]:  # type: ignore[override]
        """`no_grad:`."""
        before, self.recording = self.recording, False
        yield
        self.recording = before

    # Calls

    def called(self, function: Any, args: tuple[Any, ...], keywords: dict[str, Any], span: Span) -> Any:
        """The value of a call."""
        if type(function) is Closure:
            return self.enter(function, args, keywords)
        entry = self._pure(entry_of(function), getattr(function, "__name__", "something"))
        return self._watched(entry, super().called(function, args, keywords, span))

    def on_method(self, site: tuple[tuple[str, int, Any], Span], value: Any, *given: Any) -> Any:
        """`x.name(y)`."""
        (name, count, names), _ = site
        if name in self.rules and isinstance(value, Tensor) and not count:
            return self.rules[name](value, arguments(given, 0, names)[1])
        known = attributes.METHODS.get(name)
        if known is None:
            entry = self._pure(FUNCTIONS.get(RENAMED.get(name, name)), f".{name}()")
            return self._watched(entry, super().on_method(site, value, *given))
        refuse(not known.pure, f"it calls .{name}()")
        return super().on_method(site, value, *given)

    def _pure(self, entry: Entry | None, name: str) -> Entry:
        """The entry of a function that may be staged."""
        if entry is None or not entry.pure:
            raise NotTraceable(f"it calls {name}")
        return entry

    def _watched(self, entry: Entry, result: Any) -> Any:
        """A result; keep what may raise or have a note at other values, also where nothing uses it."""
        if not entry.total:
            self.watched += [x for x in (result if isinstance(result, tuple) else (result,)) if isinstance(x, Tensor)]
        return result

    # The effects that a loop body may have and still be staged: writes in place, backwards, optimiser steps.
    #
    # Each has a rule here, which says what it does to a proxy. Where the instruction, method or command is defined, it
    # is declared that there is a rule.

    # Writes in place

    def cut(self, value: Any) -> Any:
        """The value without its graph."""
        if not isinstance(value, Tensor) or (value.node.op is None and not value.requires_grad):
            return value
        return self._stopped(value, False)

    @staticmethod
    def _stopped(value: Tensor, requires_grad: bool) -> Tensor:
        node = new_node(OPS["stop"], (value.node,), None, value.value, value.shape, requires_grad)
        node.requires_grad = requires_grad  # also in no_grad
        return handle(node, value.value)

    def _detach(self, value: Tensor, options: dict[str, Any]) -> Any:
        """The value without its graph: an alias, which sees later writes as long as it lives."""
        refuse(options, "it calls .detach() with an argument")
        alias = self.cut(value)
        if alias is not value and value in self.by_proxy:
            self.by_proxy[value].aliases.append(weakref.ref(alias))
        return alias

    def renew(self, target: Tensor, value: Any, way: str = "update") -> None:
        """Give a value from outside new data, as a write in place does."""
        one = self.by_proxy.get(target)
        if one is None or one.kind not in (LEAF, PLAIN):
            raise NotTraceable("it writes into a value that it computed")
        is_shared = any(alias() is not None for alias in one.aliases) or len(sharers(one.value.node)) > 1
        refuse(is_shared, f"{one.name} shares its data with another value")
        refuse(shape_of(as_value(value)) != target.shape, f"{one.name} is written with a value of another shape")
        source = value if isinstance(value, Tensor) else tensor(value)
        before, node = target.node, self._stopped(source, one.kind == LEAF).node
        node.keeps_grad, node.grad, node.name, node.value = before.keeps_grad, before.grad, before.name, source.value
        target.node, target.array = node, None
        node.handle = weakref.ref(target)
        one.writes, one.way = one.writes + 1, way

    def on_set_index(self, site: tuple[None, Span], value: Any, target: Any, index: Any) -> None:
        """`x[i] = y`."""
        if not isinstance(target, Tensor) or not target.shape or target not in self.by_proxy:
            raise NotTraceable("it writes an entry of what is no array from outside")
        value = as_array(value)
        is_graph = self.by_proxy[target].kind == LEAF or (isinstance(value, Tensor) and value.requires_grad)
        name = self.by_proxy[target].name
        refuse(self.recording and is_graph, f"an entry of {name} is written outside no_grad")
        refuse(target.size > _MOST_COPIED, f"it writes an entry of {name}, which has many")
        parts = self.places_in(index)
        if parts is None:
            self.renew(target, OPS["index_put"].call(target, value, index=index))
        else:
            self.renew(target, OPS["put_at"].call((target, value, *parts[1]), index=parts[0]))

    def on_augment_entry(self, site: Any, target: Any, index: Any, before: Any, value: Any) -> None:
        """`x[i] += y`."""
        if not isinstance(before, Tensor) or not isinstance(target, Tensor):
            raise NotTraceable("it writes an entry of what is no array from outside")
        self.on_set_index((None, site[1]), function_of(site[0][0])(before, as_array(value)), target, index)

    def on_index(self, site: tuple[None, Span], value: Any, index: Any) -> Any:
        """`x[i]`."""
        parts = self.places_in(index)
        if parts is None:
            return super().on_index(site, value, index)
        refuse(not isinstance(value, Tensor) or not value.shape, "it takes an entry of what is no array by the counter")
        refuse(value.requires_grad and self.recording, "it takes an entry of what requires grad by the counter")
        entry: Tensor = OPS["entries_at"].call((value, *parts[1]), index=parts[0])
        if is_basic(index):
            mark(entry, value)
        self.required.append(entry)
        return entry

    def places_in(self, index: Any) -> tuple[tuple[Any, ...], list[Tensor]] | None:
        """An index with the places that differ between iterations taken out, and these; None where there are none."""
        found: list[Tensor] = []

        def part_of(part: Any) -> Any:
            if isinstance(part, slice):
                return slice(part_of(part.start), part_of(part.stop), part_of(part.step))
            if not isinstance(part, Tensor) or part.shape:
                return part
            refuse(not self.is_number(part), "an array decides what an index takes")
            found.append(part)
            return Place(len(found) - 1)

        parts = tuple([part_of(part) for part in (index if isinstance(index, tuple) else (index,))])
        if not found:
            return None
        ends = [x for part in parts for x in ((part.start, part.stop, part.step) if type(part) is slice else (part,))]
        are_plain = all(end is None or end is Ellipsis or type(end) in (Place, float, int) for end in ends)
        refuse(not are_plain, "an index has an array and a place that differs between iterations")
        return parts, found

    def on_augment(self, site: tuple[str, Span], target: Any, value: Any) -> Any:
        """`x += y`."""
        value = as_array(value)
        one = self.by_proxy.get(target) if isinstance(target, Tensor) else None
        changed = function_of(site[0])(target, value)
        if one is None and isinstance(target, Tensor) and not self.is_number(target):
            raise NotTraceable("it writes into a value that it computed")
        if one is None or one.kind == NUMBER:
            return changed
        if self.recording and (one.kind == LEAF or (isinstance(value, Tensor) and value.requires_grad)):
            raise NotTraceable(f"{one.name} is written outside no_grad")
        self.renew(target, changed)
        return target

    def is_number(self, value: Tensor) -> bool:
        """Whether a value was computed from plain numbers only, so that it is one when uncompiled."""
        numbers = {one.leaf for one in self.placeholders if one.kind == NUMBER}
        behind = [x for node in collect([value.node]) for x in (node, *node.inputs) if isinstance(x, Node)]
        return not value.shape and all(node in numbers or (node.op is not None and node.recorded) for node in behind)

    # Attributes

    def on_attribute(self, site: tuple[str, Span], value: Any) -> Any:
        """`x.name`."""
        name = site[0]
        if isinstance(value, Tensor) and name in ("data", "grad"):
            return self._detach(value, {}) if name == "data" else self._gradient(value)
        known = attributes.ATTRIBUTES.get(name)
        if known is None or not known.pure or not isinstance(value, Tensor):
            raise NotTraceable(f"it reads .{name}")
        return known.read(value)

    def _gradient(self, value: Tensor) -> Tensor:
        if value.grad is None:
            raise NotTraceable("it reads a gradient that does not exist")
        return value.grad

    def on_set_attribute(self, site: tuple[str, Span], value: Any, target: Any) -> None:
        """`x.name = y`."""
        name = site[0]
        refuse(name != "grad" or value is not None or target not in self.by_proxy, f"it assigns to .{name}")
        self._clear(target)

    # Gradients

    def _backward(self, value: Any, options: dict[str, Any]) -> None:
        """A backward, which records the graph of the gradient."""
        if options.keys() - {"retain", "retain_graph"} or not isinstance(value, Tensor):
            raise NotTraceable("it has a backward with an option")
        leaves = [(one, one.proxy.node.grad) for one in self.placeholders if one.kind == LEAF]
        # The nodes that a backward of the uncompiled iteration visits: none beyond a `stop`.
        seen = {*behind([value.node], lambda x: x.requires_grad, lambda x: () if x.op is OPS["stop"] else x.inputs)}
        backward(value, retain_graph=True, create_graph=True)
        for one, before in leaves:
            node = one.proxy.node
            if node not in seen:
                node.grad = before  # only beyond a `stop`: it has got a 0
            elif node.grad is not None and node.grad.value is not None:
                self.watched.append(node.grad.value)
                one.calls += 1
                node.grad = Gradient(self.cut(node.grad.value), (), 0)

    def _zero(self, gradient: Tensor, options: dict[str, Any]) -> None:
        """`w.grad.zero_()`."""
        own = [self.scopes_of(frame)[0] for frame in frames(_getframe(1))]
        in_use = [*(x for scope in (*own, *self.scopes) for x in scope.values()), *self.held()]
        for one in self.placeholders:
            grad = one.proxy.node.grad
            if one.kind == LEAF and grad is not None and grad.value is gradient and not options:
                if any(is_held(held, in_use) for held in (gradient, one.value.grad)):
                    raise NotTraceable(f"the gradient of {one.name} has a name, and is written")
                one.zeroed = True
                zeros = tensor(np.zeros(gradient.shape) if gradient.shape else 0.0)
                one.proxy.node.grad = Gradient(zeros, (), 0)
                return
        raise NotTraceable("it writes into a value that it computed")

    def _zero_grad(self, values: list[Any]) -> None:
        if not values:
            for name, value in self.session.names.items():
                if isinstance(value, Tensor) and value.node.op is None and value.grad is not None:
                    values.append(self.proxy_of(name, value))
            known = {id(value) for value in parts_of(self.session.names.values())}
            values += [one.proxy for one in self.placeholders if one.kind == LEAF and id(one.value) in known]
        for target in values:
            refuse(target not in self.by_proxy, "it clears the gradient of a value that it computed")
            self._clear(target)

    def _clear(self, target: Tensor) -> None:
        """Set the gradient of one leaf to none."""
        self.by_proxy[target].cleared = True
        target.clear_grad()

    # Commands

    def on_show(self, site: tuple[Any, Span], value: Any) -> None:
        """The value of a statement."""
        refuse(value is not None, "it shows a value")

    def on_command(self, site: tuple[tuple[Any, Span | None], Span], *given: Any) -> None:
        """A command."""
        (node, _), _ = site
        operands, options = ast.given_to(node, given)
        if node.word == "backward":
            self._backward(operands[0], options)
        elif node.word == "zero_grad":
            self._zero_grad(operands)
        elif node.word == "set":
            self._set(node, operands[0])
        elif node.word == "step":
            self._step(operands, **options)
        else:
            raise NotTraceable(f"it has the command {node.word}")

    def _set(self, node: Any, value: Any) -> None:
        name = node.operands[0].id
        refuse(len(self.scopes) > 1, "it sets a leaf in a function")
        target = self.scope[name]
        value = as_array(value)
        self.renew(target, self.cut(value) if isinstance(value, Tensor) else value, "set")

    def _step(self, targets: list[Any], method: str, **rates: Any) -> None:
        if method not in STEPS or any(type(rate) is not float for rate in rates.values()):
            raise NotTraceable("it has a step with a rate that may change")
        for target in targets:
            refuse(target not in self.by_proxy, "it has a step of a value that it computed")
            one, gradient = self.by_proxy[target], self._gradient(target)
            kept = tuple(moment.proxy for moment in self._moments(one))
            change, left = STEPS[method](target, gradient, kept, **rates)
            refuse(len(left) != len(kept), "step keeps something else in the next iteration")
            for moment, value in zip(one.moments, left, strict=True):
                moment.proxy = value
            self.renew(target, OPS["sub"].call(target, change), "step")

    def _moments(self, owner: Placeholder) -> list[Placeholder]:
        """What an optimiser keeps of a leaf."""
        if not owner.moments:
            for place, value in enumerate(kept_of(owner.value.node)):
                owner.moments.append(self.hold(MOMENT, owner.name, owner.value, value))
                owner.moments[-1].place = place
        return owner.moments


class _Recorder(Running):
    """Looks at each node that is made while an iteration is staged: in `no_grad` it requires no gradient."""

    def __init__(self, stager: Stager) -> None:
        super().__init__(SimpleNamespace(due=-1), stager.session.watch.look)
        self.stager = stager

    def locate(self, node: Any, frame: FrameType | None) -> None:
        """Keep nothing of where it is made."""
        node.code = node.place = None
        node.requires_grad = node.requires_grad and self.stager.recording


def _refuse_to_tell(result: Result | Note) -> NoReturn:
    raise NotTraceable("it has something to show")


_BLOCK = 32  # iterations between two checks of their gradients
_ENTRIES = 1_000_000  # array entries that are kept until then


class CompiledIteration:
    """One loop iteration as a program: the counter and the carried state in, the carried state of the next one out."""

    def __init__(self, stager: Stager) -> None:
        self.placeholders = stager.placeholders
        self.entry = stager.entry
        self.absent = stager.absent
        self.carried: list[tuple[int, Placeholder]] = []  # what an iteration changes, with its index among the inputs
        self.rebound: dict[Placeholder, str] = {}
        for (depth, name), value in self.entry.items():
            known = stager.own(value) if isinstance(value, Closure) else value
            refuse(not isinstance(value, Tensor) and stager.scopes[depth][name] is not known, _changed(name))
        for depth, name in self.absent:
            # It was that of a name further out, and has been bound further in.
            refuse(name in stager.scopes[depth], _changed(name))
        functions = [value for value in self.entry.values() if isinstance(value, Closure)]
        self.keeps_names = any(len(function.scopes) > 1 for function in functions)  # those of a call of a function
        outputs = [self._output(place, one, stager) for place, one in enumerate(self.placeholders) if place]
        kept = [output for output in outputs if output is not None]
        inputs = [bare(one.leaf) for one in self.placeholders]
        alive = {*collect([one.node for one in kept])}
        # What no later iteration reads is computed, too, where it may be nan: the note is on the first that is.
        last = [one for one in stager.scope.values() if isinstance(one, Tensor) and one.node not in alive]
        stager.watched += [one for one in last if any(map(_may_be_undefined, collect([one.node])))]
        self.count = len(kept) + len(stager.watched)
        self.places = [place for place, _ in self.carried]
        program, self.step = runner(extract([*kept, *stager.watched, *stager.required], inputs))
        self.ran = 0  # iterations so far
        conditions = self._conditions(stager)
        self.answers = [answer for _, answer in conditions]
        self.staged_conditions = tuple([value.item() for value, _ in conditions])
        self.undefined: list[Any] | None = None  # operations of the run that are not defined, if it looks at them
        asked: Program | None = None
        self.conditions: Callable[..., tuple[Value, ...]] | None = None
        if conditions:
            asked, self.conditions = runner(extract([value for value, _ in conditions], inputs))
        # What is computed only because it may raise is left to Python.
        self.native = Native(program, self.places, asked, self.answers) if not stager.required else None

    def _conditions(self, stager: Stager) -> list[tuple[Tensor, bool]]:
        """The conditions that depend on the counter, and how they came out. None may depend on carried state."""
        changed = {one.leaf for _, one in self.carried}
        found = []
        for value, answer in stager.conditions:
            behind = {node for node in collect([value.node]) if node.op is None}
            refuse(behind & changed, "a condition depends on a value that changes")
            if self.placeholders[0].leaf in behind:
                found.append((value, answer))
        return found

    def _output(self, place: int, one: Placeholder, stager: Stager) -> Tensor | None:
        """The value of a placeholder in the next iteration; None if it is the same."""
        names = [place for place, value in self.entry.items() if value is one.proxy]
        rebound = [name for depth, name in names if stager.scopes[depth][name] is not one.proxy]
        value: Any = one.proxy if one.writes else None
        if one.kind == GRADIENT:
            value = next(owner.proxy.grad for owner in self.placeholders if owner.gradient is one)
        elif one.kind == MOMENT:
            value = one.proxy if one.proxy.node is not one.leaf else None
        elif rebound:
            refuse(len(names) > 1 or one.kind == LEAF or one.writes, _changed(rebound[0]))
            self.rebound[one], value = rebound[0], stager.scope[rebound[0]]
            is_number = type(value) is float or (isinstance(value, Tensor) and stager.is_number(value))
            if type(value) is float:
                value = bare(leaf(value))
            if not isinstance(value, Tensor) or value in stager.by_proxy or value.requires_grad:
                raise NotTraceable(_changed(rebound[0]))
            is_other = is_number is not (one.kind == NUMBER)
            refuse(is_other, f"{rebound[0]} was a number, and becomes a value, or the other way round")
        if (one.kind == GRADIENT and value is None) or (
            one.kind == LEAF and one.gradient is None and one.proxy.grad is not None
        ):
            raise NotTraceable(f"{one.name} gets or loses its gradient")
        if value is None or (one.kind == GRADIENT and value is one.proxy):
            return None
        refuse(value.shape != one.proxy.shape, f"{one.name} changes its shape")
        self.carried.append((place, one))
        return value  # type: ignore[no-any-return]

    def fits(self, scopes: tuple[dict[str, Any], ...], held: Callable[[], list[Any]]) -> bool:
        """Whether the names have values of the staged kinds and shapes; if so, use these values."""
        if any(depth >= len(scopes) or name in scopes[depth] for depth, name in self.absent):
            return False
        values: dict[Tensor, Any] = {}
        for (depth, name), proxy in self.entry.items():
            value = scopes[depth].get(name) if depth < len(scopes) else None
            if value is not (values.setdefault(proxy, value) if isinstance(proxy, Tensor) else proxy):
                return False
        tensors = [id(value) for value in values.values() if isinstance(value, Tensor)]
        if len(tensors) > len(set(tensors)):
            return False
        for one in self.placeholders[1:]:
            if one.kind not in (GRADIENT, MOMENT):
                if not _is_like(values.get(one.proxy), one):
                    return False
                one.value = values[one.proxy]
                if one.zeroed and is_held(one.value.grad, held()):
                    return False
                for part in (one.gradient, *one.moments):
                    if part is not None:
                        part.value = one.value
        return True

    def run(self, numbers: range, skip: Callable[[int], None], machine: Machine) -> int:
        """Run iterations as long as the one after does the same, and its operations are defined; returns how many.

        `numbers`: those of the iterations to come, of which the last is not run; `skip` goes past some that have run.
        """
        context = current()
        known = context.undefined
        # The place of an operation is known where it runs uncompiled; of a few of them it has to be.
        self.undefined = context.undefined = None if known is None or len(known) == MOST_UNDEFINED else []
        try:
            return self._run(numbers, skip, machine)
        finally:
            context.undefined = known
            for one in self.placeholders:
                one.value = None  # which would otherwise be kept in memory

    def _run(self, numbers: range, skip: Callable[[int], None], machine: Machine) -> int:
        places = self.places
        values: list[Any] = [0.0, *(_value_of(one) for one in self.placeholders[1:])]
        state: list[Value] | None = None  # carried to the iteration to come
        done, last = 0, len(numbers) - 1
        if not self._same(numbers[:1], values):
            return 0
        if self.native is not None and self.native.is_worth(self.ran + len(numbers)):
            is_noticed = self.undefined is not None
            for count in self.native.run(values, numbers, lambda some: self._same(some, values), is_noticed):
                done += count
                skip(count)
                state = [values[place] for place in places]
                machine.session.watch.look(machine.in_use)
        block = max(1, min(_BLOCK, _ENTRIES // sum(size_of(one.proxy.shape) for one in self.placeholders)))
        while done < last:
            ahead = numbers[done : min(done + block, last) + 1]
            kept = list(self._computed(ahead[: self._same(ahead[1:], values)], values, places))
            good = _finite(kept, len(places))
            skip(good)
            done += good
            state = list(kept[good - 1][: len(places)]) if good else state
            if good < len(ahead) - 1:
                break  # the next iteration has a note on a gradient, or takes another path
            machine.session.watch.look(machine.in_use)
        if state is not None:
            self._put(state, done, machine)
        self.ran += done
        return done

    def _computed(self, numbers: range, values: list[Any], places: list[int]) -> Iterator[tuple[Value, ...]]:
        """The outputs of some iterations in a row."""
        step = self.step
        for number in numbers:
            values[0] = float(number)
            try:
                outputs = step(*values)
            except AgradError:
                return  # the uncompiled iteration raises it
            if self.undefined:
                return  # the uncompiled iteration knows the place
            for place, value in zip(places, outputs, strict=False):
                values[place] = value
            yield outputs[: self.count]

    def _same(self, numbers: range, values: list[Any]) -> int:
        """How many iterations, from the first on, have conditions that come out as in the staged one."""
        conditions = self.conditions
        if conditions is None:
            return len(numbers)
        for count, number in enumerate(numbers):
            try:
                found = conditions(float(number), *values[1:])
            except AgradError:
                return count  # the uncompiled iteration raises it
            is_same = found == self.staged_conditions or [bool(answer) for answer in found] == self.answers
            if self.undefined or not is_same:
                return count
        return len(numbers)

    def _put(self, values: list[Value], done: int, machine: Machine) -> None:
        """Give names, leaves and gradients the state after so many iterations."""
        for (_, one), value in zip(self.carried, values, strict=True):
            if one.kind == GRADIENT:
                self._put_gradient(one, value, done)
            elif one.kind == MOMENT:
                node = one.value.node
                kept = kept_of(node)
                remember(node, (*kept[: one.place], value, *kept[one.place + 1 :]))
            elif one.writes:
                _write(one, value, done)
            else:
                machine.bind(machine.running_scopes()[0], self.rebound[one], _like(one, value))

    def _put_gradient(self, one: Placeholder, value: Value, done: int) -> None:
        owner = next(other for other in self.placeholders if other.gradient is one)
        node = one.value.node
        touch(node)
        before = node.grad
        calls = before.calls if owner.cleared else before.calls + owner.calls * done
        data = leaf(value)
        data.guard = None
        known = before.value.node.storage if before.value is not None else None
        leaves = [ref(other.value.node) for other in self.placeholders if other.kind == LEAF]
        data.storage = Storage(roots=together(known.roots if known is not None else (), tuple(leaves)))
        node.grad = Gradient(bare(data), before.parts, calls, before.cleared)


def _may_be_undefined(node: Node) -> bool:
    """Whether a result may be nan where the operands are finite: whether that of some numbers is."""
    if node.op is None or node.op.scalar is None or node.attrs:
        return False
    try:
        return any(map(math.isnan, starmap(node.op.scalar, product((-1.5, 0.0, 0.5), repeat=len(node.inputs)))))
    except IEEE:
        return True


def _changed(name: str) -> str:
    return f"{name} has another value in the next iteration"


def runner(program: Program) -> tuple[Program, Callable[..., tuple[Value, ...]]]:
    """A program, optimised, and a function that computes it."""
    refuse(program.checks, "a value decides what it does")
    program = optimised(program)
    return program, Compiled(program).inside


def _is_like(value: Any, one: Placeholder) -> bool:
    """Whether a value is of the kind and shape of the one that was staged."""
    if one.kind == NUMBER:
        return type(value) is float
    if not isinstance(value, Tensor) or value.shape != one.proxy.shape:
        return False
    if value.requires_grad is not (one.kind == LEAF) or value.node.op is not None or len(sharers(value.node)) > 1:
        return False
    if one.moments and len(kept_of(value.node)) != len(one.moments):
        return False
    return (value.grad is not None) is (one.gradient is not None)


def _value_of(one: Placeholder) -> Value:
    """The data at the beginning of the next iteration."""
    if one.kind == MOMENT:
        return kept_of(one.value.node)[one.place]  # type: ignore[no-any-return]
    return as_value(one.value.grad if one.kind == GRADIENT else one.value)  # type: ignore[no-any-return]


def _finite(kept: list[tuple[Value, ...]], state: int) -> int:
    """How many iterations, from the first on, have watched values without an inf or nan."""
    watched: list[Any] = []
    for outputs in kept:
        watched += outputs[state:]
    numbers = [value for value in watched if type(value) is float]
    total = sum(numbers)
    if len(numbers) < len(watched):
        total += float(np.add.reduce(np.concatenate(watched, axis=None)))
    if total - total == 0.0:  # true where all are finite, unless the sum overflows
        return len(kept)
    finite = (all(np.isfinite(value).all() for value in outputs[state:]) for outputs in kept)
    return next((count for count, good in enumerate(finite) if not good), len(kept))


def _write(one: Placeholder, value: Value, done: int) -> None:
    """New data for a leaf or a plain value; its version counts every write of the iterations."""
    target = one.value
    target.write(lambda array: np.copyto(array, value), value if not target.shape else None, one.way)
    old = target.node.storage
    target.node.storage = old._replace(version=old.version + one.writes * done - 1)


def _like(one: Placeholder, value: Value) -> Any:
    """The value for a name that is rebound: a number, or a plain value with the origin of the last one."""
    if one.kind == NUMBER:
        return value
    before = one.value.node
    node = leaf(value)
    node.origin, node.guard = before.origin, before.guard
    if before.storage is not None and before.storage.roots:
        node.storage = Storage(roots=before.storage.roots, cut=before.storage.cut)
    one.value = bare(node)
    return one.value


# A compiled loop iteration in machine code, many in a row: where numbers are enough, and there are enough iterations.
#
# The bits are those of uncompiled iterations, as are the orders of sums; the last digits may differ of products of
# matrices, of powers, and of numpy's elementary functions of arrays where these are not rounded as in the C library.
# Machine code only advances the state. An iteration that it does not run, because it takes another path, or has a
# gradient that is not finite, or an operation that is not defined, is left to Python, which knows what to do.

_FEWEST = 64  # iterations, of fewer of which Python is asked which of them has an operation that is not defined
_FEWER = 16  # how many times fewer are tried when one of them has such an operation


class Native:
    """An iteration in machine code, made when it pays: `run` advances the values of its inputs."""

    def __init__(
        self, program: Program, places: Sequence[int], conditions: Program | None, answers: Sequence[bool]
    ) -> None:
        """The inputs at the places are the first outputs, for the next iteration."""
        self._program, self._conditions, self._answers = program, conditions, answers
        # Whether no operation raises anything that depends on values.
        is_quiet = all(step.op.total or step.op.reach != "pointwise" for step in program.steps)
        self._due = iterations_to_repay(program) if is_quiet else math.inf
        self._code: llvm.repeated.Repeated | None = None
        self._is_asked = conditions is None  # whether it asks the conditions itself
        shapes, others = [one.shape for one in program.inputs], range(1, len(program.inputs))
        self._entries = spans(map(size_of, shapes))  # of each input, among those of all
        self._changed = [(place, shapes[place]) for place in places]
        self._same = [place for place in others if place not in places]

    def is_worth(self, count: int) -> bool:
        """Whether there is code, which is made where it pays for so many iterations."""
        if count >= self._due:
            self._due = math.inf
            self._make()
        return self._code is not None

    def _make(self) -> None:
        numbers, asked = scalarised(self._program), self._conditions
        if numbers is None or llvm.backend.supports(numbers := unchecked(numbers)) is not None:
            return
        if not llvm.repeated.notices_invalid():
            return
        asked = scalarised(asked) if asked is not None else None
        if asked is not None and (asked.checks or not all(_is_exact(step.op) for step in asked.steps)):
            asked = None
        self._is_asked = self._is_asked or asked is not None
        changed = [entry for place, _ in self._changed for entry in self._entries[place]]
        self._code = llvm.repeated.iterated(numbers, changed, asked, self._answers)

    def run(self, values: list[Any], numbers: range, same: Callable[[range], int], is_noticed: bool) -> Iterator[int]:
        """Advance the values; yields how many iterations have run, every few milliseconds.

        `numbers` are those of the iterations to come, and one more; `same` says for how many of some of them the
        conditions come out as they should; with `is_noticed`, no operation may be undefined.
        """
        assert self._code is not None
        state = _joined([float(numbers[0]), *[values[place] for place, _ in self._changed]])
        fixed = _joined([*[values[place] for place in self._same], float(numbers.step)])
        position, block, last = 0, iterations_at_once(len(self._code.program.steps)), len(numbers) - 1
        while position < last:
            count = min(block, last - position)
            if not self._is_asked:
                count = same(numbers[position + 1 : position + 1 + count])
            before = state.copy()
            done, undefined = self._code.tested(state, fixed, count)
            if undefined and is_noticed:
                block, state = count // _FEWER, before
                if block < _FEWEST:
                    break
                continue
            if done:
                end = 1
                for place, shape in self._changed:
                    begin, end = end, end + size_of(shape)
                    values[place] = state[begin:end].reshape(shape).copy() if shape else float(state[begin])
                yield done
            position += done
            if done < count or not count:
                break


def _joined(values: Sequence[Any]) -> Array:
    """All entries of some numbers and arrays."""
    return np.concatenate([np.ravel(value) for value in values])


def _is_exact(op: Op) -> bool:
    """Whether machine code gives every bit of an operation on numbers."""
    return op.scalar is None or (op.operator is not None and op.operator.sign != "**")
