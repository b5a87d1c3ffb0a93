"""Tensors as PyTorch prints them."""

from __future__ import annotations

import math
from typing import Any

from agrad.engine import units
from agrad.engine.core.context import remember_entry
from agrad.engine.values import np
from agrad.torch import grad_fn
from agrad.torch.types import float64

_DEFAULT = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
_PROFILES: dict[str, dict[str, Any]] = {
    "default": _DEFAULT,
    "short": {**_DEFAULT, "precision": 2, "edgeitems": 2},
    "full": {**_DEFAULT, "threshold": math.inf},
}
OPTIONS: dict[str, Any] = dict(_DEFAULT)
MOST_DIGITS = 400  # behind the point: a number of float64 has no more that say something


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """How many digits and entries are printed."""
    for one in (precision, threshold, edgeitems, linewidth, sci_mode):
        if one is not None and type(one) not in (int, float, bool):
            raise TypeError(f"torch.set_printoptions takes numbers, not {type(one).__name__}")
    if not 0 <= (precision or 0) <= MOST_DIGITS:
        raise ValueError(f"torch.set_printoptions: precision is from 0 to {MOST_DIGITS}")
    for name in OPTIONS:
        remember_entry(OPTIONS, name)
    if profile is not None:
        OPTIONS.update(_PROFILES[profile])
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    OPTIONS.update({name: value for name, value in given.items() if value is not None}, sci_mode=sci_mode)


class printoptions:  # noqa: N801 - PyTorch's name
    """`with printoptions(precision=2):` the same for a while."""

    def __init__(self, **options: Any) -> None:
        self._options = options

    def __enter__(self) -> None:
        self._before = dict(OPTIONS)
        set_printoptions(**self._options)

    def __exit__(self, *_: object) -> None:
        OPTIONS.update(self._before)


class _Formatter:
    """How each entry of an array is written, so that all have the same width."""

    def __init__(self, array: Any, is_float: bool) -> None:
        digits = OPTIONS["precision"]
        self.is_float, self.is_whole, self.width = is_float, True, 1
        self.scientific: Any = False
        entries = array.ravel().tolist()
        if not is_float:
            self.width = max([1, *(len(str(entry)) for entry in entries)])
            return
        finite = [entry for entry in entries if math.isfinite(entry) and entry != 0.0]
        if not finite:
            return
        self.is_whole = all(entry == math.ceil(entry) for entry in finite)
        sizes = [abs(entry) for entry in finite]
        self.scientific = OPTIONS["sci_mode"]
        if self.scientific is None:
            low, high = min(sizes), max(sizes)
            self.scientific = low == 0.0 or high / low > 1000.0 or high > 1e8 or low < 1e-4
        form = f".{digits}e" if self.scientific else ".0f" if self.is_whole else f".{digits}f"
        extra = self.is_whole and not self.scientific
        self.width = max([1, *(len(format(entry, form)) + extra for entry in finite)])

    def __call__(self, entry: Any) -> str:
        digits = OPTIONS["precision"]
        if not self.is_float:
            text = str(entry)
        elif self.scientific:
            text = format(entry, f"{self.width}.{digits}e")
        elif self.is_whole:
            text = format(entry, ".0f") + "." * math.isfinite(entry)
        else:
            text = format(entry, f".{digits}f")
        return text.rjust(self.width)


def _ends(array: Any) -> Any:
    """The entries that are printed of a long array."""
    edge = OPTIONS["edgeitems"]
    for axis, length in enumerate(array.shape):
        if length > 2 * edge:
            array = np.take(array, [*range(edge), *range(length - edge, length)], axis)
    return array


def _array_text(array: Any, indent: int, is_short: bool, form: Any) -> Any:
    edge = OPTIONS["edgeitems"]
    if array.ndim == 0:
        return form(array.item())
    skips = is_short and len(array) > 2 * edge
    if array.ndim == 1:
        parts = [form(entry) for entry in (np.concatenate((array[:edge], array[-edge:])) if skips else array).tolist()]
        if skips:
            parts.insert(edge, " ...")
        each = max(1, math.floor((OPTIONS["linewidth"] - indent) / (form.width + 2)))
        lines = [", ".join(parts[start : start + each]) for start in range(0, len(parts), each)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    places = [*range(edge), *range(len(array) - edge, len(array))] if skips else range(len(array))
    rows = [_array_text(array[place], indent + 1, is_short, form) for place in places]
    if skips:
        rows.insert(edge, "...")
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(rows) + "]"


def text_of(x: Any, array: Any) -> str:
    """A tensor with these entries as PyTorch prints it where float64 is the default."""
    prefix = "tensor("
    unit = units.unit_of(x)
    array, suffixes = np.asarray(units.quantity.in_unit(array, unit)), [f"unit={unit.text!r}"] if unit else []
    if not array.size:
        text = "[]"
        if array.ndim != 1:
            suffixes.append(f"size={tuple(array.shape)}")
        if x.kind is not float64:
            suffixes.append(f"dtype={x.kind}")
    else:
        is_short = array.size > OPTIONS["threshold"]
        form = _Formatter(_ends(array) if is_short else array, x.kind is float64)
        text = _array_text(array, len(prefix), is_short, form)
    name = None if x.is_leaf or not x.requires_grad else grad_fn.of(x.node)
    if name is not None:
        suffixes.append(f"grad_fn=<{type(name).__name__}>")
    elif x.requires_grad:
        suffixes.append("requires_grad=True")
    tangent = x.tangent
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    written = [prefix + text]
    length = len(written[0]) - written[0].rfind("\n") + 1
    for suffix in suffixes:
        if length + len(suffix) + 2 > OPTIONS["linewidth"]:
            written.append(",\n" + " " * len(prefix) + suffix)
            length = len(prefix) + len(suffix)
        else:
            written.append(", " + suffix)
            length += len(suffix) + 2
    return "".join(written) + ")"
