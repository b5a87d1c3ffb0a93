"""What it costs an operation to remember where it came from.

    python bench/provenance.py [rounds]

The same loop builds the same graph twice: once as the language does, which says before each operation which text it
came from and has an undo log open and a guard to build under, and once on nodes without any of it: no origin, no
guard, no name, no undo log. `ratio` is the first to the second, the best of many rounds that are run in turn, so that
a busy moment of the machine hits both. It exits with 1 where provenance costs more than a tenth.
"""

from __future__ import annotations

import gc
import inspect
import sys
import time
from collections.abc import Callable
from itertools import repeat
from typing import Any

import agrad.engine as ag
from agrad.engine.core import dispatch
from agrad.engine.core.context import UndoLog, current, next_stamp, scope
from agrad.engine.core.graph import Guard, Node
from agrad.engine.core.guards import truth
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import OPS, Function, Op
from agrad.engine.core.tensor import Tensor
from agrad.grammar.diagnostics import Source, Span

TURNS = 1000
SIZES = {"scalars": None, "arrays of 100": 100, "arrays of 10,000": 10_000}

mul, sin, add = ag.mul, ag.sin, ag.add
Loop = Callable[[Tensor, Tensor, int], Tensor]


def known(x: Tensor, w: Tensor, turns: int) -> Tensor:
    """A chain whose every operation is told its text."""
    product, sine, total = (Span(SOURCE, *place) for place in ((4, 7), (0, 8), (0, 12)))
    y = x
    for _ in repeat(None, turns):
        current().place = product
        y = mul(y, w)
        current().place = sine
        y = sin(y)
        current().place = total
        y = add(y, x)
    return y


def unknown(x: Tensor, w: Tensor, turns: int) -> Tensor:
    """The same chain."""
    y = x
    for _ in repeat(None, turns):
        y = bare_mul(y, w)
        y = bare_sin(y)
        y = bare_add(y, x)
    return y


SOURCE = Source("session", "sin(y*w) + x")


def bare(op: Any, inputs: Any, attrs: Any, value: Any, shape: Any, requires_grad: bool) -> Node:
    """`new_node` without what only messages, dumps and replays ask for."""
    node = Node()
    node.op = op
    node.inputs = inputs
    node.attrs = attrs
    node.value = value
    node.shape = shape
    node.requires_grad = requires_grad
    node.seq = node.stamp = next_stamp()
    node.collected = node.freed = node.extra = node.handle = None
    return node


# where scalars have a node made
PROVENANCE = "node.origin, node.guard, node.name = context.origin, context.guard, None"


def bare_call(maker: Function, op: Op) -> Function:
    """What is called for a row, if its nodes are bare."""
    source = inspect.getsource(maker)
    if PROVENANCE not in source:
        sys.exit(f"{maker.__name__} makes its nodes in another way")
    names = dict(vars(dispatch))
    exec(f"from __future__ import annotations\n{source.replace(PROVENANCE, 'pass')}", names)
    call: Function = names[maker.__name__](op)
    return call


bare_mul, bare_sin, bare_add = (
    bare_call(maker, OPS[name])
    for maker, name in ((dispatch._binary, "mul"), (dispatch._unary, "sin"), (dispatch._binary, "add"))
)


def with_provenance(loop: Loop, x: Tensor, w: Tensor) -> float:
    """The seconds of a loop as the language would run it."""
    statement = Span(SOURCE, 0, 12)
    guard = Guard(None, x.node, truth, True, (), statement, next_stamp())
    with scope(undo_log=UndoLog(), begun=statement, guard=guard):
        return seconds(loop, x, w)


def without(loop: Loop, x: Tensor, w: Tensor) -> float:
    """The seconds of a loop on bare nodes."""
    new_node, dispatch.new_node = dispatch.new_node, bare
    try:
        return seconds(loop, x, w)
    finally:
        dispatch.new_node = new_node


def seconds(loop: Loop, x: Tensor, w: Tensor) -> float:
    """The time of a loop, without that of taking its graph down."""
    gc.collect()
    gc.disable()
    try:
        with quiet():
            began = time.perf_counter()
            y = loop(x, w, TURNS)
            took = time.perf_counter() - began
    finally:
        gc.enable()
    del y
    return took


def main() -> int:
    """Print a line a size."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    print(f"{'an operation on':20}{'with':>10}{'without':>10}{'ratio':>8}")
    failed = False
    for name, size in SIZES.items():
        x, w = (ag.tensor(value if size is None else [value] * size, requires_grad=True) for value in (0.7, 0.5))
        times = [(with_provenance(known, x, w), without(unknown, x, w)) for _ in range(rounds)]
        on, off = (min(column) / TURNS / 3 for column in zip(*times, strict=True))
        failed |= on > 1.1 * off
        print(f"{name:20}{on * 1e9:7.0f} ns{off * 1e9:7.0f} ns{on / off:8.3f}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
