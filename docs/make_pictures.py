"""Draw docs/session-light.svg and docs/session-dark.svg: a session as a terminal shows it.

`make docs` runs this. The session is a real one: `agrad repl` runs in a pseudo-terminal, the lines below are typed, and
what stands on its screen, with the colours that it stands in, becomes text in an SVG file.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from screens import Terminal

HERE = Path(__file__).parent
COLUMNS = 84
TYPED = ("var x = 2", "y = x**3 + log(x)", "graph y as boxes", "backward y", "grad x", "backward y")
# What the names of the terminal's colours look like, on a light and on a dark background.
THEMES = {
    "light": {
        "background": "#f6f8fa",
        "border": "#d0d7de",
        "default": "#1f2328",
        "brightblack": "#6e7781",
        "red": "#cf222e",
        "green": "#116329",
        "magenta": "#8250df",
        "cyan": "#1b7c83",
    },
    "dark": {
        "background": "#0d1117",
        "border": "#30363d",
        "default": "#e6edf3",
        "brightblack": "#8b949e",
        "red": "#ff7b72",
        "green": "#7ee787",
        "magenta": "#d2a8ff",
        "cyan": "#76e3ea",
    },
}
WIDTH, HEIGHT, SIZE = 8.4, 18, 14  # of a character, of a line, of the font
MARGIN = 16
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def session(home: str) -> list[list[Any]]:
    """The lines of the screen after all is typed, each a list of pyte's characters; without the toolbar."""
    user = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "APPDATA"), home)
    environment = {name: text for name, text in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    environment |= user | {"TERM": "xterm-256color", "PYTHONUTF8": "1"}
    with Terminal(environment, "repl", "--color", "always", columns=COLUMNS, rows=60, folder=home) as terminal:
        terminal.see("agrad>")
        for line in TYPED:
            terminal.enter(line)
        buffer = terminal.screen.buffer
        shown = len(terminal.lines()) - 1  # the last line is the toolbar
        rows = [[buffer[y][x] for x in range(COLUMNS)] for y in range(shown)]
    while "".join(cell.data for cell in rows[-1]).strip() in ("", "agrad>"):
        rows.pop()
    return rows[1:]  # the first is the greeting, with the version


def runs(cells: list[Any]) -> Iterator[tuple[int, str, str, bool]]:
    """The pieces of a line that look the same: (column, text, colour, bold), without blanks at the end."""
    column = 0
    for (colour, bold), group in groupby(cells, key=lambda cell: (cell.fg, cell.bold)):
        text = "".join(cell.data for cell in group)
        if text.strip():
            yield column + len(text) - len(text.lstrip()), text.strip(), colour, bold
        column += len(text)


def svg(rows: list[list[Any]], theme: dict[str, str]) -> str:
    """The lines as an SVG picture. `textLength` keeps the columns aligned in whatever font there is."""
    columns = max(len("".join(cell.data for cell in cells).rstrip()) for cells in rows)
    width, height = round(columns * WIDTH + 2 * MARGIN), len(rows) * HEIGHT + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" '
        f'fill="{theme["background"]}" stroke="{theme["border"]}"/>',
        f'<g font-family="{FONT}" font-size="{SIZE}" xml:space="preserve">',
    ]
    for number, cells in enumerate(rows):
        y = MARGIN + number * HEIGHT + SIZE
        for column, text, colour, bold in runs(cells):
            weight = ' font-weight="bold"' if bold else ""
            lines.append(
                f'<text x="{MARGIN + column * WIDTH:.1f}" y="{y}" textLength="{len(text) * WIDTH:.1f}" '
                f'fill="{theme[colour]}"{weight}>{escape(text, quote=False)}</text>'
            )
    return "\n".join([*lines, "</g>", "</svg>", ""])


def pictures() -> dict[str, str]:
    """The two files, by name."""
    with tempfile.TemporaryDirectory() as home:
        rows = session(home)
    return {f"session-{name}.svg": svg(rows, theme) for name, theme in THEMES.items()}


if __name__ == "__main__":
    for name, text in pictures().items():
        (HERE / name).write_text(text, encoding="utf-8")
