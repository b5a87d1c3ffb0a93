"""The arrays of the caller that a graph needs again: its constants.

A node keeps a copy of each, stored row by row: a backward and a replay must see the values that the operation saw, also
if the caller has written into the array since. NumPy tells of no write, and no flag of an array excludes one through
another view of the same memory. So an array that is used again, while its copy exists, is compared with that, bit by
bit, and the copy is shared if nothing has changed. Comparing takes about as long as copying into memory that was used
just before, but a tenth of copying into new memory, which the operating system has to map and clear first. And graphs
that use an array many times hold it once.

A copy exists as long as a node has it. So a loop that uses an array once, and frees its graph, copies it each time,
into the memory that was just freed. Only for an array so large that the memory is returned to the operating system,
the copy is kept between two iterations: while the caller's array exists, and as far as there is room.
"""

from __future__ import annotations

from _thread import RLock
from functools import partial
from typing import Any
from weakref import ref

from agrad.engine.core.context import current
from agrad.engine.values import Value, coerce, np

_SHARED = 2**14  # entries from which on copies are shared: malloc asks the operating system for 128 kB and more
_LASTING = 2**20  # entries from which on copies are kept that no node has
_MOST = 2**26  # bytes of these, altogether
_SHARE = 1 / 8  # of the memory that one result may take, at most
_BLOCK = 2**16  # entries that are compared at once: of arrays that differ, often one block is read


class _Copy:
    """The copy of an array of the caller."""

    __slots__ = ("array", "latest", "nbytes", "source")

    def __init__(self, value: Any) -> None:
        array = value.copy()
        array.flags.writeable = False  # several graphs may have it
        self.array: ref[Any] = ref(array)
        self.latest: Any = array  # None where only nodes keep it in memory
        self.nbytes: int = array.nbytes
        self.source = ref(value, partial(_forget, id(value)))


_COPIES: dict[int, _Copy] = {}  # by the identity of the caller's array
_LATEST: list[_Copy] = []
_LOCK = RLock()  # for `_LATEST`


def kept(x: object) -> Value:
    """A constant in the form that a node keeps: a float, or an array that nobody else writes to, stored row by row."""
    value = coerce(x, copy=False)
    if isinstance(value, float):
        return value
    if not value.flags.c_contiguous:
        return value.copy()
    if value is not x and (type(x) in (list, tuple) or (type(x) is np.ndarray and x.dtype != value.dtype)):
        return value  # it was made just now
    return _shared(value) if value.size >= _SHARED and type(value) is np.ndarray else value.copy()


def _shared(value: Any) -> Any:
    """The copy of an array that was made before, if it is still the same, else a new one."""
    known = _COPIES.get(id(value))
    if known is not None and known.source() is value:
        before = known.array()
        if _same_bits(before, value):
            return before
    made = _Copy(value)
    copy = made.latest
    _COPIES[id(value)] = made
    _keep_latest(made, known)
    return copy


def _same_bits(before: Any, value: Any) -> bool:
    """Whether a copy is there, and has the shape and the bits of an array: nan equals itself, -0.0 is not 0.0."""
    if before is None or before.shape != value.shape:
        return False
    first, second = before.reshape(-1).view(np.uint64), value.reshape(-1).view(np.uint64)
    for start in range(0, first.size, _BLOCK):
        if not (first[start : start + _BLOCK] == second[start : start + _BLOCK]).all():
            return False
    return True


def _keep_latest(made: _Copy, replaced: _Copy | None) -> None:
    """Keep the latest large copies in memory, as many as there is room for, and let go of the one that is replaced."""
    if replaced is not None:
        replaced.latest = None
    room = min(_MOST, current().limits.memory * _SHARE)
    if not _LASTING * 8 <= made.nbytes <= room:
        made.latest = None
        return
    with _LOCK:
        alive = [one for one in _LATEST if one.latest is not None]
        alive.append(made)
        total = sum(one.nbytes for one in alive)
        while total > room:
            oldest = alive.pop(0)
            oldest.latest, total = None, total - oldest.nbytes
        _LATEST[:] = alive


def _forget(key: int, source: object) -> None:
    """Called when an array of the caller no longer exists."""
    known = _COPIES.get(key)
    if known is not None and known.source is source:
        del _COPIES[key]
        known.latest = None
