"""Programs: straight-line code traced from a function or read from a graph, and replays of a graph.

`ir` defines `Program`; `trace` and `extract` make programs, `passes` make them shorter, `printer` lists them. `replay`
computes a graph again in place, and `cached_replay` remembers how. From outside import `trace`, `ir`, `passes`,
`printer.listing` and `replay.forward`. Operations are not known by name here: their rows say what passes may do.
"""
