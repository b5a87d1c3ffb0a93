"""Tensor's methods. Made by `make docs` from the table of functions."""


from collections.abc import Callable, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from agrad.engine.core.tensor import Tensor

Operand: TypeAlias = Tensor | float | ArrayLike

class Methods:
    """What the table of operations, autodiff and NumPy's protocols give to Tensor."""

    T: Tensor
    mT: Tensor
    dtype: np.dtype[Any]
    real: Tensor
    imag: Tensor
    def backward(
        self,
        gradient: object = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        *,
        fresh: bool = False,
        watch: Any = None,
    ) -> None: ...
    def forward(self) -> None: ...
    def graph(self, name: str | None = None, depth: int | None = None, since: Sequence[Tensor] = ()) -> Any: ...
    def register_hook(self, hook: Callable[[Any], Any]) -> Any: ...
    def astype(self, dtype: DTypeLike = ...) -> Tensor: ...
    def copy(self) -> Tensor: ...
    def ravel(self) -> Tensor: ...
    def swapaxes(self, axis1: int, axis2: int) -> Tensor: ...
    def take(self, indices: ArrayLike, axis: int | None = None) -> Tensor: ...
    def conjugate(self) -> Tensor: ...
    def is_integer(self) -> bool: ...
    def as_integer_ratio(self) -> tuple[int, int]: ...
    def hex(self) -> str: ...
    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __setitem__(self, index: Any, value: Operand) -> None: ...
    def __contains__(self, value: object) -> bool: ...
    def __eq__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __abs__(self) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __round__(self, digits: int | None = 0) -> Tensor: ...
    def __trunc__(self) -> int: ...
    def __divmod__(self, other: Operand) -> tuple[Tensor, Tensor]: ...
    def __rdivmod__(self, other: Operand) -> tuple[Tensor, Tensor]: ...
    def __add__(self, other: Operand) -> Tensor: ...
    def __radd__(self, other: Operand) -> Tensor: ...
    def __iadd__(self, other: Operand) -> Self: ...  # type: ignore[misc, unused-ignore]
    def __sub__(self, other: Operand) -> Tensor: ...
    def __rsub__(self, other: Operand) -> Tensor: ...
    def __isub__(self, other: Operand) -> Self: ...  # type: ignore[misc, unused-ignore]
    def __mul__(self, other: Operand) -> Tensor: ...
    def __rmul__(self, other: Operand) -> Tensor: ...
    def __imul__(self, other: Operand) -> Self: ...  # type: ignore[misc, unused-ignore]
    def __truediv__(self, other: Operand) -> Tensor: ...
    def __rtruediv__(self, other: Operand) -> Tensor: ...
    def __itruediv__(self, other: Operand) -> Self: ...  # type: ignore[misc, unused-ignore]
    def __floordiv__(self, other: Operand) -> Tensor: ...
    def __rfloordiv__(self, other: Operand) -> Tensor: ...
    def __ifloordiv__(self, other: Operand) -> Self: ...  # type: ignore[misc, unused-ignore]
    def __mod__(self, other: Operand) -> Tensor: ...
    def __rmod__(self, other: Operand) -> Tensor: ...
    def __imod__(self, other: Operand) -> Self: ...  # type: ignore[misc, unused-ignore]
    def __pow__(self, other: Operand) -> Tensor: ...
    def __rpow__(self, other: Operand) -> Tensor: ...
    def __ipow__(self, other: Operand) -> Self: ...  # type: ignore[misc, unused-ignore]
    def __lt__(self, other: Operand) -> Tensor: ...
    def __le__(self, other: Operand) -> Tensor: ...
    def __gt__(self, other: Operand) -> Tensor: ...
    def __ge__(self, other: Operand) -> Tensor: ...
    def __matmul__(self, other: Operand) -> Tensor: ...
    def __rmatmul__(self, other: Operand) -> Tensor: ...
    def __imatmul__(self, other: Operand) -> Self: ...  # type: ignore[misc, unused-ignore]
    def __and__(self, other: Operand) -> Tensor: ...
    def __rand__(self, other: Operand) -> Tensor: ...
    def __or__(self, other: Operand) -> Tensor: ...
    def __ror__(self, other: Operand) -> Tensor: ...
    def __xor__(self, other: Operand) -> Tensor: ...
    def __rxor__(self, other: Operand) -> Tensor: ...
    def covariance(self, *others: Any) -> Tensor:
        """The covariance matrix of uncertain values: of numbers, or of the entries of arrays, one after the other."""

    def correlation(self, *others: Any) -> Tensor:
        """The correlation matrix of uncertain values: of numbers, or of the entries of arrays, one after the other."""

    def expand(self, *shape: int | Sequence[int]) -> Tensor:
        """x broadcast to a larger shape; -1 keeps a length."""

    def reshape(self, *shape: int | Sequence[int]) -> Tensor:
        """The same entries, row by row, in another shape; one length may be -1."""

    def permute(self, *axes: int | Sequence[int] | None) -> Tensor:
        """The axes of x in another order."""

    def transpose(self, *axes: int | Sequence[int] | None) -> Tensor:
        """x with its axes reversed; with two axes given, these exchanged; with all given, or a tuple, in that order."""

    def flatten(self) -> Tensor:
        """All entries as a vector."""

    def squeeze(self, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
        """x without its axes of length 1, or without those named."""

    def unsqueeze(self, axis: int | Sequence[int] | None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
        """x with a new axis of length 1 at that position."""

    def flip(self, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
        """The entries in reverse order, along one axis, several, or all."""

    def roll(self, shift: Any, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
        """The entries shifted along an axis; those shifted past the end come back at the front."""

    def maximum(self, y: Operand) -> Tensor:
        """The larger of x and y, entry by entry."""

    def minimum(self, y: Operand) -> Tensor:
        """The smaller of x and y, entry by entry."""

    def clip(self, lo: Operand | None = None, hi: Operand | None = None, *, min: Operand | None = ..., max: Operand | None = ..., min_val: Operand | None = ..., max_val: Operand | None = ...) -> Tensor:
        """x limited to between lo and hi; hi wins where lo is above it. Either may be left out."""

    def isnan(self) -> Tensor:
        """1 where x is not a number (nan), else 0."""

    def isfinite(self) -> Tensor:
        """1 where x is neither infinite nor nan, else 0."""

    def add(self, y: Operand) -> Tensor:
        """The sum x + y."""

    def sub(self, y: Operand) -> Tensor:
        """The difference x - y."""

    def mul(self, y: Operand) -> Tensor:
        """The product x * y, entry by entry."""

    def div(self, y: Operand) -> Tensor:
        """The quotient x / y."""

    def neg(self) -> Tensor:
        """The negative -x."""

    def floor_divide(self, y: Operand) -> Tensor:
        """The quotient rounded down, x // y."""

    def remainder(self, y: Operand) -> Tensor:
        """The remainder x % y, with the sign of y."""

    def mod(self, y: Operand) -> Tensor:
        """The remainder x % y, with the sign of y: another name of remainder."""

    def pow(self, y: Operand) -> Tensor:
        """The power x**y; nan for a negative x and a y that is not whole."""

    def clone(self) -> Tensor:
        """A copy; the gradient passes through it."""

    def convolve(self, y: Operand, mode: str = 'full', axes: int | Sequence[int] | None = None) -> Tensor:
        """The convolution of two vectors, the coefficients of the product of two polynomials: all of it, the middle with mode="same", or where both overlap fully with mode="valid". Of arrays, along all axes, or along some, and the others are broadcast."""

    def correlate(self, y: Operand, mode: str = 'valid') -> Tensor:
        """The correlation of two vectors: the sums of the products x[k + i]*y[i], where both overlap fully, or for more k with mode="same" and mode="full"."""

    def interp(self, xp: Operand, fp: Operand, left: Any = None, right: Any = None) -> Tensor:
        """The values at x on the straight lines between the points (xp, fp), for ascending xp; beyond the ends, the value at the end, or left and right."""

    def split(self, parts: Any, axis: int | Sequence[int] | None = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> tuple[Tensor, ...]:
        """x split along an axis: into a number of equal parts, or at the indices in a list."""

    def repeat(self, n: Any, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
        """Each entry n times in a row, of the flattened array or along an axis; n may be a list."""

    def tile(self, *n: Any) -> Tensor:
        """The whole of x repeated n times; with several counts, along the last axes."""

    def diagonal(self, k: float = 0, axis1: float = 0, axis2: float = 1, *, diagonal: Any = ...) -> Tensor:
        """The k-th diagonal of a matrix: 0 the main one, positive above, negative below."""

    def diag(self, k: float = 0, *, diagonal: Any = ...) -> Tensor:
        """The matrix with the vector x on its k-th diagonal; of a matrix, that diagonal."""

    def tril(self, k: float = 0, *, diagonal: Any = ...) -> Tensor:
        """The matrix with 0 above its k-th diagonal."""

    def triu(self, k: float = 0, *, diagonal: Any = ...) -> Tensor:
        """The matrix with 0 below its k-th diagonal."""

    def outer(self, y: Operand) -> Tensor:
        """The matrix of the products of each entry of x with each of y."""

    def sum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
        """The sum of all entries, or along an axis (or a tuple of axes)."""

    def mean(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
        """The mean of all entries, or along an axis; nan where there are none."""

    def max(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        """The largest entry, or along an axis; of two values or more, the larger, entry by entry."""

    def min(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        """The smallest entry, or along an axis; of two values or more, the smaller, entry by entry."""

    def any(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
        """1 if any entry is not 0, else 0; or along an axis."""

    def all(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
        """1 if every entry is not 0, else 0; or along an axis."""

    def var(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: float = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ..., correction: Any = ...) -> Tensor:
        """The variance: the mean of the squared distances from the mean (divided by n - ddof)."""

    def std(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: float = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ..., correction: Any = ...) -> Tensor:
        """The standard deviation, the root of the variance."""

    def cumsum(self, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
        """The running sum, of all entries, flattened, or along an axis."""

    def cumprod(self, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
        """The running product, of all entries, flattened, or along an axis."""

    def prod(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
        """The product of all entries, or along an axis."""

    def argmax(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
        """The index of the largest entry, the first of several; of all entries, flattened, or along an axis."""

    def argmin(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
        """The index of the smallest entry, the first of several; of all entries, flattened, or along an axis. Of a function, where it has a minimum, from a starting point: argmin(f, x0)."""

    def argsort(self, axis: int | Sequence[int] | None = -1, descending: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
        """The indices that sort the entries in ascending order; equal entries keep their order."""

    def sort(self, axis: int | Sequence[int] | None = -1, descending: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
        """The entries in ascending order; equal entries keep their order."""

    def topk(self, k: Any, axis: int | Sequence[int] | None = -1, largest: bool = True, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., diagonal: Any = ...) -> tuple[Tensor, ...]:
        """The k largest (or smallest) entries, and their indices: values, indices = topk(x, 2)."""

    def median(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
        """The middle entry in sorted order, or the mean of the middle two; of all entries or along an axis."""

    def matmul(self, y: Operand) -> Tensor:
        """The matrix product x @ y; of two vectors, their inner product."""

    def dot(self, y: Operand) -> Tensor:
        """The inner product of two vectors; the product of matrices and scalars."""

    def trace(self) -> Tensor:
        """The sum of the diagonal of a matrix."""

    def kron(self, y: Operand) -> Tensor:
        """The Kronecker product: each entry of x times the whole of y, side by side."""

    def inv(self) -> Tensor:
        """The inverse of a square matrix. A singular matrix is an error."""

    def solve(self, y: Operand) -> Tensor:
        """The solution of x @ s = y, for a vector or the columns of a matrix. A singular x is an error."""

    def det(self) -> Tensor:
        """The determinant of a square matrix."""

    def slogdet(self) -> tuple[Tensor, ...]:
        """The sign of the determinant, and the logarithm of its absolute value: sign, log = slogdet(x)."""

    def matrix_power(self, n: Any) -> Tensor:
        """The square matrix multiplied with itself n times; its inverse, for a negative n."""

    def cross(self, y: Operand, axis: int | Sequence[int] | None = -1, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
        """The cross product of vectors with three entries, along the last axis or another."""

    def exp(self) -> Tensor:
        """The exponential e**x."""

    def exp2(self) -> Tensor:
        """The power 2**x."""

    def expm1(self) -> Tensor:
        """exp(x) - 1, exact also for small x."""

    def log(self, base: Any = None) -> Tensor:
        """The natural logarithm, or that to a base; -inf at 0, nan below."""

    def log2(self) -> Tensor:
        """The logarithm to base 2; -inf at 0, nan below."""

    def log10(self) -> Tensor:
        """The logarithm to base 10; -inf at 0, nan below."""

    def log1p(self) -> Tensor:
        """log(1 + x), exact also for small x; -inf at -1, nan below."""

    def sqrt(self) -> Tensor:
        """The square root; nan below 0."""

    def cbrt(self) -> Tensor:
        """The cube root, of negative numbers too."""

    def rsqrt(self) -> Tensor:
        """One over the square root; inf at 0, nan below."""

    def square(self) -> Tensor:
        """The square x*x."""

    def reciprocal(self) -> Tensor:
        """One over x; inf at 0."""

    def hypot(self, y: Operand) -> Tensor:
        """The distance sqrt(x**2 + y**2), without overflow on the way."""

    def sign(self) -> Tensor:
        """-1, 0 or 1: the sign of x."""

    def abs(self) -> Tensor:
        """The absolute value."""

    def floor(self) -> Tensor:
        """The largest whole number not above x."""

    def ceil(self) -> Tensor:
        """The smallest whole number not below x."""

    def trunc(self) -> Tensor:
        """x without its fractional part."""

    def round(self, digits: float = 0) -> Tensor:
        """x rounded to so many decimal places; halves go to the even number."""

    def fmod(self, y: Operand) -> Tensor:
        """The remainder of x / y with the sign of x (x % y has the sign of y)."""

    def quantile(self, q: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
        """The number that a share q of the entries is below, from 0 to 1; between two entries on the straight line."""

    def percentile(self, q: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
        """The number that q percent of the entries are below; between two entries on the straight line."""

    def cov(self, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, *, correction: Any = ...) -> Tensor:
        """The covariances of variables: the rows of x (and of y), or the columns with rowvar=False; divided by n - 1, or n - ddof."""

    def corrcoef(self, y: Any = None, rowvar: bool = True) -> Tensor:
        """The correlation coefficients of variables: the covariances divided by both standard deviations."""

    def nansum(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
        """The sum of the entries that are not nan."""

    def nanmean(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
        """The mean of the entries that are not nan."""

    def nanmax(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
        """The largest of the entries that are not nan."""

    def nanmin(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
        """The smallest of the entries that are not nan."""

    def nanvar(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: float = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ..., correction: Any = ...) -> Tensor:
        """The variance of the entries that are not nan."""

    def nanstd(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: float = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ..., correction: Any = ...) -> Tensor:
        """The standard deviation of the entries that are not nan."""

    def cholesky(self) -> Tensor:
        """The lower triangular L with L @ L.T = x, for a symmetric positive definite x."""

    def eigh(self) -> tuple[Tensor, ...]:
        """Eigenvalues, ascending, and eigenvectors, in columns, of a symmetric matrix: values, vectors = eigh(x)."""

    def svd(self) -> tuple[Tensor, ...]:
        """U, s, Vt with x = U @ diag(s) @ Vt, in the reduced form; s in descending order."""

    def qr(self) -> tuple[Tensor, ...]:
        """q, r with x = q @ r: orthonormal columns and an upper triangle, in the reduced form."""

    def pinv(self) -> Tensor:
        """The pseudo-inverse: the inverse of a regular matrix, and the best substitute for any other."""

    def lstsq(self, y: Operand) -> Tensor:
        """The s with the smallest norm(x @ s - y); of several, the shortest."""

    def expm(self) -> Tensor:
        """The exponential of a square matrix: the sum of x**k/k! in matrix products."""

    def solve_triangular(self, y: Operand, lower: bool = False, unit_diagonal: bool = False) -> Tensor:
        """The solution of x @ s = y by the upper (or lower) triangle of x alone; the other triangle is not read."""

    def cho_solve(self, y: Operand, lower: bool = True) -> Tensor:
        """The solution of A @ s = y, given the Cholesky factor x of A: A = x @ x.T, or x.T @ x for an upper factor."""

    def norm(self, ord: Any = None, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ..., p: Any = ...) -> Tensor:
        """The length of a vector, or of all entries; ord=1, inf, p; of a matrix 1, 2, inf, "fro", "nuc"."""

    def sin(self) -> Tensor:
        """The sine of an angle in radians."""

    def cos(self) -> Tensor:
        """The cosine of an angle in radians."""

    def tan(self) -> Tensor:
        """The tangent of an angle in radians."""

    def asin(self) -> Tensor:
        """The angle in radians whose sine is x; nan outside -1 to 1."""

    def acos(self) -> Tensor:
        """The angle in radians whose cosine is x; nan outside -1 to 1."""

    def atan(self) -> Tensor:
        """The angle in radians whose tangent is x."""

    def sinh(self) -> Tensor:
        """The hyperbolic sine."""

    def cosh(self) -> Tensor:
        """The hyperbolic cosine."""

    def tanh(self) -> Tensor:
        """The hyperbolic tangent."""

    def asinh(self) -> Tensor:
        """The number whose hyperbolic sine is x."""

    def acosh(self) -> Tensor:
        """The number not below 0 whose hyperbolic cosine is x; nan below 1."""

    def atanh(self) -> Tensor:
        """The number whose hyperbolic tangent is x; nan outside -1 to 1."""

    def deg2rad(self) -> Tensor:
        """Degrees as radians."""

    def rad2deg(self) -> Tensor:
        """Radians as degrees."""

    def sinc(self) -> Tensor:
        """sin(pi*x)/(pi*x), and 1 at 0."""

    def erf(self) -> Tensor:
        """The error function."""

    def erfc(self) -> Tensor:
        """1 - erf(x), exact also where that is small."""

    def erfinv(self) -> Tensor:
        """The number whose erf is x; ±inf at ±1."""

    def ndtr(self) -> Tensor:
        """The probability that a standard normal number is below x."""

    def gamma(self) -> Tensor:
        """The gamma function: (n - 1)! for a whole n."""

    def lgamma(self) -> Tensor:
        """The logarithm of the absolute value of the gamma function."""

    def digamma(self) -> Tensor:
        """The derivative of lgamma."""

    def beta(self, y: Operand) -> Tensor:
        """The beta function gamma(x)*gamma(y)/gamma(x + y)."""

    def lbeta(self, y: Operand) -> Tensor:
        """The logarithm of the beta function."""

    def j0(self) -> Tensor:
        """The Bessel function of the first kind, of order 0."""

    def j1(self) -> Tensor:
        """The Bessel function of the first kind, of order 1."""

    def i0(self) -> Tensor:
        """The modified Bessel function of order 0."""

    def i1(self) -> Tensor:
        """The modified Bessel function of order 1."""

    def xlogy(self, y: Operand) -> Tensor:
        """x*log(y), and 0 where x is 0."""

    def xlog1py(self, y: Operand) -> Tensor:
        """x*log1p(y), and 0 where x is 0."""

    def gammasgn(self) -> Tensor:
        """The sign of the gamma function: gamma(x) is gammasgn(x)*exp(lgamma(x))."""

    def rgamma(self) -> Tensor:
        """1/gamma(x), which is smooth everywhere."""

    def multigammaln(self, d: Any) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension d, of the Wishart distribution of d by d matrices; nan where x is not above (d - 1)/2."""

    def relu(self) -> Tensor:
        """x where it is positive, else 0."""

    def leaky_relu(self, slope: float = 0.01, *, negative_slope: Any = ...) -> Tensor:
        """x where it is positive, else slope*x."""

    def elu(self, alpha: float = 1.0) -> Tensor:
        """x where it is positive, else alpha*(exp(x) - 1)."""

    def selu(self) -> Tensor:
        """The scaled elu of self-normalizing networks: 1.0507*elu(x, 1.6733)."""

    def hardtanh(self, lo: Operand | None = -1.0, hi: Operand | None = 1.0, *, min: Operand | None = ..., max: Operand | None = ..., min_val: Operand | None = ..., max_val: Operand | None = ...) -> Tensor:
        """x limited to between lo and hi."""

    def sigmoid(self) -> Tensor:
        """1/(1 + exp(-x))."""

    def softplus(self) -> Tensor:
        """log(1 + exp(x)), without overflow."""

    def logsigmoid(self) -> Tensor:
        """The logarithm of sigmoid(x), without underflow."""

    def silu(self) -> Tensor:
        """x*sigmoid(x), also called swish."""

    def gelu(self) -> Tensor:
        """x times the probability that a standard normal number is below x."""

    def logaddexp(self, y: Operand) -> Tensor:
        """log(exp(x) + exp(y)), without overflow."""

    def softmax(self, axis: int | Sequence[int] | None = -1, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
        """exp(x) divided by its sum along an axis: positive, with sum 1."""

    def log_softmax(self, axis: int | Sequence[int] | None = -1, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
        """The logarithm of softmax, without underflow."""

    def logsumexp(self, axis: int | Sequence[int] | None = None, keepdims: bool = False, b: Any = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
        """log(sum(exp(x))), or log(sum(b*exp(x))), of all entries or along an axis, without overflow; nan where that sum is negative."""

    def linear(self, weight: Operand, bias: Any = None) -> Tensor:
        """x @ weight.T + bias: weight has a row for each output."""

    def dropout(self, p: float = 0.5, training: bool = True) -> Tensor:
        """In training, each entry is 0 with probability p, and x/(1 - p) otherwise; else x itself."""

    def layer_norm(self, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05) -> Tensor:
        """(x - mean)/sqrt(variance + eps) over the last axes, those of normalized_shape, times weight plus bias."""

    def embedding(self, weight: Operand, padding_idx: Any = None) -> Tensor:
        """The row of weight at each of the whole numbers x. padding_idx: a row that has no gradient."""

    def mse_loss(self, y: Operand, reduction: str = 'mean') -> Tensor:
        """The mean squared error, mean((x - y)**2)."""

    def l1_loss(self, y: Operand, reduction: str = 'mean') -> Tensor:
        """The mean absolute error, mean(abs(x - y))."""

    def huber_loss(self, y: Operand, delta: float = 1.0, reduction: str = 'mean') -> Tensor:
        """Half the squared error up to delta, from there on delta times (the absolute error - delta/2); the mean of it."""

    def binary_cross_entropy(self, y: Operand, reduction: str = 'mean', weight: Any = None) -> Tensor:
        """The mean of -(y*log(x) + (1 - y)*log(1 - x)), for probabilities x of the targets y, times a weight. It is nan for x outside 0 to 1."""

    def binary_cross_entropy_with_logits(self, y: Operand, reduction: str = 'mean', weight: Any = None, pos_weight: Any = None) -> Tensor:
        """binary_cross_entropy of logits x, without overflow. pos_weight: a weight of what y has a share in."""

    def cross_entropy(self, target: Operand, reduction: str = 'mean', label_smoothing: float = 0.0, weight: Any = None, ignore_index: float = -100) -> Tensor:
        """The mean of -log_softmax(x) at the target: the number of a class for each row of x, or probabilities. weight: one number a class; the mean is weighted. label_smoothing: how much of a target all classes share. Rows whose target is ignore_index are left out."""

    def nll_loss(self, target: Operand, reduction: str = 'mean', weight: Any = None, ignore_index: float = -100) -> Tensor:
        """The mean of -x at the target, the number of a class for each row of x: of log_softmax, it is cross_entropy, with the same weight and ignore_index."""

    def y0(self) -> Tensor:
        """The Bessel function of the second kind, of order 0; -inf at 0."""

    def y1(self) -> Tensor:
        """The Bessel function of the second kind, of order 1; -inf at 0."""

    def gcd(self, *others: Any) -> Tensor:
        """The greatest common divisor of whole numbers, entry by entry; of one array, that of its entries."""

    def lcm(self, *others: Any) -> Tensor:
        """The least common multiple of whole numbers, entry by entry; of one array, that of its entries."""

    def ndtri(self) -> Tensor:
        """The number that a standard normal number is below with probability x: the inverse of ndtr."""

    def erfcinv(self) -> Tensor:
        """The number whose erfc is x; inf at 0, -inf at 2."""

    def log_ndtr(self) -> Tensor:
        """The logarithm of ndtr, exact also where that is small."""

    def logit(self) -> Tensor:
        """log(x/(1 - x)): the inverse of sigmoid; nan outside 0 to 1."""

    def entr(self) -> Tensor:
        """-x*log(x): 0 at 0, -inf below."""

    def copysign(self, y: Operand) -> Tensor:
        """The size of x with the sign of y, where 0 and -0 differ."""

    def heaviside(self, y: Operand) -> Tensor:
        """0 for a negative x, y at 0, 1 for a positive x."""

    def cmul(self, y: Operand) -> Tensor:
        """The product of complex numbers, each a pair of its real and imaginary part along the last axis."""

    def cdiv(self, y: Operand) -> Tensor:
        """The quotient of complex numbers, each a pair of its real and imaginary part along the last axis."""

    def rfft(self) -> Tensor:
        """The discrete Fourier transform of real values along the last axis, at the frequencies from 0 to half the number of values: sum(x[j]*exp(-2*pi*i*j*k/n)), pairs of the real and the imaginary part."""

    def irfft(self, n: Any = None) -> Tensor:
        """The inverse of rfft: n real values, an even number if n is not given."""
