"""Methods of Python's numbers for Tensors: `x == None`, `round(x)`, `divmod(x, 2)`, `f"{x:.4f}"`, `pickle`, `copy`.

`round` and `divmod` are operations: `round(x)` is a Tensor, not an int as for a float. A Tensor is not registered as a
`numbers.Real`, since it may be an array, which is not a number.
"""

from __future__ import annotations

from typing import Any

from agrad.engine.core.graph import Gradient
from agrad.engine.core.op import FUNCTIONS, OPS, Function
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import format_shape, np


def install() -> None:
    """Give Tensors these methods."""
    methods: dict[str, Any] = {
        "__eq__": _comparing("equal"),
        "__ne__": _comparing("not_equal"),
        "__round__": lambda x, digits=0: FUNCTIONS["round"].call(x, digits or 0),
        "__trunc__": Tensor.__int__,
        "__divmod__": _divided,
        "__rdivmod__": lambda x, other: _divided(other, x),
        "__format__": _formatted,
        "__reduce__": _reduced,
        "__copy__": lambda x: _copied(x),
        "__deepcopy__": lambda x, memo: _copied(x, memo),
        "dtype": property(lambda x: np.dtype(np.float64)),
        "real": property(lambda x: x),
        "imag": property(lambda x: tensor(np.zeros(x.shape) if x.shape else 0.0)),
        "conjugate": lambda x: x,
        "is_integer": lambda x: x.item().is_integer(),
        "as_integer_ratio": lambda x: x.item().as_integer_ratio(),
        "hex": lambda x: x.item().hex(),
        "__contains__": _contains,
    }
    for name, method in methods.items():
        setattr(Tensor, name, method)


def _comparing(name: str) -> Function:
    """`x == y`; if y is not a number, Python calls the other operand, and then compares identity."""
    compare = OPS[name].call

    def method(self: Tensor, other: Any) -> Any:
        if type(other) is Tensor or type(other) is float or type(other) is int:
            return compare(self, other)
        try:
            return compare(self, other)
        except AgradError as error:
            if error.kind == "type":
                return NotImplemented
            raise

    return method


def _divided(x: Any, y: Any) -> Any:
    whole = x // y if type(x) is not Tensor else x.__floordiv__(y)
    return whole if whole is NotImplemented else (whole, FUNCTIONS["remainder"].call(x, y))


def _formatted(self: Tensor, spec: str) -> str:
    """For people, and so without a guard: see `guards`."""
    if not spec:
        return str(self)
    if self.shape:
        message = f"an array of shape {format_shape(self.shape)} has no format {spec!r}, which is for one number"
        raise AgradError("type", message, fixes=[Hint("np.array2string(x, precision=4)")])
    return format(self._number(), spec)


def _contains(self: Tensor, value: Any) -> bool:
    """`2 in x`: whether an entry, of however many axes, is equal, as in NumPy."""
    len(self)  # a scalar has no entries
    found = self == value
    return found if type(found) is bool else bool(FUNCTIONS["any"].call(found))


# Copies


def _data_of_leaf(self: Tensor, what: str) -> Any:
    if self.node.op is not None:
        message = f"{self.node.spell()} was computed: {what} has no graph, and its gradient would be lost"
        raise AgradError(
            "leaf", message, fixes=[Hint("x.detach() for the value alone"), Hint("x.clone() for a copy in the graph")]
        )
    return self.tolist() if not self.shape else self.numpy()


def _reduced(self: Tensor) -> tuple[Any, ...]:
    """As in PyTorch: a leaf with its value, and whether it requires grad; without its gradient."""
    return _restored, (_data_of_leaf(self, "a pickle"), self.requires_grad, self.name)


def _restored(data: Any, requires_grad: bool, name: str | None) -> Tensor:
    made = tensor(data, requires_grad)
    made.name = name
    return made


def _copied(self: Tensor, memo: Any = None) -> Tensor:
    """A new leaf, with a copy of the gradient."""
    made = _restored(_data_of_leaf(self, "a copy of this kind"), self.requires_grad, self.name)
    if self.grad is not None:
        made.node.grad = Gradient(tensor(self.grad.detach()), (), 1, None)
    return made
