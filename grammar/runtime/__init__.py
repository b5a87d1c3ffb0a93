"""Running the language: bytecode, the compiler to it, the machine that runs it, and what that calls.

`calls`, `expressions` and `machine` are the machine, in groups of instructions. `operations`, `builtins`, `attributes`
and `objects` define what can be done with values; `analysis` says of code, without running it, what can be computed at
once and which guards a statement runs under; `budget` holds the limits of a statement. `name_errors` and `graph_fixes`
make the messages and fixes of errors, and `notes` the notes on what runs without an error.
All of it may be imported by `loops`, `commands`, `session`, `lint` and `help`; the machine imports none of them.
"""

from typing import TYPE_CHECKING

from agrad.engine.lazy import lazy

if TYPE_CHECKING:
    from agrad.grammar.runtime import graph_fixes as graph_fixes
    from agrad.grammar.runtime import name_errors as name_errors
    from agrad.grammar.runtime import objects as objects
else:
    __getattr__ = lazy(__name__, "graph_fixes", "name_errors", "objects")
