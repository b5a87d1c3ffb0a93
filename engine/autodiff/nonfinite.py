"""Notes on gradients that are inf or nan."""

from __future__ import annotations

import re
from typing import Any, NoReturn

from agrad.engine.autodiff.reverse import walk
from agrad.engine.core.context import current
from agrad.engine.core.graph import Input, Node
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Label, Note
from agrad.engine.values import format_number, is_finite, np

# A derivative as a value, or of a function: the steps in it have the same text, but other operations.
_INSIDE = r"(torch\.autograd\.|functional\.)*(grad|jacobian|hessian|hvp|jvp|vjp)\("


def say_not_finite(order: list[Node], seeds: dict[Node, Any], found: dict[Node, Any]) -> None:
    """Tell the listener where the first inf or nan of a backward pass came from: a value, or else a derivative."""
    context = current()
    listener = _raise_anomaly if context.anomalies and _is_nan(found) else context.listener
    if listener is None or all(is_finite(_plain(value)) for value in found.values()):
        return
    seeds = {node: _plain(seed) for node, seed in seeds.items()}
    for node in reversed(order):
        operands = [x.value if isinstance(x, Node) else x for x in node.inputs]
        if node.op and not is_finite(node.value) and all(x is not None and is_finite(x) for x in operands):
            listener(not_finite_note(node, node.value, derivative=False))
            return
    culprits: list[tuple[Node, Any]] = []

    def watch(node: Node, position: int, g: Any, c: Any) -> None:
        if is_finite(g) and not is_finite(c):
            culprits.append((node, c))

    walk(order, seeds, False, watch=watch, hooks=False)
    if culprits:
        listener(not_finite_note(*culprits[0], derivative=True))
    elif listener is _raise_anomaly:
        listener(Note("a gradient is nan"))


def _is_nan(found: dict[Node, Any]) -> bool:
    """Whether a gradient has a nan."""
    values = (_plain(value) for value in found.values())
    return any(value != value if isinstance(value, float) else bool(np.isnan(value).any()) for value in values)


def _raise_anomaly(note: Note) -> NoReturn:
    """Make an error of the note."""
    raise AgradError("grad", note.message, labels=note.labels)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Tensor) else value


def not_finite_note(node: Node, found: Any, derivative: bool) -> Note:
    """Where the first inf or nan of a pass began: `found` is the value of the node, or a contribution of its rule."""
    name = node.spell()
    here = name
    if node.op is not None and node.name is None:
        if node.origin is None:
            here = node.op.name
        elif re.match(_INSIDE, name):
            here = f"{node.op.name} in {name}"
    here = f"the derivative of {here} is" if derivative else f"{here} is"
    index = None if isinstance(found, float) else np.unravel_index(int(np.argmin(np.isfinite(found))), found.shape)
    number = format_number(float(found if index is None else found[index]))
    operands = list(dict.fromkeys(filter(None, (_shown(x, found, index, name) for x in node.inputs))))
    place = f" at {', '.join(operands)}" if operands else ""
    labels = [Label(node.origin)] if node.origin is not None else []
    return Note(f"a gradient is inf or nan: {here} {number}{place}", labels=labels)


def _shown(operand: Input, found: Any, index: Any, here: str) -> str:
    """An operand with its value, or the entry of an array at the same index; nothing for a nameless constant."""
    if not isinstance(operand, Node):
        return ""
    name, value = operand.spell(), operand.value
    inside = name == here  # a step of the same expression, which has no name
    if isinstance(value, float):
        return format_number(value) if inside else f"{name} = {format_number(value)}"
    if value is None or index is None or value.shape != found.shape:
        return "" if inside else name
    entry = format_number(float(value[index]))
    return entry if inside else f"{name}[{', '.join(str(int(i)) for i in index)}] = {entry}"
