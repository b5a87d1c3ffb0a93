"""Units as the LaTeX package siunitx writes them."""

from __future__ import annotations

from agrad.engine.errors import AgradError
from agrad.engine.units import table, unit


def macros(text: str) -> str:
    r"""The macros of a unit: `\metre\per\second\tothe{2}` for `m/s^2`; empty where siunitx has none for a part."""
    try:
        powers = sorted(unit.read(text).symbols.items(), key=lambda pair: pair[1] < 0)
        return "".join(
            r"\per" * (power < 0) + _macro(name) + rf"\tothe{{{abs(power)}}}" * (abs(power) != 1)
            for name, power in powers
        )
    except (AgradError, KeyError):
        return ""


def _macro(name: str) -> str:
    """The macros of a unit with its prefix. Raises KeyError where there are none."""
    whole, words = unit.read(name), {x: f"\\{prefix}" for prefix, x in table.PREFIXES.items() if len(prefix) > 2}
    for prefix in ("", *table.PREFIXES):
        base, scale = name.removeprefix(prefix), table.PREFIXES.get(prefix)
        word, bare = unit.word(base) or base, unit.find(base)
        is_same = bare is not None and prefix + base == name and bare.factor * (scale or 1) == whole.factor
        if is_same and word in table.MACROS:
            return f"{words[scale] if scale else ''}\\{table.MACROS[word] or word}"
    raise KeyError(name)
