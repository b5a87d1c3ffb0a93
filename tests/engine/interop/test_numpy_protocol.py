"""NumPy's own functions on Tensors: the same values as on arrays, and the derivatives of what NumPy computes.

The derivatives are held against differences of NumPy's results, so that nothing of agrad is on that side.
"""

import contextlib
import math
import operator
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from refused import leaf, refuses
from rows import each

import agrad.engine as ag
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.interop.numpy_functions import MADE, NAMES, counterparts, describing

autograd = pytest.importorskip("autograd")
anp = pytest.importorskip("autograd.numpy")


# Each case: what is called, and the arrays that it is called with. The first word is the function that it is about.

V = np.array([0.7, -1.2, 0.4, 1.9])
W = np.array([0.31, 0.83, -1.07, 0.61])
M = np.array([[0.7, -1.2, 0.4, 1.9], [0.2, 0.9, -0.8, 1.1], [-1.5, 0.5, 1.3, -0.6]])
N = np.cos(np.arange(12.0)).reshape(3, 4) + 2.1
S = np.array([[2.0, 0.3, -0.5], [0.4, 1.7, 0.6], [-0.2, 0.1, 2.4]])
B = np.stack([S, S @ S + 0.1])
C = np.sin(np.arange(24.0)).reshape(2, 3, 4)
POSITIVE, UNIT, ABOVE_1 = np.abs(V) + 0.2, V / 2.5, np.abs(V) + 1.1
GAPS = np.array([0.5, np.nan, -2.0, np.inf])
HOLES = np.array([[0.0, 0.0, np.nan, 0.0], [np.nan, 0.0, 0.0, 0.0], [0.0, 0.0, np.nan, 0.0]])
MODES = ("full", "same", "valid")

ARRAYS = {
    "V": V,
    "W": W,
    "M": M,
    "N": N,
    "S": S,
    "B": B,
    "C": C,
    "POSITIVE": POSITIVE,
    "UNIT": UNIT,
    "ABOVE_1": ABOVE_1,
}
ENTRY_BY_ENTRY = {
    "V": """exp exp2 expm1 sin cos tan sinh cosh tanh arcsinh arctan square absolute fabs negative positive conjugate sign
        cbrt floor ceil trunc rint fix degrees radians deg2rad rad2deg sinc i0 real copy isnan isfinite isinf logical_not""",
    "POSITIVE": "log log2 log10 log1p sqrt reciprocal",
    "UNIT": "arcsin arccos arctanh",
    "ABOVE_1": "arccosh",
    "M, W": """add subtract multiply divide floor_divide remainder fmod maximum minimum fmax fmin hypot arctan2 logaddexp
        logaddexp2 equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor divmod isclose""",
}
# Each case is a call, of arrays in capital letters, which it is differentiated by, and in small letters.
CALLS = """
np.power(N, W); np.float_power(N, W); np.matmul(M, W); np.matmul(C, M.T); M * np.bitwise_and(M > 0, W > 0)
M * np.bitwise_or(M > 0, W > 0); M * np.bitwise_xor(M > 0, W > 0); M[np.invert(M > 0)]
np.fmax(V, [0.5, np.nan, -2.0, 3.0]); np.fmin([0.5, np.nan, -2.0, 3.0], V); np.round(M, decimals=1); np.around(M, 1)
M * np.gcd(_whole(M), 6); M * np.lcm(_whole(M), [2, 3, 4, 5])
# Choices
np.where(M > W, M * 2, W); np.where(np.array([True, False, True, False]), V, 1)
np.select([M > 1, M > 0], [M ** 2, M], -1.0); np.clip(M, -0.5, 1.0); np.clip(M, a_min=None, a_max=W)
np.nan_to_num(V * GAPS, nan=1.0, posinf=2.0); M[:, np.argmax(M[0])]; np.argmin(M, axis=1, keepdims=True)
V[np.argsort(V)]; np.argsort(M, 0, kind='stable'); np.sort(M, axis=0)
np.isclose(V, [0.7, -1.2001, np.inf, np.nan], rtol=0.001, atol=0)
# Reductions
np.sum(M, axis=0); np.sum(C, (0, 2), None, None, True); np.sum(M); np.prod(M, axis=-1)
np.mean(M, axis=1, keepdims=True); np.var(M, 0, ddof=1); np.std(M, axis=(0, 1)); np.max(M, axis=1); np.amax(M, 0)
np.min(M); np.amin(M, 1, keepdims=True); np.ptp(M, axis=1); M * np.any(M > 1.5, axis=0)
M * np.all(M > -1.4, axis=1, keepdims=True); np.count_nonzero(M > 0, axis=1) * M[:, 0]; np.median(M, axis=1)
np.average(M, axis=0); np.average(M, axis=-1, weights=W ** 2); np.average(M, weights=N); np.cumsum(M, axis=1)
np.cumsum(M); np.cumprod(M, 0); np.diff(M, n=2, axis=1); np.polyval(V, W)
# Shapes
np.reshape(M, (2, -1)); np.reshape(C, (2, -1), order='F'); np.ravel(M); np.ravel(M, order='F'); np.transpose(C)
np.transpose(C, (1, 2, 0)); np.transpose(M, (0, 1)); np.swapaxes(C, 0, -1); np.moveaxis(C, 0, -1)
np.moveaxis(C, [0, 1], [-1, -2]); np.expand_dims(M, 1); np.expand_dims(M, (0, -1)); np.squeeze(M[None, :, None])
np.atleast_1d(V[0], V); np.atleast_2d(V[0], V, V[:, None]); np.atleast_3d(M[0, 0], M[0], M)
np.broadcast_to(M, (2, 3, 4)); np.broadcast_arrays(M, W, 1.0); np.tile(M, (2, 1)); np.repeat(M, [1, 0, 2], axis=0)
np.repeat(M, 2); np.roll(M, 1, axis=1); np.flip(M, 1); np.fliplr(M); np.flipud(M)
np.concatenate((M, W[None], np.ones((1, 4))), axis=0); np.concatenate([M, W], axis=None); np.append(M, W)
np.append([[1.0, 2, 3, 4]], M, axis=0); np.stack([V, W, np.ones(4)], axis=1); np.hstack([M, N])
np.hstack([V[0], V, 2.0]); np.vstack((M, W)); np.dstack((M, N)); np.column_stack((V, W, n.T))
np.block([[S, np.zeros((3, 3))], [np.zeros((3, 3)), 2 * S]]); np.block([V, 1.0, V[0]]); np.split(M, 2, axis=1)
np.split(V, [1, 3]); np.array_split(V, 3); np.array_split(M, [1], axis=1); np.hsplit(M, 2); np.hsplit(V, 2)
np.vsplit(M, 3); np.dsplit(C, 2); np.take(M, [0, 2, 2], axis=1); np.take(M, [[0, 2], [-1, 5]])
np.take_along_axis(M, np.array([[0, 0], [3, 1], [1, 1]]), axis=1); np.diag(V, k=1); np.diag(M)
np.diagonal(C, offset=1, axis1=2, axis2=1); np.tril(M, -1); np.triu(M); M + np.zeros_like(M)
_running(np.zeros_like(V), V); _running(np.empty_like(V, shape=(4,)), V); V[0] + np.ones_like(V, shape=2)
np.full_like(M, M[0, 0]); np.full_like(V, -0.0); np.linspace(V[0], V[1], 5); np.linspace(0, V, 4, endpoint=False)
# Products
np.dot(M, W); np.dot(C, M.T); np.inner(M, W); np.inner(2.0, V); np.vdot(M, N); np.outer(M, [1.0, 2.0])
np.kron(S, M); np.trace(S); np.trace(B, 1, 1, 2); np.tensordot(M, N); np.tensordot(C, M, axes=([2, 1], [1, 0]))
np.tensordot(V, W, axes=0); np.cross(S, [1.0, 2.0, 3.0]); np.einsum('ij,j->i', M, W)
np.einsum('ij,kj,j', M, M, W, optimize=True)
# Rows and columns put in, and taken out
M + np.imag(M); M + np.angle(M, deg=True); np.real_if_close(M); M * np.isreal(M); M * np.iscomplex(M)
np.rollaxis(C, 2); np.rollaxis(C, 0, -1); np.pad(M, 1)
np.pad(M, [(1, 2), (0, 1)], constant_values=((0.5, V[0]), (2.0, 1.0))); np.pad(M, (1, 2), mode='edge')
np.pad(M, ((2, 1), (3, 2)), 'reflect'); np.pad(M, 2, mode='symmetric'); np.pad(M, 3, 'wrap')
np.insert(M, 1, W[0], axis=1); np.insert(M, 2, W, axis=0); np.insert(V, [0, 2, 2], W[:3])
np.insert(M, [1], V[:3, None], axis=1); np.insert(M, [1, 3], 7.0, axis=1); np.insert(V, slice(0, 3, 2), V[:2])
np.insert(M, 5, M[0]); np.delete(M, 1, axis=1); np.delete(M, [0, -1]); np.delete(M, slice(None, None, 2), axis=1)
np.delete(V, np.array([True, False, False, True])); np.rot90(M); np.rot90(M, 2); np.rot90(C, -1, axes=(1, 2))
np.rot90(C, axes=(2, 0)); np.meshgrid(V, W[:3]); np.meshgrid(V, W[:3], V[:2], indexing='ij')
np.meshgrid(V, W[:3], V[:2]); np.meshgrid(V, W[:3], sparse=True)
# Differences and samples
np.diff(M, prepend=V[:3, None], append=0.5); np.diff(M, n=2, axis=0, prepend=M[:1] ** 2); np.gradient(V)
np.gradient(M); np.gradient(M, 0.5, 2.0); np.gradient(M, np.cumsum(W ** 2 + 0.5), axis=1)
np.gradient(M, 0.5, axis=0, edge_order=2); np.gradient(M, np.cumsum(W ** 2 + 0.5), axis=-1, edge_order=2)
np.gradient(C, axis=(2, 0)); np.convolve(V, W[:3])
[np.convolve(V[:m], W[:n], mode) for m in (1, 2, 3, 4) for n in (1, 2, 3, 4) for mode in MODES]
np.correlate(V, W[:3])
[np.correlate(V[:m], W[:n], mode) for m in (1, 2, 3, 4) for n in (1, 2, 3, 4) for mode in MODES]
np.interp(M, np.cumsum(W ** 2) - 1.05, V); np.interp(V[0], [0.0, 1.0, 2.0, 3.0], W)
np.interp(V, [-0.5, 0.0, 0.9], [1.0, 5.0, -2.0], left=-1.0, right=7.0); np.interp(V, [0.5], W[:1])
# Statistics
np.quantile(M, 0.3); np.quantile(M, [0.0, 0.4, 0.5, 1.0], axis=1)
np.quantile(C, [[0.1], [0.7]], axis=(0, 2), keepdims=True); np.percentile(M, 35, axis=0)
np.nanquantile(M + HOLES, 0.3); np.nanquantile(M + HOLES, [0.2, 0.7], axis=1, keepdims=True)
np.nanpercentile(M + HOLES, [20, 100], axis=0); np.nanmedian(M + HOLES, axis=1); np.nanmedian(M + HOLES)
np.nansum(M + HOLES, axis=1); np.nanmean(M + HOLES, axis=0); np.nanprod(M + HOLES, axis=1)
np.nanmax(M + HOLES, axis=0); np.nanmin(M + HOLES, keepdims=True); np.nanvar(M + HOLES, axis=1, ddof=1)
np.nanstd(M + HOLES, axis=0); np.nancumsum(M + HOLES); np.nancumprod(M + HOLES, axis=1)
M[0] * np.nanargmax(M + HOLES, axis=0); M * np.nanargmin(M + HOLES); np.cov(M); np.cov(V, W, bias=True)
np.cov(M, rowvar=False, ddof=0); np.cov(V); np.corrcoef(M); np.corrcoef(V, W); np.corrcoef(V); np.copysign(M, W)
np.heaviside(M, W); np.heaviside(V * [1.0, 0.0, 1.0, 1.0], W); np.sort(np.partition(M, 1, axis=0), axis=0)
V[np.argpartition(V, 3)[3]]
# What reductions are given besides
np.sum(M, axis=0, initial=2.5); np.sum(M, axis=1, where=m > 0.3)
np.prod(M, initial=3.0, where=[True, False, True, True]); np.max(M, axis=1, initial=1.0)
np.max(M, axis=0, where=m < 0.5, initial=-9.0, keepdims=True); np.amin(M, where=m > 0.0, initial=9.0)
np.mean(M, axis=1, where=m > 0.0); np.mean(M, where=[True, False, True, True])
np.var(M, axis=1, where=m > 0.0, ddof=1); np.std(M, where=m > 0.0); M[0] * np.any(M > 1.0, axis=1, where=m < 1.5)[0]
M * np.all(M > -2.0, where=m < 1.5)
# The methods of ufuncs
np.add.reduce(M); np.add.reduce(C, axis=(0, 2), keepdims=True); np.multiply.reduce(M, axis=None, initial=2.0)
np.maximum.reduce(M, axis=1); np.minimum.reduce(M); M * np.logical_and.reduce(M > -1.0)
M * np.logical_or.reduce(M > 1.0); np.subtract.reduce(M, axis=1, keepdims=True); np.logaddexp.reduce(M)
np.hypot.reduce(V); np.add.accumulate(M); np.multiply.accumulate(M, axis=1); np.maximum.accumulate(M, axis=1)
np.multiply.outer(M, W); np.subtract.outer(V, M); _added(np.add.at, V, W); _added(np.subtract.at, V, W)
# Products of vectors
np.cross(M, N, axis=0); np.cross(S, S.T); np.cross(M, W[:3], axisa=0, axisc=0); np.einsum(M, [0, 1], W, [1], [0])
np.einsum(S, [0, 0]); np.einsum(C, [..., 1, 0], [..., 0, 1])
# Real Fourier transforms
np.fft.irfft(V); np.fft.irfft(M, 5, axis=0); np.fft.irfft(V, 11, norm='ortho'); np.fft.hfft(M)
np.fft.hfft(V, 3, norm='forward'); np.fft.fftshift(M); np.fft.ifftshift(M, axes=0)
# Linear algebra
np.linalg.eigh(S)[0]; np.linalg.eigh(B, 'U').eigenvectors ** 2; np.linalg.eigvalsh(S, UPLO='U')
np.linalg.cholesky(S); np.linalg.inv(S); np.linalg.inv(B); np.linalg.det(S); np.linalg.slogdet(B).logabsdet
np.linalg.solve(S, M); np.linalg.matrix_power(S, 3); np.linalg.multi_dot([S, S, M]); np.linalg.norm(M)
np.linalg.norm(M, axis=1, keepdims=True); np.linalg.norm(M, 1); np.linalg.norm(C, 1, axis=(2, 0))
np.linalg.norm(C, np.inf, (0, 2), keepdims=True); np.linalg.norm(M, 'nuc'); np.linalg.cholesky(S @ S.T)
np.linalg.eigh(S + S.T)[0]; np.linalg.eigh(S + S.T).eigenvectors ** 2; np.linalg.eigvalsh(S @ S.T)
np.linalg.svd(S).S; np.abs(np.linalg.svd(M, full_matrices=False)[2]); np.linalg.svd(M, compute_uv=False)
np.linalg.qr(S).R ** 2; np.linalg.pinv(M); np.linalg.lstsq(M.T, W, rcond=None)[:2]
np.linalg.lstsq(M.T, N.T, rcond=None); np.linalg.lstsq(M, M, rcond=None)
"""
# What older versions of NumPy do not have.
NEWER = """
np.astype(M, np.float64); np.unstack(C, axis=1); np.cumulative_sum(M, axis=1); np.cumulative_prod(M, axis=0)
np.matrix_transpose(C); np.vecdot(M, W); np.matvec(C, W); np.vecmat(M[:, 0], C); np.trapezoid(M, dx=0.5)
np.trapezoid(M, V[:3], axis=0); _quiet_trapz(M, N); np.linalg.matmul(M, W); np.linalg.outer(V, W)
np.linalg.diagonal(B, offset=1); np.linalg.trace(B); np.linalg.cross(S, [1.0, 2.0, 3.0])
np.linalg.vecdot(M, N, axis=0); np.linalg.tensordot(M, N); np.linalg.matrix_transpose(C)
np.linalg.matrix_norm(B, ord=1); np.linalg.vector_norm(M, keepdims=True); np.linalg.vector_norm(M, axis=0, ord=3)
np.linalg.svdvals(M)
"""


def in_numpy(path):
    room = np
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of names that it had
        for name in path.split("."):
            room = getattr(room, name, None)
    return room


def _quiet_trapz(y, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated since 2.0
        return np.trapz(y, x)


def _whole(x):
    tenths = np.round(x * 10)
    return tenths if isinstance(x, ag.Tensor) else tenths.astype(int)


def _added(at, x, y):
    changed = x * 1.0
    at(changed, [0, 2, 0, 3], y)
    return changed


def _running(into, x):
    for place in range(len(x)):
        into[place] = x[place] ** 2 + (into[place - 1] if place else 0.0)
    return into


def named(text):
    """The functions of NumPy in a call."""
    return re.findall(r"\bnp\.([\w.]*\w)", text)


def rows(text):
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return [call for line in lines for call in line.split("; ") if call]


def case(text):
    """The function that a call is, and the arrays that it is called with."""
    names = [name for name in ARRAYS if re.search(rf"\b{name}\b", text)]
    code, known = compile(text, text, "eval"), globals() | {name.lower(): array for name, array in ARRAYS.items()}
    return lambda *xs: eval(code, known | dict(zip(names, xs, strict=True))), *[ARRAYS[name] for name in names]


CASES = [f"np.{name}({xs})" for xs, names in ENTRY_BY_ENTRY.items() for name in names.split()]
CASES += rows(CALLS) + [text for text in rows(NEWER) if all(in_numpy(name) is not None for name in named(text))]
if not hasattr(np, "trapz"):
    CASES.remove("_quiet_trapz(M, N)")


def parts(result):
    return [part for one in result for part in parts(one)] if isinstance(result, tuple | list) else [result]


def number(results):
    """One number from several results, with weights that hide no entry."""
    total = 0.0
    for result in results:
        weights = np.cos(np.arange(np.size(result)) * 1.7 + 0.3).reshape(np.shape(result)) + 0.3
        total = total + np.sum(result * weights)
    return total


def slopes(function, xs):
    """Central differences of what NumPy computes, two step widths combined."""
    found = []
    for place, x in enumerate(xs):
        slope = np.zeros(x.shape)
        for index in np.ndindex(*x.shape):
            values = {}
            for step in (1e-3, -1e-3, 5e-4, -5e-4):
                moved = [np.array(one) for one in xs]
                moved[place][index] += step
                values[step] = number(parts(function(*moved)))
            wide, narrow = ((values[h] - values[-h]) / (2 * h) for h in (1e-3, 5e-4))
            slope[index] = (4 * narrow - wide) / 3
        found.append(slope)
    return found


@each("text", CASES)
def test_value_and_gradient(text):
    function, *xs = case(text)
    leaves = [leaf(x) for x in xs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, derivatives = parts(function(*xs)), slopes(function, xs)
    results = parts(function(*leaves))
    assert len(results) == len(expected)
    for result, plain in zip(results, expected, strict=True):
        assert isinstance(result, ag.Tensor | int | np.ndarray)
        assert np.shape(result) == np.shape(plain)
        np.testing.assert_allclose(getattr(result, "data", result), plain, rtol=1e-12, atol=1e-12)
    total = number([result for result in results if isinstance(result, ag.Tensor) and result.requires_grad])
    for x, derivative in zip(leaves, derivatives, strict=True):
        found = np.zeros(x.shape)
        if isinstance(total, ag.Tensor):
            try:
                found = ag.grad(total, x).numpy()
            except ag.AgradError as error:
                assert error.kind == "grad"
        np.testing.assert_allclose(found, derivative, rtol=1e-7, atol=1e-7)


@each("text", CASES)
def test_second_derivatives(text):
    """Those in one direction, against differences of the first."""
    function, *xs = case(text)
    directions = [np.sin(np.arange(x.size) * 1.3 + place + 0.5).reshape(x.shape) for place, x in enumerate(xs)]

    def gradients(step, create_graph=False):
        leaves = [leaf(x + step * v) for x, v in zip(xs, directions, strict=True)]
        results = [one for one in parts(function(*leaves)) if isinstance(one, ag.Tensor) and one.requires_grad]
        found = [ag.tensor(np.zeros(x.shape)) for x in xs]
        for place, x in enumerate(leaves):
            with contextlib.suppress(ag.AgradError):  # where nothing depends on it
                found[place] = ag.grad(number(results), x, create_graph=create_graph)
        return leaves, number(found)

    leaves, first = gradients(0.0, create_graph=True)
    second = 0.0
    for x, v in zip(leaves, directions, strict=True):
        with contextlib.suppress(ag.AgradError):
            second += np.sum(ag.grad(first, x, create_graph=True).numpy() * v)
    wide, narrow = ((float(gradients(h)[1]) - float(gradients(-h)[1])) / (2 * h) for h in (1e-3, 5e-4))
    np.testing.assert_allclose(second, (4 * narrow - wide) / 3, rtol=1e-6, atol=1e-6)


# Coverage


COVERED = {in_numpy(name) for text in CASES for name in named(text)} | {in_numpy("trapz")}


def test_every_counterpart_has_a_case():
    missing = {getattr(function, "__name__", function) for function in counterparts() if function not in COVERED}
    assert missing == set()


def test_every_function_that_numpy_has_is_covered():
    theirs = {ours: name for name, ours in NAMES.items()}
    for name, entry in FUNCTIONS.items():
        found = [in_numpy(path) for path in (name, f"linalg.{name}", theirs.get(name, name))]
        found = [function for function in found if callable(function) and not isinstance(function, type)]
        assert entry.family == "creation" or not found or any(function in COVERED for function in found), name


def test_every_name_of_the_tables_is_numpys():
    known = {name for name in (*NAMES, *MADE) if in_numpy(name) is not None}
    older = {"trapz"}
    assert {*NAMES, *MADE} - known <= older | ({*named(NEWER)} if np.__version__ < "2.4" else set())


# Operators: an array on the left, a Tensor on the right


BINARY = "add sub mul truediv floordiv mod pow lt le gt ge eq ne".split()
LEFT = [V, 2.0, 3, True, np.float64(1.5), np.int64(2), np.float32(0.5), np.arange(1, 5)]


@each("left", LEFT)
@each("name", BINARY)
def test_an_operator_with_a_tensor_on_the_right(name, left):
    apply, right = getattr(operator, name), np.array([0.7, 1.3, 2.0, 1.9])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = apply(left, right)
    result = apply(left, leaf(right))
    assert isinstance(result, ag.Tensor)
    assert result.node.recorded
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)


@each("exponent", [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0])
def test_an_array_to_the_power_of_a_number_keeps_the_graph(exponent):
    y = leaf(exponent)
    result = np.array([1.5, 2.5]) ** y
    assert isinstance(result, ag.Tensor)
    np.testing.assert_allclose(ag.grad(result.sum(), y).item(), (np.array([1.5, 2.5]) ** exponent) @ np.log([1.5, 2.5]))


def test_what_requires_grad_is_no_index():
    refuses(lambda: [1, 2, 3][leaf(1.0)], "as an index it has no derivative")
    assert [1, 2, 3][ag.tensor(1.0)] == 2


def test_a_matrix_times_a_vector():
    w = leaf(V)
    y = M @ w
    ag.sum(y).backward()
    np.testing.assert_allclose(y.numpy(), M @ V)
    np.testing.assert_allclose(w.grad.numpy(), M.sum(axis=0))


@each("name", "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor".split())
def test_an_array_is_not_written_with_a_tensor(name):
    array = np.ones(4, dtype=bool) if name in ("iand", "ior", "ixor") else np.ones(4)
    refuses(lambda: getattr(operator, name)(array, leaf(V)), "cannot write a Tensor into an array", kind="type")
    np.testing.assert_array_equal(array, np.ones(4))


def test_out_is_refused_by_name():
    out = np.ones(4)
    for name, call in {
        "np.add": lambda: np.add(1.0, leaf(V), out=out),
        "np.sum": lambda: np.sum(leaf(M), axis=0, out=out),
        "np.concatenate": lambda: np.concatenate((leaf(V),), out=out),
        "np.stack": lambda: np.stack((leaf(V),), out=out),
        "np.dot": lambda: np.dot(leaf(M), V, out=out),
    }.items():
        with pytest.raises(ag.AgradError, match=name):
            call()
    refuses(lambda: np.add(V, V, out=leaf(V)), r"np\.add cannot write")
    np.testing.assert_array_equal(out, np.ones(4))


def test_a_tensor_is_written_with_an_array():
    x = leaf(V)
    y = x * 2
    y += M[0]
    assert y.requires_grad
    np.testing.assert_allclose(y.numpy(), 2 * V + M[0])


def test_a_sum_that_began_as_a_number_of_numpys():
    x, s = leaf(2.0), np.float64(1.0)
    s += x
    assert isinstance(s, ag.Tensor)
    assert ag.grad(s, x).item() == 1


def test_a_tensor_of_a_matrix_product_in_place_is_refused_by_its_shape():
    refuses(lambda: np.matmul(leaf(V), M))


# What there is no counterpart for

DISPATCHED = {
    f"{path}{name}": function
    for path, room in (("np.", np), ("np.linalg.", np.linalg), ("np.fft.", np.fft))
    for name, function in sorted(vars(room).items())
    if type(function).__name__ == "_ArrayFunctionDispatcher"
}
UNKNOWN = {n: f for n, f in DISPATCHED.items() if f not in counterparts() and f not in describing()}
UFUNCS = {f"np.{name}": function for name, function in sorted(vars(np).items()) if isinstance(function, np.ufunc)}


@each("name", UNKNOWN)
def test_a_function_without_a_counterpart_is_refused_by_name(name):
    caught = refuses(lambda: leaf(V).__array_function__(UNKNOWN[name], (ag.Tensor,), (leaf(V),), {}))
    assert caught.message == f"{name} has no counterpart in agrad"
    assert caught.kind == "type"
    assert "x.detach().numpy()" in caught.fixes[-1]


@each("name", [name for name, function in UFUNCS.items() if function not in counterparts()])
def test_a_ufunc_without_a_counterpart_is_refused_by_name(name):
    caught = refuses(lambda: UFUNCS[name](*[leaf(V)] * UFUNCS[name].nin), "has no counterpart in agrad")
    assert f"np.{UFUNCS[name].__name__} " in caught.message


X = leaf(M)
OBJECTS = np.empty(2, dtype=object)
OBJECTS[0] = X[0, 0]
REFUSED = {
    "np.digitize": lambda: np.digitize(X[0], [0, 1]),
    "np.unique": lambda: np.unique(X),
    "np.percentile has no counterpart in agrad with method=": lambda: np.percentile(X, 30, method="nearest"),
    "np.interp has no counterpart in agrad with period=": lambda: np.interp(X[0], [0, 1], [0, 1], period=2),
    "np.pad with mode='mean'": lambda: np.pad(X, 1, mode="mean"),
    "np.max with where= needs initial=": lambda: np.max(X, where=M > 0),
    "np.multiply.at has no counterpart": lambda: np.multiply.at(X * 1, [0], 2.0),
    "np.copyto": lambda: np.copyto(np.zeros(3), X[0]),
    "np.fft.fft": lambda: np.fft.fft(X),
    "np.linalg.eig": lambda: np.linalg.eig(X @ X.T),
    "np.lib.stride_tricks.sliding_window_view": lambda: np.lib.stride_tricks.sliding_window_view(X, 2),
    "np.array": lambda: np.array([1.0], like=X),
    "np.zeros": lambda: np.zeros(2, like=X),
    "np.hypot.reduce has no counterpart in agrad with initial=": lambda: np.hypot.reduce(X, initial=1.0),
    "np.add.reduce has no counterpart in agrad with another dtype": lambda: np.add.reduce(X, dtype=int),
    "np.add.reduceat": lambda: np.add.reduceat(X, [0]),
    "np.add.at": lambda: np.add.at(np.zeros(4), [0], X[0, 0]),
    "np.sum has no counterpart in agrad with another dtype": lambda: np.sum(X, dtype=np.float32),
    "np.zeros_like has no counterpart in agrad with another dtype": lambda: np.zeros_like(X, dtype=bool),
    "np.add has no counterpart in agrad with where=": lambda: np.add(X, 1, where=M > 0),
    "np.add has no counterpart in agrad with another dtype": lambda: np.add(X, 1, dtype=np.float32),
    "np.matmul has no counterpart in agrad with axes=": lambda: np.matmul(X, X, axes=[(0, 1), (1, 0), (0, 1)]),
    "np.isclose has no counterpart in agrad with equal_nan=": lambda: np.isclose(X, X, equal_nan=True),
    "np.take has no counterpart in agrad with mode=": lambda: np.take(X, 9, mode="wrap"),
    "np.average has no counterpart in agrad with returned=": lambda: np.average(X, returned=True),
    "np.linalg.qr has no counterpart in agrad with mode=": lambda: np.linalg.qr(X, mode="complete"),
    "np.linalg.pinv has no counterpart in agrad with rcond=": lambda: np.linalg.pinv(X, rcond=0.1),
    "np.linalg.svd of a matrix that is not square": lambda: np.linalg.svd(X),
    "np.where of a condition alone": lambda: np.where(X > 0),
    "astype: all values are float64, not int64": lambda: X.astype("int64"),
    "& | ^ ~ need entries that are 0 or 1": lambda: X & X,
    "np.concatenate: an array of complex128": lambda: np.concatenate([np.array([[1j, 0, 0, 0]]), X]),
    "np.multiply: an array of complex128": lambda: np.array([1j, 1, 1, 1]) * X,
    "np.add: an array of object": lambda: np.add(OBJECTS, X[0, 0]),
}


@each("message", REFUSED)
def test_what_is_refused_is_named(message):
    caught = refuses(REFUSED[message])
    assert caught.kind == "type"
    assert caught.message.startswith(message)


def test_what_needs_complex_numbers_says_so():
    for call in (lambda: np.fft.rfft(X), lambda: np.fft.ifft(X), lambda: np.linalg.eig(X @ X.T)):
        with pytest.raises(ag.AgradError) as caught:
            call()
        assert caught.value.notes == ["agrad computes with real numbers alone"]


@each(
    "call",
    [
        lambda x: np.mean([x[0], x[1]]),
        lambda x: np.r_[x, 1.0],
        lambda x: np.c_[x, x],
        lambda x: np.array([x[0], 2.0]),
    ],
)
def test_what_numpy_makes_an_array_of_says_what_keeps_the_graph(call):
    caught = refuses(lambda: call(leaf(V)))
    assert any("np.mean(np.stack([x, y]))" in fix for fix in caught.fixes)
    assert any("np.concatenate for np.r_, np.column_stack for np.c_" in fix for fix in caught.fixes)


def test_arguments_that_change_nothing_are_taken():
    x = leaf(M)
    for y in (
        np.sum(x, axis=None, dtype=float, out=None),
        np.sum(x, dtype="float64", where=True),
        np.sort(x, kind="stable").sum(),
        np.add(x, 0.0, dtype=np.float64, where=True, out=None).sum(),
        np.reshape(x, -1, order="A").sum(),
        np.median(x, overwrite_input=True) * 0 + x.sum(),
    ):
        np.testing.assert_allclose(y.item(), M.sum())


def test_a_wrong_axis_is_agrads_own_error():
    for call in (lambda x: np.sum(x, axis=2), lambda x: np.swapaxes(x, 0, 5), lambda x: np.expand_dims(x, 4)):
        with pytest.raises(ag.AgradError) as caught:
            call(leaf(M))
        assert caught.value.kind == "shape"


class Foreign:
    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        return "theirs"

    def __array_function__(self, function, types, args, keywords):
        return "theirs"


def test_another_kind_of_array_has_its_say():
    assert np.add(leaf(V), Foreign()) == "theirs"
    assert np.concatenate([leaf(V), Foreign()]) == "theirs"


# Out of the graph, on purpose


def test_what_tells_something_about_an_array():
    x = leaf(M)
    assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 0)) == ((3, 4), 2, 12, 3)
    assert np.allclose(x, M) is True
    assert np.array_equal(x, M + 1) is False
    assert np.result_type(x, 1) == np.float64
    assert not np.iscomplexobj(x)
    assert np.array2string(leaf(2.0)) == "2."


def test_the_way_out_is_explicit():
    x = leaf(V)
    assert type(x.numpy()) is np.ndarray
    assert not x.numpy().flags.writeable
    assert x.tolist() == V.tolist()
    one = leaf(2.5)
    assert (one.item(), float(one), int(one), math.sqrt(one), np.float64(one)) == (2.5, 2.5, 2, math.sqrt(2.5), 2.5)
    entries, numbers = np.zeros(2), {}
    entries[0], numbers["one"] = float(one), one
    assert entries.tolist() == [2.5, 0]
    assert numbers["one"] is one


@each("x", [ag.tensor(V), leaf(V).detach(), leaf(V) > 0])
def test_what_does_not_require_grad_is_an_array_for_numpy(x):
    for array in (np.asarray(x), np.array(x), np.asarray(x, dtype=np.float32), np.asanyarray(x[0])):
        assert type(array) is np.ndarray
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    assert not np.asarray(x).flags.writeable
    before, copy, entries = x[0].item(), np.array(x), np.zeros(4)
    copy[0], entries[0], entries[1:] = 9.0, x[0], x[1:]
    assert x[0].item() == before
    np.testing.assert_array_equal(entries, x.data)


WITHOUT_ASKING = """
np.asarray(x); np.array(x); np.array(x, dtype=object); np.ascontiguousarray(x); np.float32(x); np.ma.array(x)
np.array([x, y]); np.array([x, y], dtype=float); np.array([x, y], dtype=object); np.array([[x], [y]]); np.asarray((y, x))
np.sum([x, y]); np.mean([x, y]); np.max((x, y)); np.sin([x, y]); np.add([x, y], 1); a * [x, x, x]; np.poly1d([x, y])
a.dot(x); a.searchsorted(x); a.take(x); a.put([0], x); k.choose([x, x, x]); np.r_[x, y]; np.c_[x, y]
np.full(3, x); np.arange(x); np.piecewise(a, [a > 0], [x]); np.vectorize(abs)(x); np.vectorize(lambda t: x)(a)
np.random.normal(x); np.random.default_rng(0).uniform(x, 9.0); list(np.nditer(x)); np.broadcast(x, a)
a[:] = x; a[...] = x; a[[0, 1]] = x; a[a > 0] = x; a[:2] = [x, y]; a.flat = x; m[0] = x; m[:, 0] = x; k[:] = x
a[0] = x; a[-1] = x; m[0, 0] = x; k[0] = x; z[0] = x; a[0], a[1] = x, 5.0
"""


@each("value", [0.5, [0.5], [0.5, 0.6, 0.7]])
@each("statement", WITHOUT_ASKING.replace("\n", "; ").strip("; ").split("; "))
def test_numpy_never_makes_a_plain_array_of_what_requires_grad(statement, value):
    x, y = leaf(value), leaf(value)
    x.name = y.name = "x"
    arrays = {"a": np.ones(3), "m": np.ones((3, 3)), "k": np.ones(3, dtype=int), "z": np.ones(3, dtype=complex)}
    with pytest.raises((ag.AgradError, ValueError)) as caught:
        exec(statement, {"np": np, "x": x, "y": y, **arrays})
    error = caught.value if isinstance(caught.value, ag.AgradError) else caught.value.__cause__
    assert error.kind == "type"
    assert error.message.startswith("x requires grad: ")
    assert "for the value alone" in error.fixes[0]
    assert all((array == 1).all() for array in arrays.values())


def test_the_entry_of_an_iterator_is_not_written():
    a = np.ones(3)
    with pytest.raises(ValueError, match="Error setting single item of array"):  # NumPy drops what was raised
        a.flat[0] = leaf(0.5)
    assert (a == 1).all()


def test_what_is_computed_into_an_entry_is_refused():
    a = np.ones(3)
    with pytest.raises(ValueError, match="setting an array element") as caught:
        a[0] += 2 * leaf(0.5)
    assert caught.value.__cause__.message.startswith("a result of Add requires grad")
    assert (a == 1).all()


def test_the_fixes_keep_the_graph():
    x, y, a = leaf(0.5), leaf([0.5, 0.6]), np.array([1.0, 2.0])
    assert ag.stack([x, x]).requires_grad
    assert np.dot(a, y).requires_grad
    written = ag.zeros(2)
    written[0] = x
    assert written.requires_grad
    assert written.tolist() == [0.5, 0]


# What arrays have and a plain function may ask for


def test_masks():
    x = leaf(M)
    inside = (x > -1) & (x < 1) | np.array([True, False, False, False])
    np.testing.assert_array_equal(x[inside].numpy(), M[((M > -1) & (M < 1)) | np.array([True, False, False, False])])
    np.testing.assert_array_equal(
        x[~inside].numpy(), M[~(((M > -1) & (M < 1)) | np.array([True, False, False, False]))]
    )
    np.testing.assert_array_equal(
        (np.array([True, False, True, False]) & (x > 0)).numpy(), np.array([1, 0, 1, 0]) * (M > 0)
    )


@each(
    "name",
    ["erf", "erfc", "gamma", "gammaln", "psi", "expit", "log_expit", "ndtr", "j0", "j1", "i0", "rgamma", "gammasgn"],
)
def test_functions_of_scipy(name):
    special = pytest.importorskip("scipy.special")
    function = getattr(special, name)
    x = leaf(POSITIVE)
    y = function(x)
    np.testing.assert_allclose(y.numpy(), function(POSITIVE), rtol=1e-12)
    difference = (function(POSITIVE + 1e-6) - function(POSITIVE - 1e-6)) / 2e-6
    np.testing.assert_allclose(ag.grad(y.sum(), x).numpy(), difference, rtol=1e-6, atol=1e-6)


def test_a_function_of_scipy_without_a_counterpart():
    special = pytest.importorskip("scipy.special")
    refuses(lambda: special.ellipk(leaf(POSITIVE)), "ellipk has no counterpart")


# Whole functions, as they are written for NumPy, against HIPS autograd


def least_squares(np, w):
    residual = np.dot(M, w) - np.array([1.0, 2.0, -0.5])
    return np.sum(residual**2) / 2 + 0.1 * np.linalg.norm(w) ** 2


def logistic_regression(np, w):
    signs = np.array([1.0, -1.0, 1.0])
    return -np.mean(np.log(1 / (1 + np.exp(-signs * (M @ w)))))


def cross_entropy(np, w):
    logits = np.reshape(w, (2, 2)) @ M[:2]
    logits = logits - np.max(logits, axis=0, keepdims=True)
    softmax = np.exp(logits) / np.sum(np.exp(logits), axis=0)
    return -np.sum(np.log(softmax[np.array([0, 1, 1, 0]), np.arange(4)]))


def network(np, w):
    hidden = np.tanh(np.outer(np.linspace(-1, 1, 7), w) + w[::-1])
    features = np.concatenate((hidden, np.ones((7, 1))), axis=1)
    output = np.where(features > 0, features, 0.01 * features).mean(axis=0)
    return np.var(output) + np.einsum("i,i->", output, output) - np.prod(np.clip(w, -1, 1))


def gaussian_process(np, w):
    place = np.arange(5.0)
    distance = (place[:, None] - place[None, :]) ** 2
    kernel = np.exp(w[0]) * np.exp(-distance * np.exp(w[1])) + np.exp(w[2]) * np.eye(5)
    rest = np.sin(place) - w[3]
    return 0.5 * np.dot(rest, np.linalg.solve(kernel, rest)) + 0.5 * np.linalg.slogdet(kernel)[1]


def pendulum(np, w):
    angle, speed = w[0], w[1]
    path = []
    for _ in range(20):
        speed = speed - 0.1 * (np.sin(angle) + 0.2 * np.abs(w[2]) * speed)
        angle = angle + 0.1 * speed
        path.append(angle)
    return np.sum(np.stack(path) * np.hstack([w, w, w, w, w]))


FUNCTIONS_OF_W = [least_squares, logistic_regression, cross_entropy, network, gaussian_process, pendulum]


@each("function", FUNCTIONS_OF_W)
def test_a_plain_numpy_function_is_differentiable_unchanged(function):
    w = leaf(V)
    y = function(np, w)
    y.backward()
    np.testing.assert_allclose(y.item(), function(np, V), rtol=1e-12)
    np.testing.assert_allclose(w.grad.numpy(), autograd.grad(lambda w: function(anp, w))(V), rtol=1e-10, atol=1e-12)


@each("function", FUNCTIONS_OF_W[:3] + FUNCTIONS_OF_W[4:])
def test_its_second_derivatives_too(function):
    ours = ag.hessian(function(np, w := leaf(V)), w)
    theirs = autograd.hessian(lambda w: function(anp, w))(V)
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-8, atol=1e-10)


# What it costs


def test_numpy_is_not_loaded_before_the_first_array():
    code = """
import sys
import agrad.engine as ag
x = ag.tensor(2.0, requires_grad=True)
(ag.sin(x) * x + 1).backward()
assert "numpy" not in sys.modules
assert "agrad.engine.interop.numpy_functions" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_quantiles_of_nan_are_nan():
    x = leaf(np.array([[1.0, np.nan], [3.0, 4.0]]))
    np.testing.assert_array_equal(np.quantile(x, 0.5, axis=0).numpy(), [2.0, np.nan])
    np.testing.assert_array_equal(np.nanquantile(x, 0.5, axis=0).numpy(), [2.0, 4.0])
    assert np.isnan(np.nanmedian(leaf(np.array([np.nan, np.nan]))).numpy())
    with pytest.raises(ag.AgradError, match="all entries along an axis are nan"):
        np.nanargmax(leaf(np.array([[np.nan, np.nan], [1.0, 2.0]])), axis=1)


def test_the_methods_of_ufuncs_write_into_tensors_alone():
    refuses(lambda: np.add.at(np.zeros(4), [0], leaf(1.0)), "cannot write a Tensor into an array")
