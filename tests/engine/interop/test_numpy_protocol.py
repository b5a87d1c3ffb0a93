"""NumPy's own functions on Tensors: the same values as on arrays, and the derivatives of what NumPy computes.

The derivatives are held against differences of NumPy's results, so that nothing of agrad is on that side.
"""

import contextlib
import math
import operator
import subprocess
import sys
import warnings

import numpy as np
import pytest
from refused import leaf
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

ENTRY_BY_ENTRY = {
    "exp exp2 expm1 sin cos tan sinh cosh tanh arcsinh arctan square absolute fabs negative positive conjugate sign cbrt": V,
    "floor ceil trunc rint fix degrees radians deg2rad rad2deg sinc i0 real copy isnan isfinite isinf logical_not": V,
    "log log2 log10 log1p sqrt reciprocal": POSITIVE,
    "arcsin arccos arctanh": UNIT,
    "arccosh": ABOVE_1,
}
CASES = {
    **{name: (getattr(np, name), x) for names, x in ENTRY_BY_ENTRY.items() for name in names.split()},
    **{
        name: (getattr(np, name), M, W)
        for name in """add subtract multiply divide floor_divide remainder fmod maximum minimum fmax fmin hypot arctan2
                       logaddexp logaddexp2 equal not_equal less less_equal greater greater_equal logical_and
                       logical_or logical_xor divmod isclose""".split()
    },
    "power": (np.power, N, W),
    "float_power": (np.float_power, N, W),
    "matmul": (np.matmul, M, W),
    "matmul of batches": (np.matmul, C, M.T),
    "bitwise_and": (lambda x, y: x * ((x > 0) & (y > 0)), M, W),
    "bitwise_or": (lambda x, y: x * ((x > 0) | (y > 0)), M, W),
    "bitwise_xor": (lambda x, y: x * ((x > 0) ^ (y > 0)), M, W),
    "invert": (lambda x: x[~(x > 0)], M),
    "fmax of nan": (lambda x: np.fmax(x, [0.5, np.nan, -2.0, 3.0]), V),
    "fmin of nan": (lambda x: np.fmin([0.5, np.nan, -2.0, 3.0], x), V),
    "round": (lambda x: np.round(x, decimals=1), M),
    "around": (lambda x: np.around(x, 1), M),
    "gcd": (lambda x: x * np.gcd(_whole(x), 6), M),
    "lcm": (lambda x: x * np.lcm(_whole(x), [2, 3, 4, 5]), M),
    # Choices
    "where": (lambda x, y: np.where(x > y, x * 2, y), M, W),
    "where of an array": (lambda x: np.where(np.array([True, False, True, False]), x, 1), V),
    "select": (lambda x: np.select([x > 1, x > 0], [x**2, x], -1.0), M),
    "clip": (lambda x: np.clip(x, -0.5, 1.0), M),
    "clip by name": (lambda x, y: np.clip(x, a_min=None, a_max=y), M, W),
    "nan_to_num": (lambda x: np.nan_to_num(x * GAPS, nan=1.0, posinf=2.0), V),
    "argmax": (lambda x: x[:, np.argmax(x[0])], M),
    "argmin": (lambda x: np.argmin(x, axis=1, keepdims=True), M),
    "argsort": (lambda x: x[np.argsort(x)], V),
    "argsort along an axis": (lambda x: np.argsort(x, 0, kind="stable"), M),
    "sort": (lambda x: np.sort(x, axis=0), M),
    "isclose with tolerances": (lambda x: np.isclose(x, [0.7, -1.2001, np.inf, np.nan], rtol=1e-3, atol=0), V),
    # Reductions
    "sum": (lambda x: np.sum(x, axis=0), M),
    "sum by position": (lambda x: np.sum(x, (0, 2), None, None, True), C),
    "sum of all": (np.sum, M),
    "prod": (lambda x: np.prod(x, axis=-1), M),
    "mean": (lambda x: np.mean(x, axis=1, keepdims=True), M),
    "var": (lambda x: np.var(x, 0, ddof=1), M),
    "std": (lambda x: np.std(x, axis=(0, 1)), M),
    "max": (lambda x: np.max(x, axis=1), M),
    "amax": (lambda x: np.amax(x, 0), M),
    "min": (lambda x: np.min(x), M),
    "amin": (lambda x: np.amin(x, 1, keepdims=True), M),
    "ptp": (lambda x: np.ptp(x, axis=1), M),
    "any": (lambda x: x * np.any(x > 1.5, axis=0), M),
    "all": (lambda x: x * np.all(x > -1.4, axis=1, keepdims=True), M),
    "count_nonzero": (lambda x: np.count_nonzero(x > 0, axis=1) * x[:, 0], M),
    "median": (lambda x: np.median(x, axis=1), M),
    "average": (lambda x: np.average(x, axis=0), M),
    "average with weights": (lambda x, w: np.average(x, axis=-1, weights=w**2), M, W),
    "average with weights of all": (lambda x, w: np.average(x, weights=w), M, N),
    "cumsum": (lambda x: np.cumsum(x, axis=1), M),
    "cumsum of all": (np.cumsum, M),
    "cumprod": (lambda x: np.cumprod(x, 0), M),
    "diff": (lambda x: np.diff(x, n=2, axis=1), M),
    "polyval": (lambda p, x: np.polyval(p, x), V, W),
    # Shapes
    "reshape": (lambda x: np.reshape(x, (2, -1)), M),
    "reshape by columns": (lambda x: np.reshape(x, (2, -1), order="F"), C),
    "ravel": (np.ravel, M),
    "ravel by columns": (lambda x: np.ravel(x, order="F"), M),
    "transpose": (np.transpose, C),
    "transpose in an order": (lambda x: np.transpose(x, (1, 2, 0)), C),
    "transpose in the order that it has": (lambda x: np.transpose(x, (0, 1)), M),
    "swapaxes": (lambda x: np.swapaxes(x, 0, -1), C),
    "moveaxis": (lambda x: np.moveaxis(x, 0, -1), C),
    "moveaxis of several": (lambda x: np.moveaxis(x, [0, 1], [-1, -2]), C),
    "expand_dims": (lambda x: np.expand_dims(x, 1), M),
    "expand_dims of several": (lambda x: np.expand_dims(x, (0, -1)), M),
    "squeeze": (lambda x: np.squeeze(x[None, :, None]), M),
    "atleast_1d": (lambda x: np.atleast_1d(x[0], x), V),
    "atleast_2d": (lambda x: np.atleast_2d(x[0], x, x[:, None]), V),
    "atleast_3d": (lambda x: np.atleast_3d(x[0, 0], x[0], x), M),
    "broadcast_to": (lambda x: np.broadcast_to(x, (2, 3, 4)), M),
    "broadcast_arrays": (lambda x, y: np.broadcast_arrays(x, y, 1.0), M, W),
    "tile": (lambda x: np.tile(x, (2, 1)), M),
    "repeat": (lambda x: np.repeat(x, [1, 0, 2], axis=0), M),
    "repeat of each": (lambda x: np.repeat(x, 2), M),
    "roll": (lambda x: np.roll(x, 1, axis=1), M),
    "flip": (lambda x: np.flip(x, 1), M),
    "fliplr": (np.fliplr, M),
    "flipud": (np.flipud, M),
    "concatenate": (lambda x, y: np.concatenate((x, y[None], np.ones((1, 4))), axis=0), M, W),
    "concatenate of all": (lambda x, y: np.concatenate([x, y], axis=None), M, W),
    "append": (lambda x, y: np.append(x, y), M, W),
    "append along an axis": (lambda x: np.append([[1.0, 2, 3, 4]], x, axis=0), M),
    "stack": (lambda x, y: np.stack([x, y, np.ones(4)], axis=1), V, W),
    "hstack": (lambda x, y: np.hstack([x, y]), M, N),
    "hstack of numbers": (lambda x: np.hstack([x[0], x, 2.0]), V),
    "vstack": (lambda x, y: np.vstack((x, y)), M, W),
    "dstack": (lambda x, y: np.dstack((x, y)), M, N),
    "column_stack": (lambda x, y: np.column_stack((x, y, N.T)), V, W),
    "block": (lambda x: np.block([[x, np.zeros((3, 3))], [np.zeros((3, 3)), 2 * x]]), S),
    "block of a row": (lambda x: np.block([x, 1.0, x[0]]), V),
    "split": (lambda x: np.split(x, 2, axis=1), M),
    "split at places": (lambda x: np.split(x, [1, 3]), V),
    "array_split": (lambda x: np.array_split(x, 3), V),
    "array_split at places": (lambda x: np.array_split(x, [1], axis=1), M),
    "hsplit": (lambda x: np.hsplit(x, 2), M),
    "hsplit of a vector": (lambda x: np.hsplit(x, 2), V),
    "vsplit": (lambda x: np.vsplit(x, 3), M),
    "dsplit": (lambda x: np.dsplit(x, 2), C),
    "take": (lambda x: np.take(x, [0, 2, 2], axis=1), M),
    "take of all": (lambda x: np.take(x, [[0, 2], [-1, 5]]), M),
    "take_along_axis": (lambda x: np.take_along_axis(x, np.array([[0, 0], [3, 1], [1, 1]]), axis=1), M),
    "diag": (lambda x: np.diag(x, k=1), V),
    "diag of a matrix": (lambda x: np.diag(x), M),
    "diagonal": (lambda x: np.diagonal(x, offset=1, axis1=2, axis2=1), C),
    "tril": (lambda x: np.tril(x, -1), M),
    "triu": (np.triu, M),
    "zeros_like": (lambda x: x + np.zeros_like(x), M),
    "zeros_like to write into": (lambda x: _running(np.zeros_like(x), x), V),
    "empty_like": (lambda x: _running(np.empty_like(x, shape=(4,)), x), V),
    "ones_like": (lambda x: x[0] + np.ones_like(x, shape=2), V),
    "full_like": (lambda x: np.full_like(x, x[0, 0]), M),
    "full_like of a number": (lambda x: np.full_like(x, -0.0), V),
    "linspace": (lambda x: np.linspace(x[0], x[1], 5), V),
    "linspace without its end": (lambda x: np.linspace(0, x, 4, endpoint=False), V),
    # Products
    "dot": (np.dot, M, W),
    "dot of stacks": (lambda x, y: np.dot(x, y.T), C, M),
    "inner": (np.inner, M, W),
    "inner with a number": (lambda x: np.inner(2.0, x), V),
    "vdot": (lambda x, y: np.vdot(x, y), M, N),
    "outer": (lambda x: np.outer(x, [1.0, 2.0]), M),
    "kron": (np.kron, S, M),
    "trace": (np.trace, S),
    "trace of a batch": (lambda x: np.trace(x, 1, 1, 2), B),
    "tensordot": (lambda x, y: np.tensordot(x, y), M, N),
    "tensordot over axes": (lambda x, y: np.tensordot(x, y, axes=([2, 1], [1, 0])), C, M),
    "tensordot over none": (lambda x, y: np.tensordot(x, y, axes=0), V, W),
    "cross": (lambda x: np.cross(x, [1.0, 2.0, 3.0]), S),
    "einsum": (lambda x, y: np.einsum("ij,j->i", x, y), M, W),
    "einsum of three": (lambda x, y: np.einsum("ij,kj,j", x, x, y, optimize=True), M, W),
    # Rows and columns put in, and taken out
    "imag": (lambda x: x + np.imag(x), M),
    "angle": (lambda x: x + np.angle(x, deg=True), M),
    "real_if_close": (np.real_if_close, M),
    "isreal": (lambda x: x * np.isreal(x), M),
    "iscomplex": (lambda x: x * np.iscomplex(x), M),
    "rollaxis": (lambda x: np.rollaxis(x, 2), C),
    "rollaxis to a place": (lambda x: np.rollaxis(x, 0, -1), C),
    "pad": (lambda x: np.pad(x, 1), M),
    "pad with constants": (lambda x, c: np.pad(x, [(1, 2), (0, 1)], constant_values=((0.5, c[0]), (2.0, 1.0))), M, V),
    "pad with the edge": (lambda x: np.pad(x, (1, 2), mode="edge"), M),
    "pad by reflection": (lambda x: np.pad(x, ((2, 1), (3, 2)), "reflect"), M),
    "pad symmetrically": (lambda x: np.pad(x, 2, mode="symmetric"), M),
    "pad around": (lambda x: np.pad(x, 3, "wrap"), M),
    "insert": (lambda x, y: np.insert(x, 1, y[0], axis=1), M, W),
    "insert a row": (lambda x, y: np.insert(x, 2, y, axis=0), M, W),
    "insert several": (lambda x, y: np.insert(x, [0, 2, 2], y[:3]), V, W),
    "insert columns": (lambda x, y: np.insert(x, [1], y[:3, None], axis=1), M, V),
    "insert several columns": (lambda x: np.insert(x, [1, 3], 7.0, axis=1), M),
    "insert by a slice": (lambda x: np.insert(x, slice(0, 3, 2), x[:2]), V),
    "insert of all": (lambda x: np.insert(x, 5, x[0]), M),
    "delete": (lambda x: np.delete(x, 1, axis=1), M),
    "delete several": (lambda x: np.delete(x, [0, -1]), M),
    "delete by a slice": (lambda x: np.delete(x, slice(None, None, 2), axis=1), M),
    "delete by a mask": (lambda x: np.delete(x, np.array([True, False, False, True])), V),
    "rot90": (np.rot90, M),
    "rot90 twice": (lambda x: np.rot90(x, 2), M),
    "rot90 back": (lambda x: np.rot90(x, -1, axes=(1, 2)), C),
    "rot90 from the last axis": (lambda x: np.rot90(x, axes=(2, 0)), C),
    "meshgrid": (lambda x, y: np.meshgrid(x, y[:3]), V, W),
    "meshgrid by rows": (lambda x, y: np.meshgrid(x, y[:3], x[:2], indexing="ij"), V, W),
    "meshgrid of three": (lambda x, y: np.meshgrid(x, y[:3], x[:2]), V, W),
    "meshgrid sparse": (lambda x, y: np.meshgrid(x, y[:3], sparse=True), V, W),
    # Differences and samples
    "diff with ends": (lambda x, y: np.diff(x, prepend=y[:3, None], append=0.5), M, V),
    "diff along an axis with ends": (lambda x: np.diff(x, n=2, axis=0, prepend=x[:1] ** 2), M),
    "gradient": (np.gradient, V),
    "gradient of a matrix": (np.gradient, M),
    "gradient with distances": (lambda x: np.gradient(x, 0.5, 2.0), M),
    "gradient over places": (lambda x, y: np.gradient(x, np.cumsum(y**2 + 0.5), axis=1), M, W),
    "gradient of second order": (lambda x: np.gradient(x, 0.5, axis=0, edge_order=2), M),
    "gradient of second order over places": (
        lambda x, y: np.gradient(x, np.cumsum(y**2 + 0.5), axis=-1, edge_order=2),
        M,
        W,
    ),
    "gradient along axes": (lambda x: np.gradient(x, axis=(2, 0)), C),
    "convolve": (lambda x, y: np.convolve(x, y[:3]), V, W),
    "convolve by modes": (
        lambda x, y: [np.convolve(x[:m], y[:n], mode) for m in (1, 2, 3, 4) for n in (1, 2, 3, 4) for mode in MODES],
        V,
        W,
    ),
    "correlate": (lambda x, y: np.correlate(x, y[:3]), V, W),
    "correlate by modes": (
        lambda x, y: [np.correlate(x[:m], y[:n], mode) for m in (1, 2, 3, 4) for n in (1, 2, 3, 4) for mode in MODES],
        V,
        W,
    ),
    "interp": (lambda x, y, f: np.interp(x, np.cumsum(y**2) - 1.05, f), M, W, V),
    "interp of a number": (lambda x, f: np.interp(x[0], [0.0, 1.0, 2.0, 3.0], f), V, W),
    "interp with ends": (lambda x: np.interp(x, [-0.5, 0.0, 0.9], [1.0, 5.0, -2.0], left=-1.0, right=7.0), V),
    "interp at one place": (lambda x, f: np.interp(x, [0.5], f[:1]), V, W),
    # Statistics
    "quantile": (lambda x: np.quantile(x, 0.3), M),
    "quantile of several": (lambda x: np.quantile(x, [0.0, 0.4, 0.5, 1.0], axis=1), M),
    "quantile over axes": (lambda x: np.quantile(x, [[0.1], [0.7]], axis=(0, 2), keepdims=True), C),
    "percentile": (lambda x: np.percentile(x, 35, axis=0), M),
    "nanquantile": (lambda x: np.nanquantile(x + HOLES, 0.3), M),
    "nanquantile of several": (lambda x: np.nanquantile(x + HOLES, [0.2, 0.7], axis=1, keepdims=True), M),
    "nanpercentile": (lambda x: np.nanpercentile(x + HOLES, [20, 100], axis=0), M),
    "nanmedian": (lambda x: np.nanmedian(x + HOLES, axis=1), M),
    "nanmedian of all": (lambda x: np.nanmedian(x + HOLES), M),
    "nansum": (lambda x: np.nansum(x + HOLES, axis=1), M),
    "nanmean": (lambda x: np.nanmean(x + HOLES, axis=0), M),
    "nanprod": (lambda x: np.nanprod(x + HOLES, axis=1), M),
    "nanmax": (lambda x: np.nanmax(x + HOLES, axis=0), M),
    "nanmin": (lambda x: np.nanmin(x + HOLES, keepdims=True), M),
    "nanvar": (lambda x: np.nanvar(x + HOLES, axis=1, ddof=1), M),
    "nanstd": (lambda x: np.nanstd(x + HOLES, axis=0), M),
    "nancumsum": (lambda x: np.nancumsum(x + HOLES), M),
    "nancumprod": (lambda x: np.nancumprod(x + HOLES, axis=1), M),
    "nanargmax": (lambda x: x[0] * np.nanargmax(x + HOLES, axis=0), M),
    "nanargmin": (lambda x: x * np.nanargmin(x + HOLES), M),
    "cov": (np.cov, M),
    "cov of two": (lambda x, y: np.cov(x, y, bias=True), V, W),
    "cov of columns": (lambda x: np.cov(x, rowvar=False, ddof=0), M),
    "cov of a vector": (np.cov, V),
    "corrcoef": (np.corrcoef, M),
    "corrcoef of two": (lambda x, y: np.corrcoef(x, y), V, W),
    "corrcoef of a vector": (np.corrcoef, V),
    "copysign": (np.copysign, M, W),
    "heaviside": (np.heaviside, M, W),
    "heaviside at 0": (lambda x, y: np.heaviside(x * [1.0, 0.0, 1.0, 1.0], y), V, W),
    "partition": (lambda x: np.sort(np.partition(x, 1, axis=0), axis=0), M),
    "argpartition": (lambda x: x[np.argpartition(x, 3)[3]], V),
    # What reductions are given besides
    "sum from a number": (lambda x: np.sum(x, axis=0, initial=2.5), M),
    "sum of some": (lambda x: np.sum(x, axis=1, where=M > 0.3), M),
    "prod of some": (lambda x: np.prod(x, initial=3.0, where=[True, False, True, True]), M),
    "max from a number": (lambda x: np.max(x, axis=1, initial=1.0), M),
    "max of some": (lambda x: np.max(x, axis=0, where=M < 0.5, initial=-9.0, keepdims=True), M),
    "amin of some": (lambda x: np.amin(x, where=M > 0.0, initial=9.0), M),
    "mean of some": (lambda x: np.mean(x, axis=1, where=M > 0.0), M),
    "mean of some columns": (lambda x: np.mean(x, where=[True, False, True, True]), M),
    "var of some": (lambda x: np.var(x, axis=1, where=M > 0.0, ddof=1), M),
    "std of some": (lambda x: np.std(x, where=M > 0.0), M),
    "any of some": (lambda x: x[0] * np.any(x > 1.0, axis=1, where=M < 1.5)[0], M),
    "all of some": (lambda x: x * np.all(x > -2.0, where=M < 1.5), M),
    # The methods of ufuncs
    "add.reduce": (np.add.reduce, M),
    "add.reduce over axes": (lambda x: np.add.reduce(x, axis=(0, 2), keepdims=True), C),
    "multiply.reduce": (lambda x: np.multiply.reduce(x, axis=None, initial=2.0), M),
    "maximum.reduce": (lambda x: np.maximum.reduce(x, axis=1), M),
    "minimum.reduce": (np.minimum.reduce, M),
    "logical_and.reduce": (lambda x: x * np.logical_and.reduce(x > -1.0), M),
    "logical_or.reduce": (lambda x: x * np.logical_or.reduce(x > 1.0), M),
    "subtract.reduce": (lambda x: np.subtract.reduce(x, axis=1, keepdims=True), M),
    "logaddexp.reduce": (np.logaddexp.reduce, M),
    "hypot.reduce": (lambda x: np.hypot.reduce(x), V),
    "add.accumulate": (np.add.accumulate, M),
    "multiply.accumulate": (lambda x: np.multiply.accumulate(x, axis=1), M),
    "maximum.accumulate": (lambda x: np.maximum.accumulate(x, axis=1), M),
    "multiply.outer": (np.multiply.outer, M, W),
    "subtract.outer": (np.subtract.outer, V, M),
    "add.at": (lambda x, y: _added(np.add, x, y), V, W),
    "subtract.at": (lambda x, y: _added(np.subtract, x, y), V, W),
    # Products of vectors
    "cross along an axis": (lambda x, y: np.cross(x, y, axis=0), M, N),
    "cross of pairs": (lambda x, y: np.cross(x[:, :2], y[:2]), M, W) if np.__version__ < "2" else (np.cross, S, S.T),
    "cross along axes": (lambda x, y: np.cross(x, y[:3], axisa=0, axisc=0), M, W),
    "einsum by lists": (lambda x, y: np.einsum(x, [0, 1], y, [1], [0]), M, W),
    "einsum by lists without a result": (lambda x: np.einsum(x, [0, 0]), S),
    "einsum by lists of more axes": (lambda x: np.einsum(x, [..., 1, 0], [..., 0, 1]), C),
    # Real Fourier transforms
    "fft.irfft": (np.fft.irfft, V),
    "fft.irfft of an odd number": (lambda x: np.fft.irfft(x, 5, axis=0), M),
    "fft.irfft of more": (lambda x: np.fft.irfft(x, 11, norm="ortho"), V),
    "fft.hfft": (np.fft.hfft, M),
    "fft.hfft forward": (lambda x: np.fft.hfft(x, 3, norm="forward"), V),
    "fft.fftshift": (np.fft.fftshift, M),
    "fft.ifftshift": (lambda x: np.fft.ifftshift(x, axes=0), M),
    # Linear algebra
    "linalg.eigh of a triangle": (lambda x: np.linalg.eigh(x)[0], S),
    "linalg.eigh of the other triangle": (lambda x: np.linalg.eigh(x, "U").eigenvectors ** 2, B),
    "linalg.eigvalsh of a triangle": (lambda x: np.linalg.eigvalsh(x, UPLO="U"), S),
    "linalg.cholesky of a triangle": (np.linalg.cholesky, S),
    "linalg.inv": (np.linalg.inv, S),
    "linalg.inv of a batch": (np.linalg.inv, B),
    "linalg.det": (np.linalg.det, S),
    "linalg.slogdet": (lambda x: np.linalg.slogdet(x).logabsdet, B),
    "linalg.solve": (np.linalg.solve, S, M),
    "linalg.matrix_power": (lambda x: np.linalg.matrix_power(x, 3), S),
    "linalg.multi_dot": (lambda x, y: np.linalg.multi_dot([x, x, y]), S, M),
    "linalg.norm": (np.linalg.norm, M),
    "linalg.norm of rows": (lambda x: np.linalg.norm(x, axis=1, keepdims=True), M),
    "linalg.norm of columns": (lambda x: np.linalg.norm(x, 1), M),
    "linalg.norm of axes": (lambda x: np.linalg.norm(x, 1, axis=(2, 0)), C),
    "linalg.norm of other axes": (lambda x: np.linalg.norm(x, np.inf, (0, 2), keepdims=True), C),
    "linalg.norm of singular values": (lambda x: np.linalg.norm(x, "nuc"), M),
    "linalg.cholesky": (lambda x: np.linalg.cholesky(x @ x.T), S),
    "linalg.eigh": (lambda x: np.linalg.eigh(x + x.T)[0], S),
    "linalg.eigh's vectors": (lambda x: np.linalg.eigh(x + x.T).eigenvectors ** 2, S),
    "linalg.eigvalsh": (lambda x: np.linalg.eigvalsh(x @ x.T), S),
    "linalg.svd": (lambda x: np.linalg.svd(x).S, S),
    "linalg.svd of an oblong": (lambda x: np.abs(np.linalg.svd(x, full_matrices=False)[2]), M),
    "linalg.svd's values": (lambda x: np.linalg.svd(x, compute_uv=False), M),
    "linalg.qr": (lambda x: np.linalg.qr(x).R ** 2, S),
    "linalg.pinv": (np.linalg.pinv, M),
    "linalg.lstsq": (lambda x, y: np.linalg.lstsq(x, y, rcond=None)[:2], M.T, W),
    "linalg.lstsq of several": (lambda x, y: np.linalg.lstsq(x, y, rcond=None), M.T, N.T),
    "linalg.lstsq of too few": (lambda x, y: np.linalg.lstsq(x, y, rcond=None), M, M),
}
# What older versions of NumPy do not have.
NEWER = {
    "astype": lambda: (lambda x: np.astype(x, np.float64), M),
    "unstack": lambda: (lambda x: np.unstack(x, axis=1), C),
    "cumulative_sum": lambda: (lambda x: np.cumulative_sum(x, axis=1), M),
    "cumulative_prod": lambda: (lambda x: np.cumulative_prod(x, axis=0), M),
    "matrix_transpose": lambda: (np.matrix_transpose, C),
    "vecdot": lambda: (np.vecdot, M, W),
    "matvec": lambda: (np.matvec, C, W),
    "vecmat": lambda: (np.vecmat, M[:, 0], C),
    "trapezoid": lambda: (lambda y: np.trapezoid(y, dx=0.5), M),
    "trapezoid over places": lambda: (lambda y, x: np.trapezoid(y, x, axis=0), M, V[:3]),
    "trapz": lambda: (_quiet_trapz, M, N),
    "linalg.matmul": lambda: (np.linalg.matmul, M, W),
    "linalg.outer": lambda: (np.linalg.outer, V, W),
    "linalg.diagonal": lambda: (lambda x: np.linalg.diagonal(x, offset=1), B),
    "linalg.trace": lambda: (np.linalg.trace, B),
    "linalg.cross": lambda: (lambda x: np.linalg.cross(x, [1.0, 2.0, 3.0]), S),
    "linalg.vecdot": lambda: (lambda x, y: np.linalg.vecdot(x, y, axis=0), M, N),
    "linalg.tensordot": lambda: (np.linalg.tensordot, M, N),
    "linalg.matrix_transpose": lambda: (np.linalg.matrix_transpose, C),
    "linalg.matrix_norm": lambda: (lambda x: np.linalg.matrix_norm(x, ord=1), B),
    "linalg.vector_norm": lambda: (lambda x: np.linalg.vector_norm(x, keepdims=True), M),
    "linalg.vector_norm along an axis": lambda: (lambda x: np.linalg.vector_norm(x, axis=0, ord=3), M),
    "linalg.svdvals": lambda: (np.linalg.svdvals, M),
}


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


def _added(ufunc, x, y):
    changed = x * 1.0
    ufunc.at(changed, [0, 2, 0, 3], y)
    return changed


def _running(into, x):
    for place in range(len(x)):
        into[place] = x[place] ** 2 + (into[place - 1] if place else 0.0)
    return into


for name, case in NEWER.items():
    if in_numpy(name.split()[0].removesuffix("'s")) is not None:
        CASES[name] = case()


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


@each("name", CASES)
def test_value_and_gradient(name):
    function, *xs = CASES[name]
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


@each("name", CASES, short=4)
def test_second_derivatives(name):
    """Those in one direction, against differences of the first."""
    function, *xs = CASES[name]
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


def words():
    return {name.split()[0].removesuffix("'s") for name in CASES}


def test_every_counterpart_has_a_case():
    covered = {in_numpy(name) for name in words()}
    missing = {getattr(function, "__name__", function) for function in counterparts() if function not in covered}
    assert missing == set()


def test_every_function_that_numpy_has_is_covered():
    theirs = {ours: name for name, ours in NAMES.items()}
    covered = {in_numpy(name) for name in words()}
    for name, entry in FUNCTIONS.items():
        found = [in_numpy(path) for path in (name, f"linalg.{name}", theirs.get(name, name))]
        found = [function for function in found if callable(function) and not isinstance(function, type)]
        assert entry.family == "creation" or not found or any(function in covered for function in found), name


def test_every_name_of_the_tables_is_numpys():
    known = {name for name in (*NAMES, *MADE) if in_numpy(name) is not None}
    older = {"trapz"}
    assert {*NAMES, *MADE} - known <= older | ({*NEWER} if np.__version__ < "2.4" else set())


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
    with pytest.raises(ag.AgradError, match="as an index it has no derivative"):
        [1, 2, 3][leaf(1.0)]
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
    with pytest.raises(ag.AgradError, match="cannot write a Tensor into an array") as caught:
        getattr(operator, name)(array, leaf(V))
    assert caught.value.kind == "type"
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
    with pytest.raises(ag.AgradError, match=r"np\.add cannot write"):
        np.add(V, V, out=leaf(V))
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
    with pytest.raises(ag.AgradError):
        np.matmul(leaf(V), M)


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
    with pytest.raises(ag.AgradError) as caught:
        leaf(V).__array_function__(UNKNOWN[name], (ag.Tensor,), (leaf(V),), {})
    assert caught.value.message == f"{name} has no counterpart in agrad"
    assert caught.value.kind == "type"
    assert "x.detach().numpy()" in caught.value.fixes[-1]


@each("name", [name for name, function in UFUNCS.items() if function not in counterparts()])
def test_a_ufunc_without_a_counterpart_is_refused_by_name(name):
    with pytest.raises(ag.AgradError, match="has no counterpart in agrad") as caught:
        UFUNCS[name](*[leaf(V)] * UFUNCS[name].nin)
    assert f"np.{UFUNCS[name].__name__} " in caught.value.message


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
    with pytest.raises(ag.AgradError) as caught:
        REFUSED[message]()
    assert caught.value.kind == "type"
    assert caught.value.message.startswith(message)


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
    with pytest.raises(ag.AgradError) as caught:
        call(leaf(V))
    assert any("np.mean(np.stack([x, y]))" in fix for fix in caught.value.fixes)
    assert any("np.concatenate for np.r_, np.column_stack for np.c_" in fix for fix in caught.value.fixes)


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


def test_methods_of_arrays():
    x = leaf(C)
    for ours, theirs in (
        (x.ravel(), C.ravel()),
        (x.swapaxes(0, 2), C.swapaxes(0, 2)),
        (x.take([0, 1], axis=2), C.take([0, 1], axis=2)),
        (x.astype(float), C),
        (x.copy(), C),
        (x.T, C.T),
        (x.dot(V), C.dot(V)),
        (x.std(axis=0), C.std(axis=0)),
    ):
        assert ours.requires_grad
        np.testing.assert_allclose(ours.numpy(), theirs)


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
    with pytest.raises(ag.AgradError, match="ellipk has no counterpart"):
        special.ellipk(leaf(POSITIVE))


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
    with pytest.raises(ag.AgradError, match="cannot write a Tensor into an array"):
        np.add.at(np.zeros(4), [0], leaf(1.0))
