"""The program of a function that uses values from outside, such as the names around a definition.

Its inputs are the arguments and one vector of the entries of these values, so that derivatives by them are derivatives
by an operand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from math import prod
from typing import Any

from agrad.engine import units
from agrad.engine.core.context import Tracing, UndoLog, current, scope
from agrad.engine.core.dispatch import operand
from agrad.engine.core.graph import Node, behind
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor, bare
from agrad.engine.errors import AgradError, Hint, Label
from agrad.engine.program.ir import Program, optimised, placed
from agrad.engine.program.trace import entered, extract, inlined, recording
from agrad.engine.values import Array, Shape, np, shape_of

_CHOOSES = "where(c, x, y)   chooses between two values"


def closed_over(
    what: str,
    f: Callable[..., Tensor],
    examples: Sequence[object],
    names: Sequence[str],
    elsewhere: str = "at another point",
    is_deep: bool = False,
) -> tuple[Program, list[Tensor], Array]:
    """The program of a function of its arguments and of the entries of what it uses, what it uses, and these entries.

    It is called once, on placeholders for some values. `what` is the name of the operation that calls it.
    `is_deep`: numbers that were computed from others by simple operations are computed anew inside.

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
            _check_effects(what, elsewhere, log)
        same = _from_outside(y, {x.node for x in xs}, began, is_deep)
        units.plain_only([y], what)
        inner = extract([y], [*xs, *same], (*names, *[x.node.name or "" for x in same]), None)
        example = joined([vector_of(flat(x)) for x in same]) if same else np.zeros(0)
        given = entered(example)
        operands = [*xs, *split(given, [x.shape for x in same])]
        program = extract(inlined(inner, operands), [*xs, given], (*names, "same"), None)
    return program, same, example


def settled(what: str, program: Program) -> Program:
    """The program, optimised. AgradError of kind `guard` where it holds only for some values."""
    if program.checks:
        message = f"{what}: {program.checks[0].text} decides what is computed, and may have another outcome elsewhere"
        raise AgradError("guard", message, fixes=[Hint(_CHOOSES)])
    return optimised(program, again=True)


def vector_of(x: Any) -> Array:
    """The value of a vector, without its graph."""
    found: Array = np.ascontiguousarray(x.value if isinstance(x, Tensor) else x)
    return found


def _from_outside(y: Tensor, inside: Collection[Node], began: int, is_deep: bool) -> list[Tensor]:
    """What a result uses that was there before: also what is measured inside, which is a source of uncertainty."""

    def is_outside(node: Node) -> bool:
        is_simple = node.op is not None and node.op.reach == "pointwise" and node.shape == ()
        is_old = node.seq <= began and not (is_deep and node.inputs and is_simple)
        return node not in inside and (is_old or node.uncertainty is not None)

    def links(node: Node) -> Iterable[object]:
        return () if is_outside(node) or node in inside else node.inputs

    outside = filter(is_outside, behind([y.node], links=links))
    handles = [(node, node.known_handle()) for node in outside]  # through which a replay renews an array
    return [bare(x, x.value if x.shape else None) if known is None else known for x, known in handles]


def _check_effects(what: str, elsewhere: str, log: UndoLog) -> None:
    """The function is called once, so that it cannot do anything each time, or another thing for other values."""
    guard = current().guard
    if log.changed:
        draws = (id(current().random), "random") in log.undos
        log.roll_back_surely()
        raise _has_effect(what, draws, elsewhere)
    if guard is not None:
        message = f"the function of {what} reads {guard.name}, and might do something else {elsewhere}"
        labels = [Label(guard.origin)] if guard.origin is not None else []
        raise AgradError("guard", message, labels=labels, fixes=[Hint(_CHOOSES)])


def _has_effect(what: str, draws: bool, elsewhere: str) -> AgradError:
    if draws:
        each = elsewhere.replace("another", "each")
        message = f"the function of {what} draws random numbers, which would be the same {each}"
        fixes = [Hint("scan(f, start, rand(100))   draws them before, as rows")] if what == "scan" else []
        return AgradError("domain", message, fixes=fixes)
    every = "iterations" if what == "scan" else "points"
    message = f"the function of {what} changes something outside of it, and is called once for all {every}"
    return AgradError("grad", message, fixes=[Hint("return it with the state")] if what == "scan" else [])


# Values made of numbers and arrays, in tuples and dicts of each other, as one vector and back.


def joined(parts: Sequence[Any]) -> Any:
    """Vectors one after the other."""
    return FUNCTIONS["concat"].call(tuple(parts))


def split(vector: Any, shapes: Sequence[Shape]) -> list[Any]:
    """The values with these shapes whose entries a vector has, one after the other."""
    found = [vector[one].reshape(shape) if shape else vector[one.start] for one, shape in placed(shapes)]
    return [x if isinstance(x, Tensor) or np.ndim(x) else float(x) for x in found]


class Parts:
    """The numbers and arrays in a value, in tuples and dicts of each other; as one vector and back."""

    def __init__(self, value: Any, is_rows: bool = False) -> None:
        self.value = value
        self.leaves = [operand(x) for x in leaves_of(value)]
        self.whole = [shape_of(x) if not isinstance(x, Tensor) else x.shape for x in self.leaves]
        if is_rows and () in self.whole:
            raise AgradError("shape", "scan: rows are along the first axis of an array, and this is a number")
        self.shapes = [shape[1:] if is_rows else shape for shape in self.whole]
        self.size = sum(map(prod, self.shapes))
        self.is_rows = is_rows

    def packed(self) -> Any:
        """The vector."""
        if not self.leaves:
            return np.zeros(0)
        if not self.is_rows:
            return joined([flat(x) for x in self.leaves])
        count = self.whole[0][0]
        tables = [FUNCTIONS["reshape"].call(x, (count, prod(s))) for x, s in zip(self.leaves, self.shapes, strict=True)]
        return flat(FUNCTIONS["concat"].call(tuple(tables), axis=1))

    def unpacked(self, vector: Any, count: int | None = None) -> Any:
        """The value of which this is the vector; with a count, of which these are the rows."""
        if count is None:
            parts = split(vector, self.shapes)
        else:
            parts = [vector[:, one].reshape(count, *shape) for one, shape in placed(self.shapes)]
        return filled(self.value, iter(parts))


def flat(x: Any) -> Any:
    """The entries of an array as a vector, row by row; a number as a vector of one."""
    return FUNCTIONS["reshape"].call(x, (-1,))


def leaves_of(value: Any) -> Iterator[Any]:
    """The numbers and arrays in a value, in tuples and dicts of each other."""
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from leaves_of(value[key])
    elif isinstance(value, tuple):
        for one in value:
            yield from leaves_of(one)
    elif value is not None:
        yield value


def filled(value: Any, parts: Iterator[Any]) -> Any:
    """A value of the same structure with other parts."""
    if isinstance(value, dict):
        found = {key: filled(value[key], parts) for key in sorted(value, key=str)}
        return {key: found[key] for key in value}
    if isinstance(value, tuple):
        made = tuple([filled(one, parts) for one in value])
        return type(value)(*made) if hasattr(value, "_fields") else made
    return None if value is None else next(parts)
