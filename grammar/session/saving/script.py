"""`save`: the statements of a session, as a script that gives the same names, values and gradients, or a page.

A script has the statements in effect. A page, by the ending `.md` or `.html`, is the transcript of the session: all
that was typed, also what failed or was undone, with what was shown for it.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from agrad.engine.errors import AgradError, Label
from agrad.engine.ops.data_files import require_files
from agrad.engine.text import printable
from agrad.grammar.commands.registry import COMMANDS, Call, of
from agrad.grammar.diagnostics import Span
from agrad.grammar.files import beside, read_text, write_text
from agrad.grammar.results import Printed
from agrad.grammar.session.log import Entry, number_of, statements
from agrad.grammar.session.saving.transcript import parts
from agrad.grammar.syntax import ast

if TYPE_CHECKING:
    from agrad.grammar.commands.host import Session

_HEAD = re.compile(r"(?:#|<!--) saved by agrad: \d+ statements?, mark ([0-9a-f]{8})(?: -->)?\n")
_MARKDOWN, _HTML = (".md", ".markdown"), (".html", ".htm")  # the endings of pages
# The endings of what `save` does not write: other programs would not read a script of that name.
_OTHERS = frozenset(".pdf .docx .doc .odt .rtf .tex .ipynb .py .json .csv .png .svg .jpg .jpeg .gif .xlsx".split())
_READERS = frozenset({"load_csv", "load_npy", "chunks"})
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
    session.emit(Printed(f"wrote {printable(path)}: {_statements(count)}"))


def _content(session: Session, call: Call, path: str) -> tuple[str, int]:
    """What goes into a file, by its ending, and the number of statements in it."""
    stem, ending = os.path.splitext(path)
    if ending.lower() not in (*_MARKDOWN, *_HTML):
        if ending.lower() in _OTHERS:
            message = f"save writes a script, or the transcript as .md or .html, and not {ending}"
            fixes = [f'save "{printable(stem)}{other}"' for other in (".ag", ".md", ".html")]
            raise AgradError("file", message, fixes=fixes)
        return script(session.record.entries, os.path.dirname(os.path.abspath(os.path.expanduser(path))))
    from agrad.grammar.session.saving.pages import html, markdown  # here, since few sessions are saved as pages

    found = session.record.transcript
    count = sum(len(exchange.statements) for exchange in found.exchanges) - 1  # without the one that is running
    shown = parts(found)
    body = markdown(shown) if ending.lower() in _MARKDOWN else html(shown, os.path.basename(stem))
    return f"<!-- saved by agrad: {_statements(count)}, mark {_mark(body)} -->\n{body}", count


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
            lines.append(f"manual_seed({entry.seed})")
        moved = dict(_moved(statement, folder))
        computed = computed or None in moved.values()
        lines.append(_written(statement, {span: text for span, text in moved.items() if text is not None}))
        lines += named.get(entry, [])
        count += 1
    body = (_REMARK if computed else "") + "".join(f"{line}\n" for line in lines)
    return f"# saved by agrad: {_statements(count)}, mark {_mark(body)}\n{body}", count


def _results_read(entries: list[Entry]) -> dict[Entry, list[str]]:
    """For each line whose result is read as `_5` later, its last entry, and a statement that keeps the result."""
    read = {int(name) for entry in entries for name in re.findall(r"\b_(\d+)\b", entry.span.source.text)}
    last = {number_of(entry): entry for entry in entries if not entry.span.source.is_file}
    return {entry: [f"_{number} = _"] for number, entry in last.items() if number in read}


def _statements(count: int) -> str:
    return f"{count} statement{'' if count == 1 else 's'}"


def _mark(body: str) -> str:
    """The checksum that shows whether a script is as it was saved."""
    import zlib  # here, since few sessions are saved

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
    while True:
        match last:
            case ast.If(branches, otherwise):
                last = (otherwise or branches[-1][1])[-1]
            case ast.For() | ast.While() | ast.NoGrad() | ast.DetectAnomaly() | ast.Time():
                last = last.body[-1]
            case ast.Fails() | ast.Define() | ast.Class():
                last = last.body[-1]
            case _:
                return isinstance(last, ast.Evaluate) and last.silent


# Paths


def _moved(statement: ast.Statement, folder: str) -> Iterator[tuple[Span, str | None]]:
    """The paths in a statement, and how each is written in a script of a folder; None for one that is computed."""
    waiting: list[object] = [statement]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting += part
        if not isinstance(part, ast.Node):
            continue
        waiting += [getattr(part, name) for name in type(part).fields]
        match part:
            case ast.Command(word, (ast.String(path, span),)) if COMMANDS[word].loads:
                yield span, _literal(beside(path, span), path, folder)
            case ast.Call(ast.Name("beside"), (ast.String(path, span),), ()):
                yield span, _literal(beside(path, span), path, folder)
            case ast.Call(function, arguments, keywords) if _is_reader(function):
                given = arguments[0] if arguments else dict(keywords).get("path", dict(keywords).get("fname"))
                if isinstance(given, ast.String):
                    text = _literal(given.value, given.value, folder)
                    yield given.span, text if _is_fixed(given.value) else f"beside({text})"
                elif given is not None and not _is_beside(given):
                    yield given.span, None


def _is_reader(function: ast.Expr) -> bool:
    """Whether a function reads a file: also numpy's, by its name there."""
    match function:
        case ast.Name(name):
            return name in _READERS
        case ast.Attribute(ast.Name("np" | "numpy"), "loadtxt"):
            return True
    return False


def _is_beside(node: ast.Expr) -> bool:
    match node:
        case ast.Call(ast.Name("beside"), (ast.String(),), ()):
            return True
    return False


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
        text = read_text(target)
    except AgradError:
        text = ""
    found = _HEAD.match(text)
    if found is not None and found[1] == _mark(text[found.end() :]):
        return
    why = "has been changed since it was saved" if found else "already exists, and save did not write it"
    raise AgradError("file", f"{path} {why}", fixes=[f'save "{_free(path)}"   writes another file'])


def _free(path: str) -> str:
    """A path similar to this one, at which there is no file."""
    stem, ending = os.path.splitext(path)
    number = 2
    while os.path.exists(os.path.expanduser(f"{stem}-{number}{ending}")):
        number += 1
    return f"{stem}-{number}{ending}"
