"""A turn of a loop as a program, and many of them on end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from agrad.engine.autodiff.optim import kept_of, remember
from agrad.engine.compile.python_backend import Compiled
from agrad.engine.core.graph import Gradient, Storage, collect, leaf, touch
from agrad.engine.core.tensor import Tensor, bare
from agrad.engine.core.versions import sharers
from agrad.engine.errors import AgradError
from agrad.engine.program.passes import optimised
from agrad.engine.program.trace import Program, extract
from agrad.engine.values import Value, np, size_of
from agrad.grammar.loops.placeholders import GRADIENT, LEAF, MOMENT, NUMBER, Found, NotStaticError, as_value, is_held
from agrad.grammar.loops.staging import Tracer

if TYPE_CHECKING:
    from agrad.grammar.loops.hot_loops import Turns
    from agrad.grammar.runtime.vm import Machine

_BLOCK = 32  # turns between two looks at their gradients
_ENTRIES = 1_000_000  # that are kept so long


class Turn:
    """A turn as a program: on what it finds, and the counter, it gives what the next turn finds."""

    def __init__(self, tracer: Tracer) -> None:
        self.found = tracer.found
        self.begun = tracer.begun
        self.absent = tracer.absent
        self.carried: list[tuple[int, Found]] = []  # what the next turn finds changed, by its place among the inputs
        self.rebound: dict[Found, str] = {}
        for name, value in self.begun.items():
            if not isinstance(value, Tensor) and tracer.scope[name] is not value:
                raise NotStaticError(f"{name} is something else in the next turn")
        outputs = [self._left(place, found, tracer) for place, found in enumerate(self.found) if place]
        kept = [output for output in outputs if output is not None]
        inputs = [bare(found.given) for found in self.found]
        self.step = runner(extract([*kept, *tracer.reached], inputs))
        changed = {found.given for _, found in self.carried}
        asked = []
        for value, answer in tracer.tests:
            behind = {node for node in collect([value.node]) if node.op is None}
            if behind & changed:
                raise NotStaticError("a value decides what it does")
            if self.found[0].given in behind:
                asked.append((value, answer))
        self.answers = [answer for _, answer in asked]
        self.asked = tuple([value.item() for value, _ in asked])
        self.ask = runner(extract([value for value, _ in asked], inputs)) if asked else None

    def _left(self, place: int, found: Found, tracer: Tracer) -> Tensor | None:
        """What the next turn finds instead of what this one found; None for the same."""
        names = [name for name, value in self.begun.items() if value is found.traced]
        anew = [name for name in names if tracer.scope[name] is not found.traced]
        value: Any = found.traced if found.writes else None
        if found.kind == GRADIENT:
            value = next(one.traced.grad for one in self.found if one.gradient is found)
        elif found.kind == MOMENT:
            value = found.traced if found.traced.node is not found.given else None
        elif anew:
            if len(names) > 1 or found.kind == LEAF or found.writes:
                raise NotStaticError(f"{anew[0]} is something else in the next turn")
            self.rebound[found], value = anew[0], tracer.scope[anew[0]]
            if type(value) is float:
                value = bare(leaf(value))
            if not isinstance(value, Tensor) or value in tracer.handles or value.requires_grad:
                raise NotStaticError(f"{anew[0]} is something else in the next turn")
        if (found.kind == GRADIENT and value is None) or (
            found.kind == LEAF and found.gradient is None and found.traced.grad is not None
        ):
            raise NotStaticError(f"the next turn finds {found.name} with another gradient")
        if value is None or (found.kind == GRADIENT and value is found.traced):
            return None
        if value.shape != found.traced.shape:
            raise NotStaticError(f"{found.name} has another shape in the next turn")
        self.carried.append((place, found))
        return value  # type: ignore[no-any-return]

    def fits(self, names: dict[str, Any]) -> bool:
        """Whether the names stand for values of the kinds and shapes of the turn that was traced; takes them over."""
        if not self.absent.isdisjoint(names):
            return False
        reals: dict[Tensor, Any] = {}
        for name, value in self.begun.items():
            real = names.get(name)
            if (real if not isinstance(value, Tensor) else reals.setdefault(value, real)) is not (
                value if not isinstance(value, Tensor) else real
            ):
                return False
        tensors = [id(real) for real in reals.values() if isinstance(real, Tensor)]
        if len(tensors) > len(set(tensors)):
            return False
        for found in self.found[1:]:
            if found.kind not in (GRADIENT, MOMENT):
                if not _is_like(reals.get(found.traced), found):
                    return False
                found.real = reals[found.traced]
                if found.zeroed and is_held(found.real.grad, names):
                    return False
                for one in (found.gradient, *found.moments):
                    if one is not None:
                        one.real = found.real
        return True

    def run(self, turns: Turns, machine: Machine) -> int:
        """Run turns as long as the one after does the same; how many there were."""
        numbers, places = turns.numbers, [place for place, _ in self.carried]
        values: list[Any] = [0.0, *(_value_of(found) for found in self.found[1:])]
        left: list[Value] | None = None  # to the turn that comes
        done, last = 0, len(numbers) - 1
        if not self._alike(numbers[turns.position : turns.position + 1], values):
            return 0
        block = max(1, min(_BLOCK, _ENTRIES // sum(size_of(found.traced.shape) for found in self.found)))
        while turns.position < last:
            ahead = numbers[turns.position : min(turns.position + block, last) + 1]
            kept = list(self._computed(ahead[: self._alike(ahead[1:], values)], values, places))
            good = _finite(kept, len(places))
            for _ in range(good):
                next(turns)
            done += good
            left = list(kept[good - 1][: len(places)]) if good else left
            if good < len(ahead) - 1:
                break  # the next turn has something to say of a gradient, or does something else
            machine.session.watch.look(machine.frames)
        if left is not None:
            self._put(left, done, machine)
        return done

    def _computed(self, numbers: range, values: list[Any], places: list[int]) -> Iterator[tuple[Value, ...]]:
        """What each of some turns leaves to the next."""
        step = self.step
        for number in numbers:
            values[0] = float(number)
            try:
                found = step(*values)
            except AgradError:
                return  # the turn itself tells of it
            for place, value in zip(places, found, strict=False):
                values[place] = value
            yield found

    def _alike(self, numbers: range, values: list[Any]) -> int:
        """How many turns, from the first on, make the choices of the one that was traced."""
        ask = self.ask
        if ask is None:
            return len(numbers)
        for count, number in enumerate(numbers):
            found = ask(float(number), *values[1:])
            if found != self.asked and [bool(answer) for answer in found] != self.answers:
                return count
        return len(numbers)

    def _put(self, values: list[Value], done: int, machine: Machine) -> None:
        """Let names, leaves and gradients be as after so many turns."""
        for (_, found), value in zip(self.carried, values, strict=True):
            if found.kind == GRADIENT:
                self._give_gradient(found, value, done)
            elif found.kind == MOMENT:
                node = found.real.node
                kept = kept_of(node)
                remember(node, (*kept[: found.place], value, *kept[found.place + 1 :]))
            elif found.writes:
                _write(found, value, done)
            else:
                machine.bind(machine.session.names, self.rebound[found], _like(found, value))

    def _give_gradient(self, found: Found, value: Value, done: int) -> None:
        owner = next(one for one in self.found if one.gradient is found)
        node = found.real.node
        touch(node)
        before = node.grad
        calls = before.calls if owner.cleared else before.calls + owner.calls * done
        given = leaf(value)
        given.guard = None
        node.grad = Gradient(bare(given), before.parts, calls, before.cleared)


def runner(program: Program) -> Callable[..., tuple[Value, ...]]:
    """What computes a program."""
    if program.checks:
        raise NotStaticError("a value decides what it does")
    return Compiled(optimised(program)).inside


def _is_like(real: Any, found: Found) -> bool:
    """Whether something can stand where something was found."""
    if found.kind == NUMBER:
        return type(real) is float
    if (
        not isinstance(real, Tensor)
        or real.shape != found.traced.shape
        or real.requires_grad is not (found.kind == LEAF)
    ):
        return False
    if real.node.op is not None or len(sharers(real.node)) > 1:
        return False
    if found.moments and len(kept_of(real.node)) != len(found.moments):
        return False
    return (real.grad is not None) is (found.gradient is not None)


def _value_of(found: Found) -> Value:
    """What a turn finds now."""
    if found.kind == MOMENT:
        return kept_of(found.real.node)[found.place]  # type: ignore[no-any-return]
    return as_value(found.real.grad if found.kind == GRADIENT else found.real)  # type: ignore[no-any-return]


def _finite(kept: list[tuple[Value, ...]], state: int) -> int:
    """How many turns, from the first on, found gradients without an inf or nan."""
    reached: list[Any] = []
    for found in kept:
        reached += found[state:]
    numbers = [value for value in reached if type(value) is float]
    total = sum(numbers)
    if len(numbers) < len(reached):
        total += float(np.add.reduce(np.concatenate(reached, axis=None)))
    if total - total == 0.0:  # as it is where all are finite, but for a sum that overflows
        return len(kept)
    turns = (turn for turn, found in enumerate(kept) if not all(np.isfinite(value).all() for value in found[state:]))
    return next(turns, len(kept))


def _write(found: Found, value: Value, done: int) -> None:
    """New data for a leaf, or a plain value, counted as often as it would have been written."""
    target = found.real
    target.write(lambda array: np.copyto(array, value), value if not target.shape else None, "update")
    old = target.node.storage
    more = found.writes * done - 1
    target.node.storage = Storage(old.nodes, old.count + more, old.by, old.stamp, old.successor, old.roots, old.cut)


def _like(found: Found, value: Value) -> Any:
    """A value for a name that is bound anew: a number, or a plain value that comes from where the last came from."""
    if found.kind == NUMBER:
        return value
    before = found.real.node
    node = leaf(value)
    node.origin, node.guard = before.origin, before.guard
    if before.storage is not None and before.storage.roots:
        node.storage = Storage([], roots=before.storage.roots, cut=before.storage.cut)
    found.real = bare(node)
    return found.real
