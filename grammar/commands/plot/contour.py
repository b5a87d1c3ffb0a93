"""The command that draws contour lines."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import cycle
from typing import Any, NamedTuple

from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.units.quantity import Scale
from agrad.engine.values import Array, format_number, np
from agrad.grammar.commands.operands import VALUE
from agrad.grammar.commands.plot.command import DRAWN, ends, in_numbers, path_of, show, whole
from agrad.grammar.commands.plot.sampling import Sampled, aside, number_in
from agrad.grammar.commands.registry import Call, Session, command, wrong
from agrad.grammar.results import LINES, Curve, Plot
from agrad.grammar.runtime.builtins import Closure
from agrad.grammar.runtime.operations import as_array, describe_value

_LEVELS, _MOST_LEVELS = 7, 20


@command(operands=VALUE, options={"levels": VALUE, **DRAWN})
def _contour(session: Session, call: Call) -> None:
    """contour f(x, y) for x in -2..2, y in 0..1 [levels 7 | levels [1, 2, 5]] [title "text"]
    [labels "x", "y"] [to "f.svg"]

    Lines of equal value of a function of two numbers, with the value on each. `levels`: how many lines, or the values;
    by default round numbers, or, where most values are close to one end, those below which equal parts of the picture
    are.

    levels: how many lines, or their values
    title: a title above it
    labels: the names of its axes
    to: into a file: .svg, .png or .pdf
    as typed: contour f(x, y) for x in -2..2, y in 0..1 [levels 7]
    example: contour x**2 + 3*y**2 for x in -2..2, y in -1..1
    """
    path_of(call)
    call, axes, value = in_numbers(call, ("low", "high"), ("bottom", "top"))
    across, up = ends(call, "low", "high", axes[0]), ends(call, "bottom", "top", axes[1])
    (closure,) = call.values
    x, y = closure.definition.parameters
    field = grid(session, closure, across, up)
    count, values = _levels(call, value)
    levels = values or chosen(field, count)
    styled = zip(levels, cycle(LINES), strict=False)
    curves = [Curve(format_number(level, 6), *lines(level, field), style) for level, style in styled]
    low, high = (format_number(float(end)) for end in (np.nanmin(field.z), np.nanmax(field.z)))
    empty = f"the value is {low} everywhere" if low == high else f"the values are from {low} to {high}"
    x, y = (axis.named(name) for axis, name in zip(axes, (x, y), strict=True))
    title = value.named(closure.__name__)
    plot = Plot(tuple(curves), x, up, title=title, label=y, across=across, inscribed=True)
    show(session, call, plot, empty)


def _levels(call: Call, axis: Scale) -> tuple[int, list[float]]:
    """How many levels, or their values. Raises AgradError of kind `domain`."""
    if "levels" not in call.options:
        return _LEVELS, []
    value = as_array(call.options["levels"])
    if isinstance(value, Tensor) and len(value.shape) == 1 and 1 <= value.size <= _MOST_LEVELS:
        return 0, sorted(set(axis.numbers(value).tolist()))
    return whole(call, "levels", _MOST_LEVELS, "so many values", "levels 7, or levels [1, 2, 5]"), []


# A function on a grid, the levels to draw, and the lines where it has the value of a level.
#
# Each cell of the grid is cut into two triangles, in which the function is taken to be a plane: a line crosses two
# sides of a triangle or none, so that none is ambiguous (marching triangles). The crossings are joined into lines.

_FINE, _COARSE = (121, 81), (61, 41)  # points of the grid: where all are computed at once, and one by one
_SKEW = 0.2  # of the range: where the middle value is that near to an end, levels are not at equal distances

_Place = tuple[int, int]
_Side = tuple[_Place, _Place]


class Field(NamedTuple):
    """The values of a function on a grid: `z[i, j]` at x[i] and y[j]; nan where there is none."""

    x: Array
    y: Array
    z: Array


def grid(session: Session, closure: Closure, across: tuple[float, float], up: tuple[float, float]) -> Field:
    """A function on a grid. Nothing changes. Raises the error of a function that has no value anywhere."""
    with aside(session):
        values = _Values(session, closure)
        found = values.at_once(across, up) or values.one_by_one(across, up)
    if not np.isfinite(found.z).any():
        raise values.nowhere("there")
    return found


class _Values(Sampled):
    """A function of two numbers."""

    def number(self, x: float, y: float) -> float:
        """The value at two numbers; nan where there is none. Raises AgradError if it would fail anywhere."""
        value: Any = math.nan
        with self.gaps():
            value = self.call(tensor(x), tensor(y))
        if (number := number_in(value)) is not None:
            return number
        fixes = [Hint(f"sum({self.name})")] if isinstance(value, Tensor) else []
        message = f"{self.name} is {describe_value(value)}: contour lines are those of one number at each point"
        raise wrong("shape", message, self.place, *fixes)

    def at_once(self, across: tuple[float, float], up: tuple[float, float]) -> Field | None:
        """The function on a fine grid, if it works entry by entry on arrays."""
        x, y = (np.linspace(*ends, count) for ends, count in zip((across, up), _FINE, strict=True))
        xs, ys = (flat.reshape(-1) for flat in np.meshgrid(x, y, indexing="ij"))
        sample = [(place, self.number(xs[place], ys[place])) for place in range(0, len(xs), len(xs) // 6)]
        try:
            value = self.call(tensor(xs), tensor(ys))
        except AgradError:
            return None
        if not isinstance(value, Tensor) or value.shape != xs.shape:
            return None
        z: Array = np.asarray(value.value)
        if not all(_near(z[place], number) for place, number in sample):
            return None
        return Field(x, y, z.reshape(_FINE))

    def one_by_one(self, across: tuple[float, float], up: tuple[float, float]) -> Field:
        """The function on a coarser grid."""
        x, y = (np.linspace(*ends, count) for ends, count in zip((across, up), _COARSE, strict=True))
        return Field(x, y, np.array([[self.number(float(one), float(other)) for other in y] for one in x]))


def _near(one: float, other: float) -> bool:
    """Whether two numbers are the same except for rounding; also two that are not finite."""
    return math.isclose(one, other) or not (math.isfinite(one) or math.isfinite(other))


def chosen(field: Field, count: int) -> list[float]:
    """Levels to draw: round numbers at equal distances, or, where most values are near one end, by their ranks."""
    values = np.sort(field.z[np.isfinite(field.z)])
    low, high, middle = float(values[0]), float(values[-1]), float(np.median(values))
    if low == high:
        return [low]
    if not _SKEW <= (middle - low) / (high - low) <= 1 - _SKEW:
        ranks = (np.arange(count) + 0.5) / count
        return sorted({float(f"{value:.2g}") for value in np.quantile(values, ranks)})
    rough = (high - low) / (count + 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= rough * 0.999)
    first = math.floor(low / step) + 1
    return [step * number for number in range(first, math.ceil(high / step))] or [middle]


def lines(level: float, field: Field) -> tuple[list[float], list[float]]:
    """The points of the lines at a level, with nan between two lines."""
    joins, at = _crossings(level, field)
    xs: list[float] = []
    ys: list[float] = []
    for line in _joined(joins):
        xs += [*(at[side][0] for side in line), math.nan]
        ys += [*(at[side][1] for side in line), math.nan]
    return xs[:-1], ys[:-1]


def _crossings(level: float, field: Field) -> tuple[dict[_Side, list[_Side]], dict[_Side, tuple[float, float]]]:
    """The sides of triangles that a line crosses, each with those it goes on to, and where it crosses them."""
    z, above = field.z, field.z >= level
    cells = [above[:-1, :-1], above[1:, :-1], above[1:, 1:], above[:-1, 1:]]
    finite = np.isfinite(z)
    whole = finite[:-1, :-1] & finite[1:, :-1] & finite[1:, 1:] & finite[:-1, 1:]
    crossed = whole & np.logical_or.reduce(cells) & ~np.logical_and.reduce(cells)
    joins: dict[_Side, list[_Side]] = defaultdict(list)
    at: dict[_Side, tuple[float, float]] = {}
    for i, j in np.argwhere(crossed).tolist():
        a, b, c, d = (i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)
        for corners in (((a, b), (b, c), (a, c)), ((a, d), (d, c), (a, c))):
            sides = [side for side in corners if above[side[0]] != above[side[1]]]
            if not sides:
                continue
            first, last = sides
            joins[first].append(last)
            joins[last].append(first)
            for side in sides:
                at[side] = _crossing(level, field, side)
    return joins, at


def _crossing(level: float, field: Field, side: _Side) -> tuple[float, float]:
    """Where a side has the level, on a straight line between its ends."""
    (i, j), (k, m) = side
    start, end = float(field.z[i, j]), float(field.z[k, m])
    part = (level - start) / (end - start)
    x, y = field.x, field.y
    return float(x[i] + part * (x[k] - x[i])), float(y[j] + part * (y[m] - y[j]))


def _joined(joins: dict[_Side, list[_Side]]) -> list[list[_Side]]:
    """The crossings line by line: first the open lines, from one of their ends, then the closed ones."""
    found, seen = [], set[_Side]()
    for start in sorted(joins, key=lambda side: len(joins[side])):
        if start in seen:
            continue
        line, here = [start], start
        seen.add(start)
        while (after := next((side for side in joins[here] if side not in seen), None)) is not None:
            line.append(after)
            seen.add(after)
            here = after
        if len(line) > 2 and start in joins[here]:
            line.append(start)
        found.append(line)
    return found
