"""The commands that draw: `command` has `plot` and `histogram`, `contour` the one of that name.

`sampling` computes the curves of functions; `files` writes plots. They are imported only when a plot needs them. From
outside, import nothing from here: a plot is a `results.Plot`, which the terminal draws.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
