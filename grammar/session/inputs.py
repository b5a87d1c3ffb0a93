"""What a session gets from outside: names with their values before its first statement, scripts by `load`, and requests
for the derivatives of a value.
"""

from __future__ import annotations

import os.path
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import agrad
from agrad.engine import autodiff, units
from agrad.engine.autodiff.backward import backward
from agrad.engine.core.context import current, note_read, require_files
from agrad.engine.core.graph import Uncertainty, Units, reachable
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint, Label, NotOneNumber
from agrad.engine.struct import Struct
from agrad.engine.text import printable
from agrad.engine.values import Value, format_shape, size_of, spread
from agrad.grammar import runtime
from agrad.grammar.commands.registry import Call, Emit, Session
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.results import Answer
from agrad.grammar.runtime.builtins import FUNCTIONS, bindable, meaning
from agrad.grammar.runtime.operations import as_array
from agrad.grammar.syntax.keywords import RESERVED
from agrad.grammar.syntax.parser import tokens
from agrad.grammar.values.lists import List


def require_free(name: str) -> None:
    """Refuse a name that is a reserved word, or one of Python's own. Raises AgradError of kind `syntax` or `name`."""
    if name in RESERVED:
        raise AgradError("syntax", f"{name} is a reserved word of agrad; choose another name")
    bindable(name)


def refuse_call(name: str, span: Span, known: Collection[str]) -> None:
    """Refuse the call of an unknown function in an expression; `known` are other names. Raises AgradError."""
    if not span.source.text[span.end :].lstrip().startswith("("):
        return
    problem = runtime.fixes.unknown(name, span, known)
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
        made = (
            tensor if number and not (Uncertainty.exists or Units.exist) else FUNCTIONS["tensor"].call
        )  # which few calculations load
        value = made(value, requires_grad=True)
        value.name = name
    names[name] = value
    return remark


def _remark(names: dict[str, Any], name: str, value: Tensor, wrt: Collection[str] | None, apart: bool) -> str:
    """A remark on how the derivatives by earlier names depend on a value that was computed from those.

    `apart`: the value becomes a leaf itself, so that they do not include it.
    """
    behind = reachable(value.node)
    tensors = {known: x for known, x in names.items() if isinstance(x, Tensor) and x.requires_grad}
    by = [known for known, x in tensors.items() if x.node in behind]
    asked = [f"d/d{known}" for known in by if tensors[known].is_leaf and (wrt is None or known in wrt)]
    if not asked:
        return ""
    verb = ("leave out" if len(asked) > 1 else "leaves out") if apart else "include" if len(asked) > 1 else "includes"
    itself = ", and is differentiated by itself" if apart else ""
    told = f"{runtime.fixes.listed(asked)} {verb} what goes through {name}"
    return f"{name} was computed from {runtime.fixes.listed(by)}{itself}: {told}"


def open_names(text: str) -> list[str]:
    """The names in an expression that are neither the language's nor variables of its own, behind a `for`; in order."""
    words = [(kind, text[start:end]) for kind, start, end in tokens(text)]
    own = {name for (_, before), (_, name) in pairwise(words) if before == "for"}
    names = [word for kind, word in words if kind == "name"]
    return [name for name in names if meaning(name, (), None) is None and name not in own]


# `load`: another script, run as a part of the statement that loads it.


def load(session: Session, call: Call) -> None:
    """Run the script that `load "model.ag"` names. Raises AgradError, which says where it was loaded.

    One that `save` wrote writes no file again.
    """
    source = script(call.values[0], call.operand(0).span, session.loading)
    statement, restoring = current().statement, session.restoring
    session.restoring = restoring or agrad.grammar.session.saving.is_saved(source.text)
    try:
        session.include(source)
    except AgradError as problem:
        problem.at = problem.at or problem.labels[0].origin  # what does not parse has not run
        problem.labels.append(Label(call.span, "loaded here"))
        raise
    finally:
        current().begun, session.restoring = statement, restoring


# What reads a file of data, by its ending.
_READERS = {
    **dict.fromkeys((".csv", ".tsv", ".dat", ".jsonl", ".ndjson", ".arrow", ".feather", ".parquet", ".pq"), "load_csv"),
    **dict.fromkeys((".npy", ".npz"), "load_npy"),
}
DEPTH = 50  # scripts that run at once, besides the first


def script(path: str, span: Span, loading: list[str]) -> Source:
    """The script that is loaded at `span` while those in `loading` run, each loaded by the one before it.

    Raises AgradError of kind `file` for what cannot be read, and for a script that would load itself; of kind `limit`
    for loads nested too deep.
    """
    try:
        require_files("load")
        if not path or "\0" in path:
            raise AgradError("file", "load: that is not the name of a file")
        refuse_data(path, "load")
        found = agrad.grammar.files.beside(path, span)
        _refuse_cycle(found, loading)
        if len(loading) > DEPTH:
            raise AgradError("limit", f"scripts load each other at most {DEPTH} deep, and this one would be deeper")
        note_read(found)
        text = agrad.grammar.files.read_text(found, of_script=True)
        refuse_page(found, text, "load")
        return Source(found, text, 1, True)
    except AgradError as problem:
        problem.labels.append(Label(span))
        raise


def refuse_data(path: str, word: str) -> None:
    """Refuse to run a file of data, by the ending of its name. Raises AgradError of kind `file`."""
    if (reader := _READERS.get(os.path.splitext(path)[1].lower())) is not None:
        line = f'data = {reader}("{printable(path)}")'
        fixes = [line if word == "load" else Hint(f"{line}   in a script, or in agrad repl")]
        raise AgradError("file", f"{word} runs a script, and {printable(path)} is a file of data", fixes=fixes)


def refuse_page(path: str, text: str, word: str) -> None:
    """Refuse to run what `save` has written as a page. Raises AgradError of kind `file`."""
    if text.startswith("<!-- saved by agrad"):
        name = os.path.basename(os.path.splitext(path)[0])
        fixes = [Hint(f'save "{printable(name)}.ag"   in the session writes a script')]
        message = f"{word} runs a script, and {printable(path)} is a page that save wrote, to be read"
        raise AgradError("file", message, fixes=fixes)


def _refuse_cycle(path: str, loading: list[str]) -> None:
    real = os.path.realpath(path)
    for position, name in enumerate(loading):
        if os.path.realpath(name) == real:
            chain = " -> ".join([*loading[position:], path])
            raise AgradError("file", f"{path} would load itself: {chain}")


# Derivatives of a value that is already computed: which of them are requested, and their computation.


class Request(Struct, eq=False):
    """The derivatives to compute: their `kind`, as in an Answer, and by which names.

    `order`: of `order`, the highest. `directions`: of `jvp`, a value for each name. `seed`: of `vjp`, what the
    derivatives of every entry are multiplied by.
    """

    kind: str
    names: Sequence[str] = ()
    order: int = 1
    directions: Mapping[str, Any] = {}
    seed: Any = None


def derive(session: Session, value: Any, leaves: Mapping[str, Tensor], request: Request, emit: Emit) -> Answer:
    """A value with its derivatives by leaves. Raises AgradError.

    They are computed as one statement: all of them or none, within the time limit of a statement. Only the first
    note is passed to `emit`: the effect of an infinite first derivative on the second needs no second note.
    """
    if not request.kind:
        return Answer(value)
    if request.kind in ("grad", "order", "hessian"):
        _require_number(value)
    array = as_array(value)
    root = array if isinstance(array, Tensor) else tensor(array)
    origin = root.node.origin
    span = origin if isinstance(origin, Span) else None
    waiting = iter([emit])
    found = session.all_at_once(
        lambda: _derivatives(root, leaves, request), span, lambda result: next(waiting, lambda _: None)(result)
    )
    used = _used(root, leaves)
    answer = Answer(value, request.kind, found, [name for name in leaves if name not in used])
    return _in_units(answer, root, leaves) if Units.exist else answer


def _in_units(answer: Answer, root: Tensor, leaves: Mapping[str, Tensor]) -> Answer:
    """An answer whose derivatives are in units: those of the value over those of the names. Raises AgradError."""
    found, texts = dict[tuple[str, ...], Value](), dict[tuple[str, ...], str]()
    for by, part in answer.derivatives.items():
        unit = units.quantity.slopes(root, [leaves[name] for name in by])
        if answer.kind in ("jvp", "vjp") and any([unit.symbols, *map(units.unit_of, [root, *leaves.values()])]):
            raise AgradError("unit", f"a {answer.kind} is of numbers without units", fixes=[Hint("--jacobian")])
        found[by], texts[by] = units.quantity.in_unit(part, unit), unit.text
    return Answer(answer.value, answer.kind, found, answer.unreached, texts if any(texts.values()) else {})


def _derivatives(root: Tensor, leaves: Mapping[str, Tensor], request: Request) -> dict[tuple[str, ...], Value]:
    """The derivatives, by the names to differentiate by."""
    if request.kind == "grad":
        return _gradient(root, leaves)
    if request.kind not in ("jvp", "vjp"):
        return _orders(root, leaves, request.order)
    used = _used(root, leaves)
    xs = list(used.values())
    if request.kind == "jvp":
        directions = [request.directions[name] for name in used]
        return {(): autodiff.transforms.jvp(root, xs, directions).value if used else spread(0.0, root.shape)}
    found = dict(zip(used, autodiff.transforms.vjp(root, xs, request.seed) if used else (), strict=True))
    return {(name,): found[name].value if name in found else spread(0.0, leaf.shape) for name, leaf in leaves.items()}


def _require_number(value: Any) -> None:
    value = as_array(value) if isinstance(value, List) else value
    shape = (len(value),) if isinstance(value, tuple) else value.shape if isinstance(value, Tensor) else ()
    if size_of(shape) != 1:
        message = f"only one number has a gradient; this is an array of shape {format_shape(shape)}"
        raise AgradError("grad", message, facts=NotOneNumber())


def _gradient(root: Tensor, leaves: Mapping[str, Tensor]) -> dict[tuple[str, ...], Value]:
    """By a backward pass that keeps the graph, since a later answer may use a part of it."""
    for leaf in leaves.values():
        leaf.clear_grad()
    if root.requires_grad:
        backward(root, retain_graph=True)
    return {(name,): spread(0.0, leaf.shape) if leaf.grad is None else leaf.grad.value for name, leaf in leaves.items()}


def _used(root: Tensor, leaves: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The leaves that a value depends on."""
    behind = reachable(root.node) if root.requires_grad else set()
    return {name: leaf for name, leaf in leaves.items() if leaf.node in behind}


def _orders(root: Tensor, leaves: Mapping[str, Tensor], order: int) -> dict[tuple[str, ...], Value]:
    """All derivatives up to an order; of those that differ only in the order of their names, one."""
    names = list(leaves)
    level: dict[tuple[str, ...], Tensor] = {(): root.sum() if order > 1 and root.shape else root}
    found: dict[tuple[str, ...], Value] = {}
    for depth in range(1, order + 1):
        deeper: dict[tuple[str, ...], Tensor] = {}
        for by, part in level.items():
            later = {name: leaves[name] for name in names[names.index(by[-1]) if by else 0 :]}
            used = _used(part, later)
            parts = autodiff.transforms.jacobian(part, list(used.values()), create_graph=depth < order) if used else ()
            rows = dict(zip(used, parts, strict=True))
            for name, leaf in later.items():
                deeper[*by, name] = rows[name] if name in rows else tensor(spread(0.0, part.shape + leaf.shape))
        found |= {by: part.value for by, part in deeper.items()}
        level = deeper
    return found
