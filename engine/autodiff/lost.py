"""Functions whose result has lost its graph: a derivative of such a function would be 0, whatever it computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agrad.engine.core.graph import Node, reachable
from agrad.engine.core.tensor import Tensor
from agrad.engine.core.versions import roots_of
from agrad.engine.errors import AgradError


def refuse_lost(
    name: str, function: Any, results: Sequence[Tensor], xs: Mapping[int, Tensor], reads: list[tuple[Node, Any]]
) -> None:
    """AgradError of kind `grad` where no result depends on an argument that was read as a plain number.

    `xs` are the arguments to differentiate by, by their places; `reads` are the values that the function has taken
    without their graph, each with the line of the program.
    """
    if not reads:
        return
    behind: set[Node] = set().union(*[reachable(y.node) for y in results if y.requires_grad])
    for place, x in xs.items():
        leaves = {root() for root in roots_of(x.node)}
        read = [at for node, at in reads if any(root() in leaves for root in roots_of(node))]
        if x.node not in behind and read:
            where = f" at {read[0].where}" if read[0] is not None else ""
            f = getattr(function, "__name__", "f")
            message = (
                f"{name} of {f}: its result has no graph, since argument {place} was read as a plain number{where}"
            )
            fixes = ["ag.sin(x) instead of math.sin(x)", "if x > 0 instead of if x.item() > 0"]
            fixes.append("ag.grad(y, x, create_graph=True) instead of ag.grad(y, x)")
            raise AgradError("grad", message, notes=["its derivative would be 0, as of a constant"], fixes=fixes)
