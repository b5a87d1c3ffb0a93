"""`save`: the statements of a session, as a script that gives the same names, values and gradients, or a page.

A script has the statements in effect. A page, by the ending `.md` or `.html`, is the transcript of the session: all
that was typed, also what failed or was undone, with what was shown for it.
"""

from __future__ import annotations

import itertools
import os.path
import re
import zlib
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from html import escape
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeAlias

from agrad.engine.core.context import require_files
from agrad.engine.errors import AgradError, Label
from agrad.engine.text import beside as beside_module
from agrad.engine.text import counted, printable
from agrad.grammar.commands.plot.files import drawn
from agrad.grammar.commands.registry import COMMANDS, Call, Session, of
from agrad.grammar.diagnostics import Span
from agrad.grammar.files import beside, read_text, write_text
from agrad.grammar.results import Plot, Printed
from agrad.grammar.session.log import Entry, Exchange, Picture, Transcript, number_of, statements
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.readings import is_in_python
from agrad.lazy import pattern

_HEAD = pattern(r"(?:#|<!--) saved by agrad: \d+ statements?, mark ([0-9a-f]{8})(?: -->)?\n")
_MARKDOWN, _HTML = (".md", ".markdown"), (".html", ".htm")  # the endings of pages
# The endings of what `save` does not write: other programs would not read a script of that name.
_OTHERS = frozenset(".pdf .docx .doc .odt .rtf .tex .ipynb .py .json .csv .png .svg .jpg .jpeg .gif .xlsx".split())
_REMARK = "# A file name that is computed is relative to the folder in which agrad is started.\n"
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"})


def save(session: Session, call: Call) -> None:
    """Write the log of a session to the file that `save "f.ag"` names, or its transcript to `"f.md"` or `"f.html"`.

    Raises AgradError of kind `file` for a file that cannot be written, and for one that `save` did not write.
    """
    path = call.values[0]
    labels = [Label(call.operand(0).span)]
    try:
        require_files(f"cannot write {path}")  # first, so that it does not show whether the file exists
        _refuse_strangers(path)
        text, count = _content(session, call, path)
        if not count:
            raise AgradError("file", "there is nothing to save: no statement is in effect", labels=[Label(call.span)])
        write_text(path, text)
    except AgradError as problem:
        problem.labels = problem.labels or labels
        raise
    session.emit(Printed(f"wrote {printable(path)}: {counted(count, 'statement')}"))


def _content(session: Session, call: Call, path: str) -> tuple[str, int]:
    """What goes into a file, by its ending, and the number of statements in it."""
    stem, ending = os.path.splitext(path)
    if ending.lower() not in (*_MARKDOWN, *_HTML):
        if ending.lower() in _OTHERS:
            message = f"save writes a script, or the transcript as .md or .html, and not {ending}"
            fixes = [f'save "{printable(stem)}{other}"' for other in (".ag", ".md", ".html")]
            raise AgradError("file", message, fixes=fixes)
        return script(session.record.entries, os.path.dirname(os.path.abspath(os.path.expanduser(path))))

    found = session.record.transcript
    count = sum(len(exchange.statements) for exchange in found.exchanges) - 1  # without the one that is running
    shown = parts(found)
    body = markdown(shown) if ending.lower() in _MARKDOWN else html(shown, os.path.basename(stem))
    return f"<!-- saved by agrad: {counted(count, 'statement')}, mark {_mark(body)} -->\n{body}", count


def script(entries: Iterable[Entry], folder: str) -> tuple[str, int]:
    """The script that repeats entries when it is in a folder, and the number of entries in it.

    Everything up to the last `reset` is left out. Paths start in the folder of the script, wherever agrad is
    started; random numbers are as they were.
    """
    lines: list[str] = []
    count, computed = 0, False
    entries = list(entries)
    named = _results_read(entries)
    for entry, statement in statements(entries):
        made = of(statement)
        if made is not None and made.clears:
            lines, count, computed = [], 0, False
            continue
        if entry.seed is not None:
            seeds = f"manual_seed({entry.seed})"
            lines.append(f"import torch as _t; _t.{seeds}; del _t" if is_in_python(entry.span) else seeds)
        moved = dict(_moved(statement, folder))
        computed = computed or None in moved.values()
        lines.append(_written(statement, {span: text for span, text in moved.items() if text is not None}))
        lines += named.get(entry, [])
        count += 1
    body = (_REMARK if computed else "") + "".join(f"{line}\n" for line in lines)
    return f"# saved by agrad: {counted(count, 'statement')}, mark {_mark(body)}\n{body}", count


def _results_read(entries: list[Entry]) -> dict[Entry, list[str]]:
    """For each line whose result is read as `_5` later, its last entry, and a statement that keeps the result."""
    read = {int(name) for entry in entries for name in re.findall(r"\b_(\d+)\b", entry.span.source.text)}
    last = {number_of(entry): entry for entry in entries if not entry.span.source.is_file}
    return {entry: [f"_{number} = _"] for number, entry in last.items() if number in read}


def _mark(body: str) -> str:
    """The checksum that shows whether a script is as it was saved."""
    return f"{zlib.crc32(body.encode(errors='backslashreplace')):08x}"


def _written(statement: ast.Statement, moved: dict[Span, str]) -> str:
    """A statement as it was typed, except for its paths; with the `;` that suppresses its output."""
    span, text = statement.span, statement.span.source.text
    parts, start = [], span.start
    for place in sorted(moved, key=lambda place: place.start):
        parts += [text[start : place.start], moved[place]]
        start = place.end
    return "".join([*parts, text[start : span.end], ";" if _is_silent(statement) else ""])


def _is_silent(statement: ast.Statement) -> bool:
    """Whether a statement ends with a value that is not shown."""
    last = statement
    while inside := [block for block in ast.blocks(last) or [getattr(last, "body", ())] if block]:
        last = inside[-1][-1]
    return isinstance(last, ast.Evaluate) and last.silent


# Paths


def _moved(statement: ast.Statement, folder: str) -> Iterator[tuple[Span, str | None]]:
    """The paths in a statement, and how each is written in a script of a folder; None for one that is computed."""
    for part in ast.nodes(statement):
        match part:
            case ast.Command(word, (ast.String(path, span=span),)) if COMMANDS[word].loads:
                yield span, _literal(beside(path, span), path, folder)
            case ast.Call(ast.Name("beside"), (ast.String(path, span=span),), ()):
                yield span, _literal(beside(path, span), path, folder)
            case ast.Call(ast.Name("load_csv" | "load_npy" | "chunks"), arguments, keywords):
                given = arguments[0] if arguments else dict(keywords).get("path")
                match given:
                    case ast.String(path, span=span):
                        text = _literal(path, path, folder)
                        yield span, text if _is_fixed(path) else f"beside({text})"
                    case None | ast.Call(ast.Name("beside"), (ast.String(),), ()):
                        pass
                    case _:
                        yield given.span, None


def _is_fixed(path: str) -> bool:
    """Whether a path is the same from every folder."""
    return os.path.isabs(path) or path.startswith("~")


def _literal(found: str, path: str, folder: str) -> str:
    """A path as a string of the language: as it was, or as seen from a folder."""
    if not _is_fixed(path):
        try:
            path = os.path.relpath(found, folder).replace(os.sep, "/")
        except ValueError:  # on another drive
            path = os.path.abspath(found)
    return f'"{path.translate(_ESCAPES)}"'


# Existing files


def _refuse_strangers(path: str) -> None:
    """Refuse to overwrite a file that `save` did not write, or that was changed since."""
    target = os.path.expanduser(path)
    if not os.path.isfile(target):
        return
    try:
        text = read_text(target, of_script=True)
    except AgradError:
        text = ""
    if is_saved(text):
        return
    why = "has been changed since it was saved" if _HEAD.match(text) else "already exists, and save did not write it"
    raise AgradError("file", f"{path} {why}", fixes=[f'save "{_free(path)}"   writes another file'])


def is_saved(text: str) -> bool:
    """Whether a file is as `save` wrote it."""
    found = _HEAD.match(text)
    return found is not None and found[1] == _mark(text[found.end() :])


def _free(path: str) -> str:
    """A path similar to this one, at which there is no file."""
    stem, ending = os.path.splitext(path)
    others = (f"{stem}-{number}{ending}" for number in itertools.count(2))
    return next(other for other in others if not os.path.exists(os.path.expanduser(other)))


# A transcript as a page: Markdown or HTML that loads nothing else. Plots and graphs are pictures in it.


class Typed(NamedTuple):
    """A line that was typed, behind its prompt."""

    prompt: str
    text: str


Part: TypeAlias = Typed | str | Picture


def parts(transcript: Transcript) -> Iterator[Part]:
    """What a session shows, line by line typed, and answer by answer, without the statement that is running."""
    if transcript.left_out:
        texts = "text is" if transcript.left_out == 1 else f"{transcript.left_out:,} texts are"
        yield f"(the first {texts} no longer kept)"
    for exchange in transcript.exchanges:
        end = len(exchange.source.text)
        if exchange is transcript.exchanges[-1] and exchange.statements:
            end = exchange.statements[-1].start
        yield from _of_one(exchange, end)


def _of_one(exchange: Exchange, end: int) -> Iterator[Part]:
    """A text up to a place, each of its answers below the line where its statement ends."""
    waiting = deque(answer for answer in exchange.answers if answer[0] <= end)
    number, start = exchange.source.first_line, 0
    for line in exchange.source.text[:end].rstrip().split("\n"):
        if line.strip():
            yield Typed(_prompt(exchange, number, start), line)
        start += len(line) + 1
        number += 1
        while waiting and waiting[0][0] < start:
            yield waiting.popleft()[1]
    yield from (answer for _, answer in waiting)
    if exchange.left_out:
        yield f"({exchange.left_out:,} more answers are not kept)"
    if exchange.restored:
        yield "(restored: what it showed is not kept)"


def _prompt(exchange: Exchange, number: int, start: int) -> str:
    """The prompt of the line that begins at a place of a text."""
    source = exchange.source
    first = f"agrad {source.first_line if source.is_entry else number}> "
    inside = any(statement.start < start < statement.end for statement in exchange.statements)
    return f"{'...> ':>{len(first)}}" if inside or (source.is_entry and start) else first


# The page.

_SIZE = (7, 4.4)  # of a plot, in inches


def markdown(parts: Iterable[Part]) -> str:
    """A transcript as Markdown: code blocks, plots as PNG pictures, graphs as diagrams of Mermaid."""
    blocks = _blocks(parts, _drawn_in_markdown, lambda group: fenced("\n".join(map(_line, group)), "agrad"))
    return "\n\n".join(blocks) + "\n"


def html(parts: Iterable[Part], title: str) -> str:
    """A transcript as a page for a browser: plots and graphs as SVG pictures."""
    body = _blocks(parts, _drawn_in_html, lambda group: "<pre>" + "\n".join(map(_line_of_html, group)) + "</pre>")
    head, _, foot = beside_module(__file__, "page.html").partition("{{body}}")
    return head.replace("{{title}}", escape(printable(title))) + "\n".join(body) + foot


def _blocks(parts: Iterable[Part], picture: Callable[[Any], str], lines: Callable[[Any], str]) -> Iterator[str]:
    """The pictures among parts, and the lines between two of them together, each as a page has them."""
    for pictured, group in itertools.groupby(parts, _is_drawn):
        if pictured:
            yield from map(picture, group)
        else:
            yield lines(group)


def _line_of_html(part: Part) -> str:
    """A part as text in HTML."""
    if not isinstance(part, Typed):
        return escape(_line(part), quote=False)
    typed = escape(printable(part.text), quote=False)
    return f'<span class="prompt">{escape(part.prompt)}</span><span class="typed">{typed}</span>'


def _line(part: Part) -> str:
    """A part as text."""
    if isinstance(part, Typed):
        return part.prompt + printable(part.text)
    return printable(part.text if isinstance(part, Picture) else part)


def _is_drawn(part: Part) -> bool:
    """Whether a part is drawn as a picture; without matplotlib, plots stay as the terminal shows them."""
    return isinstance(part, Picture) and (part.plot is None or find_spec("matplotlib") is not None)


def fenced(text: str, language: str) -> str:
    """A code block, in a fence that is longer than any in it."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def _drawn_in_markdown(picture: Picture) -> str:
    if picture.plot is None:
        return f"{fenced(_line(picture), 'agrad')}\n\n{fenced(picture.mermaid.rstrip(), 'mermaid')}"
    drawn = plotted(picture.plot, ".png")
    return fenced(_line(picture), "agrad") if not drawn else f"![{named(picture.plot)}]({data_address('png', drawn)})"


def _drawn_in_html(picture: Picture) -> str:
    text, plot = f"<pre>{escape(_line(picture), quote=False)}</pre>", picture.plot
    drawn = picture.svg.encode() if plot is None else plotted(plot, ".svg")
    name = "graph" if plot is None else named(plot)
    figure = f'<figure><img alt="{escape(name)}" src="{data_address("svg+xml", drawn)}"></figure>'
    return text if not drawn else figure if plot is not None else f"{text}\n{figure}"


def named(plot: Plot) -> str:
    """What a plot is called where it is not seen."""
    names = ", ".join(curve.name for curve in plot.curves)
    return re.sub(r"[\[\]\s]+", " ", printable(plot.title or f"plot of {names}")).strip()


def plotted(plot: Plot, form: str) -> bytes:
    """A plot in the form of a file; empty where matplotlib does not load."""
    try:
        return drawn(plot, form, _SIZE)
    except AgradError as problem:
        if problem.kind == "extra":
            return b""
        raise


def data_address(kind: str, content: bytes) -> str:
    """The address of a picture that is in the page itself."""
    return f"data:image/{kind};base64,{b64encode(content).decode()}"
