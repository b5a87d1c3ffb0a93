"""`time: STATEMENT`: how long it takes, and how that divides into computing, building the graph and the backward pass.

A statement is timed as it normally runs, with the iterations of its loops that run compiled.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from statistics import median, median_low
from time import perf_counter
from typing import Any, TypeAlias

from agrad.engine.autodiff.reverse import walk
from agrad.engine.core.context import Clock, current, next_stamp, taken_back
from agrad.engine.core.dispatch import compute
from agrad.engine.core.graph import Node, collect
from agrad.engine.core.tensor import Tensor, bare
from agrad.engine.core.versions import mark_written
from agrad.engine.errors import AgradError
from agrad.engine.program.replay import forward
from agrad.engine.text import align
from agrad.engine.values import format_number, np
from agrad.grammar.commands.registry import Session
from agrad.grammar.results import Table, unheard

Row: TypeAlias = "tuple[str, float | None, str]"  # label, seconds, remark

ENOUGH = 0.2  # seconds of repetitions for each figure
MOST = 1000  # repetitions


Run: TypeAlias = "tuple[float, Clock]"  # one run of the statement: seconds in all, and its clock


def timed(session: Session, run: Callable[[], None], names: Callable[[], Mapping[str, Any]]) -> None:
    """Run a statement repeatedly and time each run, take back what that did, and run the statement once more.

    Raises the error of the statement.
    """
    emit = session.emit
    runs: list[Run] = []
    roots: list[Node] = []  # of the graph that it builds

    def once() -> None:
        nonlocal roots
        since = next_stamp()
        clock, context, loaded = Clock(), current(), len(sys.modules)
        with taken_back(listener=context.listener, guard=context.guard, clock=clock):
            began = perf_counter()
            run()
            seconds = perf_counter() - began
            if len(sys.modules) == loaded:  # else it also loaded what later statements find: numpy, for the first array
                runs.append((seconds, clock))
            made = [value.node for value in names().values() if isinstance(value, Tensor) and value.node.seq > since]
            roots = clock.roots or [node for node in made if node.op is not None and node.requires_grad]

    session.emit = unheard
    try:
        _repeated(once)
        if not runs:
            once()
        rows = _rows(runs, roots)
    finally:
        session.emit = emit
    run()
    session.emit(Table("\n".join(rows)))


def _repeated(action: Callable[[], Any]) -> float:
    """The median time of an action, in seconds, over enough repetitions to be stable."""
    times: list[float] = []
    end = perf_counter() + ENOUGH
    while not times or (perf_counter() < end and len(times) < MOST):
        began = perf_counter()
        action()
        times.append(perf_counter() - began)
    return median(times)


def _rows(runs: list[Run], roots: list[Node]) -> list[str]:
    """The lines of the output."""
    whole = median(seconds for seconds, _ in runs)
    again = f"median of {len(runs)} runs" if len(runs) > 1 else "one run"
    rows: list[Row] = [("whole statement", whole, again)]
    iterations = median_low(clock.iterations for _, clock in runs)
    compiled = median(clock.compiled for _, clock in runs)
    if iterations:
        rows.append(("  compiled loops", compiled, f"{_share(compiled, whole)}   {iterations} iterations"))
    no_graph = ("", None, "it builds no graph that requires grad")
    rows += _graph_rows(runs, roots, whole, compiled) if roots else [no_graph]
    return align([(label, f"{_duration(time):>9}", f" {rest}") for label, time, rest in rows])


def _graph_rows(runs: list[Run], roots: list[Node], whole: float, compiled: float) -> list[Row]:
    """The lines about the graph that the statement builds, without what runs compiled."""
    walking = median(clock.walking for _, clock in runs)
    computing = _computing(roots)
    building = max(whole - compiled - walking - computing, 0.0)
    count = len([node for node in collect(roots) if node.op is not None])
    values = f"{_share(computing, whole)}   the values alone, of {count} operation{'s' if count > 1 else ''}"
    recording = f"{_share(building, whole)}   recording them, and running the interpreter"
    rows: list[Row] = [("  computing", computing, values), ("  building the graph", building, recording)]
    if walking:
        rows.append(("  backward pass", walking, _share(walking, whole)))
    else:
        rows.append(("backward pass", _walking(roots), "not part of the statement"))
    try:
        replay = _replaying(roots)
    except AgradError as problem:  # as where a number was taken out of the graph
        return [*rows, ("replay", None, problem.message)]
    ratio = f"{replay / (computing + building):.2g}" if computing + building else "?"
    return [*rows, ("replay", replay, f"forward on the same graph: {ratio} of computing and building it")]


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "0%"


def _computing(roots: list[Node]) -> float:
    """The seconds that the values of a graph take, with nothing recorded."""
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


def _duration(seconds: float | None) -> str:
    """A time in the unit that suits it, to three digits."""
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{format_number(seconds / size, 3)} {unit}"
    return f"{format_number(seconds * 1e6, 3)} us"
