"""Loops with many iterations, which are compiled.

`hot_loops` counts iterations and decides when; `compiled_run` runs one iteration on proxies to record it, and the
recorded iteration many times, in machine code where it can. The session imports `hot_loops.counter`, and
nothing else is for use from outside. The machine knows nothing of this folder.
"""

from typing import TYPE_CHECKING

from agrad.lazy import lazy

if TYPE_CHECKING:
    from agrad.grammar.loops import compiled_run as compiled_run
else:
    __getattr__ = lazy(__name__)
