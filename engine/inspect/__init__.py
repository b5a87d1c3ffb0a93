"""The inspection of a graph: `explain` shows the chain rule in numbers, path by path (`paths` finds these);
`backward_trace` shows a backward pass as a table; `memory` counts what a graph holds; `dump/` draws it, and
`page/` makes a page of it that steps through it.

Nothing here changes a graph, and a calculation does not load it. `grammar` may import all of it; of the engine, only
`program/printer` imports from here, the labels of a dump.
"""

from typing import TYPE_CHECKING

from agrad.engine.lazy import lazy

if TYPE_CHECKING:
    from agrad.engine.inspect import dump as dump
    from agrad.engine.inspect import memory as memory
    from agrad.engine.inspect import undefined as undefined
else:
    __getattr__ = lazy(__name__, "dump", "memory", "undefined")
