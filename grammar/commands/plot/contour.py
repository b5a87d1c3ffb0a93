"""The command that draws contour lines."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label
from agrad.engine.values import format_number, np
from agrad.grammar.commands.operands import VALUE
from agrad.grammar.commands.plot.command import DRAWN, ends, note_constants, path_of, show
from agrad.grammar.commands.registry import Call, Operands, Option, command
from agrad.grammar.results import LINES, Curve, Plot
from agrad.grammar.runtime.operations import as_array, describe_value
from agrad.grammar.syntax.ast import Tuple

if TYPE_CHECKING:
    from agrad.grammar.commands.host import Session

_USUAL, _MOST = 7, 20  # levels


def _is_scalar(value: object) -> bool:
    return isinstance(value, Tensor) and value.size == 1 and value.requires_grad and value.is_leaf


@command(
    "contour",
    'contour f(x, y) for x in -2..2, y in 0..1 [levels 7 | levels [1, 2, 5]] [path w b] [title "text"] '
    '[labels "x", "y"] [to "f.svg"]',
    "Lines of equal value of a function of two numbers. `levels`: how many lines, or the values; by default round "
    "numbers, or, where most values are close to one end, those below which equal parts of the picture are. `path`: "
    "the values that two numbers had over the steps of this session, which are run once more beside it; what they read "
    "from files is read again. Nothing else changes.",
    "contour x**2 + 3*y**2 for x in -2..2, y in -1..1",
    changes="nothing",
    forms="contour f(x, y) for x in -2..2, y in 0..1 [path w b]",
    operands=VALUE,
    options={
        "levels": Option("how many lines, or their values", VALUE),
        "path": Option("the values of two numbers over the steps of this session", Operands(_is_scalar, others=True)),
        **DRAWN,
    },
    needs="log",
)
def _contour(session: Session, call: Call) -> None:
    from agrad.grammar.commands.plot.levels import chosen, grid, lines  # here, since few sessions draw any

    path_of(call)
    across, up = ends(call, "low", "high"), ends(call, "bottom", "top")
    (closure,) = call.values
    x, y = closure.definition.parameters
    note_constants(session, call, (x, y))
    field = grid(session, closure, across, up)
    count, values = _levels(call)
    levels = values or chosen(field, count)
    curves = [_path(session, call)] if "path" in call.options else []
    curves += [Curve("its end", path.x[-1:], path.y[-1:], "points") for path in curves]
    styles = cycle(LINES[1:] if curves else LINES)  # of the lines that are not dotted, the path is the only one
    for level, style in zip(levels, styles, strict=False):
        curves.append(Curve(format_number(level, 6), *lines(level, field), style))
    low, high = (format_number(float(end)) for end in (np.nanmin(field.z), np.nanmax(field.z)))
    empty = f"the value is {low} everywhere" if low == high else f"the values are from {low} to {high}"
    show(session, call, Plot(tuple(curves), x, up, title=closure.__name__, label=y, across=across), empty)


def _levels(call: Call) -> tuple[int, list[float]]:
    """How many levels, or their values. Raises AgradError of kind `domain`."""
    given, place = call.options.get("levels"), call.option("levels")
    if given is None or place is None:
        return _USUAL, []
    value = as_array(given)
    if isinstance(value, Tensor) and len(value.shape) == 1 and 1 <= value.size <= _MOST:
        return 0, sorted(set(value.tolist()))
    count = value.item() if isinstance(value, Tensor) and value.size == 1 else value
    if isinstance(count, bool) or not isinstance(count, float | int) or not (1 <= count <= _MOST) or count % 1:
        shown = format_number(float(count)) if isinstance(count, float | int) else describe_value(value)
        message = f"`levels` is a whole number from 1 to {_MOST}, or so many values, not {shown}"
        raise AgradError("domain", message, labels=[Label(place.span)], fixes=[Hint("levels 7, or levels [1, 2, 5]")])
    return int(count), []


def _path(session: Session, call: Call) -> Curve:
    """The values of two numbers over the steps of a session."""
    from agrad.grammar.commands.plot.path import steps

    place = call.option("path")
    assert isinstance(place, Tuple)
    names = place.items
    for name, value in zip(names, call.options["path"], strict=True):
        if not (isinstance(value, float) or (isinstance(value, Tensor) and value.size == 1)):
            what = describe_value(value)
            message = f"a path is that of two numbers, and {name.span.text} is {what}"
            fixes = [Hint(f"path {name.span.text}[0] {name.span.text}[1]")] if isinstance(value, Tensor) else []
            raise AgradError("type", message, labels=[Label(name.span)], fixes=fixes)
    x, y = steps(session, names)
    return Curve(f"path of {names[0].span.text}, {names[1].span.text} ({len(x)} points)", x, y)
