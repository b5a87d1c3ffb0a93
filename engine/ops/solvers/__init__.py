"""Zeros, minima, integrals and differential equations of functions. SciPy computes them, when they are first used.

`functions` has the operations and their derivatives; `function` a function as a program, with what is derived from it;
`implicit`, `quadrature` and `integration`, which goes from one of the `jumps` to the next, have the computation.
"""

from agrad.lazy import lazy

__getattr__ = lazy(__name__)
