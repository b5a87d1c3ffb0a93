"""The value of what is being typed, with its derivatives by the leaves in it; and how a function is called.

Nothing of the session can change: an expression is computed apart from it, on new leaves with the same data, and only
if it is made of numbers, names and pure functions that take little time. Any other text has no live value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agrad.engine.autodiff.backward import backward
from agrad.engine.autodiff.uncertainty import of_slopes
from agrad.engine.core.context import Context, Limits, enter
from agrad.engine.core.graph import Node
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import LOADING, NotLoaded, format_number, format_shape, format_value
from agrad.grammar import help as helps
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.prompt import live_python
from agrad.grammar.run.code import of_expression
from agrad.grammar.run.guarded import Guarded, Names
from agrad.grammar.run.machine import arguments
from agrad.grammar.runtime.builtins import CONSTANTS, Closure, entry_of
from agrad.grammar.runtime.operations import COMPARE, function_of
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.keywords import CLOSERS
from agrad.grammar.syntax.parser import lexed, parse_expression
from agrad.grammar.syntax.typed import last_part
from agrad.lazy import pattern

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
            value = self.value(whole) or (self.value(text) if after else "")
            self._line = "   ".join(filter(None, (signature(text, self.session), value)))
        return self._line

    def value(self, text: str) -> str:
        """The value of the text and its derivatives; nothing where they are not known."""
        LOADING.refused = True  # it takes longer than anything that is computed here
        limits = Limits()
        limits.set(_ENTRIES * 8)
        try:
            with quiet():
                return enter(Context(limits), self._value, text)
        except (AgradError, _Unknown, NotLoaded, RecursionError):
            return ""
        except Exception:  # what an expression raises that is wrong, or not finished
            return ""
        finally:
            LOADING.refused = False

    def _value(self, text: str) -> str:
        target = _TARGET.match(text)
        if last_part(text, self.session.reads_python).is_python:
            names = self.session.names | {"_": self.session.answer}
            return live_python.value(text[target.end() :] if target else text, names, backward)
        tree = parse_expression(Source("live", _closed(text[target.end() :] if target else text)))
        if isinstance(tree, ast.Number) and not target:
            return ""
        if isinstance(tree, ast.Name) and not target:  # the value of a name alone
            value = self.session.names.get(tree.id)
            known = value.node.uncertainty if isinstance(value, Tensor) else None
            return f"= {_short(value, None if known is None else known.u)}"
        return _Computed(self.session.names).told(tree)


class _Unknown(Exception):
    """A text is not among what may be computed apart from the session."""


_DEPTH = 12  # of calls in calls
_STEPS = 4000  # parts of code that all functions of the user may run for a text


class _Computed(Guarded):
    """One expression, computed apart from the session: from numbers and arrays, by pure functions that are quick.

    A function of the user with anything that is not known here has no live value.
    """

    refused = _Unknown

    def __init__(self, names: Mapping[str, Any]) -> None:
        super().__init__(None)  # it is apart from the session
        self.known = names
        self.names = Names(self.meaning)
        self.leaves: dict[str, Tensor] = {}
        # Whether the derivatives by the leaves are those of the expression: no other name has a graph.
        self.whole = True
        self.left = _ENTRIES
        self.steps = _STEPS

    def told(self, tree: ast.Expr) -> str:
        """`= 3.637   d/dx 1.97`."""
        found = _number(self.function(of_expression(tree), self.names)())
        shown = f"= {_short(found)}"
        if not isinstance(found, Tensor) or not found.requires_grad or found.shape != () or not self.whole:
            return shown
        try:
            backward(found)
            shown = self.with_uncertainty(found, shown)
        except NotLoaded:
            return shown
        slopes = [(name, leaf.grad) for name, leaf in self.leaves.items() if leaf.shape == ()]
        parts = [f"d/d{name} {_short(0.0 if slope is None else slope)}" for name, slope in slopes]
        return "   ".join([shown, *parts[:_FEW]]) + (" …" if len(parts) > _FEW else "")

    def with_uncertainty(self, found: Tensor, shown: str) -> str:
        """The value with its uncertainty, if it has one: by the derivatives that a backward has found."""
        slopes: dict[Node, float] = {}
        for name, leaf in self.leaves.items():
            node = self.known[name].node
            if node.uncertainty is not None and leaf.shape:
                return shown
            slopes[node] = 0.0 if leaf.grad is None or leaf.shape else leaf.grad.item()
        u = of_slopes(slopes)
        return f"= {format_value(found.item(), _DIGITS, u)}"

    def meaning(self, name: str) -> Any:
        """What a name stands for: a function, data, or a leaf of its own. KeyError: a function of the engine."""
        value = self.known.get(name, CONSTANTS.get(name))
        if name not in self.known and name in FUNCTIONS:
            raise KeyError(name)
        if isinstance(value, Closure):
            if len(value.scopes) > 1 or not all(map(_is_data, value.defaults)):
                raise _Unknown
            return self.own(value)
        if isinstance(_number(value), bool):
            raise _Unknown
        if isinstance(value, float):
            return value
        self.spend(value.size)
        if not value.requires_grad or not value.is_leaf:
            self.whole = self.whole and not value.requires_grad
            return tensor(value.value)
        self.names[name] = self.leaves[name] = tensor(value.value, requires_grad=True)
        return self.leaves[name]

    def kept(self, value: Any) -> Any:
        """What stands for the value of a default."""
        return value

    def spend(self, cost: float) -> None:
        """Count what is computed. Raises _Unknown where it is too much."""
        self.left -= int(cost)
        if self.left < 0:
            raise _Unknown

    # The parts of code

    def helper(self, name: str) -> Any:
        """What the code calls by a name; of the parts of functions, some thousand are called."""
        found = super().helper(name)

        def call(*parts: Any) -> Any:
            self.steps -= self.inside > 0
            if self.steps < 0:
                raise _Unknown
            return found(*parts)

        return call

    def on_note(self, site: tuple[tuple[str, ...], Span]) -> None:
        """Nothing: it is noted where the statement runs."""

    def on_truth(self, value: Any) -> bool:  # type: ignore[override]
        """Whether a condition holds, in a function."""
        if not self.inside:
            raise _Unknown
        return bool(_alone(_number(value)))

    def on_named(self, name: str, value: Any) -> None:
        """A name gets a value."""
        _number(value)

    on_local = on_again = on_named

    def operated(self, sign: str, left: Any, right: Any, span: Any) -> Any:
        """An operator or a comparison."""
        if sign in COMPARE and self.inside:
            return function_of(sign)(_alone(_number(left)), _alone(_number(right)))
        sizes = _size(left), _size(right)
        if min(sizes) > 1 and sizes[0] * sizes[1] > _ENTRIES and sizes[0] != sizes[1]:
            raise _Unknown  # which may have as many entries as both together
        return super().operated(sign, _number(left), _number(right), span)

    def called(self, function: Any, args: tuple[Any, ...], keywords: dict[str, Any], span: Any) -> Any:
        """The value of a call: of a function of the user, or of one of the engine."""
        if not isinstance(function, Closure):
            return self.computed(entry_of(function), args, keywords)
        if self.inside >= _DEPTH:
            raise _Unknown
        return self.enter(function, args, keywords)

    def computed(self, entry: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The value of a function that is pure and known to be quick."""
        cost = _COSTS.get(getattr(entry, "family", ""))
        largest = max(map(_size, args), default=1)
        if cost is None or not entry.pure or (entry.family == "linear algebra" and largest > _LARGE):
            raise _Unknown
        found = entry.call(*args, **keywords)
        self.spend(cost * max(largest, _size(found)))
        return found

    def on_method(self, site: tuple[tuple[str, int, Any], Span], value: Any, *given: Any) -> Any:
        """`x.name(y)`."""
        (name, count, names), _ = site
        args, keywords = arguments(given, count, names)
        return self.computed(FUNCTIONS.get(name), (_number(value), *args), keywords)

    def on_list(self, site: tuple[str, Span], *items: Any) -> Any:  # type: ignore[override]
        """`[1, 2]`."""
        if not items or not all(isinstance(value, float) for value in items):
            raise _Unknown
        return tensor([*items])


def _number(value: Any) -> Any:
    """A number, a truth or an array. Raises _Unknown for anything else."""
    if not isinstance(value, float | bool | Tensor):
        raise _Unknown
    return value


def _size(value: Any) -> int:
    """How many entries a value has."""
    return value.size if isinstance(value, Tensor) else 1


def _alone(value: Any) -> Any:
    """One number."""
    if isinstance(value, Tensor) and value.shape:
        raise _Unknown
    return value


def _is_data(value: Any) -> bool:
    """Whether a value is of none of the session's graphs, whose gradients a backward here would change."""
    return not value.requires_grad if isinstance(value, Tensor) else value is None or isinstance(value, float | str)


def _short(value: Any, u: Any = None) -> str:
    """A value in a few characters, with its uncertainty."""
    if isinstance(value, Tensor):
        return format_value(value.value, _DIGITS, u) if value.size <= 4 else format_shape(value.shape)
    if isinstance(value, float):
        return format_number(value, _DIGITS)
    raise _Unknown


def _closed(text: str) -> str:
    """A text with the brackets closed that are open, and without what an operand has yet to follow."""
    text = re.sub(r"(?:\s*(?:\*\*|//|[-+*/%@^,]))+\s*$", "", text.rstrip())
    waiting = _opened(text)
    if waiting and text.endswith(("(", "[", "{")):
        raise _Unknown
    return text + "".join(CLOSERS[sign] for sign, *_ in reversed(waiting))


def _opened(text: str) -> list[tuple[str, str, int]]:
    """The brackets that a text leaves open: each sign, the name before it, and how many commas follow."""
    found: list[tuple[str, str, int]] = []
    before = ""
    for token in lexed(text):
        sign = str(token)
        if sign in CLOSERS:
            found.append((sign, before, 0))
        elif sign in CLOSERS.values():
            del found[-1:]
        elif sign == "," and found:
            found[-1] = *found[-1][:2], found[-1][2] + 1
        before = sign if token.type == "NAME" else ""
    return found


def signature(text: str, session: Session) -> str:
    """How the function is called whose brackets the text ends in, with the argument that is typed in `‹ ›`."""
    opened = _opened(text)
    sign, name, position = opened[-1] if opened else ("", "", 0)
    if sign != "(" or not name:
        return ""
    own = session.names.get(name)
    if last_part(text, session.reads_python).is_python:
        return _of_python(text, name, position, session)
    entry = FUNCTIONS.get(name) if own is None else None
    usage = getattr(own, "usage", "") if own is not None else entry.signature.usage if entry is not None else ""
    return _marked(str(usage), position)


def _of_python(text: str, name: str, position: int, session: Session) -> str:
    """The same where Python is read: the path before the bracket that is open."""
    found = re.search(rf"((?:[^\W\d]\w*\.)*{re.escape(name)})\([^()]*(?:\([^()]*\)[^()]*)*$", text)
    completion = helps.python_completion
    value = completion.value_of(found[1], session) if found is not None else None
    return _marked(completion.usage_of(name, value), position) if callable(value) else ""


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
