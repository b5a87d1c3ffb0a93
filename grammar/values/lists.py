"""Lists: `[w, b]` keeps its parts, so that a loop over it, an index or `append` reaches the very same values.

Where an array is needed, the parts are stacked. `[1, 2, 3]`, of plain numbers, is a vector from the beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agrad.engine.core.context import afford, current, remember_entry, scope
from agrad.engine.core.guards import choose, number
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, is_truth, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.struct import Struct
from agrad.engine.values import describe, format_shape, whole


class List:
    """A list. `joins`: `+` puts it together with another, as in Python; where it is false, `+` adds entries.

    That is so for a list that began empty, or was changed as a list; one that was written in brackets is a vector in
    arithmetic.
    """

    __slots__ = ("_stacked", "_state", "joins", "name", "parts")

    def __init__(self, parts: Iterable[Any], joins: bool = False) -> None:
        self.parts = list(parts)
        self.joins = joins
        self.name: str | None = None  # the first name that it got
        self._stacked: Tensor | None = None
        self._state: tuple[Any, ...] = ()  # of the parts, when they were stacked

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return List, (self.parts, self.joins), (None, {"name": self.name})  # without the array that it is

    # Changes

    def change(self, parts: list[Any]) -> None:
        """Give it other parts; a statement that fails takes that back."""
        self.remember()
        self.parts[:] = parts

    def remember(self) -> None:
        """Keep the parts in case the running statement fails. From now on it is a list in `+`, too."""
        log, key = current().undo_log, ("list", id(self))
        if log is not None and key not in log.undos:
            before, joins = tuple(self.parts), self.joins

            def undo() -> None:
                self.parts[:] = before
                self.joins = joins

            log.remember(key, undo, (self, *before))
        self.joins = True

    def put(self, position: int, value: Any) -> None:
        """Replace one part."""
        joins = self.joins
        self.remember()
        self.joins = joins  # an entry that is assigned to may be one of a vector
        refuse_itself(self, value)
        self.parts[position] = value

    # As an array

    def stacked(self) -> Tensor:
        """The parts as an array. Raises AgradError if there is none: their shapes differ, or one is not a number.

        An array with a graph is made once, as long as the parts stay the same.
        """
        context = current()
        state = (context.recording, context.guard, *_states(self.parts))
        made = self._stacked
        nodes = (made.node, *made.node.inputs) if made is not None and self._state == state else ()
        if made is not None and nodes and all(getattr(one, "freed", None) is None for one in nodes):
            return made
        made = stacked(self.parts)
        if made.node.recorded:
            if made.node.name is None:
                made.node.name = self.name
            self._stacked, self._state = made, state
        return made


class Star(Struct, eq=False):
    """The entries of `*xs`, or of `**options`, until they are put in their place."""

    entries: list[Any]
    named: dict[Any, Any] | None = None


def _states(parts: list[Any]) -> list[object]:
    """What has to be the same so that the parts stack to the same array. No generator: it takes from the stack of C."""
    found: list[object] = []
    for part in parts:
        if isinstance(part, Tensor):
            found += (id(part), id(part.node), part.node.stamp)
        elif isinstance(part, List | tuple):
            found += ("(", *_states(list(part)), ")")
        else:
            found.append(part)
    return found


def stacked(parts: list[Any]) -> Tensor:
    """Values as an array: numbers, arrays of one shape, and lists of these; of truths, a mask. Raises AgradError."""
    if parts and all(map(is_truth, parts)):
        if set(map(type, parts)) == {bool}:
            return tensor(parts)
        entries = OPS["stack"].call([float(part) if type(part) is bool else part for part in parts])
        return OPS["not_equal"].call(entries, 0.0)  # type: ignore[no-any-return]
    parts = [float(part) if type(part) is bool else part for part in parts]
    if all(type(part) is float for part in parts):
        return tensor(parts)
    known: dict[int, Any] = {}
    entries = []
    for part in parts:
        if isinstance(part, List | tuple) and id(part) not in known:
            known[id(part)] = part.stacked() if isinstance(part, List) else stacked(list(part))
        entries.append(known.get(id(part), part))
    return OPS["stack"].call(_fitting(entries))  # type: ignore[no-any-return]


def _fitting(entries: list[Any]) -> list[Any]:
    """The entries, if they can be stacked. Raises AgradError."""
    shapes = []
    for entry in entries:
        if not isinstance(entry, Tensor | float):
            message = f"an entry of a list needs a number or an array, not {describe(entry)}"
            raise AgradError("type", message, fixes=[Hint("for x in xs: …, or xs[0], takes the entries one by one")])
        shapes.append(entry.shape if isinstance(entry, Tensor) else ())
    for shape in shapes[1:]:
        if shape != shapes[0]:
            both = f"{format_shape(shapes[0])} and {format_shape(shape)}"
            message = f"the entries of a list must have the same shape to make an array, but these have {both}"
            fixes = [Hint("a tuple, (w, b), or a loop over the list keeps them apart")]
            raise AgradError("shape", message, fixes=fixes)
    return entries


def is_array(value: List) -> bool:
    """Whether a list can be an array."""
    try:
        with scope(recording=False):
            stacked(value.parts)
    except AgradError:
        return False
    return True


def settled(value: Any) -> Any:
    """A value for the world outside of the language: a list as an array, or else as a tuple."""
    if isinstance(value, List):
        return value.stacked() if is_array(value) else tuple(settled(part) for part in value.parts)
    return tuple(settled(part) for part in value) if type(value) is tuple else value


def entries_of(value: Any) -> list[Any]:
    """The entries of a list, a tuple or an array, as parts of another list: numbers of a vector of numbers."""
    if isinstance(value, List | tuple | str):
        return list(value)
    if isinstance(value, range):
        return [float(number) for number in value]
    if isinstance(value, Tensor) and value.shape:
        if len(value.shape) == 1 and not value.node.recorded:
            found: list[Any] = value.tolist()
            return found
        return list(value)
    raise AgradError("type", f"a list is extended by the entries of a list, not by {describe(settled(value))}")


def in_lists(value: Any) -> Any:
    """Nested lists of Python as lists of the language."""
    return List(map(in_lists, value), joins=True) if isinstance(value, list) else value


def refuse_itself(target: List | Tensor, value: Any) -> None:
    """Refuse to put a list into itself, directly or inside another."""
    if any(one is target for one in parts_of([value], objects=False)):
        raise AgradError("type", "a list cannot be a part of itself")


def parts_of(values: Iterable[Any], objects: bool = True) -> Iterator[Any]:
    """All values, and those in the tuples, lists and objects among them; each list and object once."""
    waiting, seen = list(values), set()
    while waiting:
        value = waiting.pop()
        yield value
        kind = type(value)
        if isinstance(value, tuple):
            waiting += value
        elif id(value) not in seen:
            if kind is List or isinstance(value, list):  # a list of Python's may be a part of itself
                seen.add(id(value))
                waiting += value
            elif objects and getattr(kind, "is_object", False) and hasattr(kind, "_parts"):
                seen.add(id(value))
                waiting += value._parts()


def tensors_in(values: Iterable[Any]) -> Iterator[Tensor]:
    """The Tensors among values, and inside the tuples and lists among them; each list once."""
    return (value for value in parts_of(values, objects=False) if isinstance(value, Tensor))


def become_list(array: Tensor, places: Iterable[Mapping[str, Any] | list[Any]]) -> List:
    """A list in the place of a vector, for everything that refers to it from the given names and stacks.

    `xs = [1, 2]` is a vector, and `xs.append(3)` makes it a list: under every name that it has.
    """
    made = List(entries_of(array))
    direct = [value for place in places for value in (place.values() if isinstance(place, dict) else place)]
    for place in [*places, *parts_of(direct)]:
        if isinstance(place, List):
            for position in [position for position, value in enumerate(place) if value is array]:
                place.put(position, made)
        elif isinstance(place, list):
            place[:] = [made if value is array else value for value in place]
        elif isinstance(place, dict) or getattr(type(place), "is_object", False):
            names = place if isinstance(place, dict) else getattr(place, "__dict__", {})
            for name in [name for name, value in names.items() if value is array]:
                remember_entry(names, name)
                names[name] = made
                made.name = made.name or name
    return made


def as_truth(value: Any) -> Any:
    """True or False for a comparison of two numbers that is in a graph, also inside a tuple; any other value itself."""
    if type(value) is tuple:
        return tuple(map(as_truth, value))
    if isinstance(value, Tensor) and value.node.op is not None and not value.shape:
        return bool(value.value) if value.node.op.family == "comparison" else value
    return value


# What the methods of lists do, which are those of Python.


def opened(xs: List, *more: Any) -> list[Any]:
    """The parts of a list that is changed, and gets these parts more."""
    refuse_itself(xs, more)
    afford("a list", (len(xs) + len(more),))
    xs.remember()
    return xs.parts


def extend(xs: List, values: Any) -> None:
    """Add the entries of a list, a tuple or an array."""
    more = entries_of(values)
    opened(xs, *more).extend(more)


def place_in(xs: List, index: Any) -> int:
    """An index of an entry. Raises AgradError of kind `shape` where there is none."""
    position = whole(index, "an index")
    if isinstance(index, Tensor):
        choose(index.node, index.item(), number)
    if not -len(xs) <= position < len(xs):
        there = f"{len(xs)} entr{'y' if len(xs) == 1 else 'ies'}" if len(xs) else "no entry"
        raise AgradError("shape", f"index {position} is out of range: the list has {there}")
    return position


def plain(value: Any) -> Any:
    """What a part is compared by: a number by its value, for which there is a guard."""
    if isinstance(value, Tensor):
        choose(value.node, value.item(), number)
        return value.item()
    if getattr(value, "shape", ()):
        raise AgradError("shape", "an array has no order: numbers and texts can be sorted")
    return value


def sorted_parts(parts: list[Any], key: Any, reverse: Any) -> list[Any]:
    """Values in the order of their numbers, or of what a function gives for each."""
    if key is not None and not callable(key):
        raise AgradError("type", f"sorted: key is a function, not {describe(key)}")
    keys = [plain(part if key is None else key(part)) for part in parts]
    try:
        order = sorted(range(len(parts)), key=keys.__getitem__, reverse=bool(plain(reverse)))
    except (TypeError, ValueError):  # what cannot be compared, or arrays
        raise AgradError("type", "numbers can be sorted, and texts, but not both together") from None
    return [parts[place] for place in order]
