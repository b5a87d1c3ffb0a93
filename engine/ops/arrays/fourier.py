"""The Fourier transforms of real numbers that are real: of spectra without imaginary parts.

With c[j, k] = cos(2*pi*j*k/n), the inverse transform of a real half spectrum is y[j] = sum(w[k]*c[j, k]*x[k])/n, where
w is 1 for the frequency 0 and for the last of an even n, else 2. Its transpose is the real part of the transform.
"""

from __future__ import annotations

from typing import Any

from agrad.engine.core.dispatch import row
from agrad.engine.core.op import Function
from agrad.engine.ops.scalar.arithmetic import mul
from agrad.engine.values import np


def _weights(n: int, ndim: int, axis: int) -> Any:
    """How often each frequency of a half spectrum is counted."""
    weights = np.full(n // 2 + 1, 2.0)
    weights[0] = 1.0
    if n % 2 == 0:
        weights[-1] = 1.0
    return weights.reshape(tuple(-1 if place == axis else 1 for place in range(ndim)))


def _by_spectrum(g: Any, out: Any, x: Any, n: int, axis: int) -> Any:
    return mul(cosine_transform(g, n=n, axis=axis), _weights(n, len(g.shape), axis) / n)


def _by_signal(g: Any, out: Any, x: Any, n: int, axis: int) -> Any:
    return inverse_cosine_transform(mul(g, n / _weights(n, len(g.shape), axis)), n=n, axis=axis)


cosine_transform: Function = row(
    "cosine_transform",
    "x; n, axis",
    family="internal",
    array=lambda x, n, axis: np.fft.rfft(x, n, axis).real.copy(),
    rules={"x": ("", _by_signal)},
    reach="mixed",
    samples=(([1.0, 3.0, 2.0, -1.0], {"n": 4, "axis": 0}), ([[1.0, 3.0, 2.0]], {"n": 3, "axis": 1})),
    doc="The real part of the Fourier transform of n real numbers along an axis, up to half the frequencies.",
    derivative="the weighted inverse of the gradient",
)

inverse_cosine_transform: Function = row(
    "inverse_cosine_transform",
    "x; n, axis",
    family="internal",
    array=lambda x, n, axis: np.fft.irfft(x, n, axis),
    rules={"x": ("", _by_spectrum)},
    reach="mixed",
    samples=(([1.0, 3.0, 2.0], {"n": 4, "axis": 0}), ([[1.0, 3.0]], {"n": 3, "axis": 1})),
    doc="The n real numbers whose Fourier transform, up to half the frequencies, is real and given.",
    derivative="the weighted transform of the gradient",
)
