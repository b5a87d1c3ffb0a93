"""PyTorch's and NumPy's names: which there are, and what each is here.

`names.table()` is the one table of them: by it they are read, docs/pytorch.md is made of it, and the tests go
through it. `libraries` lists the names that other libraries have, and what stands in for those that agrad has not.
"""

from typing import TYPE_CHECKING

from agrad.engine.lazy import lazy

if TYPE_CHECKING:
    from agrad.grammar.pytorch import names as names
else:
    __getattr__ = lazy(__name__, "names")
