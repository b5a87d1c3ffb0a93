"""`torch.autograd`: backward passes, functions of the user, and switches."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from contextlib import ContextDecorator
from typing import Any

from agrad.engine import units
from agrad.engine.autodiff import reverse as passes
from agrad.engine.autodiff.anomalies import say_not_finite
from agrad.engine.autodiff.autograd import Call
from agrad.engine.autodiff.autograd import set_detect_anomaly as _set_anomalies
from agrad.engine.autodiff.backward import _storage_of, seed_of
from agrad.engine.core import graph_errors
from agrad.engine.core import tensor as core
from agrad.engine.core.context import current, scope
from agrad.engine.core.dispatch import record
from agrad.engine.core.graph import Gradient, Node, by_seq, free, leading_to, leaf, oldest, reachable, touch
from agrad.engine.core.numpy_warnings import walked
from agrad.engine.core.op import OPS
from agrad.engine.core.versions import check_walkable
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import np, spread
from agrad.torch.registry import engine
from agrad.torch.tensor import (
    CAREFUL,
    PACKED,
    PACKING,
    Tensor,
    check_whole,
    check_writable,
    entitle,
    give,
    kinded,
    note,
    typed,
)
from agrad.torch.types import dtype_of, float64

# Switches


class no_grad(ContextDecorator):  # noqa: N801 - PyTorch's name
    """Nothing is recorded inside: `with no_grad():`, or a decorator, with or without brackets."""

    on = False

    def __new__(cls, function: Any = None) -> Any:
        """A manager, or the function that is decorated."""
        made = object.__new__(cls)
        if not callable(function):
            return made
        made.__init__()  # type: ignore[misc]
        return made(function)

    def __init__(self, function: Any = None) -> None:
        self._open: list[scope] = []

    def __call__(self, function: Any) -> Any:
        """The function, called inside."""

        @functools.wraps(function)
        def inner(*args: Any, **keywords: Any) -> Any:
            with self:
                return function(*args, **keywords)

        return inner

    def __enter__(self) -> None:
        one = self._scope()
        one.__enter__()
        self._open.append(one)

    def _scope(self) -> scope:
        return scope(recording=self.on and not current().inference)

    def __exit__(self, *_: object) -> None:
        self._open.pop().__exit__()


class enable_grad(no_grad):  # noqa: N801 - PyTorch's name
    """Operations are recorded inside, also within `no_grad`."""

    on = True


class inference_mode(no_grad):  # noqa: N801 - PyTorch's name
    """Nothing is recorded inside, and what is made there cannot be saved for a derivative later."""

    def __new__(cls, mode: Any = True) -> Any:
        """The same, of what may be a function."""
        return no_grad.__new__(cls, mode if callable(mode) else None)

    def __init__(self, mode: Any = True) -> None:
        super().__init__()
        self.on = not mode if isinstance(mode, bool) else False

    def _scope(self) -> scope:
        if not self.on and "inference" not in CAREFUL:
            CAREFUL.append("inference")
        return scope(recording=self.on, inference=not self.on)


class set_detect_anomaly:  # noqa: N801 - PyTorch's name
    """From now on, or until the end of a block, a backward that gives nan is an error, or no longer."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = current().anomalies
        _set_anomalies(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        _set_anomalies(self._before)


class detect_anomaly(set_detect_anomaly):  # noqa: N801 - PyTorch's name
    """Until the end of a block, a backward that gives nan is an error, which names the operation."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(True, check_nan)


class set_grad_enabled(no_grad):  # noqa: N801 - PyTorch's name
    """Recording on or off, from now on; as a manager, until its end."""

    def __new__(cls, mode: bool) -> Any:
        """A manager."""
        return object.__new__(cls)

    def __init__(self, mode: bool) -> None:
        self.on, self._context = bool(mode), current()
        self._before = self._context.recording
        self._context.recording = self.on

    def __call__(self, function: Any) -> Any:
        """The function, called with recording on or off."""
        self._context.recording = self._before
        manager = enable_grad() if self.on else no_grad()
        return manager(function)

    def __enter__(self) -> None:
        self._context.recording = self.on

    def __exit__(self, *_: object) -> None:
        self._context.recording = self._before


# The passes


def plainly(x: Any) -> Any:
    """A handle of the engine's own class, for rules."""
    return core.bare(x.node, x.array) if type(x) is Tensor else x


def _seeds(roots: Sequence[Any], given: Sequence[Any], create_graph: bool) -> dict[Node, Any]:
    seeds: dict[Node, Any] = {}
    for root, gradient in zip(roots, given, strict=True):
        if gradient is not None and not isinstance(gradient, core.Tensor):
            raise TypeError(f"gradients can be either Tensors, or None, but got {type(gradient).__name__}")
        check_whole(root)
        if not root.requires_grad:
            raise graph_errors.no_grad_error(root.node)
        if gradient is None and root.numel() != 1:
            text = root.node.spell()
            name = text if text.replace(".", "_").isidentifier() else f"({text})"
            message = f"grad can be implicitly created only for scalar outputs, and this has shape {[*root.shape]}"
            fixes = [Hint(f"{name}.sum().backward()"), Hint(f"{name}.backward(torch.ones_like({text}))")]
            raise AgradError("grad", message, fixes=fixes)
        seed = seed_of(root, plainly(gradient), create_graph)
        seeds[root.node] = seed if root.node not in seeds else seeds[root.node] + seed
    return seeds


def _walk(
    order: list[Node], inner: list[Node], seeds: dict[Node, Any], create_graph: bool, wanted: set[Node]
) -> dict[Node, Any]:
    """The pass as PyTorch makes it: zeros go on where a selection took another operand."""
    for node in inner:
        if _is_underived(node):
            message = f"PyTorch has no derivative for {node.op.name if node.op else 'this'}"
            if getattr(node.extra, "title", "").startswith("Unique"):
                raise NotImplementedError(message)
            raise AgradError("grad", message)
    flight = passes.Flight(seeds, hooks=True, zeros=True)
    flight.ends = wanted.difference(inner)
    packed = _unpack(inner) if PACKED else []
    with scope(recording=create_graph):
        found: dict[Node, Any] = walked(create_graph, passes.reverse, order, flight, wanted, create_graph)
    if flight.ended:  # a Function gave None: not zeros, but nothing
        flight.behind = None
        found = {node: g for node, g in found.items() if flight.reaches(node)}
    for node in packed:
        node.value = None if node.shape else node.value
    if current().anomalies:
        say_not_finite(order, seeds, found)
    return found


_UNDERIVED = frozenset({"NotImplemented", "Unique2Backward0", "UniqueDimBackward0", "UniqueConsecutiveBackward0"})


def _is_underived(node: Node) -> bool:
    """Whether PyTorch has no derivative of an operation, by its own name of it."""
    is_of_number = node.op is OPS["remainder"] and not isinstance(node.inputs[0], Node)
    return is_of_number or node.op is OPS["floor_divide"] or getattr(node.extra, "title", "") in _UNDERIVED


# Nodes of PyTorch which are several here; and those that save nothing, though here they do, or the other way round.
_OF_SEVERAL = ("Addcmul", "Addcdiv", "LerpBackward1", "Addmm", "Addmv")
_SAVE_NOTHING = (
    "Copy", "Zero", "Fill", "Tril", "Triu", "Sign", "LerpBackward0", "ConstantPad", "Unfold", "Scaled", "Diag", "Trace"
)  # fmt: skip


def _keeps(node: Node) -> bool:
    """Whether PyTorch has saved something in a node, which a backward frees."""
    title = getattr(node.extra, "title", "")
    if title == "CopySlices" or node.op is None:
        return node.op is not None
    if title.startswith(_SAVE_NOTHING):
        return False
    if title.startswith(_OF_SEVERAL) and isinstance(node.inputs[1], Node) and node.inputs[1].requires_grad:
        return True
    index = (node.attrs or {}).get("index")
    if type(index) is tuple and any(hasattr(part, "dtype") for part in index):
        return True
    return node.op.role == "opaque" or graph_errors._saved(node) != graph_errors._NOTHING


def _release(order: list[Node]) -> None:
    """Free what was saved; a node that has saved nothing may be passed again."""
    by = current().statement or _line() or "an earlier backward"
    free([node for node in order if node.op is not None and _keeps(node)], by)


def _line() -> str:
    """The line of the program that calls for a backward."""
    import sys

    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("agrad."):
        frame = frame.f_back
    if frame is None:
        return ""
    return f"line {frame.f_lineno} of {frame.f_code.co_filename.rpartition('/')[2]}"


@kinded
def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the derivatives of some values to the gradients of the leaves behind them, or of `inputs` alone."""
    wanted = None if inputs is None else [inputs] if isinstance(inputs, core.Tensor) else list(inputs)
    if wanted == []:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots, order, found = _found(tensors, grad_tensors, wanted, create_graph)
    for x in wanted or ():
        x.retain_grad()
    if wanted is not None:
        targets = {x.node for x in wanted}
        found = {node: g for node, g in found.items() if node in targets or (node.op is not None and node.keeps_grad)}
    for root in roots:
        units.note_gradients(root.node, found, False)
    storage = None if create_graph else _storage_of(roots[0].node, order, ())
    for node, g in found.items():
        _accumulate(node, g, create_graph, storage)
        for after in _after(node):
            with scope(recording=False):
                after()
    if not (create_graph if retain_graph is None else retain_graph):
        _release(order)


def _found(outputs: Any, given: Any, wanted: Any, create_graph: bool, since: int = -1) -> tuple[list[Any], Any, Any]:
    """The outputs, the nodes that passed something on, and the derivatives by leaves, or by what is wanted alone."""
    roots = [outputs] if isinstance(outputs, core.Tensor) else list(outputs)
    seeds = _seeds(roots, _listed(given, len(roots)), create_graph)
    order = sorted(set().union(*(reachable(node, since) for node in seeds)), key=by_seq, reverse=True)
    for x in wanted or ():
        if not x.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    nodes = [x.node for x in wanted or ()]
    order = order if wanted is None else leading_to(order, nodes)
    inner, leading = order, set(order)
    if since >= 0:  # what `grad` is asked for passes nothing on, as in PyTorch; in `backward` it does
        inner = [x for x in order if x.op is None or any(type(one) is Node and one in leading for one in x.inputs)]
    check_walkable(inner, roots[0].node)
    return roots, inner, _walk(order, inner, seeds, create_graph, set(nodes))


def _listed(given: Any, count: int) -> list[Any]:
    if given is None:
        return [None] * count
    found = [given] if isinstance(given, core.Tensor) or not isinstance(given, list | tuple) else list(given)
    if len(found) != count:
        raise RuntimeError(f"got {count} tensors and {len(found)} gradients")
    return found


def _accumulate(node: Node, g: Any, create_graph: bool, storage: Any) -> None:
    """Add to a gradient: in place that of a leaf, unless it is to have a graph."""
    before = node.grad.value if node.grad is not None else None
    made = gradient_of(g)
    if before is None:
        touch(node)
        if made.node.op is None and made.node.storage is None:
            made.node.storage = storage
        node.grad = Gradient(made)
    elif create_graph or node.op is not None:  # what is retained is a new tensor
        touch(node)
        with scope(recording=create_graph):
            node.grad = Gradient(before + made)
    else:
        value = made.value
        with scope(recording=False):
            before.write(lambda array: np.add(array, value, out=array), _sum(before, value), "add_")


def gradient_of(g: Any) -> Tensor:
    """What a pass found, as a tensor."""
    if not isinstance(g, core.Tensor):
        return typed(core.bare(leaf(g)), float64)
    node = g.node
    if node.op is OPS["own"] and isinstance(node.inputs[0], Node):  # a copy that the pass made
        g = core.bare(node.inputs[0], g.value if node.shape else None)
    return typed(g, float64)


def _sum(before: Any, value: Any) -> Any:
    return before.value + value if not before.node.shape else None


def _backward(
    self: Any, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Add the derivatives of this value to the gradients of the leaves behind it."""
    backward(self, gradient, retain_graph, create_graph, None, inputs)


give("backward", _backward)


@kinded
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The derivatives of some values by others, in a tuple."""
    wanted = [inputs] if isinstance(inputs, core.Tensor) else list(inputs)
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True")
    if is_grads_batched:
        seeds = grad_outputs if isinstance(grad_outputs, core.Tensor) else zip(*grad_outputs, strict=True)
        rows = [grad(outputs, inputs, seed, True, create_graph, True, allow_unused) for seed in seeds]
        return tuple(engine("stack", list(column)) for column in zip(*rows, strict=True))
    since = oldest([x.node for x in wanted])
    roots, order, found = _found(outputs, grad_outputs, wanted, create_graph, since)
    behind = set().union(*(reachable(root.node, since) for root in roots))
    if not (create_graph if retain_graph is None else retain_graph):
        _release(order)
    results: list[Any] = []
    for x in wanted:
        g = found.get(x.node)
        is_used = x.node in behind and g is not None
        if not (is_used or materialize_grads or allow_unused):
            raise graph_errors.unused_error(roots[0].node, x.node)
        results.append(gradient_of(g) if is_used else zeros_like(x) if materialize_grads else None)
        if is_used:
            units.with_unit(results[-1], roots[0], [x], _listed(grad_outputs, len(roots))[0])
    return tuple(results)


def zeros_like(x: Any) -> Tensor:
    """Zeros in the shape of a tensor."""
    return Tensor.of(np.zeros(x.node.shape) if x.node.shape else 0.0)


# Hooks


class RemovableHandle:
    """What registering a hook returns."""

    def __init__(self, remove: Callable[[], None]) -> None:
        self.remove = remove

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


@kinded
def _register_hook(self: Any, hook: Callable[[Any], Any]) -> Any:
    """Call a function with the gradient of this value in each backward; what it returns takes its place."""
    check_whole(self)
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")

    def called(g: Any) -> Any:
        found = hook(typed(core.bare(g.node, g.array), float64))
        if found is not None and not isinstance(found, core.Tensor):
            raise TypeError(f"hook returned {type(found).__name__}, not a Tensor")
        return plainly(found)

    handle = passes.register_hook(self, called)
    return RemovableHandle(handle.remove)


@kinded
def _register_after(self: Any, hook: Callable[[Any], None]) -> Any:
    """Call a function with this leaf after its gradient was added to."""
    if not self.requires_grad or not self.is_leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    node = self.node

    def call() -> None:
        hook(self)

    note(node, "after", (*_after(node), call))
    return RemovableHandle(lambda: note(node, "after", tuple([one for one in _after(node) if one is not call])))


def _after(node: Node) -> tuple[Callable[[], None], ...]:
    """What is called when the gradient of a leaf was added to."""
    found: tuple[Callable[[], None], ...] = getattr(node.extra, "after", ())
    return found


give("register_hook", _register_hook)
give("register_post_accumulate_grad_hook", _register_after)


@kinded
def _retain_grad(self: Any) -> None:
    """Keep the gradient of this computed value, too."""
    check_whole(self)
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if not self.is_leaf:
        core.Tensor.retain_grad(self)


give("retain_grad", _retain_grad)


def _grad_of(self: Any) -> Any:
    """The accumulated gradient."""
    found = core.gradient_of(self.node)
    if found is None or found.value is None:
        return None
    return found.value if type(found.value) is Tensor else typed(found.value, float64)


@kinded
def _set_grad(self: Any, value: Any) -> None:
    if value is not None and not isinstance(value, core.Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got {type(value).__name__}")
    if value is not None and value.shape != self.shape:
        raise RuntimeError(f"assigned grad has data of a different size: {[*value.shape]} for {[*self.shape]}")
    if value is not None and dtype_of(value) is not self.kind:
        told = f"attempting to assign a gradient with dtype {dtype_of(value)} to a tensor with dtype {self.kind}"
        raise RuntimeError(f"{told}\n  fix: g.double()")
    touch(self.node)
    self.node.grad = None if value is None else Gradient(value)
    if value is None:
        self.node.collected = None


give("grad", property(_grad_of, _set_grad, lambda self: _set_grad(self, None)))


def _set_requires(self: Any, on: bool) -> None:
    if not self.is_leaf and not on:
        raise RuntimeError("you can only change requires_grad flags of leaf variables.\n  fix: x.detach()")
    self.requires_grad_(on)


give("requires_grad", property(lambda self: self.node.requires_grad, kinded(_set_requires)))


# Functions of the user


class FunctionCtx:
    """What `forward` keeps for `backward`."""

    is_object = True  # scripts may give it attributes

    def __init__(self) -> None:
        self.saved: tuple[Any, ...] = ()
        self.dirty: tuple[Any, ...] = ()
        self.blunt: tuple[Any, ...] = ()
        self.materialize = True
        self.freed = False
        self.needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors, which `backward` finds in `saved_tensors`."""
        self.saved = tensors

    save_for_forward = save_for_backward

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was kept."""
        return self.saved

    def mark_dirty(self, *tensors: Any) -> None:
        """Arguments that `forward` has written in place, and returns."""
        self.dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Results without a derivative."""
        self.blunt = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether the gradient of a result that was not used is zeros, or None."""
        self.materialize = value


LEVELS: list[dict[Any, Any]] = []  # the directions of dual numbers, by their nodes
PUSH: list[Callable[..., None]] = []  # what gives the results of a Function theirs: `func` has it


class Function:
    """The base of operations of the user: `forward(ctx, *args)` and `backward(ctx, *grads)`."""

    def __init__(self) -> None:
        raise RuntimeError(
            f"{type(self)} should not be instantiated. Methods are called by {type(self).__name__}.apply"
        )

    @staticmethod
    def forward(*args: Any, **keywords: Any) -> Any:
        """The value. A subclass defines it."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients of the arguments. A subclass defines it."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function"
        )

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """The value, whose derivative is `backward`."""
        call = _Call(cls, args)
        results = call.run_forward()
        if not any(call.context.needs_input_grad) or not current().recording:
            return results
        made = call.recorded(results)
        if LEVELS and LEVELS[-1] and "jvp" in cls.__dict__:
            PUSH[0](cls, call.context, args, made)
        return made


def _piece(packed: Any, start: int, size: int, shape: tuple[int, ...]) -> Any:
    """One of several values that are packed in a vector."""
    return engine("reshape", engine("getitem", packed, slice(start, start + size)), shape)


class _Call(Call):
    """One call of a Function, as an operation of the engine: its results are parts of one vector."""

    def __init__(self, kind: type[Function], args: tuple[Any, ...]) -> None:
        self.kind, self.args, self.context = kind, args, FunctionCtx()
        self.tensors = [x for x in args if isinstance(x, core.Tensor)]
        self.context.needs_input_grad = tuple(isinstance(x, core.Tensor) and bool(x.requires_grad) for x in args)
        self.shapes: list[Any] = []
        self.packed: Any = None
        self.found: tuple[Any, Sequence[Any]] | None = None
        self.arrived: set[int] = set()  # the results that this pass leads to, where that is asked

    def run_forward(self) -> Any:
        """What `forward` returns, computed without a record."""
        own_context = "setup_context" in self.kind.__dict__ or hasattr(self.kind, "setup_context")
        with scope(recording=False):
            if own_context:
                made = self.kind.forward(*self.args)
                self.kind.setup_context(self.context, self.args, made)
            else:
                made = self.kind.forward(self.context, *self.args)
        return made

    def recorded(self, results: Any) -> Any:
        """The results with their graph."""
        several = isinstance(results, tuple | list)
        outs = list(results) if several else [results]
        if not all(any(x is one for x in outs) for one in self.context.dirty):
            raise RuntimeError(f"{self.name}.forward must return what it has marked as dirty")
        values = [np.asarray(x.value) if isinstance(x, core.Tensor) else None for x in outs]
        self.shapes = [None if value is None else value.shape for value in values]
        single = len(outs) == 1
        flat = [np.zeros(0) if value is None else value.reshape(-1) for value in values]
        self.packed = values[0] if single else np.concatenate(flat)
        self.packed = float(self.packed) if not self.packed.shape else np.array(self.packed)
        saved = [next((at for at, x in enumerate(outs) if x is one), one) for one in self.context.saved]
        whole = record(OPS["custom"], tuple(plainly(x) for x in self.tensors), {"applied": self})
        made, start = [], 0
        for x, shape in zip(outs, self.shapes, strict=True):
            size = 0 if shape is None else math.prod(shape)
            is_blunt = not isinstance(x, core.Tensor) or any(x is one for one in self.context.blunt)
            if is_blunt or dtype_of(x) is not float64:
                made.append(x.detach() if isinstance(x, core.Tensor) and x.requires_grad else x)
            else:
                part = whole if single else _piece(whole, start, size, shape)
                if not self.context.materialize:
                    passes.register_hook(part, functools.partial(self._arrive, len(made)))
                entitle(part, f"{self.name}Backward")
                made.append(self._placed(x, typed(part, float64)))
            start += size
        self.context.saved = tuple(made[one] if isinstance(one, int) else one for one in saved)
        return tuple(made) if several else made[0]

    def _arrive(self, place: int, g: Any) -> None:
        self.arrived.add(place)

    def _placed(self, x: Any, made: Any) -> Any:
        """A result; one that was written in place is the argument itself."""
        if any(x is one for one in self.context.dirty):
            check_writable(x, True)
            x.adopt(made, "apply")
            return x
        return made

    def run(self, values: Sequence[Any]) -> Any:
        """The value that `forward` gave, as the engine asks for it."""
        return self.packed

    def _gradients(self, g: Any, out: Any, values: Sequence[Any]) -> list[Any]:
        create_graph = current().recording
        handle = typed(plainly(g) if isinstance(g, core.Tensor) else core.bare(leaf(g)), float64)
        grads: list[Any] = [handle] if len(self.shapes) == 1 else []
        start = 0
        if len(self.shapes) > 1:
            arrived, self.arrived = self.arrived, set()
            for place, shape in enumerate(self.shapes):
                size = 0 if shape is None else math.prod(shape)
                is_none = shape is None or not (self.context.materialize or place in arrived)
                grads.append(None if is_none else _piece(handle, start, size, shape))
                start += size
        with scope(recording=create_graph):
            found = self.kind.backward(self.context, *grads)
        results = list(found) if isinstance(found, tuple | list) else [found]
        while len(results) > len(self.args) and results[-1] is None:
            results.pop()
        if len(results) != len(self.args):
            raise AgradError(
                "grad",
                f"{self.name}.backward returned {len(results)} gradients for {len(self.args)} arguments",
                fixes=[Hint("return a gradient for each argument, None for one that has none")],
            )
        pairs = zip(results, self.args, strict=True)
        return [self._checked(x, given, create_graph) for x, given in pairs if isinstance(given, core.Tensor)]

    def _checked(self, found: Any, argument: Any, create_graph: bool) -> Any:
        shape = argument.node.shape
        if found is None:
            return None
        if not isinstance(found, core.Tensor):
            raise TypeError(f"{self.name}.backward: expected a Tensor or None, not {type(found).__name__}")
        if found.node.shape != shape:
            have = found.node.shape
            if len(have) < len(shape) or any(n not in (1, m) for n, m in zip(shape[::-1], have[::-1], strict=False)):
                raise RuntimeError(
                    f"{self.name}.backward returned a gradient of shape {[*found.shape]} for one of {[*shape]}"
                )
            found = engine("sum_to", found, shape=shape)
        return plainly(found) if create_graph else spread(found.value, shape)


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a `backward` whose result cannot be differentiated again."""

    @functools.wraps(function)
    def call(ctx: Any, *grads: Any) -> Any:
        with scope(recording=False):
            found = function(ctx, *grads)
        if not (current().recording and any(isinstance(g, core.Tensor) and g.requires_grad for g in grads)):
            return found
        results = found if isinstance(found, tuple) else (found,)
        made = tuple(_Once.apply(x, *grads) if isinstance(x, core.Tensor) else x for x in results)
        return made if isinstance(found, tuple) else made[0]

    return call


class _Once(Function):
    """The gradient of what is differentiable once, whose own derivative is refused."""

    @staticmethod
    def forward(ctx: Any, x: Any, *grads: Any) -> Any:
        """x itself."""
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """It has none."""
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


# What else is in torch.autograd


class saved_tensors_hooks:  # noqa: N801 - PyTorch's name
    """`with saved_tensors_hooks(pack, unpack):` what operations save is packed, and unpacked for their derivatives."""

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.hooks = pack_hook, unpack_hook

    def __enter__(self) -> None:
        PACKING.append(self.hooks)
        CAREFUL.append(self.hooks)

    def __exit__(self, *_: object) -> None:
        PACKING.remove(self.hooks)
        CAREFUL.remove(self.hooks)


def _unpack(order: list[Node]) -> list[Node]:
    """Put what was packed back where the rules read it; returns the nodes that have it."""
    found = []
    for node in order:
        copies = [x for x in node.inputs if isinstance(x, Node) and (x.op is None or x.op is OPS["clone"])]
        found += [x for x in (node, *copies) if x in PACKED and x not in found]
    with scope(recording=False):
        for node in found:
            packed, unpack = node.extra.packed  # type: ignore[union-attr]
            node.value = unpack(packed).value
    return found


class Variable:
    """An older name of tensor: `Variable(x, requires_grad=True)`."""

    def __new__(cls, data: Any, requires_grad: bool = False) -> Any:
        """The tensor itself, as a leaf."""
        made = data.detach() if isinstance(data, core.Tensor) else data
        return made.requires_grad_() if requires_grad else made
