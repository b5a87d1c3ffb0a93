"""Numbers that were typed and that a float64 cannot hold: what they become."""

from __future__ import annotations

import re
from math import inf

EXACT = 2.0**53  # up to here, every whole number is a float64


def became(text: str, value: float) -> str:
    """What a number that was typed became, in words; nothing where it is the same, or not a whole number in full."""
    if value == inf:
        return "inf: a float64 holds numbers up to 1.8e308"
    digits = text.replace("_", "")
    if digits.isdecimal() or digits[:2].lower() in ("0x", "0b", "0o"):
        whole = int(digits) if digits.isdecimal() else int(digits, 0)
        return "" if int(value) == whole else f"{int(value)}: whole numbers are exact up to 2**53"
    if value == 0.0 and re.search("[1-9]", re.split("[eE]", digits)[0]):
        return "0: a float64 holds numbers down to 5e-324"
    return ""
