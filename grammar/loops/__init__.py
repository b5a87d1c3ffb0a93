"""Loops with many iterations, which are compiled.

`hot_loops` counts iterations and decides when; `staging` runs one iteration on proxies to record it; `compiled_run`
runs the recorded iteration many times, in machine code where it can. The session imports `hot_loops.counter`, and
nothing else is for use from outside. The virtual machine knows nothing of this folder.
"""

from typing import TYPE_CHECKING

from agrad.engine.lazy import lazy

if TYPE_CHECKING:
    from agrad.grammar.loops import compiled_run as compiled_run
    from agrad.grammar.loops import staging as staging
else:
    __getattr__ = lazy(__name__, "compiled_run", "staging")
