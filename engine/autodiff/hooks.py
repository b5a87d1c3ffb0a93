"""Hooks: functions that see, and may change, the gradient of a value while a backward passes it.

A hook belongs to the node of its value. The pass calls it once, with the whole gradient of that pass: before it is
added to a leaf, and before it goes on to the operands of a computed value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any
from weakref import WeakSet

from agrad.engine.core.context import current, scope
from agrad.engine.core.graph import Node, new_node
from agrad.engine.core.tensor import Tensor, bare
from agrad.engine.errors import AgradError
from agrad.engine.values import coerce, describe, format_shape, shape_of

HOOKED: WeakSet[Node] = WeakSet()  # while there is one, no backward is computed by a program, which has no hooks
_next = count(1).__next__


class Handle:
    """What `register_hook` returns: `remove()` takes the hook away."""

    __slots__ = ("_hook", "_number")

    is_object = True

    def __init__(self, hook: Tensor, number: int) -> None:
        self._hook = hook
        self._number = number

    def remove(self) -> None:
        """Remove the hook. Does nothing if that was done before."""
        node = self._hook.node
        _set(node, tuple(hook for hook in node.hooks if hook[0] != self._number))

    def _shown(self, text: Callable[[Any], str]) -> str:
        return f"hook of {self._hook.node.spell()}"


def register_hook(value: Tensor, hook: Callable[[Tensor], Any]) -> Handle:
    """Call a function with the gradient of a value in each backward that reaches it.

    What the function returns takes the place of the gradient; None leaves it as it is.
    """
    name = value.node.spell()
    if not value.requires_grad:
        raise AgradError("grad", f"{name} has no gradient to hook: it does not require grad")
    if not callable(hook):
        raise AgradError("type", f"a hook is a function of the gradient, not {describe(hook)}")
    if current().tracing is not None:
        raise AgradError("type", "a function with a hook cannot be compiled")
    number = _next()
    _set(value.node, (*value.node.hooks, (number, hook)))
    return Handle(value, number)


def clear(value: Tensor) -> None:
    """Remove all hooks of a value."""
    _set(value.node, ())


def _set(node: Node, hooks: tuple[tuple[int, Callable[[Tensor], Any]], ...]) -> None:
    """Replace the hooks of a node; a statement that fails restores them."""
    log = current().undo_log
    if log is not None:
        log.remember((node, "hooks"), partial(_put, node, node.hooks))
    _put(node, hooks)


def _put(node: Node, hooks: tuple[tuple[int, Callable[[Tensor], Any]], ...]) -> None:
    node.hooks = hooks
    if hooks:
        HOOKED.add(node)
    else:
        HOOKED.discard(node)


def hooked(node: Node, g: Any, create_graph: bool) -> Any:
    """The gradient of a node after its hooks; the same object if they did not change it.

    Raises AgradError of kind `shape` or `type` for what does not fit the value.
    """
    for _, hook in node.hooks:
        given = g if isinstance(g, Tensor) else bare(new_node(None, (), None, g, node.shape, False))
        with scope(recording=create_graph):
            found = hook(given)
        if found is not None:
            g = _checked(node, found, create_graph)
    return g


def _checked(node: Node, found: Any, create_graph: bool) -> Any:
    value = found if isinstance(found, Tensor) else coerce(found)
    shape = value.shape if isinstance(value, Tensor) else shape_of(value)
    if shape != node.shape:
        given, wanted = format_shape(shape), format_shape(node.shape)
        raise AgradError("shape", f"the hook of {node.spell()} returned shape {given}: its gradient has {wanted}")
    return value.value if isinstance(value, Tensor) and not create_graph else value
