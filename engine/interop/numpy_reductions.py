"""NumPy's reductions with `where=` and `initial=`, and those that agrad's table has not."""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.dispatch import operand
from agrad.engine.core.op import Function
from agrad.engine.errors import AgradError, Hint
from agrad.engine.interop.numpy_shapes import ag
from agrad.engine.ops.arrays.statistics import quantiles
from agrad.engine.values import broadcast, shape_of

# What an entry that is left out counts as.
_NEUTRAL = {"sum": 0.0, "prod": 1.0, "any": 0.0, "all": 1.0, "max": -math.inf, "min": math.inf}
_WITH_INITIAL = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum"}


def _chosen(a: Any, where: Any, otherwise: float) -> Any:
    """The entries where the condition holds."""
    return operand(a) if where is True else ag.where(where, a, otherwise)


def _reduced(name: str, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    if where is not True and initial is None and name in ("max", "min"):
        fixes = [Hint("initial=-np.inf") if name == "max" else Hint("initial=np.inf")]
        raise AgradError("type", f"np.{name} with where= needs initial=, since there may be no entry", fixes=fixes)
    found = getattr(ag, name)(_chosen(a, where, _NEUTRAL[name]), axis=axis, keepdims=keepdims)
    return found if initial is None else getattr(ag, _WITH_INITIAL[name])(found, initial)


def _with_initial(name: str) -> Function:
    def function(a: Any, axis: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True) -> Any:
        return _reduced(name, a, axis, keepdims, initial, where)

    return function


def _truths(name: str) -> Function:
    def function(a: Any, axis: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
        return _reduced(name, a, axis, keepdims, None, where)

    return function


def _mean(a: Any, axis: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    if where is True:
        return ag.mean(a, axis, keepdims)
    return ag.div(ag.sum(ag.where(where, a, 0.0), axis, keepdims), _count(a, where, axis, keepdims))


def _count(a: Any, where: Any, axis: Any, keepdims: Any) -> Any:
    truths = ag.not_equal(where, 0.0)
    return ag.sum(ag.expand(truths, broadcast(shape_of(operand(a)), shape_of(truths))), axis, keepdims)


def _nothing(a: Any, where: Any) -> Any:
    """nan in the place of what is left out, which the functions without nan leave out: none of the others may be."""
    if ag.any(ag.isnan(_chosen(a, where, 0.0))):
        raise AgradError("domain", "np.var and np.std with where= of entries that are nan", fixes=[Hint("np.nanvar")])
    return ag.where(where, a, math.nan)


def _moment(name: str) -> Function:
    def function(a: Any, axis: Any = None, ddof: Any = 0, keepdims: Any = False, *, where: Any = True) -> Any:
        call = getattr(ag, name if where is True else f"nan{name}")
        return call(a if where is True else _nothing(a, where), axis, keepdims, ddof)

    return function


# Without nan


def _without_nan(name: str, neutral: float) -> Function:
    def function(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
        return getattr(ag, name)(ag.where(ag.isnan(a), neutral, a), axis=axis, keepdims=keepdims)

    return function


def _running_without_nan(name: str, neutral: float) -> Function:
    return lambda a, axis=None: getattr(ag, name)(ag.where(ag.isnan(a), neutral, a), axis)


def _places_without_nan(name: str, beyond: float) -> Function:
    def function(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
        if not ag.all(ag.sum(ag.equal(ag.isnan(a), 0.0), axis)):
            raise AgradError("domain", f"np.nan{name}: all entries along an axis are nan")
        return getattr(ag, name)(ag.where(ag.isnan(a), beyond, a), axis, keepdims)

    return function


def _nanmedian(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return quantiles("nanmedian", 1.0, True, a, 0.5, axis, keepdims)


def _nanquantile(name: str, whole: float) -> Function:
    def function(a: Any, q: Any, axis: Any = None, keepdims: Any = False) -> Any:
        return quantiles(name, whole, True, a, q, axis, keepdims)

    return function


REDUCTIONS: dict[str, Function] = {
    **{name: _with_initial(name) for name in _WITH_INITIAL},
    "amax": _with_initial("max"),
    "amin": _with_initial("min"),
    **{name: _truths(name) for name in ("any", "all")},
    "mean": _mean,
    **{name: _moment(name) for name in ("var", "std")},
    "nanprod": _without_nan("prod", 1.0),
    "nancumsum": _running_without_nan("cumsum", 0.0),
    "nancumprod": _running_without_nan("cumprod", 1.0),
    "nanargmax": _places_without_nan("argmax", -math.inf),
    "nanargmin": _places_without_nan("argmin", math.inf),
    "nanmedian": _nanmedian,
    "nanquantile": _nanquantile("nanquantile", 1.0),
    "nanpercentile": _nanquantile("nanpercentile", 100.0),
}
