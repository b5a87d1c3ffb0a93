"""agrad in Jupyter: a kernel for cells of the language, and a magic for cells in notebooks of Python.

`kernel` answers the requests of a notebook, `install` makes it known to Jupyter; `magic` is what `%load_ext agrad`
loads. `display` shows results in both, as text, HTML and pictures, and errors.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
