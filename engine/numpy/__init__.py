"""NumPy's functions over agrad's tensors: `import agrad.numpy as np`, whose results can be differentiated.

Each function is NumPy's own. Without derivatives NumPy computes it, of the entries of the arrays; where an argument
requires grad, NumPy asks the tensor, and the operations of the engine compute it. Only the names in the lists here are
there: none takes a function or runs a text, and the one that reads a file asks whether files may be read. Arrays hold
float64, int64 or truths; a name of another type means one of these.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from agrad.engine.values import np as _real
from agrad.numpy.arrays import DTYPES as _DTYPES
from agrad.numpy.arrays import NUMPY
from agrad.numpy.arrays import c_ as c_
from agrad.numpy.arrays import ndarray as ndarray
from agrad.numpy.arrays import r_ as r_
from agrad.numpy.arrays import set_printoptions as set_printoptions
from agrad.numpy.functions import LINALG, RANDOM
from agrad.numpy.functions import loadtxt as loadtxt
from agrad.torch.types import finfo as finfo
from agrad.torch.types import iinfo as iinfo

inf, nan, pi, e, newaxis, euler_gamma = _real.inf, _real.nan, _real.pi, _real.e, None, _real.euler_gamma
globals().update(NUMPY, **_DTYPES)

__version__ = f"{_real.__version__}+agrad"


def _module(name: str, names: dict[str, Any]) -> ModuleType:
    """`np.linalg`, `np.random`, where imports find them."""
    made = ModuleType(f"agrad.numpy.{name}")
    made.__dict__.update(names)
    sys.modules[made.__name__] = made
    return made


linalg, random = _module("linalg", LINALG), _module("random", RANDOM)


def __getattr__(name: str) -> Any:
    from agrad.torch.tensor import no_attribute  # here: few programs ask for what is not there

    raise no_attribute("module 'numpy'", name, globals())
