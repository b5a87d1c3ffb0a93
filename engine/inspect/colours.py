"""The colours and signs of the nodes of a graph, the same in pictures and on pages.

Each kind has a sign beside its colour, so that nothing is told by colour alone. The hues are those of Okabe and Ito
(Color Universal Design, 2008), darker on white paper and lighter on dark: the signs are read as text is.
"""

from __future__ import annotations

from typing import NamedTuple


class Look(NamedTuple):
    """A sign, which fonts for terminals have (Windows Glyph List 4), and colours in six hexadecimal digits."""

    sign: str
    said: str
    line: str  # of the sign and of the box, on light paper
    fill: str
    dark_line: str  # and on dark
    dark_fill: str


LOOKS = {
    "leaf": Look("▲", "leaf", "#1f66ad", "#dcebfb", "#6fb1f5", "#17324f"),
    "constant": Look("○", "no gradient", "#6b6000", "#f1f1ec", "#d6c54a", "#1b2027"),
    "operation": Look("●", "operation", "#3f4854", "#ffffff", "#dfe4ea", "#212934"),
    "result": Look("▼", "result", "#8f1d8f", "#fbe9f3", "#f59acb", "#40203a"),
    "saved": Look("■", "holds saved values", "#00694a", "#ffffff", "#3fd0a0", "#212934"),
    "freed": Look("□", "freed", "#5f6672", "#e9eaed", "#939ba9", "#262a31"),
}
