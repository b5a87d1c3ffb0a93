"""What school mathematics writes: functions by their names on paper, n!, and derivatives as `f'` and `d/dx`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from agrad.engine.autodiff.transforms import jvp
from agrad.engine.core.context import current
from agrad.engine.core.graph import collect, reachable
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, bare
from agrad.engine.errors import AgradError, Hint, Instead, Note, OneTooMany
from agrad.engine.units.quantity import like, unit_of
from agrad.engine.values import format_shape, np
from agrad.grammar.elsewhere import OF_DEGREES, RECIPROCALS, SCHOOL


def unclear(word: str) -> AgradError:
    """The error for `d/dx(…)` where `d` has a value, and `dx` is a function."""
    message = f"d/{word}(…) may be a derivative, or d divided by {word}(…), since {word} is a function here"
    fixes = [f"d/({word}(1))   divides", "grad(lambda x: x^2)(1)   differentiates"]
    return AgradError("name", message, fixes=fixes)


@cache
def function(word: str) -> Callable[..., Any]:
    """The function that a word is called on paper: `ln`, `sec`, `sind`."""

    def called(*args: Any, **keywords: Any) -> Any:
        if len(args) != 1 or keywords:
            told = f"{word} takes one value, and got {len(args) + len(keywords)}: {word}(x)"
            raise AgradError("arity", told, facts=OneTooMany() if len(args) == 2 else None)
        (x,) = args
        if word == "factorial":
            return factorial(x)
        if word in RECIPROCALS:
            return 1.0 / FUNCTIONS[RECIPROCALS[word]].call(x)
        if word in OF_DEGREES:
            return FUNCTIONS[OF_DEGREES[word]].call(FUNCTIONS["deg2rad"].call(x))
        return FUNCTIONS[SCHOOL[word]].call(x)

    called.__name__ = word
    return called


def factorial(n: Any) -> Any:
    """n!, which is gamma(n + 1). Raises AgradError of kind `domain` for negative numbers and those with a fraction."""
    values = np.asarray(n.value if isinstance(n, Tensor) else n)
    wrong = values[(values < 0.0) | (values != np.floor(values))]
    if wrong.size:
        raise AgradError("domain", f"n! is of whole numbers from 0 on, not of {wrong[0]:g}", fixes=["help gamma"])
    return FUNCTIONS["gamma"].call(n + 1.0)


def derivative(f: Callable[[Any], Any], order: int, x: Any, is_of: bool = True, name: str = "x") -> Any:
    """The derivative of a function of one number at x, which can itself be differentiated if x requires a gradient.

    In forward mode, whose sums and products stand in the order in which f has them. Raises AgradError of kind `shape`
    for arrays, and `grad` for a value that was computed without x, its `name`, unless `is_of` says that it is one of x.
    """
    is_number = not (isinstance(x, Tensor) and x.requires_grad)
    at = FUNCTIONS["tensor"].call(x, requires_grad=True) if is_number else x
    y = f(at)
    y = y(at) if callable(y) else y  # d/dx f
    if not is_of and not (isinstance(y, Tensor) and at.node in reachable(y.node)):
        if is_number:
            message = f"what is differentiated was not computed from a leaf {name}: its number says nothing of {name}"
            again = f"var {name} = {at.item():.15g}   and then compute it again"
            raise AgradError("grad", message, fixes=[again])
        if (listener := current().listener) is not None:
            listener(Note(f"what is differentiated was computed without {name}, and so the derivative is 0"))
        return 0.0
    for _ in range(order):
        for what in (at, y):
            if isinstance(what, Tensor) and what.shape:
                message = f"d/dx is of a number by a number, and this has shape {format_shape(what.shape)}"
                raise AgradError("shape", message, fixes=["help jacobian"])
        y = jvp(y, at, 1.0, True) if isinstance(y, Tensor) and y.requires_grad else 0.0
    if not is_number or not isinstance(y, Tensor) or _depends(y, at):
        return y
    return y.item() if unit_of(y) is None else like(y.value, y)


def _depends(y: Tensor, x: Tensor) -> bool:
    """Whether a value has leaves behind it other than x."""
    return any(node.op is None and node.requires_grad and node is not x.node for node in collect([y.node]))


def prime(value: Any, order: int) -> Any:
    """`f'`, a function; `y'` of a value, by the one leaf that it was computed from. Raises AgradError."""
    if callable(value):

        def made(*args: Any, **keywords: Any) -> Any:
            if len(args) != 1 or keywords:
                told = f"{made.__name__} is the derivative of a function of one number, and got {len(args)}"
                raise AgradError("arity", told, fixes=["help grad"], facts=OneTooMany() if len(args) == 2 else None)
            return derivative(value, order, *args)

        made.__name__ = f"{getattr(value, '__name__', 'f')}{chr(39) * order}"
        return made
    if isinstance(value, Tensor) and len(value.shape) == 2:
        facts = Instead(f"{value.node.name}'", (f"{value.node.name}.T",)) if value.node.name else None
        message = "' is a derivative here, and this is a matrix, whose transpose is .T"
        raise AgradError("type", message, fixes=[Hint("transpose(…)")], facts=facts)
    nodes = collect([value.node]) if isinstance(value, Tensor) else []
    leaves = [node for node in nodes if node.op is None and node.requires_grad]
    if len(leaves) != 1 or value.shape:
        names = " and ".join(sorted(node.name or "a value without a name" for node in leaves)) or "no leaf"
        message = f"this value was computed from {names}, so that it is not clear by what it is differentiated"
        raise AgradError("type", message, fixes=["help grad"])
    y = value
    for _ in range(order):
        y = jvp(y, bare(leaves[0]), 1.0, True) if isinstance(y, Tensor) and y.requires_grad else 0.0
    return y
