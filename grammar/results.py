"""The results that a statement emits while it runs. A result has a text; only the terminal prints it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, islice, pairwise
from math import nan
from typing import Any, Literal, TypeAlias

from agrad.engine import autodiff, units
from agrad.engine.core.context import current
from agrad.engine.core.graph import Node, Uncertainty
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Note
from agrad.engine.ops import tables
from agrad.engine.struct import Struct
from agrad.engine.values import Value, coerce, format_number, format_value, spread
from agrad.grammar.values.lists import List, as_truth, is_array, stacked

_SHOWN = 1000  # entries of a list, or of a container of Python


class Settings(Struct, eq=False, frozen=False):
    """The user's settings, and the properties of the terminal.

    `precision`: significant digits, None for text that reads back to the same number. `width`: of the terminal, None
    where there is none. `wide`: whether boxes may take more, as in a picture of a session. `echo`: whether what a
    statement has changed is shown, at a terminal. `plots`: how it draws, as in `set plots`; empty for the user's
    configuration. `rounding`: that of uncertainties, as in `set rounding`. `found` is the value of a setting that the
    terminal alone knows, and `changed` applies one, by `set`.
    """

    precision: int | None = 10
    width: int | None = None
    echo: bool = False
    plots: str = ""
    rounding: str = "two"
    found: Callable[[str], Any] = lambda name: None
    changed: Callable[[str, Any], None] = lambda name, value: None
    wide: bool = False

    @property
    def columns(self) -> int:
        """The width to make what can be narrow or wide: 80 where there is no terminal."""
        return self.width or 80


class Shown(Struct):
    """The value of a bare expression."""

    value: Any

    def text(self, settings: Settings) -> str:
        """The value as it is printed."""
        return whole_text_of(self.value, settings)


class Written(str):
    """A number, or an array, in a form: `255 as hex`. `value`: the number, which is the last answer."""

    __slots__ = ("value",)
    value: Any

    def __new__(cls, text: str, value: Any) -> Written:
        """A text, and what it is of."""
        made = super().__new__(cls, text)
        made.value = value
        return made


class Printed(Struct):
    """A line from `print`."""

    line: str

    def text(self, settings: Settings) -> str:
        """The line."""
        return self.line


class Complained(Printed):
    """A line that a script writes to its standard error."""


class Represented(Printed):
    """The value of an expression of Python, as a prompt shows it."""

    value: Any


class Gradient(Struct):
    """The gradient of one name: its value, or why there is none; and its terms."""

    name: str
    value: Tensor | None
    remark: str = ""

    def text(self, settings: Settings) -> str:
        """`a.grad = 12   (6 + 6, 2 backward calls)`."""
        if self.value is None:
            return f"{self.name}.grad = none: {self.remark}"
        shown = text_of(self.value, settings)
        return f"{self.name}.grad = {shown}" + (f"   ({self.remark})" if self.remark else "")


class Table(Struct):
    """Several lines of output of a command: a dump, a list of names, help."""

    lines: str
    states: bool = False  # whether they say what is held, freed, stale or retained

    def text(self, settings: Settings) -> str:
        """The lines."""
        return self.lines


class Graph(Table):
    """A graph in a form, as text; `picture` draws the same graph in another form, such as `svg` or `page`."""

    form: str = "text"
    picture: Callable[[str], str | bytes] | None = None


class Checked(Struct):
    """Exact derivatives beside differences, from `check`."""

    report: autodiff.gradcheck.Report

    def text(self, settings: Settings) -> str:
        """A table, one line per entry."""
        return self.report.text(settings.precision)


class Estimated(Struct):
    """A result with uncertainties, a budget or a fit, in one of its forms."""

    found: Any
    form: str = "text"

    def text(self, settings: Settings) -> str:
        """The result for people, or in its form."""
        return str(getattr(self.found, self.form)())


class Studied(Estimated):
    """What a function does in an interval; `names`: those of its variable and of the function, above the table."""

    names: tuple[str, str] = ("", "")

    def text(self, settings: Settings) -> str:
        """The table."""
        return str(self.found.text(*self.names, settings.precision))


class Curve(Struct):
    """Points that belong together; where one is not finite there is a gap. `right`: over the axis at the right.

    `u`: the uncertainties of the values, which are drawn as error bars; none where that is empty.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    style: Literal["line", "dots", "dashes", "points"] = "line"  # dots and dashes: of a line
    right: bool = False
    u: Sequence[float] = ()

    def bars(self) -> Iterator[tuple[float, float, float]]:
        """The places of the error bars, with the two ends of each."""
        for x, y, u in zip(self.x, self.y, self.u, strict=bool(self.u)):
            if math.isfinite(y) and math.isfinite(u) and u > 0:
                yield x, y - u, y + u

    def reach(self) -> Iterator[float]:
        """The values, and the ends of the error bars."""
        yield from self.y
        for _, low, high in self.bars():
            yield from (low, high)


# The styles of several lines in one picture, which cannot always be told apart by colour alone.
LINES: tuple[Literal["line", "dots", "dashes"], ...] = ("line", "dots", "dashes")


_EDGE = 1e-9  # of the range that is shown: a value within that of its end is not outside


def beyond(y: float, window: tuple[float, float]) -> int:
    """1 where a value is above what is shown, -1 where it is below; 0 otherwise, and where there is none."""
    room = (window[1] - window[0]) * _EDGE
    return 1 if y > window[1] + room else -1 if y < window[0] - room else 0


def edges(curve: Curve, window: tuple[float, float]) -> list[tuple[float, int]]:
    """Where a curve leaves what is shown or comes back: each place, and whether it goes on above (1) or below (-1).

    Of a curve that is nowhere inside: its ends.
    """
    found = [None if y != y else beyond(y, window) for y in curve.y]
    triples = zip([None, *found], found, [*found[1:], None], curve.x, strict=False)
    crossed = [(x, here) for before, here, after, x in triples if here and 0 in (before, after)]
    outside = [(x, here) for x, here in zip(curve.x, found, strict=True) if here]
    return crossed or [*outside[:1], *outside[-1:]]


class Plot(Struct):
    """Curves over one axis. `window`: the range of values to show, where a pole would flatten all others.

    `below`: another plot over the same axis. `label`: of the values. `log`: whether the axis, and the values, are
    logarithmic. `right`: the range of values of the axis at the right, for the curves that are over it. `across`: the
    range of the axis, where it is more than that of the points. `inscribed`: whether names stand on their curves.
    """

    curves: tuple[Curve, ...]
    axis: str = ""
    window: tuple[float, float] | None = None
    below: Plot | None = None
    title: str = ""
    label: str = ""
    log: tuple[bool, bool] = (False, False)
    right: tuple[float, float] | None = None
    across: tuple[float, float] | None = None
    inscribed: bool = False

    @property
    def marks(self) -> list[int]:
        """Of each curve, how many of points come before it: each of these has its own mark."""
        return [*accumulate((curve.style == "points" for curve in self.curves[:-1]), initial=0)]

    def window_of(self, curve: Curve) -> tuple[float, float] | None:
        """The range of values that is shown of a curve; None for all."""
        return self.right if curve.right else self.window

    def inscriptions(self) -> Iterator[int | None]:
        """The point at which the name of each curve stands: inside its line and the picture, far from the others."""
        taken: list[tuple[float, float]] = []
        if not self.inscribed or self.across is None or self.window is None:
            return
        for curve in self.curves:
            pairs = ((curve.x, self.across), (curve.y, self.window))
            across, up = ([(one - low) / (high - low) for one in ones] for ones, (low, high) in pairs)
            gaps = [-1, *(at for at, y in enumerate(up) if y != y), len(up)]
            rooms = {}
            for low, high in pairwise(gaps):
                for at in range(low + 1, high):
                    x, y = across[at], up[at]
                    apart = min((math.hypot(x - other[0], y - other[1]) for other in taken), default=1.0)
                    rooms[at] = min(at - low, high - at, 20) * min(apart, 2 * min(x, 1 - x, y, 1 - y), 0.25)
            best = max(rooms, key=lambda at: rooms[at], default=None)
            taken += [(across[best], up[best])] if best is not None else []
            yield best

    def text(self, settings: Settings) -> str:
        """The plot in words: the picture itself depends on the terminal."""
        drawn = (*self.curves, *(self.below.curves if self.below is not None else ()))
        curves = ", ".join(f"{curve.name} ({len(curve.x)} points)" for curve in drawn)
        return f"plot of {curves}"


class Noted(Struct):
    """A remark on a result, which is kept."""

    note: Note

    def text(self, settings: Settings) -> str:
        """The message alone; the terminal renders labels and fixes."""
        return f"note: {self.note.message}"


Result: TypeAlias = Shown | Printed | Gradient | Table | Checked | Estimated | Plot | Noted


def unheard(result: Result) -> None:
    """A listener that drops results."""


class Quit(Exception):
    """The session should end: `quit`. Its argument, if it has one, is the exit code of a script."""


def uncertainty_of(value: Any) -> Value | None:
    """The standard uncertainty of a value that has one; nan where it is not known, since a source was set since."""
    try:
        return autodiff.uncertainty.uncertainty(value) if Uncertainty.exists else None
    except AgradError:
        return spread(nan, value.shape)


def whole_text_of(value: Any, settings: Settings) -> str:
    """A value as it is printed by itself, where a table has lines of its own."""
    if isinstance(value, tables.Table):
        return tables.text(value, settings.precision, settings.columns)
    return text_of(value, settings)


def text_of(value: Any, settings: Settings | None = None) -> str:
    """A value of the language as it is printed, by the settings of the session if no others are given.

    It is never a Python repr.
    """
    settings = settings or current().settings or Settings()
    if isinstance(value, Tensor):
        truth = as_truth(value)
        if truth is not value:
            return str(truth)
        number, u, unit = units.shown(value, uncertainty_of(value))
        return f"{format_value(number, settings.precision, u)} {unit}".rstrip()
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int) and value.bit_length() > 1023:
        return f"a whole number of {value.bit_length()} bits"
    if isinstance(value, int | float):
        return format_number(float(value), settings.precision)
    if isinstance(value, str):
        return value
    if type(value) is List:
        return _of_list(value, settings)
    if isinstance(value, tuple):
        inner = ", ".join(_quoted(item, settings) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, range):
        ends = (value.start, value.stop) if value.step == 1 else (value.start, value.stop, value.step)
        return f"range({', '.join(map(str, ends))})"
    if isinstance(value, Node):
        return repr(value)
    if hasattr(type(value), "_shown"):
        shown: str = value._shown(lambda part: text_of(part, settings))
        return shown
    if getattr(type(value), "is_object", False):
        return repr(value)
    if isinstance(value, type | super):
        return f"class {value.__name__}" if isinstance(value, type) else "super()"
    if isinstance(value, list | dict | set | frozenset):
        return _of_container(value, settings)
    if type(value).__module__ == "__main__":  # of a script of Python, whose own methods may do anything
        return f"{type(value).__name__} object"
    if callable(value) and not hasattr(value, "definition"):
        entry = FUNCTIONS.get(value.__name__)
        return f"function {entry.signature.usage if entry else value.__name__}"
    return "None" if value is None else str(value)


def _quoted(value: Any, settings: Settings) -> str:
    """An entry as it is printed: texts in quotes, as Python prints them."""
    return repr(value) if isinstance(value, str) else text_of(value, settings)


def _of_list(value: List, settings: Settings) -> str:
    """A list: as an array if it is one."""
    if is_array(value) and value.parts and bool not in map(type, map(as_truth, value.parts)):
        return text_of(stacked(value.parts), settings)  # recorded, since the graph tells uncertainties
    shown = [_quoted(part, settings) for part in value.parts[:_SHOWN]]
    more = [f"… {len(value) - _SHOWN} more"] if len(value) > _SHOWN else []
    return f"[{', '.join([*shown, *more])}]"


_WITHIN: set[int] = set()  # the containers whose texts are being made


def _of_container(value: Any, settings: Settings) -> str:
    """A list, a dictionary or a set of Python."""
    if id(value) in _WITHIN:
        return "…"
    _WITHIN.add(id(value))
    try:
        inner = [_quoted(one, settings) for one in islice(value, _SHOWN)]
        if isinstance(value, dict):
            parts = (_quoted(one, settings) for one in islice(value.values(), _SHOWN))
            inner = [f"{key}: {one}" for key, one in zip(inner, parts, strict=True)]
    finally:
        _WITHIN.discard(id(value))
    text = ", ".join(inner) + ", …" * (len(value) > _SHOWN)
    return f"[{text}]" if isinstance(value, list) else f"{{{text}}}"


class Answer(Struct, eq=False):
    """A value with the derivatives that were asked for, by the names to differentiate by.

    `kind` is grad, order, jacobian, hessian, jvp (which has no names) or vjp; empty for none.
    `unreached` are the names that the value does not depend on.
    """

    value: Any
    kind: str = ""
    derivatives: Mapping[tuple[str, ...], Value] = {}
    unreached: Sequence[str] = ()
    units: Mapping[tuple[str, ...], str] = {}

    @property
    def matrix(self) -> Any:
        """The Hessian as one matrix: of one array, or of numbers alone; None where it is made of blocks."""
        if self.units:
            return None
        blocks = {by: block for by, block in self.derivatives.items() if len(by) == 2}
        if len(blocks) == 1:
            return next(iter(blocks.values()))
        if not all(isinstance(block, float) for block in blocks.values()):
            return None
        names = [by[0] for by in self.derivatives if len(by) == 1]
        return [[blocks.get((x, y), blocks.get((y, x))) for y in names] for x in names]

    def unit(self, name: str) -> str:
        """The unit of a derivative by its name, behind a blank; empty for none."""
        named = {derivative_name(self.kind, by): unit for by, unit in self.units.items() if unit}
        return f" {named[name]}" if name in named else ""

    def parts(self) -> Iterator[tuple[str, Value]]:
        """Each derivative with its name; the Hessian as one matrix, if it is one."""
        whole = self.matrix if self.kind == "hessian" else None
        for by, part in self.derivatives.items():
            if whole is None or len(by) == 1:
                yield derivative_name(self.kind, by), part
        if whole is not None:
            yield "hessian", coerce(whole)


def derivative_name(kind: str, by: tuple[str, ...]) -> str:
    """The name of a derivative: d/dx, d2/dx2, d3/dx2dy; jvp, vjp x."""
    if kind in ("jvp", "vjp"):
        return " ".join((kind, *by))
    below = "".join(f"d{name}{count if count > 1 else ''}" for name, count in Counter(by).items())
    return f"d{len(by) if len(by) > 1 else ''}/{below}"
