"""The program of a function that uses values from outside, such as the names around a definition.

Its inputs are the arguments and one vector of the entries of these values, so that derivatives by them are derivatives
by an operand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

from agrad.engine.core.context import Tracing, UndoLog, current, scope
from agrad.engine.core.dispatch import operand
from agrad.engine.core.graph import Guard, Node, behind
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, bare
from agrad.engine.errors import AgradError, Hint, Label
from agrad.engine.program.ir import Program
from agrad.engine.program.passes import optimised
from agrad.engine.program.trace import entered, extract, inlined, recording
from agrad.engine.values import Array, Shape, np, shape_of


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

    def links(node: Node) -> Iterable[object]:
        return () if node.seq <= began or node in inside else node.inputs

    return [_handle(node) for node in behind([root], links=links) if node.seq <= began and node not in inside]


def _handle(node: Node) -> Tensor:
    """The handle of a node, through which a replay renews its array; one that it does not know if it has none."""
    known: Tensor | None = node.known_handle()
    return known if known is not None else bare(node, node.value if node.shape else None)


# Values made of numbers and arrays, in tuples and dicts of each other, as one vector and back.


def joined(parts: Sequence[Any]) -> Any:
    """Vectors one after the other."""
    return FUNCTIONS["concat"].call(tuple(parts))


def split(vector: Any, shapes: Sequence[Shape]) -> list[Any]:
    """The values with these shapes whose entries a vector has, one after the other."""
    found, end = [], 0
    for shape in shapes:
        begin, end = end, end + prod(shape)
        found.append(FUNCTIONS["reshape"].call(vector[begin:end], shape) if shape else vector[begin])
    return found


class Parts:
    """The numbers and arrays in a value, in tuples and dicts of each other; as one vector and back."""

    def __init__(self, what: str, value: Any, is_rows: bool = False) -> None:
        self.what = what
        self.value = value
        self.leaves = [operand(x) for x in _leaves(value)]
        self.whole = [shape_of(x) if not isinstance(x, Tensor) else x.shape for x in self.leaves]
        if is_rows and () in self.whole:
            raise AgradError("shape", "scan: rows are along the first axis of an array, and this is a number")
        self.shapes = [shape[1:] if is_rows else shape for shape in self.whole]
        self.size = sum(map(prod, self.shapes))
        self.is_rows = is_rows

    def packed(self) -> Any:
        """The vector."""
        if not self.is_rows:
            return joined([flat(x) for x in self.leaves]) if self.leaves else np.zeros(0)
        if not self.leaves:
            return np.zeros(0)
        count = self.whole[0][0]
        tables = [FUNCTIONS["reshape"].call(x, (count, prod(s))) for x, s in zip(self.leaves, self.shapes, strict=True)]
        return flat(FUNCTIONS["concat"].call(tuple(tables), axis=1))

    def unpacked(self, vector: Any, count: int | None = None) -> Any:
        """The value of which this is the vector; with a count, of which these are the rows."""
        parts = []
        ends = np.cumsum([0, *map(prod, self.shapes)]).tolist()
        for begin, end, shape in zip(ends, ends[1:], self.shapes, strict=False):
            if count is not None:
                parts.append(FUNCTIONS["reshape"].call(vector[:, begin:end], (count, *shape)))
            elif shape:
                parts.append(FUNCTIONS["reshape"].call(vector[begin:end], shape))
            else:
                parts.append(vector[begin] if isinstance(vector, Tensor) else float(vector[begin]))
        return _filled(self.value, iter(parts))


def flat(x: Any) -> Any:
    """The entries of an array as a vector, row by row; a number as a vector of one."""
    return FUNCTIONS["reshape"].call(x, (-1,))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _leaves(value[key])
    elif isinstance(value, tuple):
        for one in value:
            yield from _leaves(one)
    elif value is not None:
        yield value


def _filled(value: Any, parts: Iterator[Any]) -> Any:
    """A value of the same structure with other parts."""
    if isinstance(value, dict):
        found = {key: _filled(value[key], parts) for key in sorted(value, key=str)}
        return {key: found[key] for key in value}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_filled(one, parts) for one in value])
    if isinstance(value, tuple):
        return tuple(_filled(one, parts) for one in value)
    return None if value is None else next(parts)


def structure(value: Any) -> Any:
    """Equal for values of the same structure."""
    if isinstance(value, dict):
        return {key: structure(one) for key, one in value.items()}
    return tuple(map(structure, value)) if isinstance(value, tuple) else value is None
