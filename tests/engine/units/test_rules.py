"""The units that a row states are those of the scalings that its own code obeys: f(c^p x, c^q y) = c^r f(x, y)."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
from rows import each
from samples import samples_of, scipy_or_skipped

from agrad.engine.core.dispatch import compute, prepared
from agrad.engine.core.op import OPS
from agrad.engine.units.rules import rule_of

SCALES = (1.7, 0.31, 5.3)
POWERS = (-2, 0, 1, 3)
# Rows that obey more scalings than they state.
STRICTER = {
    "pow": "the exponents of an array differ by entry",
    "deg2rad": "an angle has no unit",
    "rad2deg": "an angle has no unit",
    "cumprod": "the entries have different units",
    "probability": "a probability has no unit",
}


def scaled(op, operands, attrs, powers):
    """The power of the scale by which the result changes: None if there is none, nan if any, since the result is 0."""
    found, before = [], np.ravel(compute(op, operands, attrs)).astype(float)
    finite = np.isfinite(before)
    used = finite & (before != 0.0)
    for scale in SCALES:
        changed = tuple([x * scale**p for x, p in zip(operands, powers, strict=True)])
        after = np.ravel(compute(op, changed, attrs)).astype(float)
        if np.any(finite != np.isfinite(after)) or np.any(np.abs(after[finite & ~used]) > 1e-12):
            return None
        ratios = after[used] / before[used]
        if not np.all(ratios > 0.0):
            return None
        found += (np.log(ratios) / math.log(scale)).tolist()
    return found[0] if found and np.ptp(found) < 1e-9 else None if found else math.nan


def taken(op, operands, attrs, powers):
    """The power that the row states for the result, None where it refuses these."""
    letters, result = rule_of(op, operands, attrs)
    known = {"1": 0}
    for letter, power in zip(letters, powers, strict=True):
        if letter != "-" and known.setdefault(letter, power) != power:
            return None
    return float(sum((exponent * known[letter] for letter, exponent in result.items()), Fraction(0)))


def cases(op):
    for sample in samples_of(op):
        operands, given = (sample[:-1], sample[-1]) if isinstance(sample[-1], dict) else (sample, {})
        values = tuple([x if isinstance(x, float) else np.array(x, dtype=float) for x in operands])
        attrs = prepared(op, values, {**op.signature.attributes, **given})
        places = [i for i, letter in enumerate(rule_of(op, values, attrs)[0]) if letter != "-"]
        for some in product(POWERS if len(places) < 4 else (0, 1), repeat=len(places)):
            powers = [0] * len(values)
            for place, power in zip(places, some, strict=True):
                powers[place] = power
            yield values, attrs, powers


ROWS = [op for op in OPS.values() if samples_of(op) and op.name not in ("gcd", "lcm")]  # which take whole numbers alone


@each("op", ROWS)
def test_a_row_obeys_the_scalings_that_it_states(op):
    with scipy_or_skipped():
        for values, attrs, powers in cases(op):
            stated = taken(op, values, attrs, powers)
            if stated is not None:
                found = scaled(op, values, attrs, powers)
                assert found is not None, (values, attrs, powers)
                assert math.isnan(found) or abs(found - stated) < 1e-9, (values, attrs, powers, found, stated)


@each("op", [op for op in ROWS if op.name not in STRICTER])
def test_a_row_refuses_no_scaling_that_it_obeys_in_all_samples(op):
    with scipy_or_skipped():
        found, refused = {}, set()
        for values, attrs, powers in cases(op):
            key = tuple(powers)
            found.setdefault(key, []).append(scaled(op, values, attrs, powers))
            if taken(op, values, attrs, powers) is None:
                refused.add(key)
        for key in refused:
            known = [power for power in found[key] if power is None or not math.isnan(power)]
            assert None in known or not known or np.ptp(known) > 1e-9, key
