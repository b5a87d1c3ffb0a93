"""agrad, an autograd calculator for the terminal.

`agrad --help`, or `python -m agrad --help`, describes the command line; the Python library is `agrad.engine`.

This folder is installed as the package `agrad` itself; its README.md, which `make docs` generates from the one of the
repository, is what a package index shows.
"""

from typing import Any

import agrad
from agrad.cli import __version__
from agrad.lazy import lazy

__all__ = ["__version__", "load_ipython_extension"]

__getattr__ = lazy(__name__)


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext agrad` calls: cells of a notebook of Python that begin with `%%agrad`."""
    agrad.cli.integrations.jupyter.magic.register(shell)
