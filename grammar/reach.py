"""What a script of Python can reach: builtins, attributes, modules and packages, by the tables in `reach.txt`."""

from __future__ import annotations

from importlib import import_module
from types import FunctionType, MethodType
from typing import Any

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.text import beside

# What a script does not get of them: these read and write files, or change what other sessions print.
_WITHHELD = {"torch": "as_dtype"}
# Whose functions and classes a script may have.
_OURS = ("agrad.torch", "agrad.engine.nn", "agrad.numpy", "agrad.engine.core.op", "agrad.engine.autodiff.autograd")
_OF_VALUES = ("agrad.torch.types", "agrad.torch.creation", "agrad.numpy.arrays")  # of types and generators


def _tables() -> dict[str, dict[str, str]]:
    """The tables of what can be reached by their headings: the words of each row by its name."""
    blocks = beside(__file__, "reach.txt").replace("\n ", " ").split("\n\n")
    rows = ([line for line in block.splitlines() if line[0] != "#"] for block in blocks)
    return {head[1:-1]: dict(row.split(": ", 1) for row in more) for head, *more in filter(None, rows)}


REACH = _tables()
# The packages that stand for real ones, and have their names behind `agrad.`.
PACKAGES = tuple(" ".join(REACH["packages"].values()).split())


def reachable(name: str) -> frozenset[str]:
    """A row of words."""
    return frozenset(REACH["words"][name].split())


def is_special(name: str) -> bool:
    """Whether a name is one of those that Python gives a meaning of its own."""
    return name[:2] == "__" and name[-2:] == "__" and len(name) > 4


def names() -> list[str]:
    """The modules that a script can import."""
    return [*REACH["modules"], *(name for name in PACKAGES if "." not in name)]


def names_in(name: str) -> list[str]:
    """The names of a module that `import *` gives."""
    if name in PACKAGES:
        inner = [one.rpartition(".")[2] for one in PACKAGES if one.rpartition(".")[0] == name]
        own = dir(import_module(f"agrad.{name}"))
        return sorted([*inner, *(one for one in own if member(name, one) is not None)])
    return REACH["modules"].get(name, "").split()


def member(name: str, word: str) -> Any:
    """What has a name in a package, None if a script may not have it: it gets functions, classes and numbers."""
    if word[0] == "_" or word in _WITHHELD.get(name, "").split():
        return None
    try:
        found = getattr(import_module(f"agrad.{name}"), word)
    except AttributeError:
        return None
    if found is None:
        return None
    kind = type(found)
    if kind in (int, float, bool, str, tuple) or kind.__module__ in _OF_VALUES:
        return found
    is_code = isinstance(found, type) or kind is FunctionType or kind is MethodType
    of = str(getattr(found, "__module__", ""))
    is_ours = of.startswith(_OURS) or of in ("torch", "numpy")
    return found if is_code and (is_ours or getattr(FUNCTIONS.get(word), "call", None) is found) else None
