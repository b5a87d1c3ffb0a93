"""Stubs for type checkers and editors, made from the table of functions: the functions of `ag`, and Tensor's methods.

`python docs/make_pages.py` writes them; a test says when they are out of date.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import agrad.engine as ag
from agrad.engine.core.op import ALIASES, FUNCTIONS, OPERATORS, REQUIRED, Entry
from agrad.engine.ops.tensor_methods import METHOD_FORMS

_MADE = '"""{} Made by `make docs` from the table of functions."""\n'
# What the functions give that are no operations of values alone: everything else gives Tensors of Tensors.
_GIVES = {
    **dict.fromkeys(("load_csv", "chunks", "scan", "ode", "taylor", "measured", "correlated", "root"), "Any"),
    **dict.fromkeys(("integral", "grad", "jacobian", "hessian", "jvp", "vjp", "hvp"), "Any"),
    "manual_seed": "None",
    **dict.fromkeys(("eigh", "qr", "slogdet", "split", "svd", "topk"), "tuple[Tensor, ...]"),
}
_TYPES = {  # of attributes by name, where their default does not say it
    **dict.fromkeys(("axis", "axes"), "int | Sequence[int] | None"),
    **dict.fromkeys(("keepdims", "requires_grad", "stiff", "upper"), "bool"),
    "shape": "int | Sequence[int]",
    "lo": "Operand | None",
    "hi": "Operand | None",
    "device": "object",
    "dtype": "object",
}
_CREATION = ("creation", "uncertainty", "files")


_METHODS_HEAD = '''
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from agrad.engine.core.tensor import Tensor

Operand: TypeAlias = Tensor | float | ArrayLike

class Methods:
    """What the table of operations, autodiff and NumPy's protocols give to Tensor."""

    T: Tensor
    mT: Tensor
    dtype: np.dtype[Any]
    real: Tensor
    imag: Tensor
    def backward(
        self,
        gradient: object = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        *,
        fresh: bool = False,
        watch: Any = None,
    ) -> None: ...
    def forward(self) -> None: ...
    def graph(self, name: str | None = None, depth: int | None = None, since: Sequence[Tensor] = ()) -> Any: ...
    def register_hook(self, hook: Callable[[Any], Any]) -> Any: ...
    def astype(self, dtype: DTypeLike = ...) -> Tensor: ...
    def copy(self) -> Tensor: ...
    def ravel(self) -> Tensor: ...
    def swapaxes(self, axis1: int, axis2: int) -> Tensor: ...
    def take(self, indices: ArrayLike, axis: int | None = None) -> Tensor: ...
    def conjugate(self) -> Tensor: ...
    def is_integer(self) -> bool: ...
    def as_integer_ratio(self) -> tuple[int, int]: ...
    def hex(self) -> str: ...
    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __setitem__(self, index: Any, value: Operand) -> None: ...
    def __contains__(self, value: object) -> bool: ...
    def __eq__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __abs__(self) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __round__(self, digits: int | None = 0) -> Tensor: ...
    def __trunc__(self) -> int: ...
    def __divmod__(self, other: Operand) -> tuple[Tensor, Tensor]: ...
    def __rdivmod__(self, other: Operand) -> tuple[Tensor, Tensor]: ...
'''
_FUNCTIONS_HEAD = """
from collections.abc import Sequence
from typing import Any, TypeAlias, overload

from numpy.typing import ArrayLike

from agrad.engine.core.methods import Operand
from agrad.engine.core.tensor import Tensor

Plain: TypeAlias = float | ArrayLike
"""


def _typed(name: str, default: object) -> str:
    """An attribute with its type, and with its default where it has one."""
    known = type(default).__name__ if type(default) in (bool, int, float, str) else "Any"
    kind = _TYPES.get(name, "float" if known == "int" else known)
    return f"{name}: {kind}" + ("" if default is REQUIRED else f" = {default!r}" if known != "Any" else f" = {default}")


def _attributes(entry: Entry) -> list[str]:
    """The parameters after the operands; PyTorch's names for some can be given by keyword alone."""
    signature = entry.signature
    gathers, attributes = signature.gathers, signature.attributes
    own = [_typed(name, default) for name, default in attributes.items() if name != gathers]
    others = [(other, name) for other, name in ALIASES.items() if name in attributes and other not in attributes]
    more = [f"{other}: {_TYPES.get(name, 'Any')} = ..." for other, name in others if name != gathers]
    if gathers is not None:
        return [f"*{gathers}: {_TYPES.get(gathers, 'Any')}", *own, *more]
    return [*own, *(["*", *more] if more else [])]


def _function(entry: Entry) -> Iterator[str]:
    """The overloads of a function: with a Tensor among the operands, of plain numbers, of plain arrays."""
    operands, attributes = entry.signature.operands, _attributes(entry)
    result, name = _GIVES.get(entry.name, "Tensor"), entry.name
    doc = f'"""{entry.doc}"""'
    called = [*(f"{x}: Any" for x in operands), *attributes]
    if entry.family in _CREATION or result in ("Any", "None") or not operands:
        yield f"def {name}({', '.join(called)}) -> {result}:\n    {doc}\n"
        return
    if entry.signature.variadic:
        yield f"@overload\ndef {name}({', '.join(['xs: Sequence[Tensor]', *attributes])}) -> {result}:\n    {doc}\n"
        yield f"@overload\ndef {name}({', '.join(['xs: Sequence[Any]', *attributes])}) -> Any: ..."
        return
    for place in range(len(operands)):
        kinds = ["Plain"] * place + ["Tensor"] + ["Operand"] * (len(operands) - place - 1)
        given = [f"{x}: {kind}" for x, kind in zip(operands, kinds, strict=True)]
        yield f"@overload\ndef {name}({', '.join([*given, *attributes])}) -> {result}:\n    {doc}\n"
    is_of_numbers = getattr(entry, "scalar", None) is not None and not entry.signature.attributes
    if is_of_numbers:
        yield f"@overload\ndef {name}({', '.join(f'{x}: float' for x in operands)}) -> float: ..."
    yield f"@overload\ndef {name}({', '.join([*(f'{x}: Plain' for x in operands), *attributes])}) -> Any: ..."


def functions() -> str:
    """The stub of the functions of `ag`."""
    made = {name for name, module in FUNCTIONS.modules.items() if module.startswith("agrad.engine")}
    entries = [FUNCTIONS[name] for name in FUNCTIONS if name in made and name not in ag.__all__]
    listed = f"__all__ = {[entry.name for entry in entries]!r}\n"
    lines = [_MADE.format("The functions of `ag`."), _FUNCTIONS_HEAD, listed, *chain(*map(_function, entries))]
    return "\n".join(lines) + "\n"


def _method(name: str) -> str:
    """A method that is a function of the table of its first operand."""
    entry = FUNCTIONS[name]
    operands = [f"{x}: Operand" for x in entry.signature.operands[1:]]
    attributes = ["axis: Any = None", "keepdims: bool = False"] if name in METHOD_FORMS else _attributes(entry)
    called = ", ".join(["self", *operands, *attributes])
    return f'    def {name}({called}) -> {_GIVES.get(name, "Tensor")}:\n        """{entry.doc}"""\n'


def _operators() -> Iterator[str]:
    for operator in OPERATORS.values():
        if operator.method in ("eq", "ne", "neg"):
            continue
        forms = ("", "r", "i") if operator.precedence else ("",)
        for form in forms:
            result = "Self: ...  # type: ignore[misc, unused-ignore]" if form == "i" else "Tensor: ..."
            yield f"    def __{form}{operator.method}__(self, other: Operand) -> {result}"
    for name in ("and", "or", "xor"):
        yield from (f"    def __{form}{name}__(self, other: Operand) -> Tensor: ..." for form in ("", "r"))


def methods() -> str:
    """The stub of the class that has Tensor's methods."""
    own = vars(ag.Tensor)
    named = [name for name in FUNCTIONS if name in own and f"def {name}(" not in _METHODS_HEAD and name not in _OWN]
    return "\n".join(
        [_MADE.format("Tensor's methods."), _METHODS_HEAD.rstrip("\n"), *_operators(), *map(_method, named)]
    )


_OWN = ("detach", "grad")  # of Tensor itself
