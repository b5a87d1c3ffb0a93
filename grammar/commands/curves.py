"""Commands about the curve of a function of one number: `study`, `area`, `tangent`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any

from agrad.engine.autodiff.transforms import derivatives
from agrad.engine.core.arguments import number_of
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.solvers.function import argument_names
from agrad.engine.ops.solvers.functions import study_of, zeros_of
from agrad.engine.units.quantity import Scale
from agrad.grammar.commands.operands import EXPRESSION, VALUE
from agrad.grammar.commands.plot.command import DRAWN, ends, functions, in_numbers, path_of, show, studied
from agrad.grammar.commands.plot.sampling import aside, number_in
from agrad.grammar.commands.registry import Call, Session, command
from agrad.grammar.results import Printed, Shown, Studied
from agrad.grammar.runtime.builtins import CONSTANTS, Closure, Definition, meaning
from agrad.grammar.runtime.operations import as_array
from agrad.grammar.syntax.ast import Name, loads
from agrad.grammar.syntax.errors.messages import corrected


@command(operands=EXPRESSION, options={"to": DRAWN["to"], "title": DRAWN["title"]})
def _study(session: Session, call: Call) -> None:
    """study f(x) for x in -4..4 [title "text"] [to "f.svg"]

    What a function does in an interval: its zeros, extrema, inflections, poles, jumps, its ends, and where it rises or
    falls, with the picture. Each number is a zero of the function or of an exact derivative; the last lines tell what
    was searched for it.

    title: a title above the picture
    to: the picture into a file: .svg, .png or .pdf
    as typed: study f(x) for x in -4..4
    example: study x^3 - 3*x for x in -3..3
    """
    path_of(call)
    call, (x,), y = in_numbers(call, ("low", "high"))
    low, high = ends(call, "low", "high", x)
    if len(call.values) != 1:
        raise call.wrong("arity", f"study: it is of one function, and here are {len(call.values)}")
    (closure,) = call.values
    names: tuple[str] = closure.definition.parameters
    require_numbers(session, call, (low, high))
    with aside(session):
        found = studied(closure, low, high)
    texts = x.text(), y.text(), y.text(x)
    found = found._replace(units=texts) if any(texts) else found
    session.emit(Studied(found, "text", (*names, closure.__name__)))
    drawn = Call(call.node, call.values, {**call.options, "value": None}, call.names, call.span)
    show(session, call, functions(session, drawn, [found], (x, y)))


@command(operands=EXPRESSION)
def _area(session: Session, call: Call) -> None:
    """area f(x), g(x) for x in 0..2

    The area between two curves, or between one and the axis: the integral of |f - g|, and where the curves cross. It is
    the last answer, `ans`, with exact derivatives by what the functions and the ends use.

    example: area x, x^2 for x in 0..2
    """
    measured, (axis,), _ = in_numbers(call, ("low", "high"))
    low, high = ends(measured, "low", "high", axis)
    if len(call.values) > 2:
        message = f"area: it is between two curves, or one and the axis, and here are {len(call.values)}"
        raise call.wrong("arity", message)

    require_numbers(session, measured, (low, high))

    def difference(x: Any, closures: Sequence[Closure] = call.values) -> Any:
        above, *below = (as_array(closure(x)) for closure in closures)
        return above - below[0] if below else above

    gap = partial(difference, closures=measured.values)

    start, end = call.options["low"], call.options["high"]
    integral, size = FUNCTIONS["integral"].call, FUNCTIONS["abs"].call
    try:
        found, zeros = zeros_of(gap, (low, high))
        places, flat = zeros.places, [(low, high)] * zeros.is_all
        is_cut = bool(zeros.broken)  # it changes its sign at a jump
    except AgradError:  # it is 0 all the way somewhere, or has no value
        curve = study_of(gap, low, high)
        flat = [(a, b) for a, b in curve.constant if not number_in(gap((a + b) / 2))]
        places, is_cut = [place.x for place in curve.places if "zero" in place.kinds], True
    if is_cut:
        area = integral(lambda x: size(difference(x)), start, end)
    else:
        each = zip(found, places, zeros.repeated, strict=True)
        inside = [axis.of(place if is_repeated else x) for x, place, is_repeated in each if low < place < high]
        area = sum(size(integral(difference, *pair)) for pair in pairwise([start, *inside, end]))
    met = [(x, x) for x in places if not any(a <= x <= b for a, b in flat)]
    said = (
        "..".join(axis.told(x, session.settings.precision) for x in sorted({*one})) for one in sorted([*flat, *met])
    )
    crossings = ", ".join(said)
    what = "the curves cross, or touch," if len(call.values) > 1 else "the curve meets the axis"
    (name,) = call.values[0].definition.parameters
    session.emit(Printed(f"{what} at {name} = {crossings}" if crossings else f"{what} nowhere in between"))
    session.last = (area,)
    session.emit(Shown(area))


def require_numbers(session: Session, call: Call, ends: tuple[float, float]) -> None:
    """Raise AgradError where the value of what is drawn is a function, as in `area f for x in 0..1`."""
    for closure in call.values:
        with aside(session), suppress(AgradError):
            if callable(closure(sum(ends) / 2)):
                text, (name,) = closure.__name__, closure.definition.parameters
                message = f"{text} is a function: a curve has one number at each point"
                break
    else:
        return
    raise call.wrong(
        "shape", message, corrected(call.span, call.span.text.replace(f" {text} ", f" {text}({name}) ", 1))
    )


@command(operands=EXPRESSION, options={"at": VALUE})
def _tangent(session: Session, call: Call) -> None:
    """tangent f at 2 | tangent x^2 at 2 | tangent a*x^2 at x = 2

    The line that touches the curve of a function at a place: its formula, and the value and the slope there.

    at: the place, behind the name that varies if there are several
    as typed: tangent f at 2, or tangent x^2 at 2
    example: tangent x^2 at 2
    """
    x, y, settings = Scale(), Scale(), session.settings
    place = number_of("tangent", "the place", x.numbers(as_array(call.options["at"])))
    measured, name = _function(session, call)
    text, what = call.operand(0).span.text, x.told(place, settings.precision)

    def function(number: Any) -> Any:
        return y.numbers(measured(x.of(number)))

    step = 1e-5 * max(abs(place), 1.0)
    with aside(session):
        value, slope = (number_in(one) or 0.0 for one in derivatives("tangent", function, place, 1))
        if not math.isfinite(value):
            raise call.wrong("domain", f"tangent: {text} has no finite value at {name} = {what}")
        near, nearer = (_bend(function, place, size) for size in (step, step / 1000))
    if not math.isfinite(slope) or nearer > max(0.5 * near, 1e-6 * abs(slope)) or nearer != nearer:
        raise call.wrong("domain", f"tangent: {text} has no slope at {name} = {what}")
    meets = value - slope * place
    steep, rest = y.told(abs(slope), settings.precision, x), y.told(abs(meets), settings.precision)
    line = "-" * (slope < 0) + (name if steep == "1" else f"{steep}*{name}")
    line += f" {'-' if meets < 0 else '+'} {rest}" if meets else ""
    session.emit(Printed(f"y = {line if slope else y.told(value, settings.precision)}"))
    there = y.told(value, settings.precision), y.told(slope, settings.precision, x)
    session.emit(Printed("touches at {} = {}, where the value is {} and the slope {}".format(name, what, *there)))


def _bend(function: Callable[[Any], Any], place: float, size: float) -> float:
    """How much the slope changes across a place."""
    before, after = (number_in(derivatives("tangent", function, place + side * size, 1)[1]) for side in (-1, 1))
    return abs((after or 0.0) - (before or 0.0))


def _function(session: Session, call: Call) -> tuple[Callable[[Any], Any], str]:
    """The function of one number that is typed: with its variable, as a name, or with one name that varies."""
    function: Closure = call.values[0]
    definition, text = function.definition, call.operand(0).span.text
    if definition.parameters:  # of `tangent f at x = 2` the value is a function
        return (lambda x: as_array(y(x) if callable(y := function(x)) else y)), definition.parameters[0]
    scopes = call.names, session.names
    names = [name for name in dict.fromkeys(one.id for one in loads(definition.tree)) if name not in CONSTANTS]
    free = [name for name in names if meaning(name, scopes, None) is None]
    if free and isinstance(definition.tree, Name):  # a function that is not there, rather than the line y = x
        problem = session.machine.unknown(free[0], call.operand(0).span)
        problem.fixes = [Hint(f"{free[0]}(x) = x^2   defines it")]
        raise problem
    if not free:
        value = function()
        if callable(value):
            return (lambda x: as_array(value(x))), (argument_names(value) or ["x"])[0]
        free = [name for name in names if not callable(meaning(name, scopes, None))]
    if len(free) != 1:
        place = call.option("at")
        fixes = [f"tangent {text} at {name} = {place.span.text}" for name in free] if place else []
        message = f"tangent: {text} is a function of {'one of several names' if free else 'no name'}"
        raise AgradError("name", message, fixes=fixes)
    made = Definition(definition.name, (free[0],), (), definition.tree, definition.span)
    closure = Closure(made, (), session.machine, function.scopes)
    return (lambda x: as_array(closure(x))), free[0]
