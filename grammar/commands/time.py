"""`time: STATEMENT`: how long it takes, and how that divides into computing, building the graph and walking it."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

from agrad.engine.autodiff.reverse import walk
from agrad.engine.core.context import Clock, current, next_stamp, taken_back
from agrad.engine.core.dispatch import compute
from agrad.engine.core.graph import Node, collect
from agrad.engine.core.tensor import Tensor, bare
from agrad.engine.core.versions import mark_written
from agrad.engine.program.replay import forward
from agrad.engine.text import align
from agrad.engine.values import format_number, np
from agrad.grammar.results import Result, Table

if TYPE_CHECKING:
    from agrad.grammar.diagnostics import Span
    from agrad.grammar.runtime.bytecode import Code
    from agrad.grammar.runtime.vm import Frame, Machine

ENOUGH = 0.2  # seconds of repetitions for each figure
MOST = 1000  # repetitions


def timed(machine: Machine, frame: Frame, code: Code, span: Span) -> None:
    """Run a statement once for good, after having measured it; what the measuring did is taken back.

    Raises what the statement raises.
    """
    session, emit = machine.session, machine.session.emit
    runs: list[tuple[float, float]] = []
    session.emit = _unheard
    try:
        roots = _measured(machine, frame, code, runs)
        rows = _rows(runs, roots)
    finally:
        session.emit = emit
    machine.run_inside(code, frame)
    session.emit(Table("\n".join(rows)))


def _unheard(result: Result) -> None:
    """What the repetitions have to say."""


def _measured(machine: Machine, frame: Frame, code: Code, runs: list[tuple[float, float]]) -> list[Node]:
    """Run the statement again and again: the whole time, and that of its backwards; returns the graph's roots."""
    roots: list[Node] = []

    def once() -> None:
        nonlocal roots
        since = next_stamp()
        clock, context = Clock(), current()
        with taken_back(listener=context.listener, guard=context.guard, clock=clock):
            began = perf_counter()
            machine.run_inside(code, frame)
            runs.append((perf_counter() - began, clock.walking))
            names = frame.scopes[0].values()
            made = [value.node for value in names if isinstance(value, Tensor) and value.node.seq > since]
            roots = clock.roots or [node for node in made if node.op is not None and node.requires_grad]

    _repeated(once)
    return roots


def _repeated(action: Callable[[], Any]) -> float:
    """The median time of an action, in seconds, over enough repetitions to be stable."""
    times: list[float] = []
    end = perf_counter() + ENOUGH
    while not times or (perf_counter() < end and len(times) < MOST):
        began = perf_counter()
        action()
        times.append(perf_counter() - began)
    return median(times)


def _rows(runs: list[tuple[float, float]], roots: list[Node]) -> list[str]:
    """The lines of the answer."""
    whole = median(run[0] for run in runs)
    again = f"median of {len(runs)} runs" if len(runs) > 1 else "one run"
    head = ("whole statement", whole, again)
    if not roots:
        return _aligned([head, ("", None, "it builds no graph that requires grad")])
    walking = median(run[1] for run in runs)
    computing = _computing(roots)
    building = max(whole - walking - computing, 0.0)
    count = len([node for node in collect(roots) if node.op is not None])
    rows: list[tuple[str, float | None, str]] = [
        head,
        (
            "  computing",
            computing,
            f"{_share(computing, whole)}   the values alone, of {count} operation{'s' if count > 1 else ''}",
        ),
        ("  building the graph", building, f"{_share(building, whole)}   recording them, and reading the statement"),
    ]
    if walking:
        rows.append(("  walking backward", walking, _share(walking, whole)))
    else:
        rows.append(("walking backward", _walking(roots), "not part of the statement"))
    replay = _replaying(roots)
    ratio = f"{replay / (computing + building):.2g}" if computing + building else "?"
    return _aligned([*rows, ("replay", replay, f"forward on the same graph: {ratio} of computing and building it")])


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "0%"


def _computing(roots: list[Node]) -> float:
    """What the values of a graph cost, when nothing is recorded."""
    order = [node for node in reversed(collect(roots)) if node.op is not None]
    values: dict[Node, Any] = {}

    def value(x: Any) -> Any:
        return values.get(x, x.value) if isinstance(x, Node) else x

    def once() -> None:
        values.clear()
        for node in order:
            assert node.op is not None
            values[node] = compute(node.op, tuple([value(x) for x in node.inputs]), node.attrs or {})

    return _repeated(once)


def _walking(roots: list[Node]) -> float:
    order = collect(roots)
    seeds: dict[Node, Any] = {node: np.ones(node.shape) if node.shape else 1.0 for node in roots}
    return _repeated(lambda: walk(order, seeds, False))


def _replaying(roots: list[Node]) -> float:
    handles = [bare(node, node.value) for node in roots]
    leaves = [node for node in collect(roots) if node.op is None]

    def once() -> None:
        for leaf in leaves:
            mark_written([leaf], None)
        forward(*handles)

    context = current()
    with taken_back(listener=context.listener, guard=context.guard):
        return _repeated(once)


def _aligned(rows: list[tuple[str, float | None, str]]) -> list[str]:
    return align([(label, f"{_duration(time):>9}", f" {rest}") for label, time, rest in rows])


def _duration(seconds: float | None) -> str:
    """A time in the unit that suits it, to three digits."""
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{format_number(seconds / size, 3)} {unit}"
    return f"{format_number(seconds * 1e6, 3)} us"
