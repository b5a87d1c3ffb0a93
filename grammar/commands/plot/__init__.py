"""The `plot` command: `command` reads it, `sampling` computes its curves, `files` writes them.

`sampling` and `files` are imported only when a plot needs them. From outside, import nothing from here: a plot is a
`results.Plot`, which the terminal draws.
"""
