"""PyTorch's and NumPy's names: which there are, and what each is here.

`names.table()` is the one table of them: by it they are read, docs/pytorch.md is made of it, and the tests go
through it. `libraries` lists the names that other libraries have, and what stands in for those that agrad has not. The
constants, and the modules of PyTorch, are here, since each session needs them.
"""

import math

from agrad.lazy import lazy

__getattr__ = lazy(__name__)

# What PyTorch has in modules of its own, and where agrad has the same names.
NAMESPACES = {
    "autograd": "agrad.engine.autodiff.autograd",
    "distributions": "agrad.engine.nn.distributions",
    "nn": "agrad.engine.nn",
    "nn.functional": "agrad.engine.nn.functional",
    "nn.init": "agrad.engine.nn.init",
    "nn.parameter": "agrad.engine.nn.parameter",
    "optim": "agrad.engine.nn.optim",
    "optim.lr_scheduler": "agrad.engine.nn.optim.lr_scheduler",
    "lr_scheduler": "agrad.engine.nn.optim.lr_scheduler",
    "nn.utils": "agrad.engine.nn.utils",
    "utils.data": "agrad.engine.nn.utils.data",
}

# The constants that the language has.

CONSTANTS: dict[str, float] = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "tau": math.tau}
