"""The commands that draw: `command` reads them, and computes curves, contour lines, bars and the picture of a fit.

`files` writes plots. Both are imported only when a plot needs them. From outside, import nothing from here: a plot is a
`results.Plot`, which the terminal draws.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
