"""The commands that draw: `command` reads `plot`, `contour` and `histogram` those of these names.

`sampling` computes the curves of functions, `levels` contour lines, `path` the steps of a session, `fitted` the picture
of a fit; `files` writes plots. These are imported only when a plot needs them. From outside, import nothing from here:
a plot is a `results.Plot`, which the terminal draws.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
