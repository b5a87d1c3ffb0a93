"""The axes of plots: where a number is, and which numbers are marked."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, product
from operator import itemgetter

import click

from agrad.engine.text import truncate
from agrad.engine.values import format_number
from agrad.grammar.results import Curve, Plot, edges

_TINY = 1e-200  # a range within this distance of 0 is scaled by it
_MOST = 12  # ticks, where two are wanted
_FAR = 1e9  # times the length of an axis


class Scale:
    """The numbers along an axis, with its ticks; the ends may be as far apart as floats can be."""

    def __init__(self, ends: tuple[float, float], most: int, least: float = 0.0) -> None:
        self.low, self.high = ends
        size = max(abs(self.low), abs(self.high))
        # What numbers are multiplied with before they are subtracted: the largest must not overflow, and the smallest
        # must not lose their digits.
        self.factor = 0.5 if size > _TINY else 1 / _TINY
        self.length = self.high * self.factor - self.low * self.factor
        self.step = max(_round_step(self.length / max(most, 2) / self.factor), least)
        first = math.floor(self.low / self.step)
        near = (number * self.step for number in range(first, first + 2 * most + 3))
        self.ticks = [tick for tick in near if -1e-9 < self.place(tick) < 1 + 1e-9]
        reach = size / self.step
        self.digits = min(max(math.ceil(math.log10(reach)) + 1 if reach > 1 else 0, 4), 17)

    def place(self, number: float) -> float:
        """Where a number is, from 0 at the low end to 1 at the high end; a place far outside is limited."""
        place = (number * self.factor - self.low * self.factor) / self.length
        return min(max(place, -_FAR), _FAR)

    def label(self, tick: float) -> str:
        """A tick, with enough digits to distinguish it from the next."""
        return format_number(0.0 if abs(tick) < self.step / 2 else tick, self.digits)


def _round_step(rough: float) -> float:
    """1, 2 or 5 times a power of ten: the smallest that is not less."""
    rough = max(rough, math.ulp(0.0))
    power = float(f"1e{math.floor(math.log10(rough))}") or rough
    steps = (factor * power for factor in (1.0, 2.0, 5.0, 10.0))
    return next((step for step in steps if rough * 0.999 <= step < math.inf), rough)


class LogScale:
    """The same along a logarithmic axis, both ends of which are above 0."""

    def __init__(self, ends: tuple[float, float], most: int) -> None:
        self.low, self.high = ends
        self.start, self.length = math.log10(self.low), math.log10(self.high) - math.log10(self.low)
        decades = range(math.floor(self.start), math.ceil(math.log10(self.high)) + 1)
        step = max(math.ceil(len(decades) / max(most, 2)), 1)
        marks = (1,) if self.length > 2 or step > 1 else (1, 2, 5)
        self.ticks = self._inside(marks, [decade for decade in decades if not decade % step])
        if len(self.ticks) < 2:  # of one no scale can be read
            powers, finer = (self._inside(marks, decades) for marks in ((1,), (1, 2, 5)))
            few = powers if len(powers) > 1 else [finer[0], finer[-1]] if len(finer) > 1 else []
            self.ticks = few or scale_of(ends, most).ticks

    def _inside(self, marks: Iterable[int], decades: Iterable[int]) -> list[float]:
        """These numbers of each of these decades, as far as they are between the ends."""
        near = [float(f"{mark}e{decade}") for decade in decades for mark in marks]
        return [tick for tick in near if tick and -1e-9 < self.place(tick) < 1 + 1e-9]

    def place(self, number: float) -> float:
        """Where a number above 0 is, from 0 at the low end to 1 at the high end; nan for any other."""
        return (math.log10(number) - self.start) / self.length if number > 0 else math.nan

    def label(self, tick: float) -> str:
        """A tick."""
        return format_number(tick, 5)


def scale_of(ends: tuple[float, float], most: int, least: float = 0.0, log: bool = False) -> Scale | LogScale:
    """The scale of an axis with at most so many ticks, or two; `least`: between two of them."""
    if log and ends[0] > 0:
        return LogScale(ends, most)
    scale = Scale(ends, most, least)
    while len(scale.ticks) < 2 and scale.step > least and most < _MOST:  # of one tick no scale can be read
        most += 1
        scale = Scale(ends, most, least)
    return scale


def ends_of(numbers: Iterable[float], log: bool = False) -> tuple[float, float]:
    """The smallest and the largest finite number, made different if they are equal; with `log`, of those above 0."""
    finite = [number for number in numbers if math.isfinite(number) and (number > 0 or not log)]
    low, high = (min(finite), max(finite)) if finite else (0.1, 1.0) if log else (0.0, 1.0)
    if high / 2 - low / 2 > max(abs(low), abs(high)) * 1e-15:
        return low, high
    if log:
        return max(low / 2, math.ulp(0.0)), min(high * 2, sys.float_info.max)
    room = max(abs(low) / 2, 1e-300) if abs(low) >= 1e15 or 0 < abs(low) < 1e-3 else 1.0
    return max(low - room, -sys.float_info.max), min(high + room, sys.float_info.max)


# Curves drawn with characters: braille, of eight dots each, or ASCII; axes with ticks at round numbers, a legend.

WIDTH, HEIGHT = 72, 20  # where there is no terminal
_LEAST = (12, 4)  # columns and rows of a drawing, however small the terminal
_BRAILLE = 0x2800
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # by row and column of a character
_SIGNS = "*.o+x#"  # of each curve, in ASCII
_COLOURS = ("cyan", "red", "green", "magenta")  # of each curve; all can be read on light and on dark
_SAMPLES = {"line": "⠒⠒⠒", "dots": "⠂⠐⠂", "dashes": "⠒⠂⠒"}
_POINTS = "•◦▪▫"  # of each curve of points; in ASCII, they have the sign of their curve
_PATTERNS = {"line": (1, 1), "dots": (1, 3), "dashes": (5, 8)}  # how many dots of how many
_BEYOND = ("▲▼", "^v")  # where a curve goes on outside, in braille and in ASCII
_AXIS = 12  # characters of the name of the axis beside it; a longer one is below
_ZERO = 1000  # the number of the line at 0, which is below all curves

Place = tuple[float, float]  # columns and rows of dots from the top left


class Canvas:
    """A grid of dots; a character shows two by four of them, in ASCII one."""

    def __init__(self, width: int, height: int, plain: bool) -> None:
        self.width, self.height, self.plain = width, height, plain
        self.across, self.down = (1, 1) if plain else (2, 4)
        self.columns, self.rows = width * self.across, height * self.down
        self.cells: dict[tuple[int, int], tuple[int, int]] = {}  # by row and column: the dots, and the curve on top
        self.marks: dict[tuple[int, int], tuple[str, int]] = {}  # and what stands in the place of dots

    def dot(self, place: Place, curve: int) -> None:
        """Set a dot; one outside is ignored. A character has the colour, or the mark, of its first curve."""
        x, y = round(place[0]), round(place[1])
        if not (0 <= x < self.columns and 0 <= y < self.rows):
            return
        cell = y // self.down, x // self.across
        dots, owner = self.cells.get(cell, (0, curve))
        self.cells[cell] = dots | (1 if self.plain else _DOTS[y % 4][x % 2]), min(owner, curve)

    def write(self, place: Place, text: str, curve: int) -> None:
        """Write a text around a place, in the place of dots; not where another stands."""
        row, column = round(place[1]) // self.down, round(place[0]) // self.across - len(text) // 2
        cells = [(row, column + at) for at in range(len(text))]
        if 0 <= row < self.height and 0 <= column <= self.width - len(text) and not self.marks.keys() & {*cells}:
            self.marks |= {cell: (sign, curve) for cell, sign in zip(cells, text, strict=True)}

    def mark(self, column: float, beyond: int, curve: int) -> None:
        """Mark that a curve goes on above (1) or below (-1) a column of dots."""
        row, column = 0 if beyond > 0 else self.height - 1, round(column) // self.across
        if 0 <= column < self.width:
            self.marks.setdefault((row, column), (_BEYOND[self.plain][beyond < 0], curve))

    def between(self, start: Place, end: Place) -> Iterator[tuple[int, int]]:
        """The dots of a line from one place to another, as far as they are inside."""
        inside = _clipped(start, end, (self.columns - 1, self.rows - 1))
        if inside is not None:
            (x0, y0), (x1, y1) = inside
            steps = max(math.ceil(max(abs(x1 - x0), abs(y1 - y0))), 1)
            for step in range(steps + 1):
                yield round(x0 + (x1 - x0) * step / steps), round(y0 + (y1 - y0) * step / steps)

    def lines(self, colour: bool) -> Iterator[str]:
        """The rows of characters, top to bottom."""
        for row in range(self.height):
            cells = (self._cell(row, column) for column in range(self.width))
            line = ""
            for owner, run in groupby(cells, lambda cell: cell[1]):
                text = "".join(character for character, _ in run)
                line += coloured(text, owner) if colour else text
            yield line

    def _cell(self, row: int, column: int) -> tuple[str, int]:
        """A character, and the curve that it belongs to."""
        if (mark := self.marks.get((row, column))) is not None:
            return mark
        dots, owner = self.cells.get((row, column), (0, -1))
        if not self.plain:
            return chr(_BRAILLE + dots) if dots else " ", owner
        return " " if not dots else "-" if owner == _ZERO else _SIGNS[owner % len(_SIGNS)], owner


def coloured(text: str, curve: int) -> str:
    """A text in the colour of a curve; the background and the line at 0 have none."""
    return click.style(text, _COLOURS[curve % len(_COLOURS)]) if 0 <= curve < _ZERO else text


def _clipped(start: Place, end: Place, corner: tuple[int, int]) -> tuple[Place, Place] | None:
    """The part of a line that is inside, to half a dot, by Liang and Barsky; None where there is none."""
    (x, y), (dx, dy) = start, (end[0] - start[0], end[1] - start[1])
    first, last = 0.0, 1.0
    for change, room in ((-dx, x), (dx, corner[0] - x), (-dy, y), (dy, corner[1] - y)):
        if change == 0 and room < -0.5:
            return None
        if change < 0:
            first = max(first, (room + 0.5) / change)
        elif change > 0:
            last = min(last, (room + 0.5) / change)
    return ((x + first * dx, y + first * dy), (x + last * dx, y + last * dy)) if first <= last else None


def draw(plot: Plot, width: int, height: int, plain: bool = False, colour: bool = False) -> str:
    """The picture of a plot as lines of text, at most so many characters wide and high."""
    if plot.below is None:
        return _drawn(plot, width, height, plain, colour, 0)
    parts = (plot, height * 2 // 3), (plot.below, height - height * 2 // 3)
    margin = max(_values(part, rows - 3, plain)[2] for part, rows in parts)
    return "\n".join(_drawn(part, width, rows, plain, colour, margin) for part, rows in parts)


_Axis = tuple[Scale | LogScale, dict[int, str], int]  # the scale, its labels by row, the width of the longest


def _values(plot: Plot, rows: int, plain: bool, right: bool = False) -> _Axis:
    """The axis of the values, or that at the right."""
    window, log = (plot.right, False) if right else (plot.window, plot.log[1])
    own = (y for curve in plot.curves if curve.right == right for y in curve.reach())
    up = scale_of(ends_of(window or own, log), max(rows // 3, 3), log=log)
    labels = {_row(up, tick, rows, plain): up.label(tick) for tick in up.ticks}
    return up, labels, max(map(len, labels.values()), default=0)


def _drawn(plot: Plot, width: int, height: int, plain: bool, colour: bool, margin: int) -> str:
    """One picture; `margin` is the least number of columns for the labels of its values."""
    outside = any(_leaving(plot, curve) for curve in plot.curves)
    legend = _legend(plot, width, plain, colour, outside)
    head = [f"{truncate(plot.title, width):^{width}}".rstrip()] if plot.title else []
    head += [truncate(f" {plot.label}", width)] if plot.label else []
    beside = len(plot.axis) if len(plot.axis) <= _AXIS else -1
    rows = max(height - 2 - len(legend) - len(head) - (beside < 0), _LEAST[1])
    up, labels, longest = _values(plot, rows, plain)
    right = _values(plot, rows, plain, right=True) if plot.right else None
    margin = max(margin, longest)
    room = max(beside + 1, right[2] + 2 if right else 0)
    canvas = Canvas(max(width - margin - 2 - room, _LEAST[0]), rows, plain)
    xs = plot.across or (x for curve in plot.curves for x in curve.x)
    least = 1.0 if plot.axis == "index" else 0.0
    across = scale_of(ends_of(xs, plot.log[0]), canvas.width // 8, least, plot.log[0])
    _paint(canvas, plot, across, (up, right[0] if right else up))
    walls = [_wall(row, labels, plain) for row in range(rows)]
    lines = [f"{labels.get(row, ''):>{margin}} {walls[row]}{line}" for row, line in enumerate(canvas.lines(colour))]
    if right is not None:
        lines = [f"{line}{_wall(row, right[1], plain, 1)} {right[1].get(row, '')}" for row, line in enumerate(lines)]
    foot = [" " * margin + line for line in _foot(across, canvas.width, plot.axis, plain)]
    return "\n".join([*head, *(line.rstrip() for line in lines), *foot, *legend])


def _wall(row: int, labels: dict[int, str], plain: bool, side: int = 0) -> str:
    """The character of an axis of values, at its left (0) or right (1)."""
    return ("|+" if plain else ("│┤", "│├")[side])[row in labels]


def _row(scale: Scale | LogScale, number: float, rows: int, plain: bool) -> int:
    """The row of characters of a number."""
    down = 1 if plain else 4
    return round((1 - scale.place(number)) * (rows * down - 1)) // down


def _paint(canvas: Canvas, plot: Plot, across: Scale | LogScale, ups: Sequence[Scale | LogScale]) -> None:
    """The line at 0, then the curves; `ups`: the scales of the values, at the left and at the right."""

    def place(x: float, y: float, up: Scale | LogScale) -> Place | None:
        found = across.place(x) * (canvas.columns - 1), (1 - up.place(y)) * (canvas.rows - 1)
        return found if math.isfinite(x) and math.isfinite(y) and not any(map(math.isnan, found)) else None

    if ups[0].low < 0 < ups[0].high:
        zero = [place(x, 0, ups[0]) for x in (across.low, across.high)]
        _trace(canvas, zero, _ZERO, (1, 1 if canvas.plain else 4))
    for number, curve in enumerate(plot.curves):
        places = [place(x, y, ups[curve.right]) for x, y in zip(curve.x, curve.y, strict=True)]
        for x, *ends in curve.bars():
            bottom, top = (place(x, max(y, ups[curve.right].low) if plot.log[1] else y, ups[curve.right]) for y in ends)
            for dot in canvas.between(bottom, top) if bottom and top else ():
                canvas.dot(dot, number)
        if curve.style == "points" and not canvas.plain:
            for point in filter(None, places):
                canvas.write(point, _sign(plot, number), number)
        elif curve.style == "points":
            _scatter(canvas, places, number)
        else:
            _trace(canvas, places, number, _PATTERNS[curve.style])
        for x, side in _leaving(plot, curve):
            if not math.isnan(column := across.place(x)):
                canvas.mark(column * (canvas.columns - 1), side, number)

    for number, (curve, at) in enumerate(zip(plot.curves, plot.inscriptions(), strict=False)):
        there = None if at is None else place(curve.x[at], curve.y[at], ups[0])
        if there is not None:
            canvas.write(there, f" {curve.name} ", number)


def _sign(plot: Plot, number: int) -> str:
    """The sign of the points of a curve, by how many curves before it have points."""
    return _POINTS[plot.marks[number] % len(_POINTS)]


def _leaving(plot: Plot, curve: Curve) -> list[tuple[float, int]]:
    """Where a curve leaves what is shown, as in `edges`."""
    window = plot.window_of(curve)
    return [] if window is None or curve.style == "points" else edges(curve, window)


def _scatter(canvas: Canvas, places: Sequence[Place | None], number: int) -> None:
    """Dots for each point: in braille a square of four, since a single one is easily missed."""
    reach = range(1) if canvas.plain else range(2)
    for place in filter(None, places):
        x, y = min(round(place[0]), canvas.columns - len(reach)), min(round(place[1]), canvas.rows - len(reach))
        for dx, dy in product(reach, reach):
            canvas.dot((x + dx, y + dy), number)


def _trace(canvas: Canvas, places: Sequence[Place | None], number: int, pattern: tuple[int, int]) -> None:
    """The line through some places, which ends where one of them is missing. A pattern of dots may leave some out."""
    kept, last, count = list(_thinned(places)), None, 0
    for before, here, after in zip([None, *kept], kept, [*kept[1:], None], strict=False):
        if here and not (after or before):
            _scatter(canvas, [here], number)
        for dot in canvas.between(here, after) if here and after else ():
            if dot != last:
                if count % pattern[1] < pattern[0]:
                    canvas.dot(dot, number)
                last, count = dot, count + 1


def _thinned(places: Sequence[Place | None]) -> Iterator[Place | None]:
    """The places of a line; of many in a column of dots only the first, the last and the turning points."""
    for _, group in groupby(places, lambda place: place and round(place[0])):
        run = list(group)
        if len(run) > 4 and run[0] is not None:
            there = [place for place in run if place]
            yield from (there[0], *sorted((min(there, key=itemgetter(1)), max(there, key=itemgetter(1)))), there[-1])
        else:
            yield from run


def _foot(scale: Scale | LogScale, width: int, name: str, plain: bool) -> list[str]:
    """The axis below, with its ticks, and their labels where there is room."""
    line, labels = ["-" if plain else "─"] * width, [" "] * (width + 2)
    end = -2
    for tick in scale.ticks:
        column, text = round(scale.place(tick) * (width - 1)), scale.label(tick)
        line[column] = "+" if plain else "┬"
        start = min(max(column + 2 - len(text) // 2, 0), width + 2 - len(text))
        if start > end + 1:
            labels[start : start + len(text)] = text
            end = start + len(text)
    corner = "+" if plain else "└"
    beside, below = (name, []) if len(name) <= _AXIS else ("", [f"  {name:^{width}}".rstrip()])
    return [f" {corner}{''.join(line)} {beside}".rstrip(), "".join(labels).rstrip(), *below]


def _legend(plot: Plot, width: int, plain: bool, colour: bool, outside: bool) -> list[str]:
    """The legend, on as many lines as it needs."""
    entries = []
    for number, curve in enumerate(plot.curves):
        sample = _SAMPLES.get(curve.style) or f"{_sign(plot, number)} {_sign(plot, number)}"
        sample = _SIGNS[number % len(_SIGNS)] * 3 if plain else sample
        entries.append((sample, truncate(curve.name, width - 8, mark="..." if plain else "…"), number))
    if outside:
        entries.append((" ".join(_BEYOND[plain]), "goes on outside", -1))
    lines, used = [""], 0
    for sample, name, number in entries:
        length = len(sample) + 1 + len(name) + 3
        if used and used + length >= width:
            lines, used = [*lines, ""], 0
        lines[-1] += "   " * bool(used) + f"{coloured(sample, number) if colour else sample} {name}"
        used += length
    return [f"  {line}" for line in lines]
