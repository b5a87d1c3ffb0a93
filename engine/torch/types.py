"""PyTorch's types of entries, devices, sizes, and errors.

The engine computes with float64 alone. Whole numbers and truths are held as such floats, and a tensor knows which type
PyTorch gives it. Narrower types are other names of these three: float32 is float64, int32 is int64.
"""

from __future__ import annotations

from sys import float_info as _FLOAT
from typing import Any

from agrad.engine.errors import AgradError, PlaceError
from agrad.engine.text import beside, tables
from agrad.engine.values import np, size_of

TABLES = tables(beside(__file__, "functions.txt"))  # of PyTorch's functions


class dtype:  # noqa: N801 - PyTorch's name
    """The type of the entries of a tensor; `rank` orders them, for the type of a result."""

    __slots__ = ("is_complex", "is_floating_point", "itemsize", "name", "rank")

    def __init__(self, name: str, rank: int) -> None:
        self.name, self.rank = name, rank
        self.is_floating_point, self.is_complex = rank == 2, False
        self.itemsize = 8 if rank else 1

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name

    def python(self, number: float) -> float | int | bool:
        """A number as Python has it."""
        return (bool, int, float)[self.rank](number)


bool_, int64, float64 = (dtype(name, rank) for rank, name in enumerate(("bool", "int64", "float64")))
DTYPES = {
    **dict.fromkeys("float64 double float32 float float16 half bfloat16".split(), float64),
    **dict.fromkeys("int64 long int32 int int16 short int8 uint8".split(), int64),
    "bool": bool_,
}
_PYTHON = {bool: bool_, int: int64, float: float64}


def as_dtype(given: Any) -> dtype:
    """A type as users give it: one of these, Python's, or NumPy's."""
    if isinstance(given, dtype):
        return given
    found = _PYTHON.get(given) if isinstance(given, type) else None
    if found is None:
        try:
            found = DTYPES.get(np.dtype(given).name)
        except TypeError:
            found = None
    if found is None:
        raise TypeError(f"a type of torch is needed, not {given!r}")
    return found


def dtype_of(x: Any) -> dtype:
    """That of a tensor, a number, an array, or nested lists of these."""
    found = getattr(x, "kind", None)
    if isinstance(found, dtype):
        return found
    found = getattr(x, "dtype", None)
    if found is not None:
        return (bool_, int64, float64)["biuf".find(found.kind) + 1 >> 1] if found.kind in "biuf" else float64
    if isinstance(x, list | tuple):
        return max([dtype_of(entry) for entry in x], key=lambda one: one.rank, default=float64)
    return int64 if type(x) is range else _PYTHON.get(type(x), float64)


class finfo:  # noqa: N801 - PyTorch's name
    """The limits of float64."""

    eps, max, min, tiny = _FLOAT.epsilon, _FLOAT.max, -_FLOAT.max, _FLOAT.min
    smallest_normal, resolution, bits, dtype = tiny, 1e-15, 64, "float64"

    def __init__(self, type: Any = None) -> None:
        pass

    def __repr__(self) -> str:
        names = "resolution min max eps smallest_normal tiny".split()
        return f"finfo({', '.join(f'{name}={getattr(self, name):g}' for name in names)}, dtype=float64)"


class iinfo:  # noqa: N801 - PyTorch's name
    """The limits of int64."""

    max, min, bits, dtype = 2**63 - 1, -(2**63), 64, "int64"

    def __init__(self, type: Any = None) -> None:
        pass

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype=int64)"


class Size(tuple[int, ...]):
    """A shape."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def numel(self) -> int:
        """How many entries it has."""
        return size_of(self)

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return Size(tuple.__add__(other, self))


class Count(int):
    """`x.size`: the number of entries to the engine, and to PyTorch's users a method."""

    shape: Size

    def __call__(self, dim: int | None = None) -> Any:
        """The shape, or the length along one axis."""
        return self.shape if dim is None else self.shape[dim]


class device:  # noqa: N801 - PyTorch's name
    """The name of where a tensor is: there is the processor alone, and another one is refused where it is used."""

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:
        name, _, number = str(f"cuda:{type}" if isinstance(type, int) else type).partition(":")
        if name not in ("cpu", "cuda", "mps", "xpu", "meta"):
            raise RuntimeError(f"a device is cpu, or cuda, mps, xpu or meta, which are not here; not {name!r}")
        self.type, self.index = name, int(number) if number else index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"


class _TypeError(TypeError, AgradError):
    """A TypeError of Python's with agrad's message."""

    __init__ = AgradError.__init__


class ValueMistake(ValueError, AgradError):
    """A ValueError of Python's with agrad's message."""

    __init__ = AgradError.__init__


class LinAlgError(AgradError):
    """What PyTorch raises where a matrix has no inverse, or no factors."""


_KINDS: dict[str, type[AgradError]] = {"arity": _TypeError, "type": _TypeError, "file": ValueMistake}
_OF_PLACES = (
    "there is no axis", "there is no row", "there is no class", "is out of range", "indices for a value",
    "no entries to index",
    "a mask of shape",
)  # fmt: skip
_OF_VALUES = ("one value a feature", "the target has shape")


def as_pytorch(error: AgradError, operands: Any = (), is_strict: bool = False) -> AgradError:
    """The same error, which is of the class that PyTorch raises, or of arrays NumPy.

    `is_strict`: it is a ValueError, of a wrong argument.
    """
    if type(error) is AgradError:
        of_numpy = any(type(x).__module__ == "numpy" for x in operands)
        kind = _KINDS.get(error.kind, ValueMistake if of_numpy else AgradError)
        kind = ValueMistake if is_strict and error.kind in ("shape", "domain") else kind
        if error.kind == "shape" and not is_strict and any(words in error.message for words in _OF_PLACES):
            kind = PlaceError
        if any(words in error.message for words in _OF_VALUES):
            kind = ValueMistake
        if error.kind == "domain" and error.message.endswith(("singular matrix", "is not positive definite")):
            kind = LinAlgError
        if kind is not AgradError:
            return of_class(kind, error)
    return error


def of_class(kind: type[AgradError], error: AgradError) -> AgradError:
    """The same error as one of another class."""
    made = kind(error.kind, error.message)
    made.__dict__.update(error.__dict__)
    return made.with_traceback(error.__traceback__)
