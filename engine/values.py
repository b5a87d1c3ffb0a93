"""Values: a number is a Python `float`, everything else, from one axis on, a float64 `ndarray`.

A scalar calculation does not load numpy: `np` here is a proxy that imports it at first use. Everything that has to
distinguish the two kinds of value, or bring a gradient back to the shape of its value, is in this module.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from mmap import mmap
from struct import Struct
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from agrad.engine.errors import AgradError, Hint, NoneGiven, NotCalled
from agrad.lazy import rare

MISSING = object()  # stands for what is not there, or was not given
WHEN_NUMPY_LOADS: list[Callable[[], None]] = []  # called when numpy is there


class _Loading:
    """How long loading numpy and the like has taken: what the statement that needs it first is not blamed for."""

    def __init__(self) -> None:
        self._taken = 0.0
        self._since: float | None = None  # when what is being loaded began to load
        self._depth = 0
        self.refused = False  # whether it is to fail instead, since somebody waits for a key to show

    @property
    def seconds(self) -> float:
        """All of it so far."""
        since = self._since  # read once, since another thread may end the loading in between
        return self._taken if since is None else self._taken + perf_counter() - since

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self._since = perf_counter()

    def __exit__(self, *failure: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._taken, self._since = self.seconds, None

    def load(self, name: str) -> Any:
        """A module. It is imported in a thread, which Ctrl-C does not interrupt: half an import cannot be repeated.

        Raises what the import raises.
        """
        from importlib import import_module

        problems: list[Exception] = []

        def load() -> None:
            try:
                import_module(name)
            except Exception as problem:
                problems.append(problem)

        with self:
            if name in sys.modules:
                return import_module(name)  # which waits where an import goes on after a Ctrl-C
            from threading import Thread

            thread = Thread(target=load)
            try:
                thread.start()
            except RuntimeError:  # there is no memory for a thread, or there are none
                load()
            else:
                thread.join()
        if problems:
            raise problems[0]
        return sys.modules[name]


LOADING = _Loading()


class NotLoaded(Exception):
    """An operation needs a library that is not there yet, while `LOADING.refused` is set."""


def _keep_memory(make: Callable[[int], object]) -> None:
    """Let glibc reuse the memory of arrays of up to 32 MB, which it else returns, so that each use has to clear it.

    It does so for blocks of the size of the largest that was freed. This one is never written to, and takes no memory.
    """
    with suppress(MemoryError):
        make(4_000_000)


if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
else:

    class _Numpy:
        """numpy, imported when its first attribute is used."""

        def __getattr__(self, name: str) -> Any:
            if "numpy" not in sys.modules:
                if LOADING.refused:
                    raise NotLoaded
                LOADING.load("numpy")
            import numpy

            if not vars(self):
                _keep_memory(numpy.empty)
            for told in WHEN_NUMPY_LOADS:
                told()
            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _Numpy()
    Array = Any

__all__ = ["Array", "np"]  # also imported from here by the other modules

Shape: TypeAlias = "tuple[int, ...]"
Value: TypeAlias = "float | Array"

# What float arithmetic raises where IEEE 754 has an answer (inf or nan).
IEEE = (ZeroDivisionError, ValueError, OverflowError)


def coerce(value: object, copy: bool = True, truths: bool = False) -> Value:
    """The value of a number, or of a (nested) sequence or array of numbers, as a new float or float64 array.

    Without `copy`, a float64 array is returned as it is, and a mask stays one. With `truths`, a copy of a mask is one,
    and an array of booleans becomes one.

    Raises AgradError of kind `type` for what is not a number and of kind `shape` for ragged rows.
    """
    kind = type(value)
    if kind is float:
        return value  # type: ignore[return-value]
    if kind is int or kind is bool:
        return whole_as_float(value)  # type: ignore[arg-type]
    if getattr(kind, "is_object", False) and hasattr(kind, "__array__"):  # a table, which says why it is no array
        value, copy = value.__array__(), False  # type: ignore[attr-defined]
    elif isinstance(value, str | bytes | complex) or value is None or getattr(kind, "is_object", False):
        raise not_a_number("a number is needed here", value)
    if not copy and kind in (np.ndarray, mask_type()) and value.dtype == np.float64 and value.ndim:  # type: ignore[attr-defined]
        return value  # type: ignore[return-value]
    if "numpy.ma" in sys.modules and (kind is list or kind is tuple) and _holds_masked(value):
        _refuse_masked()
    try:
        found = np.asarray(value)
        check_real(value, found)
        if truths and found.ndim and (found.dtype.kind == "b" or kind is mask_type()):
            mask: Any = as_mask(found)
            mask.mixed = getattr(value, "mixed", False)
            return mask  # type: ignore[no-any-return]
        fresh = kind is list or kind is tuple
        array = np.array(found, dtype=np.float64) if copy and not fresh else np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        if "inhomogeneous" in str(error) or "sequence" in str(error):
            raise AgradError("shape", "the rows of an array must have the same length") from None
        facts = NotCalled(getattr(value, "__name__", "f")) if callable(value) else None
        raise AgradError("type", f"numbers are needed here, not {describe(value)}", facts=facts) from None
    except OverflowError:
        numbers = [whole_as_float(entry) if isinstance(entry, int) else entry for entry in found.flat]
        array = np.array(numbers, dtype=np.float64).reshape(found.shape)
    return array if array.ndim else float(array)


_REAL = "biuf"  # the kinds of dtypes whose numbers numpy makes floats of without losing anything
_UNREAL = {
    "c": "real numbers are needed here, and these are complex",
    "M": "numbers are needed here, and these are dates: a difference of two, divided by a unit, is a number",
    "m": "numbers are needed here, and these are spans of time: divide them by a unit, as np.timedelta64(1, 's')",
    "S": "numbers are needed here, and these are texts",
    "U": "numbers are needed here, and these are texts",
    "V": "numbers are needed here, and these are records of several fields",
}


def check_real(value: object, found: Any) -> None:
    """Raise AgradError of kind `type` for an array whose conversion to floats would lose something.

    `found` is what numpy makes of `value`.
    """
    kind = found.dtype.kind
    if "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        _refuse_masked()
    if kind in _REAL:
        return
    if kind in _UNREAL:
        raise AgradError("type", _UNREAL[kind])
    for entry in found.flat:
        if getattr(entry, "requires_grad", False):
            message = "an entry of this array requires grad: as a plain number it would lose its graph"
            raise AgradError("type", message, fixes=[Hint("ag.stack([…])"), Hint("x.detach() for the value alone")])
        if entry is None or isinstance(entry, str | bytes | complex):
            raise AgradError("type", f"numbers are needed here, and one of these is {describe(entry)}")


def _holds_masked(value: Any) -> bool:
    """Whether a list has a masked entry, of which numpy makes nan, with a warning."""
    masked = np.ma.masked
    return any(x is masked or ((type(x) is list or type(x) is tuple) and _holds_masked(x)) for x in value)


def _refuse_masked() -> NoReturn:
    fixes = [
        Hint("a.filled(…) to replace the masked entries by numbers"),
        Hint("a.compressed() for the entries that are not masked"),
    ]
    raise AgradError("type", "numbers are needed here, and some of these are masked", fixes=fixes)


_MASK_TYPE: dict[str, Any] = {}


@cache
def mask_type() -> Any:
    """The type of an array of truths: 1.0 and 0.0 like any other array, but as an index it selects where it is 1.

    It is a class, since `x[[1, 0]]` takes two entries and `x[x > 2]`, with the same numbers, takes one. Products
    of masks, selections of them, and masks put together are masks.

    What arithmetic makes of masks alone, as `1 - m` and `m + n`, is a mask that is `mixed`: these are numbers like any
    other, but as an index they are refused. PyTorch has no `1 - m`, and `m + n` is 1 there where both hold. All other
    arithmetic gives ordinary arrays: in PyTorch, `m*1` are whole numbers, which are places.
    """
    choices, sums = (np.multiply, np.maximum, np.minimum), (np.add, np.subtract)

    class Mask(np.ndarray):
        mixed = False

        def __array_finalize__(self, source: Any) -> None:
            if getattr(source, "mixed", False):
                self.mixed = True

        def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
            if not array.shape:
                return array[()]
            ufunc, given = (context[0], context[1][: context[0].nin]) if context is not None else (None, ())
            alike = [isinstance(x, Mask) for x in given]
            if ufunc in choices and all(alike):
                made = array.view(Mask)
                made.mixed = any(x.mixed for x in given)
                return made
            scalars = [not getattr(x, "shape", ()) for x in given]
            if (ufunc in sums and all(alike)) or (ufunc is np.subtract and True in scalars) or len(given) == 1:
                made = array.view(Mask)
                made.mixed = True
                return made
            return np.asarray(array)

    return _MASK_TYPE.setdefault("Mask", Mask)  # only one, even if two threads use it for the first time at once


def check_truths(array: Any) -> None:
    """Take note of what was written into an array: with other numbers than 1 and 0, a mask is no longer one."""
    if type(array).__name__ == "Mask":
        array.mixed = array.mixed or not bool(np.all((array == 0.0) | (array == 1.0)))


def put_together(made: Any, *parts: Any) -> Any:
    """An array that was made of parts: a mask if all of them are masks, for which numpy makes an ordinary array."""
    if type(parts[-1]).__name__ != "Mask" or not shape_of(made) or any(type(part) is not mask_type() for part in parts):
        return made
    mask = made.view(mask_type())
    mask.mixed = any(part.mixed for part in parts)
    return mask


def as_mask(truths: Any) -> Any:
    """An array of booleans as a mask of 1.0 and 0.0; a single one as a number."""
    if not shape_of(truths):
        return np.float64(truths)
    mask = mask_type()(truths.shape)
    mask[...] = truths
    return mask


def is_mask(value: object) -> bool:
    """Whether a plain value is an array of truths, and of nothing that was computed from such arrays."""
    return type(value).__name__ == "Mask" and not value.mixed  # type: ignore[attr-defined]


def outward(value: Any) -> Any:
    """A plain value as other programs have it: of a mask an array of booleans."""
    if isinstance(value, tuple):
        return tuple(map(outward, value))
    return np.asarray(value).astype(bool) if is_mask(value) else value


def whole_as_float(number: int) -> float:
    """A whole number as a float; one that is too large is infinite."""
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def describe(value: object) -> str:
    """A description of something, in words of the language."""
    if isinstance(value, str | bytes):
        return f'the text "{(value if isinstance(value, str) else repr(value))[:40]}"'
    if value is None:
        return "None"
    if isinstance(value, bool | int | float):
        return f"the number {format_number(float(value))}"
    if type(value).__name__ == "ndarray":
        return f"an array of shape {format_shape(value.shape)}"  # type: ignore[attr-defined]
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if getattr(type(value), "is_object", False):  # of a class, whose name is spelt as it is defined
        name = type(value).__name__
        return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
    if callable(value):
        return f"the function {getattr(value, '__name__', 'f')}"
    return f"a {type(value).__name__.lower()}"


def not_a_number(needed: str, value: object) -> AgradError:
    """The error that something was given where a number is needed; what is needed is said by `needed`."""
    return AgradError("type", f"{needed}, not {describe(value)}", facts=NoneGiven() if value is None else None)


def shape_of(value: Value) -> Shape:
    """() for a scalar."""
    return () if isinstance(value, float) else value.shape


def has_nan(value: Any) -> bool:
    """Whether a plain value is nan, or an entry of it."""
    if isinstance(value, float):
        return value != value
    return hasattr(value, "dtype") and bool(np.isnan(value).any())


def is_finite(value: Any) -> bool:
    """Whether a value, or that of a Tensor, has no inf and no nan; None has none, too."""
    if type(value).__name__ != "ndarray":  # which has no such attribute, and asking for one takes long
        value = getattr(value, "value", value)
    if isinstance(value, float):
        return math.isfinite(value)
    # Of most arrays the sum of the squares says so, in a fraction of the time; it may be too large without it, too.
    return value is None or math.isfinite(np.vdot(value, value)) or bool(np.isfinite(value).all())


def size_of(shape: Shape) -> int:
    """How many entries a shape has."""
    size = 1
    for length in shape:
        size *= length
    return size


def require_room(size: int) -> None:
    """Raise a MemoryError unless the system gives so many bytes, which are given back at once.

    For what a library does not ask for as it should: OpenBLAS ends the process where it finds none, and LAPACK prints.
    """
    try:  # of the system, as those ask: an array may take what was freed before
        mmap(-1, max(size, 1)).close()
    except OSError as error:
        raise MemoryError from error


def settle(value: Any) -> Value:
    """The result of a numpy computation as one of the two kinds: 0-d arrays and numpy scalars become floats."""
    if type(value) is float or (type(value) is np.ndarray and value.shape and value.dtype.char == "d"):
        return value
    if getattr(value, "shape", ()) == ():
        return float(value)
    if value.dtype.char != "d":
        value = value.astype(np.float64)
    return value  # type: ignore[no-any-return]


def sum_to(value: Value, shape: Shape) -> Value:
    """Sum out what broadcasting spread: the transpose of `broadcast_to(·, value.shape)` from `shape`."""
    if not shape and not isinstance(value, float):
        total = np.add.reduce(value, None)
        return total if value.dtype.char == "O" else float(total)  # of symbols, which stand for numbers
    if isinstance(value, float) or value.shape == shape:
        return value
    extra = value.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(
        extra + axis for axis, length in enumerate(shape) if length == 1 and value.shape[extra + axis] != 1
    )
    summed: Array = np.add.reduce(value, axis=axes, keepdims=True) if axes else value
    return summed.reshape(shape)


_PACKED = Struct("d")


def spread(value: Value, shape: Shape) -> Value:
    """`value` as an array of exactly `shape` (read only where it had to be spread), or itself for a scalar."""
    if not shape:
        return value if isinstance(value, float) else float(value.reshape(()))
    if type(value) is float:  # as np.broadcast_to, in a fifth of the time
        return np.ndarray(shape, "d", _PACKED.pack(value), 0, (0,) * len(shape))
    if value.shape != shape:  # type: ignore[union-attr]
        return np.broadcast_to(np.asarray(value), shape)
    return value


def broadcast(*shapes: Shape) -> Shape:
    """The shape that operands of these shapes are spread to; AgradError of kind `shape` where there is none."""
    first = shapes[0]
    if all(shape == first or not shape for shape in shapes):
        return first
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " and ".join(format_shape(shape) for shape in shapes)
        raise AgradError("shape", f"shapes {listed} do not fit together") from None


def fits(shape: Shape, into: Shape) -> bool:
    """Whether a value of one shape can be spread over another."""
    return len(shape) <= len(into) and all(
        length in (1, target) for length, target in zip(shape[::-1], into[::-1], strict=False)
    )


def whole(value: object, what: str) -> int:
    """A whole number (an axis, a size) as an int; AgradError of kind `type` if it is not one."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    number = getattr(value, "value", value)
    is_number = isinstance(number, bool | int | float) or getattr(number, "shape", None) == ()
    if is_number and float(number).is_integer():  # type: ignore[arg-type]
        return int(number)  # type: ignore[call-overload, no-any-return]
    raise not_a_number(f"{what} must be a whole number", number)


# Text

_WHOLE = 2**53  # up to here each whole number is a float


def format_number(number: float, precision: int | None = 10) -> str:
    """At most `precision` significant digits; None for the shortest text that reads back to the same float.

    Whole numbers have no point, and are written in full up to 2**53, beyond which a float may not be the
    number that was meant. A zero has a sign only if the text must read back to the same float.
    """
    if number != number or number in (float("inf"), float("-inf")):
        return str(number)
    if float(number).is_integer() and abs(number) <= _WHOLE:  # an int has no such method before Python 3.12
        return "-0" if precision is None and str(number) == "-0.0" else str(int(number))
    text = repr(number) if precision is None else format(number, f".{precision}g")
    mantissa, e, exponent = text.partition("e")
    mantissa = mantissa.removesuffix(".0")
    return f"{mantissa}e{int(exponent)}" if e else mantissa


def format_bytes(count: float) -> str:
    """In a suitable unit: 96 bytes, 12 kB, 1.5 MB."""
    if count < 10_000:
        return f"{count:.0f} byte{'' if count == 1 else 's'}"
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6)):
        if count >= size:
            return f"{format_number(count / size, 3)} {unit}"
    return f"{format_number(count / 1000, 3)} kB"


def format_shape(shape: Shape) -> str:
    """As it is written in the language: (), (4), (2, 3)."""
    return f"({', '.join(map(str, shape))})"


_EDGE = 3
MANY = 1000
_WIDTH = 80


_MOST_DIGITS = 14  # of a value beside its uncertainty


# How uncertainties are rounded; the last is what the context adds: by the settings of the session that is running.
ROUNDING: list[Callable[[], str]] = [lambda: "two"]
ROUNDINGS: dict[str, Callable[[float], int]] = {
    "two": lambda u: 2,
    "one": lambda u: 1,
    "pdg": lambda u: 1 if "3.55" <= f"{u:.9e}"[:4] <= "9.49" else 2,
}


def format_uncertain(value: float, u: float, precision: int | None = 10, digits: int = 0) -> str:
    """`58.9 ± 3.1`: so many significant digits of the uncertainty, or as `set rounding` says, and the value to that
    place.

    The rule of the Particle Data Group (Review, 5.3): two digits up to 3.54, one up to 9.49, and from there on 10.
    """
    if u == 0.0 or not (math.isfinite(u) and math.isfinite(value)):
        return f"{format_number(value, precision)} ± {format_number(u, precision)}"
    from decimal import Context, Decimal  # here, since few values are uncertain

    rounding = "two" if digits else ROUNDING[-1]()
    if rounding == "pdg" and f"{u:.9e}" >= "9.5":
        u = float(f"1e{int(f'{u:.9e}'[12:]) + 1}")
    digits = digits or ROUNDINGS[rounding](u)
    place = Decimal(f"{u:.{digits - 1}e}").adjusted() - digits + 1  # of the last digit
    rounded = [Decimal(x).quantize(Decimal(1).scaleb(place), context=Context(prec=700)) for x in (value, u)]
    top = max(number.adjusted() for number in rounded if number)
    if top - place > _MOST_DIGITS:
        return f"{format_number(value, precision)} ± {format_number(u, digits)}"
    shift = top if top > 9 or top < -4 else 0  # the power of ten in both
    exponent = f"e{shift}" if shift else ""
    return " ± ".join(f"{(number or abs(number)).scaleb(-shift):f}{exponent}" for number in rounded)


def format_uncertain_as(spec: str, value: float, u: float) -> str:
    r"""A value and its uncertainty by the format of an f-string.

    `.1u` gives one digit of u, and `.3f` both numbers with three decimals. At the end, as in the package uncertainties,
    nothing or `P` is for 58.9 ± 3.1, `S` for 58.9(31), `L` for 58.9 \pm 3.1. Raises ValueError for other formats.
    """
    found = re.fullmatch(r"((?:.?[<>^])?(?:[1-9]\d*)?)(?:\.([1-9])u)?(.*?)([SLP]?)", spec, re.DOTALL)
    assert found is not None  # since its third part takes anything
    width, digits, plain, form = found.groups()
    wrong = ValueError(f"the format {spec!r} is none for a value with its uncertainty")
    if plain and (digits or form == "S"):
        raise wrong
    text = format_uncertain(value, u, 10, int(digits or 0))
    if plain:  # of which the sign is that of the value
        text = f"{format(value, plain)} ± {format(u, plain.replace('+', ''))}"
    parts = text.split(" ± ")
    if form == "S":
        text = _short(*parts)
    elif form == "L":
        (number, shift), (doubt, other) = (part.lower().partition("e")[::2] for part in parts)
        if shift and shift == other:
            text = rf"({number} \pm {doubt}) \times 10^{{{int(shift)}}}"
        else:
            text = r" \pm ".join(map(_in_latex, parts))
    return format(text, f">{width}" if width.isdigit() else width)


def _short(value: str, u: str) -> str:
    """`58.9(31)`; `14.(15)` where brackets could hold a factor, `58.9(0.00031)` where u has more places."""
    (number, shift), (doubt, other) = (part.lower().partition("e")[::2] for part in (value, u))
    if not number.strip("-").replace(".", "").isdigit() or not doubt.replace(".", "").isdigit():
        return f"{number}({doubt})"
    places = len(number.partition(".")[2])
    last = rare.decimal.Decimal(doubt).scaleb(int(other or 0) - int(shift or 0) + places)
    digits = f"{last:f}" if last == int(last) else f"{last.scaleb(-places):f}"
    if "." not in number and (len(digits) >= min(len(number.strip("-")), 7) or "." in digits):
        number += "."
    return f"{number}({digits}){shift and 'e'}{shift}"


def _in_latex(number: str) -> str:
    digits, _, shift = number.lower().partition("e")
    digits = digits.replace("inf", r"\infty").replace("nan", r"\mathrm{nan}").replace("%", r"\%")
    return rf"{digits} \times 10^{{{int(shift)}}}" if shift else digits


def format_value(value: Any, precision: int | Callable[[float], str] | None = 10, u: Any = None) -> str:
    """A scalar as a number, an array in brackets: on one line if that fits 80 columns, else one line per row.

    An array of more than 1000 entries shows the ends of each axis and its shape; one without entries, of several axes,
    its shape. `u`: its uncertainty, in its shape, if it has one. `precision`: significant digits, or how a number is
    written.
    """
    if isinstance(value, float):
        if callable(precision):
            return precision(value)
        return format_number(value, precision) if u is None else format_uncertain(value, float(u), precision)
    if not value.size and value.ndim > 1:
        return f"[]   shape {format_shape(value.shape)}"
    ends = (_EDGE, _EDGE) if value.size > MANY else None
    line = _format_array(value, u, precision, ends, None)
    if value.ndim > 1 and len(line) > _WIDTH:
        line = _format_array(value, u, precision, ends, 1)
    return f"{line}   shape {format_shape(value.shape)}" if ends else line


_ENDS = (_EDGE, _EDGE), (2, 2), (2, 1), (1, 1), (1, 0)  # how many entries a short text has of an array, from each end


def format_short(value: Any, precision: int | None, width: int) -> str:
    """A value on one line of at most `width` columns, if a number has so few: `…` is for entries of an array."""
    if isinstance(value, float) or not value.size:
        return format_value(value, precision)
    texts = (_format_array(value, None, precision, ends, None) for ends in (None, *_ENDS))
    return next((text for text in texts if len(text) <= width), "[…]")


def _format_array(array: Array, u: Any, precision: Any, ends: tuple[int, int] | None, indent: int | None) -> str:
    """The entries of an array in brackets; with an indent, each row of a matrix on its own line.

    `ends`: of a longer axis, how many entries are shown of its beginning and its end.
    """
    head, tail = ends or (len(array), 0)
    skip = len(array) > head + tail
    places = [*range(head), *range(-tail, 0)] if skip else range(len(array))
    entries = [(array[place], None if u is None else u[place]) for place in places]
    if array.ndim == 1:
        parts = [format_value(float(entry), precision, doubt) for entry, doubt in entries]
    else:
        deeper = None if indent is None else indent + 1
        parts = [_format_array(entry, doubt, precision, ends, deeper) for entry, doubt in entries]
    if skip:
        parts.insert(head, "…")
    broken = indent is not None and array.ndim > 1
    return f"[{(',' + chr(10) + ' ' * (indent or 0) if broken else ', ').join(parts)}]"
