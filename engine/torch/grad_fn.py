"""`x.grad_fn`: the nodes of the engine's graph, with the names that PyTorch prints."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

from agrad.engine.core.graph import Node
from agrad.engine.core.tensor import bare
from agrad.engine.inspect.nodes import saved
from agrad.engine.values import shape_of
from agrad.torch.types import TABLES

_OF_AXES = ("Sum", "Mean", "Prod")  # with an axis it is another form


def name_of(node: Node) -> str:
    """PyTorch's name of an operation, MulBackward0; AccumulateGrad of a leaf."""
    if node.op is None:
        return "AccumulateGrad"
    told: str = getattr(node.extra, "title", "")
    if told:
        return told
    title, attrs = node.op.title, node.attrs or {}
    if title == "FloorDivide" or (title == "Remainder" and not isinstance(node.inputs[0], Node)):
        return "NotImplemented"
    if node.op.role == "opaque":
        return f"{node.title}Backward"
    if title == "Index":
        title = _index_name(attrs.get("index"))
    elif title == "Matmul":
        axes: Any = tuple(len(shape_of(x) if not isinstance(x, Node) else x.shape) for x in node.inputs)
        title = {(1, 1): "Dot", (2, 1): "Mv", (2, 2): "Mm", (1, 2): "Squeeze4", (2, 3): "Clone"}.get(axes, "UnsafeView")
    elif (title in _OF_AXES and (node.shape or (attrs.get("axis") is not None and attrs.get("keepdims")))) or (
        title in ("Fmod", "Remainder") and isinstance(node.inputs[1], Node)
    ):
        title += "1"
    elif title == "Sub" and not isinstance(node.inputs[0], Node):
        title = "Rsub1"
    elif title == "Pow" and len(node.inputs) == 2 and isinstance(node.inputs[1], Node):
        title = "Pow1" if isinstance(node.inputs[0], Node) else "Pow2"
    elif title == "Clip" and any(isinstance(x, Node) for x in node.inputs[1:]):
        title = "Clamp0"
    return numbered(TABLES["nodes"].get(title, title))


def numbered(title: str) -> str:
    """PowBackward1, of Pow1."""
    return f"{title[:-1]}Backward{title[-1]}" if title[-1].isdigit() and title not in _DIGITS else f"{title}Backward0"


_DIGITS = frozenset("Exp2 Log2 Log10 Expm1 Log1p Atan2 I0 I1 J0 J1".split())


def _index_name(index: Any) -> str:
    """That of the last of the views that PyTorch takes one after the other, or of the copy."""
    if not isinstance(index, tuple) or any(hasattr(part, "dtype") for part in index):
        return "Index"
    last = next((part for part in reversed(index) if part is not Ellipsis and part != slice(None)), None)
    if index and last is None and None in index:
        return "Unsqueeze"
    return "Slice" if isinstance(last, slice) else "Alias" if last is None else "Select"


TYPED: list[Any] = []  # what makes a tensor of a handle: `tensor` has it


def as_tensor(x: Any) -> Any:
    """A handle of the engine as a tensor: of a leaf, the one that its user has."""
    made = x.node.variable if x.node.op is None and x.node.requires_grad else None
    return made if made is not None and made.node is not None else TYPED[0](x)


class GradFn:
    """The operation that made a value, or the place where the gradient of a leaf is added up."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def name(self) -> str:
        """MulBackward0."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The operations that the operands came from, None for that of a constant."""
        inputs = self._node.inputs
        if self.name() == "AddmmBackward0":  # a product and a sum here, one node in PyTorch
            product = next(
                (x for x in inputs if isinstance(x, Node) and x.op is not None and x.op.name == "matmul"), None
            )
            if product is not None:
                inputs = (*(x for x in inputs if x is not product), *product.inputs)
        nodes = [x if isinstance(x, Node) else None for x in inputs]
        return tuple((of(x) if x is not None and x.requires_grad else None, 0) for x in nodes)

    @property
    def variable(self) -> Any:
        """The leaf, of an AccumulateGrad."""
        if self._node.op is not None:
            raise AttributeError(f"{self.name()} has no variable: it belongs to a computed value")
        made = self._node.variable
        return made if made.node is not None else bare(self._node)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What an operation of the user has saved."""
        return tuple((self._node.attrs or {})["applied"].context.saved_tensors)

    def register_hook(self, hook: Any) -> Any:
        """Not there: a backward does not keep the gradients of all operands apart."""
        raise NotImplementedError("agrad has no hooks of a grad_fn\n  fix: x.register_hook(hook), of the tensor itself")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_"):
            return as_tensor(saved(self._node, name))
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {hex(id(self))}>"


_MADE: WeakValueDictionary[Node, GradFn] = WeakValueDictionary()
_CLASSES: dict[str, type[GradFn]] = {}


def of(node: Node) -> GradFn:
    """The same object for the same node, as long as somebody has it."""
    found = _MADE.get(node)
    if found is None:
        name = name_of(node)
        kind = _CLASSES.setdefault(name, type(name, (GradFn,), {"__module__": "torch.autograd"}))
        found = _MADE[node] = kind(node)
    return found
