r"""The picture of a graph for LaTeX: a document of its own with a tikzpicture, which may be taken out of it.

A pixel of the drawing is 0.75 of TeX's big points, as in a browser. The texts use what every TeX has; characters
outside of ASCII become commands where LaTeX has one, so that pdflatex reads the file.
"""

from __future__ import annotations

from collections.abc import Iterator

from agrad.engine.inspect.dump.graph_rows import GraphRows
from agrad.engine.inspect.dump.pictures.drawing import (
    INSIDE,
    PAPER,
    SIZE,
    STROKE,
    STYLES,
    TIP,
    Box,
    Drawing,
    Line,
    Style,
    Text,
    drawing,
)

_SCALE = 0.75
_FONT = rf"\fontsize{{{SIZE * _SCALE:g}bp}}{{{SIZE * _SCALE:g}bp}}\selectfont\ttfamily"
_SPECIAL = {
    **{sign: f"\\{sign}" for sign in "#$%&_{}"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "-": "{-}",  # two of them would be a dash
    "…": "…",  # LaTeX reads it
    "×": r"\ensuremath{\times}",
    "·": r"\ensuremath{\cdot}",
    "±": r"\ensuremath{\pm}",
    "\ufffd": "?",
}
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ",
        (
            "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon "
            "varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
        ).split(),
        strict=True,
    )
)


def render(graph: GraphRows, precision: int | None) -> str:
    """A LaTeX document. Raises AgradError of kind `extra` if the library is not installed that places the boxes."""
    picture = drawing(graph, precision)
    colours = _colours(picture)
    return "\n".join(
        [
            r"\documentclass[border=0pt]{standalone}",
            r"\usepackage[T1]{fontenc}",
            r"\usepackage[utf8]{inputenc}",
            r"\usepackage{textcomp}",
            r"\usepackage{tikz}",
            *(rf"\definecolor{{{name}}}{{HTML}}{{{_html(colour)}}}" for colour, name in colours.items()),
            r"\begin{document}",
            rf"\begin{{tikzpicture}}[x={_SCALE}bp, y=-{_SCALE}bp, line width={_SCALE}bp,",
            *(f"  {look}," for look in _looks(picture, colours)),
            "]",
            rf"  \useasboundingbox (0, 0) rectangle ({picture.width}, {picture.height});",
            *(f"  {row}" for row in _rows(picture, colours)),
            r"\end{tikzpicture}",
            r"\end{document}",
        ]
    )


def _colours(picture: Drawing) -> dict[str, str]:
    """The colours of the styles, each with its name in the document."""
    used = [STROKE, PAPER, *(colour for style in picture.styles.values() for colour in (style.fill, style.stroke))]
    return {colour: f"agrad{place}" for place, colour in enumerate(filter(None, dict.fromkeys(used)))}


def _html(colour: str) -> str:
    digits = colour.removeprefix("#")
    return (digits if len(digits) == 6 else "".join(digit * 2 for digit in digits)).upper()


def _looks(picture: Drawing, colours: dict[str, str]) -> Iterator[str]:
    """The styles of the parts of a picture."""
    stroke, paper = colours[STROKE], colours[PAPER]
    yield f"agrad text/.style={{anchor=base west, inner sep=0pt, font={{{_FONT}}}}}"
    yield rf"heading/.style={{agrad text, font={{{_FONT}\bfseries}}}}"
    yield f"box/.style={{draw={stroke}, fill={paper}}}"
    yield f"round box/.style={{box, rounded corners={INSIDE * _SCALE:g}bp}}"
    yield f"line/.style={{draw={stroke}}}"
    yield f"tip/.style={{fill={stroke}}}"
    for mark, style in picture.styles.items():
        yield f"{mark}/.style={{{_look(style, colours)}}}"
        if style.fill:
            yield f"{mark} box/.style={{{mark}, fill={colours[style.fill]}}}"


def _look(style: Style, colours: dict[str, str]) -> str:
    looks = [f"draw={colours[style.stroke]}"] if style.stroke else []
    if style.dashes:
        on, off = (length * _SCALE for length in style.dashes)
        looks.append(f"dash pattern=on {on:g}bp off {off:g}bp")
    return ", ".join(looks)


def _rows(picture: Drawing, colours: dict[str, str]) -> Iterator[str]:
    for item in picture.items:
        if isinstance(item, Text):
            yield _text(item)
        elif isinstance(item, Line):
            yield from _line(item, colours)
        else:
            yield from _box(item)


def _text(text: Text) -> str:
    return rf"\node[{'heading' if text.bold else 'agrad text'}] at ({text.x}, {text.y}) {{{escape(text.text)}}};"


def _box(box: Box) -> Iterator[str]:
    marks = [f"{mark} box" if STYLES[mark].fill else mark for mark in box.marks]
    look = ", ".join(["round box" if box.is_round else "box", *marks])
    yield rf"\path[{look}] ({box.x}, {box.y}) rectangle ++({box.width}, {box.height});"
    yield from map(_text, box.texts)


def _line(line: Line, colours: dict[str, str]) -> Iterator[str]:
    path = [_point(line.start)]
    for piece in line.pieces:
        if len(piece) == 3:
            path.append(f".. controls {_point(piece[0])} and {_point(piece[1])} .. {_point(piece[2])}")
        else:
            path.append(f"-- {_point(piece[0])}")
    yield rf"\path[{', '.join(['line', *line.marks])}] {' '.join(path)};"
    tip = "tip" if line.stroke == STROKE else f"tip, fill={colours[line.stroke]}"
    yield rf"\path[{tip}] {_point(line.tip)} -- ++(-4, -{TIP}) -- ++(8, 0) -- cycle;"


def _point(point: tuple[int, int]) -> str:
    return f"({point[0]}, {point[1]})"


def escape(text: str) -> str:
    """A text for LaTeX, which shows it as it is; a character that pdflatex does not know becomes a question mark."""
    return "".join(map(_sign, text)).replace("  ", "~~")


def _sign(sign: str) -> str:
    if sign in _SPECIAL:
        return _SPECIAL[sign]
    if sign in _GREEK:
        return rf"\ensuremath{{\{_GREEK[sign]}}}"
    return sign if ord(sign) < 0x180 and sign.isprintable() else "?"
