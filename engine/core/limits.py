"""The limit of memory for one result, checked before the result is made.

The memory of several results together is limited by the operating system, if the command line sets that
(`Limits.ceiling`); the MemoryError is reported with the same message.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agrad.engine.core.context import current, machine_memory
from agrad.engine.errors import AgradError
from agrad.engine.text import truncate
from agrad.engine.values import Shape, Value, format_bytes, format_shape, size_of, whole_as_float

if TYPE_CHECKING:
    from agrad.engine.core.op import Op

_NUMBER = 8  # bytes
_LONGEST = 40  # characters of an expression in a message


def allow(memory: float) -> None:
    """Set how many bytes one result may take, in this thread or session."""
    current().limits.allow(memory)


def afford(name: str, *shapes: Shape) -> None:
    """Refuse results of these shapes if they need more memory than allowed; `name` is the operation."""
    entries = 0
    for shape in shapes:
        entries += size_of(shape)
    if entries > current().limits.entries:
        raise _refusal(name, shapes[0], entries)


def afford_spread(op: Op, values: Sequence[Value]) -> None:
    """The same for operands of a pointwise operation, which would be spread to one large shape."""
    most = 1
    for value in values:
        if type(value) is not float:
            most *= value.size  # type: ignore[union-attr]
    if most > current().limits.entries:
        shapes = [value.shape for value in values if not isinstance(value, float)]
        axes = max(map(len, shapes))
        aligned = [(1,) * (axes - len(shape)) + shape for shape in shapes]
        afford(op.name, tuple(map(max, *aligned)) if len(aligned) > 1 else aligned[0])


def exhausted(name: str, error: MemoryError) -> AgradError:
    """The error for a MemoryError while `name` was computed. numpy's gives the shape that did not fit."""
    shape = getattr(error, "shape", None)
    if shape is not None and size_of(shape) > current().limits.entries:
        return _refusal(name, shape, size_of(shape))
    need = size_of(shape) * _NUMBER if shape is not None else None
    memory = current().limits.memory
    there, room = format_bytes(memory), f" for the {format_bytes(need)} of" if need else " for"
    message = f"there is not enough memory{room} {_subject(name)}; the limit is {there}"
    return AgradError("limit", message, fixes=_advice(memory + (need or memory)))


def _refusal(name: str, shape: Shape, entries: int) -> AgradError:
    need = whole_as_float(entries) * _NUMBER
    what = _subject(f"{name} of shape {format_shape(shape)}")
    message = f"{what} needs {format_bytes(need)}; the limit is {format_bytes(current().limits.memory)}"
    there = machine_memory()
    notes = [f"this machine has {format_bytes(there)}"] if need > there else []
    return AgradError("limit", message, notes=notes, fixes=_advice(need))


def _advice(need: float) -> list[str]:
    """The fix that allows so much, if the machine has it."""
    return [current().limits.advice.format(math.ceil(need / 1e9))] if need <= machine_memory() else []


def _subject(otherwise: str) -> str:
    """The expression that is being evaluated, as typed; from Python, a phrase."""
    origin = current().origin
    text = origin.text if origin is not None else otherwise
    return truncate(text, _LONGEST)
