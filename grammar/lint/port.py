"""A script of PyTorch as agrad reads it: each line as it is, rewritten to agrad's names, or dropped, with the reason.

The statements are those of the parser, and the names those of `pytorch_names`. What is printed runs as the script does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from agrad.engine.core.op import ALIASES, FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.engine.struct import Struct
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.lint.files import nodes, pieces
from agrad.grammar.lint.lint import problems
from agrad.grammar.pytorch import names as pytorch_names
from agrad.grammar.pytorch.libraries import HERE
from agrad.grammar.pytorch.libraries import note_on_import as note_on
from agrad.grammar.runtime.builtins import CONSTANTS, entry_of
from agrad.grammar.runtime.compiler import module_name
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.lexer import typed_in
from agrad.grammar.syntax.parser import parse


class Edit(Struct):
    """A part of the text that is written differently; a dropped part has a reason."""

    start: int
    end: int
    text: str
    reason: str = ""


class Ported(Struct):
    """The script as agrad reads it, and what it cannot run."""

    text: str
    problems: list[AgradError]


def ported(source: Source, names: Iterable[str] = (), reads_files: bool = True) -> Ported:
    """A script as agrad reads it. What cannot be read or run stays as it is, with a remark. See `problems`."""
    text = source.text
    if typed_in(text) != text:  # a transcript: without its prompts
        text = typed_in(text).replace("\f", "")
    found = problems(source, names, reads_files)
    edits: list[Edit] = []
    body: list[ast.Statement] = []
    start = 0
    for piece in pieces(text):
        with suppress(AgradError):  # which is among the problems
            statements = parse(Source(source.name, piece, 1, True))
            body += statements
            edits += [Edit(start + edit.start, start + edit.end, edit.text, edit.reason) for edit in _edits(statements)]
        start += len(piece)
    taken = _taken(body)
    edits = [edit for edit in edits if edit.reason or taken.isdisjoint((edit.text, text[edit.start : edit.end]))]
    return Ported(_written(text, edits, _remarks(source, found)), found)


def _taken(body: list[ast.Statement]) -> set[str]:
    """All names in a script, which may be its own; functions of PyTorch are written with their modules."""
    found: set[str] = set()
    for node in nodes(tuple(body)):
        match node:
            case ast.Name(name) | ast.Parameter(name) | ast.Define(name) | ast.Class(name):
                found.add(name)
            case ast.Import(_, names):
                found |= {here for _, _, here in names}
    return found


def _edits(body: Any) -> Iterator[Edit]:
    """What is written differently in some statements."""
    for node in nodes(body):
        match node:
            case ast.Import():
                yield from _import(node)
            case ast.Call(ast.Attribute() as function):
                yield from _call(node, function)
            case ast.Attribute():
                module = module_name(node)
                if module is not None and node.name in CONSTANTS and pytorch_names.is_real(module, node.name):
                    yield _replaced(node.span, node.name)


def _import(node: ast.Import) -> Iterator[Edit]:
    """An import is dropped, unless it binds names of classes."""
    if any(pytorch_names.is_imported(module, name) for module, name, _ in node.names):
        return
    reason = "; ".join(map(note_on, node.others)) or f"the names of {_several(HERE)} are known"
    yield Edit(node.span.start, node.span.end, "", reason)


def _several(names: Any) -> str:
    *some, last = sorted(names)
    return f"{', '.join(some)} and {last}"


def _call(node: ast.Call, function: ast.Attribute) -> Iterator[Edit]:
    """A function of PyTorch or NumPy by its name here, and the arguments that have other names."""
    module, span = module_name(function), function.span
    ours = pytorch_names.RENAMED.get(function.name, function.name)
    entry = FUNCTIONS.get(ours)
    if entry is None:
        return
    if module is None:
        if ours == function.name:
            return
        span = Span(span.source, span.end - len(function.name), span.end)
    else:
        found = pytorch_names.function(module, function.name)
        if found is None or entry_of(found) is not entry:
            return
    yield _replaced(span, ours)
    for name, value in node.keywords:
        known = ALIASES.get(name, name)
        if name not in entry.signature.attributes and known != name and known in entry.signature.attributes:
            written = re.search(rf"\b{name}(?=\s*=\s*\(*$)", span.source.text[: value.span.start])
            if written is not None:
                yield Edit(written.start(), written.end(), known)


def _replaced(span: Span, text: str) -> Edit:
    return Edit(span.start, span.end, text)


def _remarks(source: Source, found: list[AgradError]) -> dict[int, str]:
    """The first problem of each line, by its number."""
    remarks: dict[int, str] = {}
    for problem in found:
        place = problem.labels[0].origin if problem.labels else None
        if isinstance(place, Span) and place.source.name == source.name:
            remarks.setdefault(place.source.position(place.start)[0] - source.first_line + 1, problem.message)
    return remarks


def _written(text: str, edits: list[Edit], remarks: dict[int, str]) -> str:
    """The text with its edits, each told at the end of its line."""
    lines, start = [], 0
    edits = sorted(edits, key=lambda edit: edit.start)
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        end = start + len(line)
        own = [edit for edit in edits if start <= edit.start < end]
        lines.append(_line(line.rstrip("\r\n"), start, own, remarks.get(number)))
        start = end
    return "\n".join(lines) + "\n" * bool(lines)


def _line(line: str, start: int, edits: list[Edit], remark: str | None) -> str:
    """One line with its edits, and a comment that tells them."""
    told: list[str] = []
    made, place = "", 0
    for edit in edits:
        first, last = edit.start - start, edit.end - start
        before = line[first:last]
        alone = not (line[:first].strip() or re.sub(r"#.*", "", line[last:]).strip(" ;"))
        if edit.reason and alone and not line[:first]:
            return f"# {line}   dropped: {edit.reason}"
        made += line[place:first] + (edit.text or "pass")
        place = last
        told.append(f"{before} dropped: {edit.reason}" if edit.reason else f"{before} -> {edit.text}")
    made += line[place:]
    if remark is not None:
        told.append(f"agrad cannot run this: {' '.join(remark.split())}")
    return f"{made}  # {', '.join(dict.fromkeys(told))}" if told and not made.endswith("\\") else made
