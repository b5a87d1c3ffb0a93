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
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
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
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler is None:
            raise Unknown
        found = handler(node)
        if isinstance(found, Tensor) and found.size > _ENTRIES:
            raise Unknown
        if (isinstance(found, int) and found.bit_length() > _BITS) or (isinstance(found, str) and len(found) > _BITS):
            raise Unknown
        return found

    def plain(self, node: Any) -> Any:
        """A number, a text or a tensor."""
        found = self.value(node)
        if not isinstance(found, _PLAIN) or type(found).__module__ == "__main__":
            raise Unknown
        return found

    def _constant(self, node: Any) -> Any:
        return node.value

    def _name(self, node: Any) -> Any:
        if node.id in self.leaves:
            return self.leaves[node.id]
        if node.id not in self.names:
            if node.id in _BUILTINS:
                return _BUILTINS[node.id]
            raise Unknown
        found = self.names[node.id]
        if not isinstance(found, Tensor):
            return found
        made: Any = found.detach().clone()
        if found.requires_grad and found.is_leaf:
            self.leaves[node.id] = made.requires_grad_()
            return made
        self.whole = self.whole and not found.requires_grad
        return made

    def _attribute(self, node: Any) -> Any:
        base = self.names.get(node.value.id) if isinstance(node.value, ast.Name) else self.value(node.value)
        if isinstance(base, Module) or (isinstance(base, Tensor) and node.attr in _ATTRIBUTES):
            return getattr(base, node.attr)
        raise Unknown

    def _binop(self, node: Any) -> Any:
        left, right = self.plain(node.left), self.plain(node.right)
        if isinstance(node.op, ast.Pow) and isinstance(left, int) and isinstance(right, int):
            if left.bit_length() * abs(right) > _BITS:
                raise Unknown
        elif str in (type(left), type(right)) and not isinstance(node.op, ast.Add):
            raise Unknown
        return self.applied(node.op, left, right)

    @staticmethod
    def applied(sign: Any, *values: Any) -> Any:
        """The value of an operator."""
        if type(sign) not in _OPERATORS:
            raise Unknown
        return _OPERATORS[type(sign)](*values)

    def _unaryop(self, node: Any) -> Any:
        return self.applied(node.op, self.plain(node.operand))

    def _compare(self, node: Any) -> Any:
        if len(node.ops) > 1:
            raise Unknown
        return self.applied(node.ops[0], self.plain(node.left), self.plain(node.comparators[0]))

    def _subscript(self, node: Any) -> Any:
        base, index = self.value(node.value), self.value(node.slice)
        if type(base) not in (list, tuple, dict, str) and not isinstance(base, Tensor):
            raise Unknown
        if type(index) not in (int, str):
            raise Unknown
        return self.looked(base[index])

    @staticmethod
    def looked(found: Any) -> Any:
        """An entry of a container, whose text is known without calling anything."""
        if not isinstance(found, _PLAIN):
            raise Unknown
        return found

    def _call(self, node: Any) -> Any:
        if node.keywords and any(one.arg is None for one in node.keywords):
            raise Unknown
        args = [self.plain(one) for one in node.args]
        options = {one.arg: self.plain(one.value) for one in node.keywords}
        if isinstance(node.func, ast.Attribute):
            base = self.names.get(node.func.value.id) if isinstance(node.func.value, ast.Name) else None
            base = base if isinstance(base, Module) else self.plain(node.func.value)
            entry, name = FUNCTIONS.get(node.func.attr), node.func.attr
            if isinstance(base, Module) and vars(base)[".name"] == "math":
                quick = name not in _SLOW
            else:
                quick = entry is not None and entry.pure and entry.family in _FAMILIES
            if not quick or not isinstance(base, Module | Tensor):
                raise Unknown
            return getattr(base, name)(*args, **options)
        function = self.value(node.func)
        if not any(function is one for one in _BUILTINS.values()):
            raise Unknown
        return function(*args, **options)
