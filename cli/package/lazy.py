"""Modules are loaded when they are first used, where a run may do without them.

`import agrad` is enough for `agrad.cli.output.tell`, and `rare.textwrap.fill` is one of Python's own. Patterns are
compiled, and the rows of tables made, in the same way.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar, cast

E = TypeVar("E")


def lazy(package: str) -> Callable[[str], ModuleType]:
    """The `__getattr__` of a package (PEP 562) that loads a module of its own."""

    def load(name: str) -> ModuleType:
        if not name.startswith("_"):
            try:
                return import_module(f"{package}.{name}")
            except ModuleNotFoundError as problem:
                if problem.name != f"{package}.{name}":
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])

    return load


class _Rare:
    """Modules that few runs need: they are imported when they are named."""

    def __getattr__(self, name: str) -> ModuleType:
        return import_module(name)


rare = _Rare()


class _Pattern:
    """A regular expression that is not compiled yet."""

    def __init__(self, text: str, flags: int) -> None:
        self.text, self.flags = text, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self.text, self.flags)
        self.__dict__.update({name: getattr(compiled, name) for name in dir(compiled) if not name.startswith("__")})
        return getattr(compiled, name)


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """A regular expression for a constant of a module: it is compiled when it is first used, and not at each start."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


class Rows(dict[str, E]):
    """Rows by name. The module that makes a row is imported when the row is first asked for; the names are known.

    `told_by`: the module that tells further names, imported when it is first asked whether there is a row.
    """

    def __init__(self, told_by: str = "") -> None:
        self.told_by = told_by
        # By the name of each row, the module that makes it; in the order of the table.
        self.modules: dict[str, str] = {}

    def know(self, modules: dict[str, str]) -> None:
        """From now on, know the module that makes each row, and their order."""
        self.modules = {name: "" for name in self.modules if name not in modules} | modules

    def __missing__(self, name: str) -> E:
        if name not in self:
            raise KeyError(name)
        import_module(self.modules[name])
        return super().__getitem__(name)

    def __setitem__(self, name: str, row: E) -> None:
        maker = self.modules.setdefault(name, "")
        if not maker or maker in sys.modules:  # else that module is still to come, and makes another one of this
            super().__setitem__(name, row)

    def __delitem__(self, name: str) -> None:
        del self.modules[name]
        super().__delitem__(name)

    def pop(self, name: str, *default: Any) -> Any:
        """Take a row out of the table."""
        self.modules.pop(name, None)
        return super().pop(name, *default)

    def __contains__(self, name: object) -> bool:
        if self.told_by:
            teller, self.told_by = self.told_by, ""
            import_module(teller)
        return name in self.modules

    def __iter__(self) -> Iterator[str]:
        return iter(self.modules)

    def __len__(self) -> int:
        return len(self.modules)

    def get(self, name: str, default: Any = None) -> Any:
        """A row, or the default if no row has that name."""
        return self[name] if name in self.modules else default

    def keys(self) -> KeysView[str]:  # type: ignore[override]  # as below: not those of a dictionary
        """The names, for which nothing is imported."""
        return self.modules.keys()

    def values(self) -> ValuesView[E]:  # type: ignore[override]
        """All rows, which are imported."""
        return {name: self[name] for name in list(self.modules)}.values()

    def items(self) -> ItemsView[str, E]:  # type: ignore[override]
        """All rows with their names, which are imported."""
        return {name: self[name] for name in list(self.modules)}.items()
