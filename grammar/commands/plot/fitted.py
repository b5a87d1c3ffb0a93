"""The picture of a fit: the data, the curve with its confidence band, and the residuals below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from agrad.engine.autodiff.uncertainty import uncertainty
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.inspect.budget import coverage_factor
from agrad.engine.values import Array, np
from agrad.grammar.results import Curve, Plot
from agrad.grammar.runtime.builtins import Closure
from agrad.grammar.runtime.bytecode import Code, Definition, Do, Instruction
from agrad.grammar.runtime.operations import as_array

_PLACES = 200  # of the curve
_COVERAGE = 0.95  # of the band


class LastFit(NamedTuple):
    """The latest fit of a session: the model, its parameters, and what was measured."""

    model: Closure
    parameters: list[Tensor]
    dof: float
    name: str
    y: Array

    def at(self, name: str, x: Array) -> Any:
        """The model with other values for a name; None where it has no number for each of them."""
        names, *others = self.model.scopes
        scopes = ({**names, name: tensor(x)}, *others)
        model = Closure(self.model.definition, (), self.model.machine, scopes)
        try:
            found = as_array(model(*self.parameters))
        except AgradError:
            return None
        return found if isinstance(found, Tensor) and found.shape == x.shape else None


def last_fit(model: Closure, parameters: list[Tensor], dof: float, name: str, y: Array) -> LastFit:
    """A fit, with what its model uses as it is now; a column, such as `t.x`, is a name of its own in it."""
    (names,) = model.scopes
    definition, machine = model.definition, model.machine
    instructions, columns = _with_columns_named(definition.code.instructions, definition.parameters)
    kept = {detail: names[detail] for do, detail, _ in instructions if do is Do.LOAD and detail in names}
    for column, code in columns:
        kept[column] = machine.call(Closure(_nullary(column, code), (), machine, (names,)), (), {})
    changed = Definition(definition.name, definition.parameters, (), Code(instructions), definition.span)
    return LastFit(Closure(changed, (), machine, (kept, names)), parameters, dof, name, y)


def _nullary(name: str, code: list[Instruction]) -> Definition:
    """The function without arguments that gives the value that some instructions leave."""
    span = code[-1][2]
    return Definition(name, (), (), Code([*code, (Do.RETURN, None, span)]), span)


# What an index is made of, and by how much each makes the stack longer.
_OF_INDEX = {Do.LOAD: 1, Do.CONSTANT: 1, Do.ATTRIBUTE: 0, Do.INDEX: -1, Do.SLICE: -2}
_JUMPS = frozenset({Do.JUMP, Do.JUMP_IF_FALSE, Do.AND, Do.OR, Do.CHAIN})


def _with_columns_named(
    instructions: list[Instruction], parameters: Sequence[str]
) -> tuple[list[Instruction], list[tuple[str, list[Instruction]]]]:
    """The instructions in which a part of a name, as `t.x` and `x[:50]`, is loaded by its text; and these parts.

    What jumps stays as it is: the target of a jump is the number of an instruction.
    """
    if any(do in _JUMPS for do, _, _ in instructions):
        return instructions, []
    found: list[Instruction] = []
    columns: dict[str, list[Instruction]] = {}
    place = 0
    while place < len(instructions):
        end = _end_of_part(instructions, place, parameters)
        if end == place:
            found.append(instructions[place])
        else:
            span = instructions[end - 1][2]
            name = " ".join(span.text.split())
            columns[name] = instructions[place:end]
            found.append((Do.LOAD, name, span))
        place = max(end, place + 1)
    return found, list(columns.items())


def _end_of_part(instructions: list[Instruction], start: int, parameters: Sequence[str]) -> int:
    """Where the longest part of a name that begins at a place ends, and `start` if none does."""
    end, depth = start, 0
    if instructions[start][0] is not Do.LOAD:
        return start
    for place in range(start, len(instructions)):
        do, detail, _ = instructions[place]
        by = 1 - detail if do is Do.TUPLE else _OF_INDEX.get(do)
        if by is None or (do is Do.LOAD and detail in parameters):
            break
        depth += by
        if depth < 1:
            break
        if depth == 1 and do in (Do.ATTRIBUTE, Do.INDEX):
            end = place + 1
    return end


def picture(fit: LastFit) -> Plot:
    """The data and the curve over the vector that the model uses, or over the index if there are several or none."""
    value = as_array(fit.model(*fit.parameters)) + np.zeros(len(fit.y))
    used = {name: as_array(value) for name, value in fit.model.scopes[0].items()}
    vectors: dict[str, Any] = {
        name: x.value for name, x in used.items() if isinstance(x, Tensor) and x.shape == fit.y.shape
    }
    axis, x = next(iter(vectors.items())) if len(vectors) == 1 else ("index", np.arange(float(len(fit.y))))
    order = np.argsort(x, kind="stable")
    dense, curve = x[order], value[order]
    some = fit.at(axis, x[::2]) if axis in vectors else None
    is_of_points = some is not None and np.allclose(some.value, value.value[::2], rtol=1e-9, atol=0)
    if is_of_points:  # whatever the other points are
        dense = np.linspace(np.min(x), np.max(x), _PLACES)
        curve = fit.at(axis, dense)
    middle, half = curve.value, coverage_factor(_COVERAGE, fit.dof) * np.asarray(uncertainty(curve))
    gap = [np.nan]
    band = np.concatenate([middle + half, gap, middle - half]).tolist()
    curves = (
        Curve(fit.name, x.tolist(), fit.y.tolist(), "points"),
        Curve(fit.model.__name__, dense.tolist(), middle.tolist()),
        Curve(f"{100 * _COVERAGE:g} % confidence", [*dense.tolist(), *gap, *dense.tolist()], band, "dashes"),
    )
    below = Plot((Curve("residuals", x.tolist(), (fit.y - value.value).tolist(), "points"),), axis)
    return Plot(curves, axis, below=below)
