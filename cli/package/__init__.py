"""agrad, an autograd calculator for the terminal.

`agrad --help` and `python -m agrad --help` describe the command line; `import agrad.engine as ag` is the Python library.

This folder is installed as the package `agrad` itself; its README.md, which `make docs` generates from the one of the
repository, is what a package index shows.
"""

from agrad.cli import __version__

__all__ = ["__version__"]
