"""agrad, an autograd calculator for the terminal.

`agrad --help`, or `python -m agrad --help`, describes the command line; the Python library is `agrad.engine`.

This folder is installed as the package `agrad` itself; its README.md, which `make docs` generates from the one of the
repository, is what a package index shows.
"""

from typing import Any

from agrad.cli import __version__

__all__ = ["__version__", "load_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext agrad` calls: cells of a notebook of Python that begin with `%%agrad`."""
    from agrad.cli.integrations.jupyter.magic import register  # here, since only a notebook needs it

    register(shell)
