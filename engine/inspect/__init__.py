"""The inspection of a graph: `explain` shows the chain rule in numbers, path by path; `backward_trace` shows a backward
pass as a table; `memory` counts what a graph holds; `dump` draws it, and `page` makes a page of it that steps through.

`rows` is the model of a graph that all forms of a dump show: `forms` (text, a tree, JSON, …), `boxes`, `pictures` and
`page`. `layout` finds places for boxes, `folding` which nodes are one box, and `drawing` is what `pictures` write.
`compare` makes one model of two graphs. Nothing here changes a graph, and a calculation does not load it.
"""

from typing import TYPE_CHECKING

from agrad.lazy import lazy

if TYPE_CHECKING:
    from agrad.engine.inspect import backward_trace as backward_trace
    from agrad.engine.inspect import compare as compare
    from agrad.engine.inspect import dump as dump
    from agrad.engine.inspect import explain as explain
    from agrad.engine.inspect import memory as memory
    from agrad.engine.inspect import nodes as nodes
    from agrad.engine.inspect import undefined as undefined

__getattr__ = lazy(__name__)
