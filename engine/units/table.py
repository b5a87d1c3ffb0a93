"""The table of units, `units.txt`, and the prefixes."""

from __future__ import annotations

from agrad.engine.text import beside, tables

_TEXT = beside(__file__, "units.txt")
ROWS = [row for row in _TEXT.partition("\n[")[0].splitlines() if row and row[0] != "#"]
AMBIGUOUS = tables(_TEXT)["ambiguous"]

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
