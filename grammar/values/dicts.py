"""Dictionaries and sets: Python's, whose changes a failed statement takes back. Their order is that of insertion."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.nn.objects import Entries
from agrad.engine.values import describe, format_shape
from agrad.grammar.values.lists import List, Star, entries_of, plain, quoted


def key_of(value: Any) -> Any:
    """A value as a key, or as an entry of a set. Raises AgradError for what can change.

    A number is found again by its value, also one that was an entry of an array; one that requires a gradient, as in
    PyTorch, only by itself.
    """
    if isinstance(value, tuple):
        return tuple(map(key_of, value))
    shape = getattr(value, "shape", ())
    if isinstance(value, Tensor) and not shape and not value.requires_grad:
        return plain(value)
    if shape or type(value) is List or not isinstance(value, Hashable):
        what = f"an array of shape {format_shape(shape)}" if shape else describe(value)
        fixes = [Hint("tuple(xs)   of a list")]
        raise AgradError("type", f"{what} can change, so it is no key of a dictionary or a set", fixes=fixes)
    return value


class Dict(Entries):
    """A dictionary."""

    def __init__(self, entries: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = (), **named: Any) -> None:
        pairs = entries.items() if isinstance(entries, Mapping) else entries
        super().__init__({key_of(key): value for key, value in pairs} | named)

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key_of(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key_of(key), value)

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(key_of(key))

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key_of(key))

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, or the default."""
        return super().get(key_of(key), default)

    def copy(self) -> Dict:
        """Another dictionary with the same values."""
        return Dict(self)

    def _shown(self, text: Callable[[Any], str]) -> str:
        return f"{{{', '.join(f'{quoted(key, text)}: {quoted(value, text)}' for key, value in self.items())}}}"


class Set:
    """A set."""

    __slots__ = ("_of",)
    is_object = True

    def __init__(self, entries: Iterable[Any] = ()) -> None:
        self._of = Entries({key_of(entry): None for entry in entries})  # which logs its changes

    def __len__(self) -> int:
        return len(self._of)

    def __iter__(self) -> Iterator[Any]:
        return iter(tuple(self._of))

    def __contains__(self, entry: object) -> bool:
        return key_of(entry) in self._of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Set) and self._of.keys() == other._of.keys()

    __hash__ = None  # type: ignore[assignment]  # it can change

    def add(self, entry: Any) -> None:
        """Add an entry."""
        self._of[key_of(entry)] = None

    def discard(self, entry: Any) -> None:
        """Take an entry away, if it is there."""
        self._of.pop(key_of(entry), None)

    def remove(self, entry: Any) -> None:
        """Take an entry away. Raises AgradError where it is not there."""
        if entry not in self:
            raise AgradError("name", f"the set has no entry {describe(entry)}")
        self.discard(entry)

    def update(self, entries: Any) -> None:
        """Add the entries of something."""
        for entry in _each(entries):
            self.add(entry)

    def clear(self) -> None:
        """Take all entries away."""
        self._of.clear()

    def copy(self) -> Set:
        """Another set of the same entries."""
        return Set(self)

    def union(self, entries: Any) -> Set:
        """The entries of both."""
        return Set([*self, *_each(entries)])

    def difference(self, entries: Any) -> Set:
        """The entries that are not in the other."""
        others = Set(_each(entries))
        return Set([entry for entry in self if entry not in others])

    def intersection(self, entries: Any) -> Set:
        """The entries that are in both."""
        return self.difference(self.difference(entries))

    def _parts(self) -> list[Any]:
        return [*self._of]

    def _shown(self, text: Callable[[Any], str]) -> str:
        return f"{{{', '.join(quoted(entry, text) for entry in self)}}}" if self._of else "set()"


def _each(values: Any) -> Iterable[Any]:
    return values if isinstance(values, Set | dict) else entries_of(values)


def dict_of(items: list[Any]) -> Dict:
    """`{"lr": 0.1, **more}`: keys and values in turn, and a Star for `**more` or for pairs."""
    found: dict[Any, Any] = {}
    waiting = iter(items)
    for item in waiting:
        if type(item) is not Star:
            found[key_of(item)] = next(waiting)
        elif item.named is not None:
            found |= item.named
        else:
            found |= {key_of(key): value for key, value in item.entries}
    return Dict(found)
