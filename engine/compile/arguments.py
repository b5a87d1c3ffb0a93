"""How a compiled function is called: its arguments, by place or by name, as a list of numbers and arrays, and back.

An argument, and a result, is a number or an array, or consists of such parts in tuples, dicts and lists. A list of
numbers, also of lists of them, is an array.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Real
from operator import add
from typing import Any

from agrad.engine.errors import AgradError, Hint
from agrad.engine.program.ir import spans
from agrad.engine.program.trace import plain
from agrad.engine.values import Array, Shape, Value, describe, format_shape, np, shape_of, size_of, whole

_LISTED = 4  # names in a fix
PART = object()  # in a template, the place of a number or an array


def parts_of(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The numbers and arrays that a value consists of, each with its name, as `p["w"]`."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from parts_of(one, f"{name}[{key!r}]")
    elif is_composed(value):
        fields = getattr(value, "_fields", None)
        for place, one in enumerate(value):
            yield from parts_of(one, f"{name}.{fields[place]}" if fields else f"{name}[{place}]")
    elif value is not None:
        yield name, value


def is_composed(value: Any) -> bool:
    """Whether a value consists of others."""
    if isinstance(value, list):
        return any(not isinstance(one, Real | list) or is_composed(one) for one in value)
    return isinstance(value, tuple | dict)


def filled(value: Any, parts: Iterator[Any]) -> Any:
    """A value of the same structure with other parts."""
    if isinstance(value, dict):
        return {key: filled(one, parts) for key, one in value.items()}
    if is_composed(value):
        made = [filled(one, parts) for one in value]
        if isinstance(value, list):
            return made
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    return None if value is None else next(parts)


def template(value: Any) -> Any:
    """The structure of a value."""
    return filled(value, iter(lambda: PART, None)) if is_composed(value) else PART


def matched(expected: Any, value: Any) -> Iterator[Any]:
    """The parts of a value that has the structure of another, in its order. Raises Unlike."""
    if isinstance(expected, dict):
        if not isinstance(value, dict) or {*value} != {*expected}:
            raise Unlike
        for key, one in expected.items():
            yield from matched(one, value[key])
    elif is_composed(expected):
        if not isinstance(value, list | tuple) or len(value) != len(expected):
            raise Unlike
        for one, part in zip(expected, value, strict=True):
            yield from matched(one, part)
    elif expected is not None:
        yield value
    elif value is not None:
        raise Unlike


class Unlike(Exception):
    """Raised where a value has another structure than expected."""


class Arguments:
    """The arguments of a function, as in the examples: those by place first, then those by name."""

    def __init__(self, f: Callable[..., Any], examples: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        self.function = f
        self.names = [*names_of(f, len(examples)), *keywords]
        for name in self.names:
            if self.names.count(name) > 1:
                raise AgradError("arity", f"compile: there are two examples of {name}")
        self.by_place = len(examples)
        given = [*examples, *keywords.values()]
        named = [list(parts_of(x, name)) for x, name in zip(given, self.names, strict=True)]
        self.leaf_names = [name for one in named for name, _ in one]
        self.leaves = tuple([copied(plain(x)) for one in named for _, x in one])
        self.templates = [template(x) for x in given]
        self.shapes = [shape_of(x) for x in self.leaves]
        self.places = spans(map(len, named))  # the leaves of each argument
        self.is_flat = not any(is_composed(x) for x in given)

    @property
    def values(self) -> list[Any]:
        """The examples. A number in a list is an array without axes, so that the list is none of numbers."""
        parts = iter([x if self.is_flat else np.asarray(x) for x in self.leaves])
        return [filled(x, parts) for x in self.templates]

    def _called(self, *leaves: Any) -> Any:
        """The result of the function."""
        if self.is_flat and self.by_place == len(self.names):
            return self.function(*leaves)
        parts = iter(leaves)
        args = [filled(x, parts) for x in self.templates]
        named = dict(zip(self.names[self.by_place :], args[self.by_place :], strict=True))
        return self.function(*args[: self.by_place], **named)

    def listed(self, args: Sequence[Any], keywords: Mapping[str, Any], what: str = "arguments") -> Sequence[Any]:
        """The arguments of a call, in the order of their names."""
        if not keywords and len(args) == len(self.names) == self.by_place:
            return args
        count = len(args) + len(keywords)
        names = names_of(self.function, len(args))
        for name in keywords:
            if name not in self.names:
                fixes = [Hint(f"{x}=…") for x in self.names[:_LISTED]]
                raise AgradError("name", f"there is no argument {name}: the function was compiled without", fixes=fixes)
        found = {**dict(zip(names, args, strict=True)), **keywords}
        if len(found) < count or count != len(self.names) or {*found} != {*self.names}:
            raise AgradError("arity", f"{self!r} takes {len(self.names)} {what}, and was given {count}")
        return [found[name] for name in self.names]

    def entered(self, args: Sequence[Any]) -> tuple[Value, ...]:
        """The parts of all arguments as values of the shapes that the function was compiled for."""
        if self.is_flat:
            found = tuple([plain(x) for x in args])
            if [*map(shape_of, found)] == self.shapes:
                return found
        return self.of(args, range(len(self.names)))

    def of(self, args: Sequence[Any], which: Sequence[int], what: str = "") -> tuple[Value, ...]:
        """The parts of what is as some arguments, such as a direction (`what`): values of their shapes."""
        found = [plain(x) for x in self.split(args, which, what)]
        leaves = [leaf for place in which for leaf in self.places[place]]
        for leaf, value in zip(leaves, found, strict=True):
            if shape_of(value) != self.shapes[leaf]:
                have, was = format_shape(shape_of(value)), format_shape(self.shapes[leaf])
                name = f"{what} by {self.leaf_names[leaf]}" if what else self.leaf_names[leaf]
                message = f"{name} has shape {have}, and the function was compiled for {was}"
                fixes = [Hint(f"compile it with an example of shape {have}")] if not what else []
                raise AgradError("shape", message, fixes=fixes)
        return tuple(found)

    def split(self, args: Sequence[Any], which: Sequence[int], what: str = "") -> list[Any]:
        """The parts of what is as some arguments, which are of the structure of the examples."""
        if self.is_flat:
            return list(args)
        found: list[Any] = []
        for place, x in zip(which, args, strict=True):
            try:
                found += matched(self.templates[place], x)
            except Unlike:
                name = f"{what} by {self.names[place]}" if what else self.names[place]
                raise AgradError("type", f"{name} has other parts than the example: it is {describe(x)}") from None
        return found

    def nested(self, leaves: Sequence[Any], which: Sequence[int]) -> list[Any]:
        """What there is for each part of some arguments, in their structure."""
        if self.is_flat:
            return list(leaves)
        parts = iter(leaves)
        return [filled(self.templates[place], parts) for place in which]

    def chosen(self, wrt: Any) -> tuple[tuple[int, ...], bool]:
        """The places of the arguments to differentiate by, and whether it is a single one."""
        count = len(self.names)
        if wrt is None:
            return tuple(range(count)), count == 1
        single = not isinstance(wrt, tuple | list)
        places = []
        for one in (wrt,) if single else wrt:
            if isinstance(one, str):
                if one not in self.names:
                    fixes = [Hint(f'wrt="{x}"') for x in self.names]
                    raise AgradError("name", f"there is no argument {one}", fixes=fixes)
                place = self.names.index(one)
            else:
                place = whole(one, "compile: the number of an argument")
            if not -count <= place < count:
                raise AgradError("arity", f"compile: wrt has argument {place}, and the function takes {count}")
            places.append(place % count)
        return tuple(places), single

    def __repr__(self) -> str:
        ends = [f" of shape {format_shape(shape)}" if shape else "" for shape in self.shapes]
        given = ", ".join(map(add, self.leaf_names, ends))
        return f"<compiled {getattr(self.function, '__name__', 'function')} of {given}>"


class Result:
    """A function as one whose result is the list of the parts of its result, of which it keeps the structure."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments
        self.template: Any = PART
        self.__name__ = getattr(arguments.function, "__name__", "f")

    def __call__(self, *leaves: Any) -> list[Any]:
        """The parts of the result."""
        found = self.arguments._called(*leaves)
        self.template = template(found)
        return [one for _, one in parts_of(found)] if is_composed(found) else [found]


def copied(x: Value) -> Value:
    """The value; an array as one of its own."""
    return x if isinstance(x, float) else x.copy()


def flat(values: Sequence[Value]) -> tuple[float, ...]:
    """All entries of some values."""
    if len(values) == 1 and not isinstance(values[0], float):
        return tuple(values[0].ravel().tolist())
    return tuple([x for value in values for x in ([value] if isinstance(value, float) else value.ravel().tolist())])


def packing(shapes: Sequence[Shape]) -> Callable[..., bytes]:
    """The function from floats and arrays of some shapes to their entries, as the bytes that code reads.

    It raises TypeError, or another error, for all but such numbers and arrays.
    """
    if not any(shapes):
        return struct.Struct(f"{len(shapes)}d").pack
    array, double = np.ndarray, np.dtype(np.float64)
    only = shapes[0] if len(shapes) == 1 else None

    def pack(*values: Any) -> bytes:
        if only is not None and len(values) == 1:
            (one,) = values
            if type(one) is not array or one.shape != only or one.dtype is not double:
                raise TypeError
            return one.tobytes()
        parts = []
        for x, shape in zip(values, shapes, strict=True):
            if not shape and isinstance(x, float):
                parts.append(struct.pack("d", x))
                continue
            if not shape or type(x) is not array or x.shape != shape or x.dtype is not double:
                raise TypeError
            parts.append(x.tobytes())
        return b"".join(parts)

    return pack


def reading(shapes: Sequence[Shape], buffer: Any) -> Callable[[], tuple[Value, ...]]:
    """The function that gives numbers and arrays of some shapes, whose entries code writes into a buffer.

    The buffer may be used again: the arrays are copies of views of it.
    """
    if not any(shapes):
        return partial(struct.Struct(f"{len(shapes)}d").unpack_from, buffer)
    places = spans([8 * size_of(shape) for shape in shapes])
    views = [np.ndarray(shape, "d", buffer, one.start) for one, shape in zip(places, shapes, strict=True)]
    taking = [view.copy if view.shape else view.item for view in views]
    return lambda: tuple([take() for take in taking])


def row_of(columns: Sequence[Array], row: int) -> tuple[Value, ...]:
    """The values of one row of some columns."""
    return tuple([float(x[row]) if x.ndim == 1 else np.ascontiguousarray(x[row], np.float64) for x in columns])


def names_of(f: Callable[..., Any], count: int) -> list[str]:
    """The names of the arguments of a function."""
    code, first = getattr(f, "__code__", None), int(getattr(f, "__self__", None) is not None)
    names = list(code.co_varnames[first : code.co_argcount])[:count] if code is not None else []
    rest = "x" if count - len(names) == 1 and "x" not in names else ""
    return names + [rest or f"x{place}" for place in range(len(names), count)]
