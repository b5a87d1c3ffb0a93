"""The functions of agrad for those of NumPy, to which `protocols` passes calls.

Functions with the same name in both (`sum`, `linalg.inv`) are not listed. names.txt has those with other names, `MADE`
those made from several operations, or with other arguments: their parameters have NumPy's names, and any other
argument is refused. `numpy_arrays` has those of shapes and of whole arrays.
"""

from __future__ import annotations

import math
import warnings
from collections import namedtuple
from collections.abc import Mapping
from functools import cache, reduce
from typing import Any

from agrad.engine.core.arguments import axis_of, number_of
from agrad.engine.core.dispatch import operand
from agrad.engine.core.op import FUNCTIONS, Entry, Function
from agrad.engine.errors import AgradError, Hint
from agrad.engine.interop import numpy_arrays as arrays
from agrad.engine.interop.numpy_arrays import MOVING, ag
from agrad.engine.ops.arrays.statistics import quantiles
from agrad.engine.ops.linalg.decomposition import eigh_values, eigh_vectors, svd_values
from agrad.engine.ops.linalg.norms import of_vector
from agrad.engine.text import beside, tables
from agrad.engine.values import broadcast, format_shape, np, shape_of

TABLES = tables(beside(__file__, "names.txt"))

# Reductions with `where=` and `initial=`, and those that the table of operations has not

# The ufunc that each of them repeats, and what an entry that is left out counts as.
_REPEATED = {
    "sum": ("add", 0.0), "prod": ("multiply", 1.0), "any": ("logical_or", 0.0), "all": ("logical_and", 1.0),
    "max": ("maximum", -math.inf), "min": ("minimum", math.inf),
}  # fmt: skip


def _reduction(name: str) -> Function:
    ufunc, neutral = _REPEATED[name]

    def function(a: Any, axis: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True) -> Any:
        if where is not True and initial is None and name in ("max", "min"):
            fixes = [Hint("initial=-np.inf") if name == "max" else Hint("initial=np.inf")]
            raise AgradError("type", f"np.{name} with where= needs initial=, since there may be no entry", fixes=fixes)
        chosen = operand(a) if where is True else ag.where(where, a, neutral)
        found = getattr(ag, name)(chosen, axis=axis, keepdims=keepdims)
        return found if initial is None else getattr(np, ufunc)(found, initial)

    return function


def _mean(a: Any, axis: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    if where is True:
        return ag.mean(a, axis, keepdims)
    truths = ag.not_equal(where, 0.0)
    count = ag.sum(ag.expand(truths, broadcast(shape_of(operand(a)), shape_of(truths))), axis, keepdims)
    return ag.div(ag.sum(ag.where(where, a, 0.0), axis, keepdims), count)


def _moment(name: str) -> Function:
    """With `where`, what is left out is nan, which `nanvar` leaves out: none of the others may be."""

    def function(a: Any, axis: Any = None, ddof: Any = 0, keepdims: Any = False, *, where: Any = True) -> Any:
        if where is True:
            return getattr(ag, name)(a, axis, keepdims, ddof)
        if ag.any(ag.isnan(ag.where(where, a, 0.0))):
            message, fixes = "np.var and np.std with where= of entries that are nan", [Hint("np.nanvar")]
            raise AgradError("domain", message, fixes=fixes)
        return getattr(ag, f"nan{name}")(ag.where(where, a, math.nan), axis, keepdims, ddof)

    return function


# Without nan


def _without_nan(name: str, neutral: float, needs_one: bool = False) -> Function:
    def function(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
        if needs_one and not ag.all(ag.sum(ag.equal(ag.isnan(a), 0.0), axis)):
            raise AgradError("domain", f"np.nan{name}: all entries along an axis are nan")
        return getattr(ag, name)(ag.where(ag.isnan(a), neutral, a), axis=axis, keepdims=keepdims)

    return function


def _running_without_nan(name: str, neutral: float) -> Function:
    return lambda a, axis=None: getattr(ag, name)(ag.where(ag.isnan(a), neutral, a), axis)


REDUCTIONS: dict[str, Function] = {
    **{name: _reduction(name) for name in _REPEATED},
    "amax": _reduction("max"),
    "amin": _reduction("min"),
    "mean": _mean,
    **{name: _moment(name) for name in ("var", "std")},
    "nanprod": _without_nan("prod", 1.0),
    "nancumsum": _running_without_nan("cumsum", 0.0),
    "nancumprod": _running_without_nan("cumprod", 1.0),
    "nanargmax": _without_nan("argmax", -math.inf, needs_one=True),
    "nanargmin": _without_nan("argmin", math.inf, needs_one=True),
    "nanmedian": lambda a, axis=None, keepdims=False: quantiles("nanmedian", 1.0, True, a, 0.5, axis, keepdims),
    "nanquantile": lambda a, q, axis=None, keepdims=False: quantiles("nanquantile", 1.0, True, a, q, axis, keepdims),
    "nanpercentile": lambda a, q, axis=None, keepdims=False: quantiles(
        "nanpercentile", 100.0, True, a, q, axis, keepdims
    ),
}


# Entry by entry

_LN2 = math.log(2.0)


def _truth(x: Any) -> Any:
    """A comparison, so that the result is a mask and selects as an index."""
    return ag.not_equal(x, 0.0)


_LOGIC: dict[str, Function] = {
    "logical_and": lambda x, y: _truth(ag.mul(_truth(x), _truth(y))),
    "logical_or": lambda x, y: _truth(ag.add(_truth(x), _truth(y))),
    "logical_xor": lambda x, y: ag.not_equal(_truth(x), _truth(y)),
    "logical_not": lambda x: ag.equal(x, 0.0),
}


def _of_truths(name: str) -> Function:
    """`mask & mask`: bitwise operations are logic where all entries are 0 or 1."""

    def function(*xs: Any) -> Any:
        for x in xs:
            if not np.isin(getattr(x, "value", x), (0, 1)).all():
                fixes = [Hint(f"np.{name}, which treats every entry that is not 0 as true")]
                raise AgradError("type", "& | ^ ~ need entries that are 0 or 1: a Tensor has no bits", fixes=fixes)
        return _LOGIC[name](*xs)

    return function


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        fixes = [Hint("x[condition], for the entries"), Hint("np.nonzero(x.detach().numpy()), for the places")]
        raise AgradError("type", "np.where of a condition alone has no counterpart in agrad", fixes=fixes)
    return ag.where(condition, x, y)


def _select(condlist: Any, choicelist: Any, default: Any = 0.0) -> Any:
    pairs = zip(reversed(condlist), reversed(choicelist), strict=True)
    return reduce(lambda rest, pair: ag.where(*pair, rest), pairs, default)


def _isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8) -> Any:
    near = ag.less_equal(ag.abs(ag.sub(a, b)), ag.add(atol, ag.mul(rtol, ag.abs(b))))
    return _truth(ag.add(ag.mul(near, ag.isfinite(b)), ag.equal(a, b)))


def _nan_to_num(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    largest = np.finfo(np.float64).max
    x = ag.where(ag.isnan(x), nan, x)
    x = ag.where(ag.equal(x, math.inf), largest if posinf is None else posinf, x)
    return ag.where(ag.equal(x, -math.inf), -largest if neginf is None else neginf, x)


def _astype(x: Any, dtype: Any = float) -> Any:
    if np.dtype(dtype) == np.bool_:
        return _truth(x)
    if np.dtype(dtype) != np.float64:
        fixes = [Hint(f"x.detach().numpy().astype({np.dtype(dtype)}), for a plain array")]
        raise AgradError("type", f"astype: all values are float64, not {np.dtype(dtype)}", fixes=fixes)
    return ag.clone(x)


# Sums, differences, lines


def _average(a: Any, axis: Any = None, weights: Any = None, keepdims: Any = False) -> Any:
    if weights is None:
        return ag.mean(a, axis, keepdims)
    a, weights = operand(a), operand(weights)
    have, given = shape_of(a), shape_of(weights)
    if given != have:
        if axis is None or given != (have[axis_of("average", have, axis)],):
            where = f"shape {format_shape(have)}" if axis is None else f"axis {axis} of shape {format_shape(have)}"
            raise AgradError("shape", f"average: weights of shape {format_shape(given)} do not fit {where}")
        weights = ag.reshape(weights, tuple(-1 if one == axis % len(have) else 1 for one in range(len(have))))
    whole = ag.sum(ag.expand(weights, have), axis, keepdims)
    return ag.div(ag.sum(ag.mul(a, weights), axis, keepdims), whole)


def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    y = operand(y)
    place = axis_of("trapezoid", shape_of(y), axis)
    if x is not None:
        x, count = operand(x), len(shape_of(y))
        if len(shape_of(x)) == 1:
            x = ag.reshape(x, tuple(-1 if one == place else 1 for one in range(count)))
        dx = arrays.diff(x, axis=axis)
    return ag.sum(ag.mul(ag.mul(dx, ag.add(*arrays.neighbours(y, place))), 0.5), place)


def _linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True) -> Any:
    start, stop = operand(start), operand(stop)
    axes = (1,) * len(broadcast(shape_of(start), shape_of(stop)))
    share = np.linspace(0.0, 1.0, num, endpoint).reshape(-1, *axes)
    return ag.add(ag.mul(start, 1.0 - share), ag.mul(stop, share))


def _nested(object: Any, dtype: Any = None) -> Any:
    """The array of nested lists of Tensors and numbers, with their graphs: `np.array([[x, 1], [1, x]], like=x)`."""
    if dtype is not None and np.dtype(dtype) != np.float64:
        raise AgradError("type", "np.array of Tensors has no other dtype: all values are float64")
    return ag.stack([_nested(one) for one in object]) if isinstance(object, list | tuple) else operand(object)


# Linear algebra

_Eigen = namedtuple("_Eigen", "eigenvalues eigenvectors")
_Log = namedtuple("_Log", "sign logabsdet")
_Orthogonal = namedtuple("_Orthogonal", "Q R")
_Singular = namedtuple("_Singular", "U S Vh")


def _of_triangle(name: str, function: Function) -> Function:
    """NumPy reads one triangle of a matrix, agrad the symmetric part: that of the triangle, and its transpose."""

    def call(a: Any, UPLO: Any = "L") -> Any:  # noqa: N803 - NumPy's name
        letter = UPLO.upper() if isinstance(UPLO, str) else UPLO
        if letter not in ("L", "U"):
            raise AgradError("type", f"{name}: UPLO is L or U, not {UPLO!r}")
        upper = letter == "U"
        if len(shape_of(operand(a))) < 2:
            return function(a, upper)
        lower = arrays.swapaxes(ag.triu(a), -1, -2) if upper else ag.tril(a)
        return function(ag.add(lower, arrays.swapaxes(ag.tril(lower, -1), -1, -2)), upper)

    return call


def _svd(a: Any, full_matrices: Any = True, compute_uv: Any = True) -> Any:
    if not compute_uv:
        return svd_values(a)
    shape = shape_of(a)
    if full_matrices and shape[-1:] != shape[-2:-1]:
        fixes = [Hint("linalg.svd(x, full_matrices=False)")]
        raise AgradError("type", "linalg.svd of a matrix that is not square has its reduced form only", fixes=fixes)
    return _Singular(*ag.svd(a))


def _lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, int, Any]:
    """The solution, the sums of squared residuals (if they are unique), the rank and the singular values."""
    if rcond is not None:
        raise AgradError("type", "np.linalg.lstsq has no counterpart in agrad with rcond=", fixes=[Hint("rcond=None")])
    a, b = operand(a), operand(b)
    solution, (m, n) = ag.lstsq(a, b), shape_of(a)
    rank = int(np.linalg.matrix_rank(getattr(a, "value", a)))
    rest = ag.zeros(0)
    if rank == n < m:
        rest = ag.reshape(ag.sum(ag.square(ag.sub(ag.matmul(a, solution), b)), 0), (-1,))
    return solution, rest, rank, svd_values(a)


# The table

MADE: dict[str, Function] = {
    **_LOGIC,
    **{name: getattr(arrays, name) for name in TABLES["arrays"]},
    **REDUCTIONS,
    **MOVING,
    "bitwise_and": _of_truths("logical_and"),
    "bitwise_or": _of_truths("logical_or"),
    "bitwise_xor": _of_truths("logical_xor"),
    "invert": _of_truths("logical_not"),
    "isinf": lambda x: ag.equal(ag.abs(x), math.inf),
    "fmax": lambda x, y: ag.where(ag.isnan(x), y, ag.where(ag.isnan(y), x, ag.maximum(x, y))),
    "fmin": lambda x, y: ag.where(ag.isnan(x), y, ag.where(ag.isnan(y), x, ag.minimum(x, y))),
    "logaddexp2": lambda x, y: ag.div(ag.logaddexp(ag.mul(x, _LN2), ag.mul(y, _LN2)), _LN2),
    "divmod": lambda x, y: (ag.floor_divide(x, y), ag.remainder(x, y)),
    "vecdot": lambda x1, x2: ag.sum(ag.mul(x1, x2), -1),
    "matvec": lambda x1, x2: ag.squeeze(ag.matmul(x1, ag.unsqueeze(x2, -1)), -1),
    "vecmat": lambda x1, x2: ag.squeeze(ag.matmul(ag.unsqueeze(x1, -2), x2), -2),
    "array": _nested,
    "asarray": lambda a, dtype=None: _nested(a, dtype),
    "where": _where,
    "select": _select,
    "isclose": _isclose,
    "nan_to_num": _nan_to_num,
    "astype": _astype,
    "real": lambda val: val,
    "imag": lambda val: ag.mul(val, 0.0),
    "isreal": lambda x: ag.equal(ag.mul(ag.isnan(x), 0.0), 0.0),
    "iscomplex": lambda x: ag.not_equal(ag.mul(ag.isnan(x), 0.0), 0.0),
    "angle": lambda z, deg=False: ag.mul(ag.atan2(0.0, ag.add(z, 0.0)), 180.0 / math.pi if deg else 1.0),
    "ptp": lambda a, axis=None, keepdims=False: ag.sub(
        ag.max(a, axis=axis, keepdims=keepdims), ag.min(a, axis=axis, keepdims=keepdims)
    ),
    "count_nonzero": lambda a, axis=None, keepdims=False: ag.sum(_truth(a), axis, keepdims),
    "average": _average,
    "partition": lambda a, kth, axis=-1: ag.sort(a, axis) if axis is not None else ag.sort(ag.flatten(a)),
    "argpartition": lambda a, kth, axis=-1: ag.argsort(a, axis) if axis is not None else ag.argsort(ag.flatten(a)),
    "linalg.cross": lambda x1, x2, axis=-1: arrays.cross(x1, x2, axis=axis),
    "trapezoid": _trapezoid,
    "trapz": _trapezoid,
    "polyval": lambda p, x: reduce(lambda value, c: ag.add(ag.mul(value, x), c), operand(p), ag.mul(x, 0.0)),
    "linspace": _linspace,
    "zeros_like": lambda a, shape=None: ag.zeros(shape_of(a) if shape is None else shape),
    "empty_like": lambda prototype, *, shape=None: ag.zeros(shape_of(prototype) if shape is None else shape),
    "ones_like": lambda a, shape=None: ag.ones(shape_of(a) if shape is None else shape),
    "full_like": lambda a, fill_value, shape=None: ag.mul(
        ag.ones(shape_of(operand(a)) if shape is None else shape), fill_value
    ),
    "matrix_transpose": lambda x: arrays.swapaxes(x, -1, -2),
    "atleast_1d": arrays.each_at_least(1),
    "atleast_2d": arrays.each_at_least(2),
    "atleast_3d": arrays.each_at_least(3),
    "fliplr": lambda m: ag.flip(m, 1),
    "flipud": lambda m: ag.flip(m, 0),
    "append": lambda arr, values, axis=None: arrays.concatenate((arr, values), axis),
    "vstack": lambda tup: ag.concat([arrays.at_least(x, 2) for x in tup], 0),
    "dstack": lambda tup: ag.concat([arrays.at_least(x, 3) for x in tup], 2),
    "split": lambda ary, indices_or_sections, axis=0: list(ag.split(ary, indices_or_sections, axis)),
    "hsplit": lambda ary, indices_or_sections: list(ag.split(ary, indices_or_sections, min(1, len(shape_of(ary)) - 1))),
    "vsplit": lambda ary, indices_or_sections: list(ag.split(ary, indices_or_sections, 0)),
    "dsplit": lambda ary, indices_or_sections: list(ag.split(ary, indices_or_sections, 2)),
    "unstack": lambda x, axis=0: tuple(arrays.moveaxis(x, axis, 0)),
    "dot": lambda a, b: ag.dot(a, b),
    "vdot": lambda a, b: ag.dot(ag.flatten(a), ag.flatten(b)),
    "trace": lambda a, offset=0, axis1=0, axis2=1: ag.sum(ag.diagonal(a, offset, axis1, axis2), -1),
    "linalg.matrix_transpose": lambda x: arrays.swapaxes(x, -1, -2),
    "linalg.diagonal": lambda x, offset=0: ag.diagonal(x, offset, -2, -1),
    "linalg.trace": lambda x, offset=0: ag.sum(ag.diagonal(x, offset, -2, -1), -1),
    "linalg.vecdot": lambda x1, x2, axis=-1: ag.sum(ag.mul(x1, x2), axis),
    "linalg.tensordot": lambda x1, x2, axes=2: arrays.tensordot(x1, x2, axes),
    "linalg.multi_dot": lambda arrays: reduce(ag.dot, arrays),
    "linalg.matrix_norm": lambda x, keepdims=False, ord="fro": ag.norm(x, ord, (-2, -1), keepdims),  # noqa: A006
    "linalg.vector_norm": lambda x, axis=None, keepdims=False, ord=2: of_vector(  # noqa: A006
        operand(x), number_of("vector_norm", "ord", ord), axis, keepdims
    ),
    "linalg.cholesky": lambda a: _of_triangle("np.linalg.cholesky", lambda a, upper: ag.cholesky(a))(a),
    "linalg.eigh": _of_triangle(
        "np.linalg.eigh", lambda a, upper: _Eigen(eigh_values(a, upper=upper), eigh_vectors(a, upper=upper))
    ),
    "linalg.eigvalsh": _of_triangle("np.linalg.eigvalsh", lambda a, upper: eigh_values(a, upper=upper)),
    "linalg.slogdet": lambda a: _Log(*ag.slogdet(a)),
    "linalg.svd": _svd,
    "linalg.svdvals": lambda x: svd_values(x),
    "linalg.qr": lambda a: _Orthogonal(*ag.qr(a)),
    "linalg.lstsq": _lstsq,
}


@cache
def _targets() -> Mapping[Any, str | Function]:
    """The function for each of NumPy's: the name of an entry of agrad's table, or one of those made here."""
    same = {path + name: name for name in FUNCTIONS.keys() for path in ("", "linalg.")}  # noqa: SIM118 - imports none
    targets: dict[str, str | Function] = {**same, **TABLES["functions"], **MADE}
    found = {_in_numpy(path): target for path, target in targets.items()}
    return {one: target for one, target in found.items() if callable(one) and not isinstance(one, type)}


def counterpart(function: Any) -> Entry | Function | None:
    """What agrad has for a function of NumPy; None if there is none that takes a Tensor."""
    target = _targets().get(function)
    if not isinstance(target, str):
        return target
    entry = FUNCTIONS[target]
    return entry if entry.family not in ("creation", "python", "complex numbers") else None


@cache
def describing() -> Mapping[Any, bool]:
    """NumPy's functions that run on the plain entries, and whether they make a guard."""
    found = {_in_numpy(name): bool(how) for name, how in TABLES["describing"].items()}
    return {function: decides for function, decides in found.items() if function is not None}


def _in_numpy(path: str) -> Any:
    """The function of that name, or None where this NumPy has none."""
    room: Any = np
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # NumPy warns of names that it had: np.str
        for name in path.split("."):
            room = getattr(room, name, None)
    return room
