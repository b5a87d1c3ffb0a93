"""The table of PyTorch's functions: what is in `torch`, what is also a method, and what writes in place.

A function of PyTorch is a function of the engine where only names differ; see `functions` for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import CO_VARARGS
from itertools import repeat, starmap
from typing import Any

from agrad.engine.core import tensor as core
from agrad.engine.core.context import current
from agrad.engine.core.dispatch import Handles, direct, of_one, of_two
from agrad.engine.core.op import FUNCTIONS, OPS, Op
from agrad.engine.errors import AgradError
from agrad.engine.values import coerce, np
from agrad.torch.tensor import CAREFUL, Tensor, check_writable, entitle, give, keep, part_of, typed, variant, write_over
from agrad.torch.types import TABLES, Size, as_pytorch, bool_, dtype_of, float64, int64

TORCH: dict[str, Callable[..., Any]] = {}  # the functions of `torch`
T = type("T", (), {"__getattr__": lambda self, name: TORCH[name]})()  # `T.sum` is PyTorch's sum
NUMBERS = (int, float, bool)
_INPUT = ("input", "self")
_SECOND = ("other", "exponent", "mat2", "vec", "vec2", "tensor", "tensor2", "weight", "target")


def engine(name: str, *args: Any, **keywords: Any) -> Any:
    """Call an operation of the engine, or a function made of several."""
    entry = OPS[name] if name in OPS else FUNCTIONS[name]
    return entry.call(*args, **keywords)


def public(
    *names: str, title: str = "", method: bool = True, place: bool = False, view: bool = False, quick: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: a function of `torch`, under its own name or others; as a method, in place, or as a view, too.

    `title` is PyTorch's name of the last node that it makes, where the engine's operation does not tell it; `quick` the
    operation that it is of floats, where nothing else is given.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        listed = names or (function.__name__.rstrip("_"),)
        several_ = bool(
            getattr(getattr(getattr(function, "func", function), "__code__", None), "co_flags", 0) & CO_VARARGS
        )
        call = checked(listed[0], viewing(function) if view else function, title, several_)
        call = quickly(OPS[quick], call) if quick not in ("", "erfinv", "prod") else call  # which `keep` has to see
        for name in listed:
            TORCH[name] = call
            if method:
                give(name, call)
            if place:
                TORCH[f"{name}_"] = in_place(name, call)
                give(f"{name}_", TORCH[f"{name}_"])
        return call

    return register


_SIZES = ("dims", "size", "shape", "repeats")  # what PyTorch calls the arguments that may be given one by one


def each(
    *keys: str, title: str = "", quick: str = "", **ways: bool
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: several functions, `sub=subtract` by two names, made of one that takes the name of each first.

    In what is given for them, {} stands for the name.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for key in keys:
            names = key.split("=")
            call: Any = partial(function, names[0])
            call.__name__, call.__doc__ = names[0], (function.__doc__ or "").format(names[0])
            public(*names, title=title.format(names[0].capitalize()), quick=quick.format(names[0]), **ways)(call)
        return function

    return register


def quickly(op: Op, slow: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one tensor, which most calls give floats alone: these are computed with few steps."""
    op, attrs = variant(op), dict(op.signature.attributes)

    def call(*args: Any, **keywords: Any) -> Any:
        if len(args) == 1 and not keywords and type(x := args[0]) is Tensor and x.kind is float64 and not CAREFUL:
            try:
                made: Any = of_one(op, x, attrs, 3)
            except AgradError as error:
                raise as_pytorch(error) from None
            made.__class__, made.kind = Tensor, float64
            return made
        return slow(*args, **keywords)

    call.__name__ = call.__qualname__ = slow.__name__
    call.__doc__ = slow.__doc__
    return call


def directly(op: Op, slow: Callable[..., Any], kind: Any) -> Callable[..., Any]:
    """An operator that gives a type of entries of floats, in the steps of the engine's own; `slow` takes the others."""
    op, own = variant(op), Handles()
    own.kind, own.typed, own.made, own.careful = Tensor, float64, kind, CAREFUL
    own.blank = starmap(object.__new__, repeat((Tensor,)))

    def arrays(op: Op, nx: Any, ny: Any, a: Any, b: Any, depth: int) -> Any:
        try:
            return of_two(op, nx, ny, a, b, depth + 1, own)
        except AgradError as error:
            raise as_pytorch(error) from None

    own.of_two = arrays
    return direct(op, slow, own)


def checked(name: str, function: Callable[..., Any], title: str = "", takes_many: bool = False) -> Callable[..., Any]:
    """A function whose errors are of PyTorch's classes, and which takes `input=` first, and `out` and `dtype` last."""
    check, is_of_python = requirement(name), name in _OF_PYTHON

    def call(*args: Any, **keywords: Any) -> Any:
        out = None
        if keywords:
            out = keywords.pop("out", None)
            args, keywords = (args, keywords) if is_of_python else _ordered(args, keywords)
            for one in _SIZES if takes_many else ():
                if one in keywords:
                    args = (*args, keywords.pop(one))
        if check is not None and args:
            check(args, keywords)
        try:
            found = function(*args, **keywords)
            found = entitle(found, title) if title else found
            keep(name, found, args, keywords)
            return found if out is None else into(out, found)
        except AgradError as error:
            raise as_pytorch(error, args) from None
        except TypeError as error:
            ours, brackets, told = str(error).partition("() ")
            if brackets and ours.startswith(("_", "<lambda>")):  # what computes it has a name of its own
                raise TypeError(f"{name}() {told}") from None
            raise

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


# What functions ask of their operands.
_ASKING = {name: {*asked.split(", ")} for name, asked in TABLES["asks"].items()}
_OF_PYTHON = frozenset({"unique", "norm"})  # functions that know no names of NumPy's for their arguments


def requirement(name: str) -> Callable[..., None] | None:
    """What raises PyTorch's error where a function does not take the types, or the axes, of its operands."""
    asked = _ASKING.get(name)
    if asked is None:
        return None
    refused = (bool_, int64) if asked & {"floats", "a float first"} else (bool_,) if "no truths" in asked else ()
    wanted = int64 if "classes" in asked else float64 if "a float target" in asked else None

    def check(args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        if "tensors" in asked and len(args) > 1:
            need_tensor(name, args[1], "other")
        given = [x for x in args if isinstance(x, core.Tensor)]
        kinds = [x.kind if isinstance(x, Tensor) else float64 for x in given]
        if "two axes" in asked and any(x.ndim < 2 for x in given):
            raise RuntimeError(f"{name}: the tensors must have at least 2 dimensions")
        if "alike" in asked and len({*kinds}) > 1:
            raise RuntimeError(f"{name}(): expected operands of one type, but got {', '.join(map(repr, kinds))}")
        if "a matrix of floats" in asked and kinds and kinds[0] is not float64:
            got = "Bool" if kinds[0] is bool_ else "Long"
            raise RuntimeError(f"linalg.{name}: Expected a floating point or complex tensor as input. Got {got}")
        if asked & {"whole factors", "factors cut"} and float64 not in kinds:
            for word in {"alpha", "beta", "value"} & {*keywords}:
                if isinstance(keywords[word], float):
                    if "whole factors" in asked:
                        told = f"argument {word} must not be a floating point number"
                        raise RuntimeError(f"For integral input tensors, {told}.")
                    keywords[word] = int(keywords[word])
        if "places" in asked and kinds[0] is not int64:
            raise RuntimeError(f"{name}(): Expected indices of type torch.int64, but got {kinds[0]}")
        target: Any = args[1] if len(args) > 1 else keywords.get("target")
        is_other = wanted is not None and isinstance(target, core.Tensor) and dtype_of(target) is not wanted
        if is_other and not (name == "cross_entropy" and target.shape == args[0].shape):  # then they are probabilities
            fix = f".{'long' if wanted is int64 else 'double'}() makes it so"
            raise RuntimeError(f"{name}: the target must be {wanted!r}, and not {dtype_of(target)!r}: {fix}")
        first = kinds[: 1 if "a float first" in asked else 2]
        if given and given[0] is args[0] and "dtype" not in keywords and all(kind in refused for kind in first):
            dim = keywords.get("dim", args[1] if len(args) > 1 and name in _ALONG else None)
            if dim is not None:
                whole(dim) if name != "median" else axis_in(given[0], dim)
            raise NotImplementedError(f'"{name}_cpu" not implemented for {kinds[0]!r}')

    return check


_ALONG = frozenset({"argmax", "argmin", "median"})


def refuse_whole(x: Any) -> None:
    """Raise PyTorch's error where floats would be written in the place of what are none."""
    if x.kind is not float64:
        message = f"result type torch.float64 can't be cast to the type {x.kind!r} of the input"
        raise RuntimeError(f"{message}\n  fix: x.double()")


def whole(dim: Any) -> Any:
    """What names an axis. Raises TypeError where it is no whole number."""
    if isinstance(dim, bool) or not hasattr(dim, "__index__"):
        raise TypeError(f"an axis is a whole number, not {type(dim).__name__}")
    return dim


def axis_in(x: Any, dim: Any, more: int = 0) -> int:
    """Which of its axes, or with new ones, a number names: a single number has one, too. IndexError for none."""
    count = max(x.ndim + more, 1)
    if not -count <= whole(dim) < count:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})")
    return int(dim % count)


def into(out: Any, found: Any) -> Any:
    """Write results into the tensors that were given for them, which take their shape; returns those."""
    for place, x in zip(out, found, strict=True) if isinstance(out, tuple | list) else ((out, found),):
        if current().recording and (x.requires_grad or place.requires_grad):
            raise RuntimeError("functions with out=... arguments don't support automatic differentiation")
        if place.shape == x.shape:
            write_over(place, x.clone(), "copy_")
        else:
            place.data = x
    return type(found)(*out) if hasattr(found, "_fields") else out


def _ordered(args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The operands in front, wherever they were named, and NumPy's names of arguments as PyTorch's."""
    for theirs, ours in (("axis", "dim"), ("keepdims", "keepdim"), ("split_size", "split_size_or_sections")):
        if theirs in keywords:
            keywords[ours] = keywords.pop(theirs)
    if not args and "condition" not in keywords:
        for one in _INPUT:
            if one in keywords:
                args = (keywords.pop(one),)
    return args, keywords


def second(args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The second operand in its place, where it was named. Raises TypeError for a list."""
    if len(args) > 1 and isinstance(args[1], list | tuple | str):
        raise TypeError(f"argument 'other' must be Tensor, not {type(args[1]).__name__}")
    if len(args) == 1:
        for one in _SECOND:
            if one in keywords:
                args = (*args, keywords.pop(one))
    return args, keywords


def need_tensor(name: str, x: Any, what: str = "input") -> None:
    """Refuse a number where PyTorch needs a tensor."""
    if not isinstance(x, core.Tensor):
        raise TypeError(f"{name}(): argument '{what}' must be Tensor, not {type(x).__name__}")


def tensor_of(x: Any) -> Tensor:
    """A tensor as it is, or a new one of a number or an array."""
    if isinstance(x, core.Tensor):
        return x if isinstance(x, Tensor) else typed(x, dtype_of(None))
    kind = dtype_of(x)
    value = coerce(x)
    return Tensor.of(value if isinstance(value, float) else np.array(value, order="C", subok=True), kind)


def plain(name: str, ours: str, binary: bool) -> Callable[..., Any]:
    """A function of the engine that has the same arguments."""

    def call(*args: Any, **keywords: Any) -> Any:
        args, keywords = second(args, keywords) if binary else (args, keywords)
        if not any(isinstance(x, core.Tensor) for x in (args if binary else args[:1])):
            need_tensor(name, args[0] if args else None)
        return engine(ours, *args, **keywords)

    call.__name__ = name
    call.__doc__ = FUNCTIONS[ours].doc if ours in FUNCTIONS else OPS[ours].doc
    return call


def viewing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result shares the data of its first argument."""

    def call(x: Any, *args: Any, **keywords: Any) -> Any:
        made = function(x, *args, **keywords)
        if made is x or not isinstance(x, Tensor):
            return made
        return part_of(x, made, lambda whole: function(whole, *args, **keywords))

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


def several(x: Any, takes: list[Callable[[Any], Any]]) -> tuple[Any, ...]:
    """Several views of one tensor, as `split` gives them."""
    return tuple(part_of(x, take(x), take, made="several") for take in takes)


def in_place(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """`x.mul_(y)`, which writes what `x.mul(y)` gives."""

    def method(x: Any, *args: Any, **keywords: Any) -> Any:
        needs = x.requires_grad or any(getattr(one, "requires_grad", False) for one in (*args, *keywords.values()))
        try:
            check_writable(x, needs)
            return write_over(x, call(x, *args, **keywords), f"{name}_")
        except AgradError as error:
            raise as_pytorch(error) from None

    method.__name__ = f"{name}_"
    method.__doc__ = f"{name}, written in place."
    return method


def named(name: str, *fields: str) -> Any:
    """The type of several results with names, `torch.return_types.max(values=…, indices=…)`."""
    from collections import namedtuple  # here: a class of Python's for each

    make: Any = namedtuple
    made = make(name, fields)

    def text(self: Any) -> str:
        return f"torch.return_types.{name}(\n" + ",\n".join(f"{x}={getattr(self, x)!r}" for x in fields) + ")"

    made.__repr__ = text
    return made


def sizes(given: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape that is given as one argument, or as several."""
    one = given[0] if len(given) == 1 and isinstance(given[0], tuple | list | Size) else given
    return tuple(int(x) for x in one)
