"""The commands of the terminal, a file for each: `agrad eval` is `eval.command`.

A command turns its options into a request, passes it to a session of `grammar`, and prints the results. `main` imports
the file of a command when the command is called, so that no other command costs start-up time. Outside of this folder
only `command` of each file is used.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
