"""The command that counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label, Note
from agrad.engine.values import format_number
from agrad.grammar.commands.operands import VALUE
from agrad.grammar.commands.plot.command import DRAWN, path_of, show
from agrad.grammar.commands.registry import Call, Option, command
from agrad.grammar.results import LINES, Curve, Noted, Plot
from agrad.grammar.runtime.operations import as_array, describe_value

if TYPE_CHECKING:
    from agrad.grammar.commands.host import Session

_MOST = 1000  # bins
_USUAL = 60  # bins, unless more are asked for


@command(
    "histogram",
    'histogram x [y] [bins 20 | bins [0, 1, 2]] [title "text"] [labels "x", "y"] [to "f.svg"]',
    "How many entries of an array are in each of some intervals of equal length; of several arrays, over the same "
    "intervals. `bins`: how many intervals, or their ends. What equals an end between two counts above it, the last "
    "end below it.",
    "histogram [1, 2, 2, 3, 3, 3] bins 3",
    changes="nothing",
    forms="histogram x, or histogram x, y bins 20",
    operands=VALUE,
    options={"bins": Option("how many intervals, or their ends", VALUE), **DRAWN},
)
def _histogram(session: Session, call: Call) -> None:
    from agrad.engine.values import np  # here, as arrays are where they are needed

    path_of(call)
    entries = [_entries(call, place) for place in range(len(call.values))]
    finite = [array[np.isfinite(array)] for array in entries]
    gone = sum(map(len, entries)) - sum(map(len, finite))
    if not sum(map(len, finite)):
        raise AgradError("domain", "histogram: there is no finite number to count", labels=[Label(call.span)])
    ends = _ends(call, np.concatenate(finite))
    curves = []
    for place, array in enumerate(finite):
        counts = np.histogram(array, ends)[0]
        gone += len(array) - int(counts.sum())
        name = " ".join(call.operand(place).span.text.split())
        curves.append(_outline(name, ends.tolist(), counts.tolist(), LINES[place % len(LINES)]))
    if gone:
        numbers = "1 entry is" if gone == 1 else f"{gone} entries are"
        session.emit(
            Noted(Note(f"{numbers} not counted: not finite, or outside of all intervals", labels=[Label(call.span)]))
        )
    most = max(max(curve.y) for curve in curves)
    axis = curves[0].name if len(curves) == 1 else "value"
    show(session, call, Plot(tuple(curves), axis, (0.0, most or 1.0), label="count"))


def _outline(name: str, ends: list[float], counts: list[float], style: Any) -> Curve:
    """The outline of bars."""
    x, y = [], []
    for low, high, count in zip(ends, ends[1:], counts, strict=False):
        x += [low, low, high, high]
        y += [0.0, float(count), float(count), 0.0]
    return Curve(name, x, y, style)


def _entries(call: Call, place: int) -> Any:
    """The entries of an operand as a vector. Raises AgradError of kind `type`."""
    from agrad.engine.values import np

    value, span = as_array(call.values[place]), call.operand(place).span
    if isinstance(value, Tensor) and value.shape:
        return np.asarray(value.value).reshape(-1)
    what = "one number" if isinstance(value, float | Tensor) else describe_value(value)
    message = f"{span.text} is {what}: a histogram counts the entries of an array"
    raise AgradError("type", message, labels=[Label(span)], fixes=[Hint("histogram randn(1000)")])


def _ends(call: Call, entries: Any) -> Any:
    """The ends of the intervals. Raises AgradError."""
    from agrad.engine.values import np

    given, place = call.options.get("bins"), call.option("bins")
    labels = [Label(place.span)] if place is not None else []
    if given is None:
        ends = np.histogram_bin_edges(entries, "auto")
        return ends if len(ends) <= _USUAL + 1 else np.histogram_bin_edges(entries, _USUAL)
    value = as_array(given)
    if isinstance(value, Tensor) and len(value.shape) == 1 and value.size > 1:
        ends = np.asarray(value.value)
        if not (np.isfinite(ends).all() and (np.diff(ends) > 0).all()):
            raise AgradError("domain", "the ends of intervals must increase, and be finite", labels=labels)
        return ends
    count = value.item() if isinstance(value, Tensor) and value.size == 1 else value
    if isinstance(count, bool) or not isinstance(count, float | int) or not (1 <= count <= _MOST) or count % 1:
        shown = format_number(float(count)) if isinstance(count, float | int) else describe_value(value)
        message = f"`bins` is a whole number from 1 to {_MOST}, or the ends of intervals, not {shown}"
        raise AgradError("domain", message, labels=labels, fixes=[Hint("bins 20")])
    return np.histogram_bin_edges(entries, int(count))
