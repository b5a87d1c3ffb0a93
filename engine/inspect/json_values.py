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


def objects(value: Any) -> Any:
    """The same, without the paths, for anything: a named tuple is an object; what is no list and no float stays."""
    if hasattr(value, "_asdict"):
        return {name: objects(part) for name, part in value._asdict().items()}
    if isinstance(value, list):
        return [objects(part) for part in value]
    return plain(value, "", {}) if isinstance(value, float) else value
