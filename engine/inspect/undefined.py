"""Results that are nan though no operand is, such as log(-1): where they began.

A session tells of them once for each statement whose own result is nan. Nothing of this takes time where there is no
such result. On floats, Python's arithmetic raises where an operation is not defined, and `ieee` then computes it; on
arrays, numpy calls back where the processor has met an invalid operation. Both are kept in `Context.undefined`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any

from agrad.engine.autodiff.anomalies import remedies
from agrad.engine.core import dispatch
from agrad.engine.core.context import MOST_UNDEFINED as MOST
from agrad.engine.core.context import current
from agrad.engine.core.graph import Node
from agrad.engine.errors import Hint, Label, Note, Origin
from agrad.engine.values import format_number, has_nan, np

if TYPE_CHECKING:
    from agrad.engine.core.op import Op
    from agrad.engine.core.tensor import Tensor

_FRAMES = 12  # between a function of numpy and the operation that calls it
# What computes an operation on arrays: how its operands and attributes are found in its frame.
_COMPUTING: dict[CodeType, Callable[[dict[str, Any]], tuple[Sequence[Any], dict[str, Any]]]] = {
    dispatch.on_arrays.__code__: lambda names: (names["values"], names["attrs"]),
    dispatch.of_one.__code__: lambda names: ((names["a"],), names["attrs"]),
    dispatch.of_two.__code__: lambda names: ((names["a"], names["b"]), {}),
    dispatch.of_pair.__code__: lambda names: ((names["a"], names["b"]), names["attrs"]),
}


def on_invalid(kind: str, flag: int) -> None:
    """What numpy calls: the operation under way is found by its frame, and computed again to count its results."""
    context = current()
    kept = context.undefined
    if kept is None or len(kept) >= MOST:
        return
    frame: Any = sys._getframe(1)
    for _ in range(_FRAMES):
        if frame is None:
            return
        read = _COMPUTING.get(frame.f_code)
        if read is not None:
            op = frame.f_locals["op"]
            values, attrs = read(frame.f_locals)
            with np.errstate(all="ignore"):
                kept.append((op, values, op.array(*values, **attrs), context.origin))
            return
        frame = frame.f_back
    kept.append((None, (), None, None))  # in generated code


def first_note(kept: Sequence[tuple[Op | None, Sequence[Any], Any, Origin | None]]) -> Note | None:
    """A note on the first of the results that were kept that is nan though no operand is."""
    notes = (undefined_note(op, *rest) for op, *rest in kept if op is not None)
    return next((note for note in notes if note is not None), None)


def undefined_note(op: Op, values: Sequence[Any], out: Any, origin: Origin | None) -> Note | None:
    """`log(x) is nan: log of -1`; None where no result is nan, or it came from an operand that is."""
    text = origin.text if origin is not None else op.name
    if type(out) is float and all(type(value) is float for value in values):
        if out == out or any(value != value for value in values):
            return None
        called = _called(op, values)
        is_said = "".join(text.split()) == "".join(called.split())
        said, fixes = f"{text} is nan{'' if is_said else f': {called}'}", remedies(op, text, values)
    else:
        found = _of_arrays(op, text, values, np.isnan(np.asarray(out)))
        if found is None:
            return None
        said, fixes = found
    if origin is None:
        return Note(said, of_numbers=True)
    return Note(said, labels=[Label(origin)], fixes=fixes, of_numbers=True)


def _of_arrays(op: Op, text: str, values: Sequence[Any], bad: Any) -> tuple[str, list[str]] | None:
    """The same for an operation on arrays, whose `bad` entries are nan, with what to write instead."""
    for value in values:
        came = np.isnan(np.asarray(value, dtype=float))
        if came.any() and (op.reach != "pointwise" or bad.shape != np.broadcast_shapes(bad.shape, came.shape)):
            return None
        bad = bad & ~came if op.reach == "pointwise" else bad
    count = int(bad.sum())
    if not count:
        return None
    index = tuple(int(place) for place in np.unravel_index(int(np.argmax(bad)), bad.shape))
    several, place = f"{count} of {bad.size} entries", f"at [{', '.join(map(str, index))}]"
    if op.reach == "pointwise" and bad.shape:
        first = [float(np.broadcast_to(np.asarray(value), bad.shape)[index]) for value in values]
        said = f"{text} is nan in {several}: {_called(op, first)} {place}"
        return said, remedies(op, text, first, is_array=True)
    why = op.fails.undefined(*values) if op.fails.undefined is not None else None
    said = f"{text} is nan" + (f" in {several}, the first {place}" if bad.size > 1 else "")
    if why is not None:
        return f"{said}: {op.name} {why[0]}", [Hint(why[1])]
    is_empty = any(0 in np.shape(value) for value in values)
    return f"{said}: {op.name} {'of no entries' if is_empty else 'is not defined there'}", []


def _called(op: Op, values: Sequence[float]) -> str:
    """`log(-1)`, or `(-8) ** 0.5`."""
    numbers = [format_number(value) for value in values]
    if op.operator is not None and len(numbers) == 2:
        return f" {op.operator.sign} ".join(f"({x})" if x.startswith("-") else x for x in numbers)
    return f"{op.name}({', '.join(numbers)})"


def undefined_behind(root: Node, is_new: Callable[[Node], bool]) -> tuple[bool, Note | None]:
    """Where the nan of a value with a graph began: whether that is known, and a note, if `is_new` holds there."""
    node = root
    if node.op is None:
        return False, None  # its data were written
    while node.op is not None:
        values = [_value_of(x) if type(x) is Node else x for x in node.inputs]
        bad = [x for x, value in zip(node.inputs, values, strict=True) if has_nan(value)]
        if not bad and any(value is None for value in values):
            return False, None
        if not bad:
            found = node.value if is_new(node) else None
            note = None if found is None else undefined_note(node.op, values, found, node.origin)
            return node.value is not None, note
        if type(bad[0]) is not Node:
            break
        node = bad[0]
    return True, None  # it came in


def _value_of(node: Node) -> Any:
    """The value of a node; also of one that was not kept, if it has no entries."""
    return np.empty(node.shape) if node.value is None and 0 in node.shape else node.value


def tell_of_replay(roots: Sequence[Tensor], before: int) -> None:
    """Give a note on each root that a replay made nan; `before` it, so many operations had been kept."""
    context = current()
    kept = context.undefined or []
    for root in roots:
        if has_nan(root.value):
            is_known, note = undefined_behind(root.node, lambda _: True)
            note = note if is_known else first_note(kept[before:])
            if note is not None and context.listener is not None:
                context.listener(note)
    del kept[before:]
