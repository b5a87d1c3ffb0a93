"""The functions of `ag`. Made by `make docs` from the table of functions."""


from collections.abc import Sequence
from typing import Any, TypeAlias, overload

from numpy.typing import ArrayLike

from agrad.engine.core.methods import Operand
from agrad.engine.core.tensor import Tensor

Plain: TypeAlias = float | ArrayLike

__all__ = ['normal', 'uniform', 'triangular', 'arcsine', 'trapezoidal', 'from_sample', 'measured', 'correlated', 'covariance', 'correlation', 'expand', 'reshape', 'permute', 'transpose', 'flatten', 'squeeze', 'unsqueeze', 'flip', 'roll', 'equal', 'not_equal', 'less', 'less_equal', 'greater', 'greater_equal', 'where', 'maximum', 'minimum', 'clip', 'isnan', 'isfinite', 'add', 'sub', 'mul', 'div', 'neg', 'floor_divide', 'remainder', 'mod', 'pow', 'Variable', 'zeros', 'ones', 'full', 'zeros_like', 'ones_like', 'eye', 'arange', 'linspace', 'rand', 'randn', 'manual_seed', 'load_csv', 'load_npy', 'chunks', 'clone', 'detach', 'convolve', 'correlate', 'interp', 'concat', 'stack', 'split', 'repeat', 'tile', 'diagonal', 'diag', 'tril', 'triu', 'outer', 'sum', 'mean', 'max', 'min', 'any', 'all', 'var', 'std', 'cumsum', 'cumprod', 'prod', 'argmax', 'argmin', 'argsort', 'sort', 'topk', 'median', 'scan', 'matmul', 'dot', 'trace', 'kron', 'inv', 'solve', 'det', 'slogdet', 'matrix_power', 'cross', 'exp', 'exp2', 'expm1', 'log', 'log2', 'log10', 'log1p', 'sqrt', 'cbrt', 'rsqrt', 'square', 'reciprocal', 'hypot', 'sign', 'abs', 'floor', 'ceil', 'trunc', 'round', 'fmod', 'quantile', 'percentile', 'cov', 'corrcoef', 'nansum', 'nanmean', 'nanmax', 'nanmin', 'nanvar', 'nanstd', 'cholesky', 'eigh', 'svd', 'qr', 'pinv', 'lstsq', 'einsum', 'solve_sylvester', 'solve_banded', 'expm', 'solve_triangular', 'cho_solve', 'norm', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'atan2', 'sinh', 'cosh', 'tanh', 'asinh', 'acosh', 'atanh', 'deg2rad', 'rad2deg', 'sinc', 'erf', 'erfc', 'erfinv', 'ndtr', 'gamma', 'lgamma', 'digamma', 'polygamma', 'beta', 'lbeta', 'j0', 'j1', 'i0', 'i1', 'xlogy', 'xlog1py', 'gammasgn', 'rgamma', 'multigammaln', 'relu', 'leaky_relu', 'elu', 'selu', 'hardtanh', 'sigmoid', 'softplus', 'logsigmoid', 'silu', 'gelu', 'logaddexp', 'softmax', 'log_softmax', 'logsumexp', 'linear', 'dropout', 'layer_norm', 'embedding', 'mse_loss', 'l1_loss', 'huber_loss', 'binary_cross_entropy', 'binary_cross_entropy_with_logits', 'cross_entropy', 'nll_loss', 'jv', 'yv', 'iv', 'kv', 'ive', 'kve', 'y0', 'y1', 'comb', 'perm', 'gcd', 'lcm', 'ndtri', 'erfcinv', 'log_ndtr', 'logit', 'entr', 'gammainc', 'gammaincc', 'betainc', 'copysign', 'heaviside', 'root', 'integral', 'ode', 'taylor']

def normal(mean: Any, u: Any, dof: Any = None) -> Tensor:
    """An uncertain value with a normal distribution: the same as mean ± u. dof: its degrees of freedom."""

def uniform(a: Any, b: Any, dof: Any = None) -> Tensor:
    """An uncertain number that is anywhere from a to b: u is (b - a)/sqrt(12)."""

def triangular(a: Any, b: Any, dof: Any = None) -> Tensor:
    """An uncertain number from a to b that is likely in the middle: u is (b - a)/sqrt(24)."""

def arcsine(a: Any, b: Any, dof: Any = None) -> Tensor:
    """An uncertain number that swings from a to b, as a sine does: u is (b - a)/sqrt(8)."""

def trapezoidal(a: Any, b: Any, beta: Any, dof: Any = None) -> Tensor:
    """An uncertain number from a to b, likely in the middle beta*(b - a): u is (b - a)*sqrt((1 + beta**2)/24)."""

def from_sample(sample: Any) -> Tensor:
    """An uncertain number that is distributed as the entries of a sample, such as the values of a simulation."""

def measured(readings: Any) -> Any:
    """The mean of repeated readings, with u = s/sqrt(n) and n - 1 degrees of freedom (GUM 4.2); of a matrix with a row for each time that several quantities were read together, the correlated means (5.2.3)."""

def correlated(values: Any, covariance: Any, dof: Any = None) -> Any:
    """A vector of uncertain numbers with a covariance matrix. dof: its degrees of freedom."""

def covariance(x: Any, *others: Any) -> Tensor:
    """The covariance matrix of uncertain values: of numbers, or of the entries of arrays, one after the other."""

def correlation(x: Any, *others: Any) -> Tensor:
    """The correlation matrix of uncertain values: of numbers, or of the entries of arrays, one after the other."""

@overload
def expand(x: Tensor, *shape: int | Sequence[int]) -> Tensor:
    """x broadcast to a larger shape; -1 keeps a length."""

@overload
def expand(x: Plain, *shape: int | Sequence[int]) -> Any: ...
@overload
def reshape(x: Tensor, *shape: int | Sequence[int]) -> Tensor:
    """The same entries, row by row, in another shape; one length may be -1."""

@overload
def reshape(x: Plain, *shape: int | Sequence[int]) -> Any: ...
@overload
def permute(x: Tensor, *axes: int | Sequence[int] | None) -> Tensor:
    """The axes of x in another order."""

@overload
def permute(x: Plain, *axes: int | Sequence[int] | None) -> Any: ...
@overload
def transpose(x: Tensor, *axes: int | Sequence[int] | None) -> Tensor:
    """x with its axes reversed; with two axes given, these exchanged; with all given, or a tuple, in that order."""

@overload
def transpose(x: Plain, *axes: int | Sequence[int] | None) -> Any: ...
@overload
def flatten(x: Tensor) -> Tensor:
    """All entries as a vector."""

@overload
def flatten(x: Plain) -> Any: ...
@overload
def squeeze(x: Tensor, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
    """x without its axes of length 1, or without those named."""

@overload
def squeeze(x: Plain, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Any: ...
@overload
def unsqueeze(x: Tensor, axis: int | Sequence[int] | None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
    """x with a new axis of length 1 at that position."""

@overload
def unsqueeze(x: Plain, axis: int | Sequence[int] | None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Any: ...
@overload
def flip(x: Tensor, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
    """The entries in reverse order, along one axis, several, or all."""

@overload
def flip(x: Plain, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Any: ...
@overload
def roll(x: Tensor, shift: Any, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
    """The entries shifted along an axis; those shifted past the end come back at the front."""

@overload
def roll(x: Plain, shift: Any, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Any: ...
@overload
def equal(x: Tensor, y: Operand) -> Tensor:
    """1 where x == y, else 0."""

@overload
def equal(x: Plain, y: Tensor) -> Tensor:
    """1 where x == y, else 0."""

@overload
def equal(x: float, y: float) -> float: ...
@overload
def equal(x: Plain, y: Plain) -> Any: ...
@overload
def not_equal(x: Tensor, y: Operand) -> Tensor:
    """1 where x != y, else 0."""

@overload
def not_equal(x: Plain, y: Tensor) -> Tensor:
    """1 where x != y, else 0."""

@overload
def not_equal(x: float, y: float) -> float: ...
@overload
def not_equal(x: Plain, y: Plain) -> Any: ...
@overload
def less(x: Tensor, y: Operand) -> Tensor:
    """1 where x < y, else 0."""

@overload
def less(x: Plain, y: Tensor) -> Tensor:
    """1 where x < y, else 0."""

@overload
def less(x: float, y: float) -> float: ...
@overload
def less(x: Plain, y: Plain) -> Any: ...
@overload
def less_equal(x: Tensor, y: Operand) -> Tensor:
    """1 where x <= y, else 0."""

@overload
def less_equal(x: Plain, y: Tensor) -> Tensor:
    """1 where x <= y, else 0."""

@overload
def less_equal(x: float, y: float) -> float: ...
@overload
def less_equal(x: Plain, y: Plain) -> Any: ...
@overload
def greater(x: Tensor, y: Operand) -> Tensor:
    """1 where x > y, else 0."""

@overload
def greater(x: Plain, y: Tensor) -> Tensor:
    """1 where x > y, else 0."""

@overload
def greater(x: float, y: float) -> float: ...
@overload
def greater(x: Plain, y: Plain) -> Any: ...
@overload
def greater_equal(x: Tensor, y: Operand) -> Tensor:
    """1 where x >= y, else 0."""

@overload
def greater_equal(x: Plain, y: Tensor) -> Tensor:
    """1 where x >= y, else 0."""

@overload
def greater_equal(x: float, y: float) -> float: ...
@overload
def greater_equal(x: Plain, y: Plain) -> Any: ...
@overload
def where(c: Tensor, x: Operand, y: Operand) -> Tensor:
    """x where c is true (not 0), else y."""

@overload
def where(c: Plain, x: Tensor, y: Operand) -> Tensor:
    """x where c is true (not 0), else y."""

@overload
def where(c: Plain, x: Plain, y: Tensor) -> Tensor:
    """x where c is true (not 0), else y."""

@overload
def where(c: float, x: float, y: float) -> float: ...
@overload
def where(c: Plain, x: Plain, y: Plain) -> Any: ...
@overload
def maximum(x: Tensor, y: Operand) -> Tensor:
    """The larger of x and y, entry by entry."""

@overload
def maximum(x: Plain, y: Tensor) -> Tensor:
    """The larger of x and y, entry by entry."""

@overload
def maximum(x: float, y: float) -> float: ...
@overload
def maximum(x: Plain, y: Plain) -> Any: ...
@overload
def minimum(x: Tensor, y: Operand) -> Tensor:
    """The smaller of x and y, entry by entry."""

@overload
def minimum(x: Plain, y: Tensor) -> Tensor:
    """The smaller of x and y, entry by entry."""

@overload
def minimum(x: float, y: float) -> float: ...
@overload
def minimum(x: Plain, y: Plain) -> Any: ...
@overload
def clip(x: Tensor, lo: Operand | None = None, hi: Operand | None = None, *, min: Operand | None = ..., max: Operand | None = ..., min_val: Operand | None = ..., max_val: Operand | None = ...) -> Tensor:
    """x limited to between lo and hi; hi wins where lo is above it. Either may be left out."""

@overload
def clip(x: Plain, lo: Operand | None = None, hi: Operand | None = None, *, min: Operand | None = ..., max: Operand | None = ..., min_val: Operand | None = ..., max_val: Operand | None = ...) -> Any: ...
@overload
def isnan(x: Tensor) -> Tensor:
    """1 where x is not a number (nan), else 0."""

@overload
def isnan(x: float) -> float: ...
@overload
def isnan(x: Plain) -> Any: ...
@overload
def isfinite(x: Tensor) -> Tensor:
    """1 where x is neither infinite nor nan, else 0."""

@overload
def isfinite(x: float) -> float: ...
@overload
def isfinite(x: Plain) -> Any: ...
@overload
def add(x: Tensor, y: Operand) -> Tensor:
    """The sum x + y."""

@overload
def add(x: Plain, y: Tensor) -> Tensor:
    """The sum x + y."""

@overload
def add(x: float, y: float) -> float: ...
@overload
def add(x: Plain, y: Plain) -> Any: ...
@overload
def sub(x: Tensor, y: Operand) -> Tensor:
    """The difference x - y."""

@overload
def sub(x: Plain, y: Tensor) -> Tensor:
    """The difference x - y."""

@overload
def sub(x: float, y: float) -> float: ...
@overload
def sub(x: Plain, y: Plain) -> Any: ...
@overload
def mul(x: Tensor, y: Operand) -> Tensor:
    """The product x * y, entry by entry."""

@overload
def mul(x: Plain, y: Tensor) -> Tensor:
    """The product x * y, entry by entry."""

@overload
def mul(x: float, y: float) -> float: ...
@overload
def mul(x: Plain, y: Plain) -> Any: ...
@overload
def div(x: Tensor, y: Operand) -> Tensor:
    """The quotient x / y."""

@overload
def div(x: Plain, y: Tensor) -> Tensor:
    """The quotient x / y."""

@overload
def div(x: float, y: float) -> float: ...
@overload
def div(x: Plain, y: Plain) -> Any: ...
@overload
def neg(x: Tensor) -> Tensor:
    """The negative -x."""

@overload
def neg(x: float) -> float: ...
@overload
def neg(x: Plain) -> Any: ...
@overload
def floor_divide(x: Tensor, y: Operand) -> Tensor:
    """The quotient rounded down, x // y."""

@overload
def floor_divide(x: Plain, y: Tensor) -> Tensor:
    """The quotient rounded down, x // y."""

@overload
def floor_divide(x: float, y: float) -> float: ...
@overload
def floor_divide(x: Plain, y: Plain) -> Any: ...
@overload
def remainder(x: Tensor, y: Operand) -> Tensor:
    """The remainder x % y, with the sign of y."""

@overload
def remainder(x: Plain, y: Tensor) -> Tensor:
    """The remainder x % y, with the sign of y."""

@overload
def remainder(x: float, y: float) -> float: ...
@overload
def remainder(x: Plain, y: Plain) -> Any: ...
@overload
def mod(x: Tensor, y: Operand) -> Tensor:
    """The remainder x % y, with the sign of y: another name of remainder."""

@overload
def mod(x: Plain, y: Tensor) -> Tensor:
    """The remainder x % y, with the sign of y: another name of remainder."""

@overload
def mod(x: Plain, y: Plain) -> Any: ...
@overload
def pow(x: Tensor, y: Operand) -> Tensor:
    """The power x**y; nan for a negative x and a y that is not whole."""

@overload
def pow(x: Plain, y: Tensor) -> Tensor:
    """The power x**y; nan for a negative x and a y that is not whole."""

@overload
def pow(x: float, y: float) -> float: ...
@overload
def pow(x: Plain, y: Plain) -> Any: ...
def Variable(data: Any, requires_grad: bool = False) -> Tensor:
    """An older name of tensor."""

def zeros(*shape: int | Sequence[int], requires_grad: bool = False, dtype: object = None, device: object = None) -> Tensor:
    """An array of zeros."""

def ones(*shape: int | Sequence[int], requires_grad: bool = False, dtype: object = None, device: object = None) -> Tensor:
    """An array of ones."""

def full(shape: int | Sequence[int], value: Any, requires_grad: bool = False, dtype: object = None, device: object = None) -> Tensor:
    """An array of a shape, with one value everywhere."""

def zeros_like(x: Any, requires_grad: bool = False, dtype: object = None, device: object = None) -> Tensor:
    """Zeros in the shape of x."""

def ones_like(x: Any, requires_grad: bool = False, dtype: object = None, device: object = None) -> Tensor:
    """Ones in the shape of x."""

def eye(n: Any, m: Any = None, requires_grad: bool = False, dtype: object = None, device: object = None) -> Tensor:
    """The unit matrix of n rows (and m columns)."""

def arange(start: Any, stop: Any = None, step: float = 1, requires_grad: bool = False, dtype: object = None, device: object = None) -> Tensor:
    """The numbers from start (0 if only one is given) up to but not including stop, in steps."""

def linspace(start: Any, stop: Any, num: float = 50, requires_grad: bool = False, dtype: object = None, device: object = None, *, steps: Any = ...) -> Tensor:
    """num evenly spaced numbers from start to stop, both included."""

def rand(*shape: int | Sequence[int], requires_grad: bool = False, dtype: object = None, device: object = None) -> Tensor:
    """Random numbers, uniformly distributed from 0 to 1."""

def randn(*shape: int | Sequence[int], requires_grad: bool = False, dtype: object = None, device: object = None) -> Tensor:
    """Random numbers from the standard normal distribution."""

def manual_seed(seed: Any) -> None:
    """Set the seed of rand, randn, dropout and the initial values of modules, so that the same numbers follow each time. They have the distributions of PyTorch's, but are not the same numbers."""

def load_csv(path: Any, columns: Any = None, delimiter: Any = None, decimal: Any = None, comments: Any = None, skip: float = 0, header: Any = None, na: Any = None, encoding: Any = None, units: bool = False) -> Any:
    """The table in a CSV file, one row per line. t.speed, t["speed m/s"] and t[0] are columns of a table t, and t[0] is not the first row: that is t[0, :]. t[2:5] are rows, t[t.x > 0] those in which it is true; t.columns are the names, tensor(t) is the matrix of all columns. A column whose first entry is no number holds texts. columns: the name of a column, or its number from 0, or several of these. units: whether columns such as "speed (m/s)" have the units at the ends of their names, and are called what is before: t.speed. delimiter, decimal: found in the file, if not given; comments: "none" if lines that begin with # are rows; skip: lines to skip; header: whether the first row has the names, which must be said where it has numbers too; na: "NA", or several such texts, for missing numbers, which become nan; encoding: of a text that is not UTF-8. It reads .gz, .zst, .jsonl, .arrow and .parquet files, and folders of them, too."""

def load_npy(path: Any) -> Tensor:
    """The array in a file saved by numpy."""

def chunks(path: Any, rows: Any, columns: Any = None, delimiter: Any = None, decimal: Any = None, comments: Any = None, skip: float = 0, header: Any = None, na: Any = None, encoding: Any = None) -> Any:
    """The rows of a file for load_csv or load_npy, a fixed number at a time, for loops over more data than fits in memory. The last array may have fewer rows. The others: as for load_csv."""

@overload
def clone(x: Tensor) -> Tensor:
    """A copy; the gradient passes through it."""

@overload
def clone(x: float) -> float: ...
@overload
def clone(x: Plain) -> Any: ...
@overload
def detach(x: Tensor) -> Tensor:
    """The value without its graph: a constant, which shares its data and version."""

@overload
def detach(x: Plain) -> Any: ...
@overload
def convolve(x: Tensor, y: Operand, mode: str = 'full', axes: int | Sequence[int] | None = None) -> Tensor:
    """The convolution of two vectors, the coefficients of the product of two polynomials: all of it, the middle with mode="same", or where both overlap fully with mode="valid". Of arrays, along all axes, or along some, and the others are broadcast."""

@overload
def convolve(x: Plain, y: Tensor, mode: str = 'full', axes: int | Sequence[int] | None = None) -> Tensor:
    """The convolution of two vectors, the coefficients of the product of two polynomials: all of it, the middle with mode="same", or where both overlap fully with mode="valid". Of arrays, along all axes, or along some, and the others are broadcast."""

@overload
def convolve(x: Plain, y: Plain, mode: str = 'full', axes: int | Sequence[int] | None = None) -> Any: ...
@overload
def correlate(x: Tensor, y: Operand, mode: str = 'valid') -> Tensor:
    """The correlation of two vectors: the sums of the products x[k + i]*y[i], where both overlap fully, or for more k with mode="same" and mode="full"."""

@overload
def correlate(x: Plain, y: Tensor, mode: str = 'valid') -> Tensor:
    """The correlation of two vectors: the sums of the products x[k + i]*y[i], where both overlap fully, or for more k with mode="same" and mode="full"."""

@overload
def correlate(x: Plain, y: Plain, mode: str = 'valid') -> Any: ...
@overload
def interp(x: Tensor, xp: Operand, fp: Operand, left: Any = None, right: Any = None) -> Tensor:
    """The values at x on the straight lines between the points (xp, fp), for ascending xp; beyond the ends, the value at the end, or left and right."""

@overload
def interp(x: Plain, xp: Tensor, fp: Operand, left: Any = None, right: Any = None) -> Tensor:
    """The values at x on the straight lines between the points (xp, fp), for ascending xp; beyond the ends, the value at the end, or left and right."""

@overload
def interp(x: Plain, xp: Plain, fp: Tensor, left: Any = None, right: Any = None) -> Tensor:
    """The values at x on the straight lines between the points (xp, fp), for ascending xp; beyond the ends, the value at the end, or left and right."""

@overload
def interp(x: Plain, xp: Plain, fp: Plain, left: Any = None, right: Any = None) -> Any: ...
@overload
def concat(xs: Sequence[Tensor], axis: int | Sequence[int] | None = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
    """Arrays joined along an axis that they have."""

@overload
def concat(xs: Sequence[Any], axis: int | Sequence[int] | None = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Any: ...
@overload
def stack(xs: Sequence[Tensor], axis: int | Sequence[int] | None = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
    """Values of one shape joined along a new axis."""

@overload
def stack(xs: Sequence[Any], axis: int | Sequence[int] | None = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Any: ...
@overload
def split(x: Tensor, parts: Any, axis: int | Sequence[int] | None = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> tuple[Tensor, ...]:
    """x split along an axis: into a number of equal parts, or at the indices in a list."""

@overload
def split(x: Plain, parts: Any, axis: int | Sequence[int] | None = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Any: ...
@overload
def repeat(x: Tensor, n: Any, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
    """Each entry n times in a row, of the flattened array or along an axis; n may be a list."""

@overload
def repeat(x: Plain, n: Any, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Any: ...
@overload
def tile(x: Tensor, *n: Any) -> Tensor:
    """The whole of x repeated n times; with several counts, along the last axes."""

@overload
def tile(x: Plain, *n: Any) -> Any: ...
@overload
def diagonal(x: Tensor, k: float = 0, axis1: float = 0, axis2: float = 1, *, diagonal: Any = ...) -> Tensor:
    """The k-th diagonal of a matrix: 0 the main one, positive above, negative below."""

@overload
def diagonal(x: Plain, k: float = 0, axis1: float = 0, axis2: float = 1, *, diagonal: Any = ...) -> Any: ...
@overload
def diag(x: Tensor, k: float = 0, *, diagonal: Any = ...) -> Tensor:
    """The matrix with the vector x on its k-th diagonal; of a matrix, that diagonal."""

@overload
def diag(x: Plain, k: float = 0, *, diagonal: Any = ...) -> Any: ...
@overload
def tril(x: Tensor, k: float = 0, *, diagonal: Any = ...) -> Tensor:
    """The matrix with 0 above its k-th diagonal."""

@overload
def tril(x: Plain, k: float = 0, *, diagonal: Any = ...) -> Any: ...
@overload
def triu(x: Tensor, k: float = 0, *, diagonal: Any = ...) -> Tensor:
    """The matrix with 0 below its k-th diagonal."""

@overload
def triu(x: Plain, k: float = 0, *, diagonal: Any = ...) -> Any: ...
@overload
def outer(x: Tensor, y: Operand) -> Tensor:
    """The matrix of the products of each entry of x with each of y."""

@overload
def outer(x: Plain, y: Tensor) -> Tensor:
    """The matrix of the products of each entry of x with each of y."""

@overload
def outer(x: Plain, y: Plain) -> Any: ...
@overload
def sum(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """The sum of all entries, or along an axis (or a tuple of axes)."""

@overload
def sum(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
@overload
def mean(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """The mean of all entries, or along an axis; nan where there are none."""

@overload
def mean(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
@overload
def max(x: Tensor, *others: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """The largest entry, or along an axis; of two values or more, the larger, entry by entry."""

@overload
def max(x: Plain, *others: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
@overload
def min(x: Tensor, *others: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """The smallest entry, or along an axis; of two values or more, the smaller, entry by entry."""

@overload
def min(x: Plain, *others: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
@overload
def any(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """1 if any entry is not 0, else 0; or along an axis."""

@overload
def any(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
@overload
def all(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """1 if every entry is not 0, else 0; or along an axis."""

@overload
def all(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
@overload
def var(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: float = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ..., correction: Any = ...) -> Tensor:
    """The variance: the mean of the squared distances from the mean (divided by n - ddof)."""

@overload
def var(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: float = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ..., correction: Any = ...) -> Any: ...
@overload
def std(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: float = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ..., correction: Any = ...) -> Tensor:
    """The standard deviation, the root of the variance."""

@overload
def std(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: float = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ..., correction: Any = ...) -> Any: ...
@overload
def cumsum(x: Tensor, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
    """The running sum, of all entries, flattened, or along an axis."""

@overload
def cumsum(x: Plain, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Any: ...
@overload
def cumprod(x: Tensor, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
    """The running product, of all entries, flattened, or along an axis."""

@overload
def cumprod(x: Plain, axis: int | Sequence[int] | None = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Any: ...
@overload
def prod(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """The product of all entries, or along an axis."""

@overload
def prod(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
@overload
def argmax(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """The index of the largest entry, the first of several; of all entries, flattened, or along an axis."""

@overload
def argmax(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
@overload
def argmin(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """The index of the smallest entry, the first of several; of all entries, flattened, or along an axis. Of a function, where it has a minimum, from a starting point: argmin(f, x0)."""

@overload
def argmin(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
@overload
def argsort(x: Tensor, axis: int | Sequence[int] | None = -1, descending: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
    """The indices that sort the entries in ascending order; equal entries keep their order."""

@overload
def argsort(x: Plain, axis: int | Sequence[int] | None = -1, descending: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Any: ...
@overload
def sort(x: Tensor, axis: int | Sequence[int] | None = -1, descending: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
    """The entries in ascending order; equal entries keep their order."""

@overload
def sort(x: Plain, axis: int | Sequence[int] | None = -1, descending: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Any: ...
@overload
def topk(x: Tensor, k: Any, axis: int | Sequence[int] | None = -1, largest: bool = True, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., diagonal: Any = ...) -> tuple[Tensor, ...]:
    """The k largest (or smallest) entries, and their indices: values, indices = topk(x, 2)."""

@overload
def topk(x: Plain, k: Any, axis: int | Sequence[int] | None = -1, largest: bool = True, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., diagonal: Any = ...) -> Any: ...
@overload
def median(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """The middle entry in sorted order, or the mean of the middle two; of all entries or along an axis."""

@overload
def median(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
def scan(f: Any, start: Any, rows: Any = None, count: Any = None) -> Any:
    """Runs state, result = f(state, row) for each row along the first axis, from the state at the start; gives the last state and all results. f is called once, to find out what an iteration computes. The derivative keeps one state an iteration."""

@overload
def matmul(x: Tensor, y: Operand) -> Tensor:
    """The matrix product x @ y; of two vectors, their inner product."""

@overload
def matmul(x: Plain, y: Tensor) -> Tensor:
    """The matrix product x @ y; of two vectors, their inner product."""

@overload
def matmul(x: Plain, y: Plain) -> Any: ...
@overload
def dot(x: Tensor, y: Operand) -> Tensor:
    """The inner product of two vectors; the product of matrices and scalars."""

@overload
def dot(x: Plain, y: Tensor) -> Tensor:
    """The inner product of two vectors; the product of matrices and scalars."""

@overload
def dot(x: Plain, y: Plain) -> Any: ...
@overload
def trace(x: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""

@overload
def trace(x: Plain) -> Any: ...
@overload
def kron(x: Tensor, y: Operand) -> Tensor:
    """The Kronecker product: each entry of x times the whole of y, side by side."""

@overload
def kron(x: Plain, y: Tensor) -> Tensor:
    """The Kronecker product: each entry of x times the whole of y, side by side."""

@overload
def kron(x: Plain, y: Plain) -> Any: ...
@overload
def inv(x: Tensor) -> Tensor:
    """The inverse of a square matrix. A singular matrix is an error."""

@overload
def inv(x: Plain) -> Any: ...
@overload
def solve(x: Tensor, y: Operand) -> Tensor:
    """The solution of x @ s = y, for a vector or the columns of a matrix. A singular x is an error."""

@overload
def solve(x: Plain, y: Tensor) -> Tensor:
    """The solution of x @ s = y, for a vector or the columns of a matrix. A singular x is an error."""

@overload
def solve(x: Plain, y: Plain) -> Any: ...
@overload
def det(x: Tensor) -> Tensor:
    """The determinant of a square matrix."""

@overload
def det(x: Plain) -> Any: ...
@overload
def slogdet(x: Tensor) -> tuple[Tensor, ...]:
    """The sign of the determinant, and the logarithm of its absolute value: sign, log = slogdet(x)."""

@overload
def slogdet(x: Plain) -> Any: ...
@overload
def matrix_power(x: Tensor, n: Any) -> Tensor:
    """The square matrix multiplied with itself n times; its inverse, for a negative n."""

@overload
def matrix_power(x: Plain, n: Any) -> Any: ...
@overload
def cross(x: Tensor, y: Operand, axis: int | Sequence[int] | None = -1, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
    """The cross product of vectors with three entries, along the last axis or another."""

@overload
def cross(x: Plain, y: Tensor, axis: int | Sequence[int] | None = -1, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
    """The cross product of vectors with three entries, along the last axis or another."""

@overload
def cross(x: Plain, y: Plain, axis: int | Sequence[int] | None = -1, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Any: ...
@overload
def exp(x: Tensor) -> Tensor:
    """The exponential e**x."""

@overload
def exp(x: float) -> float: ...
@overload
def exp(x: Plain) -> Any: ...
@overload
def exp2(x: Tensor) -> Tensor:
    """The power 2**x."""

@overload
def exp2(x: float) -> float: ...
@overload
def exp2(x: Plain) -> Any: ...
@overload
def expm1(x: Tensor) -> Tensor:
    """exp(x) - 1, exact also for small x."""

@overload
def expm1(x: float) -> float: ...
@overload
def expm1(x: Plain) -> Any: ...
@overload
def log(x: Tensor, base: Any = None) -> Tensor:
    """The natural logarithm, or that to a base; -inf at 0, nan below."""

@overload
def log(x: Plain, base: Any = None) -> Any: ...
@overload
def log2(x: Tensor) -> Tensor:
    """The logarithm to base 2; -inf at 0, nan below."""

@overload
def log2(x: float) -> float: ...
@overload
def log2(x: Plain) -> Any: ...
@overload
def log10(x: Tensor) -> Tensor:
    """The logarithm to base 10; -inf at 0, nan below."""

@overload
def log10(x: float) -> float: ...
@overload
def log10(x: Plain) -> Any: ...
@overload
def log1p(x: Tensor) -> Tensor:
    """log(1 + x), exact also for small x; -inf at -1, nan below."""

@overload
def log1p(x: float) -> float: ...
@overload
def log1p(x: Plain) -> Any: ...
@overload
def sqrt(x: Tensor) -> Tensor:
    """The square root; nan below 0."""

@overload
def sqrt(x: float) -> float: ...
@overload
def sqrt(x: Plain) -> Any: ...
@overload
def cbrt(x: Tensor) -> Tensor:
    """The cube root, of negative numbers too."""

@overload
def cbrt(x: float) -> float: ...
@overload
def cbrt(x: Plain) -> Any: ...
@overload
def rsqrt(x: Tensor) -> Tensor:
    """One over the square root; inf at 0, nan below."""

@overload
def rsqrt(x: float) -> float: ...
@overload
def rsqrt(x: Plain) -> Any: ...
@overload
def square(x: Tensor) -> Tensor:
    """The square x*x."""

@overload
def square(x: float) -> float: ...
@overload
def square(x: Plain) -> Any: ...
@overload
def reciprocal(x: Tensor) -> Tensor:
    """One over x; inf at 0."""

@overload
def reciprocal(x: float) -> float: ...
@overload
def reciprocal(x: Plain) -> Any: ...
@overload
def hypot(x: Tensor, y: Operand) -> Tensor:
    """The distance sqrt(x**2 + y**2), without overflow on the way."""

@overload
def hypot(x: Plain, y: Tensor) -> Tensor:
    """The distance sqrt(x**2 + y**2), without overflow on the way."""

@overload
def hypot(x: float, y: float) -> float: ...
@overload
def hypot(x: Plain, y: Plain) -> Any: ...
@overload
def sign(x: Tensor) -> Tensor:
    """-1, 0 or 1: the sign of x."""

@overload
def sign(x: float) -> float: ...
@overload
def sign(x: Plain) -> Any: ...
@overload
def abs(x: Tensor) -> Tensor:
    """The absolute value."""

@overload
def abs(x: float) -> float: ...
@overload
def abs(x: Plain) -> Any: ...
@overload
def floor(x: Tensor) -> Tensor:
    """The largest whole number not above x."""

@overload
def floor(x: float) -> float: ...
@overload
def floor(x: Plain) -> Any: ...
@overload
def ceil(x: Tensor) -> Tensor:
    """The smallest whole number not below x."""

@overload
def ceil(x: float) -> float: ...
@overload
def ceil(x: Plain) -> Any: ...
@overload
def trunc(x: Tensor) -> Tensor:
    """x without its fractional part."""

@overload
def trunc(x: float) -> float: ...
@overload
def trunc(x: Plain) -> Any: ...
@overload
def round(x: Tensor, digits: float = 0) -> Tensor:
    """x rounded to so many decimal places; halves go to the even number."""

@overload
def round(x: Plain, digits: float = 0) -> Any: ...
@overload
def fmod(x: Tensor, y: Operand) -> Tensor:
    """The remainder of x / y with the sign of x (x % y has the sign of y)."""

@overload
def fmod(x: Plain, y: Tensor) -> Tensor:
    """The remainder of x / y with the sign of x (x % y has the sign of y)."""

@overload
def fmod(x: float, y: float) -> float: ...
@overload
def fmod(x: Plain, y: Plain) -> Any: ...
@overload
def quantile(x: Tensor, q: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """The number that a share q of the entries is below, from 0 to 1; between two entries on the straight line."""

@overload
def quantile(x: Plain, q: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
@overload
def percentile(x: Tensor, q: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """The number that q percent of the entries are below; between two entries on the straight line."""

@overload
def percentile(x: Plain, q: Any, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
@overload
def cov(x: Tensor, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, *, correction: Any = ...) -> Tensor:
    """The covariances of variables: the rows of x (and of y), or the columns with rowvar=False; divided by n - 1, or n - ddof."""

@overload
def cov(x: Plain, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, *, correction: Any = ...) -> Any: ...
@overload
def corrcoef(x: Tensor, y: Any = None, rowvar: bool = True) -> Tensor:
    """The correlation coefficients of variables: the covariances divided by both standard deviations."""

@overload
def corrcoef(x: Plain, y: Any = None, rowvar: bool = True) -> Any: ...
@overload
def nansum(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """The sum of the entries that are not nan."""

@overload
def nansum(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
@overload
def nanmean(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """The mean of the entries that are not nan."""

@overload
def nanmean(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
@overload
def nanmax(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """The largest of the entries that are not nan."""

@overload
def nanmax(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
@overload
def nanmin(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """The smallest of the entries that are not nan."""

@overload
def nanmin(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
@overload
def nanvar(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: float = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ..., correction: Any = ...) -> Tensor:
    """The variance of the entries that are not nan."""

@overload
def nanvar(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: float = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ..., correction: Any = ...) -> Any: ...
@overload
def nanstd(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: float = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ..., correction: Any = ...) -> Tensor:
    """The standard deviation of the entries that are not nan."""

@overload
def nanstd(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, ddof: float = 0, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ..., correction: Any = ...) -> Any: ...
@overload
def cholesky(x: Tensor) -> Tensor:
    """The lower triangular L with L @ L.T = x, for a symmetric positive definite x."""

@overload
def cholesky(x: Plain) -> Any: ...
@overload
def eigh(x: Tensor) -> tuple[Tensor, ...]:
    """Eigenvalues, ascending, and eigenvectors, in columns, of a symmetric matrix: values, vectors = eigh(x)."""

@overload
def eigh(x: Plain) -> Any: ...
@overload
def svd(x: Tensor) -> tuple[Tensor, ...]:
    """U, s, Vt with x = U @ diag(s) @ Vt, in the reduced form; s in descending order."""

@overload
def svd(x: Plain) -> Any: ...
@overload
def qr(x: Tensor) -> tuple[Tensor, ...]:
    """q, r with x = q @ r: orthonormal columns and an upper triangle, in the reduced form."""

@overload
def qr(x: Plain) -> Any: ...
@overload
def pinv(x: Tensor) -> Tensor:
    """The pseudo-inverse: the inverse of a regular matrix, and the best substitute for any other."""

@overload
def pinv(x: Plain) -> Any: ...
@overload
def lstsq(x: Tensor, y: Operand) -> Tensor:
    """The s with the smallest norm(x @ s - y); of several, the shortest."""

@overload
def lstsq(x: Plain, y: Tensor) -> Tensor:
    """The s with the smallest norm(x @ s - y); of several, the shortest."""

@overload
def lstsq(x: Plain, y: Plain) -> Any: ...
@overload
def einsum(subscripts: Tensor, *operands: Any) -> Tensor:
    """Sums of products of entries, in the notation of indices: einsum("ij,jk->ik", A, B)."""

@overload
def einsum(subscripts: Plain, *operands: Any) -> Any: ...
@overload
def solve_sylvester(a: Tensor, b: Operand, q: Operand) -> Tensor:
    """The solution of a @ x + x @ b = q. An error where there is no single one."""

@overload
def solve_sylvester(a: Plain, b: Tensor, q: Operand) -> Tensor:
    """The solution of a @ x + x @ b = q. An error where there is no single one."""

@overload
def solve_sylvester(a: Plain, b: Plain, q: Tensor) -> Tensor:
    """The solution of a @ x + x @ b = q. An error where there is no single one."""

@overload
def solve_sylvester(a: Plain, b: Plain, q: Plain) -> Any: ...
@overload
def solve_banded(l_and_u: Tensor, x: Operand, y: Operand) -> Tensor:
    """The solution s of A @ s = y for a banded A with l diagonals below the main one and u above, l_and_u = [l, u]. The rows of x are its diagonals, from the top: A[i, j] is x[u + i - j, j]; entries outside A are not read."""

@overload
def solve_banded(l_and_u: Plain, x: Tensor, y: Operand) -> Tensor:
    """The solution s of A @ s = y for a banded A with l diagonals below the main one and u above, l_and_u = [l, u]. The rows of x are its diagonals, from the top: A[i, j] is x[u + i - j, j]; entries outside A are not read."""

@overload
def solve_banded(l_and_u: Plain, x: Plain, y: Tensor) -> Tensor:
    """The solution s of A @ s = y for a banded A with l diagonals below the main one and u above, l_and_u = [l, u]. The rows of x are its diagonals, from the top: A[i, j] is x[u + i - j, j]; entries outside A are not read."""

@overload
def solve_banded(l_and_u: Plain, x: Plain, y: Plain) -> Any: ...
@overload
def expm(x: Tensor) -> Tensor:
    """The exponential of a square matrix: the sum of x**k/k! in matrix products."""

@overload
def expm(x: Plain) -> Any: ...
@overload
def solve_triangular(x: Tensor, y: Operand, lower: bool = False, unit_diagonal: bool = False) -> Tensor:
    """The solution of x @ s = y by the upper (or lower) triangle of x alone; the other triangle is not read."""

@overload
def solve_triangular(x: Plain, y: Tensor, lower: bool = False, unit_diagonal: bool = False) -> Tensor:
    """The solution of x @ s = y by the upper (or lower) triangle of x alone; the other triangle is not read."""

@overload
def solve_triangular(x: Plain, y: Plain, lower: bool = False, unit_diagonal: bool = False) -> Any: ...
@overload
def cho_solve(x: Tensor, y: Operand, lower: bool = True) -> Tensor:
    """The solution of A @ s = y, given the Cholesky factor x of A: A = x @ x.T, or x.T @ x for an upper factor."""

@overload
def cho_solve(x: Plain, y: Tensor, lower: bool = True) -> Tensor:
    """The solution of A @ s = y, given the Cholesky factor x of A: A = x @ x.T, or x.T @ x for an upper factor."""

@overload
def cho_solve(x: Plain, y: Plain, lower: bool = True) -> Any: ...
@overload
def norm(x: Tensor, ord: Any = None, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ..., p: Any = ...) -> Tensor:
    """The length of a vector, or of all entries; ord=1, inf, p; of a matrix 1, 2, inf, "fro", "nuc"."""

@overload
def norm(x: Plain, ord: Any = None, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ..., p: Any = ...) -> Any: ...
@overload
def sin(x: Tensor) -> Tensor:
    """The sine of an angle in radians."""

@overload
def sin(x: float) -> float: ...
@overload
def sin(x: Plain) -> Any: ...
@overload
def cos(x: Tensor) -> Tensor:
    """The cosine of an angle in radians."""

@overload
def cos(x: float) -> float: ...
@overload
def cos(x: Plain) -> Any: ...
@overload
def tan(x: Tensor) -> Tensor:
    """The tangent of an angle in radians."""

@overload
def tan(x: float) -> float: ...
@overload
def tan(x: Plain) -> Any: ...
@overload
def asin(x: Tensor) -> Tensor:
    """The angle in radians whose sine is x; nan outside -1 to 1."""

@overload
def asin(x: float) -> float: ...
@overload
def asin(x: Plain) -> Any: ...
@overload
def acos(x: Tensor) -> Tensor:
    """The angle in radians whose cosine is x; nan outside -1 to 1."""

@overload
def acos(x: float) -> float: ...
@overload
def acos(x: Plain) -> Any: ...
@overload
def atan(x: Tensor) -> Tensor:
    """The angle in radians whose tangent is x."""

@overload
def atan(x: float) -> float: ...
@overload
def atan(x: Plain) -> Any: ...
@overload
def atan2(y: Tensor, x: Operand) -> Tensor:
    """The angle in radians of the point (x, y), from -pi to pi."""

@overload
def atan2(y: Plain, x: Tensor) -> Tensor:
    """The angle in radians of the point (x, y), from -pi to pi."""

@overload
def atan2(y: float, x: float) -> float: ...
@overload
def atan2(y: Plain, x: Plain) -> Any: ...
@overload
def sinh(x: Tensor) -> Tensor:
    """The hyperbolic sine."""

@overload
def sinh(x: float) -> float: ...
@overload
def sinh(x: Plain) -> Any: ...
@overload
def cosh(x: Tensor) -> Tensor:
    """The hyperbolic cosine."""

@overload
def cosh(x: float) -> float: ...
@overload
def cosh(x: Plain) -> Any: ...
@overload
def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent."""

@overload
def tanh(x: float) -> float: ...
@overload
def tanh(x: Plain) -> Any: ...
@overload
def asinh(x: Tensor) -> Tensor:
    """The number whose hyperbolic sine is x."""

@overload
def asinh(x: float) -> float: ...
@overload
def asinh(x: Plain) -> Any: ...
@overload
def acosh(x: Tensor) -> Tensor:
    """The number not below 0 whose hyperbolic cosine is x; nan below 1."""

@overload
def acosh(x: float) -> float: ...
@overload
def acosh(x: Plain) -> Any: ...
@overload
def atanh(x: Tensor) -> Tensor:
    """The number whose hyperbolic tangent is x; nan outside -1 to 1."""

@overload
def atanh(x: float) -> float: ...
@overload
def atanh(x: Plain) -> Any: ...
@overload
def deg2rad(x: Tensor) -> Tensor:
    """Degrees as radians."""

@overload
def deg2rad(x: float) -> float: ...
@overload
def deg2rad(x: Plain) -> Any: ...
@overload
def rad2deg(x: Tensor) -> Tensor:
    """Radians as degrees."""

@overload
def rad2deg(x: float) -> float: ...
@overload
def rad2deg(x: Plain) -> Any: ...
@overload
def sinc(x: Tensor) -> Tensor:
    """sin(pi*x)/(pi*x), and 1 at 0."""

@overload
def sinc(x: float) -> float: ...
@overload
def sinc(x: Plain) -> Any: ...
@overload
def erf(x: Tensor) -> Tensor:
    """The error function."""

@overload
def erf(x: float) -> float: ...
@overload
def erf(x: Plain) -> Any: ...
@overload
def erfc(x: Tensor) -> Tensor:
    """1 - erf(x), exact also where that is small."""

@overload
def erfc(x: float) -> float: ...
@overload
def erfc(x: Plain) -> Any: ...
@overload
def erfinv(x: Tensor) -> Tensor:
    """The number whose erf is x; ±inf at ±1."""

@overload
def erfinv(x: float) -> float: ...
@overload
def erfinv(x: Plain) -> Any: ...
@overload
def ndtr(x: Tensor) -> Tensor:
    """The probability that a standard normal number is below x."""

@overload
def ndtr(x: float) -> float: ...
@overload
def ndtr(x: Plain) -> Any: ...
@overload
def gamma(x: Tensor) -> Tensor:
    """The gamma function: (n - 1)! for a whole n."""

@overload
def gamma(x: float) -> float: ...
@overload
def gamma(x: Plain) -> Any: ...
@overload
def lgamma(x: Tensor) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""

@overload
def lgamma(x: float) -> float: ...
@overload
def lgamma(x: Plain) -> Any: ...
@overload
def digamma(x: Tensor) -> Tensor:
    """The derivative of lgamma."""

@overload
def digamma(x: float) -> float: ...
@overload
def digamma(x: Plain) -> Any: ...
@overload
def polygamma(n: Tensor, x: Operand) -> Tensor:
    """The n-th derivative of digamma, for a whole n not below 0."""

@overload
def polygamma(n: Plain, x: Tensor) -> Tensor:
    """The n-th derivative of digamma, for a whole n not below 0."""

@overload
def polygamma(n: Plain, x: Plain) -> Any: ...
@overload
def beta(x: Tensor, y: Operand) -> Tensor:
    """The beta function gamma(x)*gamma(y)/gamma(x + y)."""

@overload
def beta(x: Plain, y: Tensor) -> Tensor:
    """The beta function gamma(x)*gamma(y)/gamma(x + y)."""

@overload
def beta(x: float, y: float) -> float: ...
@overload
def beta(x: Plain, y: Plain) -> Any: ...
@overload
def lbeta(x: Tensor, y: Operand) -> Tensor:
    """The logarithm of the beta function."""

@overload
def lbeta(x: Plain, y: Tensor) -> Tensor:
    """The logarithm of the beta function."""

@overload
def lbeta(x: float, y: float) -> float: ...
@overload
def lbeta(x: Plain, y: Plain) -> Any: ...
@overload
def j0(x: Tensor) -> Tensor:
    """The Bessel function of the first kind, of order 0."""

@overload
def j0(x: float) -> float: ...
@overload
def j0(x: Plain) -> Any: ...
@overload
def j1(x: Tensor) -> Tensor:
    """The Bessel function of the first kind, of order 1."""

@overload
def j1(x: float) -> float: ...
@overload
def j1(x: Plain) -> Any: ...
@overload
def i0(x: Tensor) -> Tensor:
    """The modified Bessel function of order 0."""

@overload
def i0(x: float) -> float: ...
@overload
def i0(x: Plain) -> Any: ...
@overload
def i1(x: Tensor) -> Tensor:
    """The modified Bessel function of order 1."""

@overload
def i1(x: float) -> float: ...
@overload
def i1(x: Plain) -> Any: ...
@overload
def xlogy(x: Tensor, y: Operand) -> Tensor:
    """x*log(y), and 0 where x is 0."""

@overload
def xlogy(x: Plain, y: Tensor) -> Tensor:
    """x*log(y), and 0 where x is 0."""

@overload
def xlogy(x: float, y: float) -> float: ...
@overload
def xlogy(x: Plain, y: Plain) -> Any: ...
@overload
def xlog1py(x: Tensor, y: Operand) -> Tensor:
    """x*log1p(y), and 0 where x is 0."""

@overload
def xlog1py(x: Plain, y: Tensor) -> Tensor:
    """x*log1p(y), and 0 where x is 0."""

@overload
def xlog1py(x: float, y: float) -> float: ...
@overload
def xlog1py(x: Plain, y: Plain) -> Any: ...
@overload
def gammasgn(x: Tensor) -> Tensor:
    """The sign of the gamma function: gamma(x) is gammasgn(x)*exp(lgamma(x))."""

@overload
def gammasgn(x: float) -> float: ...
@overload
def gammasgn(x: Plain) -> Any: ...
@overload
def rgamma(x: Tensor) -> Tensor:
    """1/gamma(x), which is smooth everywhere."""

@overload
def rgamma(x: float) -> float: ...
@overload
def rgamma(x: Plain) -> Any: ...
@overload
def multigammaln(x: Tensor, d: Any) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension d, of the Wishart distribution of d by d matrices; nan where x is not above (d - 1)/2."""

@overload
def multigammaln(x: Plain, d: Any) -> Any: ...
@overload
def relu(x: Tensor) -> Tensor:
    """x where it is positive, else 0."""

@overload
def relu(x: float) -> float: ...
@overload
def relu(x: Plain) -> Any: ...
@overload
def leaky_relu(x: Tensor, slope: float = 0.01, *, negative_slope: Any = ...) -> Tensor:
    """x where it is positive, else slope*x."""

@overload
def leaky_relu(x: Plain, slope: float = 0.01, *, negative_slope: Any = ...) -> Any: ...
@overload
def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """x where it is positive, else alpha*(exp(x) - 1)."""

@overload
def elu(x: Plain, alpha: float = 1.0) -> Any: ...
@overload
def selu(x: Tensor) -> Tensor:
    """The scaled elu of self-normalizing networks: 1.0507*elu(x, 1.6733)."""

@overload
def selu(x: float) -> float: ...
@overload
def selu(x: Plain) -> Any: ...
@overload
def hardtanh(x: Tensor, lo: Operand | None = -1.0, hi: Operand | None = 1.0, *, min: Operand | None = ..., max: Operand | None = ..., min_val: Operand | None = ..., max_val: Operand | None = ...) -> Tensor:
    """x limited to between lo and hi."""

@overload
def hardtanh(x: Plain, lo: Operand | None = -1.0, hi: Operand | None = 1.0, *, min: Operand | None = ..., max: Operand | None = ..., min_val: Operand | None = ..., max_val: Operand | None = ...) -> Any: ...
@overload
def sigmoid(x: Tensor) -> Tensor:
    """1/(1 + exp(-x))."""

@overload
def sigmoid(x: float) -> float: ...
@overload
def sigmoid(x: Plain) -> Any: ...
@overload
def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), without overflow."""

@overload
def softplus(x: float) -> float: ...
@overload
def softplus(x: Plain) -> Any: ...
@overload
def logsigmoid(x: Tensor) -> Tensor:
    """The logarithm of sigmoid(x), without underflow."""

@overload
def logsigmoid(x: float) -> float: ...
@overload
def logsigmoid(x: Plain) -> Any: ...
@overload
def silu(x: Tensor) -> Tensor:
    """x*sigmoid(x), also called swish."""

@overload
def silu(x: float) -> float: ...
@overload
def silu(x: Plain) -> Any: ...
@overload
def gelu(x: Tensor) -> Tensor:
    """x times the probability that a standard normal number is below x."""

@overload
def gelu(x: float) -> float: ...
@overload
def gelu(x: Plain) -> Any: ...
@overload
def logaddexp(x: Tensor, y: Operand) -> Tensor:
    """log(exp(x) + exp(y)), without overflow."""

@overload
def logaddexp(x: Plain, y: Tensor) -> Tensor:
    """log(exp(x) + exp(y)), without overflow."""

@overload
def logaddexp(x: float, y: float) -> float: ...
@overload
def logaddexp(x: Plain, y: Plain) -> Any: ...
@overload
def softmax(x: Tensor, axis: int | Sequence[int] | None = -1, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
    """exp(x) divided by its sum along an axis: positive, with sum 1."""

@overload
def softmax(x: Plain, axis: int | Sequence[int] | None = -1, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Any: ...
@overload
def log_softmax(x: Tensor, axis: int | Sequence[int] | None = -1, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Tensor:
    """The logarithm of softmax, without underflow."""

@overload
def log_softmax(x: Plain, axis: int | Sequence[int] | None = -1, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ...) -> Any: ...
@overload
def logsumexp(x: Tensor, axis: int | Sequence[int] | None = None, keepdims: bool = False, b: Any = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Tensor:
    """log(sum(exp(x))), or log(sum(b*exp(x))), of all entries or along an axis, without overflow; nan where that sum is negative."""

@overload
def logsumexp(x: Plain, axis: int | Sequence[int] | None = None, keepdims: bool = False, b: Any = None, *, dim: int | Sequence[int] | None = ..., dims: int | Sequence[int] | None = ..., keepdim: bool = ...) -> Any: ...
@overload
def linear(x: Tensor, weight: Operand, bias: Any = None) -> Tensor:
    """x @ weight.T + bias: weight has a row for each output."""

@overload
def linear(x: Plain, weight: Tensor, bias: Any = None) -> Tensor:
    """x @ weight.T + bias: weight has a row for each output."""

@overload
def linear(x: Plain, weight: Plain, bias: Any = None) -> Any: ...
@overload
def dropout(x: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """In training, each entry is 0 with probability p, and x/(1 - p) otherwise; else x itself."""

@overload
def dropout(x: Plain, p: float = 0.5, training: bool = True) -> Any: ...
@overload
def layer_norm(x: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05) -> Tensor:
    """(x - mean)/sqrt(variance + eps) over the last axes, those of normalized_shape, times weight plus bias."""

@overload
def layer_norm(x: Plain, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05) -> Any: ...
@overload
def embedding(x: Tensor, weight: Operand, padding_idx: Any = None) -> Tensor:
    """The row of weight at each of the whole numbers x. padding_idx: a row that has no gradient."""

@overload
def embedding(x: Plain, weight: Tensor, padding_idx: Any = None) -> Tensor:
    """The row of weight at each of the whole numbers x. padding_idx: a row that has no gradient."""

@overload
def embedding(x: Plain, weight: Plain, padding_idx: Any = None) -> Any: ...
@overload
def mse_loss(x: Tensor, y: Operand, reduction: str = 'mean') -> Tensor:
    """The mean squared error, mean((x - y)**2)."""

@overload
def mse_loss(x: Plain, y: Tensor, reduction: str = 'mean') -> Tensor:
    """The mean squared error, mean((x - y)**2)."""

@overload
def mse_loss(x: Plain, y: Plain, reduction: str = 'mean') -> Any: ...
@overload
def l1_loss(x: Tensor, y: Operand, reduction: str = 'mean') -> Tensor:
    """The mean absolute error, mean(abs(x - y))."""

@overload
def l1_loss(x: Plain, y: Tensor, reduction: str = 'mean') -> Tensor:
    """The mean absolute error, mean(abs(x - y))."""

@overload
def l1_loss(x: Plain, y: Plain, reduction: str = 'mean') -> Any: ...
@overload
def huber_loss(x: Tensor, y: Operand, delta: float = 1.0, reduction: str = 'mean') -> Tensor:
    """Half the squared error up to delta, from there on delta times (the absolute error - delta/2); the mean of it."""

@overload
def huber_loss(x: Plain, y: Tensor, delta: float = 1.0, reduction: str = 'mean') -> Tensor:
    """Half the squared error up to delta, from there on delta times (the absolute error - delta/2); the mean of it."""

@overload
def huber_loss(x: Plain, y: Plain, delta: float = 1.0, reduction: str = 'mean') -> Any: ...
@overload
def binary_cross_entropy(x: Tensor, y: Operand, reduction: str = 'mean', weight: Any = None) -> Tensor:
    """The mean of -(y*log(x) + (1 - y)*log(1 - x)), for probabilities x of the targets y, times a weight. It is nan for x outside 0 to 1."""

@overload
def binary_cross_entropy(x: Plain, y: Tensor, reduction: str = 'mean', weight: Any = None) -> Tensor:
    """The mean of -(y*log(x) + (1 - y)*log(1 - x)), for probabilities x of the targets y, times a weight. It is nan for x outside 0 to 1."""

@overload
def binary_cross_entropy(x: Plain, y: Plain, reduction: str = 'mean', weight: Any = None) -> Any: ...
@overload
def binary_cross_entropy_with_logits(x: Tensor, y: Operand, reduction: str = 'mean', weight: Any = None, pos_weight: Any = None) -> Tensor:
    """binary_cross_entropy of logits x, without overflow. pos_weight: a weight of what y has a share in."""

@overload
def binary_cross_entropy_with_logits(x: Plain, y: Tensor, reduction: str = 'mean', weight: Any = None, pos_weight: Any = None) -> Tensor:
    """binary_cross_entropy of logits x, without overflow. pos_weight: a weight of what y has a share in."""

@overload
def binary_cross_entropy_with_logits(x: Plain, y: Plain, reduction: str = 'mean', weight: Any = None, pos_weight: Any = None) -> Any: ...
@overload
def cross_entropy(x: Tensor, target: Operand, reduction: str = 'mean', label_smoothing: float = 0.0, weight: Any = None, ignore_index: float = -100) -> Tensor:
    """The mean of -log_softmax(x) at the target: the number of a class for each row of x, or probabilities. weight: one number a class; the mean is weighted. label_smoothing: how much of a target all classes share. Rows whose target is ignore_index are left out."""

@overload
def cross_entropy(x: Plain, target: Tensor, reduction: str = 'mean', label_smoothing: float = 0.0, weight: Any = None, ignore_index: float = -100) -> Tensor:
    """The mean of -log_softmax(x) at the target: the number of a class for each row of x, or probabilities. weight: one number a class; the mean is weighted. label_smoothing: how much of a target all classes share. Rows whose target is ignore_index are left out."""

@overload
def cross_entropy(x: Plain, target: Plain, reduction: str = 'mean', label_smoothing: float = 0.0, weight: Any = None, ignore_index: float = -100) -> Any: ...
@overload
def nll_loss(x: Tensor, target: Operand, reduction: str = 'mean', weight: Any = None, ignore_index: float = -100) -> Tensor:
    """The mean of -x at the target, the number of a class for each row of x: of log_softmax, it is cross_entropy, with the same weight and ignore_index."""

@overload
def nll_loss(x: Plain, target: Tensor, reduction: str = 'mean', weight: Any = None, ignore_index: float = -100) -> Tensor:
    """The mean of -x at the target, the number of a class for each row of x: of log_softmax, it is cross_entropy, with the same weight and ignore_index."""

@overload
def nll_loss(x: Plain, target: Plain, reduction: str = 'mean', weight: Any = None, ignore_index: float = -100) -> Any: ...
@overload
def jv(v: Tensor, x: Operand) -> Tensor:
    """The Bessel function of the first kind, of order v. No derivative is taken by v."""

@overload
def jv(v: Plain, x: Tensor) -> Tensor:
    """The Bessel function of the first kind, of order v. No derivative is taken by v."""

@overload
def jv(v: Plain, x: Plain) -> Any: ...
@overload
def yv(v: Tensor, x: Operand) -> Tensor:
    """The Bessel function of the second kind, of order v; -inf at 0. No derivative is taken by v."""

@overload
def yv(v: Plain, x: Tensor) -> Tensor:
    """The Bessel function of the second kind, of order v; -inf at 0. No derivative is taken by v."""

@overload
def yv(v: Plain, x: Plain) -> Any: ...
@overload
def iv(v: Tensor, x: Operand) -> Tensor:
    """The modified Bessel function of the first kind, of order v. No derivative is taken by v."""

@overload
def iv(v: Plain, x: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order v. No derivative is taken by v."""

@overload
def iv(v: Plain, x: Plain) -> Any: ...
@overload
def kv(v: Tensor, x: Operand) -> Tensor:
    """The modified Bessel function of the second kind, of order v; inf at 0. No derivative is taken by v."""

@overload
def kv(v: Plain, x: Tensor) -> Tensor:
    """The modified Bessel function of the second kind, of order v; inf at 0. No derivative is taken by v."""

@overload
def kv(v: Plain, x: Plain) -> Any: ...
@overload
def ive(v: Tensor, x: Operand) -> Tensor:
    """iv(v, x)*exp(-abs(x)), which stays finite for large x. No derivative is taken by v."""

@overload
def ive(v: Plain, x: Tensor) -> Tensor:
    """iv(v, x)*exp(-abs(x)), which stays finite for large x. No derivative is taken by v."""

@overload
def ive(v: Plain, x: Plain) -> Any: ...
@overload
def kve(v: Tensor, x: Operand) -> Tensor:
    """kv(v, x)*exp(x), which is not 0 for large x; inf at 0. No derivative is taken by v."""

@overload
def kve(v: Plain, x: Tensor) -> Tensor:
    """kv(v, x)*exp(x), which is not 0 for large x; inf at 0. No derivative is taken by v."""

@overload
def kve(v: Plain, x: Plain) -> Any: ...
@overload
def y0(x: Tensor) -> Tensor:
    """The Bessel function of the second kind, of order 0; -inf at 0."""

@overload
def y0(x: Plain) -> Any: ...
@overload
def y1(x: Tensor) -> Tensor:
    """The Bessel function of the second kind, of order 1; -inf at 0."""

@overload
def y1(x: Plain) -> Any: ...
@overload
def comb(n: Tensor, k: Operand) -> Tensor:
    """In how many ways k of n things can be chosen: gamma(n + 1)/(gamma(k + 1)*gamma(n - k + 1)), exact for whole numbers; nan for negative ones."""

@overload
def comb(n: Plain, k: Tensor) -> Tensor:
    """In how many ways k of n things can be chosen: gamma(n + 1)/(gamma(k + 1)*gamma(n - k + 1)), exact for whole numbers; nan for negative ones."""

@overload
def comb(n: float, k: float) -> float: ...
@overload
def comb(n: Plain, k: Plain) -> Any: ...
@overload
def perm(n: Tensor, k: Operand) -> Tensor:
    """In how many orders k of n things can be taken: gamma(n + 1)/gamma(n - k + 1), exact for whole numbers; nan for negative ones."""

@overload
def perm(n: Plain, k: Tensor) -> Tensor:
    """In how many orders k of n things can be taken: gamma(n + 1)/gamma(n - k + 1), exact for whole numbers; nan for negative ones."""

@overload
def perm(n: float, k: float) -> float: ...
@overload
def perm(n: Plain, k: Plain) -> Any: ...
@overload
def gcd(x: Tensor, *others: Any) -> Tensor:
    """The greatest common divisor of whole numbers, entry by entry; of one array, that of its entries."""

@overload
def gcd(x: Plain, *others: Any) -> Any: ...
@overload
def lcm(x: Tensor, *others: Any) -> Tensor:
    """The least common multiple of whole numbers, entry by entry; of one array, that of its entries."""

@overload
def lcm(x: Plain, *others: Any) -> Any: ...
@overload
def ndtri(x: Tensor) -> Tensor:
    """The number that a standard normal number is below with probability x: the inverse of ndtr."""

@overload
def ndtri(x: float) -> float: ...
@overload
def ndtri(x: Plain) -> Any: ...
@overload
def erfcinv(x: Tensor) -> Tensor:
    """The number whose erfc is x; inf at 0, -inf at 2."""

@overload
def erfcinv(x: float) -> float: ...
@overload
def erfcinv(x: Plain) -> Any: ...
@overload
def log_ndtr(x: Tensor) -> Tensor:
    """The logarithm of ndtr, exact also where that is small."""

@overload
def log_ndtr(x: float) -> float: ...
@overload
def log_ndtr(x: Plain) -> Any: ...
@overload
def logit(x: Tensor) -> Tensor:
    """log(x/(1 - x)): the inverse of sigmoid; nan outside 0 to 1."""

@overload
def logit(x: float) -> float: ...
@overload
def logit(x: Plain) -> Any: ...
@overload
def entr(x: Tensor) -> Tensor:
    """-x*log(x): 0 at 0, -inf below."""

@overload
def entr(x: float) -> float: ...
@overload
def entr(x: Plain) -> Any: ...
@overload
def gammainc(a: Tensor, x: Operand) -> Tensor:
    """The regularised lower incomplete gamma function: the probability that a gamma number of shape a is below x."""

@overload
def gammainc(a: Plain, x: Tensor) -> Tensor:
    """The regularised lower incomplete gamma function: the probability that a gamma number of shape a is below x."""

@overload
def gammainc(a: float, x: float) -> float: ...
@overload
def gammainc(a: Plain, x: Plain) -> Any: ...
@overload
def gammaincc(a: Tensor, x: Operand) -> Tensor:
    """1 - gammainc(a, x), exact also where that is small."""

@overload
def gammaincc(a: Plain, x: Tensor) -> Tensor:
    """1 - gammainc(a, x), exact also where that is small."""

@overload
def gammaincc(a: float, x: float) -> float: ...
@overload
def gammaincc(a: Plain, x: Plain) -> Any: ...
@overload
def betainc(a: Tensor, b: Operand, x: Operand) -> Tensor:
    """The regularised incomplete beta function: the probability that a beta number of shapes a and b is below x."""

@overload
def betainc(a: Plain, b: Tensor, x: Operand) -> Tensor:
    """The regularised incomplete beta function: the probability that a beta number of shapes a and b is below x."""

@overload
def betainc(a: Plain, b: Plain, x: Tensor) -> Tensor:
    """The regularised incomplete beta function: the probability that a beta number of shapes a and b is below x."""

@overload
def betainc(a: float, b: float, x: float) -> float: ...
@overload
def betainc(a: Plain, b: Plain, x: Plain) -> Any: ...
@overload
def copysign(x: Tensor, y: Operand) -> Tensor:
    """The size of x with the sign of y, where 0 and -0 differ."""

@overload
def copysign(x: Plain, y: Tensor) -> Tensor:
    """The size of x with the sign of y, where 0 and -0 differ."""

@overload
def copysign(x: Plain, y: Plain) -> Any: ...
@overload
def heaviside(x: Tensor, y: Operand) -> Tensor:
    """0 for a negative x, y at 0, 1 for a positive x."""

@overload
def heaviside(x: Plain, y: Tensor) -> Tensor:
    """0 for a negative x, y at 0, 1 for a positive x."""

@overload
def heaviside(x: Plain, y: Plain) -> Any: ...
def root(f: Any, x0: Any) -> Any:
    """A zero of a function, from a starting point, or between two: root(f, 0..2). Of a function of a vector with as many results, the solution of that system."""

def integral(f: Any, a: Any, b: Any, at: Any = (), near: Any = ()) -> Any:
    """The integral of a function of one number from a to b, which may be infinite. The function may have an array as its result. at: where it is singular inside, or jumps; near: where it has a narrow peak."""

def ode(f: Any, y0: Any, ts: Any, stiff: bool = False, atol: Any = None, within: Any = None, until: Any = None) -> Any:
    """The solution of y' = f(t, y) at the times ts, from y0 at the first of them: a row for each time. stiff=True takes an implicit method; atol is an error of each value that does not matter, within the longest step. With until=g, the time at which g(t, y) changes its sign, instead."""

def taylor(f: Any, x0: Any, n: Any) -> Any:
    """The coefficients of the Taylor polynomial of degree n of a function at x0: f(x0), f'(x0), f''(x0)/2, …"""

