"""Staging of a loop body: one iteration is run on proxies, which record what is done to them.

Every value that the body finds under a name when the iteration begins gets a proxy: also plain numbers, also under
`no_grad`, also gradients; `backward` records the graph of the gradient. Only what declares that it may be staged is:
an instruction in `bytecode.Do`, an attribute or method in `attributes`, a command in its registry, a function in its
entry of the engine's table. Everything else raises `NotTraceable`, and the loop runs uncompiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from agrad.engine.core.context import current, next_stamp, taken_back
from agrad.engine.core.graph import Gradient, leaf
from agrad.engine.core.op import FUNCTIONS, Entry
from agrad.engine.core.tensor import Tensor, handle
from agrad.engine.errors import Note
from agrad.grammar.diagnostics import Span
from agrad.grammar.loops.effects import Effects
from agrad.grammar.loops.placeholders import GRADIENT, LEAF, NUMBER, PLAIN, NotTraceable, Placeholder
from agrad.grammar.pytorch.names import DIFFERING, RENAMED
from agrad.grammar.results import Result
from agrad.grammar.runtime import attributes
from agrad.grammar.runtime.builtins import CONSTANTS, Closure, entry_of, is_object
from agrad.grammar.runtime.bytecode import Code, Do, Frame, Staging
from agrad.grammar.runtime.operations import SEQUENCES, combined, iterate
from agrad.grammar.runtime.vm import Machine
from agrad.grammar.runtime.vm.host import Host
from agrad.grammar.values.lists import List

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
