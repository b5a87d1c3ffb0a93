"""The commands: a word, how it is typed, one line of help, an example, and what it does.

`help`, completion and the tests of the documentation read this table. A command hands its results to the session; only
the terminal prints.
"""

# In this order `help` lists what is in them.
from agrad.grammar.commands import gradients, graphs, keeping, pictures, sessions
from agrad.grammar.commands.gradients import gradient_of, why_none
from agrad.grammar.commands.registry import COMMANDS, Call, Command

__all__ = [
    "COMMANDS",
    "Call",
    "Command",
    "gradient_of",
    "gradients",
    "graphs",
    "keeping",
    "pictures",
    "sessions",
    "why_none",
]
