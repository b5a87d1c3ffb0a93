"""The operators and builtins of a script of Python: they do in steps, or refuse, what would take more memory or time
than a statement may, and reach what code of the script could reach.
"""

from __future__ import annotations

import builtins as real
import operator
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from types import FunctionType
from typing import Any, NoReturn

from agrad.engine.core.context import current
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.grammar import reach
from agrad.grammar.reach import is_special
from agrad.grammar.results import Complained, Printed
from agrad.grammar.runtime import modules

MANY = 1_000_000  # values of an iterator that runs no code of Python; also characters that a format fills up to
_BITS = 4_000_000  # of a whole number: arithmetic on larger ones takes seconds, and nothing can stop it
_TOLD = reach.reachable("special") | reach.reachable("told")
_formats: Any = import_module("_string")  # what the formats of texts are made of
_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}
_NUMBERED = "manual field specification", "automatic field numbering"
# The operators that Python has for those of its tree.
_REAL = {name: name for name in "add sub matmul mod pow lshift rshift xor floordiv".split()}
_REAL |= {"mult": "mul", "div": "truediv", "bitor": "or", "bitxor": "xor", "bitand": "and"}


class Large(AgradError, MemoryError):
    """A result that would be too large: a MemoryError to the script."""


class Exit(BaseException):
    """`exit(code)`: no script catches it."""


class StandIn(type):
    """The type of what stands for a type of Python, `real`, whose values are its own, too."""

    real: type

    def __init__(cls, *_: Any) -> None:
        cls.__name__ = cls.real.__name__

    def __instancecheck__(cls, value: object) -> bool:
        return type(value) is cls or isinstance(value, cls.real)

    def __subclasscheck__(cls, kind: type) -> bool:
        return kind is cls or issubclass(kind, cls.real)

    def __repr__(cls) -> str:
        return repr(cls.real)


class Range(metaclass=StandIn):
    """A range: Python's own where it is short; one that is long runs code of Python for each number."""

    __slots__ = ("numbers",)
    __module__, __qualname__ = "builtins", "range"  # as an error of a call names it
    real = range
    numbers: Any  # the range of Python

    def __new__(cls, *args: Any) -> Any:
        """A range of Python, or one of these."""
        return cls.of(range(*args))

    @classmethod
    def of(cls, numbers: range) -> Any:
        """What stands for a range of Python."""
        if max((numbers.stop - numbers.start) // numbers.step, 0) <= MANY:  # `len` has a limit
            return numbers
        made = object.__new__(cls)
        made.numbers = numbers
        return made

    def __getattr__(self, name: str) -> Any:
        """`start`, `stop`, `step`, `index`, `count`."""
        return getattr(self.numbers, name)

    def __len__(self) -> int:
        return len(self.numbers)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: Any) -> Any:
        found = self.numbers[index]
        return self.of(found) if type(found) is range else found

    def __iter__(self) -> Iterator[int]:
        return modules.through(self.numbers)

    def __reversed__(self) -> Iterator[int]:
        return modules.through(reversed(self.numbers))

    def __contains__(self, value: object) -> bool:
        return type(value) is int and value in self.numbers

    def __eq__(self, other: object) -> bool:
        return type(other) is Range and other.numbers == self.numbers

    def __hash__(self) -> int:
        return hash(self.numbers)

    def __repr__(self) -> str:
        return repr(self.numbers)


Sequence.register(Range)


class Map(metaclass=StandIn):
    """A map: Python's own where its function is a script's, or takes no time; else each value passes code of Python."""

    __slots__ = ("before", "held", "last", "values")
    __module__, __qualname__ = "builtins", "map"
    real = map
    values: Iterator[Any]
    last: Any  # the last value, if it has a length: a loop has it until the next one comes
    before: Any  # the one before it
    held: int  # the entries of those before that are still there

    def __new__(cls, *given: Any, **options: Any) -> Any:
        """A map of Python, or one of these."""
        values, function = map(*given, **options), given[0]
        is_ours = type(function) is FunctionType and type(function.__code__.co_filename) is not str
        if is_ours or any(function is one for one in _QUICK):
            return values
        made = object.__new__(cls)
        made.values, made.last, made.before, made.held = values, None, None, 0
        return made

    def __iter__(self) -> Any:
        return self

    __copy__ = __iter__  # a copy of Python's goes on in the same values

    def __next__(self) -> Any:
        modules.look()
        found = next(self.values)
        if self.before is not None and sys.getrefcount(self.before) > 2:
            self.held += len(self.before)
            afford(self.held, "these values")
        self.before, self.last = self.last, found if type(found) in _LISTED else None
        return found


_QUICK = (int, float, bool, abs, len, ord, chr)
_LISTED = frozenset({list, tuple, set, frozenset, dict})


def large(message: str) -> Large:
    """The error for what would be too large."""
    return Large("limit", message)


def afford(entries: float, what: str) -> None:
    """Refuse a sequence of more entries than there may be."""
    limits = current().limits
    if entries > limits.entries:
        raise large(f"{what} would need more memory than the limit of {limits.memory / 1e9:.3g} GB")


def afford_text(characters: float) -> None:
    """Refuse a text of more characters than there may be."""
    afford(characters / 8, "this text")


def afford_bits(bits: int) -> None:
    """Refuse a whole number that would be too long."""
    if bits > _BITS:
        raise large(f"a whole number of more than {_BITS} bits")


# How many characters a method makes of a text, or more.
LENGTHS: dict[str, Callable[..., float]] = {
    "replace": lambda text, old, new, *_, **__: text.count(old) * len(new),
    "translate": lambda text, table: len(text) * max([1, *(len(one) for one in table.values() if type(one) is str)]),
    "expandtabs": lambda text, tabsize=8: text.count("\t") * operator.index(tabsize),
    **dict.fromkeys(("center", "ljust", "rjust", "zfill"), lambda text, width, *_: operator.index(width)),
    **dict.fromkeys(("sub", "subn", "expand"), lambda *_, **__: 0),  # which import, as no frame of a script can
}


def afford_method(name: str, *args: Any, **more: Any) -> None:
    """Refuse a method that makes too long a text; one whose arguments do not fit refuses them itself."""
    with suppress(TypeError):
        afford_text(LENGTHS[name](*args, **more))


class Type(metaclass=StandIn):
    """`type` as a script has it: it tells types, and makes none."""

    real = type

    def __new__(cls, *args: Any) -> Any:
        """The type of a value."""
        if len(args) != 1:
            raise TypeError("type() takes 1 argument here: classes are made by `class`")
        return cls.of(args[0])  # type: ignore[attr-defined]


class Attributes(dict[str, Any]):
    """`vars(x)`: what is written into it, the object gets, but for names to which libraries give a meaning."""

    __slots__ = ("_mine", "_of")

    def __init__(self, of: Any, mine: Callable[[Any, str], Any]) -> None:
        super().__init__(vars(of))
        self._of, self._mine = of, mine

    def __setitem__(self, name: str, value: Any) -> None:
        if type(name) is not str or is_special(name):
            raise AttributeError(f"an object has no attribute {name!r} here")
        vars(self._mine(self._of, name))[name] = value
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        del vars(self._mine(self._of, name))[name]

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc]
        self.update(other)
        return self

    def popitem(self) -> tuple[str, Any]:
        """The last attribute, which the object loses."""
        name = next(reversed(self))
        return name, self.pop(name)

    def pop(self, name: str, *default: Any) -> Any:
        """The attribute, which the object loses."""
        found = super().pop(name, *default)
        vars(self._mine(self._of, name)).pop(name, None)
        return found

    def clear(self) -> None:
        """Take all attributes from the object."""
        for name in [*self]:
            del self[name]

    update, setdefault = MutableMapping.update, MutableMapping.setdefault  # which call these


def _index(times: Any) -> Any:
    """How often a sequence is repeated, as an object says that has no product of its own."""
    kind = type(times)
    if hasattr(kind, "__index__") and not hasattr(kind, "__rmul__"):
        return operator.index(times)
    return times


class Builtins:
    """The builtins, as methods of the machine of a script, of which they know this."""

    session: Any
    open: set[Any]
    on_attr: Any
    on_mine: Any
    logged: Any
    names_of: Any
    quick: set[Any]

    def mult(self, a: Any, b: Any, in_place: Any = None) -> Any:
        """`a * b`, or `a *= b`."""
        if isinstance(a, Tensor):
            self.quick.add(type(a))
        elif isinstance(b, Tensor):
            self.quick.add(type(b))
        elif isinstance(a, int) and isinstance(b, int):
            afford_bits(a.bit_length() + b.bit_length())
        elif float not in (type(a), type(b)):
            for x, times in ((a, b), (b, a)):
                if isinstance(x, str | list | tuple | deque | bytes):
                    times = times if isinstance(times, int) else _index(times)
                    count = times if isinstance(times, int) else 0
                    afford(len(x) * count / (8 if isinstance(x, str | bytes) else 1), "this")
        return a * b if in_place is None else in_place(a, b)

    def pow(self, a: Any, b: Any, in_place: Any = None) -> Any:
        """`a ** b`, or `a **= b`."""
        if isinstance(a, int) and isinstance(b, int):
            afford_bits((abs(a).bit_length() - 1) * b)
        return a**b if in_place is None else in_place(a, b)

    def lshift(self, a: Any, b: Any, in_place: Any = None) -> Any:
        """`a << b`, or `a <<= b`."""
        if isinstance(a, int) and isinstance(b, int) and a:
            afford_bits(a.bit_length() + b)
        return a << b if in_place is None else in_place(a, b)

    def mod(self, a: Any, b: Any, in_place: Any = None) -> Any:
        """`a % b`: the remainder, or a format."""
        if isinstance(a, str | bytes):
            self.on_spec(a if isinstance(a, str) else a.decode("latin-1"))
            if b"*" in a if isinstance(a, bytes) else "*" in a:
                for one in b if isinstance(b, tuple) else (b,):
                    if isinstance(one, int) and abs(one) > MANY:
                        raise large("so wide a field")
        return a % b if in_place is None else in_place(a, b)

    @staticmethod
    def floordiv(a: Any, b: Any, in_place: Any = None) -> Any:
        """`a // b`, in a frame that can import."""
        return a // b if in_place is None else in_place(a, b)

    def _in_place(self, name: str) -> Callable[[Any, Any], Any]:
        function = getattr(operator, f"i{_REAL[name]}")
        checked: Any = getattr(self, name, None)

        def apply(a: Any, b: Any) -> Any:
            self.logged(a)
            return function(a, b) if checked is None else checked(a, b, function)

        return apply

    def functions(self) -> dict[str, Any]:
        """The functions by their names, and those of operators that change what they get."""
        found: dict[str, Any] = {f".i{name}": self._in_place(name) for name in _REAL}
        found |= {name: getattr(real, name) for name in reach.reachable("builtins")}
        for name in "getattr hasattr setattr delattr vars dir help print sorted sum iter round format exit".split():
            getattr(Builtins, name).__qualname__ = name  # as an error of a call names it
            found[name] = modules.named(getattr(self, name), name)
        Builtins.power.__qualname__ = "pow"
        found["divmod"] = modules.named(divmod, "divmod")  # as `floordiv`
        found |= {"range": Range, "map": Map, "pow": modules.named(self.power, "pow"), "quit": found["exit"]}
        found["SystemExit"] = found["exit"]  # in `raise SystemExit(3)`
        return found | {name: modules.named(partial(self._best, getattr(real, name)), name) for name in ("max", "min")}

    def getattr(self, x: Any, name: Any, *default: Any) -> Any:
        """`getattr`."""
        self._checked_name(name)
        try:
            return self.on_attr(x, name)
        except AttributeError:
            if default:
                return default[0]
            raise

    def hasattr(self, x: Any, name: Any) -> bool:
        """`hasattr`."""
        return self.getattr(x, name, Builtins) is not Builtins

    def setattr(self, x: Any, name: Any, value: Any) -> None:
        """`setattr`."""
        setattr(self.on_mine(x, self._checked_name(name, True)), name, value)

    def delattr(self, x: Any, name: Any) -> None:
        """`delattr`."""
        delattr(self.on_mine(x, self._checked_name(name, True)), name)

    @staticmethod
    def _checked_name(name: Any, written: bool = False) -> str:
        if type(name) is not str:
            raise TypeError(f"attribute name must be string, not {type(name).__name__!r}")
        if is_special(name) and (written or name[2:-2] not in _TOLD):
            raise AttributeError(f".{name} cannot be reached")
        return name

    def vars(self, x: Any = None) -> Any:
        """`vars(x)`."""
        if type(x) not in self.open:
            raise TypeError("vars() argument must be an object of a class of the script")
        return Attributes(x, self.on_mine)

    def print(self, *values: Any, sep: Any = " ", end: Any = "\n", file: Any = None, flush: Any = False) -> None:
        """`print`."""
        name = getattr(file, ".name", "")
        if file is not None and name not in ("sys.stdout", "sys.stderr"):
            raise TypeError("print writes into no file here")
        between, after = " " if sep is None else sep, "\n" if end is None else end
        if not (isinstance(between, str) and isinstance(after, str)):
            wrong = ("sep", sep) if not isinstance(between, str) else ("end", end)
            raise TypeError(f"{wrong[0]} must be None or a string, not {type(wrong[1]).__name__}")
        pieces: list[str] = []
        try:
            for value in values:
                pieces += [str(value), between]
            pieces[-1:] = [after] if pieces else []
            pieces = pieces or [after]
        finally:  # a part may have failed: those before it are shown
            self.session.machine.write("".join(pieces), Complained if name == "sys.stderr" else Printed)

    def sorted(self, iterable: Iterable[Any], /, *, key: Any = None, reverse: Any = False) -> list[Any]:
        """`sorted`, whose key is called from Python: a sort of C's takes much of its stack."""
        values = list(iterable)
        if key is None:
            values.sort(reverse=reverse)
            return values
        keys = [key(one) for one in values]
        order = sorted(range(len(values)), key=keys.__getitem__, reverse=reverse)
        return [values[place] for place in order]

    @staticmethod
    def _best(function: Any, *args: Any, key: Any = None, **options: Any) -> Any:
        """`max` or `min`, whose key is called from Python, too."""
        if key is None:
            return function(*args, **options)
        values = list(args[0] if len(args) == 1 else args)
        keys = [key(one) for one in values]
        return values[function(range(len(keys)), key=keys.__getitem__)] if keys else function(values, **options)

    def sum(self, iterable: Iterable[Any], /, start: Any = 0) -> Any:
        """`sum`: of what is longer after each step, in steps."""
        if isinstance(start, str | list | tuple):
            if isinstance(start, str):
                return sum(iterable, start)
            for one in iterable:
                start = start + one
                afford(len(start), "this sum")
            return start
        return sum(iterable, start)

    def iter(self, x: Any, *sentinel: Any) -> Iterator[Any]:
        """`iter`."""
        return modules.through(iter(x, *sentinel)) if sentinel else iter(x)

    def power(self, base: Any, exp: Any, mod: Any = None) -> Any:
        """`pow`."""
        if mod is None:
            return self.pow(base, exp)
        sizes = [one.bit_length() for one in (exp, mod) if isinstance(one, int)]
        if len(sizes) == 2 and sizes[0] * sizes[1] ** 2 > 1e12:
            raise large("so large a power")
        return pow(base, exp, mod)

    def round(self, number: Any, ndigits: Any = None) -> Any:
        """`round`."""
        if isinstance(number, int) and isinstance(ndigits, int) and ndigits < -MANY:
            return 0
        return round(number, ndigits) if ndigits is not None else round(number)

    def dir(self, *given: Any) -> list[str]:
        """`dir`: the names of the session, or the attributes of a value that a script may know."""
        return sorted(self.names_of(given[0]) if given else self.session.names)

    def help(self, x: Any = None) -> None:
        """`help`: how a function is called, and what it does."""
        text = getattr(x, "__doc__", None)
        name = getattr(x, "__name__", type(x).__name__)
        self.print(text.strip() if isinstance(text, str) and text.strip() else f"there is no help on {name}")

    def exit(self, code: Any = None, /) -> NoReturn:
        """`exit(code)`."""
        if code is not None and not isinstance(code, int):
            self.session.machine.write(f"{code}\n", Complained)
            code = 1
        raise Exit(255 if abs(code or 0) >> 63 else (code or 0) & 255)  # so does Python, of more than C's long

    @staticmethod
    def on_spec(text: Any) -> str:
        """A format, unless it asks for very many characters."""
        if type(text) is str and re.search(r"\d{7}", text):
            raise large("so wide a field")
        return text  # type: ignore[no-any-return]

    def format(self, value: Any, spec: Any = "", /) -> str:
        """`format`."""
        return format(value, self.on_spec(spec))

    def _str_format(self, text: str, /, *args: Any, **options: Any) -> str:
        return self._fill(text, args, options, [], 2)

    def _str_format_map(self, text: str, mapping: Any, /) -> str:
        return self._fill(text, (), mapping, [], 2)

    def _fill(self, text: str, args: Any, options: Any, used: list[str], depth: int) -> str:
        """A text with its fields, which reach what code could reach; `used`: in which way they are numbered."""
        if depth <= 0:
            raise ValueError("Max string recursion exceeded")
        pieces = []
        for literal, field, spec, conversion in _formats.formatter_parser(text):
            pieces.append(literal)
            if field is None:
                continue
            first, rest = _formats.formatter_field_name_split(field)
            if type(first) is int or first == "":
                way = _NUMBERED[first == ""]
                if used and used[0] != way:
                    raise ValueError(f"cannot switch from {used[0]} to {way}")
                used.append(way)
                first = first if first != "" else len(used) - 1
                if first >= len(args):
                    raise IndexError(f"Replacement index {first} out of range for positional args tuple")
                value = args[first]
            else:
                value = options[first]
            for is_attribute, part in rest:
                value = self.getattr(value, part) if is_attribute else value[part]
            if conversion and conversion not in _CONVERSIONS:
                raise ValueError(f"Unknown conversion specifier {conversion}")
            value = _CONVERSIONS[conversion](value) if conversion else value
            pieces.append(self.format(value, self._fill(spec, args, options, used, depth - 1) if spec else ""))
        return "".join(pieces)

    def _str_join(self, text: str, parts: Iterable[Any], /) -> str:
        parts = parts if type(parts) in (list, tuple) else list(parts)
        afford_text(len(text) * len(parts))  # type: ignore[arg-type]
        return text.join(parts)

    @staticmethod
    def _coding(name: Any) -> Any:
        known = ("utf8", "utf16", "utf32", "ascii", "latin1", "iso88591")
        if str(name).lower().replace("-", "").replace("_", "") not in known:
            raise LookupError(f"unknown encoding: {name}")
        return name

    def _str_encode(self, text: str, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return text.encode(self._coding(encoding), errors)

    def _bytes_decode(self, text: bytes, encoding: str = "utf-8", errors: str = "strict") -> str:
        return text.decode(self._coding(encoding), errors)

    def _list_sort(self, values: list[Any], /, *more: Any, key: Any = None, reverse: Any = False) -> None:
        if more:
            values.sort(*more)  # which refuses them
        found = self.sorted(values, key=key, reverse=reverse)
        if len(found) != len(values):
            raise ValueError("list modified during sort")
        self.logged(values)[:] = found
