"""np.fft where operands and results are real; the other functions of it need complex numbers, which agrad has not."""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.core.arguments import axes_of, axis_of, small
from agrad.engine.core.dispatch import operand
from agrad.engine.core.op import Function
from agrad.engine.errors import AgradError
from agrad.engine.interop.numpy_arrays import pad
from agrad.engine.interop.numpy_shapes import ag, at
from agrad.engine.ops.arrays.fourier import inverse_cosine_transform
from agrad.engine.values import shape_of


def _fitted(x: Any, place: int, length: int) -> Any:
    """Cut to a length, or with zeros behind."""
    have = shape_of(x)[place]
    if have > length:
        return x[at(place, slice(0, length))]
    widths = [(0, length - have if one == place else 0) for one in range(len(shape_of(x)))]
    return pad(x, widths) if have < length else x


def _irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    return _from_half("irfft", a, n, axis, norm, {"backward": 0.0, "ortho": 0.5, "forward": 1.0})


def _hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    """The same without the division by n, also for a spectrum in time: its imaginary parts are 0."""
    return _from_half("hfft", a, n, axis, norm, {"backward": 1.0, "ortho": 0.5, "forward": 0.0})


def _from_half(name: str, a: Any, n: Any, axis: Any, norm: Any, powers: dict[str, float]) -> Any:
    a = operand(a)
    place = axis_of(name, shape_of(a), axis)
    count = 2 * (shape_of(a)[place] - 1) if n is None else small(name, "n", n)
    power = powers.get(norm or "backward")
    if power is None:
        raise AgradError("type", f"np.fft.{name}: there is no norm {norm!r}")
    if count < 1:
        raise AgradError("shape", f"np.fft.{name}: n must be at least 1, not {count}")
    y = inverse_cosine_transform(_fitted(a, place, count // 2 + 1), n=count, axis=place)
    return ag.mul(y, math.pow(count, power)) if power else y


def _shifted(towards: int) -> Function:
    """np.fft.fftshift, which moves the frequency 0 to the middle, and its inverse."""

    def function(x: Any, axes: Any = None) -> Any:
        x = operand(x)
        for place in axes_of("fftshift", shape_of(x), axes):
            half = shape_of(x)[place] // 2
            x = ag.roll(x, towards * half, place)
        return x

    return function


TRANSFORMS: dict[str, Function] = {
    "fft.irfft": _irfft,
    "fft.hfft": _hfft,
    "fft.fftshift": _shifted(1),
    "fft.ifftshift": _shifted(-1),
}
