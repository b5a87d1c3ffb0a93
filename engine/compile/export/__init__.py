"""Programs as source code to take away, which needs no agrad: C, JavaScript, Python, formulas of agrad and of LaTeX.

`derive` makes one program of numbers of a value, its gradient and its Hessian, of all paths of a function that chooses;
`source` writes its steps as formulas of a language, and the function around them; `languages` says how each spells what
a symbol can do. `terms` is the algebra of formulas, in which like terms are collected, and `formulas` writes them.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
