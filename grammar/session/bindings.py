"""Names that get their values from outside a session, before its first statement; and the leaves among them."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from typing import Any

from agrad.engine.core.graph import reachable
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint
from agrad.grammar.diagnostics import Span
from agrad.grammar.syntax.parser import RESERVED, tokens


def require_free(name: str) -> None:
    """Refuse a name that is a reserved word. Raises AgradError of kind `syntax`."""
    if name in RESERVED:
        raise AgradError("syntax", f"{name} is a reserved word of agrad; choose another name")


def refuse_call(name: str, span: Span, known: Collection[str]) -> None:
    """Refuse the call of an unknown function in an expression; `known` are other names. Raises AgradError."""
    from agrad.grammar.runtime.errors.name_errors import unknown  # here, since few names are wrong

    if not span.source.text[span.end :].lstrip().startswith("("):
        return
    problem = unknown(name, span, known)
    if any(fix.startswith("def ") for fix in problem.fixes):  # it cannot be defined here
        problem.fixes = [Hint("agrad functions   lists the functions")]
    raise problem


def bind(names: dict[str, Any], name: str, value: Any, wrt: Collection[str] | None) -> str:
    """Give a name its value; as a leaf if it is in `wrt` (None: all names are), or is a number that is not computed.

    Returns a remark on the derivatives by the names that the value was computed from; empty if there is none.
    """
    number = isinstance(value, float | Tensor)
    computed = isinstance(value, Tensor) and value.requires_grad  # from names before it
    leaf = number if wrt is None else name in wrt or (number and not computed)
    remark = _remark(names, name, value, wrt, apart=leaf) if computed else ""
    if isinstance(value, Tensor) and value.node.op is None and value.name is None and not leaf:
        value.name = name  # a leaf that the text makes, such as 2.0 ± 0.1
    if leaf:
        value = FUNCTIONS["tensor"].call(value, requires_grad=True)
        value.name = name
    names[name] = value
    return remark


def _remark(names: dict[str, Any], name: str, value: Tensor, wrt: Collection[str] | None, apart: bool) -> str:
    """A remark on how the derivatives by earlier names depend on a value that was computed from those.

    `apart`: the value becomes a leaf itself, so that they do not include it.
    """
    from agrad.grammar.runtime.errors import source_lines  # here, since few values are computed from others

    behind = reachable(value.node)
    tensors = {known: x for known, x in names.items() if isinstance(x, Tensor) and x.requires_grad}
    by = [known for known, x in tensors.items() if x.node in behind]
    asked = [f"d/d{known}" for known in by if tensors[known].is_leaf and (wrt is None or known in wrt)]
    if not asked:
        return ""
    verb = ("leave out" if len(asked) > 1 else "leaves out") if apart else "include" if len(asked) > 1 else "includes"
    itself = ", and is differentiated by itself" if apart else ""
    told = f"{source_lines.listed(asked)} {verb} what goes through {name}"
    return f"{name} was computed from {source_lines.listed(by)}{itself}: {told}"


def open_names(text: str) -> list[str]:
    """The names in an expression that are neither the language's nor variables of its own, behind a `for`; in order."""
    from agrad.grammar.runtime.builtins import CONSTANTS, FUNCTIONS

    words = [(kind, text[start:end]) for kind, start, end in tokens(text)]
    own = {name for (_, before), (_, name) in pairwise(words) if before == "for"}
    names = [word for kind, word in words if kind == "name"]
    return [name for name in names if name not in FUNCTIONS and name not in CONSTANTS and name not in own]
