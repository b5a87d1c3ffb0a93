"""What can be called, and what has a value by itself: the engine's table, constants, the language's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agrad.engine.errors import AgradError
from agrad.engine.op import FUNCTIONS, Entry, composed
from agrad.engine.tensor import Tensor, tensor
from agrad.engine.values import describe, whole

if TYPE_CHECKING:
    from agrad.grammar.interpreter import Machine

__all__ = ["CONSTANTS", "FUNCTIONS", "Closure", "as_tensor"]

CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "tau": math.tau}


class Closure:
    """A function that the user defined: its code, the values of its defaults, and the names around it."""

    __slots__ = ("definition", "defaults", "machine", "scopes")

    def __init__(
        self, definition: Any, defaults: tuple[Any, ...], machine: Machine, scopes: tuple[dict[str, Any], ...]
    ) -> None:
        self.definition = definition
        self.defaults = defaults
        self.machine = machine
        self.scopes = scopes

    @property
    def __name__(self) -> str:
        """As it was defined."""
        name: str = self.definition.name
        return name

    @property
    def usage(self) -> str:
        """How it is called: f(x, y=2)."""
        required = len(self.definition.parameters) - len(self.defaults)
        given = [*self.definition.parameters[:required]]
        given += [f"{name}=…" for name in self.definition.parameters[required:]]
        return f"{self.definition.name}({', '.join(given)})"

    def bind(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        """The parameters with their values; AgradError of kind `arity` where they do not fit."""
        parameters, name = self.definition.parameters, self.definition.name
        if len(args) > len(parameters):
            raise AgradError("arity", f"{name} takes {_count(len(parameters))}, and got {len(args)}: {self.usage}")
        bound = dict(zip(parameters, args, strict=False))
        for key, value in keywords.items():
            if key not in parameters:
                raise AgradError("arity", f"{name} has no argument {key}: {self.usage}")
            if key in bound:
                raise AgradError("arity", f"{name} got {key} twice: {self.usage}")
            bound[key] = value
        required = len(parameters) - len(self.defaults)
        for key, value in zip(parameters[required:], self.defaults, strict=True):
            bound.setdefault(key, value)
        missing = [key for key in parameters if key not in bound]
        if missing:
            raise AgradError("arity", f"{name} needs {' and '.join(missing)}: {self.usage}")
        return bound

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call it from Python, as the engine does to differentiate it."""
        return self.machine.call(self, args, keywords)

    def __str__(self) -> str:
        return f"function {self.usage}"


def _count(number: int) -> str:
    return "no arguments" if number == 0 else "1 argument" if number == 1 else f"{number} arguments"


def as_tensor(value: Any, what: str) -> Tensor:
    """A handle on a value; AgradError of kind `type` for what is no number."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, int | float):
        return tensor(value)
    raise AgradError("type", f"{what} needs a number or an array, not {describe(value)}")


@composed(
    "range",
    "start; stop=None, step=1",
    family="graph",
    doc="Whole numbers for a loop: range(3) is 0, 1, 2; range(1, 7, 2) is 1, 3, 5.",
    example="sum(0) == 0",
)
def _range(start: Any, stop: Any, step: Any) -> range:
    ends = (0, start) if stop is None else (start, stop)
    first, last = (_counted(end, "an end of a range") for end in ends)
    stride = _counted(step, "the step of a range")
    if stride == 0:
        raise AgradError("domain", "the step of a range cannot be 0")
    return range(first, last, stride)


def _counted(value: Any, what: str) -> int:
    number = whole(value, what)
    if abs(number) > 2**53:
        raise AgradError("limit", f"{what} is at most 2**53: from there on a number does not know its neighbours")
    return number


@composed("len", "x", family="graph", doc="The length of the first axis.", example="len([1, 2, 3]) == 3")
def _len(x: Any) -> float:
    if isinstance(x, tuple | str | range):
        return float(len(x))
    return float(len(as_tensor(x, "len")))


@composed("float", "x", family="graph", doc="A value of one entry as a plain number.", example="float([2]) == 2")
def _float(x: Any) -> float:
    return as_tensor(x, "float").item()


@composed("int", "x", family="graph", doc="A number without its fraction.", example="int(-2.5) == -2")
def _int(x: Any) -> float:
    number = as_tensor(x, "int").item()
    return float(math.trunc(number)) if math.isfinite(number) else number


def entry_of(function: Callable[..., Any]) -> Entry | None:
    """The entry of the table that a function is called through."""
    entry = FUNCTIONS.get(getattr(function, "__name__", ""))
    return entry if entry is not None and entry.call is function else None
