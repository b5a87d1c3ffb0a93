"""The commands: a word, how it is typed, one line of help, an example, and what it does.

`help`, completion and the tests of the documentation read this table. A command hands its results to the session; only
the terminal prints.
"""

# isort: off
# In this order `help` lists what is in them.
from agrad.grammar.commands import gradients, graphs, history
from agrad.grammar.commands.plot import command as plot
from agrad.grammar.commands import session

# isort: on
from agrad.grammar.commands.gradients import gradient_of, why_none
from agrad.grammar.commands.registry import COMMANDS, Call, Command

__all__ = [
    "COMMANDS",
    "Call",
    "Command",
    "gradient_of",
    "gradients",
    "graphs",
    "history",
    "plot",
    "session",
    "why_none",
]
