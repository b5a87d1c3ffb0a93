"""The terminal: it parses options, reads files, prompts and prints. What it computes, the floors below compute.

`main` finds a command, `base` is what all commands share: options, errors, exit codes. `commands/` has a file for each
command, `arguments/` what several of them take, `settings/` and `terminal/` what the user and the terminal allow,
`output/` and `data/` what is printed and which files are read and written, `repl/` the prompt. Nothing imports cli but
the entry point of the package, `__main__`.
"""

__version__ = "0.1.0"
