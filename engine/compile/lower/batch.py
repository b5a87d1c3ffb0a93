"""Programs over a batch: the same computed for several values of some inputs at once, along a new first axis.

What does not depend on these inputs is computed once. An operation entry by entry broadcasts; for the others that a
product with a derivative consists of, the fact `batched` of the row moves their axes. Other operations have none, and
the caller computes one value after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from agrad.engine.core.context import scope
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.program.ir import Program, Step
from agrad.engine.program.passes import optimised
from agrad.engine.program.trace import checked, entered, extract, handle_of, recorded, recording
from agrad.engine.values import Shape, Value


class NotBatched(Exception):
    """An operation has no rule for a batch."""


def batched(program: Program, values: Sequence[Value], which: Collection[int], count: int) -> Program:
    """The program in which the inputs `which`, and the outputs, have a new first axis of so many entries.

    `values` are those of its inputs at which it is traced. Raises NotBatched.
    """
    with recording(), scope(listener=None, undefined=None), quiet():
        xs = [entered(value, False) for value in values]
        for x in xs:
            x.node.value = x.value
        slots: list[Any] = [x.node for x in xs] + list(program.constants)
        batch = set(which)
        for slot, step in enumerate(program.steps, program.first):
            if batch.isdisjoint(step.operands):
                slots.append(recorded(step.op, tuple([slots[x] for x in step.operands]), step.attrs))
                continue
            given = [(handle_of(slots[x]), x in batch, program.shape(x)) for x in step.operands]
            found = _over(step, given, count)
            if not isinstance(found, Tensor) or found.shape != (count, *step.shape):
                raise NotBatched(step.op.name)
            found.node.value = found.value
            slots.append(found.node)
            batch.add(slot)
        if not batch.isdisjoint(check.slot for check in program.checks):
            raise NotBatched("a guard")
        outputs = []
        for slot in program.outputs:
            y = handle_of(slots[slot])
            outputs.append(y if slot in batch else OPS["expand"].call(y, (count, *y.shape)))
        names = [given.name for given in program.inputs]
        made = extract([*outputs, *[handle_of(slots[check.slot]) for check in program.checks]], xs, names, None)
    return optimised(checked(made, program.checks))


Given = tuple[Tensor, bool, Shape]  # an operand, whether it has the new axis, and its shape without


def _over(step: Step, given: list[Given], count: int) -> Any:
    """An operation of which some operands have the new axis."""
    if step.op.reach == "pointwise" and step.op.scalar is not None:
        return step.op.call(*[_aligned(*one, len(step.shape)) for one in given], **step.attrs)
    if step.op.batched is None:
        raise NotBatched(step.op.name)
    try:
        return step.op.batched(given, step.attrs, count)
    except AgradError as problem:
        raise NotBatched(step.op.name) from problem


def _aligned(x: Tensor, is_batched: bool, shape: Shape, axes: int) -> Tensor:
    """An operand with as many axes as the result, so that the new one is the first of both."""
    if not is_batched or len(shape) == axes:
        return x
    return OPS["reshape"].call(x, (x.shape[0], *(1,) * (axes - len(shape)), *shape))  # type: ignore[no-any-return]
