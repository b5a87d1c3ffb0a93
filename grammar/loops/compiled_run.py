"""One compiled loop iteration: carried state in, carried state out; and many of them run in a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from weakref import ref

from agrad.engine.autodiff.optim import kept_of, remember
from agrad.engine.compile import llvm
from agrad.engine.compile.cost import iterations_at_once, iterations_to_repay
from agrad.engine.compile.python_backend import Compiled
from agrad.engine.compile.scalarise import scalarised
from agrad.engine.core.context import MOST_UNDEFINED, current
from agrad.engine.core.graph import Gradient, Storage, collect, leaf, sharers, together, touch
from agrad.engine.core.op import Op
from agrad.engine.core.tensor import Tensor, bare
from agrad.engine.errors import AgradError
from agrad.engine.program.ir import Program, unchecked
from agrad.engine.program.passes import optimised
from agrad.engine.program.trace import extract
from agrad.engine.values import Shape, Value, np, size_of
from agrad.grammar.loops.staging import (
    GRADIENT,
    LEAF,
    MOMENT,
    NUMBER,
    NotTraceable,
    Placeholder,
    Stager,
    as_value,
    is_held,
)
from agrad.grammar.runtime.builtins import Closure

if TYPE_CHECKING:
    from agrad.grammar.runtime.machine import Machine

_BLOCK = 32  # iterations between two checks of their gradients
_ENTRIES = 1_000_000  # array entries that are kept until then


class Counter(Protocol):
    """The counter of a loop."""

    numbers: range
    position: int

    def skip(self, count: int) -> None:
        """Go past iterations that ran compiled."""


class CompiledIteration:
    """One loop iteration as a program: the counter and the carried state in, the carried state of the next one out."""

    def __init__(self, stager: Stager) -> None:
        self.placeholders = stager.placeholders
        self.entry = stager.entry
        self.absent = stager.absent
        self.carried: list[tuple[int, Placeholder]] = []  # what an iteration changes, with its index among the inputs
        self.rebound: dict[Placeholder, str] = {}
        for (depth, name), value in self.entry.items():
            if not isinstance(value, Tensor) and stager.scopes[depth][name] is not value:
                raise _changes(name)
        for depth, name in self.absent:
            if name in stager.scopes[depth]:
                raise _changes(name)  # it was that of a name further out, and has been bound further in
        functions = [value for value in self.entry.values() if isinstance(value, Closure)]
        self.keeps_names = any(len(function.scopes) > 1 for function in functions)  # those of a call of a function
        outputs = [self._output(place, one, stager) for place, one in enumerate(self.placeholders) if place]
        kept = [output for output in outputs if output is not None]
        inputs = [bare(one.leaf) for one in self.placeholders]
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
            if behind & changed:
                raise NotTraceable("a condition depends on a value that changes")
            if self.placeholders[0].leaf in behind:
                found.append((value, answer))
        return found

    def _output(self, place: int, one: Placeholder, stager: Stager) -> Tensor | None:
        """The value of a placeholder in the next iteration; None if it is the same."""
        names = [name for (_, name), value in self.entry.items() if value is one.proxy]
        rebound = [
            name
            for (depth, name), value in self.entry.items()
            if value is one.proxy and stager.scopes[depth][name] is not value
        ]
        value: Any = one.proxy if one.writes else None
        if one.kind == GRADIENT:
            value = next(owner.proxy.grad for owner in self.placeholders if owner.gradient is one)
        elif one.kind == MOMENT:
            value = one.proxy if one.proxy.node is not one.leaf else None
        elif rebound:
            if len(names) > 1 or one.kind == LEAF or one.writes:
                raise _changes(rebound[0])
            self.rebound[one], value = rebound[0], stager.scope[rebound[0]]
            is_number = type(value) is float or (isinstance(value, Tensor) and stager.is_number(value))
            if type(value) is float:
                value = bare(leaf(value))
            if not isinstance(value, Tensor) or value in stager.by_proxy or value.requires_grad:
                raise _changes(rebound[0])
            if is_number is not (one.kind == NUMBER):
                raise NotTraceable(f"{rebound[0]} was a number, and becomes a value, or the other way round")
        if (one.kind == GRADIENT and value is None) or (
            one.kind == LEAF and one.gradient is None and one.proxy.grad is not None
        ):
            raise NotTraceable(f"{one.name} gets or loses its gradient")
        if value is None or (one.kind == GRADIENT and value is one.proxy):
            return None
        if value.shape != one.proxy.shape:
            raise NotTraceable(f"{one.name} changes its shape")
        self.carried.append((place, one))
        return value  # type: ignore[no-any-return]

    def fits(self, scopes: tuple[dict[str, Any], ...], held: Callable[[], list[Any]]) -> bool:
        """Whether the names have values of the staged kinds and shapes; if so, use these values."""
        if any(depth >= len(scopes) or name in scopes[depth] for depth, name in self.absent):
            return False
        values: dict[Tensor, Any] = {}
        for (depth, name), proxy in self.entry.items():
            value = scopes[depth].get(name) if depth < len(scopes) else None
            if (value if not isinstance(proxy, Tensor) else values.setdefault(proxy, value)) is not (
                proxy if not isinstance(proxy, Tensor) else value
            ):
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

    def run(self, counter: Counter, machine: Machine) -> int:
        """Run iterations as long as the one after does the same, and its operations are defined; returns how many."""
        context = current()
        known = context.undefined
        # The place of an operation is known where it runs uncompiled; of a few of them it has to be.
        self.undefined = context.undefined = None if known is None or len(known) == MOST_UNDEFINED else []
        try:
            return self._run(counter, machine)
        finally:
            context.undefined = known
            for one in self.placeholders:
                one.value = None  # which would otherwise be kept in memory

    def _run(self, counter: Counter, machine: Machine) -> int:
        numbers, places = counter.numbers, self.places
        values: list[Any] = [0.0, *(_value_of(one) for one in self.placeholders[1:])]
        state: list[Value] | None = None  # carried to the iteration to come
        done, last = 0, len(numbers) - 1
        if not self._same(numbers[counter.position : counter.position + 1], values):
            return 0
        for count in self._natively(counter, values):
            done += count
            counter.skip(count)
            state = [values[place] for place in places]
            machine.session.watch.look(machine.frames)
        block = max(1, min(_BLOCK, _ENTRIES // sum(size_of(one.proxy.shape) for one in self.placeholders)))
        while counter.position < last:
            ahead = numbers[counter.position : min(counter.position + block, last) + 1]
            kept = list(self._computed(ahead[: self._same(ahead[1:], values)], values, places))
            good = _finite(kept, len(places))
            counter.skip(good)
            done += good
            state = list(kept[good - 1][: len(places)]) if good else state
            if good < len(ahead) - 1:
                break  # the next iteration has a note on a gradient, or takes another path
            machine.session.watch.look(machine.frames)
        if state is not None:
            self._put(state, done, machine)
        self.ran += done
        return done

    def _natively(self, counter: Counter, values: list[Any]) -> Iterator[int]:
        """Advance the values in machine code, if that pays; yields how many iterations have run."""
        numbers = counter.numbers[counter.position :]
        code = self.native.of(self.ran + len(numbers)) if self.native is not None else None
        if code is not None:
            is_noticed = self.undefined is not None
            yield from code.run(values, numbers, self.places, lambda some: self._same(some, values), is_noticed)

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
                machine.bind(machine.frames[-1].scopes[0], self.rebound[one], _like(one, value))

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
        data.storage = Storage([], roots=together(known.roots if known is not None else (), tuple(leaves)))
        node.grad = Gradient(bare(data), before.parts, calls, before.cleared)


def _changes(name: str) -> NotTraceable:
    return NotTraceable(f"{name} has another value in the next iteration")


def runner(program: Program) -> tuple[Program, Callable[..., tuple[Value, ...]]]:
    """A program, optimised, and a function that computes it."""
    if program.checks:
        raise NotTraceable("a value decides what it does")
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
    target.write(lambda array: np.copyto(array, value), value if not target.shape else None, "update")
    old = target.node.storage
    more = one.writes * done - 1
    target.node.storage = Storage(old.nodes, old.count + more, old.by, old.stamp, old.successor, old.roots, old.cut)


def _like(one: Placeholder, value: Value) -> Any:
    """The value for a name that is rebound: a number, or a plain value with the origin of the last one."""
    if one.kind == NUMBER:
        return value
    before = one.value.node
    node = leaf(value)
    node.origin, node.guard = before.origin, before.guard
    if before.storage is not None and before.storage.roots:
        node.storage = Storage([], roots=before.storage.roots, cut=before.storage.cut)
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


class Part(NamedTuple):
    """Where the entries of an input are among those of all inputs."""

    begin: int
    shape: Shape

    @property
    def end(self) -> int:
        """The place after the last one."""
        return self.begin + size_of(self.shape)


class NativeIteration:
    """The iteration in machine code: `run` advances the values of its inputs."""

    def __init__(self, code: llvm.repeated.Iterated, inputs: Sequence[Shape], is_asked: bool) -> None:
        ends = np.cumsum([0, *map(size_of, inputs)]).tolist()
        self.code = code
        self.parts = [Part(begin, shape) for begin, shape in zip(ends, inputs, strict=False)]
        self.is_asked = is_asked  # whether it asks the conditions itself
        self.block = iterations_at_once(len(code.program.steps))

    def run(
        self,
        values: list[Any],
        numbers: range,
        places: Sequence[int],
        same: Callable[[range], int],
        is_noticed: bool,
    ) -> Iterator[int]:
        """Advance the values at these places; yields how many iterations have run, every few milliseconds.

        `numbers` are those of the iterations to come, and one more; `same` says for how many of some of them the
        conditions come out as they should; with `is_noticed`, no operation may be undefined.
        """
        state = np.concatenate([np.ravel(value) for value in values])
        position, block, last = 0, self.block, len(numbers) - 1
        while position < last:
            count = min(block, last - position)
            if not self.is_asked:
                count = same(numbers[position + 1 : position + 1 + count])
            before, state[0] = state.copy(), numbers[position]
            done, undefined = self.code.run(state, count, numbers.step)
            if undefined and is_noticed:
                block, state = count // _FEWER, before
                if block < _FEWEST:
                    break
                continue
            if done:
                for place in places:
                    values[place] = self._value(state, place)
                yield done
            position += done
            if done < count or not count:
                break

    def _value(self, state: Any, place: int) -> Value:
        part = self.parts[place]
        if not part.shape:
            return float(state[part.begin])
        found: Value = state[part.begin : part.end].reshape(part.shape).copy()
        return found


class Native:
    """The machine code of an iteration, made when it pays."""

    def __init__(
        self, program: Program, places: Sequence[int], conditions: Program | None, answers: Sequence[bool]
    ) -> None:
        """The inputs at the places are the first outputs, for the next iteration."""
        self._program, self._places, self._conditions, self._answers = program, places, conditions, answers
        is_quiet = all(_is_quiet(step.op) for step in program.steps)
        self._due = iterations_to_repay(program) if is_quiet else math.inf
        self._made: NativeIteration | None = None

    def of(self, count: int) -> NativeIteration | None:
        """The code, where it pays for so many iterations; None where it does not, or there is none."""
        if self._made is None and count >= self._due:
            self._made, self._due = self._make(), math.inf
        return self._made

    def _make(self) -> NativeIteration | None:
        program, asked = self._program, self._conditions
        numbers = scalarised(program)
        if numbers is None or llvm.backend.supports(numbers := unchecked(numbers)) is not None:
            return None
        if not llvm.repeated.notices_invalid():
            return None
        asked = scalarised(asked) if asked is not None else None
        is_asked = asked is not None and not asked.checks and all(_is_exact(step.op) for step in asked.steps)
        inputs = [one.shape for one in program.inputs]
        ends = np.cumsum([0, *map(size_of, inputs)]).tolist()
        changed = [entry for place in self._places for entry in range(ends[place], ends[place + 1])]
        found = llvm.repeated.Conditions(asked, tuple(self._answers)) if asked is not None and is_asked else None
        return NativeIteration(
            llvm.repeated.Iterated(numbers, changed, found), inputs, self._conditions is None or is_asked
        )


def _is_quiet(op: Op) -> bool:
    """Whether an operation raises nothing that depends on values."""
    return op.total or op.reach != "pointwise"


def _is_exact(op: Op) -> bool:
    """Whether machine code gives every bit of an operation on numbers."""
    return op.scalar is None or (op.operator is not None and op.operator.sign != "**")
