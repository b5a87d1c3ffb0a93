"""What a backward needs at its peak, beside what its graph has saved.

    python bench/memory.py [operations] [entries]

A chain of operations on arrays is built and walked backward, once for each kind of operation. `graph` is the memory of
what the rules saved and of the leaves, as `engine/inspect/memory.py` counts it; `peak` is the most that Python and
numpy had allocated during the backward, by tracemalloc, since before the leaves were made. Both include the leaves, and
the peak also the gradients that the backward leaves behind and what is in flight: a few arrays, whatever the length of
the chain. `ratio` is peak to graph; chains that save nothing are told by `over`, the arrays in flight. It exits with 1
where `over` is more than a tenth of the graph, and more than four arrays.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable

import agrad.engine as ag
from agrad.engine.core.tensor import Tensor
from agrad.engine.inspect.memory import held

Step = Callable[[Tensor, Tensor], Tensor]

KINDS: dict[str, Step] = {
    "sin(x)": lambda x, w: ag.sin(x),
    "exp(x)": lambda x, w: ag.exp(-x),
    "x * w": lambda x, w: x * w,
    "x * x": lambda x, w: x * x,
    "2*x": lambda x, w: x * 2.0,
    "x + 1": lambda x, w: x + 1.0,
    "x + w": lambda x, w: x + w,
    "where(x > 0, x, w)": lambda x, w: ag.where(x > 0.0, x, w),
}
IN_FLIGHT = 4  # arrays: a cotangent, the next, the value of the last operation, the gradient of a leaf


def peak(step: Step, operations: int, entries: int) -> tuple[int, int]:
    """The bytes of the graph of a chain, and the peak of its backward."""
    gc.collect()
    tracemalloc.start()
    try:
        x = ag.full((entries,), 0.7, requires_grad=True)
        w = ag.full((entries,), 0.5, requires_grad=True)
        for _ in range(operations):
            x = step(x, w)
        y = ag.sum(x)
        del x, w
        graph = held(y)
        tracemalloc.reset_peak()
        y.backward()
        return graph.bytes + graph.leaves, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def main() -> int:
    """Print a line a kind."""
    operations = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    entries = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    array = 8 * entries
    print(f"chains of {operations} operations on arrays of {entries} entries ({array / 1e6:g} MB each)")
    print(f"{'kind':20}{'graph':>12}{'peak':>12}{'ratio':>8}{'over':>16}")
    peak(KINDS["where(x > 0, x, w)"], 2, 10)  # once for what is imported at first use
    failed = False
    for kind, step in KINDS.items():
        graph, most = peak(step, operations, entries)
        over = most - graph
        failed |= over > max(graph / 10, IN_FLIGHT * array)
        print(f"{kind:20}{graph / 1e6:9.1f} MB{most / 1e6:9.1f} MB{most / graph:8.3f}{over / array:9.2f} arrays")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
