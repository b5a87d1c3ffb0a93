"""The value of what is being typed where Python is read, with its derivatives by the leaves in it.

An expression is computed by this walk of its tree, from numbers, texts, tensors and functions that are pure and quick;
leaves are replaced by copies. Nothing of the session can change, and no function of a script is called.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor
from agrad.grammar.runtime.modules import Module

_LONGEST = 60  # characters that are shown
_ENTRIES = 4096  # of a tensor
_BITS = 256  # of a whole number
_FEW = 3  # derivatives
_PLAIN = (bool, int, float, complex, str, Tensor)
_OPERATORS: dict[str, Callable[..., Any]] = {
    kind: getattr(operator, name)
    for kind, name in (
        pair.split("=")
        for pair in "Add=add Sub=sub Mult=mul Div=truediv FloorDiv=floordiv Mod=mod Pow=pow MatMult=matmul BitXor=xor"
        " BitAnd=and_ BitOr=or_ USub=neg UAdd=pos Not=not_ Eq=eq NotEq=ne Lt=lt LtE=le Gt=gt GtE=ge".split()
    )
}
_FAMILIES = frozenset({"arithmetic", "comparison", "selection", "reductions", "elementary", "special", "learning"})
_SLOW = frozenset({"comb", "factorial", "perm"})  # of math
_BUILTINS = {one.__name__: one for one in (abs, float, int, bool, len, round, min, max)}
_ATTRIBUTES = frozenset({"shape", "T", "ndim", "dtype", "requires_grad", "is_leaf", "grad"})


class Unknown(Exception):
    """A text is not among what may be computed apart from the session."""


def value(text: str, names: dict[str, Any], derivatives: Callable[[Any], None]) -> str:
    """`= tensor(4.)   d/dx 4`: the value of an expression, with its derivatives. Raises what computing it does."""
    tree = ast.parse(text.strip(), mode="eval").body
    if isinstance(tree, ast.Constant):
        return ""
    walk = _Walk(names)
    found = walk.value(tree)
    if isinstance(found, Tensor) and found.shape == () and found.requires_grad and not found.is_leaf and walk.whole:
        derivatives(found)
        slopes = [(name, leaf.grad) for name, leaf in walk.leaves.items() if leaf.shape == ()]
        parts = [f"d/d{name} {0.0 if slope is None else slope.item():.4g}" for name, slope in slopes[:_FEW]]
        return "   ".join([_short(found), *parts])
    return _short(found)


def _short(found: Any) -> str:
    """A value in one line."""
    if isinstance(found, Tensor):
        found = found.detach()
    if not _is_plain(found):
        raise Unknown
    text = " ".join(repr(found).split())
    return f"= {text}" if len(text) <= _LONGEST else f"= {text[: _LONGEST - 1]}…"


def _is_plain(value: Any, depth: int = 3) -> bool:
    """Whether the text of a value is made without calling a script."""
    if isinstance(value, list | tuple) and type(value).__module__ != "__main__":
        return depth > 0 and len(value) <= _LONGEST and all(_is_plain(one, depth - 1) for one in value)
    return value is None or (isinstance(value, _PLAIN) and type(value).__module__ != "__main__")


class _Walk:
    """One expression, computed apart from the session."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names, self.whole = names, True
        self.leaves: dict[str, Any] = {}

    def value(self, node: Any) -> Any:
        """The value of a part. Raises Unknown."""
        match node:
            case ast.Constant():
                found: Any = node.value
            case ast.Name():
                found = self.named(node.id)
            case ast.Attribute():
                found = self.attribute(node)
            case ast.BinOp():
                found = self.combined(node.op, self.plain(node.left), self.plain(node.right))
            case ast.UnaryOp():
                found = _applied(node.op, self.plain(node.operand))
            case ast.Compare(ops=[sign]):
                found = _applied(sign, self.plain(node.left), self.plain(node.comparators[0]))
            case ast.Subscript():
                found = _entry(self.value(node.value), self.value(node.slice))
            case ast.Call():
                found = self.called(node)
            case _:
                raise Unknown
        if isinstance(found, Tensor) and found.size > _ENTRIES:
            raise Unknown
        if (isinstance(found, int) and found.bit_length() > _BITS) or (isinstance(found, str) and len(found) > _BITS):
            raise Unknown
        return found

    def plain(self, node: Any) -> Any:
        """A number, a text or a tensor."""
        return _plain(self.value(node))

    def named(self, name: str) -> Any:
        """What a name stands for: of a tensor a copy, which is a leaf where it is one."""
        found = self.leaves.get(name, self.names.get(name, _BUILTINS.get(name, Unknown)))
        if found is Unknown:
            raise Unknown
        if not isinstance(found, Tensor) or name in self.leaves:
            return found
        made: Any = found.detach().clone()
        if found.requires_grad and found.is_leaf:
            self.leaves[name] = made.requires_grad_()
            return made
        self.whole = self.whole and not found.requires_grad
        return made

    def owner(self, node: Any) -> Any:
        """What an attribute is of: a module, or a value, which is the session's own where it has a name."""
        return self.names.get(node.id) if isinstance(node, ast.Name) else self.value(node)

    def attribute(self, node: Any) -> Any:
        """`x.name`."""
        base = self.owner(node.value)
        if isinstance(base, Module) or (isinstance(base, Tensor) and node.attr in _ATTRIBUTES):
            return getattr(base, node.attr)
        raise Unknown

    @staticmethod
    def combined(sign: Any, left: Any, right: Any) -> Any:
        """The value of an operator, which is no large number or text."""
        if isinstance(sign, ast.Pow) and isinstance(left, int) and isinstance(right, int):
            if left.bit_length() * abs(right) > _BITS:
                raise Unknown
        elif str in (type(left), type(right)) and not isinstance(sign, ast.Add):
            raise Unknown
        return _applied(sign, left, right)

    def called(self, node: Any) -> Any:
        """The value of a call: of a builtin, or of a function or method that is pure and quick."""
        if any(one.arg is None for one in node.keywords):
            raise Unknown
        args, function = [self.plain(one) for one in node.args], node.func
        options = {one.arg: self.plain(one.value) for one in node.keywords}
        if not isinstance(function, ast.Attribute):
            found = self.value(function)
            if not any(found is one for one in _BUILTINS.values()):
                raise Unknown
            return found(*args, **options)
        base, name = self.owner(function.value), function.attr
        base = base if isinstance(base, Module) else self.plain(function.value)
        entry = FUNCTIONS.get(name)
        quick = entry is not None and entry.pure and entry.family in _FAMILIES
        if isinstance(base, Module) and vars(base)[".name"] == "math":
            quick = name not in _SLOW
        if not quick or not isinstance(base, Module | Tensor):
            raise Unknown
        return getattr(base, name)(*args, **options)


def _plain(found: Any) -> Any:
    """A number, a text or a tensor. Raises Unknown for anything else."""
    if not isinstance(found, _PLAIN) or type(found).__module__ == "__main__":
        raise Unknown
    return found


def _applied(sign: Any, *values: Any) -> Any:
    """The value of an operator."""
    if (function := _OPERATORS.get(type(sign).__name__)) is None:
        raise Unknown
    return function(*values)


def _entry(base: Any, index: Any) -> Any:
    """An entry of a container, whose text is known without calling anything."""
    if type(base) not in (list, tuple, dict, str) and not isinstance(base, Tensor):
        raise Unknown
    if type(index) not in (int, str) or not isinstance(found := base[index], _PLAIN):
        raise Unknown
    return found
