"""What a line has room for: what matters first, cut between words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from agrad.engine.text import display_width

GAP = "   "


def cut(text: str, room: int) -> str:
    """The words of a text that there is room for, and `…` if that is not all of it; there is room for one column."""
    if display_width(text) <= room:
        return text
    kept = ""
    for word in re.findall(r"\s*\S+", text):
        longer = f"{kept}{word}"
        if display_width(f"{longer.rstrip(',')} …") > room:
            break
        kept = longer
    return f"{kept.rstrip(',')} …" if kept else "…"


def first_that_fits(texts: Iterable[str], room: int) -> str:
    """The first of some texts, the best one first, that there is room for; else as much as fits of the last."""
    text = ""
    for text in texts:
        if display_width(text) <= room:
            return text
    return cut(text, room)


def live_lines(line: str) -> Iterator[str]:
    """A live line, then with less: first without its last derivatives, then with a shorter signature, and with none."""
    yield line
    parts = line.split(GAP)
    usage = "" if parts[0].startswith("= ") else parts.pop(0)
    for count in range(len(parts) - 1, 0, -1):
        yield GAP.join(filter(None, [usage, *parts[:count]])) + " …"
    value = parts[:1]
    for short in signatures(usage):
        yield GAP.join([short, *value])
    if value:
        yield value[0]


def signatures(usage: str) -> Iterator[str]:
    """`f(x, ‹y›, z)` with ever fewer arguments: those furthest from the one that is typed are left out first."""
    found = re.fullmatch(r"([^(]*)\((.*)\)(.*)", usage)
    if found is None:
        return
    parts = found[2].split(", ")
    typed = next((place for place, part in enumerate(parts) if part.startswith("‹")), 0)
    first, last = 0, len(parts)
    while last - first > 1:
        if last - 1 - typed >= typed - first:
            last -= 1
        else:
            first += 1
        shown = [*["…"] * (first > 0), *parts[first:last], *["…"] * (last < len(parts))]
        yield f"{found[1]}({', '.join(shown)}){found[3]}"
