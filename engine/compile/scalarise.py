"""A program of arrays as one of numbers: an instruction for each entry.

The array function of an operation that only moves, adds and multiplies entries is called with arrays of symbols, and
so writes down its own expansion; other operations may have one in their row (`entries`). The program is expanded
before it is differentiated: only then does it show which entries depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import add
from typing import Any

from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import OPS, Op
from agrad.engine.program.ir import GuardCheck, Input, Program, Rewriting, Step, shortened, spans
from agrad.engine.values import Value, format_shape, np, size_of

_MANY = 200_000  # instructions
_SIDE, _AT_ONCE = 8, 128  # sums that numpy computes side by side, and the entries that it sums up so


class _TooLong(Exception):
    """The program has more instructions than it may have."""


class Unexpanded(Exception):
    """There is no expansion of an operation, whose name and shape it has."""


class _Expansion(Rewriting):
    """A program of numbers under construction."""

    def __init__(self, program: Program, most: int, is_final: bool) -> None:
        super().__init__(program)
        self.most, self.is_final = most, is_final
        self.length = 0  # instructions, before equal ones are computed once
        self.suspect: int | None = None  # the reference of a number that is 0 unless an operation may have failed

    def apply(self, op: Op, operands: Iterable[Any], attrs: dict[str, Any]) -> _Scalar:
        """The result of an operation on numbers. Raises _TooLong."""
        if self.length >= self.most:
            raise _TooLong
        self.length += 1
        return _Scalar(self, shortened(self, Step(op, (), attrs, ()), tuple([reference_of(self, x) for x in operands])))

    def doubt(self, entries: Any) -> None:
        """What has these entries is computed otherwise if one of them is not finite."""
        if not entries.size:
            return
        total = np.add.reduce(entries, axis=None)
        zero = self.apply(OPS["sub"], (total, total), {})
        self.suspect = (zero if self.suspect is None else _Scalar(self, self.suspect) + zero).reference


def _method(name: str, is_reflected: bool = False) -> Callable[..., _Scalar]:
    def apply(self: _Scalar, *others: Any) -> _Scalar:
        return self.new.apply(OPS[name], (*others, self) if is_reflected else (self, *others), {})

    return apply


class _Scalar:
    """A number of the new program. Arithmetic with it adds instructions."""

    __slots__ = ("new", "reference")

    def __init__(self, new: _Expansion, reference: int) -> None:
        self.new = new
        self.reference = reference

    __add__, __radd__ = _method("add"), _method("add", True)
    __sub__, __rsub__ = _method("sub"), _method("sub", True)
    __mul__, __rmul__ = _method("mul"), _method("mul", True)
    __truediv__, __rtruediv__ = _method("div"), _method("div", True)
    __neg__, __abs__, sqrt = _method("neg"), _method("abs"), _method("sqrt")
    exceeds, differs, either, both = _method("greater"), _method("not_equal"), _method("maximum"), _method("minimum")
    choose = _method("where")  # of 1 and 0: the first where this is 1, else the second
    equals, exp, log, sign, power = _method("equal"), _method("exp"), _method("log"), _method("sign"), _method("pow")
    log1p = _method("log1p")


def reference_of(new: Rewriting, x: Any) -> int:
    """The reference of an entry, or of a number among entries."""
    return x.reference if isinstance(x, _Scalar) else new.constant(float(x))


def regular(value: Value) -> object:
    """What is read of the number that tells whether an expansion holds: it is 0, or nan."""
    return value == 0.0


def entry_names(inputs: Sequence[Input]) -> list[str]:
    """A name for each number of some inputs, as the language writes an entry."""
    return [
        f"{given.name}[{', '.join(map(str, index))}]" if index else given.name
        for given in inputs
        for index in np.ndindex(*given.shape)
    ]


def scalarised(program: Program, most: int = _MANY, is_final: bool = False) -> Program | None:
    """The program with a number for each entry of the inputs and outputs, in order.

    None where there is none, or none of at most so many instructions. A check that reads `regular` is none of the
    function: where it does not hold, as for a singular matrix, the program of arrays says what the result is.
    `is_final`: as `unrolled` does it.
    """
    if any(program.shape(check.slot) for check in program.checks):
        return None
    try:
        return _expansion(program, most, is_final)
    except (Unexpanded, _TooLong):
        return None


def unrolled(program: Program, most: int) -> Program | None:
    """The same of a program that is not differentiated further: more operations, which may round otherwise.

    None where there would be more instructions than `most`. Raises Unexpanded.
    """
    try:
        return _expansion(program, most, True)
    except _TooLong:
        return None


@quiet()
def _expansion(program: Program, most: int, is_final: bool) -> Program:
    shapes = [*[x.shape for x in program.inputs], *[x.shape for x in program.steps]]
    if sum(map(size_of, shapes)) > 4 * most:
        raise _TooLong
    new = _Expansion(program, most, is_final)
    new.inputs = tuple([Input(name, ()) for name in entry_names(program.inputs)])
    parts = zip(spans([size_of(given.shape) for given in program.inputs]), program.inputs, strict=True)
    slots: list[Any] = [_boxed([_Scalar(new, place) for place in places], given.shape) for places, given in parts]
    for constant in program.constants:
        numbers: list[float] = np.ravel(constant).tolist()
        if len(numbers) > 4 * most:
            raise _TooLong
        slots.append(_boxed([_Scalar(new, new.constant(x)) for x in numbers], np.shape(constant)))
    for step in program.steps:
        found = _expanded(new, step, [slots[x] for x in step.operands])
        if found is None:
            raise Unexpanded(f"{step.op.name} of shape {format_shape(np.shape(slots[step.operands[0]]))}")
        slots.append(found)
    outputs = [reference_of(new, x) for slot in program.outputs for x in slots[slot].ravel().tolist()]
    checks = {(reference_of(new, slots[c.slot].item()), c.read, c.outcome): c for c in program.checks}
    if new.suspect is not None:
        checks[new.suspect, regular, True] = GuardCheck(0, regular, True, "the matrices are regular")
    return new.program(outputs, checks)


def _expanded(new: _Expansion, step: Step, operands: list[Any]) -> Any:
    """The entries of a result; None where there is no instruction for them."""
    op = step.op
    if op.reach == "pointwise" and op.scalar is not None and "axis" not in step.attrs:
        spread = [x.ravel() if x.shape == step.shape else np.broadcast_to(x, step.shape).ravel() for x in operands]
        return _boxed([new.apply(op, xs, step.attrs) for xs in zip(*spread, strict=True)], step.shape)
    expand = op.entries or (op.array if op.moves_entries else None)
    found = _sum(step, operands[0]) if op.sums is not None else None
    if found is None and expand is not None:
        found = expand(*operands, **step.attrs)
    if found is None and new.is_final and op.unrolled is not None:
        found = op.unrolled(*operands, **step.attrs)
        if found is not None and not isinstance(found, _Scalar):  # another expansion may compute with its numbers
            made = [_Scalar(new, reference_of(new, x)) for x in np.ravel(found).tolist()]
            found = _boxed(made, np.shape(found))
    if found is None:
        return None
    entries = _boxed(list(np.ravel(found)) if isinstance(found, np.ndarray) else [found], step.shape)
    if not (op.moves_entries or op.total or (new.is_final and not op.domain)):
        new.doubt(entries)
    return entries


def _sum(step: Step, x: Any) -> Any:
    """A sum over the last axes, as numpy rounds it; None over others, whose entries numpy adds one after the other."""
    assert step.op.sums is not None
    axes, divisor = step.op.sums(x.shape, step.attrs)
    reduced = [axis for axis in range(x.ndim) if x.shape[axis] > 1 and axis in axes]
    others = [axis for axis in range(x.ndim) if x.shape[axis] > 1 and axis not in axes]
    if not x.size or (reduced and others and min(reduced) < max(others)):
        return None
    rows = x.reshape(size_of(step.shape), -1).tolist()
    sums = _boxed([_pairwise(row) for row in rows], step.shape)
    return sums if divisor == 1.0 else sums / divisor


def _pairwise(entries: Sequence[Any]) -> Any:
    """The sum of entries that lie next to each other, in numpy's order: eight sums side by side, of at most 128."""
    count = len(entries)
    if count < _SIDE:
        return reduce(add, entries)
    if count > _AT_ONCE:
        half = count // 2 - count // 2 % _SIDE
        return _pairwise(entries[:half]) + _pairwise(entries[half:])
    end = count - count % _SIDE
    sides = [reduce(add, entries[place:end:_SIDE]) for place in range(_SIDE)]
    while len(sides) > 1:
        sides = [a + b for a, b in zip(sides[::2], sides[1::2], strict=True)]
    return reduce(add, entries[end:], sides[0])


def _boxed(entries: list[Any], shape: tuple[int, ...]) -> Any:
    """Entries as an array of objects. numpy would store an array without axes that is assigned to one as the entry."""
    box = np.empty(len(entries), dtype=object)
    box[:] = [entry.item() if isinstance(entry, np.ndarray) else entry for entry in entries]
    return box.reshape(shape)
