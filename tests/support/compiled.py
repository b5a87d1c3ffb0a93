"""What tests of compiled functions compare them with: values and gradients by a graph and a backward."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import agrad.engine as ag
from agrad.engine.compile.derive import GRADIENT
from agrad.engine.program.printer import parts
from agrad.engine.program.trace import plain, trace


def eagerly(f, point):
    """The value of a function at a point, and its gradients, one for each argument."""
    leaves = [ag.tensor(x, requires_grad=True) for x in point]
    y = f(*leaves)
    if y.requires_grad:
        y.backward()
    return y.item(), tuple([x.grad.value if x.grad is not None else 0.0 * np.zeros(x.shape) for x in leaves])


def near(found, expected, scale=1.0, digits=1e-10):
    """Relative to the number itself, or to the scale of all."""
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=digits, atol=digits * scale)


def kinds_of(m):
    """A matrix again, in arrays of all kinds."""
    held, fixed = np.zeros((2 * m.shape[0], 2 * m.shape[1])), m.copy()
    held[::2, ::2] = m
    fixed.flags.writeable = False
    return [held[::2, ::2], fixed, np.asfortranarray(m), m.astype(">f8"), m[::-1][::-1], m.T.copy().T, ag.tensor(m)]


def same(found, expected, digits=1e-10):
    """Value and gradients, relative to the largest number among them."""
    slopes = found[1] if isinstance(found[1], tuple | list) else (found[1],)
    entries = np.abs(np.concatenate([np.ravel(x) for x in (expected[0], *expected[1])]))
    scale = max(entries[np.isfinite(entries)], default=0.0) + 1.0
    for one, other in zip((found[0], *slopes), (expected[0], *expected[1]), strict=True):
        near(one, other, scale, digits)


def same_bits(found, expected):
    """Value and gradients, bit by bit."""
    slopes = found[1] if isinstance(found[1], tuple) else (found[1],)
    assert found[0] == expected[0] and all(map(np.array_equal, slopes, expected[1]))


def check_threads(call, points, compare=same_bits):
    """Several threads get what one gets, once there is machine code, whose last bits are not those of NumPy."""
    for point in (*points, *points):
        call(*point)
    expected = [call(*point) for point in points]
    for count in (2, 4):
        with ThreadPoolExecutor(count) as pool:
            for found, one in zip(pool.map(lambda point: call(*point), points), expected, strict=True):
                compare(found, (one[0], one[1] if isinstance(one[1], tuple) else (one[1],)))


def gradient_program(f, examples):
    """The program of the value of a function and its gradients by all arguments, traced at some values."""
    values = [plain(x) for x in examples]
    return gradient_of(trace(f, values), values, range(len(values)))


def gradient_of(program, values, wrt):
    """The program of a number and its gradients by some inputs, of that of the number."""
    return GRADIENT.program(program, values, [wrt])


def listing(program):
    """All lines of a program."""
    return "\n".join([line for lines in parts(program) for line in lines])
