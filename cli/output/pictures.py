"""A transcript as a picture: an SVG file, with the colours that a terminal gives it.

What comes in is text with a terminal's escape codes for colours. Only these are read; whatever else would change a
terminal, or has a meaning in XML, becomes plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from agrad.engine.text import display_width, printable

# What the names of the terminal's colours look like on a light and on a dark background. All are legible on it.
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_PARTS = ("background", "border", "default", *_NAMES, "brightblack")
_LIGHT = "#f6f8fa #d0d7de #1f2328 #24292f #cf222e #116329 #7d4e00 #0969da #8250df #1b7c83 #57606a #656d76"
_DARK = "#0d1117 #30363d #e6edf3 #8b949e #ff7b72 #7ee787 #d29922 #79c0ff #d2a8ff #76e3ea #e6edf3 #8b949e"
_PALETTES = {
    theme: dict(zip(_PARTS, hues.split(), strict=True)) for theme, hues in (("light", _LIGHT), ("dark", _DARK))
}
_CODE = re.compile(r"\x1b\[([\d;]*)m")
_WORDS = re.compile(r"\S+(?: \S+)*")
_WIDTH, _HEIGHT, _SIZE = 8.4, 18, 14  # of a character, of a line, of the font
_MARGIN = 16
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


class Look(NamedTuple):
    """A colour by its name in a palette, and whether the letters are bold."""

    colour: str = "default"
    bold: bool = False


Piece = tuple[str, Look]
_PLAIN = Look()


def pieces(text: str) -> list[list[Piece]]:
    """For each line of a text with escape codes, its pieces that look the same."""
    lines: list[list[Piece]] = [[]]
    look, done = _PLAIN, 0
    for code in [*_CODE.finditer(text), None]:
        part = printable(text[done : code.start() if code else len(text)]).expandtabs(4)
        first, *rest = part.split("\n")
        lines[-1].append((first, look))
        lines += [[(line, look)] for line in rest]
        if code is not None:
            look, done = _after(look, code[1]), code.end()
    there = ([piece for piece in line if piece[0]] for line in lines)
    return [
        [("".join(part for part, _ in group), look) for look, group in groupby(line, itemgetter(1))] for line in there
    ]


def _after(look: Look, code: str) -> Look:
    """The look of what follows an escape code; what a picture does not show, such as a background, is skipped."""
    numbers = iter([int(number or 0) for number in code.split(";")])
    for number in numbers:
        if number in (38, 48):  # a colour by its number, or by red, green and blue
            for _ in range({5: 1, 2: 3}.get(next(numbers, 0), 0)):
                next(numbers, 0)
        elif number == 0:
            look = _PLAIN
        elif number in (1, 22):
            look = look._replace(bold=number == 1)
        elif number == 2 or number == 90:
            look = look._replace(colour="brightblack")
        elif 30 <= number % 60 <= 37 and number < 98:
            look = look._replace(colour=_NAMES[number % 60 - 30])
        elif number == 39:
            look = look._replace(colour="default")
    return look


def svg(text: str, title: str, theme: str) -> str:
    """A text with escape codes as an SVG picture. `textLength` keeps the columns aligned in whatever font there is."""
    lines = [*map(_trimmed, pieces(text))]
    columns = max((display_width("".join(part for part, _ in line)) for line in lines), default=0)
    width, height = round(columns * _WIDTH + 2 * _MARGIN), len(lines) * _HEIGHT + 2 * _MARGIN
    rows = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">',
        f"<title>{escape(printable(title))}</title>",
        f"<style>\n{_style(theme, lines)}\n</style>",
        f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        f'<g font-family="{_FONT}" font-size="{_SIZE}">',
    ]
    for number, line in enumerate(lines):
        rows += _texts(line, _MARGIN + number * _HEIGHT + _SIZE)
    return "\n".join([*rows, "</g>", "</svg>", ""])


def _trimmed(line: Sequence[Piece]) -> list[Piece]:
    """A line without blanks at its end."""
    kept = list(line)
    while kept and not kept[-1][0].rstrip():
        kept.pop()
    return [*kept[:-1], (kept[-1][0].rstrip(), kept[-1][1])] if kept else []


def _texts(line: Sequence[Piece], y: int) -> Iterator[str]:
    """The words of a line, together where a single blank is between them: browsers make one of several."""
    column = 0
    for part, look in line:
        for words in _WORDS.finditer(part):
            x = _MARGIN + (column + display_width(part[: words.start()])) * _WIDTH
            place = f'x="{x:.1f}" y="{y}" textLength="{display_width(words[0]) * _WIDTH:.1f}"'
            yield f"<text {place}{_class(look)}>{escape(words[0], quote=False)}</text>"
        column += display_width(part)


def _class(look: Look) -> str:
    words = [look.colour] * (look.colour != "default") + ["bold"] * look.bold
    return f' class="{" ".join(words)}"' if words else ""


def _style(theme: str, lines: Iterable[Sequence[Piece]]) -> str:
    """The rules for a theme; `auto` is light, and dark where the system is."""
    used = sorted({look.colour for line in lines for _, look in line} - {"default"})
    if theme != "auto":
        return "\n".join([*_rules(_PALETTES[theme], used), ".bold { font-weight: bold }"])
    dark = "\n".join(f"  {rule}" for rule in _rules(_PALETTES["dark"], used))
    media = f"@media (prefers-color-scheme: dark) {{\n{dark}\n}}"
    return "\n".join([*_rules(_PALETTES["light"], used), ".bold { font-weight: bold }", media])


def _rules(palette: dict[str, str], used: Sequence[str]) -> Iterator[str]:
    yield f".page {{ fill: {palette['background']}; stroke: {palette['border']} }}"
    yield f"text {{ fill: {palette['default']} }}"
    yield from (f".{name} {{ fill: {palette[name]} }}" for name in used)
