"""What is worth saying about a result that stands."""

from __future__ import annotations

from typing import Any

from agrad.engine.errors import Label, Note
from agrad.engine.graph import Input, Node
from agrad.engine.state import STATE
from agrad.engine.values import format_number, is_finite, np
from agrad.engine.walk import walk


def say_not_finite(order: list[Node], seeds: dict[Node, Any], found: dict[Node, Any]) -> None:
    """Tell the listener where the first inf or nan of a walk came from: a value, or else a derivative."""
    if all(is_finite(value) for value in found.values()) or STATE.listener is None:
        return
    for node in reversed(order):
        operands = [x.value if isinstance(x, Node) else x for x in node.inputs]
        if node.op and not is_finite(node.value) and all(x is not None and is_finite(x) for x in operands):
            STATE.listener(not_finite_note(node, node.value, derivative=False))
            return
    culprits: list[tuple[Node, Any]] = []

    def watch(node: Node, position: int, g: Any, c: Any) -> None:
        if is_finite(g) and not is_finite(c):
            culprits.append((node, c))

    walk(order, seeds, False, watch=watch)
    if culprits:
        STATE.listener(not_finite_note(*culprits[0], derivative=True))


def not_finite_note(node: Node, found: Any, derivative: bool) -> Note:
    """Where the first inf or nan of a walk began: `found` is the value of the node, or a contribution of its rule."""
    here = f"the derivative of {node.spell()} is" if derivative else f"{node.spell()} is"
    index = None if isinstance(found, float) else np.unravel_index(int(np.argmin(np.isfinite(found))), found.shape)
    number = format_number(float(found if index is None else found[index]))
    operands = list(dict.fromkeys(filter(None, (_shown(x, found, index) for x in node.inputs))))
    place = f" at {', '.join(operands)}" if operands else ""
    labels = [Label(node.origin)] if node.origin is not None else []
    return Note(f"a gradient is inf or nan: {here} {number}{place}", labels=labels)


def _shown(operand: Input, found: Any, index: Any) -> str:
    """An operand with its value, of an array the entry at the same place; nothing for a nameless constant."""
    if not isinstance(operand, Node):
        return ""
    name, value = operand.spell(), operand.value
    if isinstance(value, float):
        return f"{name} = {format_number(value)}"
    if value is None or index is None or value.shape != found.shape:
        return name
    return f"{name}[{', '.join(str(int(i)) for i in index)}] = {format_number(float(value[index]))}"
