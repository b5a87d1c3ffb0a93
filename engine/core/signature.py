"""How a function is called, as one line of text, and the binding of arguments to it."""

from __future__ import annotations

import ast
from typing import Any

from agrad.engine.errors import AgradError
from agrad.engine.struct import Struct, computed
from agrad.engine.text import divided
from agrad.engine.values import describe

# PyTorch's names for attributes with another name in NumPy, and so in agrad.
ALIASES = {
    "dim": "axis",
    "dims": "axis",
    "keepdim": "keepdims",
    "steps": "num",
    "correction": "ddof",
    "p": "ord",
    "min": "lo",
    "max": "hi",
    "min_val": "lo",
    "max_val": "hi",
    "negative_slope": "slope",
}
REQUIRED = object()  # the default of an attribute that has none


class Signature(Struct, eq=False, frozen=False):
    """How a function is called: `x, y` or `x; axis=None, keepdims=False` or `*xs; axis=0` or `x; *shape`.

    Before the semicolon are the operands (a star: one argument, a sequence of them), after it the attributes; a
    starred attribute takes all further arguments: reshape(x, 2, 3).
    """

    name: str
    text: str
    operands: tuple[str, ...] = computed()
    variadic: bool = computed()
    attributes: dict[str, Any] = computed()
    gathers: str | None = computed()

    def __post_init__(self) -> None:
        operands, _, attributes = self.text.partition(";")
        self.operands = tuple(name.strip(" *") for name in operands.split(",") if name.strip())
        self.variadic = "*" in operands
        self.attributes, self.gathers = {}, None
        for part in filter(None, (part.strip() for part in divided(attributes))):
            name, _, default = part.partition("=")
            if name.startswith("*"):
                name = self.gathers = name[1:]
            self.attributes[name] = ast.literal_eval(default) if default else REQUIRED

    @property
    def usage(self) -> str:
        """As it is typed: sum(x, axis=None, keepdims=False)."""
        parts = [part.strip() for text in self.text.split(";") for part in divided(text) if part.strip()]
        return f"{self.name}({', '.join(parts)})"

    def bind(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The operands, and every attribute by name; AgradError of kind `arity` if they do not fit."""
        if self.variadic:
            operands, rest = self._sequence(args), args[1:]
        else:
            given = list(args[: len(self.operands)])
            for name in self.operands[len(given) :]:
                if name not in keywords:
                    raise self._error(f"{self.name} needs {name}: {self.usage}")
                given.append(keywords[name])
                keywords = {key: value for key, value in keywords.items() if key != name}
            operands, rest = tuple(given), args[len(self.operands) :]
        if not self.attributes and not rest and not keywords:
            return operands, {}
        return operands, self._attributes(rest, keywords)

    def _attributes(self, rest: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
        attrs = dict(self.attributes)
        if self.gathers is not None and rest:
            attrs[self.gathers] = as_one(rest[0]) if len(rest) == 1 else rest
        elif len(rest) > len(attrs):
            extra = len(rest) - len(attrs)
            count = "one argument" if extra == 1 else f"{extra} arguments"
            raise self._error(f"{self.name} got {count} too many: {self.usage}")
        else:
            attrs.update(zip(attrs, rest, strict=False))
        for given, value in keywords.items():
            name = ALIASES.get(given, given) if given not in attrs else given
            if name not in attrs:
                raise self._error(f"{self.name} has no argument {given}: {self.usage}")
            attrs[name] = as_one(value) if name == self.gathers else value
        for name, value in attrs.items():
            if value is REQUIRED:
                raise self._error(f"{self.name} needs {name}: {self.usage}")
        return attrs

    def _sequence(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operands of a function of a sequence: the entries of its first argument."""
        if not args or isinstance(args[0], str) or not hasattr(args[0], "__iter__"):
            what = describe(args[0]) if args else "nothing"
            raise AgradError("type", f"{self.name} takes a list of values, not {what}: {self.usage}")
        operands = tuple(args[0])
        if not operands:
            raise self._error(f"{self.name} of an empty list: {self.usage}")
        return operands

    def _error(self, message: str) -> AgradError:
        return AgradError("arity", message)


def as_one(given: Any) -> Any:
    """A tuple that was given as one argument, as a list: a tuple holds arguments that were given one by one."""
    return [*given] if type(given) is tuple and given else given
