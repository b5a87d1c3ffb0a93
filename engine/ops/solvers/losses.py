"""Robust losses: how much a residual counts of which the square is z, in units of the square of a scale.

Those of SciPy's `least_squares`. Each gives rho(z), its derivative, and rho' + 2 z rho'', the second derivative by the
residual (Triggs et al., Bundle Adjustment, 2000, 4.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from agrad.engine.values import Array, np


def _huber(z: Array) -> tuple[Array, Array, Array]:
    root = np.sqrt(np.maximum(z, 1.0))
    return np.where(z <= 1.0, z, 2.0 * root - 1.0), 1.0 / root, (z <= 1.0).astype(float)


def _soft_l1(z: Array) -> tuple[Array, Array, Array]:
    root = np.sqrt(1.0 + z)
    return 2.0 * z / (root + 1.0), 1.0 / root, root**-3


def _cauchy(z: Array) -> tuple[Array, Array, Array]:
    return np.log1p(z), 1.0 / (1.0 + z), (1.0 - z) / (1.0 + z) ** 2


def _arctan(z: Array) -> tuple[Array, Array, Array]:
    square = 1.0 + z * z
    return np.arctan(z), 1.0 / square, (1.0 - 3.0 * z * z) / square**2


LOSSES: dict[str, Callable[[Array], tuple[Array, Array, Array]]] = {
    "huber": _huber,
    "soft_l1": _soft_l1,
    "cauchy": _cauchy,
    "arctan": _arctan,
}


class Loss(NamedTuple):
    """A loss by its name, and the size of a residual from which on it counts less."""

    name: str
    scale: float

    def of(self, residuals: Any) -> tuple[Array, Array, Array]:
        """For each residual r: twice its cost, the weight w such that w r is half the slope of that, and its bend."""
        rho, weight, bend = LOSSES[self.name]((residuals / self.scale) ** 2)
        return rho * self.scale**2, weight, bend
