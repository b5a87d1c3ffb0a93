"""Fixes for the errors of the engine, as statements of the language, chosen by inspecting the graph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agrad.engine.autodiff.transforms import SeveralResults, WrongPlace
from agrad.engine.core.context import current
from agrad.engine.core.graph import Node, collect
from agrad.engine.core.graph_errors import Diverged, Freed, MissingLeaf, MissingSeed, Overwritten, Stale, WrittenLeaf
from agrad.engine.core.op import FUNCTIONS, REQUIRED, Entry
from agrad.engine.core.versions import out_of_date
from agrad.engine.errors import AgradError, Hint, NoGraph, NotCalled, Origin, UnknownColumn, WrongAttribute
from agrad.engine.values import format_number
from agrad.grammar.diagnostics import Span
from agrad.grammar.runtime.errors.column_fixes import column_fixes, of_own_table
from agrad.grammar.runtime.errors.source_lines import again, at, evaluate_again, listed, statement_of
from agrad.grammar.syntax.errors.fixes import corrected
from agrad.grammar.syntax.parser import can_be_read

if TYPE_CHECKING:
    from agrad.engine.core.guards import Guard
    from agrad.grammar.session.log import Entry as Accepted
    from agrad.grammar.session.log import SessionLog
    from agrad.grammar.session.undo import Steps

_RESULT = re.compile(r"(?<![\w.])(ans|_\d*)(?![\w(])")  # a name for what was shown
_GIVEN = re.compile(r"([^\W\d]\w*)[ \t]*=(?!=)(.*)", re.DOTALL)
_NAMES = re.compile(r"(?<![\w.])[^\W\d]\w*")
_NEAR = 5  # statements: with at most so many, taking back the one before them is proposed
# "%.3f" % x, and of the text in it what a value takes the place of.
# A text on one side of a plus.
_JOINED = r"""["'].*\+.*|.*\+ *["'].*"""
# hessian(f, a), with a value where the number of an argument is read.
_BY_VALUE = r"\b(grad|jacobian|hessian)\((\w+), ?([^\W\d]\w*)\)"
# The same with a function without a name, as `jacobian(lambda v: v**2, [1, 2])`.
_OF_LAMBDA = r"(grad|jacobian|hessian)\((lambda .*), ?(\[[^\[\]]*\]|[\w.]+)\)"
# hessian(f), or hessian(f, 1).
_HESSIAN = r"hessian\((\w+)(, ?\w+)?\)"


def explain(error: AgradError, steps: Steps | None = None, record: SessionLog | None = None, names: Any = None) -> None:
    """Replace the fixes of an error that knows its graph. Called while the graph is as it was when it failed.

    `steps` are the statements that can be taken back, where there are any; `record` those in effect, and `names` what
    they have given values.
    """
    error.fixes = of_own_table(_fixes(error) or error.fixes, _typed(error), names)
    if record is not None and isinstance(error.facts, NoGraph):
        error.fixes = _leaf_behind(error.facts.name, record.entries, names) or error.fixes
    if steps is not None and isinstance(error.facts, Freed) and isinstance(by := error.facts.by, Span):
        count, kept = steps.since(by), _retaining(by.text)
        if kept and 0 < count <= _NEAR:
            error.fixes = [*error.fixes, f"undo{f' {count}' if count > 1 else ''}   brings it back; then {kept}"]


def _leaf_behind(name: str, entries: Sequence[Accepted], names: dict[str, Any]) -> list[str]:
    """The number that a number was computed from, as a leaf, and the lines that compute it: `var x = 3; again 5..6`."""
    wanted, given, places = {name}, "", list[Span]()
    for entry in reversed(entries):
        made = _GIVEN.fullmatch(entry.span.text)
        if made is None or made[1] not in wanted:
            continue
        wanted.discard(made[1])
        used = {one for one in _NAMES.findall(made[2]) if isinstance(names.get(one), float)}
        wanted |= used
        if used:
            places.append(entry.span)
        elif not given and made[1] != name:
            given = made[1]
    if not given or any(place.source.is_file for place in places) or not (commands := again(places)):
        return []
    return [f"var {given} = {format_number(names[given], None)}; {commands}"]


def _fixes(error: AgradError) -> list[str]:
    """The fixes for the facts of an error; those for a type error depend on how the expression is written."""
    match error.facts:
        case NotCalled(name):
            return [Hint(f"{name}(…)   calls it")] if name.isidentifier() else []
        case WrongAttribute(name, instead):
            return _attribute(name, instead, error.at)
        case UnknownColumn() as facts:
            return column_fixes(facts, error.at)
        case WrongPlace():
            return _by_value(error.at)
        case SeveralResults():
            return _all_derivatives(error.at, error.fixes)
        case MissingSeed(node):
            return _seed(node, _typed(error))
        case MissingLeaf():
            if isinstance(error.at, Span) and (called := re.fullmatch(r"(.+)\.backward\(.*\)", error.at.text)):
                error.message = error.message.replace(error.at.text, called[1], 1)  # what is called on, not the call
            if isinstance(error.at, Span) and (shown := _RESULT.search(error.at.text)):
                error.message = f"{shown[1]} is what was shown, without its graph"
                return [Hint("y = x**2   gives a value a name, which keeps its graph; then backward y")]
            return [Hint("var x = …   and compute the value from x, outside no_grad and without detach")]
        case WrittenLeaf(name):
            return _no_grad(name, _typed(error))
        case Freed(_, root, by):
            return _freed(root, by)
        case Overwritten(root, node, changed, by):
            return _changed(root, node, changed, by)
        case Stale(root):
            return _stale(root)
        case Diverged(root, guard, constant):
            return _diverged(root, guard, constant)
    if error.kind in ("arity", "shape") and isinstance(error.at, Span):
        if error.message.startswith("diagonal needs") and (traced := re.fullmatch(r"trace\((\w+)\)", error.at.text)):
            error.message = error.message.replace("diagonal", "trace", 1)
            return [f"backward {traced[1]} trace   shows each step of a backward"]
        if error.kind == "arity" and error.at.text.endswith(".grad()"):
            return [fix for fix in [corrected(error.at, error.at.text.removesuffix("()"))] if can_be_read(fix)]
        return _too_many(error.at)
    return _texts(error) if error.kind == "type" and isinstance(error.at, Span) else []


def _seed(node: Node, typed: str) -> list[str]:
    name = node.spell()
    by = next((leaf.name for leaf in reversed(collect([node])) if leaf.op is None and leaf.name), "x")
    if "backward" not in typed:
        asked = re.search(r"\b(grad|hessian|hvp)\(.*, ?(\w+)[,)]", typed)
        word, by = asked.groups() if asked else ("grad", by)
        return [f"{word}(sum({name}), {by})", f"jacobian({name}, {by})"]
    entry = [f"backward {_whole(name)}[{', '.join('0' * len(node.shape))}]"] if 0 not in node.shape else []
    return [f"backward sum({name})", *entry, Hint(f"backward {name} seed …"), f"jacobian({name}, {by})"]


def _typed(error: AgradError) -> str:
    """The statement that failed; within a loaded script, the statement of that script."""
    statement = error.statement or current().statement
    return statement.text if isinstance(statement, Span) else ""


def _whole(text: str) -> str:
    """A text that an index may follow."""
    return text if re.fullmatch(r"[\w.]+", text) else f"({text})"


def _no_grad(name: str, statement: str) -> list[str]:
    if not statement:
        return []
    found = re.match(r"(\w+)(.*)", statement)
    name, rest = found.groups() if found else (name, "")
    new = _augmented(statement) or (f"zeros_like({name})" if rest == ".zero_()" else "…")
    if rest.startswith("["):
        new = f"{name}.clone(); {name}2{rest}"
    made = f"{name}2 = {new}   to make a new value"
    return [f"no_grad: {statement}   to update the leaf", Hint(made) if new == "…" else made]


def _freed(root: Node, by: object) -> list[str]:
    carried = _carried_over(root)
    if carried is not None:
        name, node = carried
        return [Hint(f"{name} = {name}.detach()   before {_place(node)}, to differentiate this iteration alone")]
    kept, redo = _retaining(by.text) if isinstance(by, Span) else None, _again(root)
    return [Hint(f"{kept}   at {at(by)}, or {redo}" if kept and isinstance(by, Span) else redo)]


def _changed(root: Node, node: Node, changed: Node, by: object) -> list[str]:
    """A write to a computed value, `b += 1`, as a new value: `b2 = b + 1`."""
    new = _augmented(by.text) if isinstance(by, Span) else None
    if new is None or not isinstance(by, Span):
        return [Hint(_again(root, node))]
    return [Hint(f"{changed.spell()}2 = {new}   at {at(by)}")]


def _stale(root: Node) -> list[str]:
    redo, late = _again(root), out_of_date(collect([root]))
    if root.name:
        return [Hint(f"forward {root.name}, or {redo}")]
    named = [node.name for node in root.inputs if isinstance(node, Node) and node in late and node.name]
    place = evaluate_again([root.origin]) if len(named) == 1 else None
    return [Hint(f"forward {named[0]} and {place}, or {redo}" if place else redo)]


def _diverged(root: Node, guard: Guard | None, constant: Node | None) -> list[str]:
    nodes = [node for node in (root, guard and guard.node) if isinstance(node, Node)]
    places = [node.origin for node in reversed(collect(nodes)) if node.op is not None]
    places += [part.origin for part in (constant, guard) if part is not None]
    return [Hint(evaluate_again(places) or f"evaluate {root.spell()} again")]


def _texts(error: AgradError) -> list[str]:
    """What is meant by operators that other languages have for strings; and a gradient that is not there yet."""
    assert isinstance(error.at, Span)
    written = error.at.text
    if error.message.endswith("not None") and (name := re.search(r"(?<![\w.])[^\W\d]\w*(?=\.grad\b)", written)):
        return [Hint(f"backward y   of a y that depends on {name[0]}; until then {name[0]}.grad is none")]
    return ['f"{a}{b}"   joins texts and values'] if re.fullmatch(_JOINED, written) else []


def _too_many(at: Span) -> list[str]:
    """`mean(1, 2, 3)`, as in other calculators."""
    name, brackets = apart(at.text)
    given = [one.strip() for one in brackets[1:-1].split(",")]
    plain = all(re.fullmatch(r"[-\w.]+", one) for one in given)
    fix = ""
    entry = FUNCTIONS.get(name)
    if entry is not None and entry.family == "reductions" and _takes_one(entry) and len(given) > 1 and plain:
        numbers = all(re.fullmatch(r"-?[\d.]+", one) for one in given)
        fix = f"{name}([{', '.join(given)}])" if numbers else ""
    elif name in ("grad", "jacobian") and len(given) > 2 and all(map(str.isidentifier, given)):
        fix = f"{name}({given[0]}, [{', '.join(given[1:])}])"
    elif name == "solve" and (equation := re.fullmatch(r"\((.+==.+),[ \t]*([^\W\d]\w*)\)", brackets)):
        return [f"solve {equation[1]} for {equation[2]} from 1"]
    return [fixed] if fix and can_be_read(fixed := corrected(at, fix)) else []


def _takes_one(entry: Entry) -> bool:
    """Whether a function can be called with one argument."""
    return len(entry.signature.operands) == 1 and REQUIRED not in entry.signature.attributes.values()


def _attribute(name: str, instead: tuple[str, ...], at: Origin | None) -> list[str]:
    """The line with another attribute, if that can be read."""
    if not isinstance(at, Span) or f".{name}" not in at.text:
        return []
    start = at.start + at.text.rindex(f".{name}")
    place = Span(at.source, start, start + len(name) + 1)
    if at.source.text[place.end :].lstrip(" ").startswith("(") and name.endswith("()"):
        return []  # what is left would be called, too
    return [fix for word in instead if can_be_read(fix := corrected(place, word))]


def _by_value(at: Origin | None) -> list[str]:
    """`hessian(f, a)` at the point a, and by the leaf a, in the names that were typed."""
    found = re.search(_BY_VALUE, at.text) if at is not None else None
    if found is None and at is not None and (unnamed := re.fullmatch(_OF_LAMBDA, at.text)):
        return [f"{unnamed[1]}({unnamed[2]})({unnamed[3]})"]
    if found is None:
        return []
    word, f, x = found.groups()
    return [f"{word}({f})({x})   at the point {x}", f"{word}({f}({x}), {x})   of the value {f}({x}), by the leaf {x}"]


def apart(call: str) -> tuple[str, str]:
    """A call as typed: what is called, and its arguments with their brackets."""
    depth = 0
    for place in reversed(range(len(call))):
        depth += (call[place] == ")") - (call[place] == "(")
        if not depth:
            return call[:place], call[place:]
    return call, ""


def _all_derivatives(at: Origin | None, fixes: list[str]) -> list[str]:
    """`grad(f)(a)` of an f with several results: its Jacobian there, which for a second derivative has one too."""
    if at is None:
        return []
    derived, point = apart(at.text)
    if found := re.fullmatch(_HESSIAN, derived):
        f, place = found[1], found[2] or ""
        return [f"jacobian(jacobian({f}{place}){place}){point}"]
    if derived.startswith("grad(") and "hessian" not in derived:
        return [re.sub(r"\bgrad\(", "jacobian(", derived) + point]
    named = derived.isidentifier() and derived not in FUNCTIONS  # g = grad(f)
    return [fixes[0].removesuffix("(x)") + point] if named else []


def _carried_over(root: Any) -> tuple[str, Node] | None:
    """A value of an earlier round that this round was computed from: its name, and the first node that uses it.

    The backward that freed it is the one that fails now: a loop that carries a name into the next iteration.
    """
    for node in reversed(collect([root])):
        if node.op is None or node.freed is not None:
            continue
        for operand in node.inputs:
            if isinstance(operand, Node) and operand.freed is not None and operand.name is not None:
                statement = current().statement
                again = statement is not None and operand.freed == statement
                rebound = any(other.name == operand.name and other is not operand for other in collect([root]))
                return (operand.name, node) if again and rebound else None
    return None


def _again(root: Any, changed: object = None) -> str:
    """Which lines to evaluate again: all from what was freed, changed or is out of date up to the root."""
    graph = collect([root])
    late, redo = out_of_date(graph), set[Any]()
    for node in reversed(graph):
        old = node in late or node.freed is not None or node is changed
        if node.op is not None and (old or any(type(x) is Node and x in redo for x in node.inputs)):
            redo.add(node)
    steps = sorted(redo, key=lambda node: node.seq)
    lines = evaluate_again(node.origin for node in steps)
    return f"{lines}{_from(steps)}" if lines else f"evaluate {root.spell()} again"


def _from(steps: list[Any]) -> str:
    """The names that start from their old values, as in `y = y + x`: evaluating the lines is not enough for them."""
    first: dict[str, Any] = {}
    for node in steps:
        if node.name is not None and isinstance(node.origin, Span) and not statement_of(node.origin)[1]:
            first.setdefault(node.name, node.origin)
    names = [name for name, origin in first.items() if re.search(rf"\b{name}\b", origin.text)]
    return f", from the old {listed(names)}" if names else ""


def _place(node: Node) -> str:
    return node.origin.where if node.origin is not None else f"{node.spell()} is computed"


def _augmented(text: str) -> str | None:
    """`b += 1` as the value that it computes: `b + 1`; and `b.sub_(1)`, `b.sub(1)`."""
    found = re.fullmatch(r"(?:no_grad: *)?(\w+) ?([-+*/%@]+)= ?(.+)", text)
    method = re.fullmatch(r"(\w+\.(?:add|sub|mul|div|exp|sqrt|tanh|sigmoid|relu|clamp))_(\(.*\))", text)
    return " ".join(found.groups()) if found else f"{method[1]}{method[2]}" if method else None


def _retaining(text: str) -> str | None:
    """A backward as typed, with the graph kept."""
    if text.startswith("backward "):
        return f"{text} retain"
    method = re.fullmatch(r"(.+\.backward\()(.*)\)", text)
    if method is None:
        return None
    given = re.sub(r"(, ?)?\bretain_graph ?= ?\w+", "", method[2]).lstrip(", ")
    return f"{method[1]}{given and f'{given}, '}retain_graph=True)"
