"""`Program`: straight-line code, its inputs and constants, and the guards that must hold; and passes.

These make programs shorter, which compute the same, bit for bit, and leave out what no output and no guard depends on.
The first three look at one step after another.

fold      computes the steps whose operands are all constants, and those without entries
simplify  leaves out a step that gives its operand bit for bit: x*1, x/1, x**1, x - 0, x + -0.0, -(-x), a copy, the sum
          of one number; and turns x*-1 into -x. The rows of the operations say which (`identities`, `role`, …).
          Never x*0 or x + 0: 0 times inf is nan, and -0 plus 0 is 0
share     computes equal steps once; x + y is y + x if the row says that the operation commutes
merge     takes neighbouring parts of an array that are put together again as one part, and puts together what is added
          into zeros in different places
cancel    makes y of (x + y) - x, which is another number where x is larger, or infinite: only where x is a finite place
          and y the distance
arranged  the same steps in another order, for machine code
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import accumulate, count, groupby, pairwise
from typing import Any, NamedTuple, TypeAlias

from agrad.engine.core.dispatch import compute
from agrad.engine.core.graph import collecting_later
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import OPS, Op
from agrad.engine.errors import AgradError
from agrad.engine.values import Shape, Value, np, settle, shape_of, size_of
from agrad.lazy import rare

# Dataclasses, since programs are long: a Struct takes twice as long to make.


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a program."""

    name: str
    shape: Shape


@dataclass(slots=True)  # not frozen, since that takes three times as long to make, and programs are long
class Step:
    """One instruction: an operation on slots, and the shape of its result."""

    op: Op
    operands: tuple[int, ...]
    attrs: dict[str, Any]
    shape: Shape


@dataclass(frozen=True, slots=True)
class GuardCheck:
    """A guard in a program: the slot that it reads, how it reads the value, the expected outcome, and a text."""

    slot: int
    read: Callable[[Value], object]
    outcome: object
    text: str

    def holds(self, value: Value) -> bool:
        """Whether the guard has its expected outcome; False if the value cannot be read (`int(nan)`)."""
        try:
            found = self.read(value)
        except (ValueError, OverflowError):
            return False
        return found == self.outcome or (found != found and self.outcome != self.outcome)


class Diverged(Exception):
    """A guard has another outcome than where the program was traced; its argument is the number of the check."""


@dataclass(slots=True, eq=False)
class Program:
    """Slots are numbered: the inputs, then the constants, then a slot for each step."""

    inputs: tuple[Input, ...]
    constants: tuple[Value, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    checks: tuple[GuardCheck, ...]

    @property
    def first(self) -> int:
        """The slot of the first step."""
        return len(self.inputs) + len(self.constants)

    @property
    def is_scalar(self) -> bool:
        """Whether all of its values are numbers, and none an array."""
        return not any(self.shapes)

    @property
    def shapes(self) -> list[Shape]:
        """The shapes of the values in all slots."""
        return [*[x.shape for x in self.inputs], *map(shape_of, self.constants), *[x.shape for x in self.steps]]

    def shape(self, slot: int) -> Shape:
        """The shape of the value in a slot."""
        inputs = len(self.inputs)
        if slot >= (first := inputs + len(self.constants)):
            return self.steps[slot - first].shape
        return self.inputs[slot].shape if slot < inputs else shape_of(self.constants[slot - inputs])

    def operands(self, slot: int) -> tuple[int, ...]:
        """What the step of a slot is computed from; nothing for an input or a constant."""
        return self.steps[slot - self.first].operands if slot >= self.first else ()

    def run(self, *values: Value) -> tuple[Value, ...]:
        """The outputs, step by step, as a replay computes them. Raises Diverged where a check does not hold."""
        slots = self.computed(values)
        return tuple([own(slots[slot]) for slot in self.outputs])

    def computed(self, values: Sequence[Value]) -> list[Value]:
        """What is in all slots, computed in the same way."""
        slots = [*values, *self.constants]
        checks = checks_of(self)
        with quiet():
            for slot in range(len(slots) + len(self.steps)):
                if slot >= self.first:
                    step = self.steps[slot - self.first]
                    slots.append(computed(step.op, tuple([slots[x] for x in step.operands]), step.attrs))
                for number in checks.get(slot, ()):
                    if not self.checks[number].holds(slots[slot]):
                        raise Diverged(number)
        return slots


def computed(op: Op, values: tuple[Value, ...], attrs: dict[str, Any]) -> Value:
    """The result of an operation: there are no views.

    Only the rules of linear algebra turn a matrix in place, also here: the rounding of BLAS depends on the memory
    layout.
    """
    value = compute(op, values, attrs)
    return value if op.role == "view" else own(value)


def called(op: Op, *values: Value, **attrs: Any) -> Value:
    """The same where a value is an array: its array function, unless that raises an error that says less."""
    try:
        value = settle(op.array(*values, **attrs))
        return value if op.role == "view" else own(value)
    except (ValueError, IndexError, MemoryError):
        return computed(op, values, attrs)


def own(value: Value) -> Value:
    """The value, copied if it is a view of another array."""
    if type(value) is float or value.base is None:  # type: ignore[union-attr]
        return value
    return value.copy()  # type: ignore[union-attr]


def checks_of(program: Program) -> dict[int, list[int]]:
    """The numbers of the checks that read a slot, for each slot."""
    found: dict[int, list[int]] = {}
    for number, check in enumerate(program.checks):
        found.setdefault(check.slot, []).append(number)
    return found


def spans(lengths: Iterable[int]) -> list[range]:
    """Where parts of these lengths are that lie one after the other."""
    return [range(begin, end) for begin, end in pairwise(accumulate(lengths, initial=0))]


def placed(shapes: Sequence[Shape]) -> list[tuple[slice, Shape]]:
    """Where values of these shapes are in a vector of all their entries, each with its shape."""
    parts = zip(spans(map(size_of, shapes)), shapes, strict=True)
    return [(slice(one.start, one.stop), shape) for one, shape in parts]


def assembled(
    inputs: Iterable[Input],
    constants: Iterable[Value],
    steps: Iterable[tuple[Step, Iterable[Any]]],
    outputs: Iterable[Any],
    checks: Iterable[tuple[GuardCheck, Any]],
    place: Callable[[Any], int],
) -> Program:
    """A program of steps, with their operands, and of checks, with what they read, of which `place` gives the slots."""
    return Program(
        tuple(inputs),
        tuple(constants),
        tuple([Step(s.op, tuple(map(place, operands)), s.attrs, s.shape) for s, operands in steps]),
        tuple(map(place, outputs)),
        tuple([GuardCheck(place(slot), c.read, c.outcome, c.text) for c, slot in checks]),
    )


def needed(wanted: Iterable[int], known: Container[int], operands: Callable[[int], Iterable[int]]) -> list[int]:
    """What has to be computed for some slots, but for what is known, in order: operands have smaller numbers."""
    found, stack = set[int](), [*wanted]
    while stack:
        slot = stack.pop()
        if slot not in found and slot not in known:
            found.add(slot)
            stack += operands(slot)
    return sorted(found)


def unchecked(program: Program) -> Program:
    """The program with the slots that its checks read as further outputs: the caller evaluates the checks."""
    return replace(program, outputs=(*program.outputs, *[check.slot for check in program.checks]), checks=())


# Passes

Visit: TypeAlias = "Callable[[Rewriting, Step, tuple[int, ...]], int | None]"

_LARGE = 16_384  # entries, from which on a graph holds an array once


def optimised(program: Program, again: bool = False) -> Program:
    """All passes but `cancel` and `arranged`, most of them in one walk over the steps.

    With `again` the program will be differentiated: operations that stop a derivative are kept.
    """
    return merged(rewritten(program, partial(shortened, again=again)))


def frozen(value: Any) -> object:
    """A key that is equal for constants or attributes with the same bits."""
    if isinstance(value, float):
        return value.hex() if value else (value, math.copysign(1.0, value))
    if hasattr(value, "tobytes"):
        bits = value.tobytes()
        if len(bits) > _LARGE:  # what is kept by such keys would hold a copy of each array
            bits = rare.hashlib.blake2b(bits).digest()
        return type(value), value.dtype.str, value.shape, value.strides, bits
    if isinstance(value, slice):
        return slice, value.start, value.stop, value.step
    if isinstance(value, tuple | list):
        return type(value), tuple(map(frozen, value))
    if isinstance(value, dict):
        return tuple([(name, frozen(one)) for name, one in value.items()])
    return type(value), value


def identified(value: Any) -> object:
    """The same for a constant that is not large; of a large array, of which a graph holds no copies, the object."""
    return id(value) if size_of(shape_of(value)) > _LARGE else frozen(value)


class Rewriting:
    """A program under construction. A reference is the number of an input or step; of a constant, its complement."""

    identity = staticmethod(identified)

    def __init__(self, program: Program) -> None:
        self.inputs = program.inputs
        self.constants: list[Value] = []
        self.steps: list[tuple[Step, tuple[int, ...]]] = []
        self.known: dict[object, int] = {}

    def constant(self, value: Value) -> int:
        """The reference of a constant; equal ones are listed once."""
        found = self.known.setdefault(self.identity(value), ~len(self.constants))
        if found == ~len(self.constants):
            self.constants.append(value)
        return found

    def step(self, step: Step, operands: tuple[int, ...]) -> int:
        """The reference of a new step."""
        self.steps.append((step, operands))
        return len(self.inputs) + len(self.steps) - 1

    def made_by(self, reference: int) -> tuple[Step, tuple[int, ...]] | None:
        """The step of a reference."""
        number = reference - len(self.inputs)
        return self.steps[number] if number >= 0 else None

    def number(self, reference: int) -> float | None:
        """The constant of a reference, if it is a number."""
        value = self.constants[~reference] if reference < 0 else None
        return value if isinstance(value, float) else None

    def shape(self, reference: int) -> tuple[int, ...]:
        """That of what a reference is to."""
        if reference < 0:
            return shape_of(self.constants[~reference])
        made = self.made_by(reference)
        return made[0].shape if made is not None else self.inputs[reference].shape

    def program(self, outputs: list[int], checks: dict[tuple[int, Any, Any], GuardCheck]) -> Program:
        """The result, without steps and constants that lead to no output and no check."""
        count, read = len(self.inputs), [(check, reference) for (reference, *_), check in checks.items()]
        used = {*outputs, *[reference for _, reference in read]}
        for reference in range(count + len(self.steps) - 1, count - 1, -1):
            if reference in used:
                used.update(self.steps[reference - count][1])
        constants = [x for x in range(-1, ~len(self.constants), -1) if x in used]
        steps = [x for x in range(count, count + len(self.steps)) if x in used]
        place = {x: slot for slot, x in enumerate([*range(count), *constants, *steps])}
        made = [self.constants[~x] for x in constants], [self.steps[x - count] for x in steps]
        return assembled(self.inputs, *made, outputs, read, place.__getitem__)


@quiet()
@collecting_later()
def rewritten(program: Program, visit: Visit | None = None) -> Program:
    """The program with each step replaced by what a visit returns a reference to; by itself for None.

    Steps, and constants, that lead to no output and no check are dropped.
    """
    new = Rewriting(program)
    references = inserted(new, program, range(len(program.inputs)), visit)
    checks: dict[tuple[int, Any, Any], GuardCheck] = {}
    for check in program.checks:  # the first of equal ones
        checks.setdefault((references[check.slot], check.read, check.outcome), check)
    return new.program([references[slot] for slot in program.outputs], checks)


def inserted(new: Rewriting, program: Program, given: Iterable[int], visit: Visit | None = None) -> list[int]:
    """The references of what is in the slots of a program whose steps are written into another in the same way.

    `given`: those of its inputs.
    """
    references = [*given, *map(new.constant, program.constants)]
    for step in program.steps:
        operands = tuple([references[x] for x in step.operands])
        found = None if visit is None else visit(new, step, operands)
        references.append(new.step(step, operands) if found is None else found)
    return references


# The passes


def shortened(new: Rewriting, step: Step, operands: tuple[int, ...], again: bool = True) -> int:
    """`fold`, `simplify` and `share`."""
    found = fold(new, step, operands, again)
    found = simplify(new, step, operands, again) if found is None else found
    return share(new, step, operands) if found is None else found


def fold(new: Rewriting, step: Step, operands: tuple[int, ...], again: bool = False) -> int | None:
    """Compute a step on constants; one that raises is kept, to raise when the program runs.

    So is one whose result has no entries, unless the program will be differentiated.
    """
    if 0 in step.shape and not again and (step.op.total or step.op.moves_entries):
        return new.constant(np.zeros(step.shape))
    if not operands or max(operands) >= 0:
        return None
    try:
        return new.constant(computed(step.op, tuple([new.constants[~x] for x in operands]), step.attrs))
    except AgradError:
        return None


def simplify(new: Rewriting, step: Step, operands: tuple[int, ...], again: bool = False) -> int | None:
    """Drop a step whose result is exactly its operand."""
    op = step.op
    if op.role == "copy":
        return None if again and not op.differentiable else operands[0]
    if len(operands) == 1:
        if op.role == "involution":
            made = new.made_by(operands[0])
            return made[1][0] if made is not None and made[0].op is op else None
        return operands[0] if op.keeps_numbers and not step.shape and not new.shape(operands[0]) else None
    for identity in op.identities if op.identities and min(operands) < 0 else ():
        place = op.signature.operands.index(identity.operand)
        number, other = new.number(operands[place]), operands[1 - place]
        if number is None or frozen(number) != frozen(identity.number):
            continue
        if identity.becomes:
            return share(new, replace(step, op=OPS[identity.becomes]), (other,))
        return other if new.shape(other) == step.shape else None
    return None


def share(new: Rewriting, step: Step, operands: tuple[int, ...]) -> int:
    """Compute equal steps once."""
    ordered = tuple(sorted(operands)) if step.op.commutes else operands
    key = step.op.name, ordered, frozen(step.attrs) if step.attrs else None
    found = new.known.get(key)
    if found is None:
        new.known[key] = found = new.step(step, operands)
    return found


def cancel(new: Rewriting, step: Step, operands: tuple[int, ...]) -> int | None:
    """Drop a number that is added and subtracted again."""
    for (whole, part), is_turned in ((operands, False), (operands[::-1], True)) if step.op is OPS["sub"] else ():
        made = new.made_by(whole)
        if made is None or made[0].op not in (OPS["add"], OPS["sub"]) or part not in made[1] or made[0].shape != ():
            continue
        place, is_sum = made[1].index(part), made[0].op is OPS["add"]
        if is_sum or place == 0:
            is_negative = is_sum is is_turned
            rest = made[1][1 - place]
            return share(new, replace(step, op=OPS["neg"]), (rest,)) if is_negative else rest
    return None


def merged(program: Program) -> Program:
    """The pass `merge`: loops over the rows of an array leave its parts, each in a step of its own."""
    joins, add = (OPS["stack"], OPS["concat"]), OPS["add"]
    sums = [step for step in program.steps if step.op is add and step.shape]
    if not sums and not any(step.op in joins for step in program.steps):
        return program
    used = Counter([x for step in program.steps for x in step.operands])
    used.update([*program.outputs, *[check.slot for check in program.checks]])
    inner = {x for step in sums for x in step.operands if used[x] == 1 and program.shape(x) == step.shape}
    slots, terms = count(program.first), set[int]()  # terms: references of sums that are only a part of another

    def visit(new: Rewriting, step: Step, operands: tuple[int, ...]) -> int | None:
        slot = next(slots)
        if step.op in joins:
            return _neighbours(new, step, operands)
        if step.op is not add or not step.shape:
            return None
        if slot not in inner:
            return _of_parts(new, step, operands, terms)
        terms.add(found := new.step(step, operands))
        return found

    return rewritten(program, visit)


class _Part(NamedTuple):
    """The entries of an array from a place up to another along an axis; an entry is without that axis."""

    array: int  # what it is taken from, or added into zeros
    axis: int
    first: int
    end: int
    is_entry: bool


def _part(op: Op, new: Rewriting, reference: int) -> _Part | None:
    """The part that a step takes from an array, or adds into zeros; None for any other."""
    made = new.made_by(reference)
    if made is None or made[0].op is not op:
        return None
    index, shape = [*made[0].attrs["index"]], made[0].attrs["shape"]
    while index and type(index[-1]) is slice and index[-1] == slice(None):
        index.pop()
    if not index or any(type(x) is not slice or x != slice(None) for x in index[:-1]):
        return None
    last, axis = index[-1], len(index) - 1
    if type(last) is int:
        return _Part(made[1][0], axis, last % shape[axis], last % shape[axis] + 1, True)
    first, end, step = last.indices(shape[axis]) if type(last) is slice else (0, 0, 1)
    return _Part(made[1][0], axis, first, end, False) if step == 1 and first < end else None


def _neighbours(new: Rewriting, step: Step, operands: Sequence[int]) -> int | None:
    """What is put together, if at most half as many parts are left where neighbours of one array are one part."""
    axis, is_stack, parts = step.attrs["axis"], step.op is OPS["stack"], list[_Part]()
    for x in operands:
        part = _part(OPS["getitem"], new, x)
        if part is None or (part.axis, part.is_entry) != (axis, is_stack):
            part = _Part(x, axis, 0, 0, is_stack)
        last = parts[-1] if parts else part
        if last is not part and last.array == part.array and 0 < last.end == part.first:
            parts[-1] = last._replace(end=part.end)
        else:
            parts.append(part)
    return _joined(new, axis, [_taken(new, part) for part in parts]) if 2 * len(parts) <= len(operands) else None


def _taken(new: Rewriting, part: _Part) -> int:
    """A part of an array, with the axis; without places, all of it."""
    shape, axis, length = new.shape(part.array), part.axis, part.end - part.first
    if not part.end and part.is_entry:
        wide = (*shape[:axis], 1, *shape[axis:])
        return share(new, Step(OPS["reshape"], (), {"shape": wide, "old": shape}, wide), (part.array,))
    if not part.end or length == shape[axis]:
        return part.array
    attrs = {"index": (*[slice(None)] * axis, slice(part.first, part.end)), "shape": shape}
    return share(new, Step(OPS["getitem"], (), attrs, (*shape[:axis], length, *shape[axis + 1 :])), (part.array,))


def _joined(new: Rewriting, axis: int, pieces: Sequence[int], is_stack: bool = False) -> int:
    """Arrays along an axis, which they have unless it is a stack."""
    if len(pieces) == 1 and not is_stack:
        return pieces[0]
    shape, ends = new.shape(pieces[0]), [0, *accumulate([1 if is_stack else new.shape(x)[axis] for x in pieces])]
    whole = (*shape[:axis], ends[-1], *shape[axis + (not is_stack) :])
    attrs = {"axis": axis} if is_stack else {"axis": axis, "ends": tuple(ends)}
    step = Step(OPS["stack" if is_stack else "concat"], (), attrs, whole)
    found = _neighbours(new, step, pieces)
    return share(new, step, tuple(pieces)) if found is None else found


def _of_parts(new: Rewriting, step: Step, operands: tuple[int, ...], terms: set[int]) -> int | None:
    """A sum of arrays each of which is 0 but for a part, and at most one other; the parts do not overlap.

    Each entry is a sum of the same numbers, with a 0 as well: that of -0 and 0 is 0.
    """
    found, rest, ahead = list[_Part](), list[int](), [*operands]
    while ahead:
        x = ahead.pop()
        part, made = _part(OPS["scatter"], new, x), new.made_by(x)
        if part is not None:
            found.append(part)
        elif made is not None and x in terms:
            ahead += made[1]
        else:
            rest.append(x)
    found.sort(key=lambda part: part.first)
    is_apart = all(a.end <= b.first and a.axis == b.axis for a, b in pairwise(found))
    runs = [0, *[n for n, (a, b) in enumerate(pairwise(found), 1) if a.end < b.first], len(found)]
    if not is_apart or len(rest) > 1 or 2 * (len(runs) - 1) > len(found):
        return None
    for run in [found[a:b] for a, b in pairwise(runs)]:
        first, end, axis, pieces = run[0].first, run[-1].end, run[0].axis, list[int]()
        for is_entry, parts in groupby(run, lambda part: part.is_entry):
            arrays = [part.array for part in parts]
            pieces += [_joined(new, axis, arrays, True)] if is_entry else arrays
        whole = _joined(new, axis, pieces)
        if end - first == step.shape[axis]:
            rest.append(share(new, step, (whole, new.constant(0.0))))
        else:
            attrs = {"index": (*[slice(None)] * axis, slice(first, end)), "shape": step.shape}
            rest.append(share(new, Step(OPS["scatter"], (), attrs, step.shape), (whole,)))
    return reduce(lambda a, b: share(new, step, (a, b)), rest)


def arranged(program: Program) -> Program:
    """The same steps, each as late as possible: see `latest`."""
    return _of_slots(program, latest(program))


def latest(program: Program) -> list[int]:
    """The slots, each step directly before its first use, so that few registers have to be spilled.

    The steps that lead to no output and no check are dropped.
    """
    first = program.first
    ahead = [*program.outputs, *[check.slot for check in program.checks]]
    order = dict.fromkeys(range(first))
    while ahead:
        slot = ahead[-1]
        needed = [] if slot in order else [x for x in program.steps[slot - first].operands if x not in order]
        if needed:
            ahead += needed
        else:
            order[ahead.pop()] = None
    return list(order)


def guards_first(program: Program) -> Program:
    """The same steps, in the order in which its checks need them: of several that do not hold, the first is found."""
    order = dict.fromkeys(range(program.first))
    for check in program.checks:
        order.update(dict.fromkeys(needed([check.slot], order, program.operands)))
    return _of_slots(program, [*order, *[x for x in range(program.first + len(program.steps)) if x not in order]])


def _of_slots(program: Program, kept: list[int]) -> Program:
    """The program of some of its slots, in an order in which operands precede each step."""
    inputs, first = len(program.inputs), program.first
    place = {slot: number for number, slot in enumerate(kept)}
    constants = [program.constants[slot - inputs] for slot in kept if inputs <= slot < first]
    steps = [(step, step.operands) for slot in kept if slot >= first for step in [program.steps[slot - first]]]
    read = [(check, check.slot) for check in program.checks]
    return assembled(program.inputs, constants, steps, program.outputs, read, place.__getitem__)


def key(program: Program) -> object:
    """A key that is equal for programs with the same steps."""
    return (
        tuple([given.shape for given in program.inputs]),
        tuple(map(frozen, program.constants)),
        tuple([(s.op.name, s.operands, frozen(s.attrs) if s.attrs else None) for s in program.steps]),
        program.outputs,
        tuple([(c.slot, c.read, frozen(c.outcome)) for c in program.checks]),
    )
