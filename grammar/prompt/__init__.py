"""What a prompt tells beside the answers.

`live`: the value of what is typed; `changes`: what a statement has changed; `graphs`: what a bare command is about, how
a key moves a leaf, and what the graphs hold; `noise`: which numbers are rounding noise, by the bound in `rounding`.
"""

from typing import TYPE_CHECKING

from agrad.lazy import lazy

if TYPE_CHECKING:
    from agrad.grammar.prompt import rounding as rounding
else:
    __getattr__ = lazy(__name__)
