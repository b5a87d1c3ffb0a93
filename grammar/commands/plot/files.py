"""Plots as files, drawn by matplotlib: the extra `plot`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from os.path import splitext
from typing import Any

from agrad.engine.core.context import require_files
from agrad.engine.extras import look_of, matplotlib
from agrad.engine.values import format_number
from agrad.grammar.commands.registry import wrong
from agrad.grammar.diagnostics import Span, suggest
from agrad.grammar.files import replacing
from agrad.grammar.results import Curve, Plot, edges
from agrad.grammar.syntax.errors.messages import corrected

# What the endings of files stand for, and without the date of the file: the same plot is the same file.
FORMS: dict[str, dict[str, None]] = {".svg": {"Date": None}, ".png": {}, ".pdf": {"CreationDate": None}}
_SETTINGS = {"svg.hashsalt": "agrad", "text.parse_math": False, "axes.formatter.use_mathtext": False}
_WHAT = "a plot in a file"
_STYLES: dict[str, dict[str, Any]] = {
    "line": {},
    "dots": {"linestyle": ":", "linewidth": 2},
    "dashes": {"linestyle": "--"},
    "points": {"linestyle": "", "markersize": 4},
}
_MARKS = "osD^vP"  # of points


def form_of(path: str, place: Span) -> str:
    """What a file is to hold, by its ending. Raises AgradError of kind `file`, and `limit` without matplotlib."""
    require_files(f"cannot write {path}")
    ending = splitext(path)[1].lower()
    if ending not in FORMS:
        stem = splitext(path)[0] or "f"
        fixes = [corrected(place, f'"{stem}{form}"') for form in suggest(ending, FORMS) or [".svg"]]
        *others, last = FORMS
        message = f"a plot is written to a file that ends in {', '.join(others)} or {last}, and"
        raise wrong("file", f"{message} {path or 'an empty name'} does not", place, *fixes)
    matplotlib("figure", _WHAT)
    return ending


def save(plot: Plot, path: str) -> None:
    """Draw curves into a file, whole or not at all. Raises AgradError of kind `file`."""
    made = drawn(plot, splitext(path)[1].lower(), (8, 5))
    with replacing(path) as target:
        target.write(made)


def drawn(
    plot: Plot, form: str, size: tuple[float, float], dpi: float = 100, look: Mapping[str, Any] | None = None
) -> bytes:
    """Curves in the form of a file, `.svg`, say; the size is in inches, `look` has settings of matplotlib."""
    file = BytesIO()
    with look_of(_WHAT, _SETTINGS | dict(look or {})):
        figure = matplotlib("figure", _WHAT).Figure(size, dpi, layout="constrained")
        if plot.below is None:
            _draw(figure.subplots(), plot)
        else:
            above, below = figure.subplots(2, sharex=True, height_ratios=(3, 1))
            _draw(above, plot)
            _draw(below, plot.below)
            above.set_xlabel("")
        figure.savefig(file, format=form[1:], metadata=FORMS[form])
    return file.getvalue()


def _draw(axes: Any, plot: Plot) -> None:
    """Draw the curves of a plot into axes of matplotlib."""
    across = 0 if plot.log[0] else _exponent(x for curve in plot.curves for x in curve.x)
    shown = plot.window or (y for curve in plot.curves for y in curve.reach() if not curve.right)
    up = 0 if plot.log[1] else _exponent(shown)
    right = axes.twinx() if plot.right is not None else axes
    lines = []
    for number, (curve, mark) in enumerate(zip(plot.curves, plot.marks, strict=True)):
        into, unit, colour = (right, 0, f"C{number}") if curve.right else (axes, up, f"C{number}")
        x, y = _shifted(curve.x, across), _shifted(curve.y, unit)
        lines += into.plot(x, y, color=colour, **_STYLES[curve.style] | _marked(curve, mark))
        if curve.u:
            into.errorbar(x, y, _shifted(curve.u, unit), fmt="none", ecolor=colour, elinewidth=1, capsize=2)
        if curve.style != "points":
            alone = _alone(y)
            into.plot([x[place] for place in alone], [y[place] for place in alone], "o", color=colour, markersize=4)
    axes.set_xlabel(plot.axis)
    axes.set_ylabel(plot.label)
    axes.set_title(plot.title)
    _set_scales(axes, plot.log, (across, up))
    if plot.window is not None:
        _show(axes, _shifted(plot.window, up), plot.log[1])
    if plot.across is not None:
        axes.set_xlim(*_shifted(plot.across, across))
    if plot.right is not None:
        _show(right, plot.right)
    _mark(axes, right, plot, across)
    axes.grid(alpha=0.3)
    names = [curve.name for curve in plot.curves]  # of which a legend leaves out those that begin with a line below
    names = [f" {name}" if name.startswith("_") else name for name in names]
    for number, (curve, at) in enumerate(zip(plot.curves, plot.inscriptions(), strict=False)):
        if at is not None:
            place = _shifted(curve.x, across)[at], _shifted(curve.y, up)[at]
            box = {"pad": 1, "color": axes.get_facecolor()}
            axes.text(*place, curve.name, color=f"C{number}", size="small", ha="center", va="center", bbox=box)
    if plot.inscribed:
        axes.figure.legend(lines, names, loc="outside right upper")
    else:
        axes.legend(lines, names)


def _marked(curve: Curve, mark: int) -> dict[str, str]:
    return {"marker": _MARKS[mark % len(_MARKS)]} if curve.style == "points" else {}


def _alone(y: Sequence[float]) -> list[int]:
    """The places of the points between two gaps, which a line does not show."""
    there = [False, *map(math.isfinite, y), False]
    return [place for place in range(len(y)) if there[place : place + 3] == [False, True, False]]


def _set_scales(axes: Any, log: tuple[bool, bool], units: tuple[int, int]) -> None:
    """Logarithmic axes, and those in units of a power of ten."""
    for axis, scale, exponent, is_log in zip((axes.xaxis, axes.yaxis), "xy", units, log, strict=True):
        if is_log:
            getattr(axes, f"set_{scale}scale")("log", nonpositive="mask")
            ticker = matplotlib("ticker", _WHAT)
            axis.set_major_formatter(ticker.FuncFormatter(lambda tick, _=None: format_number(tick, 5)))
            axis.set_minor_formatter(ticker.NullFormatter())
        elif exponent:
            axis.set_major_formatter(_ticks(exponent))


def _mark(axes: Any, right: Any, plot: Plot, across: int) -> None:
    """Mark at the edge of the picture where a curve goes on outside of it."""
    for number, curve in enumerate(plot.curves):
        into, window = right if curve.right else axes, plot.window_of(curve)
        if window is None or curve.style == "points":
            continue
        for side, sign in ((1, "^"), (-1, "v")):
            ends = _shifted((x for x, at in edges(curve, window) if at == side), across)
            look = {"color": f"C{number}", "markersize": 5, "clip_on": False, "transform": into.get_xaxis_transform()}
            if ends:  # without any, matplotlib would leave room for the corner of the picture
                into.plot(ends, [max(side, 0)] * len(ends), sign, **look)


def _exponent(numbers: Iterable[float]) -> int:
    """The power of ten that is the unit of an axis: 0 unless matplotlib could not tell the ends of the axis apart."""
    most = max((abs(number) for number in numbers if math.isfinite(number)), default=0.0)
    return 0 if most == 0 or 1e-100 < most < 1e100 else math.floor(math.log10(most))


def _shifted(numbers: Iterable[float], exponent: int) -> list[float]:
    """The numbers in units of a power of ten; what is too far out to be drawn is nan."""
    if not exponent:
        return [*numbers]
    first = -exponent // 2
    shifted = (number * 10.0**first * 10.0 ** (-exponent - first) for number in numbers)
    return [number if abs(number) < 1e100 else math.nan for number in shifted]


def _ticks(exponent: int) -> Any:
    """The formatter for the ticks of an axis in units of a power of ten."""

    def label(tick: float, place: int | None = None) -> str:
        mantissa, _, power = f"{tick:.4e}".partition("e")
        return f"{format_number(float(mantissa))}e{int(power) + exponent}" if tick else "0"

    return matplotlib("ticker", _WHAT).FuncFormatter(label)


def _show(axes: Any, window: Sequence[float], log: bool = False) -> None:
    """The values from one to another, with some room around them."""
    low, high = window
    if log:
        room = (high / low) ** (1 / 20) if low > 0 else math.inf
        if 1 < room < math.inf:
            axes.set_ylim(low / room, high * room)
        return
    room = (high - low) / 20
    if 0 < room < float("inf"):
        axes.set_ylim(low - room, high + room)
