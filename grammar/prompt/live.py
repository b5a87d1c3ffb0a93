"""The value of what is being typed, with its derivatives by the leaves in it; and how a function is called.

Nothing of the session can change: an expression is computed apart from it, on new leaves with the same data, and only
if it is made of numbers, names and pure functions that take little time. Any other text has no live value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from agrad.engine.autodiff.backward import backward
from agrad.engine.autodiff.uncertainty import of_slopes
from agrad.engine.core.context import Context, Limits, enter
from agrad.engine.core.graph import Node
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import FUNCTIONS, OPS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.lazy import pattern
from agrad.engine.values import LOADING, NotLoaded, format_number, format_shape, format_value
from agrad.grammar.diagnostics import Source
from agrad.grammar.runtime.builtins import CONSTANTS, Closure
from agrad.grammar.runtime.bytecode import Code, Do
from agrad.grammar.runtime.compiler import BINARY, COMPARE_CALLS
from agrad.grammar.runtime.operations import has_axes
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.keywords import CLOSERS
from agrad.grammar.syntax.parser import lexed, parse_expression

_LONGEST = 300  # characters; a longer text has no live value
_ENTRIES = 1_000_000  # that all operations together may compute, where they are cheap
_LARGE = 4096  # entries of an operand of linear algebra, at most
_DIGITS = 4
_FEW = 3  # derivatives that are shown
# The families of functions that may be called, each with what an entry costs.
_COSTS = {
    "arithmetic": 1,
    "comparison": 1,
    "selection": 4,
    "reductions": 4,
    "elementary": 4,
    "special": 20,
    "learning": 8,
    "linear algebra": 8,
}
_TARGET = pattern(r"\s*(?:var\s+)?[^\W\d]\w*\s*=(?!=)|\s*print\b(?!\()|\s*backward\b")


class Live:
    """The line for a text with the cursor in it. It is computed once a text and a state of the session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.on = True
        self._seen: tuple[str, str, int] = "", "", 0
        self._line = ""

    def __call__(self, text: str, after: str = "") -> str:
        """`sin(x)   = 0.9093   d/dx -0.4161`, as far as it is known; nothing for a text that says nothing.

        `after`: what stands behind the cursor. The value is that of the whole text, or else of what is before it.
        """
        whole = text + after
        if not self.on or not whole.strip() or len(whole) > _LONGEST or "\n" in whole:
            return ""
        if self._seen != (text, after, self.session.line):
            self._seen = text, after, self.session.line
            try:
                value = self.value(whole) or (self.value(text) if after else "")
                self._line = "   ".join(filter(None, (signature(text, self.session), value)))
            except RecursionError:
                self._line = ""
        return self._line

    def value(self, text: str) -> str:
        """The value of the text and its derivatives; nothing where they are not known."""
        target = _TARGET.match(text)
        written = text[target.end() :] if target else text
        limits = Limits()
        limits.set(_ENTRIES * 8)
        LOADING.refused = True  # it takes longer than anything that is computed here
        try:
            tree = parse_expression(Source("live", _closed(written)))
            if isinstance(tree, ast.Number) and not target:
                return ""
            if isinstance(tree, ast.Name) and not target:
                return enter(Context(limits), _named, tree.id, self.session)
            return enter(Context(limits), Computed(self.session.names).line, tree)
        except (AgradError, Unknown, NotLoaded, ArithmeticError, ValueError, TypeError):
            return ""
        finally:
            LOADING.refused = False


class Computed:
    """One expression, computed apart from the session."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names
        self.leaves: dict[str, Tensor] = {}
        # Whether the derivatives by the leaves are those of the expression: no other name has a graph.
        self.whole = True
        self.left = _ENTRIES
        self.calls = Calls(self)

    def line(self, tree: ast.Expr) -> str:
        """`= 3.637   d/dx 1.97`."""
        with quiet():
            found = self.of(tree)
            shown = f"= {_short(found)}"
            if not isinstance(found, Tensor) or not found.requires_grad or found.shape != () or not self.whole:
                return shown
            try:
                backward(found)
                shown = self.with_uncertainty(found, shown)
            except NotLoaded:
                return shown
        slopes = [(name, leaf.grad) for name, leaf in self.leaves.items() if leaf.shape == ()]
        told = [f"d/d{name} {_short(0.0 if slope is None else slope)}" for name, slope in slopes]
        return "   ".join([shown, *told[:_FEW]]) + (" …" if len(told) > _FEW else "")

    def with_uncertainty(self, found: Tensor, shown: str) -> str:
        """The value with its uncertainty, if it has one: by the derivatives that a backward has found."""
        slopes: dict[Node, float] = {}
        for name, leaf in self.leaves.items():
            node = self.names[name].node
            if node.uncertainty is not None and leaf.shape:
                return shown
            slopes[node] = 0.0 if leaf.grad is None or leaf.shape else leaf.grad.item()
        u = of_slopes(slopes)
        return f"= {format_value(found.item(), _DIGITS, u)}"

    def of(self, node: ast.Expr) -> Any:
        """The value of a part. Raises Unknown for what is not among what may be computed."""
        rule = _RULES.get(type(node))
        if rule is None:
            raise Unknown
        return rule(self, node)

    def known(self, name: str) -> Any:
        """A name of the session, or a constant: data, or a leaf of its own. Raises Unknown."""
        if name in self.leaves:
            return self.leaves[name]
        value = self.names.get(name, CONSTANTS.get(name) if name not in self.names else None)
        if isinstance(value, bool) or not isinstance(value, float | Tensor):
            raise Unknown
        if isinstance(value, float):
            return value
        self.spend(value.size)
        if not value.requires_grad:
            return tensor(value.value)
        if not value.is_leaf:
            self.whole = False
            return tensor(value.value)
        self.leaves[name] = leaf = tensor(value.value, requires_grad=True)
        return leaf

    def spend(self, cost: float) -> None:
        """Count what is computed. Raises Unknown where it is too much."""
        self.left -= int(cost)
        if self.left < 0:
            raise Unknown

    def apply(self, entry: Any, operands: list[Any], keywords: dict[str, Any]) -> Any:
        """Call a function that is pure and known to be quick."""
        cost = _COSTS.get(getattr(entry, "family", ""))
        if cost is None or not entry.pure:
            raise Unknown
        sizes = [part.size if isinstance(part, Tensor) else 1 for part in _flat(operands)]
        if entry.family == "linear algebra" and max(sizes, default=1) > _LARGE:
            raise Unknown
        found = entry.call(*operands, **keywords)
        self.spend(cost * max([*sizes, found.size if isinstance(found, Tensor) else 1]))
        return found

    def binary(self, node: ast.Binary) -> Any:
        """`x + y`."""
        if node.op not in BINARY:
            raise Unknown
        left, right = self.of(node.left), self.of(node.right)
        if node.sign is not None and has_axes(left) and has_axes(right):
            raise Unknown
        sizes = [part.size if isinstance(part, Tensor) else 1 for part in (left, right)]
        if min(sizes) > 1 and sizes[0] * sizes[1] > _ENTRIES and sizes[0] != sizes[1]:
            raise Unknown  # which may have as many entries as both together
        return self.apply(OPS[BINARY[node.op]], [left, right], {})

    def unary(self, node: ast.Unary) -> Any:
        """`-x`."""
        value = self.of(node.operand)
        if node.op == "not":
            raise Unknown
        return value if node.op == "+" else self.apply(OPS["neg"], [value], {})

    def call(self, node: ast.Call) -> Any:
        """`sin(x)`, or a method: `x.sum()`."""
        function, operands = node.function, []
        if isinstance(function, ast.Attribute):
            name = function.name
            if isinstance(function.value, ast.Name) and function.value.id not in self.names:
                if function.value.id not in ("torch", "np", "math"):
                    raise Unknown
            else:
                operands = [self.of(function.value)]
        elif isinstance(function, ast.Name):
            name = function.id
        else:
            raise Unknown
        called = self.calls.function(name) if isinstance(function, ast.Name) else FUNCTIONS.get(name)
        if called is None:
            raise Unknown
        keywords = {key: self.of(value) for key, value in node.keywords}
        return self.calls.call(called, [*operands, *(self.of(part) for part in node.arguments)], keywords)

    def items(self, node: ast.List) -> Any:
        """`[1, 2]` of numbers."""
        values = [self.of(item) for item in node.items]
        if node.apart or not values or not all(isinstance(value, float) for value in values):
            raise Unknown
        return tensor(values)


_RULES: dict[type, Callable[[Computed, Any], Any]] = {
    ast.Number: lambda made, node: node.value,
    ast.Name: lambda made, node: made.known(node.id),
    ast.Binary: Computed.binary,
    ast.Unary: Computed.unary,
    ast.Call: Computed.call,
    ast.List: lambda made, node: made.items(node),
}


def _flat(values: list[Any]) -> list[Any]:
    return [part for value in values for part in (_flat(list(value)) if isinstance(value, tuple | list) else [value])]


def _short(value: Any, u: Any = None) -> str:
    """A value in a few characters, with its uncertainty."""
    if isinstance(value, Tensor):
        return format_value(value.value, _DIGITS, u) if value.size <= 4 else format_shape(value.shape)
    if isinstance(value, float):
        return format_number(value, _DIGITS)
    raise Unknown


def _named(name: str, session: Session) -> str:
    """The value of a name alone."""
    value = session.names.get(name)
    if isinstance(value, bool) or not isinstance(value, float | Tensor):
        return ""
    known = value.node.uncertainty if isinstance(value, Tensor) else None
    return f"= {_short(value, None if known is None else known.u)}"


def _closed(text: str) -> str:
    """A text with the brackets closed that are open, and without what an operand has yet to follow."""
    text = re.sub(r"(?:\s*(?:\*\*|//|[-+*/%@^,]))+\s*$", "", text.rstrip())
    open_ones = [str(token) for token in lexed(text) if str(token) in "()[]{}" and len(str(token)) == 1]
    waiting: list[str] = []
    for sign in open_ones:
        if sign in CLOSERS:
            waiting.append(CLOSERS[sign])
        elif waiting:
            waiting.pop()
    if waiting and text.endswith(("(", "[", "{")):
        raise Unknown
    return text + "".join(reversed(waiting))


def signature(text: str, session: Session) -> str:
    """How the function is called whose brackets the text ends in, with the argument that is typed in `‹ ›`."""
    calls: list[tuple[str, int]] = []
    before = ""
    for token in lexed(text):
        sign = str(token)
        if sign in CLOSERS:
            calls.append((before if sign == "(" else "", 0))
        elif sign in CLOSERS.values() and calls:
            calls.pop()
        elif sign == "," and calls:
            calls[-1] = calls[-1][0], calls[-1][1] + 1
        before = sign if token.type == "NAME" else ""
    if not calls or not calls[-1][0]:
        return ""
    name, position = calls[-1]
    own = session.names.get(name)
    entry = FUNCTIONS.get(name) if own is None else None
    usage = getattr(own, "usage", "") if own is not None else entry.signature.usage if entry is not None else ""
    return _marked(str(usage), position)


def _marked(usage: str, position: int) -> str:
    """`f(x, ‹y›)`: the argument at a position marked, or the last that takes several."""
    found = re.fullmatch(r"([^(]*)\((.*)\)(.*)", usage)
    if found is None:
        return usage
    parts = found[2].split(", ")
    if position < len(parts) and parts != [""]:
        parts[position] = f"‹{parts[position]}›"
    elif parts[-1].startswith("*"):
        parts[-1] = f"‹{parts[-1]}›"
    return f"{found[1]}({', '.join(parts)})"


# Calls of the user's functions in the live line: their code, run apart from the session where it is pure and short.
#
# Only instructions that compute from numbers and arrays are known here; a function with any other has no live value.

_DEPTH = 12  # of calls in calls
_STEPS = 4000  # instructions that all calls of a text may run

_COMPARISONS = frozenset(map(id, COMPARE_CALLS.values()))


class Unknown(Exception):
    """A text is not among what may be computed apart from the session."""


class Calls:
    """Runs functions of the user for one text."""

    def __init__(self, apart: Computed) -> None:
        self.apart = apart
        self.left = _STEPS
        self.depth = 0

    def call(self, function: Any, operands: list[Any], keywords: dict[str, Any]) -> Any:
        """The value of a call. Raises Unknown for what may not be called."""
        if not isinstance(function, Closure):
            return self.apart.apply(function, operands, keywords)
        if self.depth == _DEPTH or len(function.scopes) > 1 or not all(map(_is_data, function.defaults)):
            raise Unknown
        self.depth += 1
        try:
            return self._run(function.definition.code, function.bind(tuple(operands), keywords))
        finally:
            self.depth -= 1

    def function(self, name: str) -> Any:
        """The function that a name of the session, or of the language, stands for. Raises Unknown."""
        found = self.apart.names.get(name) if name in self.apart.names else FUNCTIONS.get(name)
        if found is None or isinstance(found, float | Tensor):
            raise Unknown
        return found

    def _run(self, code: Code, own: dict[str, Any]) -> Any:
        stack: list[Any] = []
        place, instructions = 0, code.instructions
        while place < len(instructions):
            do, detail, _ = instructions[place]
            place += 1
            self.left -= 1
            if self.left < 0:
                raise Unknown
            if do is Do.RETURN:
                return _number(stack.pop())
            if do is Do.JUMP:
                place = detail
            elif do is Do.JUMP_IF_FALSE:
                place = place if _truth(stack.pop()) else detail
            elif do is Do.LOAD:
                stack.append(self._load(detail, own))
            elif do is Do.STORE:
                own[detail[0]] = _number(stack.pop())
            elif do is not Do.STATEMENT:
                rule = _CALLED_RULES.get(do)
                if rule is None:
                    raise Unknown
                rule(self, stack, detail)
        raise Unknown

    def _load(self, name: str, own: dict[str, Any]) -> Any:
        if name in own:
            return own[name]
        value = self.apart.names.get(name)
        is_function = isinstance(value, Closure) or (name not in self.apart.names and name in FUNCTIONS)
        return self.function(name) if is_function else self.apart.known(name)

    def _constant(self, stack: list[Any], detail: Any) -> None:
        stack.append(_number(detail))

    def _unary(self, stack: list[Any], detail: Any) -> None:
        if detail is not OPS["neg"].call:
            raise Unknown
        stack.append(self.apart.apply(OPS["neg"], [_number(stack.pop())], {}))

    def _sign(self, stack: list[Any], detail: Any) -> None:
        if all(map(has_axes, stack[-2:])):
            raise Unknown

    def _binary(self, stack: list[Any], detail: Any) -> None:
        right, left = _number(stack.pop()), _number(stack.pop())
        if id(detail) in _COMPARISONS:
            stack.append(detail(_alone(left), _alone(right)))
            return
        entry = OPS.get(getattr(detail, "__name__", ""))
        if entry is None or entry.call is not detail:
            raise Unknown
        stack.append(self.apart.apply(entry, [left, right], {}))

    def _call(self, stack: list[Any], detail: Any) -> None:
        count, names = detail
        operands, keywords = _given(stack, count, names)
        function = stack.pop()
        stack.append(self.call(function, operands, keywords))

    def _method(self, stack: list[Any], detail: Any) -> None:
        name, count, names = detail
        operands, keywords = _given(stack, count, names)
        entry = FUNCTIONS.get(name)
        if entry is None:
            raise Unknown
        stack.append(self.apart.apply(entry, [_number(stack.pop()), *operands], keywords))


_CALLED_RULES: dict[Do, Callable[[Calls, list[Any], Any], None]] = {
    Do.CONSTANT: Calls._constant,
    Do.UNARY: Calls._unary,
    Do.SIGN: Calls._sign,
    Do.WHOLE: lambda calls, stack, detail: None,
    Do.BINARY: Calls._binary,
    Do.CALL: Calls._call,
    Do.METHOD: Calls._method,
}


def _given(stack: list[Any], count: int, names: tuple[str, ...]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call, taken from the stack."""
    if type(names) is not tuple:  # `*xs` among them
        raise Unknown
    total = count + len(names)
    values = stack[len(stack) - total :]
    del stack[len(stack) - total :]
    return values[:count], dict(zip(names, values[count:], strict=True))


def _number(value: Any) -> Any:
    """A number or an array. Raises Unknown for anything else."""
    if type(value) is not float and not isinstance(value, Tensor):
        raise Unknown
    return value


def _is_data(value: Any) -> bool:
    """Whether a value is of none of the session's graphs, whose gradients a backward here would change."""
    return not value.requires_grad if isinstance(value, Tensor) else value is None or isinstance(value, float | str)


def _alone(value: Any) -> Any:
    """One number."""
    if isinstance(value, Tensor) and value.shape:
        raise Unknown
    return value


def _truth(value: Any) -> bool:
    """Whether a condition holds."""
    if isinstance(value, bool):
        return value
    return bool(_alone(_number(value)))
