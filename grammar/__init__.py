"""The language: text in, operations of the engine and results out; it never prints.

`syntax` reads a text, `run` makes Python's code of it and runs it with what `runtime` and `values` have for it, `loops`
runs hot loops compiled; `session` runs statements and keeps their log, `commands` are the commands, `lint` checks
scripts, `prompt` shows values while a line is typed, `help` explains the language. `results` is what the terminal
shows, `diagnostics` renders errors, `files` reads and writes files.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
