"""A program of arrays as one of numbers: an instruction for each entry.

Where few entries depend on each other, as in a chain, only such a program shows which.
"""

from __future__ import annotations

from typing import Any

from agrad.engine.core.op import OPS
from agrad.engine.program.ir import Input, Program, Step
from agrad.engine.program.passes import Rewriting, optimised
from agrad.engine.values import np

_MANY = 200_000  # instructions


class _Scalar:
    """A number of the new program. Arithmetic with it is an instruction."""

    __slots__ = ("new", "reference")

    def __init__(self, new: Rewriting, reference: int) -> None:
        self.new = new
        self.reference = reference

    def __add__(self, other: Any) -> _Scalar:
        return self._with("add", self, other)

    def __radd__(self, other: Any) -> _Scalar:
        return self._with("add", other, self)

    def __sub__(self, other: Any) -> _Scalar:
        return self._with("sub", self, other)

    def __rsub__(self, other: Any) -> _Scalar:
        return self._with("sub", other, self)

    def __mul__(self, other: Any) -> _Scalar:
        return self._with("mul", self, other)

    def __rmul__(self, other: Any) -> _Scalar:
        return self._with("mul", other, self)

    def __truediv__(self, other: Any) -> _Scalar:
        return self._with("div", self, other)

    def _with(self, name: str, left: Any, right: Any) -> _Scalar:
        operands = tuple([reference_of(self.new, x) for x in (left, right)])
        return _Scalar(self.new, self.new.step(Step(OPS[name], (), {}, ()), operands))


def reference_of(new: Rewriting, x: Any) -> int:
    """The reference of an entry, or of a number among entries."""
    return x.reference if isinstance(x, _Scalar) else new.constant(float(x))


def scalarised(program: Program) -> Program | None:
    """The program with a number for each entry of the inputs and outputs, in order; None where there is none."""
    if any(check.slot >= 0 and program.shape(check.slot) for check in program.checks):
        return None
    names = [(given, index) for given in program.inputs for index in np.ndindex(*given.shape)]
    new = Rewriting(program)
    new.inputs = tuple([Input(_scalar_name(given, index), ()) for given, index in names])
    slots: list[Any] = []
    taken = 0
    for given in program.inputs:
        count = int(np.prod(given.shape, dtype=int))
        slots.append(_boxed([_Scalar(new, taken + place) for place in range(count)], given.shape))
        taken += count
    for constant in program.constants:
        numbers = np.ravel(constant).tolist()
        slots.append(_boxed([_Scalar(new, new.constant(x)) for x in numbers], np.shape(constant)))
    for step in program.steps:
        found = _expanded(new, step, [slots[x] for x in step.operands])
        if found is None or len(new.steps) > _MANY:
            return None
        slots.append(found)
    outputs = [reference_of(new, x) for slot in program.outputs for x in slots[slot].ravel()]
    checks = {(slots[c.slot].item().reference, c.read, c.outcome): c for c in program.checks}
    return optimised(new.program(outputs, checks), again=True)


def _expanded(new: Rewriting, step: Step, operands: list[Any]) -> Any:
    """The entries of a result; None where there is no instruction for them."""
    op = step.op
    if op.reach == "pointwise" and op.scalar is not None and "axis" not in step.attrs:
        spread = [np.broadcast_to(x, step.shape).ravel() for x in operands]
        made = [
            _Scalar(new, new.step(Step(op, (), step.attrs, ()), tuple([reference_of(new, x) for x in xs])))
            for xs in zip(*spread, strict=True)
        ]
        return _boxed(made, step.shape)
    if not op.moves_entries:
        return None
    found = op.array(*operands, **step.attrs)
    return _boxed(list(np.ravel(found)) if isinstance(found, np.ndarray) else [found], step.shape)


def _boxed(entries: list[Any], shape: tuple[int, ...]) -> Any:
    """Entries as an array of objects. numpy keeps an array of no axes that was written to one as the entry itself."""
    box = np.empty(len(entries), dtype=object)
    box[:] = [entry.item() if isinstance(entry, np.ndarray) else entry for entry in entries]
    return box.reshape(shape)


def _scalar_name(given: Input, index: tuple[int, ...]) -> str:
    return f"{given.name}[{', '.join(map(str, index))}]" if index else given.name
