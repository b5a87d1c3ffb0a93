"""Numbers about a whole column that is read piece by piece: its sum, mean, variance, least and greatest.

Pieces are merged as Chan, Golub and LeVeque do ("Algorithms for computing the sample variance", 1983): the variance of
a large mean keeps its digits. As for arrays, an entry that is nan makes all of them nan, and the variance divides by n.
"""

from __future__ import annotations

import math

from agrad.engine.data.tables import Numbers
from agrad.engine.errors import AgradError
from agrad.engine.values import np


class Aggregates:
    """The numbers about a column so far."""

    def __init__(self) -> None:
        self.count = 0
        self.sums: list[float] = []
        self.middle = self.squares = 0.0  # the mean, and the sum of the squares of deviations from it
        self.least, self.greatest = math.inf, -math.inf

    def add(self, values: Numbers) -> None:
        """Take some more entries into account."""
        count = len(values)
        if not count:
            return
        with np.errstate(all="ignore"):
            self.sums.append(float(values.sum()))
            middle = float(values.mean())
            squares = float(np.square(values - middle).sum())
            total = self.count + count
            apart = middle - self.middle
            self.squares += squares + apart * apart * (self.count * count / total)
            self.middle += apart * (count / total)
            self.least = float(np.minimum(self.least, values.min()))
            self.greatest = float(np.maximum(self.greatest, values.max()))
        self.count = total

    def value(self, name: str) -> float:
        """The number of that name. Raises AgradError of kind `domain` if there were no entries."""
        if not self.count and name != "sum":
            raise AgradError("domain", f"{name} of no rows")
        number: float = getattr(self, f"_{name}")()
        return number

    def _mean(self) -> float:
        return self._sum() / self.count

    def _std(self) -> float:
        return math.sqrt(self._var())

    def _var(self) -> float:
        return self.squares / self.count

    def _sum(self) -> float:
        return math.fsum(self.sums) if all(map(math.isfinite, self.sums)) else sum(self.sums)

    def _min(self) -> float:
        return self.least

    def _max(self) -> float:
        return self.greatest


NAMES = tuple([name[1:] for name in vars(Aggregates) if name[0] == "_" != name[1]])  # of the functions of a column
