"""The description of a value (`info`) and of all names (`vars`), as aligned text."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

from agrad.engine import inspect
from agrad.engine.autodiff.reverse import HOOKED
from agrad.engine.core.graph import Node, collect, sharers
from agrad.engine.core.tensor import Tensor, bare
from agrad.engine.core.versions import check_walkable, out_of_date
from agrad.engine.errors import AgradError, Origin
from agrad.engine.inspect.memory import held, holders, live_graphs
from agrad.engine.text import align, truncate
from agrad.engine.values import format_bytes, format_number, format_shape, size_of
from agrad.grammar.commands.gradients import gradient_of
from agrad.grammar.commands.registry import Session
from agrad.grammar.diagnostics import Span
from agrad.grammar.results import text_of
from agrad.grammar.run.places import File
from agrad.grammar.runtime.builtins import Closure
from agrad.grammar.runtime.fixes import explain
from agrad.grammar.values.lists import parts_of
from agrad.lazy import rare

_WIDTH = 80
_VALUE = 60  # columns for a value, or a statement, in `info`
_LEAST = 20  # with fewer columns than this, lines are not broken
_NUMBER = r"-?\d+(\.\d+)?(e-?\d+)?"
_GRADIENT = 40  # and for a gradient in `vars`; a longer one is told by its shape
_DESCRIBED = 250  # nodes of a graph that are all described; of a larger one, those with a name in the session
_MANY = 8  # names that are listed one by one
_KINDS = {float: "number", str: "text", tuple: "tuple", range: "range", type(None): "none", Node: "node"}


def describe(name: str, value: Any, session: Session) -> str:
    """All about one value, one fact per line: what it is, its data, its gradient, its graph and who keeps that."""
    if isinstance(value, Tensor):
        facts = _facts(name, value, session)
    else:
        facts = [(name, _plain(value, session))]
        if value is not None and not callable(value):
            facts.append(("value", _shown(value, session, _VALUE)))
    if session.steps.told:
        facts.append(("undo", f"keeps {session.steps.told}, earlier values among them"))
    width, margin = session.settings.width, max(len(label) for label, _ in facts) + 2
    if width is not None and width - margin < _LEAST:  # a long name is on its own line
        margin = max(len(label) for label, _ in facts[1:]) + 2 if facts[1:] else 2
    return "\n".join(_fact(label, text, margin, width) for label, text in facts)


def _facts(name: str, value: Tensor, session: Session) -> list[tuple[str, str]]:
    """All about a value with a graph, each fact with its label."""
    facts = [(name, _origin(value.node)), *_data(name, value, session)]
    if value.node.op:
        return facts + _graph(value, session)
    whose = "shared" if len(sharers(value.node)) > 1 else "its own"
    memory = f"{format_bytes(held(value).leaves)}, {whose}"
    return [*facts, ("memory", memory), ("kept by", _kept_by(value.node, session))]


def tell_of_nodes(graph: inspect.rows.GraphRows, session: Session) -> None:
    """Let a page of a graph have what `info` says of its nodes, the functions that they are from, and fixes."""
    held = {value.node: value for value in session.names.values() if isinstance(value, Tensor)}
    functions = [*_functions(session)]

    def function_of(origin: Origin) -> str | None:
        if not isinstance(origin, Span):
            return None
        start, end = origin.start, origin.end
        of_file = [(span, name) for name, span in functions if span.source is origin.source]
        around = [(span.end - span.start, name) for span, name in of_file if span.start <= start and end <= span.end]
        return min(around)[1] if around else None

    def facts_of(node: Node) -> list[tuple[str, str]]:
        known = node in held or (node.value is not None and len(graph.wanted) <= _DESCRIBED)
        return _facts(node.name or "", held.get(node, bare(node)), session) if known else []

    graph.function_of, graph.facts_of, graph.explain = function_of, facts_of, explain


def _functions(session: Session) -> Iterator[tuple[str, Span]]:
    """The functions of the session, and the methods of its classes by the names of these, with their places."""
    for name, value in session.names.items():
        if isinstance(value, Closure):
            yield name, value.definition.span
        for one in vars(value).values() if isinstance(value, type) else (value,):
            if isinstance(one, FunctionType) and isinstance(file := one.__code__.co_filename, File):
                places = [place[2:] for place in one.__code__.co_positions() if place[3]]
                yield (
                    name,
                    Span(file.source, min(start or 0 for start, _ in places), max(end or 0 for _, end in places)),
                )


def _fact(label: str, text: str, margin: int, width: int | None) -> str:
    """A label and, after it, a text: on several lines where the terminal is too narrow for one."""
    lines = [text]
    if width is not None and len(text) > width - margin:
        breaks = not re.search(r"\d", text)  # a long name, but no number
        lines = rare.textwrap.wrap(text, max(width - margin, 1), break_on_hyphens=False, break_long_words=breaks)
    if len(label) > margin - 2:
        lines.insert(0, "")
    first, *rest = lines
    return "\n".join([f"{label:<{margin}}{first}".rstrip(), *(" " * margin + line for line in rest)])


def _plain(value: Any, session: Session) -> str:
    """The description of a value without a node."""
    if isinstance(value, Closure):
        return f"{value}, defined at {value.definition.span.where}"
    if callable(value):
        return text_of(value, session.settings)
    kind = _KINDS.get(type(value), type(value).__name__)
    return f"plain {kind}, with no graph and no gradient" if kind == "number" else kind


def _origin(node: Node) -> str:
    """Where a value comes from."""
    if node.op is None:
        return "leaf that requires grad" if node.requires_grad else "plain value, with no graph and no gradient"
    made = f"computed by {node.title}"
    return f"{made} {_place(node.origin)}" if node.origin is not None else made


def _data(name: str, value: Tensor, session: Session) -> list[tuple[str, str]]:
    storage = value.node.storage
    version = "0, never written in place"
    if storage is not None and storage.version:
        version = f"{storage.version}, last written {_place(storage.by)}"
    entries = size_of(value.shape)
    gradient = gradient_of(name, value, session).text(session.settings).removeprefix(f"{name}.grad = ")
    function = value.grad_fn
    shared = _shared(value.node, session)
    return [
        ("shape", f"{format_shape(value.shape)}, {_count(entries, 'entry', 'entries')}"),
        ("value", _shown(value, session, _VALUE)),
        ("version", version),
        *([("shared", f"with {shared}: a write to one of them writes all")] if shared else []),
        ("grad", gradient if value.grad is None else truncate(gradient.replace("\n", ""), _VALUE)),
        ("grad_fn", "none" if function is None else repr(function)),
    ]


def _shared(node: Node, session: Session) -> str:
    """The values that share their data with this one; nothing where none does."""
    others = {other for other in sharers(node) if other is not node}
    names = [name for name, value in session.names.items() if isinstance(value, Tensor) and value.node in others]
    return _listed(names, len(names) + len(others) - len({session.names[name].node for name in names}))


def _graph(value: Tensor, session: Session) -> list[tuple[str, str]]:
    """The graph behind a computed value."""
    memory = held(value)
    order = collect([value.node])
    leaves = [node for node in reversed(order) if node.op is None]
    listed = _listed([node.name for node in leaves if node.name], len(leaves))
    parts = [_count(memory.arrays, "array")] if memory.arrays else []
    parts += [_count(memory.scalars, "number")] if memory.scalars else []
    state, *fixes = _state(order, value.node, session)
    return [
        ("graph", f"{_count(memory.nodes, 'node')}, {_count(len(leaves), 'leaf', 'leaves')}: {listed}"),
        ("state", state),
        *(("", f"fix: {fix}") for fix in fixes),
        *([("", "retained: a backward leaves its gradient, as that of a leaf")] if value.node.keeps_grad else []),
        ("memory", f"{format_bytes(memory.bytes)} saved by its rules{': ' if parts else ''}{' and '.join(parts)}"),
        ("", f"{format_bytes(memory.leaves)} in leaves and constants"),
        ("kept by", _kept_by(value.node, session)),
    ]


def _state(order: list[Node], root: Node, session: Session) -> list[str]:
    """Whether a backward can visit the graph; if not, since when, and what to type."""
    freed = [node for node in order if node.freed is not None]
    stale = out_of_date(order)
    if not freed and not stale:
        return ["held"]
    if freed:
        computed = sum(node.op is not None for node in order)
        text = f"{'freed' if len(freed) == computed else 'partly freed'} {_place(freed[0].freed)}"
    else:
        text = _since(stale)
    try:
        check_walkable(order, root)
    except AgradError as error:
        explain(error)
        return [text, *error.fixes]
    return [text]


def _since(stale: set[Node]) -> str:
    """The last write that a graph has not seen."""
    sources = {x for node in stale for x in (node, *node.inputs) if isinstance(x, Node)}
    writes = [node.storage for node in sources if node.storage is not None and node.storage.version]
    if not writes:
        return "stale"
    by: Any = max(writes, key=lambda storage: storage.stamp).by
    return f"stale since {by}" if isinstance(by, str) else f"stale since {by.where}: {truncate(by.text, _VALUE)}"


def _place(by: Any) -> str:
    """What caused a change: a statement, or a phrase."""
    return f"by {by}" if isinstance(by, str) else f"at {by.where}: {truncate(by.text, _VALUE)}"


def _kept_by(node: Node, session: Session) -> str:
    """The names that keep a node alive; `a.grad` where the gradient of a has a graph itself."""
    names: dict[str, Any] = {}
    for name, value in session.names.items():
        names[name] = _captured(value, session) if isinstance(value, Closure) else value
        if isinstance(value, Tensor) and value.grad is not None and value.grad.node.recorded:
            names[f"{name}.grad"] = value.grad
    kept = ["undo"] if session.steps.told and node in session.steps.nodes else []
    return _listed([*holders(names, node), *kept]) or "no name"


def _captured(function: Closure, session: Session) -> tuple[Any, ...]:
    """The values that a function keeps: its defaults, and the names of the functions around it."""
    around = [scope for scope in function.scopes if scope is not session.names]
    return (*function.defaults, *(value for scope in around for value in scope.values()))


def list_graphs(session: Session) -> str:
    """One line per graph that lives: its results, its nodes, memory and state, and what refers to it."""
    gc.collect()  # what is garbage does not live, as the hooks of a session that has ended
    found = live_graphs((name, [*_nodes_in(values)]) for name, values in _holders(session))
    if not found:
        return "no graph is alive"
    stale = out_of_date(collect(end for graph in found for end in graph.ends))
    rows = []
    for graph in found:
        memory = held(*graph.ends)
        state = "held" if not graph.freed else "freed" if graph.freed == graph.operations else "partly freed"
        state += ", stale" if any(end in stale for end in graph.ends) else ""
        name = truncate(_listed([end.spell() for end in graph.ends]), _GRADIENT)
        rows.append((name, _count(memory.nodes, "node"), format_bytes(memory.bytes), state, _listed([*graph.holders])))
    lines = align([(*cells, f"kept by {holders}") for *cells, holders in rows])
    wide = session.settings.width
    if wide and max(map(len, lines)) > wide:  # what keeps a graph is the point of the list: it has a line of its own
        kept = [f"  kept by {holders}" for *_, holders in rows]
        lines = [line for pair in zip(align(cells for *cells, _ in rows), kept, strict=True) for line in pair]
    if session.steps.told:
        lines.append(f"undo keeps {session.steps.told}")
    return "\n".join(truncate(line, wide or len(line)) for line in lines)


def _holders(session: Session) -> Iterator[tuple[str, Iterable[Any]]]:
    """What may refer to nodes, in words, with what it refers to."""
    for name, value in session.names.items():
        yield name, [value]
        for part in parts_of([value]):
            if isinstance(part, Closure):
                yield name, _captured(part, session)
            elif isinstance(part, Tensor) and part.grad is not None:
                yield f"{name}.grad" if part is value else f"a gradient in {name}", [part.grad]
    yield "the last result", session.last
    for node in HOOKED:
        captured = [_captured(hook, session) for _, hook in node.hooks if isinstance(hook, Closure)]
        yield f"a hook of {node.spell()}", captured
    guard = session.context.guard
    while guard is not None:
        yield f"a branch{f' at {guard.origin.where}' if guard.origin is not None else ''}", [guard.node]
        guard = guard.parent
    yield "undo", session.steps.nodes


def _nodes_in(values: Iterable[Any]) -> Iterator[Node]:
    """The nodes that some values refer to."""
    for part in parts_of(values):
        if isinstance(part, Tensor | Node):
            yield part.node if isinstance(part, Tensor) else part


def list_names(session: Session) -> str:
    """One line per name: its kind, shape, value and gradient, and what its graph holds; as wide as the terminal."""
    own = session.context.units
    if not session.names and not own:
        return "no names yet"
    nodes = [value.node for value in session.names.values() if isinstance(value, Tensor) and value.node.op]
    stale = out_of_date(collect(nodes)) if nodes else set()
    rows = [(name, *_cells(value, stale, session)) for name, value in session.names.items()]
    rows += [(name, "unit", "", one.meaning or "a dimension of its own", "") for name, one in own.items()]
    widths = _fitted([max(len(row[column]) for row in rows) for column in range(5)], session.settings.width or _WIDTH)
    # None is wider than its column, and there are none in a column that is left out.
    cut = (
        [how(cell, width) if width else "" for cell, width, how in zip(row, widths, _CUTS, strict=True)] for row in rows
    )
    lines = align(cut)
    if session.steps.told:
        lines.append(f"undo keeps {session.steps.told}")
    return "\n".join(truncate(line, session.settings.width or len(line)) for line in lines)


def _cells(value: Any, stale: set[Node], session: Session) -> tuple[str, str, str, str]:
    """Kind, shape and value of a name; its gradient, and the memory of its graph."""
    if isinstance(value, Closure):
        return "function", "", value.usage, ""
    if not isinstance(value, Tensor):
        kind = "function" if callable(value) else _KINDS.get(type(value), type(value).__name__)
        return kind, "", _shown(value, session, _VALUE).removeprefix("function "), ""
    node, rest = value.node, []
    kind = "leaf" if node.requires_grad else "value"
    if node.op is not None:
        state = "freed" if node.freed is not None else "stale" if node in stale else "held"
        kind = f"{node.title}, {state}" + ", retained" * node.keeps_grad
    if value.grad is not None:
        shown = _shown(value.grad, session, _WIDTH)
        rest.append(f"grad {shown if len(shown) <= _GRADIENT else format_shape(value.shape)}")
    saved = held(value).bytes if node.op else 0
    rest += [format_bytes(saved)] if saved else []
    shape = format_shape(value.shape) if value.shape else ""
    return kind, shape, _shown(value, session, _VALUE), "   ".join(rest)


def _fitted(widths: list[int], width: int) -> list[int]:
    """The widths of the columns of `vars`, made to fit: long values are shortened first, then names, then the rest.

    Where there is little room, gradients and memory are left out, and then shapes: columns that are 0 wide.
    """
    total = sum(width + 2 for width in widths if width) - 2
    for column, least in ((3, 24), (0, 16), (4, 24), (1, 16), (3, 16), (4, 0), (0, 8), (2, 8), (2, 0), (3, 8)):
        spare = min(max(total - width, 0), max(widths[column] - least, 0))
        if spare and not least:
            spare, total = widths[column], total - 2
        widths[column] -= spare
        total -= spare
    return widths


def shortened(text: str, width: int) -> str:
    """A value of at most `width` characters, in which no number is cut: its exponent would be lost.

    A number has fewer digits, of an array there are the first entries.
    """
    if len(text) <= width:
        return text
    if re.fullmatch(_NUMBER, text):
        rounded = (format_number(float(text), digits) for digits in range(9, 0, -1))
        return next((one for one in rounded if len(one) <= width), "…")
    cut = truncate(text, width)
    if not re.match(rf"[(\[]*{_NUMBER}", text):
        return cut
    entries = re.match(r"(.*, |[(\[]*)", cut)
    return (entries[0] if entries else "") + "…"


_CUTS = (truncate, truncate, truncate, shortened, truncate)


def _shown(value: Any, session: Session, width: int) -> str:
    return shortened(text_of(value, session.settings).replace("\n", ""), width)


def _count(number: int, word: str, many: str | None = None) -> str:
    return f"{number} {word if number == 1 else many or word + 's'}"


def _listed(names: list[str], count: int = 0) -> str:
    """a, b and c; of many, the first; with how many there are without a name, where `count` says more."""
    if count > len(names):
        names = [*names, f"{count - len(names)} without a name"]
    if len(names) > _MANY:
        names = [*names[: _MANY - 1], f"{len(names) - _MANY + 1} more"]
    *others, last = names or [""]
    return f"{', '.join(others)} and {last}" if others else last
