"""Values as what JSON can say: floats, lists of them, and null for what it cannot."""

from __future__ import annotations

import math
from typing import Any

from agrad.engine.errors import AgradError


def plain(value: Any, path: str, nonfinite: dict[str, str]) -> object:
    """A float, or lists of them, for a number, an array or a sequence of these.

    JSON has no nan and no inf: None stands there, and `nonfinite` says under its path, `grad.x[2]`, which it was.
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
