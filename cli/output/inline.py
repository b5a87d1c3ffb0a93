"""Plots as pictures between the lines of a terminal: matplotlib draws them, and kitty's protocol shows them.

A picture takes the rows and columns of characters that the drawing in braille would take. Its background is
transparent, and its colours can be read on light and on dark.
"""

from __future__ import annotations

from base64 import b64encode
from itertools import count
from typing import Any

import agrad
from agrad.grammar.results import Plot

WIDEST = 100  # columns: a wider picture shows nothing more
_CHUNK = 4096  # bytes of a picture in one command of kitty's protocol
_GREY = "#757575"  # 4.6 times as bright as black, and white 4.6 times as bright as it
_CURVES = ("#0b7fab", "#d1495b", "#2e8b57", "#9b5fc0", "#b0701c", "#6b7f2a")  # of the hues of the terminal's drawing
_NUMBERS = count(1)  # of pictures, by which kitty knows them


def looks(cell: tuple[int, int]) -> dict[str, Any]:
    """How matplotlib draws for a terminal: what is not a curve is grey."""
    grey = ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color")
    return {
        **dict.fromkeys(grey, _GREY),
        "grid.color": _GREY,
        "axes.prop_cycle": f"cycler(color={_CURVES})",
        "legend.framealpha": 0,
        "savefig.transparent": True,
        "lines.linewidth": max(cell[1] / 12, 1.2) * 72 / dots(cell),
    }


def dots(cell: tuple[int, int]) -> float:
    """The dots in an inch with which letters of ten points are as high as those of the terminal."""
    return cell[1] * 5.4


def picture(plot: Plot, columns: int, rows: int, cell: tuple[int, int]) -> tuple[str, str]:
    """The text that shows a plot in so many characters, the cursor ending below; and the text that takes it away again.

    `cell`: the pixels of a character. Raises AgradError of kind `extra` without matplotlib.
    """
    resolution = dots(cell)
    size = columns * cell[0] / resolution, rows * cell[1] / resolution
    made = agrad.grammar.commands.plot.files.drawn(plot, ".png", size, resolution, looks(cell))
    room = "\n" * rows + f"\x1b[{rows}A"  # so that nothing moves while the picture is shown
    number = next(_NUMBERS)
    return f"{room}{kitty(made, columns, rows, number)}\r\x1b[{rows}B", f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\"


def kitty(png: bytes, columns: int, rows: int, number: int) -> str:
    """A picture by kitty's protocol, in pieces; without an answer, and without moving the cursor."""
    data = b64encode(png).decode()
    pieces = [data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK)]
    first = f"a=T,f=100,i={number},c={columns},r={rows},C=1,q=2,"
    parts = [
        f"\x1b_G{first * (not place)}m={int(place < len(pieces) - 1)};{piece}\x1b\\"
        for place, piece in enumerate(pieces)
    ]
    return "".join(parts)
