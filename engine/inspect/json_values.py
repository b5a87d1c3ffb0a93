"""Values for JSON: floats, lists of them, and null for nan and inf."""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.errors import AgradError


def plain(value: Any, path: str, nonfinite: dict[str, str]) -> object:
    """A float, or lists of them, for a number, an array or a sequence of these.

    JSON has no nan and no inf: they become None, and `nonfinite` gives them by path, `grad.x[2]`.
    Raises AgradError of kind `type` for anything else.
    """
    if isinstance(value, (list, tuple)):
        return [plain(entry, f"{path}[{position}]", nonfinite) for position, entry in enumerate(value)]
    if hasattr(value, "tolist"):
        return plain(value.tolist(), path, nonfinite)
    if not isinstance(value, (float, int)):
        raise AgradError("type", "only numbers and arrays can be written as JSON")
    if math.isfinite(value):
        return value
    nonfinite[path] = "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return None


def plain_fields(value: Any, path: str, nonfinite: dict[str, str]) -> Any:
    """Fields, those of a named tuple too, and lists in them, whose numbers and arrays are as `plain` gives them."""
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        above = f"{path}." if path else ""
        return {name: plain_fields(one, above + name, nonfinite) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_fields(one, f"{path}[{place}]", nonfinite) for place, one in enumerate(value)]
    return plain(value, path, nonfinite) if isinstance(value, float) or hasattr(value, "tolist") else value
