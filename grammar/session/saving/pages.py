"""A transcript as a page: Markdown or HTML that loads nothing else. Plots and graphs are pictures in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from agrad.engine.errors import AgradError
from agrad.engine.text import printable
from agrad.grammar.session.saving.transcript import Picture, Typed

if TYPE_CHECKING:
    from agrad.grammar.results import Plot

    Part = Typed | str | Picture

_SIZE = (7, 4.4)  # of a plot, in inches
_STYLE = """\
:root { color-scheme: light dark }
body { margin: 2em auto; max-width: 60em; padding: 0 1em }
pre { font: 14px/1.35 ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; margin: 0;
  overflow-x: auto }
.prompt { opacity: 0.55; user-select: none }
.typed { font-weight: bold }
figure { margin: 1em 0 }
img { background: #fff; max-width: 100% }
@media print { pre { overflow-wrap: anywhere; white-space: pre-wrap } }"""


def markdown(parts: Iterable[Part]) -> str:
    """A transcript as Markdown: code blocks, plots as PNG pictures, graphs as diagrams of Mermaid."""
    blocks = []
    for pictured, group in groupby(parts, lambda part: _is_drawn(part)):
        if pictured:
            blocks += [_drawn_in_markdown(part) for part in group if isinstance(part, Picture)]
        else:
            blocks.append(_fenced("\n".join(map(_line, group)), "agrad"))
    return "\n\n".join(blocks) + "\n"


def html(parts: Iterable[Part], title: str) -> str:
    """A transcript as a page for a browser: plots and graphs as SVG pictures."""
    from html import escape  # here, since few sessions are saved as pages

    body = []
    for pictured, group in groupby(parts, lambda part: _is_drawn(part)):
        if pictured:
            body += [_drawn_in_html(part) for part in group if isinstance(part, Picture)]
            continue
        lines = [_typed(part) if isinstance(part, Typed) else escape(_line(part), quote=False) for part in group]
        body.append("<pre>" + "\n".join(lines) + "</pre>")
    head = [
        "<!doctype html>",
        '<html lang="en">',
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{escape(printable(title))}</title>",
        f"<style>\n{_STYLE}\n</style>",
    ]
    return "\n".join([*head, *body, "</html>", ""])


def _line(part: Part) -> str:
    """A part as text."""
    if isinstance(part, Typed):
        return part.prompt + printable(part.text)
    return printable(part.text if isinstance(part, Picture) else part)


def _typed(line: Typed) -> str:
    """A line that was typed, in HTML."""
    from html import escape  # here, as above

    prompt, text = escape(line.prompt), escape(printable(line.text), quote=False)
    return f'<span class="prompt">{prompt}</span><span class="typed">{text}</span>'


def _is_drawn(part: Part) -> bool:
    """Whether a part is drawn as a picture; without matplotlib, plots stay as the terminal shows them."""
    if not isinstance(part, Picture):
        return False
    if part.plot is None:
        return True
    from importlib.util import find_spec  # here, since few transcripts have plots

    return find_spec("matplotlib") is not None


def _fenced(text: str, language: str) -> str:
    """A code block, in a fence that is longer than any in it."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def _drawn_in_markdown(picture: Picture) -> str:
    if picture.plot is None:
        return f"{_fenced(_line(picture), 'agrad')}\n\n{_fenced(picture.mermaid.rstrip(), 'mermaid')}"
    drawn = _plot(picture.plot, ".png")
    return _fenced(_line(picture), "agrad") if not drawn else f"![{_named(picture.plot)}]({_data('png', drawn)})"


def _drawn_in_html(picture: Picture) -> str:
    from html import escape  # here, as above

    name, text = "graph", f"<pre>{escape(_line(picture), quote=False)}</pre>"
    if picture.plot is None:
        drawn = picture.svg.encode()
    else:
        name, drawn = _named(picture.plot), _plot(picture.plot, ".svg")
    figure = f'<figure><img alt="{escape(name)}" src="{_data("svg+xml", drawn)}"></figure>'
    if picture.plot is None:
        return f"{text}\n{figure}" if drawn else text
    return figure if drawn else text


def _named(plot: Plot) -> str:
    """What a plot is called where it is not seen."""
    names = ", ".join(curve.name for curve in plot.curves)
    return re.sub(r"[\[\]\s]+", " ", printable(plot.title or f"plot of {names}")).strip()


def _plot(plot: Plot, form: str) -> bytes:
    """A plot in the form of a file; empty where matplotlib does not load."""
    from agrad.grammar.commands.plot.files import drawn

    try:
        return drawn(plot, form, _SIZE)
    except AgradError as problem:
        if problem.kind == "extra":
            return b""
        raise


def _data(kind: str, content: bytes) -> str:
    """The address of a picture that is in the page itself."""
    from base64 import b64encode  # here, as above

    return f"data:image/{kind};base64,{b64encode(content).decode()}"
