"""Views: what shares its data with another value in PyTorch, and is a copy here.

`x[0]`, `x.T`, `x.view(4)` and the rows of a loop are copies. A write into one would change `x` in PyTorch, and here it
would be lost without a word. So each copy remembers what it was taken from, as long as that exists, and the write is
refused, or noted where the copy is a plain number.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agrad.engine.core.context import current
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label, Note
from agrad.engine.values import format_number
from agrad.grammar.runtime.builtins import parts_of
from agrad.grammar.runtime.compiler import lost_write
from agrad.grammar.syntax import ast
from agrad.grammar.values.lists import is_mask

# The functions whose results share the data of their first argument in PyTorch, and other names of such methods.
VIEWERS: frozenset[Callable[..., Any]] = frozenset(entry.call for entry in FUNCTIONS.values() if entry.shares)
METHODS = frozenset({"view", "t"})
ATTRIBUTES = frozenset({"T", "mT"})
# What shares its data with a value here as well: a write into it is lost where one into the value is.
ALIASES = frozenset({"data", "detach", "numpy"})


def carry(alias: Any, value: Any) -> None:
    """Let an alias of a value be refused as the value is."""
    bases = getattr(value, "view_of", None)
    if bases is not None and type(alias) is Tensor:
        alias.view_of = bases


def mark(made: Any, base: Any) -> None:
    """Remember that a value was taken from another."""
    if type(made) is not Tensor or not isinstance(base, Tensor) or made is base:
        if type(made) is tuple:
            for part in made:
                mark(part, base)
        return
    if not made.shape and is_mask(base):
        made.is_truth = True
    bases = [known for known in getattr(base, "view_of", ()) if known() is not None]
    storage = base.node.storage
    shared = tuple(storage.nodes) if storage is not None and base.node.op is None else ()
    made.view_of = (*bases, weakref.ref(base), *shared)


def rows_of(array: Tensor) -> Iterator[Tensor]:
    """The entries of an array along its first axis, as a loop takes them."""
    for position in range(len(array)):
        row = array[position]
        mark(row, array)
        yield row


def is_basic(index: Any) -> bool:
    """Whether an index takes a view in PyTorch: whole numbers and slices, and not a mask or a list of places."""
    parts = index if isinstance(index, tuple) else (index,)
    return not any(getattr(part, "shape", ()) or isinstance(part, list | tuple) for part in parts)


def lost_base(target: Any, places: Callable[[], Iterable[Any]]) -> Tensor | None:
    """What a write into a value would change in PyTorch, and does not here; None if nothing that is still in use.

    `places`: the values that are in use.
    """
    bases = getattr(target, "view_of", None) if type(target) is Tensor else None
    alive = [base for reference in bases or () if (base := reference()) is not None]
    if not alive:
        return None
    tensors = (one for one in parts_of(places()) if isinstance(one, Tensor))
    return next((one for one in tensors if any(one is x or one.node is x for x in alive)), None)


def check_write(target: Any, places: Callable[[], Iterable[Any]], written: ast.Expr, text: str) -> None:
    """Refuse a write into a copy of a part of something; note it where the copy is a plain number.

    `written`: the value that is written into, as typed; `text`: the write. Raises AgradError of kind `type`.
    """
    base = lost_base(target, places)
    if base is None:
        return
    name, node = written.span.text, target.node
    known = base.node.name
    if not node.shape and not node.recorded and isinstance(written, ast.Name):
        listener = current().listener
        del target.view_of
        if listener is not None:
            message = f"{name} is a number of its own: {known or 'what it was taken from'} stays as it is"
            fixes = [Hint(f"{known or 'x'}[0] += 1   changes an entry, as this would in PyTorch")]
            listener(Note(message, labels=[Label(written.span)], fixes=fixes))
        return
    raise lost_write(written, text, known)


def check_number(target: Any, written: ast.Expr, method: str) -> None:
    """Refuse a method that would change a plain number in its place: what it changes is a new tensor, which is lost.

    `written`: what the method is called on, as typed. Raises AgradError of kind `type`.
    """
    if not isinstance(target, float) or not isinstance(written, ast.Name | ast.Index | ast.Attribute):
        return
    name, leaf = written.span.text, method == "requires_grad_"
    fix = f"{name} = tensor({name})   before it"
    if leaf:
        new = f"var {name} = {format_number(target, None)}"
        fix = f"{new if isinstance(written, ast.Name) else f'{name} = tensor({name}, requires_grad=True)'}   instead"
    message = f"{name} is the number {format_number(target)}, not a tensor, and .{method}() would change nothing"
    raise AgradError("type", message, labels=[Label(written.span)], fixes=[fix])
