"""PyTorch's names over agrad's engine: `import agrad.torch as torch`, in plain Python.

Signatures, defaults, kinds of errors and the printed form are PyTorch's, with float64 as the default type; the messages
are agrad's, with the line that is to blame and what to write instead. `python -m agrad.torch train.py` runs a script
with this package in the place of torch. What differs is listed in docs/pytorch.md.

`tensor` has the class with its types, views and rules for writing in place, `functions` and `creation` what makes
tensors, `autograd` the backward passes, `func` the transformations of functions, `modules` the names of torch.nn,
torch.optim and the others, which come from `agrad.engine.nn`.
"""

from __future__ import annotations

import math
import sys
from typing import Any

from agrad.torch import autograd as autograd
from agrad.torch import composed as composed
from agrad.torch import creation as creation
from agrad.torch import functions as functions
from agrad.torch.autograd import enable_grad as enable_grad
from agrad.torch.autograd import inference_mode as inference_mode
from agrad.torch.autograd import no_grad as no_grad
from agrad.torch.autograd import set_grad_enabled as set_grad_enabled
from agrad.torch.creation import Generator as Generator
from agrad.torch.creation import default_generator as default_generator
from agrad.torch.printing import set_printoptions as set_printoptions
from agrad.torch.registry import TORCH
from agrad.torch.tensor import Tensor as Tensor
from agrad.torch.types import DTYPES, as_dtype, dtype, float64
from agrad.torch.types import Size as Size
from agrad.torch.types import device as device
from agrad.torch.types import finfo as finfo
from agrad.torch.types import iinfo as iinfo

pi, e, inf, nan, newaxis = math.pi, math.e, math.inf, math.nan, None
__version__ = "2.13.0+agrad"

for _name, _call in TORCH.items():
    if _name.isidentifier() and not _name.startswith("__") and _name not in functions.METHODS_ALONE:
        globals()[_name] = _call
for _name, _kind in DTYPES.items():
    globals()[_name] = _kind
strided, contiguous_format, preserve_format = "torch.strided", "contiguous", "preserve"


def set_default_dtype(d: Any) -> None:
    """Nothing: the default is float64 always."""
    if not as_dtype(d).is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")


def get_default_dtype() -> dtype:
    """float64."""
    return float64


from agrad.torch import modules as _modules  # noqa: E402 - it needs what stands above

_modules.install(sys.modules[__name__])


def __getattr__(name: str) -> Any:
    raise _modules.missing("torch", name, globals(), sys._getframe(1))
