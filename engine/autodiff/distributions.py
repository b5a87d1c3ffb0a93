"""The distributions of uncertain values: their moments, and what a Monte Carlo run draws (JCGM 101, 6.4)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from math import pi, sqrt
from typing import Any

from agrad.engine.errors import AgradError
from agrad.engine.struct import Struct
from agrad.engine.values import Array, np


class Distribution(Struct):
    """A distribution with the mean 0 and the variance 1.

    `width`: half the width of its interval, in standard deviations; 0 where it has no ends. `draw`: so many numbers, by
    a generator of NumPy's.
    """

    name: str
    kurtosis: float
    draw: Callable[[Any, int], Array]
    width: float = 0.0
    skewness: float = 0.0

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        name = self.name.upper()
        if globals().get(name) is not self:
            raise AgradError("type", f"a value with a {self.name} distribution cannot be pickled")
        return name


def _uniform(rng: Any, count: int, width: float = sqrt(3.0)) -> Array:
    found: Array = rng.uniform(-width, width, count)
    return found


NORMAL = Distribution("normal", 3.0, lambda rng, count: rng.standard_normal(count))
UNIFORM = Distribution("uniform", 1.8, _uniform, sqrt(3.0))
TRIANGULAR = Distribution(
    "triangular", 2.4, lambda rng, count: rng.triangular(-sqrt(6.0), 0.0, sqrt(6.0), count), sqrt(6.0)
)
ARCSINE = Distribution(
    "arcsine", 1.5, lambda rng, count: sqrt(2.0) * np.sin(rng.uniform(0.0, 2.0 * pi, count)), sqrt(2.0)
)


@cache
def trapezoidal(beta: float) -> Distribution:
    """That of the sum of two uniform ones, with the top `beta` times as wide as the base (JCGM 101, 6.4.4)."""
    width = sqrt(6.0 / (1.0 + beta**2))
    wide, narrow = width * (1.0 + beta) / 2.0, width * (1.0 - beta) / 2.0

    def draw(rng: Any, count: int) -> Array:
        return _uniform(rng, count, wide) + _uniform(rng, count, narrow)

    return Distribution("trapezoidal", 3.0 - 2.0 / 15.0 * (wide**4 + narrow**4), draw, width)


def of_sample(readings: Array) -> Distribution:
    """That of a sample, each entry of which is equally likely."""
    standard = (readings - np.mean(readings)) / np.std(readings, ddof=1)
    third, fourth = (float(np.mean(standard**power)) for power in (3, 4))
    return Distribution("sample", fourth, partial(_drawn_of, standard), skewness=third)


def _drawn_of(standard: Array, rng: Any, count: int) -> Array:
    found: Array = rng.choice(standard, count)
    return found
