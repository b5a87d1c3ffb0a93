"""Linear algebra: products, inverses and solutions, determinants. Leading axes are a batch, as in numpy."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

from agrad.engine.core.arguments import axis_of
from agrad.engine.core.context import afford, current
from agrad.engine.core.dispatch import by_array, by_rule, in_family, operand, shape_of_any
from agrad.engine.core.op import Failure, Function, Kink, Operator, flat
from agrad.engine.errors import AgradError
from agrad.engine.ops.arrays import opposed
from agrad.engine.ops.arrays.indexing import getitem
from agrad.engine.ops.arrays.joining import diagonal
from agrad.engine.ops.arrays.reduction import total
from agrad.engine.ops.arrays.shaping import check_matrix, collapse, permute, reshape, summed_to, swap, unsqueeze
from agrad.engine.ops.linalg import expansions
from agrad.engine.ops.linalg.determinant import minor_form
from agrad.engine.ops.linalg.factors import solved
from agrad.engine.ops.scalar.arithmetic import add, mul, sub
from agrad.engine.text import docstring
from agrad.engine.values import Shape, broadcast, format_shape, np, require_room, shape_of, size_of, whole

row, composed = in_family("linear algebra", pure=True)

SINGULAR = Kink("inv, solve of a singular matrix", "an error", "")


def matrices(name: str, square: bool = True) -> Function:
    """Checks that an operand is a matrix, or a batch of matrices."""

    def prepare(x: Any, *others: Any, **attrs: Any) -> dict[str, Any]:
        check_matrix(name, shape_of(x), square)
        return attrs

    return prepare


_ROOM = 2**21  # bytes for the threads of a product
_ALONE = 4096  # entries of a product that one thread computes


def in_room(function: Function) -> Function:
    """A function of LAPACK on arrays, once there is room for its work: where it finds none, it prints its own words."""

    def call(*operands: Any, **attrs: Any) -> Any:
        require_room(_ROOM + 64 * sum(x.size for x in operands))
        return function(*operands, **attrs)

    call.__name__, call.__doc__ = function.__name__, docstring(function)
    return call


def of_matrix(name: str, rule: tuple[str, Function], *, what: str = "", square: bool = True, **facts: Any) -> Function:
    """A row for a matrix, or a batch of matrices. `what`: the name in messages, if it is that of a function."""
    facts["array"] = in_room(facts["array"])
    return row(name, "x", rules={"x": rule}, prepare=matrices(what or name, square), **facts)


# Products


def _check_inner(name: str, a: Shape, b: Shape) -> None:
    inner = b[-2] if len(b) > 1 else b[0]
    if a[-1] == inner:
        return
    why = f"{a[-1]} columns on the left, {inner} rows on the right"
    if name == "dot" and len(a) == len(b) == 1:
        why = "two vectors need the same length"
    raise AgradError("shape", f"{name} of shapes {format_shape(a)} and {format_shape(b)}: {why}")


def _fitting(x: Any, y: Any) -> dict[str, Any]:
    attrs, result, entries = _fitted(() if type(x) is float else x.shape, () if type(y) is float else y.shape)
    if entries > current().limits.entries:
        afford("@", result)
    return attrs


@lru_cache
def _fitted(a: Shape, b: Shape) -> tuple[dict[str, Any], Shape, int]:
    """What a product of these shapes is prepared for, and the shape and size of the result."""
    if not a or not b:
        shapes = f"{format_shape(a)} and {format_shape(b)}"
        raise AgradError("shape", f"@ of shapes {shapes}: a scalar is not a matrix; use *")
    _check_inner("@", a, b)
    result = broadcast(a[:-2], b[:-2]) + a[-2:-1] + b[1:][-1:]
    return {"shapes": (a, b)}, result, size_of(result)


def _by_left(g: Any, out: Any, x: Any, y: Any, shapes: tuple[Shape, Shape]) -> Any:
    a, b = shapes
    if len(b) == 1:
        return g * y if len(a) == 1 else reshape(g, (*shape_of(g), 1)) * y
    if len(a) == 1:
        return matmul(y, g) if len(b) == 2 else collapse(_column(matmul(y, unsqueeze(g, -1))), a)
    return summed_to(matmul(g, swap(y)), a)


def _by_right(g: Any, out: Any, x: Any, y: Any, shapes: tuple[Shape, Shape]) -> Any:
    a, b = shapes
    if len(a) == 1:
        return g * x if len(b) == 1 else reshape(x, (a[0], 1)) * unsqueeze(g, -2)
    if len(b) == 1:
        return matmul(g, x) if len(a) == 2 else collapse(_column(matmul(swap(x), unsqueeze(g, -1))), b)
    return summed_to(matmul(swap(x), g), b)


def _column(x: Any) -> Any:
    """Without the last axis, of length 1."""
    return reshape(x, shape_of(x)[:-1])


def _multiply_each(operands: Any, attrs: Any, count: int) -> Any:
    (x, x_varies, a), (y, y_varies, b) = operands
    if x_varies and y_varies:
        return total(x * y, axis=1) if len(a) == len(b) == 1 else None
    if x_varies and len(a) == 1 and len(b) <= 2:
        return matmul(x, y)
    if y_varies and len(b) == 1 and len(a) <= 2:
        return matmul(y, swap(x) if len(a) == 2 else x)
    if x_varies and len(a) == len(b) == 2:
        return reshape(matmul(reshape(x, (count * a[0], a[1])), y), (count, a[0], b[1]))
    return None


@by_array(
    row,
    units="a, b -> ab",
    rules={"x": ("y", _by_left), "y": ("x", _by_right)},
    prepare=_fitting,
    operator=Operator("@", 2, "matmul"),
    fails=Failure(undefined=opposed.paired),
    batched=_multiply_each,
    reach="mixed",
    moves_entries=True,
)
def matmul(x: Any, y: Any, shapes: tuple[Shape, Shape]) -> Any:
    """The matrix product x @ y; of two vectors, their inner product.

    derivative: wrt x: g @ y.T; wrt y: x.T @ g
    example: [[1, 2], [3, 4]] @ [1, 1] == [3, 7]
    """
    if x.size > _ALONE or y.size > _ALONE:
        require_room(_ROOM)
    return np.matmul(x, y)


@composed(total=True)
def dot(x: Any, y: Any, /) -> Any:
    """The inner product of two vectors; the product of matrices and scalars.

    derivative: wrt x: g*y; wrt y: g*x
    example: dot([1, 2], [3, 4]) == 11
    """
    a, b = shape_of_any(x), shape_of_any(y)
    if not a or not b:
        return mul(x, y)
    _check_inner("dot", a, b)
    if len(b) < 3:
        return matmul(x, y)
    order = (len(b) - 2, *range(len(b) - 2), len(b) - 1)  # numpy's product of stacks: all of x with all of y
    spread = reshape(permute(y, order), (b[-2], -1))
    return reshape(matmul(x, spread), (*a[:-1], *b[:-2], b[-1]))


@composed(total=True)
def trace(x: Any, /) -> Any:
    """The sum of the diagonal of a matrix.

    derivative: 1 on the diagonal, exactly 0 off it
    example: trace([[1, 2], [3, 4]]) == 5
    """
    check_matrix("trace", shape_of_any(x), square=False)
    return total(diagonal(x), -1)


@composed(total=True)
def kron(x: Any, y: Any, /) -> Any:
    """The Kronecker product: each entry of x times the whole of y, side by side.

    derivative: wrt x: the sum of g*y over each block; wrt y: of g*x over the blocks
    example: kron([1, 2], [1, 10]) == [1, 10, 2, 20]
    """
    a, b = shape_of_any(x), shape_of_any(y)
    axes = max(len(a), len(b))
    a, b = (1,) * (axes - len(a)) + a, (1,) * (axes - len(b)) + b
    left = reshape(x, tuple(size for length in a for size in (length, 1)))
    right = reshape(y, tuple(size for length in b for size in (1, length)))
    return reshape(mul(left, right), tuple(i * j for i, j in zip(a, b, strict=True)))


# Inverses and solutions


def _inverse_rule(g: Any, out: Any, x: Any) -> Any:
    turned = swap(out)
    return -matmul(matmul(turned, g), turned)


@by_array(
    of_matrix,
    ("out", _inverse_rule),
    units="a -> 1/a",
    entries=expansions.inverse,
    unrolled=partial(expansions.inverse, most=expansions.UNROLLED),
    by_factors=lambda factors, turned: factors.inverse(turned),
    kinks=(SINGULAR,),
    domain="square matrices that are not singular",
)
def inv(x: Any) -> Any:
    """The inverse of a square matrix. A singular matrix is an error.

    derivative: -inv(x).T @ g @ inv(x).T
    example: inv([[2, 0], [0, 4]]) == [[0.5, 0], [0, 0.25]]
    """
    return np.linalg.inv(x)


def _solvable(x: Any, y: Any) -> dict[str, Any]:
    a, b = shape_of(x), shape_of(y)
    check_matrix("solve", a)
    rows = b[0] if len(b) == 1 else b[-2] if b else None
    if rows != a[-1]:
        message = f"solve: a matrix of shape {format_shape(a)} and a right side of {format_shape(b)}"
        fit = f"a right side of shape ({a[-1]}) would fit, or ({a[-1]}, k) with a vector in each column"
        raise AgradError("shape", message, notes=[fit])
    return {"shapes": (a, b)}


def _by_matrix(g: Any, out: Any, x: Any, y: Any, shapes: tuple[Shape, Shape]) -> Any:
    a, b = shapes
    u = _solve_back(g, x, b)
    return summed_to(-matmul(unsqueeze(u, -1), unsqueeze(out, -2)) if len(b) == 1 else -matmul(u, swap(out)), a)


def _solve_back(g: Any, x: Any, b: Shape) -> Any:
    """solve(x.T, g), where a batch of matrices may have had one vector on the right."""
    if len(b) == 1 and len(shape_of(g)) > 1:
        return _column(solve(swap(x), unsqueeze(g, -1)))
    return solve(swap(x), g)


@by_array(
    row,
    units="a, b -> b/a",
    rules={
        "x": ("out x", _by_matrix),
        "y": ("x", lambda g, out, x, y, shapes: summed_to(_solve_back(g, x, shapes[1]), shapes[1])),
    },
    prepare=_solvable,
    entries=expansions.solution,
    unrolled=partial(expansions.solution, most=expansions.UNROLLED),
    kinks=(SINGULAR,),
    domain="square matrices that are not singular",
)
@in_room
def solve(x: Any, y: Any, shapes: tuple[Shape, Shape]) -> Any:
    """The solution of x @ s = y, for a vector or the columns of a matrix. A singular x is an error.

    derivative: wrt y: u = solve(x.T, g); wrt x: -u @ solve(x, y).T
    example: solve([[2, 0], [0, 4]], [2, 2]) == [1, 0.5]
    """
    # One dimension is a vector, more are matrices, as since numpy 2.
    found = solved(x, y)
    if found is not None:
        return found
    columns = y[:, None] if y.ndim == 1 else y
    result = np.linalg.solve(x, columns.reshape((1,) * (x.ndim - columns.ndim) + columns.shape))
    return result[..., 0] if y.ndim == 1 else result


# Determinants


def _as_matrices(g: Any) -> Any:
    """A gradient with one number per matrix, with two more axes."""
    return g if not shape_of(g) else reshape(g, (*shape_of(g), 1, 1))


@by_rule(
    of_matrix,
    "x",
    units=lambda operands, attrs: f"a -> a^{shape_of(operands[0])[-1]}",
    array=lambda x: np.linalg.det(x),
    entries=expansions.determinant,
    unrolled=expansions.unrolled_determinant,
    by_factors=lambda factors, turned: factors.determinant,
    kinks=(Kink("det of a singular matrix", "0", "its cofactors, in all orders"),),
    domain="square matrices",
)
def det(g: Any, out: Any, x: Any) -> Any:
    """The determinant of a square matrix.

    derivative: the matrix of the cofactors, also of a singular matrix
    example: det([[1, 2], [3, 4]]) ~= -2
    """
    return _as_matrices(g) * minor_form([x])


def _inverse_or_not(x: Any) -> Any:
    """The inverse; of a singular matrix, the cofactors divided by 0."""
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        pass
    if x.ndim > 2:
        return np.stack([_inverse_or_not(one) for one in x])
    return np.swapaxes(minor_form([x]), -1, -2) / 0.0


inverse_if_any: Function = of_matrix(
    "inverse_if_any",
    ("out", _inverse_rule),
    units="a -> 1/a",
    array=_inverse_or_not,
    unrolled=partial(expansions.inverse, most=expansions.UNROLLED),
    what="inv",
    by_factors=lambda factors, turned: factors.inverse(turned),
    doc="The inverse of a square matrix; infinite, where it is singular.",
)

_slogdet = partial(of_matrix, what="slogdet")

slogdet_sign: Function = _slogdet(
    "slogdet_sign",
    ("", flat),
    units="a -> 1",
    array=lambda x: np.linalg.slogdet(x)[0],
    unrolled=expansions.sign_of_determinant,
    by_factors=lambda factors, turned: factors.sign,
    doc="The sign of the determinant.",
)


@by_rule(
    _slogdet,
    "x",
    array=lambda x: np.linalg.slogdet(x)[1],
    unrolled=expansions.log_of_determinant,
    by_factors=lambda factors, turned: factors.log,
)
def slogdet_log(g: Any, out: Any, x: Any) -> Any:
    """The logarithm of the absolute determinant; -inf for a singular matrix."""
    return _as_matrices(g) * swap(inverse_if_any(x))


@composed(
    kinks=(Kink("slogdet of a singular matrix", "0, -inf", ""),),
    domain="square matrices",
)
def slogdet(x: Any, /) -> tuple[Any, Any]:
    """The sign of the determinant, and the logarithm of its absolute value: sign, log = slogdet(x).

    derivative: of the sign 0; of the logarithm inv(x).T
    example: slogdet([[2, 0], [0, 0.5]])[0] == 1
    """
    return slogdet_sign(x), slogdet_log(x)


@composed(domain="square matrices; not singular for n < 0")
def matrix_power(x: Any, /, n: Any) -> Any:
    """The square matrix multiplied with itself n times; its inverse, for a negative n.

    derivative: the sum over the positions of the factor
    example: matrix_power([[1, 1], [0, 1]], 3) == [[1, 3], [0, 1]]
    """
    check_matrix("matrix_power", shape_of_any(x))
    n = whole(n, "matrix_power: n")
    if n < 0:
        return matrix_power(inv(x), -n)
    if n == 0:
        return add(mul(x, 0.0), np.eye(shape_of_any(x)[-1]))
    result = None
    while n:
        if n & 1:
            result = x if result is None else matmul(result, x)
        n >>= 1
        x = matmul(x, x) if n else x
    return result


# The cross product.


def _last(x: Any, axis: Any) -> Any:
    """With the axis of the vectors behind the others."""
    shape = shape_of(x)
    place = axis_of("cross", shape, axis)
    if shape[place] != 3:
        raise AgradError("shape", f"cross needs vectors of 3 entries, not a value of shape {format_shape(shape)}")
    return x if place == len(shape) - 1 else permute(x, (*(n for n in range(len(shape)) if n != place), place))


@composed()
def cross(x: Any, y: Any, /, axis: Any = -1) -> Any:
    """The cross product of vectors with three entries, along the last axis or another.

    derivative: wrt x: cross(y, g); wrt y: cross(g, x)
    example: cross([1, 0, 0], [0, 1, 0]) == [0, 0, 1]
    """
    x, y = (_last(operand(one), axis) for one in (x, y))
    (x1, x2), (y1, y2) = ([getitem(one, (..., order)) for order in ([1, 2, 0], [2, 0, 1])] for one in (x, y))
    result = sub(mul(x1, y2), mul(x2, y1))
    place, count = axis_of("cross", shape_of(result), axis), len(shape_of(result))
    return result if place == count - 1 else permute(result, (*range(place), count - 1, *range(place, count - 1)))
