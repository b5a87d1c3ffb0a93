"""The terminal: it parses options, reads files, prompts and prints. The other packages compute.

`main` finds a command, and has what all commands share: help, errors, exit codes, limits. `commands/` has a file for
each command, `arguments/` what several of them take, `settings` the user's settings, `terminal/` the terminal's
properties, `output/` and `data/` what is printed and which files are read and written, `repl/` the prompt,
`integrations/` what editors and notebooks load. Only `__main__`, the entry point of the package, imports cli.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
__version__ = "0.2.0"
