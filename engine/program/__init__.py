"""Programs: straight-line code traced from a function or read from a graph, and replays of a graph.

`ir` defines `Program`, and passes that make programs shorter; `trace` makes programs, `printer` lists them. `replay`
computes a graph again in place, and remembers how; `scan` makes a loop one operation, and `rolled` finds such loops.
Passes do not know operations by name: the row of an operation says what may be done with it.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
