"""Tensors for Python, NumPy and notebooks. `protocols` gives them the methods that Python and NumPy look for, at
the start; `numpy_functions` and `numpy_arrays` have agrad's functions for those of NumPy, and are loaded when one is
called.
"""

from typing import TYPE_CHECKING

from agrad.lazy import lazy

if TYPE_CHECKING:
    from agrad.engine.interop import notebook as notebook
    from agrad.engine.interop import numpy_functions as numpy_functions
else:
    __getattr__ = lazy(__name__)
