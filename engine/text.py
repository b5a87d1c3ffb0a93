"""Text for people: cells in columns, long texts truncated, long lines wrapped; rows as CSV; parts between brackets."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from io import StringIO
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

from agrad.lazy import pattern, rare


def beside(path: str, name: str) -> str:
    """The text of a file that lies beside a module, whose path is given: `beside(__file__, "messages.txt")`."""
    with open(os.path.join(os.path.dirname(path), name), encoding="utf-8") as file:
        return file.read()


def docstring(function: Any) -> str:
    """The docstring of a function, from its source, if that is there, where Python has left it out, with -OO."""
    if function.__doc__ is not None or sys.flags.optimize < 2:
        return function.__doc__ or ""
    code = function.__code__
    return _docstrings(code.co_filename).get(code.co_firstlineno, "")


@cache
def _docstrings(path: str) -> dict[int, str]:
    """The docstrings of the functions of a file by their first lines, those of decorators."""
    import ast  # which only this case needs

    try:
        tree = ast.parse(beside(path, path))
    except OSError:
        return {}
    made = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    lines = [min([node.lineno, *(one.lineno for one in node.decorator_list)]) for node in made]
    return {line: ast.get_docstring(node, clean=False) or "" for line, node in zip(lines, made, strict=True)}


def tables(text: str) -> dict[str, dict[str, str]]:
    """The tables in a text: below a line `[name]`, rows `words = value`, where each word has the value."""
    found: dict[str, dict[str, str]] = {}
    for part in f"\n{text}".split("\n[")[1:]:
        name, _, rows = part.partition("]\n")
        parted = (row.partition(" =") for row in rows.split("\n") if row[:1] not in ("", "#"))
        found[name] = {word: value[1:] for words, _, value in parted for word in words.split()}
    return found


def paragraphs(text: str) -> list[str]:
    """The parts of a text that begin at a margin; further lines of a part are indented."""
    return _MARGIN.split(text.strip("\n"))


_MARGIN = pattern(r"\n(?! )")


def counted(number: int, what: str) -> str:
    """So many of something, in words."""
    return f"{number} {what}{'s' * (number != 1)}"


def printable(text: str) -> str:
    """A text without what changes a terminal: escape codes, other control characters, changes of direction.

    Each is replaced by the replacement character. Line ends, tabs and all kinds of spaces stay.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in _BLANKS else "\N{REPLACEMENT CHARACTER}" for sign in text)


_BLANKS = "\n\t\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"


def as_name(text: str) -> str:
    """A name as the language spells it: as in Python, names that look alike are the same."""
    if text.isascii():
        return text
    from unicodedata import normalize  # here, since most names are ASCII

    return normalize("NFKC", text)


def divided(text: str, sign: str = ",") -> list[str]:
    """The parts of a text in the language between a sign, where that is outside brackets; `*` is not part of `**`."""
    parts, depth, start, at = [], 0, 0, 0
    while at < len(text):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if not depth and text.startswith("**", at) and sign != "**":
            at += 2
        elif not depth and text.startswith(sign, at):
            parts.append(text[start:at])
            start = at = at + len(sign)
        else:
            at += 1
    return [*parts, text[start:]]


def is_balanced(text: str) -> bool:
    """Whether no bracket is closed in a text that was not opened in it, and none is left open."""
    depth = 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 0:
            return False
    return depth == 0


def without_brackets(text: str) -> str:
    """A text without round brackets around all of it."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")") and is_balanced(text[1:-1]):
        text = text[1:-1].strip()
    return text


_GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon "
    "phi chi psi omega".split()
)


def latex_name(name: str) -> str:
    r"""A name in LaTeX: `x`, `x_{1}`, `\alpha`, `\mathrm{speed}`."""
    base, bracket, index = name.partition("[")
    if bracket:
        return f"{latex_name(base)}_{{{index.rstrip(']')}}}"
    if name in _GREEK:
        return f"\\{name}"
    if len(name) > 1 and name[1:].isdigit():
        return f"{name[0]}_{{{name[1:]}}}"
    return name if len(name) == 1 else r"\mathrm{" + name.replace("_", r"\_") + "}"


_IN_LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "_%&#${}"}
    | {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "±": r"$\pm$", "²": r"$^2$"}
    | {'"': r"\textquotedbl{}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}"}
)


def in_latex(text: str) -> str:
    """A text as LaTeX shows it, sign by sign."""
    return printable(text).translate(_IN_LATEX).replace("--", "{-}{-}")


def truncate(text: str, width: int, where: Literal["end", "middle"] = "end", mark: str = "…") -> str:
    """A text of at most `width` characters; `mark` replaces what is left out. Numbers are kept or left out whole."""
    if len(text) <= width:
        return text
    if where == "end":
        return text[: _around(text, max(width - len(mark), 0))[0]] + mark
    mark = f" {mark} "
    half = (width - len(mark)) // 2
    return f"{text[: _around(text, width - len(mark) - half)[0]]}{mark}{text[_around(text, len(text) - half)[1] :]}"


_LONGEST = 60  # characters of what is printed as one number, with its uncertainty; longer digits are cut as words are
_NUMBER = pattern(r"(?<![\w.])[-+]?(?:\d[\d_]*\.?\d*|\.\d+|inf\b|nan\b)(?:e[-+]?\d+)?(?: ± [\d.]+(?:e[-+]?\d+)?)?")


def _around(text: str, place: int) -> tuple[int, int]:
    """The start and the end of the number that a place in a text is inside or at the end of; else the place, twice."""
    for found in _NUMBER.finditer(text, max(place - _LONGEST, 0), place + _LONGEST):
        if found.start() < place <= found.end() <= found.start() + _LONGEST:
            return found.span()
    return place, place


def one_line(text: str, width: int = 60) -> str:
    """White space folded, what does not print replaced, the middle of a long text left out."""
    signs = "".join(x if x.isprintable() else "\N{REPLACEMENT CHARACTER}" for x in " ".join(text.split()))
    return truncate(signs, width, "middle")


def align(
    rows: Iterable[Sequence[str]], right: Collection[int] = (), widest: int | None = None, margin: str = ""
) -> list[str]:
    """A line for each row, its cells below those of the row before; a column without any text takes no room.

    `right`: the columns that are aligned at their right ends. `widest`: of a column; a longer cell shifts the rest of
    its line. `margin`: what each line begins with.
    """
    table = [list(row) for row in rows]
    widths = [max(map(display_width, column)) for column in zip(*table, strict=True)]
    if widest is not None:
        widths = [min(width, widest) for width in widths]
    columns = [(place, width) for place, width in enumerate(widths) if width]
    return [
        (margin + "  ".join(_padded(row[place], width, place in right) for place, width in columns)).rstrip()
        for row in table
    ]


class Lines(str):
    """A text of several lines, which a notebook and a prompt of Python show as such."""

    __slots__ = ()
    __repr__ = str.__str__


class Grid(NamedTuple):
    """Rows of texts below those of their heads. `right`: the columns that are aligned at their right ends."""

    rows: Sequence[Sequence[str]]
    right: Collection[int] = ()

    def latex(self, last: Sequence[str] = ()) -> str:
        """The table in LaTeX, with lines below its heads, and above the `last` row, which is in LaTeX already."""
        lines = [" & ".join(map(in_latex, row)) + r" \\" for row in self.rows]
        lines[0] += r" \hline"
        if last:
            lines[-1] += r" \hline"
            lines.append(" & ".join(last) + r" \\")
        sides = "".join("r" if place in self.right else "l" for place in range(len(self.rows[0])))
        return "\n".join([rf"\begin{{tabular}}{{{sides}}}", *lines, r"\end{tabular}"])


def in_lines(parts: Iterable[str | Grid]) -> str:
    """What a result is made of, as text: lines, and tables."""
    return "\n".join("\n".join(align(part.rows, part.right)) if isinstance(part, Grid) else part for part in parts)


def _padded(cell: str, width: int, right: bool) -> str:
    blanks = " " * (width - display_width(cell))
    return blanks + cell if right else cell + blanks


def csv_lines(rows: Iterable[Iterable[str]]) -> str:
    """A line for each row, with quotes where a cell needs them."""
    file = StringIO()
    rare.csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def fit(text: str, width: int | None) -> str:
    """A text whose lines have at most `width` characters: a longer one is continued below its last column that fits.

    A line is folded between its fields, which have two spaces or more between them, and inside of one, between words,
    only where it does not fit into a line by itself. The branches of a tree go on beside what is continued.
    """
    lines = text.split("\n")
    if width is None or max(map(len, lines)) <= width:
        return text
    room = max(width // 2, width - 28)

    def folded(line: str, below: str) -> str:
        starts = [gap.end() for gap in _GAP.finditer(line) if gap.end() <= room]
        margin = starts[-1] if starts else min(len(line) - len(line.lstrip()) + 4, width // 4)
        # A field that has room is kept together.
        whole = _FIELD.sub(lambda found: glued(found[0]) if len(found[0]) <= width - margin else found[0], line)
        first, *rest = wrap(whole, width, " " * margin)
        stem = _STEM.match(below)[0].translate(_BRANCHES)[:margin]  # type: ignore[index]
        return "\n".join([first, *(stem + line[len(stem) :] for line in rest)])

    pairs = zip_longest(lines, lines[1:], fillvalue="")
    return "\n".join(folded(line, below) if len(line) > width else line for line, below in pairs)


_GAP = pattern(r"(?<=\S) {2,}(?=\S)")
_FIELD = pattern(r"[^ ]+(?: [^ ]+)+")
_STEM = pattern(r"[ │├└─]*")
_BRANCHES = str.maketrans("├└─", "││ ")
_GLUE = "\0"  # between words, where a line may not be folded


def glued(text: str) -> str:
    """A text that `wrap` does not break."""
    return text.replace(" ", _GLUE)


def wrap(line: str, width: int, margin: str = "", first: str = "") -> list[str]:
    """A line in several, which break between words; `first` and `margin`: what the first and the others begin with."""
    lines: list[str] = rare.textwrap.wrap(
        line, width, initial_indent=first, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
    )
    return [one.replace(_GLUE, " ") for one in lines]


def display_width(text: str) -> int:
    """The number of terminal columns of a text without control characters."""
    return len(text) if text.isascii() else sum(map(character_width, text))


# Each character is measured by itself, as most terminals do, and as prompt_toolkit does. Those that join characters to
# one picture, by a ZERO WIDTH JOINER, find none in what agrad writes: see `printable`.
def character_width(character: str) -> int:
    """0 for a mark on the character before, 2 for a wide character, as in Chinese, else 1."""
    if character < "\u0300" or "\u2010" <= character <= "\u2027" or "\u2100" <= character <= "\u22ff":
        return 1  # letters, punctuation, symbols of mathematics
    if "\u2500" <= character <= "\u25fc":
        return 1  # what boxes and tables are drawn with
    from wcwidth import wcwidth  # here, since it takes as long to load as agrad

    return max(wcwidth(character), 0)
