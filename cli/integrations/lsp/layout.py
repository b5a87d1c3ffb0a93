"""The format that an editor gives a script: it changes spaces alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from agrad.grammar.diagnostics import Source
from agrad.grammar.syntax.lexer import typed_in
from agrad.grammar.syntax.parser import lexed
from agrad.grammar.syntax.readings import logical_lines, parts
from agrad.grammar.syntax.typed import can_be_read, tokens

# Signs with a space on both sides, and all that are one sign.
_WIDE = re.compile(r"(?:\*\*|//|<<|>>|[-+*/%@&|^=!<>~:])=|->|[<>](?![<>])|=")
_SIGN = re.compile(rf"\*\*(?!=)|//(?!=)|<<(?!=)|>>(?!=)|\.\.\.?|{_WIDE.pattern}|[^\s\w]")
_BEFORE_SIGN = re.compile(r"[\w)\]}\"']\Z")  # of two operands


def formatted(source: Source) -> str:
    """The text with one space behind commas and around `=`, none inside brackets, comments below each other.

    A line stays as it is where other spaces would mean something else, and so does a text that cannot be read.
    """
    text, pieces = source.text, list[str]()
    if typed_in(text) != text or "\r" in text or not can_be_read(text, is_python=parts(source)[0].is_python):
        return text
    for part in parts(source):
        whole, done = text[part.start : part.end], 0
        for start, end in logical_lines(whole):
            line, between = _spaced(whole[start:end], part.is_python), whole[done:start]
            line = line.rstrip() if whole[end : end + 1] == ";" else line
            pieces += [between, f" {line.lstrip()}" if between == ";" and line.strip() else line]
            done = end
        pieces.append(whole[done:])
    made = _aligned(_gaps("".join(pieces), parts(source)[0].is_python))
    return made.lstrip("\n").rstrip() + "\n" if made.strip() else ""


def _spaced(text: str, is_python: bool) -> str:
    """A statement with other spaces within its lines, if it has the same tokens then."""
    kept = [] if is_python else [token for token in lexed(text) if token.type in ("FSTRING_START", "FSTRING_END")]
    fields = [(one.start_pos, two.end_pos) for one, two in zip(kept[::2], kept[1::2], strict=False)]
    pieces, done, before, depth = list[str](), 0, "", list[bool]()
    typed = is_command = False
    for kind, start, end in _words(text, is_python):
        word, gap = text[start:end], text[done:start]
        if pieces and word[0] != "#" and "\n" not in gap and not any(one < start < two for one, two in fields):
            gap = _between(before, word, gap, bool(depth), typed or (is_command and not depth))
        pieces += [gap, word]
        if word in "([{":
            depth.append(typed)
        elif word in ")]}" and depth:
            typed = depth.pop()
        if word in "([{,:" or word == "lambda":
            typed = word == "lambda" or (word == ":" and bool(depth))
        is_command = is_command or (kind == "command" and not before and word != "var")
        done, before = end, word
    made = "".join([*pieces, text[done:]])
    return made if _tokens(made, is_python) == _tokens(text, is_python) else text


def _words(text: str, is_python: bool) -> Iterator[tuple[str, int, int]]:
    """The kind of each token, and where it begins and ends; of signs, those that are one."""
    done = 0
    for kind, start, end in tokens(text, is_python):
        if start >= done:
            found = _SIGN.match(text, start) if kind == "operator" else None
            done = max(found.end() if found else end, end)
            yield kind, start, done


def _between(before: str, word: str, gap: str, inside: bool, typed: bool) -> str:
    """The spaces between two words of a line. `typed`: whether `=` may have some, or none."""
    if word in ",;" or before in "([{" or word in ")]}":
        return ""
    if before in ",;":
        return " "
    if "=" in (before, word) and (typed or inside):
        return gap[:1] if typed else ""
    is_wide = _WIDE.fullmatch(word) if _BEFORE_SIGN.search(before) else _WIDE.fullmatch(before)
    return " " if is_wide else gap[:1]


def _tokens(text: str, is_python: bool) -> list[tuple[str, str]]:
    if is_python:
        return [(kind, text[start:end]) for kind, start, end in tokens(text, True)]
    return [(token.type, str(token)) for token in lexed(text)]


def _gaps(text: str, is_python: bool) -> Iterator[tuple[str, str]]:
    """Each token with what is before it: no spaces before the end of a line, and two empty lines at most."""
    done = 0
    for _, start, end in chain(tokens(text, is_python), [("", len(text), len(text))]):
        yield re.sub(r"\n{4,}", "\n\n\n", re.sub(r"[ \t]+(?=\n)", "", text[done:start])), text[start:end]
        done = end


def _aligned(words: Iterable[tuple[str, str]]) -> str:
    """The text of some tokens, in which comments behind the code of adjacent lines begin at one column."""
    made, line, column = list[str](), 0, 0
    comments = list[tuple[int, int, int]]()  # the line of each, the column where the code ends, the place of the gap
    for gap, word in words:
        if word[:1] == "#" and "\n" not in gap and column:
            comments.append((line, column, len(made)))
        made += [gap, word]
        line, column = line + (gap + word).count("\n"), len((" " * column + gap + word).rpartition("\n")[2])
    for _, group in groupby(enumerate(comments), key=lambda one: one[1][0] - one[0]):
        run = [comment for _, comment in group]
        for _, column, place in run:
            made[place] = " " * (max(column for _, column, _ in run) - column + 2)
    return "".join(made)
