"""What errors propose: fixes as statements of the language, chosen by inspecting the graph; and unknown names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib import import_module
from itertools import groupby
from types import MappingProxyType
from typing import Any

from agrad.engine import errors, units
from agrad.engine.autodiff.transforms import SeveralResults, WrongPlace
from agrad.engine.core.context import current
from agrad.engine.core.graph import Guard, Node, collect
from agrad.engine.core.graph_errors import Diverged, Freed, MissingLeaf, MissingSeed, Overwritten, Stale, WrittenLeaf
from agrad.engine.core.op import FUNCTIONS, REQUIRED
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import out_of_date
from agrad.engine.errors import AgradError, Hint, Label, Origin, UnknownName, WrongAttribute, typed
from agrad.engine.ops.tables import Table
from agrad.engine.text import divided
from agrad.engine.values import Shape, format_number
from agrad.grammar.constants import MEANINGS
from agrad.grammar.diagnostics import Source, Span, leading, suggest
from agrad.grammar.elsewhere import ABSENT, FORMS, KNOWN_ELSEWHERE, MODULES, READERS, SCHOOL, USUAL, WORDS
from agrad.grammar.runtime.builtins import CONSTANTS, Closure
from agrad.grammar.runtime.operations import describe_value
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.errors.messages import corrected, derivative_of, short, syntax_error
from agrad.grammar.syntax.errors.notation import rewritten
from agrad.grammar.syntax.keywords import ALONE, COMMAND_WORDS, COMMANDS_ELSEWHERE, OPTION_WORDS, SHAPES, near
from agrad.grammar.syntax.parser import can_be_read, parse
from agrad.grammar.syntax.readings import is_in_python
from agrad.lazy import pattern

_RESULT = pattern(r"(?<![\w.])(ans|_\d*)(?![\w(])")  # a name for what was shown
_NAMES = pattern(r"(?<![\w.])[^\W\d]\w*")
_NEAR = 5  # statements: with at most so many, taking back the one before them is proposed
# What is proposed for an expression, by what is wrong with it: its text, and what may be typed, of the parts of it.
_AS_WRITTEN: tuple[tuple[type, str, tuple[str, ...]], ...] = (
    (
        WrongPlace,  # hessian(f, a), with a value where the number of an argument is read
        r".*?\b(grad|jacobian|hessian)\((\w+), ?([^\W\d]\w*)\).*",
        (r"\1(\2)(\3)   at the point \3", r"\1(\2(\3), \3)   of the value \2(\3), by the leaf \3"),
    ),
    (WrongPlace, r"(grad|jacobian|hessian)\((lambda .*), ?(\[[^\[\]]*\]|[\w.]+)\)", (r"\1(\2)(\3)",)),
    (errors.NoMatrix, r"trace\((\w+)\)", (r"backward \1 trace   shows each step of a backward",)),
    (MissingLeaf, r"(grad|jacobian|hessian)\((\w+)\((-?[\d.]+)\)\)", (r"\1(\2)(\3)",)),  # grad(sin(2))
    (errors.NotCalled, r"(\w+) ?(-[\w.]+)", (r"\1(\2)",)),  # abs -3
    (SeveralResults, r"hessian\((\w+)((?:, ?\w+)?)\)(\(.*\))", (r"jacobian(jacobian(\1\2)\2)\3",)),
)


def explain(
    error: AgradError,
    since: Callable[[Span], int] = lambda place: 0,
    computed: Mapping[str, Any] = MappingProxyType({}),
    names: Mapping[str, Any] | None = None,
) -> None:
    """Replace the fixes of an error that knows its graph. Called while the graph is as it was when it failed.

    `since`: how many statements to take back so that the one at a place is among them, 0 where that cannot be.
    `computed` has the formulas of numbers, and `names` has their values.
    """
    error.fixes = of_own_table(_fixes(error, names or {}) or error.fixes, _typed(error), names)
    if isinstance(error.facts, errors.NoGraph):
        error.fixes = _leaf_behind(error.facts.name, computed, names or {}) or error.fixes
    if isinstance(error.facts, Freed) and isinstance(by := error.facts.by, Span):
        count, kept = since(by), _retaining(by.text)
        built = error.labels[0].origin  # in the same entry, `undo` would take the value back, too
        if kept and 0 < count <= _NEAR and not (isinstance(built, Span) and since(built) == count):
            error.fixes = [*error.fixes, f"undo{f' {count}' if count > 1 else ''}   brings it back; then {kept}"]


def _leaf_behind(name: str, computed: Mapping[str, Any], names: Mapping[str, Any]) -> list[str]:
    """The newest number that a number was computed from, as a leaf, and its formula: `var x = 3; y = x^2`."""
    if name not in computed or not computed[name].is_of(names[name]):
        return []
    text, behind, _ = computed[name]
    given = [one for one in names if one in behind and one not in computed and isinstance(names[one], float)]
    return [f"var {given[-1]} = {format_number(names[given[-1]], None)}; {name} = {text}"] if given else []


def _fixes(error: AgradError, names: Mapping[str, Any]) -> list[str]:
    """The fixes for the facts of an error; those for a type error depend on how the expression is written."""
    at = error.at if isinstance(error.at, Span) else None
    text = at.text if at is not None else ""
    here = at or current().statement
    if error.kind == "unit" and error.fixes and isinstance(here, Span) and is_in_python(here):
        return [f"calculator   reads units, as in {error.fixes[0]}"]
    for wrong, written, fixes in _AS_WRITTEN:
        if type(error.facts) is wrong and (found := re.fullmatch(written, text)):
            return [found.expand(fix) for fix in fixes]
    match error.facts:
        case errors.NotCalled(name) if re.fullmatch(rf"{name} ?(\^|\*\*) ?(-1|\(-1\))", text):
            return [Hint(f"solve {name}(x) = 4 for x   is the inverse of {name} at 4")]
        case errors.NotCalled("sec") if isinstance(here, Span) and re.search(r"\d.*\bsec$", here.text):
            return edits(here, f"{here.text[:-3]}s")  # 5 sec
        case errors.NotCalled(name):
            return [Hint(f"{name}(…)   calls it")] if name.isidentifier() else []
        case WrongPlace():
            return []
        case WrongAttribute(name, instead):
            return _attribute(name, instead, at)
        case errors.Instead(old, new) if at is not None:
            number = r"(?:\.0*)?" if old.isdigit() else ""  # 1.0 is shown as 1
            places = [*re.finditer(rf"(?<![\w.]){re.escape(old)}{number}(?![\w.])", text)]
            words = {f"{old} {one}": f"{old} {units.unit.word(one) or one}" for one in names}
            new = tuple(words.get(one, one) for one in new)  # 3 m, where m has a value
            return edits(at, *[f"{text[: places[-1].start()]}{one}{text[places[-1].end() :]}" for one in new if places])
        case errors.UnknownColumn() as facts:
            return column_fixes(facts, at)
        case SeveralResults():
            return _all_derivatives(text, error.fixes)
        case MissingSeed(node):
            return _seed(node, _typed(error))
        case MissingLeaf():
            return [_leaf_missing(error, text)]
        case WrittenLeaf(name):
            return _no_grad(name, _typed(error), error.statement or current().statement)
        case Freed(_, root, by):
            return [Hint(_freed(root, by))]
        case Overwritten(root, node, changed, by):
            return [Hint(_changed(root, node, changed, by))]
        case Stale(root):
            return [Hint(_stale(root))]
        case Diverged(root, guard, constant):
            return [Hint(_diverged(root, guard, constant))]
    is_of_nothing = error.message.endswith("to differentiate with respect to")
    if is_of_nothing and not text.endswith("()"):  # grad(f(x)): as it is typed
        is_call = re.fullmatch(r"\w+\(.+\)", text)
        return [f"{text[:-1]}, {error.fixes[0].rpartition(', ')[2]}"] if is_call else []
    if error.kind in ("arity", "shape") and at is not None:
        if error.kind == "arity" and text.endswith(".grad()"):
            return edits(at, text.removesuffix("()"))
        return _too_many(at, error)
    if error.kind != "type" or at is None:
        return []
    if "needs a function, not" in error.message:
        return _of_an_expression(at, text)
    if (called := re.fullmatch(r"(\w+)\[(.*)\]", text)) and called[1] in FUNCTIONS:  # sin[3]
        return edits(at, f"{called[1]}({called[2]})")
    own = re.search(r"(?<![\w.])[^\W\d]\w*(?=\.grad\b)", text)
    if own is not None and type(error.facts) is errors.NoneGiven:
        return [Hint(f"backward y   of a y that depends on {own[0]}; until then {own[0]}.grad is none")]
    joined = re.fullmatch(r"""["'].*\+.*|.*\+ *["'].*""", text)  # a text on one side of a plus
    return ['f"{a}{b}"   joins texts and values'] if joined else []


def _of_an_expression(at: Span, text: str) -> list[str]:
    """`integral(1/x, x, 0, 1)` where x has a value: the function of it; and `root(8, 3)`: the power."""
    called = re.fullmatch(r"(root|integral|taylor)\((.*)\)", text)
    first, *rest = divided(called[2]) if called is not None else [""]
    rest = [one.strip() for one in rest]
    found = dict.fromkeys(re.findall(r"(?<![\w.])[^\W\d]\w*\b(?!\s*\()", first))
    names = [name for name in found if name not in {*CONSTANTS, *FUNCTIONS} and name != first]
    if called is None or not rest or not (names or text.startswith("root")):
        return []
    if not names:
        return edits(at, f"{first}**(1/{rest[0]})") if re.fullmatch(r"[\d.]+ [2-9]", f"{first} {rest[0]}") else []
    name = rest.pop(0) if rest[0] in names else names[0]
    is_one = len(names) == 1 or len(rest) == len(divided(called[2])) - 2  # the one that it has, or that was given
    return edits(at, f"{called[1]}({', '.join([f'lambda {name}: {first}', *rest])})") if rest and is_one else []


def by_names(error: AgradError, names: Mapping[str, Any]) -> list[str]:
    """The fixes of a text that could not be read, by what has a value: the f of `f^-1(4)`, and the x of integrals."""
    at = error.labels[0].origin if error.labels else None
    if not isinstance(at, Span):
        return error.fixes
    near = slice(max(at.start - 99, 0), min(at.end, at.start + 99))  # texts may be long
    sides = re.search(r"(\w+)\s+(\w+)$", at.source.text[near])
    if error.facts == errors.SyntaxMistake("missing operator") and sides is not None:
        (left, right), line = sides.groups(), at.source.line_at(at.start)
        product, call, functions = f"{left}*{right}", f"{left}({right})", {*FUNCTIONS, *SCHOOL}
        once = [one for one in (left, right) if len(re.findall(rf"\b{one}\b", line)) == 1]  # a parameter is there twice
        known = {*names, *CONSTANTS} | functions
        if any(len(one) > 1 and one.isalpha() and one not in known for one in once):  # 5 xor 3
            return [fix for fix in error.fixes if product not in fix and call not in fix]
        is_called = callable(names[left]) if left in names else left in once and left in functions
        return [fix for fix in error.fixes if (call in fix) is is_called] or error.fixes
    inverse = re.fullmatch(r"([^\W\d]\w*) ?(?:\^|\*\*) ?-1\((.+)\)", at.text)
    if inverse is not None and callable(names.get(inverse[1])):
        f, y = inverse.groups()
        is_all = at.text == at.source.line_at(at.start).strip()
        return edits(at, f"solve {f}(x) = {y} for x" if is_all else f"root(lambda x: {f}(x) - ({y}), 1)")
    made = [found for fix in error.fixes if (found := re.search(r"\b(integral|taylor)\((?!lambda\b).*\)$", fix))]
    of_values = [found for found in made if names.keys() & {*_NAMES.findall(found[0])}]
    places = [(Span(Source("fix", found.string), *found.span()), found[0]) for found in of_values]
    return [fix for place in places for fix in _of_an_expression(*place)] or error.fixes


def _leaf_missing(error: AgradError, text: str) -> Hint:
    """What gives a value a graph; the message is about the value, not about the call of its method."""
    if called := re.fullmatch(r"(.+)\.backward\(.*\)", text):
        error.message = error.message.replace(text, called[1], 1)
    if shown := _RESULT.search(text):
        error.message = f"{shown[1]} is what was shown, without its graph"
        return Hint("y = x**2   gives a value a name, which keeps its graph; then backward y")
    return Hint("var x = …   and compute the value from x, outside no_grad and without detach")


def _seed(node: Node, typed: str) -> list[str]:
    name = node.spell()
    by = next((leaf.name for leaf in reversed(collect([node])) if leaf.op is None and leaf.name), "x")
    if "backward" not in typed:
        asked = re.search(r"\b(grad|hessian|hvp)\(.*, ?(\w+)[,)]", typed)
        word, by = asked.groups() if asked else ("grad", by)
        return [f"{word}(sum({name}), {by})", f"jacobian({name}, {by})"]
    whole = name if re.fullmatch(r"[\w.]+", name) else f"({name})"  # which an index may follow
    entry = [f"backward {whole}[{', '.join('0' * len(node.shape))}]"] if 0 not in node.shape else []
    return [f"backward sum({name})", *entry, Hint(f"backward {name} seed …"), f"jacobian({name}, {by})"]


def _typed(error: AgradError) -> str:
    """The statement that failed; within a loaded script, the statement of that script."""
    statement = error.statement or current().statement
    return statement.text if isinstance(statement, Span) else ""


def _no_grad(name: str, statement: str, span: Any) -> list[str]:
    if not statement:
        return []
    source = span.source
    is_python = source.is_python or (source.is_file and source.name.endswith(".py"))
    word = "with torch.no_grad()" if is_python else "no_grad"
    found = re.match(r"(\w+)(.*)", statement)
    name, rest = found.groups() if found else (name, "")
    new = _augmented(statement) or (f"zeros_like({name})" if rest == ".zero_()" else "…")
    if rest.startswith("["):
        new = f"{name}.clone(); {name}2{rest}"
    made = f"{name}2 = {new}   to make a new value"
    return [f"{word}: {statement}   to update the leaf", Hint(made) if new == "…" else made]


def _freed(root: Node, by: object) -> str:
    carried = _carried_over(root)
    if carried is not None:
        name, node = carried
        place = node.origin.where if node.origin is not None else f"{node.spell()} is computed"
        return f"{name} = {name}.detach()   before {place}, to differentiate this iteration alone"
    kept, redo = _retaining(by.text) if isinstance(by, Span) else None, _again(root)
    return f"{kept}   at {line_of(by)}, or {redo}" if kept and isinstance(by, Span) else redo


def _changed(root: Node, node: Node, changed: Node, by: object) -> str:
    """A write to a computed value, `b += 1`, as a new value: `b2 = b + 1`."""
    new = _augmented(by.text) if isinstance(by, Span) else None
    if new is None or not isinstance(by, Span):
        return _again(root, node)
    return f"{changed.spell()}2 = {new}   at {line_of(by)}"


def _diverged(root: Node, guard: Guard | None, constant: Node | None) -> str:
    nodes = [node for node in (root, guard and guard.node) if isinstance(node, Node)]
    places = [node.origin for node in reversed(collect(nodes)) if node.op is not None]
    places += [part.origin for part in (constant, guard) if part is not None]
    return evaluate_again(places) or f"evaluate {root.spell()} again"


def _stale(root: Node) -> str:
    redo, late = _again(root), out_of_date(collect([root]))
    if root.name:
        return f"forward {root.name}, or {redo}"
    named = [node.name for node in root.inputs if isinstance(node, Node) and node in late and node.name]
    place = evaluate_again([root.origin]) if len(named) == 1 else None
    return f"forward {named[0]} and {place}, or {redo}" if place else redo


def _too_many(at: Span, error: AgradError) -> list[str]:
    """`mean(1, 2, 3)`, as in other calculators; `sin(0,5)` with a decimal comma."""
    name, brackets = apart(at.text)
    given = [one.strip() for one in brackets[1:-1].split(",")]
    pointed = re.sub(r"(?<![\w.,])(\d+),(\d+)(?![\w.])(?!,\S)", r"\1.\2", brackets, count=1)
    if pointed != brackets and isinstance(error.facts, errors.OneTooMany) and error.message.startswith(name):
        error.notes.append("the decimal mark is a point")
        return edits(at, f"{name}{pointed}")
    plain = all(re.fullmatch(r"[-\w.]+", one) for one in given)
    fix = ""
    entry = FUNCTIONS.get(name)
    form = entry.signature if entry is not None and (entry.family == "reductions" or name == "roots") else None
    takes_one = form is not None and len(form.operands) == 1 and REQUIRED not in form.attributes.values()
    if takes_one and len(given) > 1 and plain:
        fix = f"{name}([{', '.join(given)}])" if all(re.fullmatch(r"-?[\d.]+", one) for one in given) else ""
    elif name in ("grad", "jacobian") and len(given) > 2 and all(map(str.isidentifier, given)):
        fix = f"{name}({given[0]}, [{', '.join(given[1:])}])"
    elif name == "solve" and (equation := re.fullmatch(r"\((.+==.+),[ \t]*([^\W\d]\w*)\)", brackets)):
        return [f"solve {equation[1]} for {equation[2]} from 1"]
    return edits(at, fix) if fix else []


def edits(place: Span, *texts: str) -> list[str]:
    """The line of a place with each of these texts there, as far as it can be read."""
    return [fix for text in texts if can_be_read(fix := corrected(place, text))]


def _attribute(name: str, instead: tuple[str, ...], at: Origin | None) -> list[str]:
    """The line with another attribute, if that can be read."""
    if not isinstance(at, Span) or f".{name}" not in at.text:
        return []
    start = at.start + at.text.rindex(f".{name}")
    place = Span(at.source, start, start + len(name) + 1)
    if at.source.text[place.end :].lstrip(" ").startswith("(") and name.endswith("()"):
        return []  # what is left would be called, too
    return edits(place, *instead)


def apart(call: str) -> tuple[str, str]:
    """A call as typed: what is called, and its arguments with their brackets."""
    depth = 0
    for place in reversed(range(len(call))):
        depth += (call[place] == ")") - (call[place] == "(")
        if not depth:
            return call[:place], call[place:]
    return call, ""


def _all_derivatives(text: str, fixes: list[str]) -> list[str]:
    """`grad(f)(a)` of an f with several results: its Jacobian there."""
    derived, point = apart(text)
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


# Fixes for what a table does not have: the column that is meant.

_GENERIC = pattern(r"(?<![\w.\"'])t(?=\[|\.columns|\)(?:$| |:))")
_COLUMN_FIXES_NAMES = pattern(r"(?<![\w.\"'])[^\W\d]\w*")


def column_fixes(facts: errors.UnknownColumn, at: Origin | None) -> list[str]:
    """The line with a column that the table has."""
    name, columns = facts.name, facts.columns
    word = re.escape(name)  # t.name(…), or t["name"]
    found = re.fullmatch(rf"(?s)(.+?)(?:\.{word}\b.*|\[[\"']{word}[\"']\])", at.text if at is not None else "")
    owner = found[1] if found is not None else ""
    meant = suggest(name, columns) or leading(name, columns)
    if isinstance(at, Span) and owner and (fixes := edits(at, *(spelled(owner, one) for one in meant))):
        return fixes
    table = owner if owner.isidentifier() else "t"
    return [Hint(spelled(table, one)) for one in meant] or [Hint(f"{table}.columns   are the names")]


def of_own_table(fixes: list[str], typed: str, names: Mapping[str, object] | None) -> list[str]:
    """Fixes that speak of a table t, with the name that it has in what was typed, if there is one table alone."""
    if not names or not any(map(_GENERIC.search, fixes)):
        return fixes
    own = [name for name in dict.fromkeys(_COLUMN_FIXES_NAMES.findall(typed)) if isinstance(names.get(name), Table)]
    return [type(fix)(_GENERIC.sub(own[0], fix)) for fix in fixes] if len(own) == 1 else fixes


def spelled(table: str, name: str) -> str:
    """A column of a table as it is typed: `t.x`, `t["time (s)"]`."""
    if name.isidentifier():
        return f"{table}.{name}"
    quote = "'" if '"' in name else '"'
    return f"{table}[{quote}{name}{quote}]"


# Places in words: at which line something was done, and which lines to evaluate again.


def line_of(place: Span) -> str:
    """`line 7`, with the file if that is not the one that runs."""
    return f"{place.where}{_of(place.source)}"


def statement_of(place: Span) -> tuple[range, str]:
    """The lines of the top-level statement that a place is part of, and the function that it defines, or ""."""
    source = place.source
    lines = Source(source.name, source.text, source.first_line)  # each with a number of its own
    begin = end = lines.position(place.start)[0]
    last = lines.position(len(source.text))[0]
    while begin > source.first_line and _is_inside(lines.line(begin)):
        begin -= 1
    while end < last and _is_inside(lines.line(end + 1)):
        end += 1
    while end > begin and not lines.line(end).strip():
        end -= 1
    defined = re.match(r"def +(\w+)", lines.line(begin))
    numbers = range(source.first_line, source.first_line + 1) if source.is_entry else range(begin, end + 1)
    return numbers, defined[1] if defined else ""


def _is_inside(line: str) -> bool:
    """Whether a line cannot begin a statement at the top level."""
    return not line.strip() or line[0] in " \t" or re.match(r"(elif|else)\b", line) is not None


def evaluate_again(places: Iterable[object]) -> str | None:
    """`evaluate lines 2 to 4 again`; for a place inside a function `call f again`; None if there is no place.

    At a prompt, what can be typed: see `again`.
    """
    files: dict[str, set[int]] = {}
    called: dict[str, None] = {}
    text, entered = "", list[Span]()
    known = [place for place in places if isinstance(place, Span)]
    for place in known:
        lines, function = statement_of(place)
        if function:
            called[function] = None
        else:
            entered += [place] * place.source.is_entry
            files.setdefault(_of(place.source), set()).update(lines)
            text += "\n".join(map(place.source.line, lines)) + "\n"
    calls = [name for name in called if not re.search(rf"\b{name}\(", text)]  # else one of the lines calls it
    if files and all(place.source.is_entry for place in known) and not calls and (commands := again(entered)):
        return commands
    parts = [f"evaluate {listed([_lines(lines) + file for file, lines in files.items()])}"] if files else []
    parts += [f"call {listed(calls)}"] if calls else []
    return f"{' again, and '.join(parts)} again" if parts else None


def again(places: Iterable[Span]) -> str:
    """What runs the statements at some places of a session again: `again 2..4; y = x**2`.

    That is the number of what was typed where all its statements are meant, and the statement itself where it has
    others, which may take back what is to be done again. Empty where such a statement takes several lines.
    """
    meant: dict[Source, set[tuple[int, int]]] = {}
    for place in places:
        meant.setdefault(place.source, set()).add((place.start, place.end))
    found: list[tuple[int, str]] = []
    for source, spans in meant.items():
        statements = [statement.span for statement in parse(source)]
        mine = [one for one in statements if any(one.start <= start < one.end for start, _ in spans)]
        whole = len(mine) == len(statements)
        found += [(source.first_line, "")] if whole else [(source.first_line, one.text) for one in mine]
    if any("\n" in text for _, text in found):
        return ""
    parts: list[str] = []
    for text, group in groupby(sorted(found, key=lambda one: one[0]), key=lambda one: one[1]):
        runs = [] if text else _runs(number for number, _ in group)
        parts += [f"again {run[0]}..{run[-1]}" if len(run) > 1 else f"again {run[0]}" for run in runs] or [text]
    return "; ".join(parts)


def _of(source: Source) -> str:
    statement = current().statement
    here = statement.source.name if isinstance(statement, Span) else source.name
    return f" of {source.name}" if source.is_file and source.name != here else ""


def _lines(numbers: Iterable[int]) -> str:
    """`line 3`, `lines 2 to 4`, `lines 2, 5 and 6`, `lines 2 and 5 to 8`."""
    runs = _runs(numbers)
    if len(runs) > 1:
        runs = [part for run in runs for part in ([run] if len(run) > 2 else [[number] for number in run])]
    parts = [f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return f"line{'' if parts == [str(runs[0][0])] else 's'} {listed(parts)}"


def _runs(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers in their order, those that follow each other together."""
    groups = groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0])
    return [[number for _, number in group] for _, group in groups]


def listed(words: Sequence[object]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *others, last = map(str, words)
    return f"{', '.join(others)} and {last}" if others else last


def unknown(name: str, span: Span, known: Collection[str]) -> AgradError:
    """The error for an unknown name, with similar names: those that are known, and agrad's own."""
    if name in SHAPES and alone(span):
        problem = syntax_error("shape", Span(span.source, span.end, span.end), word=name, usage=SHAPES[name])
        problem.at = problem.labels[0].origin
        return problem
    called = re.compile(r"'*[ \t]*\(").match(span.source.text, span.end) is not None  # also f'(2)
    if called and name in SHAPES:  # `budget(y)`: a command is written without brackets, and has no value
        given = arguments(span)
        plain = " ".join([name, *given])
        is_whole = can_be_read(plain) if len(given) == 1 else not given and name in ALONE
        fixes = [*filter(can_be_read, rewritten(span))] or [plain if is_whole else Hint(SHAPES[name])]
        message = f"{name} is a command, which is written without brackets"
        return AgradError("name", message, labels=[Label(span)], fixes=fixes, facts=UnknownName(name, True))
    if name in ("torch", "numpy", "np") or (name in MODULES | USUAL and span.source.text.startswith(".", span.end)):
        return _of_a_module(name, span)
    close = [*filter(can_be_read, rewritten(span))] or _in_words(name, span) or _option(name, span)
    close = close or _elsewhere(name, span, called, known)
    if not close and called and name.isupper() and name not in ("VAR", "ATAN2", "INT"):  # as spreadsheets have them
        lower = "log10" if name == "LOG" and len(arguments(span)) == 1 else name.lower()
        close = _elsewhere(lower, span, called, known)
        if not close and len(given := arguments(span)) > 1 and lower in ("sum", "median"):  # here of one array
            close = edits(Span(span.source, span.start, span.end + len(_call(span))), f"{lower}([{', '.join(given)}])")
        close = close or edits(span, *[lower] * (lower in FUNCTIONS or lower in SCHOOL))
    close = close or _as_unit(name, span, called or bool(suggest(name, known)))
    close = close or _quotient(name, span, known) or _joined(name, span, called, known)
    if not close and name in SHAPES and not called:
        close = [Hint(SHAPES[name])]
    elif not close and called and name in COMMANDS_ELSEWHERE:
        word = COMMANDS_ELSEWHERE[name]
        close = [corrected(span, word) if word == "print" else Hint(f"{word} …")]
    elif not close:
        found = suggest(name, {*known, *CONSTANTS, *FUNCTIONS}) or suggest(name, COMMAND_WORDS)
        close = [Hint(f"did you mean {' or '.join(found)}?")] if found else []
    if not close and called and name[0] != "_" and hasattr(import_module("agrad.torch"), name):
        close = [Hint(f"torch.{name}(…)   after import torch")]
    if not close and called:
        names_given = ", ".join("xyzuvw"[: len(arguments(span) or "x")])
        close = [Hint(f"def {name}({names_given}) = …   defines it"), "help   lists the functions"]
    value = f"{name} = {_compared(span) or 1}"
    fixes = close or _over_a_range(span, name)
    if not fixes and not name[:2] == name[-2:] == "__":  # such a name of Python's own gets none
        fixes = [f"var {value}" if _moves(span) else Hint(f"give it one: {value}")]
    message = f"there is no function {name}" if called else f"{name} has no value"
    return AgradError("name", message, labels=[Label(span)], fixes=fixes, facts=UnknownName(name, bool(close)))


_UNIT_OVER = pattern(r"(?<!\w)[\d.]+ ?(?![eE][-+\d])[^\W\d]\S*[*/]\(?$")
_UNIT_TIMES = pattern(r"(?<!\w)[\d.]+ ?(?![eE][-+\d])[^\W\d]\S*\*$")


def _as_unit(name: str, span: Span, means_more: bool) -> list[str]:
    """`3 Kg`, `2 hrs to s`: the line with units that a word behind a number may mean, or how one is defined."""
    text = span.source.text
    if not means_more and units.unit.find(name) and _UNIT_TIMES.search(text[: span.start]):
        return [*filter(can_be_read, [corrected(Span(span.source, span.start - 1, span.start), "·")])]  # 5 kg*m^2
    if name in MEANINGS and _UNIT_OVER.search(text[: span.start]):  # 5 MeV/c^2
        return [f"use constants {name}"]
    if means_more or not re.search(r"(?<!\w)[\d.]+[ \t]+$", text[: span.start]):
        return []
    fixed = [corrected(span, one) for one in units.unit.near(name)]
    is_converted = re.compile(r"[ \t]+to[ \t]").match(text, span.end)
    return [*filter(can_be_read, fixed)] or [Hint(f"unit {name} = …   defines one")] * bool(is_converted)


def _moves(span: Span) -> bool:
    """Whether a command moves a name to where a value is least, so that it must be a leaf."""
    statement = current().statement
    found = re.search(r"^\s*m(?:in|ax)imi[sz]e\b.*?\bover\b(.*)", statement.text if statement is not None else "")
    return found is not None and span.text in re.findall(r"\w+", found[1])


def _in_words(name: str, span: Span) -> list[str]:
    """`grad y wrt x`, and a file name without quotes, as `load_csv(data.csv)`, with what is typed."""
    text = span.source.text
    if name == "wrt" and (found := re.compile(r"[ \t]+(\w+)").match(text, span.end)):
        before = re.search(r"grad[ \t]+(\w+)[ \t]+$", text[: span.start])
        if before is not None:
            return [corrected(Span(span.source, before.start(), found.end()), f"grad({before[1]}, {found[1]})")]
    named = re.compile(r"(?:\.\w+)*\.(?:csv|tsv|txt|dat|jsonl|parquet|npy|npz)(?=[ \t]*[,)])").match(text, span.end)
    if named is not None and re.search(r"\bload\w*\([ \t]*$", text[: span.start]):
        return [corrected(Span(span.source, span.start, named.end()), f'"{name}{named[0]}"')]
    return []


def _of_a_module(name: str, span: Span) -> AgradError:
    """The error for the name of a module: of one that Python's reading has, with its import."""
    facts = UnknownName(name, True)
    if name in MODULES:
        message = f"{name} is a module of Python, which is read from an import on"
        return AgradError("name", message, labels=[Label(span)], fixes=[MODULES[name]], facts=facts)
    module = USUAL[name]
    message = f"{name} {'is a module' if name == module else f'comes from {module}'}, and agrad has nothing of it"
    fixes: list[str] = [Hint(ABSENT[module])]
    inside = re.compile(r"(?:\.[^\W\d]\w*)*\.([^\W\d]\w*)").match(span.source.text, span.end)
    if inside is not None and (last := inside[1]) in KNOWN_ELSEWHERE:  # scipy.optimize.curve_fit
        fixes = _instead(last, Span(span.source, *inside.span(1)), span.start)
    return AgradError("name", message, labels=[Label(span)], fixes=fixes, facts=facts)


def _option(name: str, span: Span) -> list[str]:
    """`graph d sa dot`, where sa could be an operand, too: the line with the option that is meant."""
    _, column = span.source.position(span.start)
    before = re.match(r"(?:.*;)?[ \t]*(\w+)[ \t]+[^ \t]", span.source.line_at(span.start)[: column - 1])
    options = OPTION_WORDS.get(before[1], ()) if before is not None else ()
    return [corrected(span, option) for option in near(name, options)]


def _elsewhere(name: str, span: Span, called: bool, known: Collection[str]) -> list[str]:
    """What a name of other languages is in agrad: the line in agrad, if that can be determined."""
    call = _call(span) if name == "d" else ""
    behind = Span(span.source, span.end + len(call), span.end + len(call))
    if call and (by := re.match(r"[ \t]*/[ \t]*(d[^\W\d]\w*)", _rest(behind))):  # d(x^2)/dx
        whole, derivative = Span(span.source, span.start, behind.end + by.end()), f"d/{by[1]} {call.strip()}"
        fixed = [corrected(whole, text) for text in (derivative, f"({derivative})")]
        return [text for text in fixed if can_be_read(text)][:1]
    if name not in KNOWN_ELSEWHERE or (name in ("d", "D") and not called):  # these may be names as well
        return []
    return _instead(name, span, known=known)


def _quotient(name: str, span: Span, known: Collection[str]) -> list[str]:
    """`dy/dx` in a command or a function: `(d/dx y)`."""
    found = re.match(r"d([23]?)([^\W\d]\w*)[ \t]*/[ \t]*d([^\W\d]\w*?)\1\b", _rest(span))
    if found is None or found[0].partition("/")[0].strip() != name:
        return []
    order, y, x = found.groups()
    if y in known:
        is_array = isinstance(known, Mapping) and getattr(known.get(x), "shape", None)
        derivative = f"grad({y}, {x})" if is_array else f"(d{order}/d{x}{order} {y})"
        end = span.start + found.end()
        if (call := _call(Span(span.source, end, end))) and isinstance(known, Mapping):
            definition = getattr(known[y], "definition", None)
            parameters = getattr(definition, "parameters", ())
            if len(parameters) > 1:  # df/dx(2, 3)
                ways = [parameters.index(one) for one in (parameters if x not in parameters else (x,))]
                opened, closed = "grad(" * int(order or 1), [f", {place})" * int(order or 1) for place in ways]
                return edits(Span(span.source, span.start, end), *[f"{opened}{y}{one}" for one in closed])
            whole = Span(span.source, span.start, end + len(call))
            is_read = definition is not None and x in [one.id for one in ast.loads(definition.tree, True)]
            if is_read and x not in parameters:  # f(t) = x*t; df/dx(3)
                return edits(whole, f"(d{order}/d{x}{order} {y}{call.strip()})")
            if not callable(known[y]):
                there = f"forward {y} with {x}={call.strip()[1:-1]}"
                return edits(whole, f"{there}; {derivative}") or [Hint(f"{there}   first")]
            derivative = y + "'" * int(order or 1)  # of df/dx(2)
        return [corrected(Span(span.source, span.start, end), derivative)]
    return [Hint(f"grad({y}, {x})   of a value {y} that was computed from a leaf {x}; grad(f)(2) of a function f")]


def _joined(name: str, span: Span, called: bool, known: Collection[str]) -> list[str]:
    """`sinx` is `sin(x)`, and `xsin(x)` is `x*sin(x)`, of a name that has a value."""
    names = {one for one in known if one not in FUNCTIONS}
    firsts, seconds, between = (names, FUNCTIONS, "{}*{}") if called else (FUNCTIONS, names, "{}({})")
    for first in sorted((one for one in firsts if name.startswith(one)), key=len):
        if (rest := name[len(first) :]) in seconds:
            return [corrected(span, between.format(first, rest))]
    return []


def _of_form(name: str, given: list[str], known: Collection[str]) -> str:
    """What a call with these arguments is by the forms; empty where it is none of them."""
    place, _, form = FORMS.get(f"{name}/{len(given)}", "").partition(" ")
    given = [re.sub(r"^weights ?= ?", "", one) for one in given]
    if name in ("diff", "D") and len(given) == 1 and isinstance(known, Mapping) and callable(known.get(given[0])):
        return f"{given[0]}'"
    if form and (place == "-" or given[int(place)].isidentifier()):
        return form.format(*given, term=given[0] if re.fullmatch(r"[\w.]+", given[0]) else f"({given[0]})")
    by = given[1:]
    if (
        name in ("derivative", "derive", "diff", "D") and len(given) == 1 and not given[0].isidentifier()
    ):  # by its only name
        by = [*{*re.findall(r"(?<![\w.])[^\W\d]\w*(?![\w(])", given[0])} - {*CONSTANTS}]
    if name not in ("diff", "derivative", "derive", "d", "D") or len(by) != 1 or not by[0].isidentifier():
        return ""
    has_graph = isinstance(known, Mapping) and isinstance(known.get(by[0]), Tensor)
    return f"grad({given[0]}, {by[0]})" if has_graph else f"d/d{by[0]} ({given[0]})"


def _instead(name: str, at: Span, start: int | None = None, known: Collection[str] = ()) -> list[str]:
    """The line with agrad's equivalent of a function of other libraries, or a name; in words if that cannot be read.

    `at`: its place, which the arguments follow; `start`: where its module begins, which goes with it.
    """
    call, given = _call(at), arguments(at)
    if len(given) == 3 and name in ("nDeriv", "nderiv") and given[1].isidentifier():
        return [derivative_of(given[0], given[1], given[2])]
    replacement, elsewhere = WORDS.get(name) or _of_form(name, given, known), KNOWN_ELSEWHERE[name]
    if not replacement and given and name in READERS:
        replacement = f"load_csv({given[0]})"  # the other arguments have other names
    elif not replacement and given and elsewhere.endswith("(…)"):
        replacement = elsewhere.removesuffix("(…)") + call
    elif elsewhere.startswith(("plot ", "histogram ")):
        plain = [one for part in given if "=" not in (one := part.removeprefix("yerr="))]
        places = dict(zip("xyu", plain, strict=False))
        drawn = re.sub(r"\b[xyu]\b", lambda found: places.get(found[0], ""), elsewhere)
        replacement = drawn if len(places) > elsewhere.count(",") else ""
    whole = Span(at.source, at.start if start is None else start, at.end + len(call))
    fixed = [corrected(whole, text) for text in (replacement, f"({replacement})") if replacement]
    return short([text for text in fixed if can_be_read(text)][:1]) or [Hint(elsewhere)]


def _rest(span: Span) -> str:
    """The rest of the statement, from a place on."""
    found = re.compile(r"""("[^"\n\r]*"|'[^'\n\r]*'|[^;#\n\r])*""").match(span.source.text, span.start)
    return found[0] if found is not None else ""


def _call(span: Span) -> str:
    """The arguments after a name with their brackets, as typed on one line; empty if there are none."""
    behind = _rest(Span(span.source, span.end, span.end))
    depth = 0
    for place, sign in enumerate(behind if behind.lstrip().startswith("(") else ""):
        depth += (sign in "([") - (sign in ")]")
        if not depth and sign == ")":
            return behind[: place + 1]
    return ""


def arguments(span: Span) -> list[str]:
    """The arguments of a call of the name at a place, as typed."""
    return [argument.strip() for argument in divided(_call(span).strip()[1:-1]) if argument.strip()]


def _over_a_range(span: Span, name: str) -> list[str]:
    """`plot sin(x)`, where x has no value: the curve over a range."""
    _, column = span.source.position(span.start)
    drawn = re.match(r"(.*;[ \t]*)?plot\b", span.source.line_at(span.start)[: column - 1])
    rest = _rest(span)
    if called := re.match(
        rf"(.*\bplot)[ \t]*\((.+), ?{name}, ?([^,()]+), ?([^,()]+)\)$", span.source.line_at(span.start)
    ):
        return [f"{called[1]} {called[2]} for {name} in {called[3]}..{called[4]}"]
    if drawn is None or re.search(r"\b(for|to)\b", rest) or len(rest) == len(name):
        return []
    return [corrected(Span(span.source, span.start, span.start + len(rest)), f"{rest.rstrip()} for {name} in -2..2")]


def _compared(span: Span) -> str:
    """The other side, if the statement only compares the name, as in `x == 2` and R's `x <- 2`; else nothing."""
    text = span.source.text
    before = re.split(r"[;:\n\r]", text[: span.start])[-1]
    found = re.match(r"[ \t]*(?:==|<-(?=[ \t]))([^;#\n\r]+)", text[span.end :])
    if before.strip() or found is None or re.search(r"[=<>~\"']|\b(and|or|not|is|if)\b", found[1]):
        return ""
    value = found[1].strip()
    return value if all(value.count(opener) == value.count(closer) for opener, closer in ("()", "[]")) else ""


def alone(span: Span) -> bool:
    """Whether a place is the whole of its statement, like a command without its operands."""
    text = span.source.text
    before = re.split(r"[;:\n\r]", text[: span.start])[-1]
    behind = re.split(r"[;#\n\r]", text[span.end :], maxsplit=1)[0]
    return not before.strip() and not behind.strip()


def several_unknown(unknown: tuple[str, ...], names: tuple[str, ...], span: Span) -> AgradError | None:
    """The error for an expression given to a solver in which several names have no value.

    The dx of `integral(x^2 dx, 0, 1)` is none.
    """
    found = re.fullmatch(r"(.+?)[ \t]*\*?[ \t]*(?<!\w)d([^\W\d]\w*)", span.text)
    is_integral = found is not None and f"d{found[2]}" in unknown and found[2] in names
    if not is_integral and len(unknown) < 2:
        return None
    message = f"{' and '.join(unknown)} {'have' if unknown[1:] else 'has'} no value, and an expression has one"
    fixes = [corrected(span, f"lambda {found[2]}: {found[1]}")] if found is not None and is_integral else []
    return AgradError("name", f"{message} unknown here", labels=[Label(span)], fixes=fixes)


def not_called(value: Any, args: tuple[Any, ...], span: Span) -> AgradError:
    """The error for a call of something that is not a function: `x(3)`, where `x*(3)` may be meant."""
    name, given = apart(span.text)
    fixes: list[str] = []
    if isinstance(value, Tensor) and (places := _from_one(given, value.shape)):
        fixes = [f"{corrected(span, f'{name}[{places}]')}   an entry: the first has the index 0"]
    elif name in FUNCTIONS:
        fixes = [f"del {name}   brings the function back"]
    elif len(args) == 1 and "," not in given and all(isinstance(one, Tensor | float) for one in (value, *args)):
        fixes = [corrected(span, f"{name}*{given}")]
        if name.isidentifier() and name != "x":
            fixes.append(Hint(f"def {name}(x) = …   makes a function of it"))
    elif given == "()":
        fixes = [corrected(span, name)]
    fixes = [fix for fix in short(fixes) if isinstance(fix, Hint) or can_be_read(typed([fix])[0])]
    return AgradError("type", f"{describe_value(value)} cannot be called", labels=[Label(span)], fixes=fixes)


def misfit(error: TypeError, tree: Any, place: Span, names: Mapping[str, Any]) -> Exception:
    """The error for arguments that do not fit a function of the user; any other as it is."""
    called = [one.function for one in ast.nodes(tree) if isinstance(one, ast.Call) and one.span == place]
    function: Any = names.get(getattr(called[0], "id", "")) if called else None
    if called and "unhashable" in str(error):
        return not_called(function, (), place)
    if type(function) is not Closure:
        return error
    given, missing = re.search(r"but (\d+) ", str(error)), re.findall(r"'([^']+)'", str(error))
    there = [one for one in function.definition.parameters if one not in missing]
    try:
        function.bind((None,) * int(given[1]) if given else (), {} if given else dict.fromkeys(there))
    except AgradError as found:
        return found
    return error


def _from_one(given: str, shape: Shape) -> str:
    """`(1, 2)` of a shape, which counts from 1 as MATLAB does, counted from 0; empty where it is no such place."""
    numbers = [int(one) for one in re.findall(r"\d+", given)] if re.fullmatch(r"\([\d, ]{1,40}\)", given) else []
    fits = len(numbers) <= len(shape) and all(0 < one <= length for one, length in zip(numbers, shape, strict=False))
    return ", ".join(str(one - 1) for one in numbers) if fits else ""
