"""The methods of lists: Python's, with the same effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agrad.engine.core.guards import choose, number
from agrad.engine.core.op import Signature
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import describe, format_number, whole
from agrad.grammar.values.lists import List, entries_of, lengthened, refuse_itself, settled


def _append(xs: List, x: Any) -> None:
    refuse_itself(xs, x)
    lengthened(len(xs) + 1)
    xs.remember()
    xs.parts.append(x)


def extend(xs: List, values: Any) -> None:
    """Add the entries of a list, a tuple or an array."""
    more = entries_of(values)
    refuse_itself(xs, tuple(more))
    lengthened(len(xs) + len(more))
    xs.remember()
    xs.parts.extend(more)


def _insert(xs: List, index: Any, x: Any) -> None:
    refuse_itself(xs, x)
    xs.remember()
    xs.parts.insert(whole(index, "an index"), x)


def place_in(xs: List, index: Any) -> int:
    """An index of an entry. Raises AgradError of kind `shape` where there is none."""
    position = whole(index, "an index")
    if isinstance(index, Tensor):
        choose(index.node, index.item(), number)
    if not -len(xs) <= position < len(xs):
        there = f"{len(xs)} entr{'y' if len(xs) == 1 else 'ies'}" if len(xs) else "no entry"
        raise AgradError("shape", f"index {position} is out of range: the list has {there}")
    return position


def _pop(xs: List, index: Any) -> Any:
    position = place_in(xs, index)
    xs.remember()
    return xs.parts.pop(position)


def _remove(xs: List, x: Any) -> None:
    position = int(_index(xs, x))
    xs.remember()
    del xs.parts[position]


def _clear(xs: List) -> None:
    xs.change([])


def _reverse(xs: List) -> None:
    xs.change(xs.parts[::-1])


def _key(value: Any) -> Any:
    """What a part is compared by: a number by its value, for which there is a guard."""
    if isinstance(value, Tensor):
        choose(value.node, value.item(), number)
        return value.item()
    if getattr(value, "shape", ()):
        raise AgradError("shape", "an array has no order: numbers and texts can be sorted")
    return value


def _is_equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    pair = [settled(side) for side in (a, b)]
    if all(isinstance(side, Tensor | float) for side in pair):
        shapes = [getattr(side, "shape", ()) for side in pair]
        return shapes[0] == shapes[1] == () and bool(_key(pair[0]) == _key(pair[1]))
    return type(a) is type(b) and isinstance(a, str) and a == b


def _index(xs: List, x: Any) -> float:
    for position, part in enumerate(xs.parts):
        if _is_equal(part, x):
            return float(position)
    shown = format_number(_key(x)) if isinstance(x, float) else describe(settled(x))
    raise AgradError("type", f"the list has no entry that is {shown}")


def _count(xs: List, x: Any) -> float:
    return float(sum(_is_equal(part, x) for part in xs.parts))


def sorted_parts(parts: list[Any], key: Any, reverse: Any) -> list[Any]:
    """Values in the order of their numbers, or of what a function gives for each."""
    if key is not None and not callable(key):
        raise AgradError("type", f"sorted: key is a function, not {describe(key)}")
    keys = [_key(part if key is None else key(part)) for part in parts]
    try:
        order = sorted(range(len(parts)), key=keys.__getitem__, reverse=bool(_key(reverse)))
    except (TypeError, ValueError):  # what cannot be compared, or arrays
        raise AgradError("type", "numbers can be sorted, and texts, but not both together") from None
    return [parts[place] for place in order]


def _sort(xs: List, key: Any, reverse: Any) -> None:
    xs.change(sorted_parts(xs.parts, key, reverse))


def _copy(xs: List) -> List:
    return List(xs.parts, xs.joins)


_METHODS: dict[str, tuple[str, Callable[..., Any]]] = {
    "append": ("x", _append),
    "extend": ("values", extend),
    "insert": ("index, x", _insert),
    "pop": ("index=-1", _pop),
    "remove": ("x", _remove),
    "clear": ("", _clear),
    "reverse": ("", _reverse),
    "index": ("x", _index),
    "count": ("x", _count),
    "sort": ("key=None, reverse=False", _sort),
    "copy": ("", _copy),
}
# Those that a vector of numbers has as well: it becomes a list.
LENGTHENING = frozenset({"append", "extend", "insert", "pop", "remove", "clear"})


class ListMethod:
    """A method of lists, or of texts. It is called with the value, and binds its arguments by name."""

    __slots__ = ("form", "run")

    def __init__(self, name: str, form: str, run: Callable[..., Any], of: str = "xs") -> None:
        self.form = Signature(f"{of}.{name}", f"; {form}")
        self.run = run

    def __call__(self, xs: Any, *args: Any, **keywords: Any) -> Any:
        """Call it; AgradError of kind `arity` where the arguments do not fit."""
        _, given = self.form.bind(args, keywords)
        return self.run(xs, **given)


LIST_METHODS = {name: ListMethod(name, form, run) for name, (form, run) in _METHODS.items()}
