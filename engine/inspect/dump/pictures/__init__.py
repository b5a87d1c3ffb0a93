"""Pictures of a graph: one drawing, and a file for each way to write it.

`drawing` places boxes, lines and texts; `svg`, `tikz` and `matplotlib` (PNG and PDF) write what it placed, each with
one function: `render(graph, precision)`. Only `Dump` imports from here.
"""
