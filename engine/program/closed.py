"""The program of a function that uses values from outside, such as the names around a definition.

Its inputs are the arguments and one vector of the entries of these values, so that derivatives by them are derivatives
by an operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from agrad.engine.core.context import Tracing, UndoLog, current, scope
from agrad.engine.core.graph import Node
from agrad.engine.core.guards import Guard
from agrad.engine.core.tensor import Tensor, bare
from agrad.engine.errors import AgradError, Hint, Label
from agrad.engine.program.extract import extract
from agrad.engine.program.ir import Program
from agrad.engine.program.passes import optimised
from agrad.engine.program.structure import flat, joined, split
from agrad.engine.program.trace import entered, inlined, recording
from agrad.engine.values import Array, np


class Closed(NamedTuple):
    """A function as a program of its arguments and of what it uses from outside."""

    program: Program
    same: list[Tensor]  # what it uses
    example: Array  # the entries of these, one after the other


def closed_over(
    what: str,
    f: Callable[..., Tensor],
    examples: Sequence[object],
    names: Sequence[str],
    elsewhere: str = "at another point",
) -> Closed:
    """Call a function once, on placeholders for some values. `what` is the name of the operation that calls it.

    Raises AgradError where the function changes something, draws random numbers, or does something that depends on
    the value of an argument.
    """
    with recording():
        xs = [entered(example) for example in examples]
        began = max(x.node.seq for x in xs)
        log = UndoLog(current().undo_log)
        with scope(tracing=Tracing(xs, names)) as inner_context:
            inner_context.undo_log = log
            y = f(*xs)
            if log.changed:
                draws = "random" in log.undos
                log.roll_back_surely()
                raise _has_effect(what, draws, elsewhere)
            guard = current().guard
            if guard is not None:
                raise _decides(what, guard, elsewhere)
        same = _from_outside(y.node, {x.node for x in xs}, began)
        inner = extract([y], [*xs, *same], (*names, *[x.node.name or "" for x in same]), None)
        example = joined([vector_of(flat(x)) for x in same]) if same else np.zeros(0)
        given = entered(example)
        operands = [*xs, *split(given, [x.shape for x in same])]
        program = extract(inlined(inner, operands), [*xs, given], (*names, "same"), None)
    return Closed(program, same, example)


def settled(what: str, program: Program) -> Program:
    """The program, optimised. AgradError of kind `guard` where it holds only for some values."""
    if program.checks:
        message = f"{what}: {program.checks[0].text} decides what is computed, and may have another outcome elsewhere"
        raise AgradError("guard", message, fixes=[Hint("where(c, x, y)   chooses between two values")])
    return optimised(program, again=True)


def vector_of(x: Any) -> Array:
    """The value of a vector, without its graph."""
    found: Array = np.ascontiguousarray(x.value if isinstance(x, Tensor) else x)
    return found


def _has_effect(what: str, draws: bool, elsewhere: str) -> AgradError:
    """The function is called once, so that it cannot do anything each time."""
    if draws:
        each = elsewhere.replace("another", "each")
        message = f"the function of {what} draws random numbers, which would be the same {each}"
        fixes = [Hint("scan(f, start, rand(100))   draws them before, as rows")] if what == "scan" else []
        return AgradError("domain", message, fixes=fixes)
    every = "iterations" if what == "scan" else "points"
    message = f"the function of {what} changes something outside of it, and is called once for all {every}"
    return AgradError("grad", message, fixes=[Hint("return it with the state")] if what == "scan" else [])


def _decides(what: str, guard: Guard, elsewhere: str) -> AgradError:
    """A program is the same for all values."""
    return AgradError(
        "guard",
        f"the function of {what} reads {guard.name}, and might do something else {elsewhere}",
        labels=[Label(guard.origin)] if guard.origin is not None else [],
        fixes=[Hint("where(c, x, y)   chooses between two values")],
    )


def _from_outside(root: Node, inside: set[Node], began: int) -> list[Tensor]:
    """The values behind a node that were there before its function was called."""
    found: dict[Node, None] = {}
    seen, stack = {root}, [root]
    while stack:
        node = stack.pop()
        if node.seq <= began and node not in inside:
            found[node] = None
            continue
        for x in node.inputs if node not in inside else ():
            if type(x) is Node and x not in seen:
                seen.add(x)
                stack.append(x)
    return [_handle(node) for node in found]


def _handle(node: Node) -> Tensor:
    """The handle of a node, through which a replay renews its array; one that it does not know if it has none."""
    known = node.handle() if node.handle is not None else None
    return known if known is not None and known.node is node else bare(node, node.value if node.shape else None)
