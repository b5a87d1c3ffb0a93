"""agrad, an autograd calculator for the terminal.

`agrad --help`, or `python -m agrad --help`, describes the command line; the Python library is `agrad.engine`.

This folder is installed as the package `agrad` itself; its README.md, which `make docs` generates from the one of the
repository, is what a package index shows.
"""

from agrad.cli import __version__

__all__ = ["__version__"]
