"""The table of units, `units.txt`, and the prefixes: names and exact factors.

A line: symbols, `;` words, `=` a factor and units that stand above or below. A word has a plural with -s. A prefix is
taken where the name ends in a sign: `*` any, `-` those below 1, `+` those above 1. `[m]` is a base dimension, `@` the
number of units from absolute zero to that of a scale. An inch is 0.0254 m since 1959, a calorie that of
thermochemistry, a year that of Julius; names that differ by country or trade are refused: what they may mean
is below `[ambiguous]`.
"""

from __future__ import annotations

from agrad.engine.text import beside

TABLE, _, _ambiguous = beside(__file__, "units.txt").partition("\n[ambiguous]\n")
AMBIGUOUS = dict(line.split(" = ") for line in _ambiguous.splitlines())

SHORT = {
    **dict(zip("QRYZEPTGMk", (10**n for n in (30, 27, 24, 21, 18, 15, 12, 9, 6, 3)), strict=True)),
    "h": 100,
    "da": 10,
    "d": -10,
    "c": -100,
    **dict(zip("mµupnfazyrq", (-(10**n) for n in (3, 6, 6, 12, 9, 15, 18, 21, 24, 27, 30)), strict=True)),
}
LONG = dict(
    zip(
        "quetta ronna yotta zetta exa peta tera giga mega kilo hecto deca "
        "deci centi milli micro nano pico femto atto zepto yocto ronto quecto".split(),
        [SHORT[short] for short in "Q R Y Z E P T G M k h da d c m µ n p f a z y r q".split()],
        strict=True,
    )
)
