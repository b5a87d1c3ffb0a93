"""NumPy's functions over tensors: tables of them, which `agrad.numpy` has as its names."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import cache, partial, reduce
from typing import Any

from agrad.engine import units
from agrad.engine.core import tensor as core
from agrad.engine.core.context import afford, current
from agrad.engine.ops.data_files import load_text
from agrad.engine.text import beside, tables
from agrad.engine.values import np as real
from agrad.engine.values import size_of
from agrad.numpy.arrays import (
    DTYPES,
    NUMPY,
    RANKS,
    Entries,
    as_numpys,
    dtype,
    dtype_in_numpy,
    item_of_tensor,
    ndarray,
    number,
    plain,
    wrapped,
)
from agrad.torch.registry import engine
from agrad.torch.tensor import Tensor, above, part_of

_TABLES = tables(beside(__file__, "functions.txt"))
_FACTS = _TABLES["functions"] | _TABLES["linalg"]
_REFUSED = frozenset({"out", "like", "casting", "signature", "subok", "order", "where", "sig", "extobj"})
_OPTIONS = frozenset({"mode", "side", "indexing", "method", "kind", "optimize", "ord", "UPLO", "compute_uv"})


def _given(x: Any, name: str) -> Any:
    """An argument as NumPy may have it: numbers, and arrays of them; nothing of it is asked for its methods."""
    kind = type(x)
    if isinstance(x, core.Tensor):
        units.plain_number(x)
        return plain(x) if isinstance(x, Tensor) else x.numpy()
    if kind in (int, float, bool, complex, type(None), type(...), slice, real.ndarray):
        return x
    if kind is range:
        return real.arange(x.start, x.stop, x.step)
    if kind in (list, tuple) or isinstance(x, tuple):
        return (list if kind is list else tuple)([_given(one, name) for one in x])
    if isinstance(x, real.generic):
        return x
    if kind is str and "texts" in _FACTS.get(name, ""):
        return x
    raise TypeError(f"np.{name} takes numbers and arrays of them, not {kind.__name__}")


def _needs_grad(x: Any) -> bool:
    if isinstance(x, core.Tensor):
        return bool(x.requires_grad)
    return isinstance(x, list | tuple) and any(map(_needs_grad, x))


def _keywords(given: dict[str, Any], name: str) -> dict[str, Any]:
    """The arguments by name as NumPy may have them."""
    made: dict[str, Any] = {}
    for key, value in given.items():
        if key in _REFUSED and value is not None:
            raise TypeError(f"np.{name} has no {key}= in agrad")
        if key == "dtype":
            made[key] = None if value is None else dtype_in_numpy(value)
        elif key not in _REFUSED:
            made[key] = value if type(value) is str and key in _OPTIONS else _given(value, name)
    return made


def _sizes(x: Any) -> int:
    """How many entries an argument has."""
    return int(real.size(x)) if not isinstance(x, tuple | list) else sum(map(_sizes, x))


def _joined(x: Any) -> int:
    """How many entries the array has that NumPy makes of a list and all that is in it."""
    if isinstance(x, core.Tensor):
        return size_of(x.node.shape)
    if type(x) not in (list, tuple):
        return len(x) if type(x) is range else 1
    return len(x) if {*map(type, x)} <= {int, float, bool} else sum(map(_joined, x))


def _large(x: Any) -> float:
    """The product of the whole numbers in an argument."""
    found = 1.0
    for one in real.asarray(x, dtype=float).ravel() if not isinstance(x, str) and x is not None else ():
        found *= max(abs(float(one)), 1.0)
    return found


def _afford(name: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """Refuse what would be too large, before it is made."""
    entries: float = 0
    if "shapes" in _FACTS[name]:
        entries = _large(args[0] if args else keywords.get("shape", keywords.get("N")))
        entries *= _large(args[1]) if name in ("eye", "tri") and len(args) > 1 else 1
        entries *= entries if name in ("eye", "identity", "tri") and len(args) == 1 else 1
    elif name == "arange":
        ends = [float(one) for one in args] + [0.0]
        start, stop = (0.0, ends[0]) if len(args) == 1 else ends[:2]
        entries = abs((stop - start) / ((ends[2] if len(args) > 2 else keywords.get("step")) or 1.0))
    elif name in ("linspace", "logspace", "geomspace"):
        entries = _large(args[2] if len(args) > 2 else keywords.get("num", 50))
    elif name in ("tile", "repeat"):
        times: Any = args[1] if len(args) > 1 else keywords.get("reps", keywords.get("repeats"))
        entries = _sizes(args[0]) * (_large(times) if name == "tile" or real.ndim(times) == 0 else float(sum(times)))
    elif name == "pad":
        widths = _large(real.max(real.abs(args[1] if len(args) > 1 else keywords.get("pad_width", 0))))
        entries = (max(real.shape(args[0]), default=1) + 2.0 * widths) ** max(real.ndim(args[0]), 1)
    elif name == "resize":
        entries = _large(args[1] if len(args) > 1 else keywords.get("new_shape", 1))
    elif name in ("polyint", "polyder"):
        entries = _large(args[1] if len(args) > 1 else keywords.get("m", 1)) ** 2
    elif name == "bincount":
        entries = max([float(real.max(args[0], initial=0)), float(keywords.get("minlength", 0))])
    elif name in ("diag", "diagflat"):
        entries = (_sizes(args[0]) + abs(float(args[1] if len(args) > 1 else keywords.get("k", 0)))) ** 2
    elif name in ("histogram", "array_split", "split", "tril_indices", "triu_indices", "broadcast_to"):
        entries = max([_large(one) for one in args[1:2]] + [1.0])
        entries = 0 if name in ("split", "array_split") else entries * entries if name[:3] == "tri" else entries
    elif "products" in _FACTS[name]:
        entries = 1.0
        for one in [*args, *(value for key, value in keywords.items() if key != "dtype")]:
            parts = one if isinstance(one, list | tuple) and name == "multi_dot" else (one,)
            for part in parts:
                entries *= max(_sizes(part), 1) if not isinstance(part, str) else 1
        if entries > 1e8:  # what is spread, or multiplied, is often much smaller than that
            entries = _result_size(name, args, entries)
    if entries > 1e6:
        afford(f"np.{name}", (int(min(entries, 1e18)),))


def _result_size(name: str, args: tuple[Any, ...], most: float) -> float:
    arrays = [real.shape(one) for one in args if not isinstance(one, str)]
    if name in ("matmul", "dot") and len(arrays) == 2 and all(map(len, arrays)):
        return most / float(arrays[0][-1] or 1) ** 2
    try:
        return float(real.prod(real.broadcast_shapes(*arrays), dtype=float)) if "growing" not in _FACTS[name] else most
    except ValueError:
        return most


class LinAlgError(ValueError):
    """A matrix that has no such result."""


def _function(name: str, of: Callable[[], Any]) -> Callable[..., Any]:
    """A function of NumPy's over tensors."""

    def call(*args: Any, **keywords: Any) -> Any:
        if name in ("ravel", "reshape") and args and type(args[0]) is ndarray and not keywords:
            return getattr(args[0], name)(*args[1:], **keywords)  # which knows what is one after the other in memory
        if any(map(_needs_grad, (*args, *keywords.values()))) and not _is_view(name, args):
            return _traced(name, of(), args, keywords)
        if name in ("empty", "empty_like"):
            return NUMPY[f"zeros{name[5:]}"](*args, **keywords)  # nothing is left as it was in memory
        if (entries := sum([_joined(one) for one in args if type(one) in (list, tuple)])) > 1e6:
            afford(f"np.{name}", (entries,))  # before each part is copied
        given = tuple([_given(one, name) if not _is_type(one) else dtype_in_numpy(one) for one in args])
        options = _keywords(keywords, name)
        _afford(name, given, options)
        try:
            found = getattr(of(), name)(*given, **options)
            if getattr(found, "dtype", None) == real.float16:  # of truths
                found = getattr(of(), name)(*map(_of_truths, given), **options)
            function = partial(getattr(of(), name), **options)
            for place, x in enumerate(args):
                if type(x) is ndarray and type(given[place]) is real.ndarray:
                    found = _shared(found, x, function, given, place)
            return wrapped(found)
        except real.linalg.LinAlgError as error:
            raise LinAlgError(str(error)) from None

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"NumPy's {name}."
    return call


def _shared(
    found: Any, x: Any, function: Callable[..., Any], given: tuple[Any, ...], place: int = 0, *path: int
) -> Any:
    """What a function has made of the data of an array, x, which it had at a place: views of the data are those of x.

    The path leads to the view among several results.
    """
    if type(found) in (list, tuple):
        return type(found)([_shared(one, x, function, given, place, *path, n) for n, one in enumerate(found)])
    if found is given[place]:
        return x
    if type(found) is not real.ndarray or found.base is None or not real.may_share_memory(found, given[place]):
        return found

    @cache
    def places(shape: tuple[int, ...]) -> Any:
        whole = real.arange(math.prod(shape)).reshape(shape)
        return reduce(operator.getitem, path, function(*given[:place], whole, *given[place + 1 :]))

    def again(whole: Any) -> Any:
        return engine("getitem", engine("reshape", whole, (-1,)), places(whole.node.shape))

    again.is_closed = not found.flags.writeable  # type: ignore[attr-defined]
    part = as_numpys(again(x), False) if x.requires_grad else wrapped(found.astype(dtype_in_numpy(x.dtype)))
    return part_of(x, part, again)


def _is_view(name: str, args: tuple[Any, ...]) -> bool:
    """Whether a function gives a view of its only array, also of one with derivatives."""
    others = any(isinstance(one, core.Tensor) for one in args[1:])
    is_array = bool(args) and type(args[0]) is ndarray and bool(args[0].node.shape) and not others
    return "views" in _FACTS[name] and is_array and units.unit_of(args[0]) is None


def _of_truths(x: Any) -> Any:
    return real.asarray(x, float) if real.asarray(x).dtype.kind == "b" else x


def _is_type(x: Any) -> bool:
    return isinstance(x, dtype) or (isinstance(x, type | str) and (x in RANKS or x in DTYPES))


def _traced(name: str, module: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The same with derivatives: the engine's own, which NumPy asks for."""
    if keywords.keys() & _REFUSED or any(callable(one) and not isinstance(one, core.Tensor) for one in args):
        raise TypeError(f"np.{name} takes numbers and arrays of them")
    if name in ("array", "asarray"):
        return _stacked(args[0])
    args = tuple([_stacked(one) if isinstance(one, list) and "several" not in _FACTS[name] else one for one in args])
    return getattr(module, name)(*args, **keywords)


def _stacked(x: Any) -> Any:
    """Nested lists with tensors in them as one tensor."""
    if isinstance(x, list | tuple):
        return real.stack([one if isinstance(one, core.Tensor) else wrapped(one) for one in map(_stacked, x)])
    return x


# Operators, items and methods: without derivatives they are NumPy's, too; the data of views are those of the whole.


def _is_plain(x: Any) -> bool:
    """Whether NumPy can compute with an operand: it is no tensor of torch's, and nothing leads to its derivative."""
    return type(x) is not Tensor and not _needs_grad(x)


def _operator(name: str) -> Callable[..., Any]:
    ours, of_numpy = getattr(Tensor, name, None), getattr(operator, name, None)
    is_written = name[2] == "i" and name != "__invert__"
    swapped = getattr(operator, f"__{name[3:]}") if name[2] == "r" and of_numpy is None else None

    def method(self: Any, *others: Any) -> Any:
        if not all(map(_is_plain, (self, *others))):
            return NotImplemented if ours is None else ours(self, *others)
        try:
            given = [_given(x, name) for x in others]
        except TypeError:
            if name in ("__eq__", "__ne__") and type(others[0]) is str:
                return wrapped(real.full(self.shape, name == "__ne__"))
            return NotImplemented
        _afford("matmul" if "matmul" in name else "add", (plain(self), *given), {})
        with real.errstate(all="ignore"):
            if swapped is not None:
                return wrapped(swapped(given[0], plain(self)))
            found = of_numpy(plain(self), *given)  # type: ignore[misc]
        return _rewritten(self, found) if is_written and type(self) is not number else wrapped(found)

    method.__name__ = name
    return method


def _rewritten(x: Any, found: Any) -> Any:
    """The array, over whose data others are written, of the same shape."""
    new = wrapped(found).value
    if x.view_of is not None and any(getattr(one.view_of.again, "is_closed", False) for one in above(x)):
        raise ValueError("assignment destination is read-only")
    x.write(lambda array: real.copyto(array, new), None if x.node.shape else new, "x[…] =")
    return x


def _item(self: Any, index: Any) -> Any:
    """`x[index]`: the same data, where NumPy gives a view that torch has, too."""
    taken = tuple([_part(one) for one in (index if isinstance(index, tuple) else (index,))])
    is_view = all(one is None or one is Ellipsis or isinstance(one, slice | int) for one in taken)
    is_forward = all(not isinstance(one, slice) or one.step is None or one.step > 0 for one in taken)
    if self.requires_grad and (is_forward or not is_view):
        return item_of_tensor(self, index)
    array = real.asarray(self.value) if self.node.shape else plain(self)
    found = array[taken]
    if is_view and is_forward and isinstance(found, real.ndarray):
        return as_numpys(Tensor.__getitem__(self.changeable(), taken), False)
    found = _shared(found, self, operator.getitem, (array, taken)) if is_view else found
    return found if isinstance(found, core.Tensor) else wrapped(found.astype(dtype_in_numpy(self.dtype)))


def _part(index: Any) -> Any:
    if isinstance(index, core.Tensor | list | tuple):
        found = _given(index, "[…]")
        return int(found) if isinstance(found, real.integer) else found
    if isinstance(index, slice):
        return slice(*[None if end is None else operator.index(end) for end in (index.start, index.stop, index.step)])
    return index


def _set_item(self: Any, index: Any, value: Any) -> None:
    """`x[index] = value`."""
    if not _is_plain(self) or not _is_plain(value):
        Tensor.__setitem__(self, index, value)
        return
    array = plain(self)
    array[tuple([_part(one) for one in (index if isinstance(index, tuple) else (index,))])] = _given(value, "[…] =")
    _rewritten(self, array)


for _name in "add sub mul truediv floordiv mod pow and or xor lshift rshift matmul".split():
    for _way in ("", "r", "i"):
        setattr(Entries, f"__{_way}{_name}__", _operator(f"__{_way}{_name}__"))
for _name in "lt le gt ge eq ne neg pos abs invert".split():
    setattr(Entries, f"__{_name}__", _operator(f"__{_name}__"))
setattr(Entries, "__getitem__", _item)  # noqa: B010 - mypy knows its type
setattr(Entries, "__setitem__", _set_item)  # noqa: B010
NUMPY.update({name: _function(name, lambda: real) for name in _TABLES["functions"] if hasattr(real, name)})


def loadtxt(fname: Any, delimiter: Any = None, skiprows: int = 0, dtype: Any = float) -> Any:
    """The numbers in a text file."""
    return wrapped(load_text(fname, delimiter, skiprows).numpy()).astype(dtype)


class _Numbers:
    """NumPy's random numbers of a generator."""

    _numbers: Any

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in _KNOWN[type(self).__name__]:
            raise AttributeError(f"{type(self).__name__} has no {name} in agrad")
        return _drawn(name, self)

    def shuffle(self, x: Any) -> None:
        """Put the entries of an array, or of a list, into a random order."""
        _logged(self)
        order = real.arange(len(x))
        self._numbers.shuffle(order)
        x[:] = x[order] if isinstance(x, core.Tensor) else [x[place] for place in order]


class Generator(_Numbers):
    """NumPy's random numbers of `default_rng`."""

    def __init__(self, seed: Any = None) -> None:
        self._numbers = real.random.default_rng(None if seed is None else operator.index(seed))


def default_rng(seed: Any = None) -> Any:
    """A new generator, or the one that is given."""
    return seed if isinstance(seed, Generator) else Generator(seed)


class RandomState(_Numbers):
    """NumPy's random numbers of a seed."""

    def __init__(self, seed: Any = None) -> None:
        self._numbers = real.random.RandomState(None if seed is None else operator.index(seed))

    def seed(self, seed: Any = None) -> None:
        """Begin anew."""
        _logged(self)
        self._numbers.seed(None if seed is None else operator.index(seed))


_RANDOM = _TABLES["random"]
_KNOWN = {"RandomState": _RANDOM, "Generator": _RANDOM | _TABLES["newer"]}


def _logged(state: _Numbers) -> None:
    """Let a statement that fails give back the random numbers that it drew."""
    log = current().undo_log
    if log is not None:
        numbers = state._numbers
        if isinstance(state, RandomState):
            before = numbers.get_state()
            log.remember_first((id(state), "random"), lambda: numbers.set_state(before))
        else:
            bits, was = numbers.bit_generator, numbers.bit_generator.state
            log.remember_first((id(state), "random"), lambda: setattr(bits, "state", was))


def _drawn(name: str, state: _Numbers) -> Callable[..., Any]:
    def call(*args: Any, **keywords: Any) -> Any:
        given = tuple([_given(one, name) for one in args])
        options = _keywords(keywords, name)
        sizes = [options["size"]] if "size" in options else list(given) if name in ("rand", "randn") else given[-1:]
        if options.get("dtype") is not None:  # of each type there are other numbers
            options["dtype"] = real.dtype(getattr(keywords["dtype"], "name", keywords["dtype"]))
        if sizes and not isinstance(sizes[-1], real.ndarray):
            entries = 1.0
            for one in sizes:
                entries *= _large(one) if one is not None else 1.0
            if not _KNOWN["Generator"][name] or "size" in options or len(given) > 2 or name == "permutation":
                afford(f"np.random.{name}", (int(min(entries, 1e18)),))
        _logged(state)
        return wrapped(getattr(state._numbers, name)(*given, **options))

    call.__name__ = call.__qualname__ = name
    return call


_STATE = RandomState()
RANDOM: dict[str, Any] = {name: _drawn(name, _STATE) for name in _RANDOM}
RANDOM |= {"seed": _STATE.seed, "shuffle": _STATE.shuffle, "RandomState": RandomState, "default_rng": default_rng}
RANDOM["Generator"] = Generator
LINALG: dict[str, Any] = {name: _function(name, lambda: real.linalg) for name in _TABLES["linalg"]}
LINALG["LinAlgError"] = LinAlgError
