"""Modules of a package that are loaded when they are first used: what is rare costs nothing at the start."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType


def lazy(package: str, *modules: str) -> Callable[[str], ModuleType]:
    """The `__getattr__` of a package (PEP 562) that loads one of these modules of its own: `package.module.name`."""

    def load(name: str) -> ModuleType:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return load
