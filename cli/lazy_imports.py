"""Modules that click and lark import, and most commands never use: they are loaded when they are first used.

An `import` of one of them finds it, but runs it only once something asks for one of its attributes. That is a tenth of
the time of `agrad eval`. `importlib.util.LazyLoader` does the work; this is set up for the process of the command line
alone, since a library has no business with what others import.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

LAZY = frozenset(
    {
        # of the standard library
        *("getpass", "hashlib", "linecache", "pkgutil", "shutil", "tempfile", "textwrap", "tokenize", "traceback"),
        # of lark, for other kinds of grammars
        *("lark.parsers.cyk", "lark.parsers.xearley"),
    }
)


class Finder:
    """Finds the modules in LAZY as Python does, and has them loaded lazily."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module of that name; None if another finder is to look for it."""
        spec = PathFinder.find_spec(name, path, target) if name in LAZY else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def install() -> None:
    """From now on, load the modules in LAZY when they are used."""
    sys.meta_path.insert(0, Finder)


def load_all() -> None:
    """Load those that have been imported: threads that begin to use one at the same time would find it incomplete."""
    for name in LAZY & sys.modules.keys():
        _ = sys.modules[name].__doc__
