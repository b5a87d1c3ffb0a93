"""What can be done with values of the language.

`operations`, `builtins` and `attributes` define it, `python_builtins` and `modules` what scripts of Python have and
import, with `figures` for plots; `crossing` gives values of one reading to the other. `budget` holds the limits of a
statement. `fixes` makes the fixes of errors, and the errors for unknown names; `exceptions` tells those of Python;
`notes` are those on what runs without an error.
All of it may be imported by `run`, `loops`, `commands`, `session`, `lint` and `help`, and imports none of them.
"""

from typing import TYPE_CHECKING

from agrad.lazy import lazy

if TYPE_CHECKING:
    from agrad.grammar.runtime import crossing as crossing
    from agrad.grammar.runtime import exceptions as exceptions
    from agrad.grammar.runtime import fixes as fixes
    from agrad.grammar.runtime import modules as modules

__getattr__ = lazy(__name__)
