"""A loop as one operation: see `program.scan`, which traces its body."""

from __future__ import annotations

from typing import Any

from agrad.engine.core.dispatch import by_array, composed, row
from agrad.engine.ops.arrays.joining import concat
from agrad.engine.ops.arrays.shaping import flip, reshape
from agrad.engine.values import np


def reverse(g: Any, out: Any, x: Any, body: Any, count: int) -> Any:
    """A loop from the last iteration to the first, over the states, the rows and the cotangents of the rows."""
    state, row, _, made, _ = body.sizes
    width = state + made
    table, of_rows = reshape(out[: count * width], (count, width)), reshape(g[: count * width], (count, width))
    rows, same = body.split(x, count)
    states = concat((reshape(x[:state], (1, state)), table[: count - 1, :state]))
    backward = reshape(flip(concat((states, rows, of_rows), axis=1), 0), (-1,))
    operand = concat((np.zeros(state), backward, same, g[count * width :]))
    found = scanned(operand, body=body.reverse, count=count)
    table = reshape(found[: count * (state + row)], (count, state + row))
    of_data = reshape(flip(table[:, state:], 0), (-1,))
    return concat((table[count - 1, :state], of_data, found[count * (state + row) :]))


@by_array(row, "x; body, count", title="Scan", rules={"x": ("x out", reverse)}, role="loop")
def scanned(x: Any, body: Any, count: Any) -> Any:
    """All iterations of a body, from a vector of its first state, its rows, and what is the same in each."""
    return body.run(x, count)


@composed(data=("rows",), family="reductions")
def scan(f: Any, start: Any, /, rows: Any = None, count: Any = None) -> Any:
    """Runs state, result = f(state, row) for each row along the first axis, from the state at the start; gives the last
    state and all results. f is called once, to find out what an iteration computes. The derivative keeps one state
    an iteration.

    derivative: that of the loop, which runs backward
    example: scan(lambda s, x: (s*x, s), 1, [2, 3])[0] == 6
    """
    from agrad.engine.program.scan import scanned  # here, since few calculations have such a loop

    return scanned(f, start, rows, count)
