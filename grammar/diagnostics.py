"""Suggestions for misspelt words, and the rendering of an error or a note as plain text with a caret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from agrad.engine.errors import AgradError, Hint, Label, Note, Origin
from agrad.engine.errors import Source as Source  # `as`: the language has its places from here
from agrad.engine.errors import Span as Span
from agrad.engine.text import character_width, glued, printable, wrap
from agrad.lazy import pattern

# Wider source lines are cut to a window around the caret.
_WINDOW = 100
_LEAST = 20  # columns of it, however narrow the terminal is
_TAB = 4
_LONG = 200  # characters of a line in which words that are too long for a message are cut
_LEADING = pattern(r"[^\W\d]\w*(?![\w.])"), pattern(r"[^\W\d]\w*(?: \w+)*(?=\s*[\[(/])")  # the name in `time (s)`
_LONG_WORD = r"([\w\u0300-\u036f]{60})[\w\u0300-\u036f]{40,}"  # with marks on letters, which names may have


def suggest(word: str, candidates: Iterable[str], edits: int | None = None) -> list[str]:
    """The candidates that `word` may be a misspelling of, best first, in a fixed order.

    `edits`: by how many at most; else by 2, by 1 under six letters, and under three only in case, since too many names
    are one letter away from so short a word.
    """
    return list(_like(word, frozenset(candidates), edits))


def leading(name: str, columns: Iterable[str]) -> list[str]:
    """The columns that are called so, apart from the unit, `time` of `time (s)`: those in the same letters first."""
    known = {one: [found[0] for shape in _LEADING if (found := shape.match(one))] for one in columns}
    exact = [column for column, own in known.items() if name in own]
    return exact or [column for column, own in known.items() if name.lower() in map(str.lower, own)]


@lru_cache(maxsize=8)  # one wrong name may be in many places of a script
def _like(word: str, candidates: frozenset[str], edits: int | None) -> list[str]:
    if not word:
        return []
    allowed = edits if edits is not None else 0 if len(word) < 3 else 1 if len(word) < 6 else 2
    lower = word.lower()
    letters, ranked = {*lower}, []
    for name in candidates - {word}:
        if name.lower() == lower:
            ranked.append((0, name))
        elif abs(len(name) - len(word)) <= allowed and len(name) > 1:
            others = {*name.lower()}
            if max(len(letters - others), len(others - letters)) <= allowed:  # each of these takes an edit
                ranked.append((_distance(lower, name.lower()), name))
    return [name for distance, name in sorted(ranked) if distance <= allowed][:3]


def _distance(a: str, b: str) -> int:
    """How many letters to insert, delete, replace or swap with their neighbour to turn `a` into `b`.

    The optimal string alignment distance (Boytsov 2011, section 2.2). difflib's ratio is not suitable: it matches
    `foo` with `floor`, and does not count a swap as one error.
    """
    before: list[int] = []
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            best = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        before, above = above, row
    return above[-1]


def render(problem: AgradError | Note, severity: str | None = None, width: int | None = None) -> str:
    """The whole report: a headline, every labelled place with carets under it, the notes, the fixes.

    Plain text without colour or a final line break. Its first word is `severity`, or `error` or `note`. `width`: the
    columns of the terminal; a source line that it would break is cut, so that the carets stay below what they mark.
    """
    is_error = isinstance(problem, AgradError)
    head = severity or ("error" if is_error else "note")
    if isinstance(problem, AgradError):
        head += f"[{problem.kind}]"
    head += f": {problem.message}"
    main = main_place(problem)
    if main is not None and main.source.is_file:
        line, column = main.source.position(main.start)
        head = f"{main.source.name}:{line}:{column}: {head}"
    lines = [*_folded(head, width), *_frames(problem.labels, main, width)]
    notes = [label.text for label in problem.labels if label.origin is None]
    lines += [line for note in [*notes, *problem.notes] for line in _folded(f"  note: {note}", width)]
    lines += [line for fix in problem.fixes for line in _folded_fix(fix, width)]
    text = "\n".join(line if len(line) < _LONG else re.sub(_LONG_WORD, r"\1…", line) for line in lines)
    return printable(text)


def _folded(line: str, width: int | None, margin: str = "    ") -> list[str]:
    """A line, folded between words where the terminal would break it anywhere."""
    return [line] if width is None or len(line) <= max(width, _LEAST) else wrap(line, max(width, _LEAST), margin)


def _folded_fix(fix: str, width: int | None) -> list[str]:
    """A fix, folded in what is said about it: what is typed as it is stays in one piece, as it is copied."""
    code, gap, told = fix.partition("   ")
    if width is None or isinstance(fix, Hint) or len(f"  fix: {code}") <= max(width, _LEAST):
        whole = f"  fix: {code if isinstance(fix, Hint) else glued(code)}{gap}{told}"
        return [line.replace(glued(" "), " ") for line in _folded(whole, width)]
    return [f"  fix: {code}", *(_folded(f"    {told}", width) if told else [])]


def main_place(problem: AgradError | Note) -> Span | None:
    """The place that a problem is at: the instruction that failed or, inside it, what the first label points at."""
    labelled = next((label.origin for label in problem.labels if isinstance(label.origin, Span)), None)
    at = problem.at if isinstance(problem, AgradError) else None
    if not isinstance(at, Span):
        return labelled
    inside = labelled is not None and labelled.source == at.source and at.start <= labelled.start < at.end
    return labelled if inside else at


def _frames(labels: Iterable[Label], main: Span | None, columns: int | None) -> Iterator[str]:
    """Two lines for every place: the source line, and the carets with the label's text."""
    frames = [(_gutter(label.origin, main), label) for label in labels if label.origin is not None]
    width = max((len(gutter) for gutter, _ in frames), default=0)
    room = _WINDOW if columns is None else min(max(columns - width - len("   | "), _LEAST), _WINDOW)
    for gutter, label in frames:
        line, start, end = _extent(label.origin)
        shown, indent, carets = _window(line, start, end, room)
        yield f"  {gutter:>{width}} | {shown}"
        below = f"  {'':{width}} | {' ' * indent}{'^' * carets} {label.text}".rstrip()
        if columns is None or len(below) <= max(columns, _LEAST):
            yield below
            continue
        yield f"  {'':{width}} | {' ' * indent}{'^' * carets}"
        margin = f"  {'':{width}} | "
        yield from _folded(f"{margin}{label.text}", columns, margin)


def _gutter(origin: Origin | None, main: Span | None) -> str:
    if not isinstance(origin, Span):
        return origin.where if origin else ""
    source = origin.source
    if source.is_cell:
        return origin.where
    line = str(source.position(origin.start)[0])
    stranger = source.is_file and main is not None and source.name != main.source.name
    if source.is_entry and "\n" in source.text.strip():
        line += f", line {source.text.count(chr(10), 0, origin.start) + 1} of it"
    return f"{source.name} line {line}" if source.name == "session" or stranger else line


def _extent(origin: Origin | None) -> tuple[str, int, int]:
    """The first line that a place covers, and the columns (from 0) where it starts and ends on that line."""
    if not isinstance(origin, Span):
        text = origin.text if origin else ""
        return text, 0, len(text)
    _, column = origin.source.position(origin.start)
    line = origin.source.line_at(origin.start)
    start = min(column - 1, len(line))
    return line, start, min(max(start + origin.end - origin.start, start), len(line))


def _window(line: str, start: int, end: int, room: int = _WINDOW) -> tuple[str, int, int]:
    """The line as the terminal shows it, the columns before the carets, and how many carets there are."""
    cells = [_cell(character) for character in line]
    indent = sum(width for _, width in cells[:start])
    carets = max(1, sum(width for _, width in cells[start:end]))
    if sum(width for _, width in cells) <= room and len(cells) <= 2 * room:  # marks have no width
        return "".join(text for text, _ in cells), indent, carets
    left = start - _count(reversed(cells[:start]), room // 2)
    right = left + _count(cells[left:], room - len("……"))
    before, after = "…" * (left > 0), "…" * (right < len(cells))
    indent = len(before) + sum(width for _, width in cells[left:start])
    carets = max(1, sum(width for _, width in cells[start : min(end, right)]))
    return before + "".join(text for text, _ in cells[left:right]) + after, indent, carets


def _count(cells: Iterable[tuple[str, int]], room: int) -> int:
    """How many cells from the first on have room."""
    count, taken = 0, 0.0
    for _, width in cells:
        taken += max(width, 0.5)  # marks have no width, but their number is limited
        if taken > room:
            break
        count += 1
    return count


def _cell(character: str) -> tuple[str, int]:
    """The representation of one character on the terminal, and its width there.

    A control character (an escape code, a change of writing direction) must not reach the terminal. A variation
    selector is left out: terminals do not agree on the width of what is before it.
    """
    if character.isascii() and character.isprintable():
        return character, 1
    if character == "\t":
        return " " * _TAB, _TAB
    if "\N{VARIATION SELECTOR-1}" <= character <= "\N{VARIATION SELECTOR-16}":
        return "", 0
    return (character, character_width(character)) if character.isprintable() else ("\N{REPLACEMENT CHARACTER}", 1)
