"""PyTorch's random numbers: those of its generator for processors, so that a seed gives the same numbers."""

from __future__ import annotations

import math
from operator import index
from typing import Any

from agrad.engine.values import np

_WORDS = 624  # of the state


class Mersenne:
    """The generator MT19937, with the methods of NumPy's that the engine calls, and PyTorch's way to each number.

    `bit_generator.state` is where it is, as for NumPy's.
    """

    def __init__(self, seed: int) -> None:
        self.first = seed
        self._bits: Any = np.random.MT19937()
        self._bits._legacy_seeding(seed % 2**32)
        self._waiting: float | None = None  # the second of a pair of normal numbers

    bit_generator = property(lambda self: self, doc="Itself, which has the state.")

    @property
    def state(self) -> Any:
        """Where it is."""
        return self._bits.state, self._waiting, self.first

    @state.setter
    def state(self, state: Any) -> None:
        bits, waiting, first = state
        place = index(bits["state"]["pos"])
        if not 0 <= place <= _WORDS:  # NumPy would read what is behind the words
            raise ValueError(f"the state of a generator is at a word from 0 to {_WORDS}, not {place}")
        self._bits.state, self._waiting = bits | {"state": {"key": bits["state"]["key"], "pos": place}}, waiting
        self.first = first

    def __getattr__(self, name: str) -> Any:
        """What is drawn as NumPy does."""
        if name[0] == "_":
            raise AttributeError(name)
        return getattr(np.random.Generator(self._bits), name)

    def _long(self, count: int) -> Any:
        """So many numbers of 64 bits, each of two of 32."""
        pairs = self._bits.random_raw(2 * count).reshape(count, 2)
        return (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]

    def fork(self) -> Mersenne:
        """Another one, with a seed that is drawn."""
        return Mersenne(int(self._long(1)[0]) % 2**63)

    def random(self, size: Any = None) -> Any:
        """Numbers from 0 to below 1."""
        drawn = (self._long(_count(size)) & np.uint64(2**53 - 1)) * 2.0**-53
        return drawn.reshape(size) if size is not None else float(drawn[0])

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Numbers from low to below high."""
        return self.random(size) * (high - low) + low

    def standard_normal(self, size: Any = None) -> Any:
        """Normal numbers, in pairs: few of them one after the other, many in blocks of sixteen."""
        count = _count(size)
        if count < 16:
            drawn = np.array([self._normal() for _ in range(count)])
            return drawn.reshape(size) if size is not None else float(drawn[0])
        given = self.random((count,))
        drawn = given.copy()
        drawn[: count - count % 16] = _blocks(given[: count - count % 16])
        if count % 16:
            drawn[count - 16 :] = _blocks(self.random((16,)))
        return drawn.reshape(size)

    def _normal(self) -> float:
        if self._waiting is not None:
            found, self._waiting = self._waiting, None
            return found
        angle, other = self.random((2,))
        radius = math.sqrt(-2.0 * math.log1p(-other))
        self._waiting = radius * math.sin(2.0 * math.pi * angle)
        return radius * math.cos(2.0 * math.pi * angle)

    def normal(self, mean: Any = 0.0, std: Any = 1.0, size: Any = None) -> Any:
        """Normal numbers."""
        return self.standard_normal(size) * std + mean

    def standard_exponential(self, size: Any = None) -> Any:
        """Exponential numbers."""
        return -np.log1p(-self.random(size))

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Exponential numbers of a mean."""
        return self.standard_exponential(size) * scale

    def integers(self, low: int, high: int | None = None, size: Any = None) -> Any:
        """Whole numbers from low to below high."""
        low, high = (0, low) if high is None else (low, high)
        if high <= low:
            raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
        wide = high - low >= 2**28
        drawn = self._long(_count(size)) if wide else self._bits.random_raw(_count(size))
        found = (drawn % np.uint64(high - low)).astype(np.int64) + low
        return found.reshape(size) if size is not None else int(found[0])

    def permutation(self, count: int) -> Any:
        """The numbers from 0 to below count, in random order."""
        order = np.arange(count)
        for place, drawn in enumerate(self._bits.random_raw(max(count - 1, 0)).tolist()):
            other = place + drawn % (count - place)
            order[[place, other]] = order[[other, place]]
        return order


def _count(size: Any) -> int:
    shape = () if size is None else tuple(size) if isinstance(size, tuple | list) else (int(size),)
    if min(shape, default=0) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {[*shape]}")
    return math.prod(shape)


def _blocks(given: Any) -> Any:
    """Normal numbers of uniform ones: in each sixteen, the first eight are radii, the others angles."""
    given = given.reshape(-1, 2, 8)
    radius, angle = np.sqrt(-2.0 * np.log(1.0 - given[:, 0])), 2.0 * math.pi * given[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)
