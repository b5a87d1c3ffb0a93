"""What can be said of code before it runs: what is computed at once, and which guards a statement runs under.

`sum(1/k**2 for k in 1..1000)` is a few operations on vectors and not a thousand times as many on numbers. That is
so where all that it does to numbers is done entry by entry: by operators and functions that are declared to be
pointwise, also in functions of the user that only compute, and by taking entries of a vector. To find that out, its
code is run on kinds in the place of values. Everything else, such as a condition, is computed for one
value after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from agrad.engine.core.context import afford
from agrad.engine.core.graph import Guard, touch
from agrad.engine.core.guards import joined
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import np
from agrad.grammar.run.guarded import Guarded, Names
from agrad.grammar.runtime.builtins import Closure, is_object
from agrad.grammar.syntax import ast

_FEW = 16  # values that are computed one by one
_DEEPEST = 20  # functions of the user that call each other
_ONE, _EACH = "one number", "a number for each value"


class _Unlike(Exception):
    """Something that may do to a vector what it does not do to each entry."""


@cache
def _pointwise() -> frozenset[Any]:
    """What is called for the operations on numbers that treat arrays entry by entry."""
    simple = [op for op in OPS.values() if op.scalar is not None and not op.signature.attributes and not op.variadic]
    return frozenset(op.call for op in simple if op.reach == "pointwise" and op.pure)


def at_once(machine: Any, function: Closure, values: Any) -> Tensor | None:
    """The values of a function of one number as a vector; None where it must be called for each."""
    is_vector = isinstance(values, Tensor) and len(values.shape) == 1
    if not (type(values) is range or is_vector) or len(values) < _FEW:
        return None
    tree = function.definition.tree
    if tree.conditions or not isinstance(tree.target, ast.Name):
        return None
    try:
        kind = _Followed(function).of(_EACH)
    except (_Unlike, AgradError, NameError):
        return None
    if kind is not _ONE and kind is not _EACH:
        return None
    afford("the values", (len(values),))
    if type(values) is range:
        values = tensor(np.arange(values.start, values.stop, values.step, dtype=np.float64))
    found = machine.call(function, (values,), {})
    return found if kind is _EACH else OPS["expand"].call(found, (len(values),))  # type: ignore[no-any-return]


class _Followed(Guarded):
    """Kinds in the place of values: one number, a number for each value, or a vector or function that is itself."""

    refused = _Unlike

    def __init__(self, function: Closure) -> None:
        super().__init__(None)
        self.names = Names(lambda name: self.kept(function.around[-1][name]))
        self.followed = function

    def of(self, kind: Any) -> Any:
        """The kind of what the function makes of one."""
        return self.called(self.own(self.followed), (kind,), {}, None)

    def kept(self, value: Any) -> Any:
        """The kind of a value; one function stands for another."""
        return self.own(value) if isinstance(value, Closure) else _kind_of(value)

    def check_operands(self, site: Any, left: Any, right: Any) -> None:
        """A product on paper is one of numbers, and of vectors not."""
        if site[0][1] is not None and left is right is _EACH:
            raise _Unlike

    def on_index(self, site: Any, value: Any, index: Any) -> Any:
        """An entry of a vector."""
        kind = _kind_of(index)
        if not isinstance(value, Tensor) or (kind is not _ONE and kind is not _EACH):
            raise _Unlike
        return kind

    def called(self, function: Any, args: tuple[Any, ...], keywords: dict[str, Any], span: Any) -> Any:
        """The kind of what a function makes of some kinds."""
        kinds = [*map(_kind_of, args)]
        if keywords or any(kind is not _ONE and kind is not _EACH for kind in kinds):
            raise _Unlike
        if isinstance(function, Closure) and self.inside <= _DEEPEST:
            return _kind_of(self.enter(function, args, {}))
        if getattr(function, "alone", function) not in _pointwise():
            raise _Unlike
        return _EACH if _EACH in kinds else _ONE


def _kind_of(value: Any) -> Any:
    """One number, a vector, or a function; each of the last two stands for itself."""
    if type(value) is float or value is _ONE or (isinstance(value, Tensor) and not value.shape):
        return _ONE
    if value is _EACH or callable(value) or (isinstance(value, Tensor) and len(value.shape) == 1):
        return value
    raise _Unlike


# Control dependence of names: `if x > 0: k = 2` makes k depend on a guard that no graph shows.
#
# A guard is active until the end of its statement. The names that the statement binds, in whatever branch, keep it: a
# later statement that uses such a name runs under the same guard.


def context(tree: Any, chosen: Mapping[str, Guard], names: Mapping[str, Any]) -> Guard | None:
    """The guards of the names that a statement uses, those in the functions it calls included."""
    guard: Guard | None = None
    seen: set[str] = set()
    waiting = [tree]
    while waiting:
        for name in {one.id for one in ast.loads(waiting.pop(), True)} - seen:
            seen.add(name)
            guard = joined(guard, chosen.get(name))
            value = names.get(name)
            if isinstance(value, Closure):
                waiting.append(value.definition.tree)
    return guard


def after(tree: Any, chosen: dict[str, Guard], guard: Guard | None, names: Mapping[str, Any]) -> dict[str, Guard]:
    """The guards of names after a statement that ran under a guard, or without one.

    The graphs that the statement bound depend on guards that came after them too, as in the last iteration of a loop.
    """
    bound, written = ast.given(tree)
    if guard is None:
        return {name: one for name, one in chosen.items() if name not in bound}
    values = {name: names.get(name) for name in written}
    # Not the leaves, which are what the user sets: no guard decides them.
    written -= {one for one, x in values.items() if isinstance(x, Tensor) and x.node.op is None and x.node.recorded}
    written |= {
        one.id for one in ast.loads(tree, True) if is_object(names.get(one.id))
    }  # whose attributes may be written
    for name in bound | written:
        value = names.get(name)
        if isinstance(value, Tensor) and value.node.op is not None:
            touch(value.node)
            value.node.guard = joined(value.node.guard, guard)
    return {**chosen, **dict.fromkeys(bound | written, guard)}
