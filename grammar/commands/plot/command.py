"""The commands that draw curves, and the picture of a fit, and that count into bars."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import cycle, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from agrad.engine.autodiff.uncertainty import uncertainty
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.inspect.budget import coverage_factor, joint
from agrad.engine.ops.solvers.functions import study_of
from agrad.engine.text import printable
from agrad.engine.units.quantity import Scale, in_unit, of_unit, unit_of
from agrad.engine.values import Array, format_number, format_shape, np
from agrad.grammar.commands.operands import FILE, VALUE
from agrad.grammar.commands.plot.files import form_of, save
from agrad.grammar.commands.plot.sampling import Shape, Track, aside, number_in, ordered
from agrad.grammar.commands.registry import NOTHING, Call, Session, command, wrong
from agrad.grammar.diagnostics import Span
from agrad.grammar.results import LINES, Curve, Plot, Printed
from agrad.grammar.runtime.builtins import CONSTANTS, Closure
from agrad.grammar.runtime.operations import as_array, describe_value, is_table
from agrad.grammar.syntax.ast import Name
from agrad.grammar.syntax.errors.messages import corrected

if TYPE_CHECKING:
    from agrad.engine.ops.solvers.study import Study
    from agrad.grammar.commands.fitting import LastFit

COLUMNS = 6  # of a matrix, at most: more curves cannot be told apart

DRAWN = {"title": NOTHING, "labels": NOTHING, "to": FILE}  # the options of all commands that draw
_PARTS = ("value", "derivative", "twin")  # what is drawn of a function
_FEW = 4  # places whose coordinates a legend has room for


@command(operands=VALUE, options={**DRAWN})
def _plot(session: Session, call: Call) -> None:
    """plot f(x) for x in -2..2 [log] [value | derivative | twin] [marks] | plot loss [logy] | plot x, y,
    w*x + b | plot fit [title "text"] [labels "x", "y"] [to "f.svg"]

    Draws a function with its derivative, or several functions, over a range; a vector, or the columns of a matrix, over
    its index; points, with error bars if they are uncertain, and lines over them; of two uncertain numbers, the ellipse
    in which both are with 95 %; the latest fit: data, curve and 95 % confidence band, and the residuals below. `log`:
    with a logarithmic axis, `logy`: with logarithmic values, then without the derivative. `value` and `derivative` draw
    one of them alone, `twin` each over an axis of its own. `marks`: with points at the zeros and extrema, as `study`
    finds them. ▲ and ▼ mark where a curve goes on outside of the picture. `to`: into a file, .svg, .png or .pdf, with
    the extra `plot`. With it, terminals that can show pictures show one: `set plots`. Nothing else changes: names,
    gradients and random numbers are as before.

    log: with a logarithmic axis
    logy: with logarithmic values
    value: a function without its derivative
    derivative: the derivative of a function alone
    twin: the derivative over an axis of its own
    marks: with the zeros and extrema of the functions
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
        plot = functions(session, call)
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
    return plot.replaced(axis=axis, below=below, title=title, label=label, log=log)


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
    for option in (*_PARTS, "marks"):
        if option in call.options:
            fix = Hint(f"plot f(x) for x in -2..2 {option}")
            raise call.wrong("type", f"plot: {option} is for functions over a range", fix)
    if "log" in call.options and len(call.values) == 1:
        fixes = [] if "logy" in call.options else [f"plot {call.operand(0).span.text} logy"]
        message = "plot: the axis of a vector is its index, which begins at 0: it cannot be logarithmic"
        raise call.wrong("domain", message, *fixes)


def functions(session: Session, call: Call, studies: Sequence[Study] = (), measured: Any = None) -> Plot:
    """The curves of functions over a range; that of a single one with its derivative, and the marks of studies.

    Nothing else changes: names, gradients and random numbers are as before. Raises the error of a function that has
    no value anywhere. `measured`: the units of the range and of the functions, where these give numbers already.
    """
    if measured is None:
        call, (x,), y = in_numbers(call, ("low", "high"))
    else:
        x, y = measured
    low, high = ends(call, "low", "high", x, "log" in call.options)
    shape = _shape(call)
    (name,) = call.values[0].definition.parameters
    with aside(session):
        tracks = [Track(session, closure, low, high, shape.log) for closure in call.values]
        if "marks" in call.options:
            studies = [studied(closure, low, high) for closure in call.values]
    curves, windows = [], []
    if shape.value:
        styled = zip(tracks, cycle(LINES), strict=False)
        curves += [Curve(y.named(track.name), *track.line(0), style) for track, style in styled]
        windows += [track.window for track in tracks]
    if shape.derivative:
        styles = cycle(LINES) if len(tracks) > 1 or not shape.value else cycle(LINES[1:])
        for track, style in zip(tracks, styles, strict=False):
            slope = y.named(f"d/d{name} {track.name}", x)
            curves.append(Curve(slope, *track.line(1), style, shape.twin))
            windows += [track.slopes_window] if shape.value and not shape.twin else []
        if not shape.value:
            windows = [track.slopes_window_alone(shape.log[1]) for track in tracks]
    curves += _marks(studies) if shape.value else []
    window = min(low for low, _ in windows), max(high for _, high in windows)
    right = tracks[0].slopes_window_alone(False) if shape.twin else None
    return Plot(tuple(curves), x.named(name), window, log=shape.log, right=right)


def studied(closure: Any, low: float, high: float) -> Study:
    """What a function of one number does. Raises AgradError where that cannot be found."""
    found: Study = study_of(lambda x: as_array(closure(x)), low, high)
    return found


def _marks(studies: Sequence[Study]) -> list[Curve]:
    """The zeros and the extrema as points, in the legend with their coordinates where these are few."""
    curves = []
    for what, kinds in (("zeros", {"zero"}), ("extrema", {"maximum", "minimum"})):
        places = sorted(place for study in studies for place in study.places if kinds & {*place.kinds})
        xs, ys = [place.x for place in places], [place.value for place in places]
        pairs = [[format_number(one, 4) for one in pair] for pair in zip(xs, ys, strict=True)]
        texts = [f"({x}, {y})" if what == "extrema" else x for x, y in pairs] if len(places) <= _FEW else []
        curves += [Curve(f"{what} {', '.join(texts)}".rstrip(), xs, ys, "points")] if places else []
    return curves


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


def in_numbers(call: Call, *ranges: Sequence[str]) -> tuple[Call, list[Scale], Scale]:
    """A command over ranges as one of plain numbers, with the units of each range, and that of the functions."""
    axes, up, options = [Scale() for _ in ranges], Scale(), dict(call.options)
    for axis, words in zip(axes, ranges, strict=True):
        for word in [*words, *words]:  # where a range begins at 0, its end tells the unit
            options[word] = axis.numbers(as_array(call.options[word]))

    def run(called: Closure, *xs: Any) -> Any:
        return up.numbers(as_array(called(*[axis.of(x) for axis, x in zip(axes, xs, strict=True)])))

    def measured(one: Any) -> Any:
        is_function = isinstance(one, Closure)
        return Closure(one.definition, one.defaults, one.machine, one.around, partial(run, one)) if is_function else one

    return Call(call.node, [*map(measured, call.values)], options, call.names, call.span), axes, up


def ends(call: Call, start: str, end: str, axis: Scale, log: bool = False) -> tuple[float, float]:
    """The ends of a range. Raises AgradError if it is not one, or, with `log`, does not begin above 0."""
    low, high = _end(call, start), _end(call, end)
    first, last = call.option(start), call.option(end)
    assert first is not None
    assert last is not None
    place = Span(first.span.source, first.span.start, last.span.end)
    begin, stop = axis.told(low), axis.told(high)
    if not math.isfinite(high - low):
        raise wrong("domain", f"the range {begin}..{stop} has no finite length", place)
    if not low < high:
        fix = Hint(f"{stop}..{begin}" if high < low else f"{begin}..{axis.told(low + 1)}")
        raise wrong("domain", f"a range must increase, and {begin}..{stop} does not", place, fix)
    if log and low <= 0:
        fixes = [corrected(place, f"{axis.told(high / 1000)}..{stop}")] if high > 0 else []
        raise wrong("domain", f"a logarithmic axis begins above 0, and {begin}..{stop} does not", place, *fixes)
    return low, high


def _end(call: Call, option: str) -> float:
    value = call.options[option]
    if (number := number_in(value)) is not None:
        return number
    message = f"the ends of a range must be numbers, and this is {describe_value(value)}"
    raise AgradError("type", message, labels=call.labels(option))


def _data(call: Call) -> Plot:
    """A vector over its index; or points, with lines over them; or the ellipse around two uncertain numbers."""
    pair = [as_array(value) for value in call.values]
    if len(pair) == 2 and all(getattr(x, "shape", None) == () and uncertainty(x) is not None for x in pair):
        both = joint(pair, [call.operand(place).span.text for place in range(2)], _COVERAGE)
        axis, label = both.names
        ellipse = Curve(f"{100 * _COVERAGE:g} % of both", *[way.tolist() for way in both.ellipse()])
        return Plot(
            (Curve(label, both.values[:1], both.values[1:], "points", u=both.u[1:]), ellipse), axis, label=label
        )
    up = Scale()
    columns = [_columns(call, place, up if place or len(call.values) == 1 else Scale()) for place in range(len(pair))]
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
    value = up.numbers(pair[1]) if len(points) == 1 else None
    u: Any = uncertainty(value) if isinstance(value, Tensor) else None
    found = [Curve(name, x, y, "points", u=() if u is None else u.tolist()) for name, y in points]
    over = zip([curve for curves in lines for curve in curves], cycle(LINES), strict=False)
    found += [Curve(name, *ordered(x, y), style) for (name, y), style in over]
    return Plot(tuple(found), axis)


def _columns(call: Call, place: int, axis: Scale) -> list[tuple[str, list[float]]]:
    """The vector that an operand is, or the columns of a matrix, each with a name, in its unit or that of an axis."""
    span, value = call.operand(place).span, as_array(call.values[place])
    name = span.text
    if isinstance(value, range):
        return [(name, [*map(float, value)])]
    if not isinstance(value, Tensor) or not value.shape:
        raise _no_vector(name, value, span)
    if len(value.shape) == 1:
        numbers = axis.numbers(value).tolist()
        return [(axis.named(name), numbers)]
    if len(value.shape) > 2 or value.shape[1] > COLUMNS:
        message = f"{name} has shape {format_shape(value.shape)}: a plot shows vectors, or up to {COLUMNS} columns"
        fixes = [f"plot {name}[:, 0]"] if len(value.shape) == 2 else []
        raise wrong("shape", message, span, *fixes)
    given = call.values[place]
    titles = given.columns if is_table(given) else [f"{name}[:, {column}]" for column in range(value.shape[1])]
    unit = unit_of(value)
    axes = [Scale() if unit and unit.entries else axis for _ in titles]
    columns = [axis.numbers(value[:, column]).tolist() for column, axis in enumerate(axes)]
    return [(axis.named(title), column) for axis, title, column in zip(axes, titles, columns, strict=True)]


def _no_vector(name: str, value: Any, span: Span) -> AgradError:
    """The error for an operand that is a number, a function or not a value."""
    if isinstance(value, Closure):
        call = value.usage
        parameter = call.partition("(")[2].rstrip(")").partition(",")[0] or "x"
        fixes, what = [f"plot {name}({parameter}) for {parameter} in -2..2"], "a function"
    elif callable(value):
        ends = re.match(rf".*\bplot[ \t]*\({name}, ?([^,()]+), ?([^,()]+)\)", span.source.line_at(span.start))
        low, high = ends.groups() if ends else ("-2", "2")
        fixes, what = [f"plot {name}(x) for x in {low}..{high}"], "a function"
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
    axis = Scale()
    entries = [_entries(call, place, axis) for place in range(len(call.values))]
    finite = [array[np.isfinite(array)] for array in entries]
    gone = sum(map(len, entries)) - sum(map(len, finite))
    if not sum(map(len, finite)):
        raise call.wrong("domain", "histogram: there is no finite number to count")
    ends = _ends(call, np.concatenate(finite), axis)
    curves = []
    for place, array in enumerate(finite):
        counts = np.histogram(array, ends)[0]
        gone += len(array) - int(counts.sum())
        name = call.operand(place).span.text
        curves.append(_outline(name, ends.tolist(), counts.tolist(), LINES[place % len(LINES)]))
    if gone:
        session.emit(call.note(f"{_are(gone, 'entry')} not counted: not finite, or outside of all intervals"))
    most = max(max(curve.y) for curve in curves)
    name = axis.named(curves[0].name if len(curves) == 1 else "value")
    show(session, call, Plot(tuple(curves), name, (0.0, most or 1.0), label="count"))


def _outline(name: str, ends: list[float], counts: list[float], style: Any) -> Curve:
    """The outline of bars."""
    x = [end for low, high in pairwise(ends) for end in (low, low, high, high)]
    return Curve(name, x, [y for count in counts for y in (0.0, float(count), float(count), 0.0)], style)


def _entries(call: Call, place: int, axis: Scale) -> Any:
    """The entries of an operand as a vector. Raises AgradError of kind `type`."""
    value, span = as_array(call.values[place]), call.operand(place).span
    if isinstance(value, Tensor) and value.shape:
        return np.asarray(axis.numbers(value).value).reshape(-1)
    what = "one number" if isinstance(value, float | Tensor) else describe_value(value)
    message = f"{span.text} is {what}: a histogram counts the entries of an array"
    raise wrong("type", message, span, Hint("histogram randn(1000)"))


def _ends(call: Call, entries: Any, axis: Scale) -> Any:
    """The ends of the intervals. Raises AgradError."""
    given = call.options.get("bins")
    if given is None:
        ends = np.histogram_bin_edges(entries, "auto")
        return ends if len(ends) <= _USUAL + 1 else np.histogram_bin_edges(entries, _USUAL)
    value = as_array(given)
    if isinstance(value, Tensor) and len(value.shape) == 1 and value.size > 1:
        ends = np.asarray(axis.numbers(value).value)
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


# The picture of a fit: the data, the curve with its confidence band, and the residuals below.

_PLACES = 200  # of the curve
_COVERAGE = 0.95  # of the band


def _places(x: Array, log: bool) -> Array:
    """Where the curve over data at `x` is computed, in steps that are equal on the axis."""
    above = x[x > 0]
    if log and above.size:
        return np.geomspace(np.min(above), np.max(above), _PLACES)
    return np.linspace(np.min(x), np.max(x), _PLACES)


class Drawn(NamedTuple):
    """A set of data in the picture of a fit: its points, and the curve of a model, with half the width of its band."""

    name: str
    model: str
    axis: str
    x: Array
    y: Array
    u: Sequence[float]
    residuals: Array
    places: Array
    curve: Array
    half: Array
    unit: str = ""  # of the values, in brackets


def of_sets(sets: Sequence[Drawn]) -> Plot:
    """The picture of sets of data."""
    curves, below, gap = list[Curve](), list[Curve](), [np.nan]
    for one in sets:
        of = f" of {one.name}" if len(sets) > 1 else ""
        band = np.concatenate([one.curve + one.half, gap, one.curve - one.half]).tolist()
        places = one.places.tolist()
        curves += [
            Curve(f"{one.name}{one.unit}", one.x.tolist(), one.y.tolist(), "points", u=one.u),
            Curve(one.model, places, one.curve.tolist()),
            Curve(f"{100 * _COVERAGE:g} % confidence{of}", [*places, *gap, *places], band, "dashes"),
        ]
        below.append(Curve(f"residuals{of}{one.unit}", one.x.tolist(), one.residuals.tolist(), "points", u=one.u))
    axes = dict.fromkeys(one.axis if len(sets) == 1 else one.axis.partition("[")[0] for one in sets)
    axis = ", ".join(axes)
    return Plot(tuple(curves), axis, below=Plot(tuple(below), axis))


def picture(fit: LastFit, log: bool = False) -> Plot:
    """Each set of data and its curve over the vector that its model uses, or over the index if there are several or
    none. What is known of parameters is not drawn beside other sets.

    With `log`, the places of the curve are as dense as a logarithmic axis shows them.
    """
    sets = [_set(one, log) for one in (fit, *fit.others)]
    return of_sets([one for one in sets if len(one.x) > 1] or sets[:1])


def _set(fit: LastFit, log: bool) -> Drawn:
    value = fit.at(len(fit.y)).value
    used = {name: as_array(one) for name, one in fit.used.items()}
    vectors: dict[str, Any] = {name: x for name, x in used.items() if isinstance(x, Tensor) and x.shape == fit.y.shape}
    axis, along = next(iter(vectors.items())) if len(vectors) == 1 else ("index", tensor(np.arange(float(len(fit.y)))))
    of = unit_of(along)
    x: Any = in_unit(along.value, of)
    order = np.argsort(x, kind="stable")

    def at(places: Any) -> Any:
        return fit.at(len(places), **{axis: of_unit(places, of)})

    dense, curve = x[order], fit.at(len(fit.y))[order]
    with suppress(AgradError):  # a point of most models is the same whatever the others are
        some, places = dense[::2], _places(x, log)
        if np.allclose(at(some).value, curve.value[::2], rtol=1e-9, atol=0):
            dense, curve = places, at(places)
    half = coverage_factor(_COVERAGE, fit.dof) * np.asarray(uncertainty(curve))
    u = () if fit.u is None else np.broadcast_to(fit.u, fit.y.shape).tolist()
    at_x, at_y = (f" ({one.text})" if one is not None else "" for one in (of, fit.unit))
    points = (x, fit.y, u, fit.y - value)
    return Drawn(fit.name, fit.model.__name__, axis + at_x, *points, dense, curve.value, half, at_y)
