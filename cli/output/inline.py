"""Plots as pictures between the lines of a terminal: matplotlib draws them, and three protocols show them.

A picture takes the rows and columns of characters that the drawing in braille would take. Its background is
transparent, and its colours can be read on light and on dark.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from io import BytesIO
from itertools import count, groupby
from typing import Any

from agrad.cli.terminal.terminal import Graphics
from agrad.engine.extras import extra
from agrad.engine.values import np
from agrad.grammar.results import Plot

WIDEST = 100  # columns: a wider picture shows nothing more
_CHUNK = 4096  # bytes of a picture in one command of kitty's protocol
_COLOURS = 63  # of a picture in sixel, besides transparency
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


def picture(plot: Plot, columns: int, rows: int, how: Graphics) -> tuple[str, str]:
    """The text that shows a plot in so many characters, the cursor ending below; and the text that takes it away again.

    Raises AgradError of kind `extra` without matplotlib.
    """
    from agrad.grammar.commands.plot.files import drawn  # here, since few plots are pictures

    width, height = columns * how.cell[0], rows * how.cell[1]
    if how.largest is not None and how.protocol == "sixel":
        width, height = min(width, how.largest[0]), min(height, how.largest[1])
    resolution = dots(how.cell)
    made = drawn(plot, ".png", (width / resolution, height / resolution), resolution, looks(how.cell))
    room = "\n" * rows + f"\x1b[{rows}A"  # so that nothing moves while the picture is shown
    below = f"\r\x1b[{rows}B"
    if how.protocol == "kitty":
        number = next(_NUMBERS)
        return room + kitty(made, columns, rows, number) + below, f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\"
    shown = iterm(made, columns, rows) if how.protocol == "iterm2" else sixel(made, how.background)
    return f"{room}\x1b7{shown}\x1b8{below}", ""


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


def iterm(png: bytes, columns: int, rows: int) -> str:
    """A picture by the protocol of iTerm2, which WezTerm and others know too."""
    size = f"size={len(png)};width={columns};height={rows};preserveAspectRatio=0"
    return f"\x1b]1337;File=inline=1;{size}:{b64encode(png).decode()}\x07"


def sixel(png: bytes, background: tuple[int, int, int] | None) -> str:
    """A picture in sixel: strips of six rows, in each the columns of dots of one colour after another.

    Sixel has no half-transparent dots: on a background that is known they are mixed with it, on another they are
    either there or not.
    """
    pillow = extra("PIL.Image", "a plot as a picture", "Pillow", "plot")  # which matplotlib needs itself
    image = pillow.open(BytesIO(png)).convert("RGBA")
    there = np.asarray(image)[:, :, 3] >= (128 if background is None else 1)
    solid = pillow.new("RGBA", image.size, (*(background or (0, 0, 0)), 255))
    mixed = pillow.alpha_composite(solid, image) if background is not None else image
    few = mixed.convert("RGB").quantize(_COLOURS, dither=pillow.Dither.NONE)
    places = np.where(there, np.asarray(few, dtype=int), -1)
    colours = np.asarray(few.getpalette() or (), dtype=int).reshape(-1, 3)
    height, width = places.shape
    palette = "".join(
        f"#{number};2;{';'.join(str(round(part * 100 / 255)) for part in colour)}"
        for number, colour in enumerate(colours)
    )
    strips = (places[top : top + 6] for top in range(0, height, 6))
    return f'\x1bP0;1;0q"1;1;{width};{height}{palette}{"-".join("$".join(_strip(strip)) for strip in strips)}\x1b\\'


def _strip(places: Any) -> Iterator[str]:
    """The colours of a strip, each with its columns of up to six dots."""
    bits = (1 << np.arange(len(places)))[:, None]
    for number in np.unique(places[places >= 0]):
        columns = ((places == number) * bits).sum(axis=0) + 63
        yield f"#{number}" + "".join(_repeated(chr(sign), len([*run])) for sign, run in groupby(columns.tolist()))


def _repeated(sign: str, times: int) -> str:
    """A sign several times, in short where that is shorter."""
    return f"!{times}{sign}" if times > 3 else sign * times
