"""Running the language on CPython: a tree becomes Python code objects, and helpers do what Python does not.

`code` makes the code objects; `machine` runs them and has what they call; `places` finds the spans of errors and of
nodes in frames. `guarded` runs the same code on other values, under guards: so a loop is staged, and the line below a
prompt is computed. `python` makes code objects of scripts of Python, `guards` has what these call.
"""

from typing import TYPE_CHECKING

from agrad.lazy import lazy

if TYPE_CHECKING:
    from agrad.grammar.run import guards as guards

__getattr__ = lazy(__name__)
