"""Loops found in a program: what a function computed again and again becomes one operation, as `scan` makes it.

A long trace is searched for a part that repeats: the same operations, at the same distances. Each operand of an
iteration is then one of five: computed in it, computed in one of those before (the state), the same in all, another
constant or entry of an array in each (a row of data), or computed before the loop. Iterations that differ, mostly the
first and the last, stay as they are. The result has the values of the program, bit for bit; the terms of gradients are
summed up iteration by iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from agrad.engine.core.graph import collecting_later
from agrad.engine.core.op import FUNCTIONS, OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.program.closed import Parts, flat, joined, split
from agrad.engine.program.ir import GuardCheck, Input, Program, Step, assembled, frozen, optimised, placed
from agrad.engine.program.scan import Body, Sizes
from agrad.engine.program.trace import checked, entered, extract, handle_of, inlined, placeholders, recorded, valued
from agrad.engine.values import Shape, Value, np

LONG = 2_000  # steps, from which on a program is searched
_TURNS = 8  # iterations, at least
_WINDOW = 12  # neighbouring steps that are compared at once
_LAGS = 4  # iterations that a value may come from before
_CANDIDATES = 12  # periods that are tried
_SAVED = 0.8  # a program is changed if it becomes so much shorter
_SHORTER = 0.98  # a period may cover so much of what the best one does, if it is shorter


def rolled(program: Program, values: Sequence[Value], wrt: Sequence[int]) -> Program:
    """The program with its loops as operations; itself where there are none. `values` are those it was traced at."""
    with collecting_later():
        while len(program.steps) >= LONG:
            made = (_Roller(program, loop, values, wrt).program() for loop in _loops(program))
            most = _SAVED * len(program.steps)
            shorter = next((one for one in made if one is not None and len(one.steps) < most), None)
            if shorter is None:
                break
            program = shorter
    return program


# Where a program repeats


class _Loop(NamedTuple):
    """A part of a program that repeats: its first step, the steps of an iteration, and how often it runs."""

    start: int
    period: int
    turns: int


def _loops(program: Program) -> list[_Loop]:
    """The parts of a program that repeat, the largest first."""
    tokens = _tokens(program)
    found = [_longest(tokens, period) for period in _periods(tokens)]
    found = [loop for loop in found if loop.turns >= _TURNS and 2 * loop.period * loop.turns >= LONG]
    most = max([loop.period * loop.turns for loop in found], default=0)

    def order(loop: _Loop) -> tuple[float, int]:
        covered = loop.period * loop.turns
        return (-most if covered >= _SHORTER * most else -covered), loop.period

    return sorted(found, key=order)


def _tokens(program: Program) -> Any:
    """A number for each step, equal for steps that may be the same one in two iterations."""
    known: dict[object, int] = {}
    found = []
    for step in program.steps:
        attrs = frozen(step.attrs) if step.attrs and not _may_vary(step) else None
        found.append(known.setdefault((step.op.name, len(step.operands), step.shape, attrs), len(known)))
    return np.array(found)


def _may_vary(step: Step) -> bool:
    """Whether the attributes may differ between iterations: they select entries."""
    return step.op.scatter is not None and len(step.operands) == 1


def _periods(tokens: Any) -> list[int]:
    """The most frequent distances between equal runs of neighbouring steps."""
    count = len(tokens) - _WINDOW + 1
    hashes, words = np.zeros(count, dtype=np.uint64), tokens.astype(np.uint64)
    for place in range(_WINDOW):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + words[place : count + place]
    order = np.argsort(hashes, kind="stable")
    equal = hashes[order[1:]] == hashes[order[:-1]]
    distances, counts = np.unique((order[1:] - order[:-1])[equal], return_counts=True)
    best = np.argsort(-counts, kind="stable")[:_CANDIDATES]
    return distances[best].tolist()  # type: ignore[no-any-return]


def _longest(tokens: Any, period: int) -> _Loop:
    """The longest part that repeats after so many steps."""
    differs = np.flatnonzero(tokens[period:] != tokens[:-period])
    ends = np.concatenate([[-1], differs, [len(tokens) - period]])
    lengths = np.diff(ends) - 1
    best = int(np.argmax(lengths))
    return _Loop(int(ends[best]) + 1, period, int(lengths[best]) // period + 1)


# What an iteration takes and gives


@dataclass(frozen=True, slots=True)
class _Each:
    """How a guard reads a column: whether it has its outcome in each row."""

    read: Callable[[Value], object]
    outcome: object

    def __call__(self, value: Any) -> object:
        return all(GuardCheck(0, self.read, self.outcome, "").holds(x) for x in np.ravel(value).tolist())


class _Operands:
    """The operands of all iterations, a row for each: which are where, and in which iterations they are."""

    def __init__(self, program: Program, loop: _Loop) -> None:
        steps = program.steps[loop.start : loop.start + loop.period * loop.turns]
        slots = np.array([x for step in steps for x in step.operands], dtype=np.int64)
        self.slots = slots.reshape(loop.turns, -1)
        bases = program.first + loop.start + loop.period * np.arange(loop.turns)
        distances = self.slots - bases[:, None]
        middle = loop.turns // 2
        here, after = self.slots[middle], self.slots[middle + 1]
        self.distances = distances[middle]
        self.is_same: Any = here == after
        near: Any = self.distances >= -_LAGS * loop.period
        self.is_near = ~self.is_same & (distances[middle + 1] == self.distances) & near
        is_other: Any = self.is_near & (distances != self.distances) | self.is_same & (self.slots != here)
        bad: Any = np.flatnonzero(is_other.any(axis=1))
        first, end = int(bad[bad < middle].max(initial=-1)) + 1, int(bad[bad > middle].min(initial=loop.turns))
        before: Any = self.slots[:, ~self.is_near]
        for _ in range(_LAGS):
            if first < end and (before[first:end] >= bases[first]).any():  # computed in an iteration that is left out
                first += 1
        if (before[first:end] >= bases[min(first, middle)]).any():
            end = first
        self.loop = _Loop(loop.start + first * loop.period, loop.period, end - first)
        self.slots = self.slots[first:end]


class _Roller:
    """One loop of a program, on the way to an operation."""

    def __init__(self, program: Program, loop: _Loop, values: Sequence[Value], wrt: Sequence[int]) -> None:
        self.whole, self.values, self.wrt = program, values, wrt
        self.operands = _Operands(program, loop)
        self.loop = self.operands.loop
        self.start = program.first + self.loop.start  # the slot of its first step
        self.end = self.start + self.loop.period * self.loop.turns
        self.block = program.steps[self.loop.start : self.loop.start + self.loop.period]
        # What an iteration takes, in order. A part of the state: its place in an iteration, and how many iterations
        # before. A part of a row: its slots, or the place of a step that selects entries. The rest: slots.
        self.taken: dict[str, dict[Any, None]] = {"state": {}, "row": {}, "same": {}, "constant": {}}
        self.fixed: set[int] = set()  # places that compute the same in each iteration, which is computed before
        self.sources: dict[int, int | None] = {}  # what is selected from, where that is the same in each iteration
        self.outs: list[int] = []  # places of further results that are read after the loop
        self.columns: dict[int, slice] = {}  # of each place that is read, in the table of results

    def program(self) -> Program | None:
        """The whole program with the loop as one operation; None where it is none."""
        if self.loop.turns < _TURNS or 2 * self.loop.turns * self.loop.period < LONG:
            return None
        attrs = {
            place: {frozen(self._step_of(turn, place).attrs) for turn in range(self.loop.turns)}
            for place, step in enumerate(self.block)
            if _may_vary(step)
        }
        self.selecting = {place for place, found in attrs.items() if len(found) > 1}
        inner = self._inner()
        if inner is None or not self.taken["state"]:
            return None
        for place, lag in self.taken["state"]:  # what is taken from before the loop has the shapes that it gives
            slot = self.start - lag * self.loop.period + place
            if slot < 0 or self.whole.shape(slot) != self.block[place].shape:
                return None
        with placeholders(self.values, self.wrt) as xs:
            self.slots: dict[int, Any] = dict(enumerate([*map(valued, xs), *self.whole.constants]))
            self._record(range(self.whole.first, self.start))
            self._run(inner)
            self._record(range(self.end, self.whole.first + len(self.whole.steps)))
            checks = self._checks()
            outputs = [self._handle(slot) for slot in self.whole.outputs]
            names = [given.name for given in self.whole.inputs]
            found = extract([*outputs, *[x for x, _ in checks]], xs, names, None)
        return checked(found, [check for _, check in checks])

    def _step_of(self, turn: int, place: int) -> Step:
        return self.whole.steps[self.loop.start + turn * self.loop.period + place]

    def _inner(self) -> Program | None:
        """The program of one iteration: from state, row and what is the same to the new state and further results."""
        plan, numbers = [], count()
        for place, step in enumerate(self.block):
            uses = [self._use(next(numbers)) for _ in step.operands]
            plan.append(uses)
            kinds = {kind for kind, _ in uses}
            if place in self.selecting:  # only what it selects is taken
                if kinds & {"state", "made"}:
                    return None  # it selects entries of what an iteration computes
                self.sources[place] = uses[0][1] if "same" in kinds else None
                continue
            for kind, key in uses:
                for before in range(1, key[1]) if kind == "state" else ():
                    self.taken["state"][key[0], before] = None
                if kind != "made":
                    self.taken[kind][key] = None
            if "same" in kinds and kinds <= {"same", "constant"} and step.op.role != "view":
                self.fixed.add(place)
        for place in sorted(self.selecting):
            self.taken["row"][place] = None
        for place, _ in self.taken["state"]:  # read of the iteration before, where it was not known to be fixed
            if place in self.fixed:
                self.taken["same"][self.start + place] = None
        self._read_after()
        made = {place: ("made", place) for place in range(len(plan))}
        made |= {place: ("row", place) for place in self.selecting}
        made |= {place: ("same", self.start + place) for place in self.fixed}
        own = [place for place, (kind, _) in made.items() if kind == "made"]
        names = [(kind, key) for kind, taken in self.taken.items() for key in taken] + [made[place] for place in own]
        slots = {name: number for number, name in enumerate(names)}
        steps = [
            (self.block[place], [made[key] if kind == "made" else (kind, key) for kind, key in plan[place]])
            for place in own
        ]
        outputs = [made[place] if lag == 1 else ("state", (place, lag - 1)) for place, lag in self.taken["state"]]
        outputs += [made[place] for place in self.outs]
        inputs = [Input(f"x{n}", shape) for n, shape in enumerate([x for part in self._shapes() for x in part])]
        constants = [self.whole.constants[slot - len(self.whole.inputs)] for slot in self.taken["constant"]]
        return assembled(inputs, constants, steps, outputs, (), slots.__getitem__)

    def _use(self, number: int) -> tuple[str, Any]:
        """What kind of operand one is, and its key among those; `made` if an iteration computes it."""
        operands, period = self.operands, self.loop.period
        column = operands.slots[:, number]
        if operands.is_near[number]:
            lag, place = divmod(int(operands.distances[number]), period)
            if place in self.fixed:
                return "same", self.start + place
            return ("state", (place, -lag)) if lag else ("made", place)
        if not operands.is_same[number]:
            return "row", tuple(column.tolist())
        slot = int(column[0])
        return "constant" if len(self.whole.inputs) <= slot < self.whole.first else "same", slot

    def _shapes(self) -> list[list[Shape]]:
        """The shapes of the parts of the state, of a row, and of what is the same."""
        shape, (state, row, same, _) = self.whole.shape, self.taken.values()
        rows = [shape(key[0]) if isinstance(key, tuple) else self.block[key].shape for key in row]
        return [[self.block[place].shape for place, _ in state], rows, [shape(slot) for slot in same]]

    def _read_after(self) -> None:
        """Find what is read after the loop; the table of results has a row for each iteration."""
        after = [x for step in self.whole.steps[self.end - self.whole.first :] for x in step.operands]
        after += [*self.whole.outputs, *[check.slot for check in self.whole.checks]]
        inside = [slot - self.start for slot in after if self.start <= slot < self.end]
        places = sorted({slot % self.loop.period for slot in inside})
        state = self.taken["state"]
        self.outs = [place for place in places if (place, 1) not in state and place not in self.fixed]
        made = [*state, *[(place, 1) for place in self.outs]]
        parts = placed([self.block[place].shape for place, _ in made])
        self.columns = {place: part for (place, lag), (part, _) in zip(made, parts, strict=True) if lag == 1}
        self.width = parts[-1][0].stop if parts else 0

    # The new program

    def _record(self, which: Sequence[int]) -> None:
        """Compute steps on what there is."""
        for slot in which:
            step = self.whole.steps[slot - self.whole.first]
            of_loop = [x for x in step.operands if self._is_column(x)] if step.op is OPS["stack"] else []
            if len(of_loop) >= _TURNS and not step.attrs.get("axis"):  # a part of the table
                self.slots[slot] = valued(joined([self._column(*group) for group in self._groups(step.operands)]))
            else:
                self.slots[slot] = recorded(step.op, tuple([self._node(x) for x in step.operands]), step.attrs)

    def _node(self, slot: int) -> Any:
        """The node or constant of a slot; of one in the loop, an entry of the table."""
        if slot not in self.slots:
            turn, place = divmod(slot - self.start, self.loop.period)
            if place in self.fixed:
                return self.slots[self.start + place]
            part, shape = self.columns[place], self.block[place].shape
            x = FUNCTIONS["reshape"].call(self.table[turn, part], shape) if shape else self.table[turn, part.start]
            self.slots[slot] = valued(x)
        return self.slots[slot]

    def _handle(self, slot: int) -> Tensor:
        return handle_of(self._node(slot))

    def _groups(self, slots: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The first slot, and how many there are, of the same result in consecutive iterations."""
        begin = 0
        for place in range(1, len(slots) + 1):
            is_next = place < len(slots) and slots[place] == slots[place - 1] + self.loop.period
            if not is_next or not (self._is_column(slots[begin]) and self._is_column(slots[place])):
                yield slots[begin], place - begin
                begin = place

    def _is_column(self, slot: int) -> bool:
        """Whether something is a result of iterations."""
        return self.start <= slot < self.end and (slot - self.start) % self.loop.period not in self.fixed

    def _column(self, slot: int, count: int) -> Any:
        """The values of consecutive iterations along a new first axis; one value, if it is none of the loop."""
        shape = self.whole.shape(slot)
        if not self._is_column(slot):
            return FUNCTIONS["reshape"].call(self._handle(slot), (count, *shape))
        turn, place = divmod(slot - self.start, self.loop.period)
        return FUNCTIONS["reshape"].call(self.table[turn : turn + count, self.columns[place]], (count, *shape))

    def _run(self, inner: Program) -> None:
        """Record the loop."""
        count = self.loop.turns
        state, row, same_slots, _ = self.taken.values()
        self._record([self.start + place for place in sorted(self.fixed)])
        starts = [self._handle(self.start - lag * self.loop.period + place) for place, lag in state]
        rows = [self._rows_of(key) for key in row]
        same = [self._handle(slot) for slot in same_slots]
        shapes = self._shapes()
        parts = [Parts(tuple(starts)), Parts(tuple(rows), is_rows=True), Parts(tuple(same))]
        x = joined([one.packed() for one in parts if one.leaves])
        body = _body(inner, shapes, [starts, [x[0] for x in rows], same], self.width)
        found = OPS["scanned"].call(x, body=body, count=count)
        self.table = FUNCTIONS["reshape"].call(found, (count, body.width))

    def _rows_of(self, key: Any) -> Any:
        """The values of an operand in all iterations, along a new first axis."""
        if isinstance(key, tuple):
            nodes = [self._node(slot) for slot in key]
            return FUNCTIONS["stack"].call([handle_of(x) for x in nodes])
        steps = [self._step_of(turn, key) for turn in range(self.loop.turns)]
        source = self.sources[key]
        taken = _gathered([step.attrs.get("index") for step in steps]) if source is not None else None
        if source is not None and taken is not None:
            return self._handle(source)[taken]
        whole = [self._node(step.operands[0] if source is None else source) for step in steps]
        nodes = [recorded(step.op, (x,), step.attrs) for step, x in zip(steps, whole, strict=True)]
        return FUNCTIONS["stack"].call([handle_of(x) for x in nodes])

    def _checks(self) -> list[tuple[Tensor, GuardCheck]]:
        """What is checked, and how; a guard that has the same outcome in each iteration is one on a column."""
        found: list[tuple[Tensor, GuardCheck]] = []
        loops: dict[object, list[GuardCheck]] = {}
        for check in self.whole.checks:
            if not self._is_column(check.slot):
                found.append((self._handle(check.slot), check))
            else:
                place = (check.slot - self.start) % self.loop.period
                loops.setdefault((place, check.read, frozen(check.outcome)), []).append(check)
        for checks in loops.values():
            if len(checks) == self.loop.turns and not self.whole.shape(checks[0].slot):
                each = GuardCheck(0, _Each(checks[0].read, checks[0].outcome), True, checks[0].text)
                first = self.start + (checks[0].slot - self.start) % self.loop.period
                found.append((self._column(first, self.loop.turns), each))
            else:
                found += [(self._handle(check.slot), check) for check in checks]
        return found


def _gathered(indices: list[Any]) -> Any:
    """One index for those of all iterations, which differ in the whole number that is first; None if there is none."""
    if not all(isinstance(x, tuple) and x and type(x[0]) is int for x in indices):
        return None
    rest = indices[0][1:]
    if any(frozen(x[1:]) != frozen(rest) for x in indices) or not all(type(x) in (int, slice) for x in rest):
        return None
    first = [x[0] for x in indices]
    if first[0] >= 0 and first == [*range(first[0], first[0] + len(first))]:
        return (slice(first[0], first[0] + len(first)), *rest)
    return (np.array(first), *rest) if not any(type(x) is int for x in rest) else None


def _body(inner: Program, shapes: list[list[Shape]], starts: list[list[Any]], width: int) -> Body:
    """The body of the loop, on three vectors, with the values that it was traced at."""
    values = [[np.ravel(x.value if isinstance(x, Tensor) else x) for x in parts] for parts in starts]
    state, row, same = [np.concatenate(parts) if parts else np.zeros(0) for parts in values]
    xs = [entered(example) for example in (state, row, same)]
    operands = [part for x, listed in zip(xs, shapes, strict=True) for part in split(x, listed)]
    y = joined([flat(x) for x in inlined(inner, operands)])
    program = optimised(extract([y], xs, ("state", "row", "same"), None), again=True)
    sizes = Sizes(len(state), len(row), len(same), width - len(state), 0)
    return Body(program, sizes, (state, row, same))
