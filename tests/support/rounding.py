"""Texts with numbers, compared: other processors round the last digits of sums differently."""

import re
from math import isclose

NUMBER = re.compile(r"-?0x[01]\.?[0-9a-f]*p[+-]\d+|#[0-9a-f]{8}\b|-?\d+\.?\d*(?:e[+-]?\d+)?")
SEARCHED = re.compile(r"(?<=\"iterations\": )\d+|\d+(?= iterations?$)")


def same_answers(old, new):
    """Whether two texts of many lines are the same but for rounding."""
    lines = old.split("\n"), new.split("\n")
    return old == new or (len(lines[0]) == len(lines[1]) and all(map(same_but_for_rounding, *lines)))


def same_but_for_rounding(old, new):
    """Whether two lines differ in the last digits of floats alone, or in how many iterations a search took.

    Of a large array a line has only a hash.
    """
    old, new = (SEARCHED.sub("", text) for text in (old, new))
    if NUMBER.sub("", old) != NUMBER.sub("", new):
        return False
    pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
    return all(
        a == b
        or (a[0] == b[0] == "#")
        or ("#" not in a + b and isclose(_value(a), _value(b), rel_tol=1e-6, abs_tol=1e-9))
        for a, b in pairs
    )


def _value(text):
    return float.fromhex(text) if "0x" in text else float(text)
