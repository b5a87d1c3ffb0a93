"""Complex numbers as pairs, arrays with a last axis of the real and the imaginary part: products, spectra, roots.

All derivatives are those of real functions of real numbers, so that no convention of complex ones is needed.
"""

from __future__ import annotations

from typing import Any

from agrad.engine.core.arguments import small
from agrad.engine.core.context import afford
from agrad.engine.core.dispatch import by_array, in_family, operand
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.arrays.indexing import getitem
from agrad.engine.ops.arrays.joining import stack
from agrad.engine.ops.arrays.reduction import total
from agrad.engine.ops.arrays.shaping import reshape
from agrad.engine.ops.scalar.arithmetic import add, div, mul, neg, sub
from agrad.engine.ops.scalar.elementary import hypot
from agrad.engine.ops.scalar.trigonometry import cos, sin
from agrad.engine.values import format_shape, np, shape_of

row, composed = in_family("complex numbers")


def _check(name: str, x: Any) -> Any:
    """AgradError of kind `shape` for what has no last axis of 2."""
    shape = shape_of(x)
    if shape[-1:] != (2,):
        message = f"{name} needs a last axis of 2, the real and the imaginary part, and not {format_shape(shape)}"
        raise AgradError("shape", message, fixes=[Hint("[3, 4]   is 3 + 4i")])
    return shape


def _parts(name: str, x: Any) -> tuple[Any, Any]:
    """The real and the imaginary part."""
    x = operand(x)
    _check(name, getattr(x, "value", x))
    return getitem(x, (..., 0)), getitem(x, (..., 1))


@composed(pure=True)
def cmul(x: Any, y: Any, /) -> Any:
    """The product of complex numbers, each a pair of its real and imaginary part along the last axis.

    derivative: the product with the other one, conjugated
    example: cmul([1, 2], [3, -1]) == [5, 5]
    """
    (a, b), (c, d) = _parts("cmul", x), _parts("cmul", y)
    return stack([sub(mul(a, c), mul(b, d)), add(mul(a, d), mul(b, c))], axis=-1)


@composed(pure=True)
def cdiv(x: Any, y: Any, /) -> Any:
    """The quotient of complex numbers, each a pair of its real and imaginary part along the last axis.

    derivative: by x, the quotient with the conjugate of y
    example: cdiv([5, 5], [3, -1]) ~= [1, 2]
    """
    (a, b), (c, d) = _parts("cdiv", x), _parts("cdiv", y)
    r = hypot(c, d)
    c, d = div(c, r), div(d, r)
    return stack([div(add(mul(a, c), mul(b, d)), r), div(sub(mul(b, c), mul(a, d)), r)], axis=-1)


@composed(pure=True)
def polar(r: Any, phi: Any, /) -> Any:
    """The pair of the real and the imaginary part of r*exp(i*phi), along a new last axis.

    derivative: [cos(phi), sin(phi)] by r, r*[-sin(phi), cos(phi)] by phi
    example: polar(2, 0) == [2, 0]
    """
    return stack([mul(r, cos(phi)), mul(r, sin(phi))], axis=-1)


def _weights(n: int, inner: float) -> Any:
    """How often a frequency is in a spectrum of n real numbers that has each once: 0 and the highest are there once."""
    found = np.full((n // 2 + 1, 1), inner)
    found[:: n // 2 if n % 2 == 0 else n] = 1.0
    return found


def _frequencies(x: Any) -> dict[str, Any]:
    shape = shape_of(x)
    if not shape or not shape[-1]:
        raise AgradError("shape", f"rfft needs values along the last axis, and not {format_shape(shape)}")
    afford("rfft", (*shape[:-1], shape[-1] // 2 + 1, 2))
    return {"n": shape[-1]}


def _times(x: Any, n: Any) -> dict[str, Any]:
    frequencies = _check("irfft", x)[-2:-1]
    n = small("irfft", "n", n) if n is not None else 2 * (sum(frequencies) - 1) or 1
    if n < 1 or frequencies != (n // 2 + 1,):
        message = f"irfft makes n values of n//2 + 1 pairs, and not {n} of {format_shape(shape_of(x))}"
        raise AgradError("shape", message, fixes=[Hint("irfft(x, n=5)   of an odd number of values")])
    return {"n": n}


@by_array(
    row,
    "x",
    units="a -> a",
    rules={"x": ("", lambda g, out, x, n: mul(float(n), irfft(mul(g, _weights(n, 0.5)), n)))},
    prepare=_frequencies,
)
def rfft(x: Any, n: Any) -> Any:
    """The discrete Fourier transform of real values along the last axis, at the frequencies from 0 to half the number
    of values: sum(x[j]*exp(-2*pi*i*j*k/n)), pairs of the real and the imaginary part.

    derivative: the transposed transform
    example: rfft([1, 0, 0, 0]) == [[1, 0], [1, 0], [1, 0]]
    """
    return _pairs(np.fft.rfft(x))


@by_array(
    row,
    "x; n=None",
    units="a -> a",
    rules={"x": ("", lambda g, out, x, n: mul(rfft(g), _weights(n, 2.0) / n))},
    prepare=_times,
)
def irfft(x: Any, n: Any) -> Any:
    """The inverse of rfft: n real values, an even number if n is not given.

    derivative: the transposed transform
    example: irfft(rfft([1, 2, 3]), 3) ~= [1, 2, 3]
    """
    return np.fft.irfft(x[..., 0] + 1j * x[..., 1], n)


def _pairs(z: Any) -> Any:
    return np.stack([z.real, z.imag], axis=-1)


def _coefficients(c: Any) -> dict[str, Any]:
    if len(shape_of(c)) != 1 or shape_of(c)[0] < 2:
        message = f"roots needs the coefficients of a polynomial, at least two, and not {format_shape(shape_of(c))}"
        raise AgradError("shape", message, fixes=[Hint("roots([1, -3, 2])   of x^2 - 3*x + 2")])
    return {}


def _by_coefficients(g: Any, out: Any, c: Any) -> Any:
    """A root moves by -z^k/p'(z) where the coefficient of z^k does."""
    n = shape_of(c)[0] - 1
    powers = [np.tile([1.0, 0.0], (n, 1))]
    for _ in range(n):
        powers.insert(0, cmul(powers[0], out))
    weighted = mul(getitem(c, slice(0, n)), np.arange(n, 0.0, -1.0))
    slope = total(mul(reshape(weighted, (n, 1, 1)), stack(powers[1:])), 0)
    return neg(total(mul(g, cdiv(stack(powers), slope)), (1, 2)))


@by_array(row, "c", units="a -> 1", rules={"c": ("out c", _by_coefficients)}, prepare=_coefficients)
def roots(c: Any) -> Any:
    """The roots of the polynomial with these coefficients, of the highest power first: pairs of the real and the
    imaginary part, in the order of these; nan where the first coefficient is 0.

    derivative: -z^k/p'(z) for the coefficient of z^k; none at a repeated root
    example: roots([1, -3, 2]) ~= [[1, 0], [2, 0]]
    """
    # The eigenvalues of the companion matrix, and two steps of Newton's method where these improve them.
    if not np.isfinite(c[1:] / c[0]).all():
        return np.full((len(c) - 1, 2), np.nan)
    z = np.roots(c)
    for _ in range(2):
        better = z - np.polyval(c, z) / np.polyval(np.polyder(c), z)
        z = np.where(np.abs(np.polyval(c, better)) < np.abs(np.polyval(c, z)), better, z)
    return _pairs(z[np.lexsort((z.imag, z.real))])
