"""What PyTorch has in `torch.autograd`, by its names there: `ag.autograd`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from agrad.engine.autodiff.backward import grad
from agrad.engine.core.arguments import truth_of
from agrad.engine.core.context import Context, current, scope
from agrad.engine.core.dispatch import record
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import Value, coerce, describe, format_shape

if TYPE_CHECKING:
    from agrad.engine.autodiff.gradcheck import gradcheck

__all__ = ["Function", "detect_anomaly", "grad", "gradcheck", "set_detect_anomaly"]


class detect_anomaly(scope):  # noqa: N801 - PyTorch's name
    """`with detect_anomaly():` a backward that gives nan is an error, which names the operation."""

    __slots__ = ()

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(anomalies=bool(check_nan))


def set_detect_anomaly(mode: Any, check_nan: Any = True) -> None:
    """From now on, or no longer, a backward that gives nan is an error."""
    on = truth_of("set_detect_anomaly", "mode", mode) and truth_of("set_detect_anomaly", "check_nan", check_nan)
    _switch("anomalies", on)


def set_grad_enabled(mode: Any) -> None:
    """From now on operations are recorded, or no longer."""
    _switch("recording", truth_of("set_grad_enabled", "mode", mode))


def _switch(name: str, on: bool) -> None:
    """Switch something on or off, also after the statement, and the blocks, that this is called in."""
    context: Context | None = current()
    log = current().undo_log
    while context is not None:
        if log is not None:
            log.remember((context, name), partial(setattr, context, name, getattr(context, name)))
        setattr(context, name, on)
        context = context.outer


# `Function`: an operation of the user, with a derivative of its own, as `torch.autograd.Function`.


class FunctionContext:
    """What `forward` keeps for `backward`: with `save_for_backward`, or as attributes."""

    is_object = True
    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep arguments and results for `backward`, which finds them in `saved_tensors`."""
        self.saved_tensors = tensors


class Function:
    """The base of operations of the user: `forward(ctx, *args)`, `backward(ctx, grad)`, and `apply`, which calls them.

    `backward` returns a gradient for each argument, None for one that has none.
    """

    is_object = True

    @staticmethod
    def forward(ctx: FunctionContext, *args: Any) -> Any:
        """The value. A subclass defines it."""
        raise AgradError("type", "a Function needs a forward", fixes=[Hint("def forward(ctx, x): return …")])

    @staticmethod
    def backward(ctx: FunctionContext, *grads: Any) -> Any:
        """The gradients of the arguments. A subclass defines it."""
        raise AgradError("type", "a Function needs a backward", fixes=[Hint("def backward(ctx, g): return …")])

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """The value of `forward`, whose derivative is `backward`."""
        if current().tracing is not None:
            raise AgradError("type", f"a function with {cls.__name__}.apply cannot be compiled")
        operands = tuple(x for x in args if isinstance(x, Tensor))
        return record(OPS["custom"], operands, {"applied": Call(cls, args)})


_INPUT = object()  # marks an argument that is a value
_RESULT = object()  # marks the result among what was saved


class Call:
    """One call of a Function: its class, the arguments that are no values, and what `forward` kept."""

    __slots__ = ("args", "context", "found", "kind", "saved")
    kind: Any
    context: Any

    def __init__(self, kind: type[Function], args: Sequence[Any]) -> None:
        self.kind = kind
        self.args = tuple(_INPUT if isinstance(x, Tensor) else x for x in args)
        self.context = FunctionContext()
        self.context.needs_input_grad = tuple(isinstance(x, Tensor) and x.requires_grad for x in args)
        self.saved: tuple[Any, ...] = ()
        self.found: tuple[Any, Sequence[Any]] | None = None  # a gradient, and those of the arguments that it gave

    @property
    def name(self) -> str:
        """The name of the class."""
        return str(self.kind.__name__)

    def run(self, values: Sequence[Value]) -> Value:
        """The value of `forward`; what it saved is noted by where it comes from, so that it has its graph."""
        given = [tensor(value) for value in values]
        self.found, rest = None, iter(given)
        with scope(recording=False):
            made = self.kind.forward(self.context, *[next(rest) if x is _INPUT else x for x in self.args])
        if isinstance(made, tuple | list) or made is None:
            raise AgradError("type", f"{self.name}.forward returns one value, not {describe(made)}")
        self.saved = tuple(_source(x, given, made) for x in self.context.saved_tensors)
        return made.value if isinstance(made, Tensor) else coerce(made)

    def gradient(self, g: Any, out: Any, values: Sequence[Any], which: int) -> Any:
        """The gradient of one of the values among the arguments."""
        if self.found is None or self.found[0] is not g:
            self.found = g, self._gradients(g, out, values)
        return self.found[1][which]

    def _gradients(self, g: Any, out: Any, values: Sequence[Any]) -> list[Any]:
        create_graph = any(isinstance(x, Tensor) for x in (g, out, *values))
        handles = [x if isinstance(x, Tensor) else tensor(x) for x in values]
        places = {_RESULT: out if isinstance(out, Tensor) else tensor(out)}
        self.context.saved_tensors = tuple(handles[x] if type(x) is int else places.get(x, x) for x in self.saved)
        with scope(recording=create_graph):
            found = self.kind.backward(self.context, g if isinstance(g, Tensor) else tensor(g))
        several = [*found] if isinstance(found, tuple | list) else [found]
        while len(several) > len(self.args) and several[-1] is None:
            several.pop()  # PyTorch takes more than enough of these
        if len(several) != len(self.args):
            counts = f"{len(several)} gradient{'' if len(several) == 1 else 's'} for {len(self.args)} arguments"
            raise AgradError("arity", f"{self.name}.backward returns {counts}", fixes=[Hint("None if it has none")])
        kept = [x for x, argument in zip(several, self.args, strict=True) if argument is _INPUT]
        return [
            self._checked(x, getattr(value, "shape", ()), create_graph) for x, value in zip(kept, values, strict=True)
        ]

    def _checked(self, found: Any, shape: tuple[int, ...], create_graph: bool) -> Any:
        if found is None:
            return None
        value = found if isinstance(found, Tensor) else tensor(found)
        if value.shape != shape:
            shapes = f"{format_shape(value.shape)}, and its argument has {format_shape(shape)}"
            raise AgradError("shape", f"{self.name}.backward returns a gradient of shape {shapes}")
        return value if create_graph else value.value


def _source(saved: Any, given: Sequence[Tensor], made: Any) -> Any:
    """Where something that was saved comes from: the place of an argument, the result, or itself."""
    if saved is made:
        return _RESULT
    return next((place for place, x in enumerate(given) if x is saved), saved)


def __getattr__(name: str) -> Any:
    if name == "gradcheck":
        from agrad.engine.autodiff.gradcheck import gradcheck as found  # here, since few calculations check anything

        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
