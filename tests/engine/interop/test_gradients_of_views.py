"""Arrays of agrad.numpy with gradients: views of them share data where NumPy's do, and copies keep the derivative."""

import numpy
import pytest

from agrad import numpy as arrays

PROGRAMS = {
    "flip": "z = np.flip(y); z[0] = 7; y[0] *= 3",
    "backwards": "z = y[::-1]; z += x; y[::-1][1] = x[0]",
    "split": "a, b, c = np.split(y, 3); b[:] = 4 * x[0]",
    "expand": "np.expand_dims(y, 0)[0, 1] = x[2] ** 2",
    "twice": "z = np.flip(np.atleast_2d(y), 1)[0]; z[0] = x[0]",
    "moved": "z = np.moveaxis(np.stack([y, x]), 0, 1); z[0] = 1; y[1] = z[2, 0]",
    "copy": "z = y.copy(); z[0] = 5; y += z * z",
    "flatten": "y = y * y.flatten()",
    "ravel": "z = y[::2].ravel(); z[0] = 5; y[1] = z[1]; y.ravel()[2] = x[0]",
    "type": "y = y * y.astype(float)",
    "sort": "z = y * 1; z.sort(); y = y * z",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_gradients_are_those_of_differences_of_what_numpy_computes(program):
    def result(np, x):
        names = {"np": np, "x": x, "y": 2 * x}
        exec(program, names)
        return (names["y"] ** 2 * np.array([1.0, 2.0, 3.0])).sum()

    at, steps = numpy.array([3.0, 1.0, 2.0]), 1e-5 * numpy.eye(3)
    x = arrays.array(at.tolist())
    x.requires_grad_()
    y = result(arrays, x)
    y.backward()
    assert float(y) == result(numpy, at)
    slopes = [(result(numpy, at + step) - result(numpy, at - step)) / 2e-5 for step in steps]
    assert x.grad.tolist() == pytest.approx(slopes, rel=1e-6)
