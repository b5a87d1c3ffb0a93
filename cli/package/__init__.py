"""agrad, an autograd calculator for the terminal.

`agrad --help`, or `python -m agrad --help`, describes the command line; the Python library is `agrad.engine`, and
`import agrad as ag` has all of that: `ag.tensor`, `ag.sin`.

This folder is installed as the package `agrad` itself; its README.md, which `make docs` generates from the one of the
repository, is what a package index shows.
"""

from typing import Any

import agrad
from agrad.cli import __version__
from agrad.lazy import lazy

__all__ = ["__version__", "load_ipython_extension"]

_module = lazy(__name__)
_OF_TEXTS = {"Formula": "Formula", "evaluate": "evaluate", "formula": "Formula"}  # texts of the language


def __getattr__(name: str) -> Any:
    is_own = name.startswith("_") or name in ("cli", "engine", "examples", "grammar")
    if name in _OF_TEXTS:
        return getattr(agrad.grammar.formula, _OF_TEXTS[name])
    return _module(name) if is_own else getattr(agrad.engine, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_OF_TEXTS, *dir(agrad.engine)})


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext agrad` calls: cells of a notebook of Python that begin with `%%agrad`."""
    agrad.cli.integrations.jupyter.magic.register(shell)
