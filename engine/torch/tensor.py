"""`Tensor`: the engine's handle with PyTorch's types, views, versions and rules for writing in place.

The engine gives each value its own data. What shares them in PyTorch is known here: a view knows what it is a view of,
and how to take it again. A write to one of them goes up to the whole, and from there down to all other views: as data
where nothing is recorded, else as a new history of each, as in PyTorch.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from agrad.engine import units
from agrad.engine.core import tensor as core
from agrad.engine.core.context import current, next_stamp, remember_entry, scope
from agrad.engine.core.graph import Gradient, Node, collect, leaf, new_node, sharers, touch
from agrad.engine.core.graph_errors import leaf_error
from agrad.engine.core.op import OPS, Op
from agrad.engine.core.tensor import inherit
from agrad.engine.core.versions import mark_written
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.tensor_methods import overwrite
from agrad.engine.values import as_mask, coerce, np, size_of
from agrad.torch import grad_fn
from agrad.torch.types import TABLES, Count, Size, as_pytorch, bool_, device, dtype, dtype_of, float64, int64

_WHOLE = 2.0**53  # up to here each whole number is a float
_PLACES = frozenset({"argmax", "argmin", "argsort", "topk_places"})
_SUMS = frozenset({"sum", "prod", "cumsum", "cumprod", "nansum", "square"})
_OF_FLOATS = frozenset({"mean", "var", "std", "norm", "p_norm", "softmax", "log_softmax"})
_ALIKE = _SUMS | frozenset(
    "abs add amax amin ceil clip clone concat cumprod equal_nan expand flip floor floor_divide fmod gcd getitem "
    "index_put lcm lower_middle maximum median minimum mul neg permute pow put_along relu remainder reshape roll "
    "round hardtanh scatter sign square stack sub sum_to swap take_along transpose trunc upper_middle where matmul "
    "einsum".split()
)


# Operations whose derivative PyTorch computes in another way: it shows where that is not finite, or in the sign of 0.
OTHERWISE = frozenset(
    "log log2 log10 log1p acosh atanh amax amin sigmoid xlogy tanh relu expm1 rsqrt log_softmax pow square".split()
)
_OF_POWERS: Any = OPS["pow"].rules
# What the rule for each operand reads, and the rule.
_RULES: dict[str, tuple[tuple[str, Callable[..., Any]], ...]] = {
    "sigmoid": (("out", lambda g, out, x: g * (1.0 - out) * out),),
    "tanh": (("out", lambda g, out, x: g * (1.0 - out * out)),),
    "expm1": (("out", lambda g, out, x: g * (out + 1.0)),),
    "rsqrt": (("out", lambda g, out, x: -0.5 * g * (out * out * out)),),
    "relu": (("out", lambda g, out, x: OPS["where"].call(OPS["less_equal"].call(out, 0.0), 0.0, g)),),
    "log_softmax": (("out", lambda g, out, x, axis: g - OPS["exp"].call(out) * _total(g, axis)),),
    "pow": (("x y", lambda g, out, x, y: _by_base(g, x, y)), ("out x y", lambda *given: _OF_POWERS[1](*given))),
    "square": (("x", lambda g, out, x: _by_base(g, x, 2.0)),),
    "xlogy": (("x y", lambda g, out, x, y: g * _log_beside(x, y)), ("x y", lambda g, out, x, y: g * x / y)),
}
_VARIANTS: dict[str, Op] = {}


def variant(op: Op) -> Op:
    """The operation with PyTorch's rule: also outside of its domain, and with 0 times what was not selected."""
    made = _VARIANTS.get(op.name, None if op.name in OTHERWISE else op)
    if made is None:
        made = _VARIANTS[op.name] = copy(op)
        divisor = op.fails.beyond
        if divisor is not None:
            made.rules = (lambda g, out, x: g / divisor(x),)
        elif op.name in _RULES:
            made.reads, made.rules = zip(*_RULES[op.name], strict=True)
            made.selects = None
        else:
            made.rules = (_share,)
        made.__post_init__()
    return made


def _by_base(g: Any, x: Any, y: Any) -> Any:
    """y x**(y-1), which has a graph as long as y is not 0: the derivative of x is not a constant."""
    if type(y) is float and y != 0.0 and isinstance(x, core.Tensor):
        made = OPS["pow"].call(x, y - 1.0)
        made.node.op = made.node.op and variant(OPS["pow"])
        return g * (y * made)
    return _OF_POWERS[0](g, None, x, y)


def _total(g: Any, axis: Any) -> Any:
    return OPS["sum"].call(g, axis=axis, keepdims=True)


def _log_beside(x: Any, y: Any) -> Any:
    """The logarithm of y, and 0 where x is 0 and y not positive."""
    among = OPS["minimum"].call(OPS["equal"].call(x, 0.0), OPS["less_equal"].call(y, 0.0))
    made = OPS["log"].call(OPS["where"].call(among, 1.0, y))
    if isinstance(made, core.Tensor):  # the derivative is 1/y also where y is negative
        made.node.op = variant(OPS["log"])
    return made


def _share(g: Any, out: Any, x: Any, axis: Any, keepdims: bool, wide: Any) -> Any:
    """The share of each entry that is equal to the extreme one."""
    out, g = (OPS["reshape"].call(each, wide) for each in (out, g))
    among = OPS["maximum"].call(OPS["equal"].call(x, out), OPS["not_equal"].call(x, x))  # nan is the extreme one
    return g * (among / OPS["sum"].call(among, axis=axis, keepdims=True))


# What operations save, while functions pack it: see `autograd.saved_tensors_hooks`.
PACKING: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = []
# What keeps operators from taking few steps: functions that pack, and views that must not be used any more.
CAREFUL: list[Any] = []
PACKED: weakref.WeakSet[Node] = weakref.WeakSet()  # the nodes whose values are packed


def _pack(made: Any, operands: tuple[Any, ...]) -> None:
    """Let copies of what the rules of a node read stand between it and its operands, and pack their values."""
    node = made.node
    reads, reads_out = node.reads()
    inputs = list(node.inputs)
    for place, x in enumerate(inputs):
        if reads[place] and isinstance(x, Node):
            copied = new_node(OPS["clone"] if x.requires_grad else None, (x,), None, None, x.shape, x.requires_grad)
            inputs[place] = copied
            _keep_packed(copied, operands[place])
    node.inputs, node.seq = tuple(inputs), next_stamp()  # it is younger than the copies
    node.stamp = node.seq
    if reads_out and node.value is not None:
        _keep_packed(node, made)
        node.value = None if node.shape else node.value


def _keep_packed(node: Node, saved: Any) -> None:
    pack, unpack = PACKING[-1]
    with scope(recording=False):
        node._more().packed = pack(saved), unpack  # type: ignore[attr-defined]
    PACKED.add(node)


class Shared:
    """What a tensor shares its data with: the whole that it is a part of, and its own parts.

    `again` takes the view of the whole; without it the data are the same, without the graph. `kind` is "view",
    "detach", or "data", whose writes are not counted as versions of the whole. `made`: "several" for one of many views
    that one operation gave, "no_grad" for one that was made while nothing was recorded.
    """

    def __init__(self, whole: Tensor | None, again: Callable[[Any], Any] | None, kind: str, made: str) -> None:
        self.whole, self.again, self.kind, self.made = whole, again, kind, made
        self.parts: list[tuple[weakref.ref[Tensor], weakref.ref[Node], Any]] = []  # each with its `again`
        self.deeper: list[tuple[weakref.ref[Node], Any]] = []  # those of the views of its views, and how to take them
        self.pruned = 64

    @cached_property
    def places(self) -> Any:
        """Where each entry of the view is among those of the whole."""
        assert self.whole is not None
        assert self.again is not None
        shape = self.whole.node.shape
        with scope(recording=False):
            found = self.again(Tensor.of(np.arange(float(size_of(shape))).reshape(shape) if shape else 0.0)).value
        return np.asarray(found).astype(np.intp).reshape(-1)

    @property
    def renewed(self) -> str:
        """PyTorch's name of the operation by which the view is taken again after a write."""
        if self.made and "Invalid" not in CAREFUL:
            CAREFUL.append("Invalid")
        return "Invalid" if self.made else "AsStridedBackward0"

    @cached_property
    def repeats(self) -> bool:
        """Whether two entries of the view are the same of what it is a view of."""
        return bool(len(np.unique(self.places)) < self.places.size)

    @cached_property
    def in_data(self) -> tuple[Any, bool]:
        """Where each of its entries is in the data, and whether two of them are the same there."""
        places, up = self.places, self.whole.view_of if self.whole is not None else None
        while up is not None and up.whole is not None and up.kind == "view":
            places = up.places[places]
            up = up.whole.view_of
        return places, bool(len(np.unique(places)) < places.size)

    @property
    def overlaps(self) -> bool:
        """Whether two of its entries are the same of the data."""
        return self.again is not None and self.in_data[1]

    def add(self, part: Tensor) -> None:
        """Note a view."""
        if len(self.parts) > self.pruned:
            self.parts = [one for one in self.parts if one[1]() is not None]
            self.deeper = [one for one in self.deeper if one[0]() is not None]
            self.pruned = 2 * len(self.parts) + 64
        self.parts.append((weakref.ref(part), weakref.ref(part.node), part.view_of.again))


def above(x: Any, *kinds: str) -> list[Any]:
    """A tensor, what it shares its data with, and so on; `kinds`: as long as that is so in these ways."""
    chain = [x]
    while (shared := chain[-1].view_of) is not None and shared.whole is not None and shared.kind in (kinds or _SHARING):
        chain.append(shared.whole)
    return chain


_SHARING = ("view", "detach", "data")


def check_whole(x: Any) -> None:
    """Refuse one of several views of which one was written in place, whose derivatives PyTorch does not have."""
    if type(x) is Tensor and x.node.extra is not None and getattr(x.node.extra, "title", "") == "Invalid":
        raise AgradError("leaf", f"{x.node.spell()} is one of several views, of which one was written in place")


def is_inference(node: Node) -> bool:
    """Whether a value was made in inference mode."""
    return getattr(node.extra, "inference", False)


def refuse_saving(nodes: Sequence[Any]) -> None:
    """PyTorch's error where a derivative would read what was made in inference mode."""
    for node in nodes:
        if isinstance(node, Node) and is_inference(node):
            message = f"Inference tensors cannot be saved for backward: {node.spell()} was made in inference mode"
            raise RuntimeError(f"{message}\n  fix: {node.name or 'x'}.clone()")


def refuse_inference(node: Node, what: str) -> None:
    """PyTorch's error where what was made in inference mode is changed outside of it."""
    if is_inference(node) and not current().inference:
        message = f"{what} inference tensor outside InferenceMode is not allowed: {node.spell()} was made in it"
        raise RuntimeError(f"{message}\n  fix: {node.name or 'x'}.clone()")


def check_place(x: Any) -> None:
    """Refuse to write what was made in inference mode, and in `vmap` what all calls of the function have in common."""
    refuse_inference(x.node, "Inplace update to")
    if (mapped := current().mapped) is not None:
        begun, given = mapped
        chain = above(x)
        if chain[-1].node.seq < begun and not any(one is part for one in chain for part in given):
            message = f"vmap: {x.node.spell()} is not mapped over: it cannot be written in place by each call"
            raise RuntimeError(f"{message}\n  fix: a result of the function instead, which is written outside")


_VIEW_OF: Any = core.Tensor.__dict__["view_of"]


class Tensor(core.Tensor):
    """A tensor as PyTorch has it, of float64, int64 or bool."""

    __slots__ = ()
    __module__ = "torch"

    dtype: Any = core.Tensor.__dict__["kind"]  # the slot by PyTorch's name; an array has NumPy's type there
    device, layout, is_cuda, is_sparse, output_nr, tangent = device(), "torch.strided", False, False, 0, None
    requires_grad: Any
    grad: Any

    def __new__(cls, data: Any = None, *sizes: Any) -> Tensor:
        """A tensor of entries, or of a shape."""
        if isinstance(data, int) or sizes:
            return Tensor.of(np.zeros((data, *sizes)) if data is not None else 0.0)
        return Tensor.of(0.0 if data is None else coerce(data)) if data is not None else object.__new__(cls)

    @classmethod
    def of(cls, value: Any, kind: dtype = float64, requires_grad: bool = False) -> Tensor:
        """A new leaf with a value, which is not copied."""
        node = leaf(value if isinstance(value, float) else _settled(value), requires_grad)
        return typed(core.handle(node) if requires_grad else core.bare(node), kind)

    @classmethod
    def made(cls, op: Op, operands: tuple[Any, ...], attrs: dict[str, Any], result: core.Tensor) -> Tensor:
        """The result of an operation, with the type that PyTorch gives it."""
        result.__class__ = Tensor
        made: Any = result
        if op.name in OTHERWISE and result.node.op is op:
            result.node.op = variant(op)
            reads, reads_out = result.node.reads() if result.node.op is not None else ((), False)
            for x, is_read in ((result, reads_out), *zip(operands, reads, strict=False)):
                if is_read and isinstance(x, core.Tensor) and x.node.value is None:
                    x.node.value = x.value  # which these rules read
        if CAREFUL and result.node.requires_grad:
            for x in operands:
                check_whole(x)
            refuse_saving([x for x, on in zip(result.node.inputs, result.node.reads()[0], strict=True) if on])
        elif CAREFUL and op.shares and is_inference(operands[0].node):
            note(result.node, "inference", True)
        kind = float64
        for x in operands:
            if getattr(x, "kind", None) is not float64 and type(x) is not float:
                kind = _result_type(op, operands, attrs)
                break
        else:
            if op.role == "truths" or op.name in ("any", "all"):
                kind = bool_
            elif op.name in _PLACES:
                kind = int64
        typed(made, kind)
        if PACKING and made.node.requires_grad:
            _pack(made, operands)
        return made  # type: ignore[no-any-return]

    if TYPE_CHECKING:  # for methods that are made elsewhere; with one, each attribute would take longer

        def __getattr__(self, name: str) -> Any: ...

    # What it is

    @property
    def view_of(self) -> Any:
        """What it shares its data with, where that is known."""
        try:
            return _VIEW_OF.__get__(self)
        except AttributeError:
            return None

    @view_of.setter
    def view_of(self, shared: Shared) -> None:
        _VIEW_OF.__set__(self, shared)

    @property
    def shape(self) -> Size:
        """The lengths along its axes."""
        return Size(self.node.shape)

    @property
    def size(self) -> Any:
        """`x.size()` is the shape."""
        made = Count(size_of(self.node.shape))
        made.shape = Size(self.node.shape)
        return made

    @property
    def grad_fn(self) -> Any:
        """The operation that made this value, as PyTorch names it."""
        check_whole(self)
        node = self.node
        return None if node.op is None or not node.requires_grad else grad_fn.of(node)

    @property
    def retains_grad(self) -> bool:
        """Whether a backward leaves a gradient here, though this is no leaf."""
        return self.node.op is not None and self.node.keeps_grad

    @property
    def _base(self) -> Tensor | None:
        found = above(self, "view")[-1]
        return None if found is self else found

    @property
    def _version(self) -> int:
        if is_inference(self.node):
            raise RuntimeError("Inference tensors do not track version counter.")
        storage = above(self, "view", "detach")[-1].node.storage
        return storage.version if storage is not None else 0

    def __repr__(self) -> str:
        from agrad.torch.printing import text_of

        text = text_of(self, as_array(self))
        return f"Parameter containing:\n{text}" if self.node.is_parameter else text

    def __format__(self, form: str) -> str:
        return object.__format__(self, form) if self.node.shape else format(self.item(), form)

    # Without its graph

    def detach(self) -> Tensor:
        """The same data without the graph."""
        return self._alias("detach")

    @property
    def data(self) -> Any:
        """The same data without the graph; its versions are counted apart."""
        return self._alias("data")

    @data.setter
    def data(self, value: Any) -> None:
        new = value.value if isinstance(value, core.Tensor) else coerce(value)
        new = new if isinstance(new, float) else np.array(new, order="C", subok=True)
        _hold(self, new)
        self.node.shape = () if isinstance(new, float) else new.shape
        _silenced(self.node)

    def _alias(self, kind: str) -> Tensor:
        node = leaf(self.value)
        node.stamp, node.name = self.node.stamp, self.node.name
        inherit(node, (self.node,))
        units.keep(self.node, node)
        return part_of(self, typed(core.bare(node), self.kind), None, kind)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Let a leaf require a gradient, or not; returns itself."""
        if requires_grad and self.kind is not float64:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if requires_grad:
            refuse_inference(self.node, "Setting requires_grad=True on")
        core.Tensor.requires_grad_(self, requires_grad)
        return self

    def forward(self) -> None:
        """Compute the value again, from the data that its leaves have now: agrad's own."""
        for node in collect([self.node]):
            if node in _SILENT:
                mark_written([node], None, way="data")
                _SILENT.discard(node)
        core.Tensor.forward(self)

    # Plain numbers

    def item(self) -> Any:
        """The one entry as a number of Python."""
        if size_of(self.node.shape) != 1:
            raise RuntimeError(f"a Tensor with {size_of(self.node.shape)} elements cannot be converted to Scalar")
        return self.kind.python(core.Tensor.item(self))

    def tolist(self) -> Any:
        """The entries in nested lists."""
        return as_numbers(self).tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """The entries as an array, whose writes do not come back."""
        if self.requires_grad and not force:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return as_numbers(self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.numpy(), dtype)

    def _scalar(self) -> Any:
        if size_of(self.node.shape) != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __float__(self) -> float:
        return float(self._scalar())

    def __int__(self) -> int:
        return int(self._scalar())

    def __index__(self) -> int:
        if self.kind is float64 or size_of(self.node.shape) != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __bool__(self) -> bool:
        if size_of(self.node.shape) != 1:
            many = "more than one value" if size_of(self.node.shape) else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous\n  fix: use any() or all()")
        return bool(core.Tensor.item(self))

    def __len__(self) -> int:
        if not self.node.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.node.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.node.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self) -> Any:
        return self.flip(0) if self.node.shape else self

    def __contains__(self, other: Any) -> bool:
        return bool((self == other).any())

    def __reduce__(self) -> Any:
        units.plain_number(self)
        return _restored, self._kept(with_grad=False)

    def _kept(self, with_grad: bool) -> tuple[Any, ...]:
        kept = _bytes_of(self.grad) if with_grad and self.grad is not None else None
        return _bytes_of(self), bool(self.requires_grad), (self.node.is_parameter, kept)

    def __copy__(self) -> Tensor:
        made = self.detach().requires_grad_(self.requires_grad)
        made.node.is_parameter = self.node.is_parameter
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment"
            )
        memo[id(self)] = copied = _restored(*self._kept(with_grad=not self.node.is_parameter))
        units.keep(self.node, copied.node)
        return copied

    __hash__ = core.Tensor.__hash__

    # Writing in place

    def write(self, change: Any, scalar: Any, what: str, source: Any = None) -> None:
        """Change the data, and those of all views."""
        check_place(self)
        way = "copy_" if what in ("step", "set", "data") else what  # it matters only where the data were saved
        if self.view_of is not None and current().undo_log is not None:
            _remember_data(self)
        core.Tensor.write(self, change, scalar, way, source)
        whole: Any = self
        while (shared := whole.view_of) is not None and shared.whole is not None:
            way = "" if shared.kind == "data" else way
            whole = _write_up(whole, shared, way)
        _refresh(whole, way, None, self)

    def adopt(self, other: core.Tensor, what: str = "copy_") -> Tensor:
        """Become another value with its graph, and so do all views."""
        check_writable(self, True)
        chain = above(self, "view")
        root = chain[-1]
        if root is self:
            core.Tensor.adopt(self, other, what)
        else:
            before = self.node
            _adopt_up(chain, other, what)
        up, way = root, what
        while (shared := up.view_of) is not None and shared.whole is not None:  # through what has no graph
            way = "" if shared.kind == "data" else way
            up = _write_up(up, shared, way)
        _refresh(root, what, what, None)
        if up is not root:
            _refresh(up, way, None, None, root)
        if root is not self:
            root.view_of.deeper.append(
                (weakref.ref(other.node), None)
            )  # whose rule may read its result, which is data now
            if before.storage is not None:  # the operation itself has read what was there before
                before.storage = before.storage._replace(successor=other.node.seq)
        return self

    def set_(self, value: Any) -> Tensor:
        """New data for a leaf."""
        if isinstance(value, core.Tensor):
            raise RuntimeError(
                "set_ would share the data of another tensor, which agrad does not\n  fix: x.data = other"
            )
        self.write(lambda array: np.copyto(array, value), value if not self.node.shape else None, "set")
        return self


def give(name: str, what: Any) -> None:
    """Let tensors have a method, or another attribute, that is made elsewhere."""
    setattr(Tensor, name, what)


_SILENT: weakref.WeakSet[Node] = weakref.WeakSet()  # leaves whose data were written in a way that is not counted


def typed(x: Any, kind: dtype) -> Tensor:
    """A handle as a tensor of a type, whose entries have the form that the engine wants for it."""
    x.__class__ = Tensor
    x.kind = kind
    if CAREFUL and current().inference and x.node.op is None and not x.node.requires_grad:
        note(x.node, "inference", True)
    value = x.array if x.node.value is None else x.node.value
    is_mask = type(value).__name__ == "Mask"
    if kind is bool_ and not isinstance(value, float) and not (is_mask and not value.mixed):
        _hold(x, as_mask(np.asarray(value) != 0.0))
    elif kind is not bool_ and is_mask:
        _hold(x, value.view(np.ndarray))
    elif kind is int64:
        if not np.all(np.abs(value) <= _WHOLE):
            raise AgradError("domain", "whole numbers beyond 2**53 are not exact in agrad, which computes with float64")
        if np.any(np.signbit(value) & (np.asarray(value) == 0.0)):  # there is one 0 among them
            _hold(x, value + 0.0)
    return x  # type: ignore[no-any-return]


grad_fn.TYPED.append(lambda x: typed(x, float64))


def _settled(value: Any) -> Any:
    return value if value.shape else float(value)


def _silenced(node: Node) -> None:
    """Note that data were written in a way that is not counted."""
    log = current().undo_log
    if log is not None and node not in _SILENT:
        log.remember((node, "silent"), partial(_SILENT.discard, node))
    _SILENT.add(node)


def _remember_data(x: Any) -> None:
    """Log the entries of a view, and of all that it is a view of, before one is written: they may be the same array."""
    chain = above(x)
    oldest = min(node.seq for node in sharers(chain[-1].node))
    for one in chain:
        if one.node.shape:
            core.remember_data(one.value, oldest)


def _hold(x: Any, value: Any) -> None:
    """Give a handle, and its node, another array."""
    node, log = x.node, current().undo_log
    if log is not None and node.seq <= log.since:
        touch(node)
        log.remember((id(x), "array"), partial(setattr, x, "array", x.array), x)
    if x.array is not None:
        x.array = value
    if node.value is not None:
        node.value = value


def as_array(x: Any) -> Any:
    """The entries as a new array of the type."""
    return np.array(x.read_only(), dtype=(np.bool_, np.int64, np.float64)[x.kind.rank])


def as_numbers(x: Any) -> Any:
    """The same of what has no unit. Raises AgradError of kind `unit`."""
    units.plain_number(x)
    return as_array(x)


def _result_type(op: Op, operands: tuple[Any, ...], attrs: dict[str, Any]) -> dtype:
    """The type of a result, some of whose operands are whole numbers or truths."""
    name = op.name
    if op.role == "truths" or name in ("any", "all"):
        return bool_
    if name in _PLACES:
        return int64
    if name in ("take_along", "put_along"):
        return dtype_of(operands[0])
    if name == "where":
        operands = operands[1:]
    kinds = [dtype_of(x) for x in operands]
    kind = max(kinds, key=lambda one: one.rank)
    if kind is not float64 and name in _OF_FLOATS:
        raise RuntimeError(f"{name}(): could not infer output dtype. Input dtype must be a floating point: Got {kind}")
    if name == "matmul" and len({*kinds}) > 1 and all(type(x).__module__ == "torch" for x in operands):
        raise RuntimeError(f"expected both to have the same dtype, but got: {kinds[0]} and {kinds[1]}")
    if name in _SUMS and kind is bool_:
        return int64
    return kind if name in _ALIKE else float64


# Views


def part_of(
    whole: Tensor, part: Tensor, again: Callable[[Any], Any] | None, kind: str = "view", made: str = ""
) -> Tensor:
    """Let a tensor share the data of another; returns it."""
    if whole.view_of is None:
        whole.view_of = Shared(None, None, "", "")
    if is_inference(part.node) or is_inference(whole.node):
        note(part.node, "inference", is_inference(whole.node))
    inherited = whole.view_of.made if kind == "view" else ""
    part.view_of = Shared(whole, again, kind, made or inherited or ("" if current().recording else "no_grad"))
    whole.view_of.add(part)
    up = whole.view_of
    while up.whole is not None:
        again = _after(up.again, again)
        up = up.whole.view_of
        up.deeper.append((weakref.ref(part.node), again))
    return part


def _after(first: Callable[[Any], Any] | None, then: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    """How to take a view of a view; None takes the same entries."""
    return then if first is None else first if then is None else lambda whole: then(first(whole))


def _put(x: Any, value: Any, what: str) -> None:
    """Write data; without a name the write is not counted."""
    core.Tensor.write(x, lambda array: np.copyto(array, value), value if not x.node.shape else None, what)


def _write_up(part: Any, shared: Shared, what: str) -> Any:
    """Write the data of a view into the whole, and return that."""
    whole: Any = shared.whole
    value = part.value
    if not what:
        _silenced(whole.node)
    if shared.again is None:
        if isinstance(value, float) or whole.value is not value or what:
            _put(whole, value, what)
        return whole
    places = shared.places

    def put(array: Any) -> None:
        entries = np.asarray(value).reshape(-1)
        new = entries != array.flat[places] if shared.repeats else slice(None)
        array.flat[places[new]] = entries[new]

    core.Tensor.write(whole, put, float(np.asarray(value).reshape(())) if not whole.node.shape else None, what)
    return whole


def _adopt_up(chain: list[Any], other: Any, what: str) -> None:
    """Give the whole, at the end of a chain of views, the history in which the first is another value."""
    whole, (places, _) = chain[-1], chain[0].view_of.in_data
    flat = OPS["reshape"].call(whole, (size_of(whole.node.shape),))
    put = OPS["index_put"].call(flat, OPS["reshape"].call(other, (-1,)), places)
    core.Tensor.adopt(whole, entitle(OPS["reshape"].call(put, whole.node.shape), "CopySlices"), what)


def entitle(x: Any, name: str) -> Any:
    """Let the operation that made a value be called by PyTorch's name; returns the value."""
    if x.node.op is not None and x.node.requires_grad:
        note(x.node, "title", name)
    return x


# What functions save in PyTorch, though no rule reads it here.
_SAVES = TABLES["saves"]


def keep(name: str, made: Any, operands: Sequence[Any], others: Mapping[str, Any]) -> Any:
    """Let a later write to what PyTorch's function of a name saves be refused by a backward; returns what it made."""
    what = _SAVES.get(name)
    if what is None:
        return made
    results = [x.node for x in (made if isinstance(made, tuple) else (made,)) if isinstance(x, core.Tensor)]
    given = [x.node for x in core.tensors_in([*operands, *others.values()])]
    saved = [given[int(place) - 1] for place in what if place.isdigit() and int(place) <= len(given)]
    if "x" in what:
        saved = [x for x, other in zip(saved, saved[::-1], strict=True) if other.requires_grad]
    if "|" in what and len(results) > 1:
        saved = []
    if "p" in what:
        saved += [x for x in results if not x.requires_grad]
    for node in results:
        if node.op is not None and node.requires_grad:
            smaller = [x for x in results if len(x.shape) < len(node.shape)] if "o" in what else []
            refuse_saving(saved)
            node._more().saves, node._more().saves_result = (*saved, *smaller), "o" in what
    return made


def note(node: Node, name: str, value: Any) -> None:
    """Keep a fact of a node that the engine does not know."""
    facts, log = node._more().__dict__, current().undo_log
    if log is not None and node.seq <= log.since:
        remember_entry(facts, name)
    facts[name] = value


def _refresh(whole: Any, what: str, history: str | None, written: Any, done: Any = None) -> None:
    """Take all views of what was written again: their data, or with `history` their graph; but for one that is done."""
    if whole.view_of is None:
        return
    for reference, known, known_again in whole.view_of.parts:
        part, node = reference(), known()
        if part is None:
            _renew(node, known_again, whole, what)
            continue
        shared: Any = part.view_of
        if shared is None or shared.whole is not whole or part is done:
            continue
        if shared.again is None:
            _hold(part, whole.value)
            if part is not written and shared.kind == "detach" and what:
                mark_written([part.node], current().statement, way=what)
        elif history is not None:
            if node is not None and node is not part.node:
                _outdate(node, what)
            core.Tensor.adopt(part, entitle(shared.again(whole), shared.renewed), history)
        elif part is not written:
            with scope(recording=False):
                value = shared.again(whole).value
            _put(part, value, what)
        if history is None and shared.again is not None:
            entitle(part, shared.renewed)
        _refresh(part, what, history if shared.again is not None else None, written, done)
    for known, known_again in whole.view_of.deeper:
        _renew(known(), known_again, whole, what)


def _renew(node: Node | None, again: Any, whole: Any, what: str) -> None:
    """Count a write for a view that nobody may have any more; if it is not counted, take the new data."""
    if node is not None and what:
        _outdate(node, what)
    elif node is not None and node.value is not None and again is not None:
        touch(node)
        with scope(recording=False):
            node.value = again(whole).value


def _outdate(node: Node, what: str) -> None:
    """Count a write for a view that nobody has any more, but operations may have saved."""
    if node.storage is None or not node.storage.successor:
        mark_written([node], "a write to what it is a view of", way=what)


def check_writable(x: Any, needs_grad: bool) -> None:
    """PyTorch's rules for a write that is recorded."""
    check_place(x)
    shared, root = x.view_of, x
    is_apart = shared is not None and shared.made == "no_grad" and shared.whole is not None
    if not (current().recording and (needs_grad or (is_apart and shared.whole.requires_grad))):
        return
    if shared is not None and shared.whole is not None and shared.kind == "view":
        while not (root.node.op is None and root.node.requires_grad) and (up := root.view_of) is not None:
            if up.whole is None or up.kind != "view":
                break
            root = up.whole
        if shared.made:
            how = "by an operation that returns several" if shared.made == "several" else "while nothing was recorded"
            raise AgradError(
                "leaf",
                f"{x.node.spell()} is a view that was made {how}: it cannot be written in place",
                fixes=[Hint("x.clone()")],
            )
        if root.node.op is None and (root.node.requires_grad or x.node.requires_grad):  # or it was detached in place
            error = leaf_error(root.node)
            error.message = f"a view of a leaf that requires grad is written in place: {error.message}"
            raise error
    if x.node.op is None and x.node.requires_grad:
        raise leaf_error(x.node)


def write_over(x: Any, value: Any, what: str) -> Any:
    """Let a computed value take the place of another in its data and views, as `x.mul_(y)` does; returns that."""
    if x.view_of is not None and x.view_of.overlaps:
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location\n"
            "  fix: x.clone()"
        )
    if value.node.shape != x.node.shape:
        have, given = Size(x.node.shape), Size(value.node.shape)
        raise RuntimeError(f"output with shape {[*have]} doesn't match the broadcast shape {[*given]}")
    if value.kind.rank > x.kind.rank:
        raise RuntimeError(f"result type {value.kind} can't be cast to the desired output type {x.kind}")
    if value.kind is not x.kind:
        value = typed(core.bare(value.node, value.array), x.kind)
    check_writable(x, x.requires_grad or value.requires_grad)
    return overwrite(x, value, what)


def no_attribute(of: str, name: str, names: Any) -> AttributeError:
    """The error for a name that is not there, with the nearest ones."""
    from difflib import get_close_matches  # here, since few programs ask for what is not there

    near = get_close_matches(name, [one for one in names if not one.startswith("_")], 3)
    told = f"\n  fix: {' or '.join(near)}" if near else ""
    return AttributeError(f"{of} has no {name} in agrad{told}")


def _bytes_of(x: Any) -> tuple[bytes, tuple[int, ...], int]:
    """The entries, the shape and the rank of the type."""
    return np.array(x.read_only(), dtype=np.float64).tobytes(), tuple(x.node.shape), getattr(x, "kind", float64).rank


def _of_bytes(data: bytes, shape: tuple[int, ...], rank: int) -> Tensor:
    array = np.frombuffer(bytes(data), dtype=np.float64).reshape(shape).copy()
    return Tensor.of(array if shape else float(array), (bool_, int64, float64)[rank])


def _restored(entries: Any, requires_grad: bool, state: tuple[bool, Any]) -> Tensor:
    made = _of_bytes(*entries)
    is_parameter, gradient = state
    if requires_grad:
        made.requires_grad_()
    made.node.is_parameter = is_parameter
    if gradient is not None:
        made.node.grad = Gradient(_of_bytes(*gradient))
    return made


def kinded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: errors of the engine are of the classes that PyTorch raises."""

    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except AgradError as error:
            raise as_pytorch(error) from None

    call.__name__, call.__doc__ = getattr(function, "__name__", "call"), function.__doc__
    return call
