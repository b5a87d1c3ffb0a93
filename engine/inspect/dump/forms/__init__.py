"""The forms of a dump, a file for each, with one function: `render(graph, precision)` gives the text.

They read the rows of `graph_rows` and never the graph itself; `layers` places boxes for `boxes` and for pictures.
`Dump` imports a form when it is asked for.
"""
