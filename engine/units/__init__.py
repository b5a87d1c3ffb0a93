"""Units: of the leaves of a graph, of what is computed from them, and of derivatives.

A value is a number in coherent SI units; its unit belongs to its leaf. What is computed has the unit that the rules of
the operations give it (`Op.units`), which is inferred over the graph and never while computing. The functions here are
those of `quantity` for all who need not know whether there is any unit: if not, nothing of this folder is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, TypeVar

from agrad.engine.core.graph import Units
from agrad.lazy import lazy

__getattr__ = lazy(__name__)
_T = TypeVar("_T", bound=Any)


def _where_any(name: str) -> Callable[..., Any]:
    """A function of `quantity`; without any unit, the result is None."""
    return lambda *args, **more: getattr(__getattr__("quantity"), name)(*args, **more) if Units.exist else None


common, fitting, keep, note_gradients, plain_number, plain_only, unit_of, with_unit = map(
    _where_any, "common fitting keep note_gradients plain_number plain_only unit_of with_unit".split()
)


class Unmeasured:
    """What `infer.Function` is where nothing has a unit: it leaves functions and values as they are."""

    arguments, given, units = (), nullcontext, (None, None)
    argument = value = inferred = staticmethod(lambda x, *_: x)


def function(*given: Any) -> Any:
    """The units of the arguments of a function, and of its result: an `infer.Function`, if there are any units."""
    return __getattr__("infer").Function(*given) if Units.exist else Unmeasured


def asker() -> Callable[..., Any]:
    """What tells the unit of a node, or of the derivative of another one by it, in one inference; None without any."""
    own = __getattr__("quantity") if Units.exist else None
    return partial(own.inferred, own.Inference()) if own is not None else lambda node, root=None: None


def put(value: _T, unit: Any) -> _T:
    """Give a new value its unit, if there is one."""
    if unit is not None:
        value.node.recorded, value.node.unit = True, unit
    return value


def shown(value: Any, u: Any = None) -> tuple[Any, Any, str]:
    """The numbers of a value and of its uncertainty in the unit that it is shown in, and that unit; empty for none."""
    unit, number = unit_of(value), getattr(value, "value", value)
    own = __getattr__("quantity") if unit is not None else None
    return (number, u, "") if own is None else (own.in_unit(number, unit), own.scaled(u, unit), unit.text)
