"""What tests of compiled functions compare them with: values and gradients by a graph and a backward."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import agrad.engine as ag


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
    """Several threads get what one gets."""
    expected = [call(*point) for point in points]
    for count in (2, 4):
        with ThreadPoolExecutor(count) as pool:
            for found, one in zip(pool.map(lambda point: call(*point), points), expected, strict=True):
                compare(found, (one[0], one[1] if isinstance(one[1], tuple) else (one[1],)))
