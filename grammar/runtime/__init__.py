"""Running the language: bytecode, the compiler to it, the machine that runs it, and what that calls.

`machine` is the machine; its subclasses, which run some instructions by rules of their own, stage a loop, compute the
rows of a table or the line below a prompt. `operations`, `builtins`, `attributes` and `objects` define what can be done
with values; `analysis` says of code, without running it, what can be computed at once and which guards a statement runs
under; `budget` holds the limits of a statement. `fixes` makes the fixes of errors, and the errors for unknown names;
`notes` are those on what runs without an error.
All of it may be imported by `loops`, `commands`, `session`, `lint` and `help`; the machine imports none of them.
"""

from typing import TYPE_CHECKING

from agrad.lazy import lazy

if TYPE_CHECKING:
    from agrad.grammar.runtime import fixes as fixes
    from agrad.grammar.runtime import objects as objects

__getattr__ = lazy(__name__)
