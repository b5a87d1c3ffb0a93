"""What several commands take: an expression with values for its names, the derivatives to compute, time and memory.

`expression` has the words after a command, and the advice in errors about them; `derivatives` the options that choose
derivatives; `limits` the options --timeout and --max-memory, and how the process ends when they are exceeded. Used by
`commands/`; click's options and texts only, no computing.
"""
