"""Modules that hold modules or parameters: in order, or by names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Self

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, PlaceError
from agrad.engine.nn.module import Mistyped, Module, indented
from agrad.engine.nn.parameter import is_parameter, parameter
from agrad.engine.values import describe, whole

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class _Holder(Module):
    """The base: modules, or parameters, which belong to the module that has this one."""

    store = "_modules"

    @property
    def _held(self) -> dict[str, Any]:
        held: dict[str, Any] = self.__dict__[self.store]
        return held

    def _checked(self, value: Any) -> Any:
        """What is held in the place of a value."""
        if not isinstance(value, Module):
            raise Mistyped("type", f"{type(self).__name__} takes modules, not {describe(value)}")
        return value

    def __len__(self) -> int:
        return len(self._held)


class _Parameters(_Holder):
    """Parameters; other arrays become parameters. `kind` is how PyTorch calls an array in the text."""

    store = "_parameters"
    kind = "torch.float64"

    def _checked(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            raise Mistyped("type", f"{type(self).__name__} takes parameters, not {describe(value)}")
        return value if is_parameter(value) else parameter(value)

    def extra_repr(self) -> str:
        """The shapes."""
        shapes = {name: "x".join(map(str, value.shape)) for name, value in self._held.items()}
        told = [f"  ({name}): Parameter containing: [{self.kind} of size {size}]" for name, size in shapes.items()]
        return "\n".join(told)


class _Several(_Holder):
    """In order: the names are places unless they are given."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(values or ())

    def append(self, module: Any) -> Self:
        """Add one at the end; returns itself."""
        setattr(self, str(len(self)), self._checked(module))
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several at the end; returns itself."""
        for value in [*values]:
            self.append(value)
        return self

    def insert(self, index: Any, module: Any) -> Self:
        """Add one before a place; returns itself."""
        values = [*self]
        values.insert(whole(index, "an index"), self._checked(module))
        return self._renew(values)

    def pop(self, index: Any) -> Any:
        """The one at a place, which is taken out."""
        value = self[index]
        del self[index]
        return value

    def _renew(self, values: Iterable[Any]) -> Self:
        values = [*values]
        for name in [*self._held]:
            delattr(self, name)
        return self.extend(values)

    def __iter__(self) -> Iterator[Any]:
        return iter([*self._held.values()])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            made = type(self)()
            for name in [*self._held][index]:
                setattr(made, name, self._held[name])
            return made
        return self._held[self._name_at(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        setattr(self, self._name_at(index), self._checked(value))

    def __delitem__(self, index: Any) -> None:
        names = [*self._held]
        gone = names[index] if isinstance(index, slice) else [self._name_at(index)]
        self._renew([value for name, value in self._held.items() if name not in gone])

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def __add__(self, values: Iterable[Any]) -> Self:
        return type(self)().extend(self).extend(values)

    def _name_at(self, index: Any) -> str:
        names: list[str] = [*self._held]
        place = whole(index, "an index")
        if not -len(names) <= place < len(names):
            count = f"{len(names)} module{'' if len(names) == 1 else 's'}"
            raise PlaceError("shape", f"index {place} is out of range: {type(self).__name__} has {count}")
        return names[place]


class Sequential(_Several):
    """Modules that are called one after the other, each with what the one before it returned."""

    def __init__(self, *args: Any) -> None:
        named = args[0] if len(args) == 1 and isinstance(args[0], Mapping) else {}
        super().__init__(() if named else args)
        for name, module in named.items():
            setattr(self, name, module)

    def forward(self, input: Any) -> Any:
        """The value of the last module."""
        value = input
        for module in self:
            value = module(value)
        return value


class ModuleList(_Several):
    """A list of modules, which belong to the module that has the list."""

    def __repr__(self) -> str:
        """As PyTorch prints it: equal neighbours once, with their number."""
        lines = []
        for text, group in groupby(self._held.items(), lambda pair: repr(pair[1])):
            names = [name for name, _ in group]
            several = f"({names[0]}-{names[-1]}): {len(names)} x " if len(names) > 1 else f"({names[0]}): "
            lines.append(indented(several + text))
        return f"{type(self).__name__}(\n  " + "\n  ".join(lines) + "\n)" if lines else f"{type(self).__name__}()"


class ParameterList(_Several, _Parameters):
    """A list of parameters, which belong to the module that has the list."""


class _Named(_Holder):
    """By names."""

    def __init__(self, values: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None) -> None:
        super().__init__()
        self.update(values or {})

    def update(self, values: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Add values, or replace those of the same names."""
        given = values.items() if hasattr(values, "items") else values
        for name, value in sorted(given) if self._what == "parameter" and type(values) is dict else given:
            self[name] = value

    def keys(self) -> Iterable[str]:
        """The names."""
        return tuple(self._held)

    def values(self) -> Iterable[Any]:
        """The modules, or parameters."""
        return tuple(self._held.values())

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names with the modules, or parameters."""
        return tuple(self._held.items())

    def pop(self, name: str) -> Any:
        """The one of a name, which is taken out."""
        value = self[name]
        delattr(self, name)
        return value

    def clear(self) -> None:
        """Take all out."""
        for name in self.keys():
            delattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, name: object) -> bool:
        return name in self._held

    def __getitem__(self, name: str) -> Any:
        if name not in self._held:
            there = ", ".join(map(repr, self._held)) or "none"
            raise AgradError("name", f"{type(self).__name__} has no {self._what} {name!r}: there are {there}")
        return self._held[name]

    def __setitem__(self, name: str, value: Any) -> None:
        kind, what = type(self).__name__, self._what
        if not isinstance(name, str) or not isinstance(value, Module if what == "module" else Tensor):
            raise Mistyped("type", f"{kind} has {what}s by names, not {describe(value)} by {describe(name)}")
        if name in dir(type(self)):
            raise AgradError("name", f"{kind}: {name!r} is a method of it, and cannot be the name of a {what}")
        setattr(self, name, self._checked(value))

    def __delitem__(self, name: str) -> None:
        self.pop(name)

    @property
    def _what(self) -> str:
        return self.store.strip("_s")


class ModuleDict(_Named):
    """Modules by names, which belong to the module that has the dictionary."""


class ParameterDict(_Named, _Parameters):
    """Parameters by names, which belong to the module that has the dictionary."""

    kind = "torch.DoubleTensor"
