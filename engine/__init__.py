"""agrad's engine, as a Python library: `import agrad.engine as ag`.

    x = ag.tensor([1, 2], requires_grad=True)
    y = (ag.sin(x) * x).sum()
    y.backward()
    x.grad

Every operation of the table is a function here, `ag.sin`, and a method of its first operand, `x.sin()`. They take
and return plain numbers and arrays as well as Tensors. `ag.nn`, `ag.optim`, `ag.utils.data` and `ag.autograd`
have the modules, optimisers, data loaders and Functions of PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any

import agrad
from agrad.engine import interop
from agrad.engine.autodiff.backward import backward
from agrad.engine.autodiff.reverse import register_hook
from agrad.engine.compile import compile  # noqa: A004 - PyTorch's name
from agrad.engine.core.graph import Node
from agrad.engine.core.op import FIRST, FUNCTIONS, SECOND, Function
from agrad.engine.core.tensor import Tensor, no_grad, tensor
from agrad.engine.errors import AgradError
from agrad.engine.interop import protocols
from agrad.engine.ops import OPERANDS
from agrad.engine.ops.tables import Table
from agrad.engine.values import outward
from agrad.lazy import lazy

if TYPE_CHECKING:  # what is found when it is asked for; the functions of the table are in a stub made from that
    from agrad.engine import autodiff as autodiff
    from agrad.engine import data as data
    from agrad.engine import inspect as inspect
    from agrad.engine import nn as nn
    from agrad.engine import ops as ops
    from agrad.engine import program as program
    from agrad.engine.autodiff import autograd as autograd
    from agrad.engine.autodiff.gradcheck import check
    from agrad.engine.autodiff.transforms import grad, hessian, hvp, jacobian, jvp, vjp
    from agrad.engine.autodiff.uncertainty import uncertain, uncertainty
    from agrad.engine.functions import *  # noqa: F403
    from agrad.engine.inspect.dump import Dump
    from agrad.engine.nn import optim as optim
    from agrad.engine.nn import utils as utils

__all__ = [
    "AgradError",
    "Tensor",
    "backward",
    "check",
    "compile",
    "forward",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "no_grad",
    "tensor",
    "uncertain",
    "uncertainty",
    "vjp",
]


def forward(*roots: Tensor) -> None:
    """Compute again the roots, and all nodes behind them that are out of date: each node once.

    A graph that a backward freed is ready for another backward then. Raises AgradError of kind `grad` for a value
    without a graph, `freed` if a constant was freed with the graph and is gone, `guard` if a guard of the graph has
    another outcome; then nothing has changed.
    """
    agrad.engine.program.replay.forward(*roots)


def _saved(node: Node, name: str) -> Any:
    """An attribute of a node that is none of its own: `_saved_self`."""
    return agrad.engine.inspect.nodes.saved(node, name)


def _graph(self: Tensor, name: str | None = None, depth: int | None = None, since: Sequence[Tensor] = ()) -> Dump:
    """The graph behind this value, which a notebook shows as a picture; `print(y.graph())` shows it as text.

    `name`: what to call the value; `depth`: at most so many operations back; `since`: only what is between these
    values and this one. Raises AgradError of kind `type` or `domain` for an invalid depth, and of kind `grad` where no
    path leads from one of `since` to the value.
    """
    return agrad.engine.inspect.dump.dump(self, name, depth, since)


def _repr_html_(self: Tensor | Table) -> str | None:
    """For a notebook: an array, or a table, in HTML."""
    return interop.notebook.html_of(self, 6) or None


def _repr_mimebundle_(self: Tensor | Table, include: object = None, exclude: object = None) -> dict[str, str]:
    """For a notebook: the value as text and, of an array or a table, in HTML."""
    html = _repr_html_(self)
    return {"text/plain": repr(self)} | ({"text/html": html} if html else {})


for _method in (_repr_html_, _repr_mimebundle_, backward, forward, register_hook):
    setattr(Tensor, _method.__name__, _method)  # core does not import autodiff and program
for _method in (_repr_html_, _repr_mimebundle_):
    setattr(Table, _method.__name__, _method)
Tensor.graph = _graph  # type: ignore[method-assign, assignment]
# Properties, and no `__getattr__`: Python takes much longer to read any attribute of a class that has one.
for _name in {*FIRST, *SECOND, "result", *OPERANDS}:
    setattr(Node, f"_saved_{_name}", property(partial(_saved, name=f"_saved_{_name}")))
protocols.install()


# Functions, and modules, that few calculations need, each with where it is.
_LATER = {
    "__version__": "agrad",
    "autograd": "agrad.engine.autodiff",
    "check": "agrad.engine.autodiff.gradcheck",
    **dict.fromkeys(("optim", "utils"), "agrad.engine.nn"),
    **dict.fromkeys(("uncertain", "uncertainty"), "agrad.engine.autodiff.uncertainty"),
    **dict.fromkeys(("grad", "hessian", "hvp", "jacobian", "jvp", "vjp"), "agrad.engine.autodiff.transforms"),
}


def _find(name: str) -> Any:
    if place := _LATER.get(name):
        globals()[name] = found = getattr(import_module(place), name)
        return found
    if name not in FUNCTIONS:
        return lazy(__name__)(name)
    row = FUNCTIONS[name]
    globals()[name] = found = _outwards(row.call) if row.family in _OF_TRUTHS else row.call  # at once, the next time
    found.__module__, found.__qualname__ = __name__, name  # which pickle, joblib and dask find it by
    found.__signature__ = row.signature.of_python()  # type: ignore[attr-defined]
    return found


if not TYPE_CHECKING:  # for which there is no other name than those above, and no misspelt one
    __getattr__ = _find


_OF_TRUTHS = ("comparison", "selection")  # families of functions that give masks


def _outwards(call: Function) -> Function:
    """A function that gives arrays of booleans, of plain arrays, where the engine has masks."""

    @wraps(call)
    def function(*args: Any, **keywords: Any) -> Any:
        return outward(call(*args, **keywords))

    return function


def __dir__() -> list[str]:
    return sorted({*__all__, *FUNCTIONS, "autograd", "nn", "optim", "utils"})
