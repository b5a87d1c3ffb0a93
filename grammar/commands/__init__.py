"""The commands of the language, a file for each group of them.

`registry` has the decorator `command`, the table COMMANDS and what a command is called with; `operands` the kinds of
operands; `host` what a command sees of its session. Help, completion, syntax errors, lint, the session log and `save`
read the table. From outside, import from here or from `registry`; importing this package fills the table. A command
hands its results to the session, and prints nothing.
"""

# isort: off
# In this order `help` lists what is in them.
from agrad.grammar.commands import gradients, graphs, export, uncertainty, solving, history
from agrad.grammar.commands.plot import command as plot, contour, histogram
from agrad.grammar.commands import session

# isort: on
from agrad.grammar.commands.gradients import gradient_of, why_none
from agrad.grammar.commands.registry import COMMANDS, Call, Command

__all__ = [
    "COMMANDS",
    "Call",
    "Command",
    "contour",
    "export",
    "gradient_of",
    "gradients",
    "graphs",
    "histogram",
    "history",
    "plot",
    "session",
    "solving",
    "uncertainty",
    "why_none",
]
