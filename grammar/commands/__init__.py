"""The commands of the language, a file for each group of them.

`registry` has the decorator `command`, the table COMMANDS, and what a command is called with and sees of its session;
`operands` the kinds of operands. Help, completion, syntax errors, lint, the session log and `save` read the table.
From outside, import from here or from `registry`; importing this package names the commands, whose
files are imported when they are asked for. A command hands its results to the session, and prints nothing.
"""

from agrad.grammar.commands.registry import COMMANDS, Call, Command
from agrad.grammar.syntax.keywords import SHAPES
from agrad.lazy import lazy

__getattr__ = lazy(__name__)

__all__ = ["COMMANDS", "Call", "Command"]

# The commands in the order in which `help` lists them, those of a file after its name.
_FILES = (
    ("gradients", "backward retain watch grad zero_grad step check explain"),
    ("graphs", "graph graphs info set forward"),
    ("graphs", "export formula"),
    ("gradients", "budget correlate"),
    ("fitting", "fit last"),
    ("solving", "solve minimize maximize"),
    ("session", "reset history again redo save report calculator"),
    ("plot.command", "plot"),
    ("plot.contour", "contour"),
    ("plot.command", "histogram"),
    ("curves", "study area tangent"),
    ("units", "unit use"),
    ("session", "time vars limit undo load help quit"),
)
_MODULES = {word: f"{__name__}.{file}" for file, words in _FILES for word in words.split()}
COMMANDS.know(_MODULES)
SHAPES.know(_MODULES)
