"""The table of units, `units.txt`, and the prefixes: names and exact factors.

A line: symbols, `;` words, `=` a factor and units that stand above or below. A word has a plural with -s. A prefix is
taken where the name ends in a sign: `*` any, `-` those below 1, `+` those above 1. `[m]` is a base dimension, `@` the
number of units from absolute zero to that of a scale. An inch is 0.0254 m since 1959, a calorie that of
thermochemistry, a year that of Julius; names that differ by country or trade are refused: what they may mean
is below `[ambiguous]`. `[prefixes]` of more than two letters are those of words.
"""

from __future__ import annotations

from fractions import Fraction

from agrad.engine.text import beside, tables

_text = beside(__file__, "units.txt")
TABLE, _, _ = _text.partition("\n[")
_others = tables(_text)
MACROS = _others["siunitx"]  # by the words of units, another name where there it is another
AMBIGUOUS, CALLED = _others["ambiguous"], {"": "a number", **_others["dimensions"]}
PREFIXES = {prefix: Fraction(scale) for prefix, scale in _others["prefixes"].items()}
