"""`ndarray`: a tensor as NumPy has it, with its printed form, its names of attributes, and values that hash."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from agrad.engine.core import tensor as core
from agrad.engine.core.context import remember_entry
from agrad.engine.core.op import Op
from agrad.engine.values import np as real
from agrad.torch.printing import MOST_DIGITS
from agrad.torch.tensor import Tensor, as_array, as_numbers
from agrad.torch.types import DTYPES as OF_TORCH
from agrad.torch.types import as_dtype, bool_, float64, int64

NUMPY: dict[str, Any] = {}  # the functions, which `functions` makes
RANKS: dict[Any, int] = {bool: 0, int: 1, float: 2}


class dtype:  # noqa: N801 - NumPy's name
    """The type of the entries of an array, which converts numbers when it is called."""

    __slots__ = ("name", "of")
    kind = property(lambda self: "bif"[self.of.rank])
    _class = property(lambda self: DTYPES[("bool_", "int64", "float64")[self.of.rank]])
    shape, ndim = (), 0

    def __init__(self, name: str) -> None:
        self.name, self.of = name, as_dtype(OF_TORCH[name.rstrip("_")])

    def __call__(self, x: Any = 0) -> Any:
        """A number, or an array, of this type."""
        return x.astype(self) if isinstance(x, Entries) else wrapped(dtype_in_numpy(self)(self.of.python(x)))

    def __eq__(self, other: object) -> bool:
        known = isinstance(other, dtype) or (isinstance(other, str | type) and (other in DTYPES or other in RANKS))
        return known and _kind(other) is self.of

    def __hash__(self) -> int:
        return hash(self.of)

    def __instancecheck__(self, x: Any) -> bool:
        """Whether a value is one number of this type."""
        return type(x) is number and x.kind is self.of

    def __repr__(self) -> str:
        return f"dtype('{self.name}')"

    def __str__(self) -> str:
        return self.name


class generic(dtype):  # noqa: N801 - NumPy's name
    """The class of single numbers of a type, which stands for the type itself."""

    __slots__ = ()
    __name__ = property(lambda self: self.name)

    def __repr__(self) -> str:
        return f"<class 'numpy.{self.name}'>"

    __str__ = __repr__


DTYPES: dict[Any, dtype] = {
    name: generic(name.rstrip("_")) for name in "bool_ int64 int32 int16 int8 uint8 float64 float32 float16".split()
}
DTYPES["int_"] = DTYPES["int64"]
_DTYPES = {kind: dtype(kind.name) for kind in (bool_, int64, float64)}


def _kind(given: Any) -> Any:
    """A type that is given, as PyTorch has it: by a name of a list, and none else."""
    if isinstance(given, dtype):
        return given.of
    if given in RANKS:
        return (bool_, int64, float64)[RANKS[given]]
    if type(given) is str and (given in OF_TORCH or given in DTYPES):
        return OF_TORCH.get(given) or DTYPES[given].of
    raise TypeError(f"np.float64, np.int64 and np.bool_ are the types of arrays, not {given!r}")


def dtype_in_numpy(given: Any) -> Any:
    """A type as NumPy itself has it."""
    return (real.bool_, real.int64, real.float64)[_kind(given).rank]


_NAMED: dict[str, Any] = {}  # the types of several results


def wrapped(found: Any) -> Any:
    """What NumPy has computed, as tensors; lists, tuples and plain numbers of Python as they are."""
    if isinstance(found, core.Tensor) or found is None or type(found) in (str, float, int, bool):
        return found
    if hasattr(found, "_fields"):
        name, fields = type(found).__name__, found._fields
        return _NAMED.setdefault(name, namedtuple(name, fields, module=__name__))(*map(wrapped, found))
    if isinstance(found, tuple | list):
        return (
            type(found)([wrapped(one) for one in found]) if type(found) in (tuple, list) else tuple(map(wrapped, found))
        )
    array = real.asarray(found)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"arrays hold float64, int64 or truths in agrad, not {array.dtype}")
    kind = (bool_, int64, float64)["biuf".index(array.dtype.kind) + 1 >> 1]
    value = real.array(array, dtype=real.float64, order="C")
    return as_numpys(Tensor.of(value if value.shape else float(value), kind), isinstance(found, real.generic))


def as_numpys(x: Any, is_number: bool) -> Any:
    """A tensor as an array, or as one of NumPy's numbers."""
    OF_CLASS.__set__(x, number if is_number else ndarray)
    return x


OF_TENSORS: Any = Tensor
OF_CLASS: Any = object.__dict__["__class__"]
PRINTED: dict[str, Any] = {}  # what a script has set
_PRINTED = frozenset("precision threshold edgeitems linewidth suppress nanstr infstr sign floatmode".split())


def set_printoptions(precision: Any = None, threshold: Any = None, edgeitems: Any = None, **given: Any) -> None:
    """How many digits and entries are printed."""
    given |= {"precision": precision, "threshold": threshold, "edgeitems": edgeitems}
    given = {name: value for name, value in given.items() if value is not None}
    if not given.keys() <= _PRINTED or not all(type(value) in (int, float, bool, str) for value in given.values()):
        raise TypeError("np.set_printoptions takes numbers and names alone")
    if not 0 <= given.get("precision", 0) <= MOST_DIGITS:
        raise ValueError(f"np.set_printoptions: precision is from 0 to {MOST_DIGITS}")
    with real.printoptions(**given):  # which refuses what it does not take
        pass
    for name, value in given.items():
        remember_entry(PRINTED, name)
        PRINTED[name] = value


class Entries(Tensor):
    """What arrays and NumPy's numbers have in common: float64, int64 or truths."""

    __slots__ = ()
    __module__ = "numpy"

    @classmethod
    def made(cls, op: Op, operands: tuple[Any, ...], attrs: dict[str, Any], result: core.Tensor) -> Any:
        """The result of an operation: of a tensor of torch's among the operands, such a one."""
        found = Tensor.made(op, operands, attrs, result)
        is_torch = any(type(x) is Tensor for x in operands)
        return found if is_torch else as_numpys(found, not found.node.shape)

    @property
    def shape(self) -> Any:
        """The lengths along its axes."""
        return tuple(self.node.shape)

    @property
    def size(self) -> int:
        """How many entries it has."""
        return int(Tensor.size.fget(self))  # type: ignore[attr-defined]

    @property
    def dtype(self) -> Any:  # type: ignore[override]
        """The type of the entries, as NumPy prints it."""
        return _DTYPES[self.kind]

    def __repr__(self) -> str:
        with real.printoptions(**PRINTED):
            return repr(plain(self))

    def __str__(self) -> str:
        with real.printoptions(**PRINTED):
            return str(as_array(self))

    def __format__(self, form: str) -> str:
        return str(self) if self.node.shape and not form else format(self.item(), form)

    def __hash__(self) -> int:
        if self.requires_grad:
            return object.__hash__(self)
        if type(self) is ndarray:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        return hash(self.item())

    def __iter__(self) -> Any:
        """The rows, or numbers, which do not change with the array."""
        if not self.node.shape or self.requires_grad:
            return Tensor.__iter__(self)
        if self.node.shape[1:]:
            return (self[place] for place in range(len(self)))
        whole: Any = self
        return (as_numpys(Tensor.of(float(whole.value[place]), whole.kind), True) for place in range(len(self)))

    def __float__(self) -> float:
        return float(as_array(self))

    def __int__(self) -> int:
        return int(as_array(self))

    def __bool__(self) -> bool:
        return bool(as_array(self))

    def __round__(self, digits: Any = None) -> Any:
        return wrapped(round(plain(self), digits) if digits is not None else round(plain(self)))

    def flatten(self) -> Any:
        """A copy with one axis."""
        return self.copy().reshape(-1)

    def ravel(self) -> Any:
        """One axis: for the same data where these are one after the other, else a copy."""
        return (self if self.is_contiguous() else self.clone()).reshape(-1)

    def changeable(self) -> Any:
        """Itself; of a number, which does not change, a copy."""
        return self.clone() if type(self) is number else self

    def reshape(self, *shape: Any, **keywords: Any) -> Any:
        """Other axes for the same data."""
        try:
            return as_numpys(OF_TENSORS.reshape(self.changeable(), *shape, **keywords), False)
        except RuntimeError as error:
            raise ValueError(str(error)) from None

    def astype(self, kind: Any) -> Any:  # type: ignore[override]
        """A copy of another type."""
        if self.requires_grad and _kind(kind) is float64:
            return self.clone()
        return wrapped(plain(self).astype(dtype_in_numpy(kind)))

    def item(self, *place: Any) -> Any:
        """One entry as a number of Python."""
        return as_array(self).item(*place)

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order; in the opposite one, where none is given."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        real.transpose(real.broadcast_to(0.0, self.shape), order)  # which refuses what is no order
        found = OF_TENSORS.T.__get__(self) if order is None else self.permute(*order)
        return as_numpys(found, type(self) is number)

    T = property(transpose)

    def copy(self) -> Any:
        """A copy, through which gradients flow."""
        return self.clone() if self.requires_grad else wrapped(plain(self))

    def __deepcopy__(self, memo: Any = None) -> Any:
        return Tensor.__deepcopy__(self, memo) if self.requires_grad else self.copy()

    __copy__ = __deepcopy__
    conj = conjugate = copy
    imag = property(lambda self: as_numpys(NUMPY["zeros_like"](self), type(self) is number))

    def numpy(self, **_: Any) -> Any:
        """The entries for NumPy."""
        return as_array(self)

    def view(self, *_: Any) -> Any:
        """Refused: other names of the same bytes."""
        raise TypeError("arrays have no view() in agrad\n  fix: reshape, or astype")

    def fill(self, value: Any) -> None:
        """One number everywhere."""
        self[...] = value

    def sort(self, axis: int = -1) -> None:  # type: ignore[override]
        """Put the entries into order."""
        self[...] = NUMPY["sort"](self, axis=axis)

    def tolist(self) -> Any:
        """The entries in nested lists."""
        return as_array(self).tolist()


def plain(x: Any) -> Any:
    """The entries as NumPy has them: an array, or one of its numbers."""
    return as_numbers(x)[()] if type(x) is number else as_numbers(x)


class ndarray(Entries):  # noqa: N801 - NumPy's name
    """An array of float64, int64 or truths."""

    __slots__ = ()
    __module__ = "numpy"


class number(Entries):  # noqa: N801 - NumPy's name
    """One of NumPy's numbers, which a function gives in the place of an array without axes."""

    __slots__ = ()
    __module__ = "numpy"

    @property
    def __class__(self) -> Any:
        """What `isinstance` asks: np.float64 is a float of Python's, too."""
        return float if self.kind is float64 and not self.requires_grad else type(self)

    @__class__.setter
    def __class__(self, kind: Any) -> None:
        OF_CLASS.__set__(self, kind)

    dot = property()  # which arrays alone have

    def fill(self, value: Any) -> None:
        """Nothing, as in NumPy: a number does not change."""


def item_of_tensor(x: Any, index: Any) -> Any:
    """`x[index]` with its graph."""
    parts = index if isinstance(index, tuple) else (index,)
    is_reversed = any(isinstance(one, slice) and isinstance(one.step, int) and one.step < 0 for one in parts)
    found = (core.Tensor if is_reversed else Tensor).__getitem__(x, index)
    return as_numpys(found, not found.node.shape)


class _Joined:
    """`np.c_[…]` and `np.r_[…]`: arrays, numbers and ranges joined along the last axis, or the first."""

    def __init__(self, axis: int) -> None:
        self._axis = axis

    def __getitem__(self, parts: Any) -> Any:
        given = [self._part(one) for one in (parts if isinstance(parts, tuple) else (parts,))]
        return NUMPY["concatenate"](given, axis=self._axis)

    def _part(self, one: Any) -> Any:
        if isinstance(one, slice):
            start, stop, step = one.start or 0, one.stop, 1 if one.step is None else one.step
            is_count = isinstance(step, complex)
            one = NUMPY["linspace"](start, stop, int(abs(step))) if is_count else NUMPY["arange"](start, stop, step)
        one = NUMPY["atleast_1d"](one)
        return NUMPY["reshape"](one, (-1, 1)) if self._axis and one.ndim == 1 else one


c_, r_ = _Joined(-1), _Joined(0)


def _by_numpy(name: str) -> Any:
    """A method that is a function of NumPy."""

    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        return NUMPY[name](self, *args, **keywords)

    method.__name__, method.__doc__ = name, f"NumPy's {name}."
    return method


for _name in (
    "all any argmax argmin argsort clip cumprod cumsum diagonal dot max mean min nonzero prod repeat round"
    " searchsorted squeeze std sum swapaxes take trace var"
).split():
    setattr(Entries, _name, _by_numpy(_name))
