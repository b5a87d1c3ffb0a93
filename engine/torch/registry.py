"""The table of PyTorch's functions: what is in `torch`, what is also a method, and what writes in place.

A function of PyTorch is a function of the engine where only names differ; see `functions` for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from inspect import CO_VARARGS
from typing import Any

from agrad.engine.core import tensor as core
from agrad.engine.core.context import current
from agrad.engine.core.dispatch import of_one
from agrad.engine.core.op import FUNCTIONS, OPS, Op
from agrad.engine.errors import AgradError
from agrad.engine.values import coerce, np
from agrad.torch.tensor import CAREFUL, OTHERWISE, Tensor, check_writable, entitle, give, part_of, typed, write_over
from agrad.torch.types import Size, as_dtype, as_pytorch, bool_, dtype_of, float64, int64

TORCH: dict[str, Callable[..., Any]] = {}  # the functions of `torch`
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
        call = quickly(OPS[quick], call) if quick else call
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
    attrs, is_other = dict(op.signature.attributes), op.name in OTHERWISE

    def call(*args: Any, **keywords: Any) -> Any:
        if len(args) == 1 and not keywords:
            x = args[0]
            if type(x) is Tensor and x.dtype is float64 and not CAREFUL:
                try:
                    made: Any = of_one(op, x, attrs)
                except AgradError as error:
                    raise as_pytorch(error) from None
                if is_other:
                    return Tensor.made(op, args, attrs, made)
                made.__class__, made.dtype = Tensor, float64
                return made
        return slow(*args, **keywords)

    call.__name__ = call.__qualname__ = slow.__name__
    call.__doc__ = slow.__doc__
    return call


def checked(name: str, function: Callable[..., Any], title: str = "", takes_many: bool = False) -> Callable[..., Any]:
    """A function whose errors are of PyTorch's classes, and which takes `input=` first, and `out` and `dtype` last."""
    check = _requirement(name)

    def call(*args: Any, **keywords: Any) -> Any:
        out = None
        if keywords:
            out = keywords.pop("out", None)
            args, keywords = _ordered(args, keywords)
            for one in _SIZES if takes_many else ():
                if one in keywords:
                    args = (*args, keywords.pop(one))
        if check is not None and args:
            check(args)
        try:
            found = function(*args, **keywords)
            found = entitle(found, title) if title else found
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


# What functions ask of their operands: a first one without truths, or of floats alone; a second that is no number.
_NO_TRUTHS = frozenset(
    "abs absolute ceil floor trunc fix round relu argmax argmin median dot vdot inner matmul relu6 hardtanh softsign "
    "tanhshrink topk".split()
)
_FLOATS = frozenset(
    "elu selu celu gelu silu mish leaky_relu softplus softshrink hardshrink hardsigmoid hardswish logsigmoid hypot "
    "logaddexp dist".split()
)
_TENSORS = frozenset(
    "atan2 arctan2 fmax fmin hypot logaddexp logical_and logical_or logical_xor maximum minimum dist equal matmul "
    "outer heaviside kron dot vdot inner".split()
)
# The type that one operand of a function of torch.nn.functional must have, and its place.
_TYPES = {
    "cross_entropy": (1, int64),
    "nll_loss": (1, int64),
    "embedding": (0, int64),
    "binary_cross_entropy": (1, float64),
    "binary_cross_entropy_with_logits": (1, float64),
}


def _requirement(name: str) -> Callable[[tuple[Any, ...]], None] | None:
    refused = (bool_,) if name in _NO_TRUTHS else (bool_, int64) if name in _FLOATS else ()
    if not refused and name not in _TENSORS:
        return None

    def check(args: tuple[Any, ...]) -> None:
        if name in _TENSORS and len(args) > 1:
            need_tensor(name, args[1], "other")
        if isinstance(args[0], core.Tensor) and all(dtype_of(x) in refused for x in args[:2] if hasattr(x, "dtype")):
            raise NotImplementedError(f'"{name}_cpu" not implemented for {dtype_of(args[0])!r}')

    return check


def need_types(name: str, args: Sequence[Any]) -> None:
    """Refuse a target, or rows, of another type than a function of torch.nn.functional takes."""
    place, wanted = _TYPES.get(name, (0, float64))
    x = args[place] if name in _TYPES and place < len(args) else None
    if not isinstance(x, core.Tensor) or dtype_of(x) is wanted:
        return
    if name != "cross_entropy" or x.shape != args[0].shape:  # of that shape they are probabilities
        made = "long" if wanted is int64 else "double"
        what = ("the input", "the target")[place]
        raise RuntimeError(f"{name}: {what} must be {wanted!r}, and not {dtype_of(x)!r}: .{made}() makes it so")


def into(out: Any, found: Any) -> Any:
    """Write results into the tensors that were given for them, which take their shape; returns those."""
    for place, x in zip(out, found, strict=True) if isinstance(out, tuple | list) else ((out, found),):
        if current().recording and (x.requires_grad or place.requires_grad):
            raise RuntimeError("functions with out=... arguments don't support automatic differentiation")
        if place.shape == x.shape:
            write_over(place, x.clone(), "copy_")
        else:
            place.data = x
    return out


def _ordered(args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The operands in front, wherever they were named, and NumPy's names of arguments as PyTorch's."""
    for theirs, ours in (("axis", "dim"), ("keepdims", "keepdim")):
        if theirs in keywords:
            keywords[ours] = keywords.pop(theirs)
    if not args and "condition" not in keywords:
        for one in _INPUT:
            if one in keywords:
                args = (keywords.pop(one),)
    return args, keywords


def second(args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The second operand in its place, where it was named."""
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
        kind = keywords.pop("dtype", None)
        args, keywords = second(args, keywords) if binary and keywords else (args, keywords)
        if not args or not (
            isinstance(args[0], core.Tensor) or (binary and any(isinstance(x, core.Tensor) for x in args))
        ):
            need_tensor(name, args[0] if args else None)
        if kind is not None:
            args = (args[0].to(as_dtype(kind)), *args[1:])
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
