"""The commands that draw curves and contour lines, and that count into bars."""

from __future__ import annotations

import math
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import cycle, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from agrad.engine.autodiff.backward import grad
from agrad.engine.autodiff.uncertainty import uncertainty
from agrad.engine.core.context import current, next_stamp, taken_back
from agrad.engine.core.graph import alive, reachable, roots_of
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint, Label, Note
from agrad.engine.inspect.budget import coverage_factor
from agrad.engine.text import printable
from agrad.engine.values import Array, format_number, format_shape, np
from agrad.grammar.commands.operands import FILE, VALUE
from agrad.grammar.commands.plot.files import form_of, save
from agrad.grammar.commands.registry import NOTHING, Call, Session, command, wrong
from agrad.grammar.diagnostics import Span
from agrad.grammar.results import LINES, Curve, Noted, Plot, Printed, unheard
from agrad.grammar.runtime.builtins import CONSTANTS, Closure
from agrad.grammar.runtime.operations import as_array, describe_value, is_table
from agrad.grammar.session.inputs import open_names
from agrad.grammar.syntax.ast import Name

if TYPE_CHECKING:
    from agrad.grammar.commands.solving import LastFit

COLUMNS = 6  # of a matrix, at most: more curves cannot be told apart

DRAWN = {"title": NOTHING, "labels": NOTHING, "to": FILE}  # the options of all commands that draw
_PARTS = ("value", "derivative", "twin")  # what is drawn of a function


@command(operands=VALUE, options={**DRAWN})
def _plot(session: Session, call: Call) -> None:
    """plot f(x) for x in -2..2 [log] [value | derivative | twin] | plot loss [logy] | plot x, y, w*x + b | plot fit
    [title "text"] [labels "x", "y"] [to "f.svg"]

    Draws a function with its derivative, or several functions, over a range; a vector, or the columns of a matrix, over
    its index; points, with error bars if they are uncertain, and lines over them; the latest fit: data, curve and 95 %
    confidence band, and the residuals below. `log`: with a logarithmic axis, `logy`: with logarithmic values, then
    without the derivative. `value` and `derivative` draw one of them alone, `twin` each over an axis of its own. ▲ and
    ▼ mark where a curve goes on outside of the picture. `to`: into a file, .svg, .png or .pdf, with the extra `plot`.
    With it, terminals that can show pictures show one: `set plots`. Nothing else changes: names, gradients and random
    numbers are as before.

    log: with a logarithmic axis
    logy: with logarithmic values
    value: a function without its derivative
    derivative: the derivative of a function alone
    twin: the derivative over an axis of its own
    title: a title above it
    labels: the names of its axes
    to: into a file: .svg, .png or .pdf
    as typed: plot f(x) for x in -2..2, plot loss, plot x, y, w*x + b, or plot fit; [log] [logy] [to "f.svg"]
    example: plot sin(x) for x in 0..2*pi
    """
    path_of(call)
    if "fit" in call.options and "fit" in call.names:  # a name of the user
        node = call.node.changed(operands=(Name("fit", span=call.span),))
        call = Call(node, [call.names["fit"]], call.options, call.names, call.span)
    if "low" in call.options:
        plot = _functions(session, call)
    else:
        _check_parts(call)
        if call.values:
            plot = _data(call)
            _note_gaps(session, call, plot)
        elif session.fit is None:
            raise call.wrong("name", "plot fit: there is no fit yet", Hint("fit y ~ a*x over a   comes first"))
        else:
            plot = picture(session.fit, "log" in call.options)
    show(session, call, plot)


def note_constants(session: Session, call: Call, variables: Sequence[str]) -> None:
    """Note each value in what is drawn that was computed from a leaf with the name of a variable: it does not change.

    In `y = x**2; plot y for x in 0..1`, y is a number, and no function of x.
    """
    for closure in call.values:
        span = closure.definition.span
        for name in dict.fromkeys(open_names(span.text)):
            value = call.names.get(name)
            if name in variables or not isinstance(value, Tensor) or value.is_leaf:
                continue
            behind = {leaf.name for leaf in alive(roots_of(value.node))}
            if moved := next((variable for variable in variables if variable in behind), None):
                message = f"{name} is a value, computed before, and does not change with {moved}"
                fixes = [Hint(f"formula {name}   shows it as an expression, to draw in its place")]
                session.emit(Noted(Note(message, labels=[Label(span)], fixes=fixes)))


def path_of(call: Call) -> str | None:
    """The file that is drawn into, if there is one. Raises AgradError for one that cannot be."""
    path, place = call.options.get("to"), call.option("to")
    if path is not None:
        form_of(path, place.span if place else call.span)
    return path


def show(session: Session, call: Call, plot: Plot, empty: str = "") -> None:
    """Emit a plot with its title and labels, or write it to the file that was asked for; `empty`: why it may be."""
    log = "log" in call.options, "logy" in call.options
    plot = _dressed(plot, call, log)
    _note_missing(session, call, plot, empty)
    path = path_of(call)
    if path is None:
        session.emit(plot)
        return
    save(plot, path)
    session.emit(Printed(f"wrote {printable(path)}"))


def _dressed(plot: Plot, call: Call, log: tuple[bool, bool]) -> Plot:
    """A plot with what the options say about all of it. Raises AgradError of kind `arity`."""
    axis, label = plot.axis, plot.label
    if (labels := call.options.get("labels")) is not None:
        axis, label = labels[0], labels[1] if len(labels) == 2 else label
    title = call.options.get("title", plot.title)
    below = None if plot.below is None else _dressed(plot.below, call, (log[0], False))
    return Plot(plot.curves, axis, plot.window, below, title, label, log, plot.right, plot.across)


def _note_missing(session: Session, call: Call, plot: Plot, empty: str) -> None:
    """Note that there is no point to draw, or that some have no place on a logarithmic axis."""
    points, gone = _count(plot, plot.curves)
    if not points or gone == points:
        few = "no value is finite" if len(call.values) == 1 else "no point has two finite coordinates"
        why = "no one is above 0" if points else empty or few
        session.emit(call.note(f"there is no point to draw: {why}"))
        return
    measured = [curve for curve in plot.curves if curve.style == "points"]  # beside them, a band may go below 0
    _, gone = _count(plot, measured or plot.curves)
    if gone and "low" not in call.options:
        session.emit(call.note(f"{_are(gone, 'point')} not drawn: a logarithmic axis begins above 0"))


def _are(count: int, what: str) -> str:
    """`1 point is`, `2 points are`."""
    plural = what + "s" if what == "point" else "entries"
    return f"1 {what} is" if count == 1 else f"{count} {plural} are"


def _points(curves: Iterable[Curve]) -> list[tuple[float, float]]:
    return [point for curve in curves for point in zip(curve.x, curve.y, strict=True)]


def _count(plot: Plot, curves: Iterable[Curve]) -> tuple[int, int]:
    """How many points of curves are finite, and how many of these have no place on a logarithmic axis."""
    points = [point for point in _points(curves) if all(map(math.isfinite, point))]
    return len(points), sum((plot.log[0] and x <= 0) or (plot.log[1] and y <= 0) for x, y in points)


def _note_gaps(session: Session, call: Call, plot: Plot) -> None:
    """Note how many of the values that were given are nan or infinite, so that nothing is drawn there."""
    points = _points(plot.curves)
    gaps = [point for point in points if not all(map(math.isfinite, point))]
    if gaps and len(gaps) < len(points):
        first = f", the first at index = {format_number(gaps[0][0])}" if plot.axis == "index" else ""
        session.emit(call.note(f"{_are(len(gaps), 'point')} not drawn: nan or infinite{first}"))


def _check_parts(call: Call) -> None:
    """Refuse the options of functions where none is drawn. Raises AgradError."""
    for option in _PARTS:
        if option in call.options:
            fix = Hint(f"plot f(x) for x in -2..2 {option}")
            raise call.wrong("type", f"plot: {option} is for functions over a range", fix)
    if "log" in call.options and len(call.values) == 1:
        fixes = [] if "logy" in call.options else [f"plot {call.operand(0).span.text} logy"]
        message = "plot: the axis of a vector is its index, which begins at 0: it cannot be logarithmic"
        raise call.wrong("domain", message, *fixes)


def _functions(session: Session, call: Call) -> Plot:
    """The curves of functions over a range; that of a single one with its derivative.

    Nothing else changes: names, gradients and random numbers are as before. Raises the error of a function that has
    no value anywhere.
    """
    low, high = ends(call, "low", "high", "log" in call.options)
    shape = _shape(call)
    (name,) = call.values[0].definition.parameters
    note_constants(session, call, (name,))
    with aside(session):
        tracks = [_Track(session, closure, low, high, shape.log) for closure in call.values]
    curves, windows = [], []
    if shape.value:
        curves += [Curve(track.name, *track.line(0), style) for track, style in zip(tracks, cycle(LINES), strict=False)]
        windows += [track.window for track in tracks]
    if shape.derivative:
        styles = cycle(LINES) if len(tracks) > 1 or not shape.value else cycle(LINES[1:])
        for track, style in zip(tracks, styles, strict=False):
            curves.append(Curve(f"d/d{name} {track.name}", *track.line(1), style, shape.twin))
            windows += [track.slopes_window] if shape.value and not shape.twin else []
        if not shape.value:
            windows = [track.slopes_window_alone(shape.log[1]) for track in tracks]
    window = min(low for low, _ in windows), max(high for _, high in windows)
    right = tracks[0].slopes_window_alone(False) if shape.twin else None
    return Plot(tuple(curves), name, window, log=shape.log, right=right)


def _shape(call: Call) -> Any:
    """What is drawn of the functions. Raises AgradError of kind `arity`."""
    log = "log" in call.options, "logy" in call.options
    chosen = [option for option in _PARTS if option in call.options]
    if len(chosen) > 1:
        message = f"plot: {chosen[0]} and {chosen[1]} exclude each other"
        raise call.wrong("arity", message, Hint(f"leave out {chosen[1]}"))
    several = len(call.values) > 1
    if several and chosen == ["twin"]:
        raise call.wrong("arity", "plot: two axes are for one function and its derivative", Hint("leave out twin"))
    if not chosen:
        return Shape(log, True, not (several or log[1]))
    return Shape(log, chosen != ["derivative"], chosen != ["value"], chosen == ["twin"])


def ends(call: Call, start: str, end: str, log: bool = False) -> tuple[float, float]:
    """The ends of a range. Raises AgradError if it is not one, or, with `log`, does not begin above 0."""
    low, high = _end(call, start), _end(call, end)
    first, last = call.option(start), call.option(end)
    assert first is not None
    assert last is not None
    place = Span(first.span.source, first.span.start, last.span.end)
    begin, stop = format_number(low), format_number(high)
    if not math.isfinite(high - low):
        raise wrong("domain", f"the range {begin}..{stop} has no finite length", place)
    if not low < high:
        fix = Hint(f"{stop}..{begin}" if high < low else f"{begin}..{format_number(low + 1)}")
        raise wrong("domain", f"a range must increase, and {begin}..{stop} does not", place, fix)
    if log and low <= 0:
        fixes = [Hint(f"{format_number(high / 1000)}..{stop}")] if high > 0 else []
        raise wrong("domain", f"a logarithmic axis begins above 0, and {begin}..{stop} does not", place, *fixes)
    return low, high


def _end(call: Call, option: str) -> float:
    value = call.options[option]
    if (number := number_in(value)) is not None:
        return number
    message = f"the ends of a range must be numbers, and this is {describe_value(value)}"
    raise AgradError("type", message, labels=call.labels(option))


def _data(call: Call) -> Plot:
    """A vector over its index; or points, with lines over them."""
    columns = [_columns(call, place) for place in range(len(call.values))]
    if len(columns) == 1:
        (curves,) = columns
        styled = zip(curves, cycle(LINES), strict=False)
        return Plot(tuple(Curve(name, [*map(float, range(len(y)))], y, style) for (name, y), style in styled), "index")
    (axis, x), *more = columns[0]
    first = call.operand(0).span
    if more:
        raise wrong("shape", f"{first.text} is a matrix: points have one x each", first)
    points, *lines = columns[1:]
    for place, curves in enumerate(columns[1:], 1):
        if (length := len(curves[0][1])) != len(x):
            span = call.operand(place).span
            message = f"{first.text} has {len(x)} entries and {span.text} has {length}: points need as many of each"
            raise wrong("shape", message, span)
    value = as_array(call.values[1])
    u: Any = uncertainty(value) if len(points) == 1 and isinstance(value, Tensor) else None
    found = [Curve(name, x, y, "points", u=() if u is None else u.tolist()) for name, y in points]
    over = zip([curve for curves in lines for curve in curves], cycle(LINES), strict=False)
    found += [Curve(name, *ordered(x, y), style) for (name, y), style in over]
    return Plot(tuple(found), axis)


def _columns(call: Call, place: int) -> list[tuple[str, list[float]]]:
    """The vector that an operand is, or the columns of a matrix, each with a name."""
    span, value = call.operand(place).span, as_array(call.values[place])
    name = span.text
    if isinstance(value, range):
        return [(name, [*map(float, value)])]
    if not isinstance(value, Tensor) or not value.shape:
        raise _no_vector(name, value, span)
    array: Any = value.value
    if len(value.shape) == 1:
        return [(name, array.tolist())]
    if len(value.shape) > 2 or value.shape[1] > COLUMNS:
        message = f"{name} has shape {format_shape(value.shape)}: a plot shows vectors, or up to {COLUMNS} columns"
        fixes = [f"plot {name}[:, 0]"] if len(value.shape) == 2 else []
        raise wrong("shape", message, span, *fixes)
    given = call.values[place]
    titles = given.columns if is_table(given) else [f"{name}[:, {column}]" for column in range(value.shape[1])]
    return [(title, array[:, column].tolist()) for column, title in enumerate(titles)]


def _no_vector(name: str, value: Any, span: Span) -> AgradError:
    """The error for an operand that is a number, a function or not a value."""
    if isinstance(value, Closure):
        call = value.usage
        parameter = call.partition("(")[2].rstrip(")").partition(",")[0] or "x"
        fixes, what = [f"plot {name}({parameter}) for {parameter} in -2..2"], "a function"
    elif callable(value):
        fixes, what = [f"plot {name}(x) for x in -2..2"], "a function"
    else:
        names = {one for one in re.findall(r"(?<![\w.])[^\W\d]\w*(?![\w(])", name) if one not in CONSTANTS}
        fixes = [Hint("plot f(x) for x in -2..2, or plot losses   where losses is a vector")]
        if isinstance(value, str):
            style = Hint("leave it out: plot x, y   draws points, plot x, y, w*x + b   also a line")
            fixes = [f"t = load_csv({name}); plot t[0], t[1]   draws two columns"] if "." in value else [style]
        elif len(names) == 1 and name not in names:
            fixes = [f"plot {name} for {names.pop()} in -2..2"]
        what = "one number" if isinstance(value, float | Tensor) else describe_value(value)
    message = f"{name} is {what}: a plot shows vectors, or functions over a range"
    return wrong("type", message, span, *fixes)


# Counts, in bars

_MOST = 1000  # bins
_USUAL = 60  # bins, unless more are asked for


@command(operands=VALUE, options={"bins": VALUE, **DRAWN})
def _histogram(session: Session, call: Call) -> None:
    """histogram x [y] [bins 20 | bins [0, 1, 2]] [title "text"] [labels "x", "y"] [to "f.svg"]

    How many entries of an array are in each of some intervals of equal length; of several arrays, over the same
    intervals. `bins`: how many intervals, or their ends. What equals an end between two counts above it, the last end
    below it.

    bins: how many intervals, or their ends
    title: a title above it
    labels: the names of its axes
    to: into a file: .svg, .png or .pdf
    as typed: histogram x, or histogram x, y bins 20
    example: histogram [1, 2, 2, 3, 3, 3] bins 3
    """
    path_of(call)
    entries = [_entries(call, place) for place in range(len(call.values))]
    finite = [array[np.isfinite(array)] for array in entries]
    gone = sum(map(len, entries)) - sum(map(len, finite))
    if not sum(map(len, finite)):
        raise call.wrong("domain", "histogram: there is no finite number to count")
    ends = _ends(call, np.concatenate(finite))
    curves = []
    for place, array in enumerate(finite):
        counts = np.histogram(array, ends)[0]
        gone += len(array) - int(counts.sum())
        name = call.operand(place).span.text
        curves.append(_outline(name, ends.tolist(), counts.tolist(), LINES[place % len(LINES)]))
    if gone:
        session.emit(call.note(f"{_are(gone, 'entry')} not counted: not finite, or outside of all intervals"))
    most = max(max(curve.y) for curve in curves)
    axis = curves[0].name if len(curves) == 1 else "value"
    show(session, call, Plot(tuple(curves), axis, (0.0, most or 1.0), label="count"))


def _outline(name: str, ends: list[float], counts: list[float], style: Any) -> Curve:
    """The outline of bars."""
    x = [end for low, high in pairwise(ends) for end in (low, low, high, high)]
    return Curve(name, x, [y for count in counts for y in (0.0, float(count), float(count), 0.0)], style)


def _entries(call: Call, place: int) -> Any:
    """The entries of an operand as a vector. Raises AgradError of kind `type`."""
    value, span = as_array(call.values[place]), call.operand(place).span
    if isinstance(value, Tensor) and value.shape:
        return np.asarray(value.value).reshape(-1)
    what = "one number" if isinstance(value, float | Tensor) else describe_value(value)
    message = f"{span.text} is {what}: a histogram counts the entries of an array"
    raise wrong("type", message, span, Hint("histogram randn(1000)"))


def _ends(call: Call, entries: Any) -> Any:
    """The ends of the intervals. Raises AgradError."""
    given = call.options.get("bins")
    if given is None:
        ends = np.histogram_bin_edges(entries, "auto")
        return ends if len(ends) <= _USUAL + 1 else np.histogram_bin_edges(entries, _USUAL)
    value = as_array(given)
    if isinstance(value, Tensor) and len(value.shape) == 1 and value.size > 1:
        ends = np.asarray(value.value)
        if not (np.isfinite(ends).all() and (np.diff(ends) > 0).all()):
            raise AgradError("domain", "the ends of intervals must increase, and be finite", labels=call.labels("bins"))
        return ends
    return np.histogram_bin_edges(entries, whole(call, "bins", _MOST, "the ends of intervals", "bins 20"))


def whole(call: Call, option: str, most: int, others: str, example: str) -> int:
    """The whole number of an option, which may have `others` as well. Raises AgradError of kind `domain`."""
    value = as_array(call.options[option])
    count = value.item() if isinstance(value, Tensor) and value.size == 1 else value
    if isinstance(count, bool) or not isinstance(count, float | int) or not (1 <= count <= most) or count % 1:
        shown = format_number(float(count)) if isinstance(count, float | int) else describe_value(value)
        message = f"`{option}` is a whole number from 1 to {most}, or {others}, not {shown}"
        raise AgradError("domain", message, labels=call.labels(option), fixes=[Hint(example)])
    return int(count)


# Curves of functions: computed along a range, more closely where they bend, and cut where they jump.
#
# A function is computed at one number after the other, so that it may contain branches, loops and random numbers; a
# slow one that works entry by entry on arrays, at many numbers together. Every value comes with its exact derivative,
# which shows where a straight line between two points is not accurate enough. On logarithmic axes that is a straight
# line between logarithms.

_STEPS = 400  # of a range, to begin with
_MOST_POINTS = 2400  # points
_NARROW = 1e-5  # of the range: what changes between points as near as this jumps
_LONG = 100  # operations: for a function of fewer, loading arrays would take longer than all its points
_TAIL = 0.1  # of the values at either end, which may be those near a pole
_NOISE = 1e-13  # of the values: what rounding adds is not followed
_LN10 = math.log(10)
UNDEFINED = frozenset({"domain", "assert"})  # errors that leave a gap: the function has no value there

Window = tuple[float, float]


class Point(NamedTuple):
    """A value of a function with its derivative, as they are drawn: on a logarithmic axis, logarithms.

    nan where there is none. `raw`: the number, the value and the derivative themselves.
    """

    x: float
    y: float
    slope: float
    raw: tuple[float, float, float]

    def of(self, which: int) -> float:
        """The value (0) or the derivative (1)."""
        return self.slope if which else self.y


class Shape(NamedTuple):
    """How functions are drawn: which axes are logarithmic; value, derivative, both, or both with an axis of its own."""

    log: tuple[bool, bool] = (False, False)
    value: bool = True
    derivative: bool = True
    twin: bool = False


@contextmanager
def aside(session: Session) -> Iterator[None]:
    """What happens inside is taken back at the end, without output."""
    kept = session.emit, session.last, session.progress, session.settings.precision
    session.emit, session.progress = unheard, None
    try:
        with taken_back(recording=True, guard=current().guard):
            yield
    finally:
        session.emit, session.last, session.progress, session.settings.precision = kept


class Sampled:
    """A function that is computed at many places; `problem`: the first error of those where it has no value."""

    def __init__(self, session: Session, closure: Closure) -> None:
        self.session, self.closure, self.name = session, closure, closure.__name__
        self.place = closure.definition.span
        self.guard = current().guard
        self.problem: AgradError | None = None

    def call(self, *values: Tensor) -> Any:
        """The value as it is. Raises AgradError."""
        current().guard = self.guard  # the guards of one point do not concern the next
        return self.session.machine.call(self.closure, values, {})

    @contextmanager
    def gaps(self) -> Iterator[None]:
        """What is left where the function has no value. Raises AgradError if it would fail anywhere."""
        try:
            yield
        except AgradError as problem:
            if problem.kind not in UNDEFINED:
                raise
            self.problem = self.problem or problem

    def nowhere(self, where: str) -> AgradError:
        """The error for a function without a value to draw."""
        message = f"{self.name} has no finite value at all {where}: there is nothing to draw"
        return self.problem or wrong("domain", message, self.place)


class _Track(Sampled):
    """One function followed along a range."""

    def __init__(self, session: Session, closure: Closure, low: float, high: float, log: tuple[bool, bool]) -> None:
        super().__init__(session, closure)
        self.across, self.up = log
        self.ends = low, high
        before = next_stamp()
        low, high = self.drawn(low), self.drawn(high)
        self.at(low)
        self.together = next_stamp() - before > _LONG
        xs = [*(low + (high - low) * (step / _STEPS) for step in range(_STEPS)), high]
        start = self.at_all(xs)
        if self.together and not self._agree(start):
            self.together = False
            start = self.at_all(xs)
        if not any(math.isfinite(point.y) for point in start):
            raise self._nowhere(start)
        self.bulk = [_Bulk([point.of(which) for point in start]) for which in (0, 1)]
        self.narrow = (high - low) * _NARROW
        self.points = self._refined(start)
        if whole := [which for which in (0, 1) if not self._window(which)[1]]:  # all of it is shown
            for which in whole:
                self.bulk[which] = _Bulk([point.of(which) for point in self.points], 0)
            self.points = self._refined(self.points)

    def drawn(self, x: float) -> float:
        """Where a number is on the axis: its logarithm, if that is logarithmic."""
        return math.log10(x) if self.across else x

    def number(self, place: float) -> float:
        """The number at a place of the axis."""
        return min(max(10.0**place, self.ends[0]), self.ends[1]) if self.across else place

    def point(self, place: float, y: float, slope: float) -> Point:
        """A point as it is drawn: of a logarithm, d(log y)/d(log x) = x y'/y."""
        x = self.number(place)
        raw = x, y, slope
        if self.up:
            y, slope = (math.log10(y), slope / (y * _LN10)) if 0 < y < math.inf else (math.nan, math.nan)
        return Point(place, y, slope * (x * _LN10) if self.across else slope, raw)

    def at(self, x: float) -> Point:
        """The value and the derivative at a place. Raises AgradError if it would fail at any number."""
        leaf = tensor(self.number(x), requires_grad=True)
        y = slope = math.nan
        with self.gaps():
            value = self.call(leaf)
            found = self._number(value)
            y, slope = found, _slope(value, leaf) if math.isfinite(found) else math.nan
        return self.point(x, y, slope)

    def at_all(self, xs: list[float]) -> list[Point]:
        """The same at many numbers."""
        found = self._at_once(xs) if self.together else None
        return [self.at(x) for x in xs] if found is None else found

    def _at_once(self, xs: list[float]) -> list[Point] | None:
        """The same with the numbers as one array; None where the function does not take it for so many numbers."""
        leaf = tensor([*map(self.number, xs)], requires_grad=True)
        try:
            value = self.call(leaf)
            if not isinstance(value, Tensor) or value.shape != leaf.shape or leaf.node not in reachable(value.node):
                return None
            slopes = grad(value, leaf, gradient=[1.0] * len(xs))
        except AgradError:
            return None
        rows = zip(xs, value.tolist(), slopes.tolist(), strict=True)
        return [self.point(x, y, slope if math.isfinite(y) else math.nan) for x, y, slope in rows]

    def _agree(self, points: list[Point]) -> bool:
        """Whether some of the points are the same one by one: entries of an array may depend on each other."""
        chosen = [points[place * (len(points) - 1) // 6] for place in (0, 1, 3, 4, 6)]
        return all(_agrees(point, self.at(point.x)) for point in chosen)

    def _number(self, value: object) -> float:
        if (number := number_in(value)) is not None:
            return number
        fixes: list[str] = []
        what = describe_value(value)
        if isinstance(value, Tensor):
            fixes = [Hint(f"sum({self.name}), or an entry of it: ({self.name})[0]")]
        elif callable(value):
            what, fixes = "a function", [f"{self.name}({', '.join(self.closure.definition.parameters)})"]
        message = f"{self.name} is {what}: a curve has one number at each point"
        raise wrong("shape", message, self.place, *fixes)

    def _nowhere(self, start: list[Point]) -> AgradError:
        """The error for a function without a point to draw."""
        ends = f"from {format_number(self.ends[0])} to {format_number(self.ends[1])}"
        if any(math.isfinite(point.raw[1]) for point in start):
            message = f"{self.name} is not above 0 anywhere {ends}: logarithmic values are"
            return wrong("domain", message, self.place, Hint("leave out logy"))
        return self.nowhere(ends)

    def _refined(self, start: list[Point]) -> list[Point]:
        """More points where a straight line between two is not accurate, halved level by level."""
        points, pairs = list(start), list(pairwise(start))
        while pairs and (room := _MOST_POINTS - len(points)) > 0:
            bent = ((p, q, p.x / 2 + q.x / 2) for p, q in pairs if not self._straight(p, q))
            halved = [(p, q, x) for p, q, x in bent if p.x < x < q.x]
            halved = halved[:: len(halved) // room + 1]  # some everywhere, where there are too many
            middles = self.at_all([x for _, _, x in halved])
            points += middles
            pairs = [pair for (p, q, _), m in zip(halved, middles, strict=True) for pair in ((p, m), (m, q))]
        return sorted(points)

    def _straight(self, p: Point, q: Point) -> bool:
        """Whether a straight line between two points is accurate."""
        step = q.x - p.x
        if step <= self.narrow:
            return True
        if not (math.isfinite(p.y) and math.isfinite(q.y)):
            return math.isfinite(p.y) == math.isfinite(q.y)
        values, slopes = self.bulk
        if side := values.outside(p.y, q.y):
            return not p.slope * side > 0 > q.slope * side  # there may be a pole between them
        if not (math.isfinite(p.slope) and math.isfinite(q.slope)):
            return abs(q.y - p.y) <= values.fine
        bend = abs(q.y - p.y - step * (p.slope / 2 + q.slope / 2)) + step * abs(q.slope - p.slope) / 8
        if bend > values.fine:
            return False
        return bool(slopes.outside(p.slope, q.slope)) or abs(q.slope - p.slope) <= 10 * slopes.fine

    def line(self, which: int) -> tuple[list[float], list[float]]:
        """The values (0) or derivatives (1) with the places they are at; nan between those that a jump parts."""
        xs, ys = [self.points[0].raw[0]], [self.points[0].raw[1 + which]]
        for p, q in pairwise(self.points):
            if self._jumps(p, q, which):
                xs.append(self.number(p.x / 2 + q.x / 2))
                ys.append(math.nan)
            xs.append(q.raw[0])
            ys.append(q.raw[1 + which])
        return xs, ys

    def _jumps(self, p: Point, q: Point, which: int) -> bool:
        change, fine, step = abs(q.of(which) - p.of(which)), self.bulk[which].fine, q.x - p.x
        if self.bulk[which].outside(p.of(which), q.of(which)):
            return False
        if step <= 2 * self.narrow:
            return change > 8 * fine
        steep = max(abs(p.slope), abs(q.slope)) * step  # where there were too many jumps to look closely at each
        return which == 0 and change > 100 * fine and change > 4 * steep

    @property
    def window(self) -> Window:
        """The range of values to show."""
        low, high = self._window(0)[0]
        return (_power(low), _power(high)) if self.up else (low, high)

    @property
    def slopes_window(self) -> Window:
        """The range of derivatives to show; near a pole of theirs, not many times the range of the function."""
        window, robust = (self._slopes(), True) if self.across or self.up else self._window(1)
        low, high = self.window
        if not robust or low == high:
            return window
        room = high - low
        return max(window[0], low - room), min(window[1], high + room)

    def slopes_window_alone(self, positive: bool) -> Window:
        """The range of derivatives to show over an axis of their own; those above 0 if that is logarithmic."""
        return self._slopes(positive) if self.across or self.up or positive else self._window(1)[0]

    def _slopes(self, positive: bool = False) -> Window:
        """The smallest and largest derivative where an axis is logarithmic."""
        slopes = [point.raw[2] for point in self.points]
        finite = [slope for slope in slopes if math.isfinite(slope) and (slope > 0 or not positive)]
        return min(finite, default=1.0), max(finite, default=1.0)

    def _window(self, which: int) -> tuple[Window, bool]:
        """The smallest and largest value, without those near a pole; and whether there are such."""
        values, bulk = [point.of(which) for point in self.points], self.bulk[which]
        near = (pair for pair in pairwise(self.points) if pair[1].x - pair[0].x <= 2 * self.narrow)
        beyond = any(
            math.isfinite(y) and bulk.outside(y, y) for pair in near for y in (point.of(which) for point in pair)
        )
        finite = [y for y in values if math.isfinite(y)]
        if len(values) > _MOST_POINTS / 2:  # too many poles to look closely at each
            beyond = beyond or any(bulk.far(y) for y in finite)
        if not finite:
            return self._window(0)
        low, high = min(finite), max(finite)
        if bulk.low < bulk.high and (beyond or any(map(math.isinf, values))):
            return (max(low, bulk.low), min(high, bulk.high)), True
        return (low, high), False


class _Bulk:
    """The range of most values of a curve, with a margin; `fine`: the smallest visible difference."""

    def __init__(self, values: list[float], tails: float = _TAIL) -> None:
        finite = sorted(y for y in values if math.isfinite(y)) or [0.0]
        tail = int(len(finite) * tails)
        least, most = finite[tail], finite[-1 - tail]
        room = (most - least) / 2
        self.low, self.high = least - room, most + room
        spread = 2 * room or finite[-1] - finite[0]
        noise = _NOISE * max(abs(finite[0]), abs(finite[-1]))
        self.fine = max(spread / _STEPS, noise) if 0 < spread < math.inf else math.inf

    def far(self, value: float) -> bool:
        """Whether a value is many times farther out than the others."""
        return not self.low - 100 * (self.high - self.low) <= value <= self.high + 100 * (self.high - self.low)

    def outside(self, *values: float) -> int:
        """1 where all are above, -1 where all are below, 0 otherwise."""
        return 1 if min(values) > self.high else -1 if max(values) < self.low else 0


def _slope(value: object, leaf: Tensor) -> float:
    """The derivative by the leaf, 0 where the value does not depend on it."""
    if not isinstance(value, Tensor) or not value.requires_grad or leaf.node not in reachable(value.node):
        return 0.0
    slope: Tensor = grad(value, leaf)
    return slope.item()


def _power(exponent: float) -> float:
    """A power of ten; the largest number where that is larger."""
    return 10.0**exponent if exponent < 308 else sys.float_info.max


def _agrees(one: Point, other: Point) -> bool:
    """Whether two points are the same except for rounding."""
    pairs = zip(one.raw, other.raw, strict=True)
    return all(x == y or abs(x - y) <= 1e-6 * max(abs(x), abs(y)) or (x != x and y != y) for x, y in pairs)


def ordered(x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float]]:
    """Points from left to right, so that a line through them does not turn back; without those not finite."""
    pairs = sorted((pair for pair in zip(x, y, strict=True) if not math.isnan(pair[0])), key=lambda pair: pair[0])
    return [x for x, _ in pairs], [y for _, y in pairs]


def number_in(value: Any) -> float | None:
    """The one number that a value is; None for anything else."""
    if isinstance(value, Tensor) and value.size == 1:
        return value.item()
    return value if isinstance(value, float) else None


# The picture of a fit: the data, the curve with its confidence band, and the residuals below.

_PLACES = 200  # of the curve
_COVERAGE = 0.95  # of the band


def _places(x: Array, log: bool) -> Array:
    """Where the curve over data at `x` is computed, in steps that are equal on the axis."""
    above = x[x > 0]
    if log and above.size:
        return np.geomspace(np.min(above), np.max(above), _PLACES)
    return np.linspace(np.min(x), np.max(x), _PLACES)


def picture(fit: LastFit, log: bool = False) -> Plot:
    """The data and the curve over the vector that the model uses, or over the index if there are several or none.

    With `log`, the places of the curve are as dense as a logarithmic axis shows them.
    """
    value = fit.at(len(fit.y))
    used = {name: as_array(value) for name, value in fit.used.items()}
    vectors: dict[str, Any] = {
        name: x.value for name, x in used.items() if isinstance(x, Tensor) and x.shape == fit.y.shape
    }
    axis, x = next(iter(vectors.items())) if len(vectors) == 1 else ("index", np.arange(float(len(fit.y))))
    order = np.argsort(x, kind="stable")
    dense, curve = x[order], value[order]
    with suppress(AgradError):  # a point of most models is the same whatever the others are
        some, places = dense[::2], _places(x, log)
        if np.allclose(fit.at(len(some), **{axis: tensor(some)}).value, curve.value[::2], rtol=1e-9, atol=0):
            dense, curve = places, fit.at(len(places), **{axis: tensor(places)})
    middle, half = curve.value, coverage_factor(_COVERAGE, fit.dof) * np.asarray(uncertainty(curve))
    u = () if fit.u is None else np.broadcast_to(fit.u, fit.y.shape).tolist()
    gap = [np.nan]
    band = np.concatenate([middle + half, gap, middle - half]).tolist()
    curves = (
        Curve(fit.name, x.tolist(), fit.y.tolist(), "points", u=u),
        Curve(fit.model.__name__, dense.tolist(), middle.tolist()),
        Curve(f"{100 * _COVERAGE:g} % confidence", [*dense.tolist(), *gap, *dense.tolist()], band, "dashes"),
    )
    below = Plot((Curve("residuals", x.tolist(), (fit.y - value.value).tolist(), "points", u=u),), axis)
    return Plot(curves, axis, below=below)


# Contour lines

_LEVELS, _MOST_LEVELS = 7, 20


@command(operands=VALUE, options={"levels": VALUE, **DRAWN})
def _contour(session: Session, call: Call) -> None:
    """contour f(x, y) for x in -2..2, y in 0..1 [levels 7 | levels [1, 2, 5]] [title "text"]
    [labels "x", "y"] [to "f.svg"]

    Lines of equal value of a function of two numbers. `levels`: how many lines, or the values; by default round
    numbers, or, where most values are close to one end, those below which equal parts of the picture are.

    levels: how many lines, or their values
    title: a title above it
    labels: the names of its axes
    to: into a file: .svg, .png or .pdf
    as typed: contour f(x, y) for x in -2..2, y in 0..1 [levels 7]
    example: contour x**2 + 3*y**2 for x in -2..2, y in -1..1
    """
    path_of(call)
    across, up = ends(call, "low", "high"), ends(call, "bottom", "top")
    (closure,) = call.values
    x, y = closure.definition.parameters
    note_constants(session, call, (x, y))
    field = grid(session, closure, across, up)
    count, values = _levels(call)
    levels = values or chosen(field, count)
    styled = zip(levels, cycle(LINES), strict=False)
    curves = [Curve(format_number(level, 6), *lines(level, field), style) for level, style in styled]
    low, high = (format_number(float(end)) for end in (np.nanmin(field.z), np.nanmax(field.z)))
    empty = f"the value is {low} everywhere" if low == high else f"the values are from {low} to {high}"
    show(session, call, Plot(tuple(curves), x, up, title=closure.__name__, label=y, across=across), empty)


def _levels(call: Call) -> tuple[int, list[float]]:
    """How many levels, or their values. Raises AgradError of kind `domain`."""
    if "levels" not in call.options:
        return _LEVELS, []
    value = as_array(call.options["levels"])
    if isinstance(value, Tensor) and len(value.shape) == 1 and 1 <= value.size <= _MOST_LEVELS:
        return 0, sorted(set(value.tolist()))
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
