"""Programs as source code to take away, which needs no agrad: C, JavaScript, Python, formulas of agrad and of LaTeX.

`derive` makes one program of numbers of a value, its gradient and its Hessian, of all paths of a function that chooses;
`source` writes its steps as formulas of a language, and the function around them; `languages` says how each spells what
a symbol can do, and `arrays` writes what is too large for numbers. `terms` is the algebra of formulas, in which like
terms are collected, and `formulas` writes them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agrad.engine.compile.export.derive import Derived, derived, paths
    from agrad.engine.compile.export.languages import LANGUAGES

__all__ = ["LANGUAGES", "Derived", "derived", "paths"]


def __getattr__(name: str) -> Any:
    """What writes code is imported when it is used: few sessions do."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'languages' if name == 'LANGUAGES' else 'derive'}"), name)
