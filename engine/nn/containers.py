"""Modules that hold other modules: Sequential, ModuleList and ModuleDict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from agrad.engine.errors import AgradError
from agrad.engine.nn.module import Module
from agrad.engine.values import describe, whole


class _Several(Module):
    """Modules in order, whose names are their places unless they are given."""

    def append(self, module: Module) -> Self:
        """Add a module at the end; returns itself."""
        if not isinstance(module, Module):
            raise AgradError("type", f"{type(self).__name__} takes modules, not {describe(module)}")
        setattr(self, str(len(self)), module)
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Module:
        names = list(self._modules)
        if isinstance(index, slice):
            return type(self)._of({name: self._modules[name] for name in names[index]})
        module: Module = self._modules[self._name_at(index)]
        return module

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def _name_at(self, index: Any) -> str:
        names: list[str] = list(self._modules)
        place = whole(index, "an index")
        if not -len(names) <= place < len(names):
            count = f"{len(names)} module{'' if len(names) == 1 else 's'}"
            raise AgradError("shape", f"index {place} is out of range: {type(self).__name__} has {count}")
        return names[place]

    @classmethod
    def _of(cls, modules: Mapping[str, Module]) -> Self:
        made = cls()
        for name, module in modules.items():
            setattr(made, name, module)
        return made


class Sequential(_Several):
    """Modules that are called one after the other, each with what the one before it returned."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                setattr(self, name, module)
            return
        for module in args:
            self.append(module)

    def forward(self, input: Any) -> Any:
        """The value of the last module."""
        value = input
        for module in self:
            value = module(value)
        return value


class ModuleList(_Several):
    """A list of modules, which belong to the module that has the list."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end; returns itself."""
        for module in modules:
            self.append(module)
        return self


class ModuleDict(Module):
    """Modules by names, which belong to the module that has the dictionary."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add modules, or replace those of the same names."""
        for name, module in modules.items() if isinstance(modules, Mapping) else modules:
            self[name] = module

    def keys(self) -> Iterable[str]:
        """The names."""
        return tuple(self._modules)

    def values(self) -> Iterable[Module]:
        """The modules."""
        return tuple(self._modules.values())

    def items(self) -> Iterable[tuple[str, Module]]:
        """The names with the modules."""
        return tuple(self._modules.items())

    def pop(self, name: str) -> Module:
        """The module of a name, which is taken out."""
        module = self[name]
        delattr(self, name)
        return module

    def clear(self) -> None:
        """Take all modules out."""
        for name in self.keys():
            delattr(self, name)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __getitem__(self, name: str) -> Module:
        if name not in self._modules:
            there = ", ".join(map(repr, self._modules)) or "none"
            raise AgradError("name", f"ModuleDict has no module {name!r}: there are {there}")
        module: Module = self._modules[name]
        return module

    def __setitem__(self, name: str, module: Module) -> None:
        if not isinstance(name, str) or not isinstance(module, Module):
            raise AgradError("type", f"ModuleDict has modules by names, not {describe(module)} by {describe(name)}")
        if name in dir(type(self)):
            raise AgradError("name", f"ModuleDict: {name!r} is a method of it, and cannot be the name of a module")
        setattr(self, name, module)

    def __delitem__(self, name: str) -> None:
        self.pop(name)
