"""The command that draws curves."""

from __future__ import annotations

import math
from itertools import cycle
from typing import TYPE_CHECKING, Any

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label, Note
from agrad.engine.text import printable
from agrad.engine.values import format_number, format_shape
from agrad.grammar.commands.operands import FILE
from agrad.grammar.commands.registry import Call, Operands, Option, command
from agrad.grammar.diagnostics import Span
from agrad.grammar.results import LINES, Curve, Noted, Plot, Printed
from agrad.grammar.runtime.builtins import Closure
from agrad.grammar.runtime.operations import as_array, describe_value
from agrad.grammar.syntax.ast import Name

if TYPE_CHECKING:
    from agrad.grammar.commands.host import Session

COLUMNS = 6  # of a matrix, at most: more curves cannot be told apart


@command(
    "plot",
    'plot f(x) for x in -2..2 | plot loss | plot x, y, w*x + b | plot fit [to "f.svg"]',
    "Draws a function with its derivative, or several functions, over a range; a vector, or the columns of a matrix, "
    "over its index; points, and lines over them; the latest fit: data, curve and 95 % confidence band, and the "
    "residuals below. `to`: into a file, .svg, .png or .pdf, with the extra `plot`. "
    "Nothing else changes: names, gradients and random numbers are as before.",
    "plot sin(x) for x in 0..2*pi",
    changes="nothing",
    forms='plot f(x) for x in -2..2, plot loss, plot x, y, w*x + b, or plot fit; [to "f.svg"]',
    operands=Operands(expression=True),
    options={"to": Option("into a file: .svg, .png or .pdf", FILE, writes=True)},
)
def _plot(session: Session, call: Call) -> None:
    path, place = call.options.get("to"), call.option("to")
    if path is not None:
        from agrad.grammar.commands.plot.files import form_of  # here, as below: most plots are drawn in the terminal

        form_of(path, place.span if place else call.span)
    if "fit" in call.options and "fit" in call.names:  # a name of the user
        node = call.node.changed(operands=(Name("fit", call.span),))
        call = Call(node, [call.names["fit"]], call.options, call.names, call.span)
    plot = _functions(session, call) if "low" in call.options else _data(call) if call.values else _fit(session, call)
    if not any(map(_has_point, plot.curves)):
        why = "no value is finite" if len(call.values) == 1 else "no point has two finite coordinates"
        session.emit(Noted(Note(f"there is no point to draw: {why}", labels=[Label(call.span)])))
    if path is None:
        session.emit(plot)
        return
    from agrad.grammar.commands.plot.files import save

    save(plot, path)
    session.emit(Printed(f"wrote {printable(path)}"))


def _fit(session: Session, call: Call) -> Plot:
    """The latest fit."""
    if session.fit is None:
        fixes = [Hint("fit y ~ a*x over a   comes first")]
        raise AgradError("name", "plot fit: there is no fit yet", labels=[Label(call.span)], fixes=fixes)
    from agrad.grammar.commands.plot.fitted import picture

    return picture(session.fit)


def _functions(session: Session, call: Call) -> Plot:
    """The curves of functions over a range."""
    from agrad.grammar.commands.plot.sampling import functions  # here, since few sessions plot anything

    low, high = (_end(call, name) for name in ("low", "high"))
    start, end = format_number(low), format_number(high)
    first, last = call.option("low"), call.option("high")
    assert first is not None
    assert last is not None
    labels = [Label(Span(first.span.source, first.span.start, last.span.end))]
    if not math.isfinite(high - low):
        raise AgradError("domain", f"the range {start}..{end} has no finite length", labels=labels)
    if not low < high:
        fixes = [Hint(f"{end}..{start}")] if high < low else [Hint(f"{start}..{format_number(low + 1)}")]
        raise AgradError("domain", f"a range must increase, and {start}..{end} does not", labels=labels, fixes=fixes)
    scopes = session.machine.frames[-1].scopes
    closures = [Closure(definition, (), session.machine, scopes) for definition in call.values]
    (name,) = call.values[0].parameters
    return functions(session, closures, name, low, high)


def _has_point(curve: Curve) -> bool:
    """Whether a curve has a point at a place that can be drawn."""
    return any(math.isfinite(x) and math.isfinite(y) for x, y in zip(curve.x, curve.y, strict=True))


def _end(call: Call, option: str) -> float:
    value, place = call.options[option], call.option(option)
    if isinstance(value, Tensor) and value.size == 1:
        return value.item()
    if isinstance(value, float):
        return value
    labels = [Label(place.span)] if place else []
    raise AgradError("type", f"the ends of a range must be numbers, and this is {describe_value(value)}", labels=labels)


def _data(call: Call) -> Plot:
    """A vector over its index; or points, with lines over them."""
    from agrad.grammar.commands.plot.sampling import ordered  # here, as above

    columns = [_columns(call, place) for place in range(len(call.values))]
    if len(columns) == 1:
        (curves,) = columns
        styled = zip(curves, cycle(LINES), strict=False)
        return Plot(tuple(Curve(name, [*map(float, range(len(y)))], y, style) for (name, y), style in styled), "index")
    (axis, x), *more = columns[0]
    if more:
        span = call.operand(0).span
        raise AgradError("shape", f"{span.text} is a matrix: points have one x each", labels=[Label(span)])
    points, *lines = columns[1:]
    for place, curves in enumerate(columns[1:], 1):
        _fits(call, place, len(x), len(curves[0][1]))
    found = [Curve(name, x, y, "points") for name, y in points]
    over = zip([curve for curves in lines for curve in curves], cycle(LINES), strict=False)
    found += [Curve(name, *ordered(x, y), style) for (name, y), style in over]
    return Plot(tuple(found), axis)


def _fits(call: Call, place: int, wanted: int, length: int) -> None:
    if length != wanted:
        first, span = call.operand(0).span.text, call.operand(place).span
        message = f"{first} has {wanted} entries and {span.text} has {length}: points need as many of each"
        raise AgradError("shape", message, labels=[Label(span)])


def _columns(call: Call, place: int) -> list[tuple[str, list[float]]]:
    """The vector that an operand is, or the columns of a matrix, each with a name."""
    span, value = call.operand(place).span, as_array(call.values[place])
    name = " ".join(span.text.split())
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
        raise AgradError("shape", message, labels=[Label(span)], fixes=fixes)
    return [(f"{name}[:, {column}]", array[:, column].tolist()) for column in range(value.shape[1])]


def _no_vector(name: str, value: Any, span: Span) -> AgradError:
    """The error for an operand that is a number, a function or not a value."""
    if isinstance(value, Closure):
        call = value.usage
        parameter = call.partition("(")[2].rstrip(")").partition(",")[0] or "x"
        fixes, what = [f"plot {name}({parameter}) for {parameter} in -2..2"], "a function"
    elif callable(value):
        fixes, what = [f"plot {name}(x) for x in -2..2"], "a function"
    else:
        fixes = [Hint("plot f(x) for x in -2..2, or plot losses   where losses is a vector")]
        what = "one number" if isinstance(value, float | Tensor) else describe_value(value)
    message = f"{name} is {what}: a plot shows vectors, or functions over a range"
    return AgradError("type", message, labels=[Label(span)], fixes=fixes)
