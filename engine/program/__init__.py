"""Programs: straight-line code traced from a function or read from a graph, and replays of a graph.

`ir` defines `Program`; `trace` and `extract` make programs, `passes` make them shorter, `printer` lists them. `replay`
computes a graph again in place, and `cached_replay` remembers how; `scan` makes a loop one operation. From outside
import `trace`, `ir`, `passes`, `printer.listing` and `replay.forward`. Passes do not know operations by name: the row
of an operation says what may be done with it.
"""
