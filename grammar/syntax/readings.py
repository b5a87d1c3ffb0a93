"""The two readings of a text: which parts are Python's, and the statements of these.

CPython parses them. Commands of agrad are words only where Python has no use for them, as in `graph y`: their places in
the text are blanked before Python reads it. A text of a session, or of a script of agrad, is read as Python from its
first import on, up to a line `calculator`.
"""

from __future__ import annotations

import _ast as py
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from agrad.engine.errors import AgradError, Hint, Label
from agrad.grammar import reach, syntax
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.syntax import ast, parser
from agrad.grammar.syntax.depth import deep
from agrad.grammar.syntax.keywords import COMMAND_WORDS
from agrad.lazy import pattern

# Where the lines of a text begin a statement: outside of brackets and texts, and behind no backslash.
_MOST_LEVELS = 3_000  # of Python's calls: its own compiler takes the stack of C, and more of it where more are allowed
_TOKEN = pattern(
    r"""(?sx)  (?: \"{3} (?:\\.|[^\\])*? (?:\"{3}|\Z) | '{3} (?:\\.|[^\\])*? (?:'{3}|\Z)
    | \"(?:\\.|[^\"\\\n])*\"? | '(?:\\.|[^'\\\n])*'? | \#[^\n]* ) | (?P<open>[(\[{]) | (?P<close>[)\]}]) | \\\n
    | (?P<line>\n) | (?P<end>;)"""
)
_COMMAND = pattern(r"""[ \t]*([a-z_]+)[ \t]+(?!(?:and|as|else|for|if|in|is|not|or)\b)(?=[^\W\d]|\.?\d|["'])""")
_SWITCH = pattern(r"(?m)(?:^|;)[ \t\f]*(?:import|from|class)\b|^\f*calculator\b")
_IMPORT = pattern(r"[ \t\f]*(?:(?:import|class)[ \t]+[^\W\d]|from[ \t]+[^\W\d][\w.]*[ \t]+import\b)")
_BACK = pattern(r"\f*calculator[ \t]*(?:#.*)?")
_MARGIN = pattern(r"(?m)^(?![ \t\f]|(?:else|elif|except|finally)\b|[)\]}]|[ \t]*(?:#|$))")
_MISTAKES = 50  # syntax errors of one text that are reported
_GOES_ON = pattern(r"[ \t]|(?:else|elif|except|finally)\b|[ \t]*(?:#|$)")  # the block of the lines above


class Part(NamedTuple):
    """A part of a text with one reading."""

    is_python: bool
    start: int
    end: int


def is_script(source: Source) -> bool:
    """Whether a text is a script of Python, all of it: a file with such a name is."""
    return source.is_file and source.name.endswith(".py")


@lru_cache(maxsize=16)
def parts(source: Source) -> tuple[Part, ...]:
    """The parts of a text that are read as Python, and those in the calculator's language."""
    is_python, whole = source.is_python or is_script(source), len(source.text)
    if is_script(source) or not _SWITCH.search(text := syntax.lexer.typed_in(source.text)):
        return (Part(is_python, 0, whole),)
    found, begun, statement, decorated = list[Part](), 0, 0, False
    for start, end in logical_lines(text):
        if (not start or text[start - 1] == "\n") and not _GOES_ON.match(line := text[start:end].lstrip("\f")):
            statement = statement if decorated else start
            decorated = line[0] == "@"
            if is_python and _BACK.fullmatch(text[start:end]):
                found.append(Part(True, begun, start))
                begun, is_python = start, False
        if not is_python and _IMPORT.match(text, start, end):
            found.append(Part(False, begun, statement))
            begun, is_python = statement, True
    return *[part for part in found if text[part.start : part.end].strip()], Part(is_python, begun, whole)


def is_in_python(span: Span) -> bool:
    """Whether a statement is in a part of its text that is read as Python."""
    here = (part.is_python for part in reversed(parts(span.source)) if part.start <= span.start)
    return next(here, span.source.is_python)


def parse(source: Source) -> tuple[ast.Statement, ...]:
    """The statements of a text, as its reading has them. Raises AgradError of kind `syntax`."""
    text, found = source.text if is_script(source) else syntax.lexer.typed_in(source.text), list[ast.Statement]()
    for is_python, start, end in parts(source):
        part = blank(text, start, end)
        found += Reader(source, part).statements() if is_python else parser.parse(source, part)
    return tuple(found)


def blank(text: str, start: int, end: int) -> str:
    """A text with spaces in the place of all but a part, so that the places of this stay the same."""
    if not start and end == len(text):
        return text
    return "".join([re.sub(r"[^\n]", " ", text[:start]), text[start:end], re.sub(r"[^\n]", " ", text[end:])])


def logical_lines(text: str) -> Iterator[tuple[int, int]]:
    """Where each line that may be a statement begins and ends."""
    depth = start = 0
    for token in _TOKEN.finditer(text):
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth = max(depth - 1, 0)
        elif (token["line"] or token["end"]) and not depth:
            yield start, token.start()
            start = token.end()
    yield start, len(text)


def bound(node: Any) -> list[str]:
    """The names that a node of Python binds, as all of its fields but those of names that are read say."""
    if isinstance(node, py.ImportFrom) and node.names[0].name == "*":
        return reach.names_in(node.module or "")
    if isinstance(node, py.alias):
        return [(node.asname or node.name).split(".")[0]]
    fields = ("id", "arg", "name", "rest") if not isinstance(node, py.keyword) else ()
    return [name for name in (getattr(node, field, None) for field in fields) if isinstance(name, str)]


def is_load(node: Any) -> bool:
    """Whether a node is a name that is read."""
    return isinstance(node, py.Name) and isinstance(node.ctx, py.Load)


def is_command(text: str, start: int) -> bool:
    """Whether a command begins at a place where a statement does."""
    found = _COMMAND.match(text, start)
    return found is not None and found[1] in WORDS


# The commands that are words of Python's reading.
WORDS = COMMAND_WORDS - {"print", "time"} | {"exit"}


class Reader:
    """Makes statements of the text of a script."""

    def __init__(self, source: Source, text: str) -> None:
        self.source, self.text = source, text  # which is the text of the source, or a part of it
        self.places = Places(source.text)
        self.commands: dict[int, Span] = {}  # by the place where each begins

    def statements(self) -> tuple[ast.Statement, ...]:
        """The statements of the text, commands among them. Raises AgradError of kind `syntax`."""
        tree, found = self.tree(self.blanked()), list[ast.Statement]()
        taken = {name for one in nodes(tree) if not is_load(one) for name in bound(one)}
        inner: dict[int, tuple[ast.Statement, ...]] = {}
        for one in nodes(tree):
            if isinstance(one, py.Expr) and isinstance(one.value, py.Name) and one.value.id in WORDS - taken:
                start = self.places.offset(one.lineno, one.col_offset)
                self.commands[start] = Span(self.source, start, start + len(one.value.id))
        for start, span in self.commands.items():
            inner[start] = self.command(span)
        for one in tree.body:
            span = Span(self.source, *self.places.of(one))
            if span.start in inner and isinstance(one, py.Expr):
                found += inner[span.start]
            else:
                known = {start: made for start, made in inner.items() if span.start <= start < span.end}
                shown = isinstance(one, py.Expr) and not is_script(self.source)
                made: Any = ast.Python
                found.append(made(one, self.places, known, (), *(set() for _ in range(5)), False, shown, span=span))
        return tuple(found)

    def tree(self, text: str) -> Any:
        """The tree that CPython makes of a text, which it could compile."""
        try:
            compiled(text)
            return compiled(text, flags=py.PyCF_ONLY_AST)
        except (RecursionError, MemoryError):
            raise AgradError("limit", "this nests too deeply", labels=[Label(Span(self.source, 0, 0))]) from None
        except SyntaxError as error:
            raise self.wrong(error) from None
        except ValueError as error:  # a zero in the text
            raise AgradError("syntax", str(error), labels=[Label(Span(self.source, 0, 0))]) from None

    def wrong(self, error: SyntaxError) -> AgradError:
        """The error for a text that is no Python."""
        line, column = error.lineno or 1, max(error.offset or 1, 1)
        last, end = error.end_lineno or line, error.end_offset or 0
        start = self.places.start(line) + column - 1
        stop = self.places.start(last) + end - 1 if end > 0 else start
        span = Span(self.source, min(start, len(self.source.text)), min(max(stop, start), len(self.source.text)))
        made = AgradError("syntax", f"{type(error).__name__}: {error.msg}", labels=[Label(span)])
        if not is_script(self.source) and self.is_of_calculator(span):
            back = "calculator" if not self.source.is_file else Hint("calculator   on a line of its own above")
            made.notes, made.fixes = ["from an import on Python is read: this is the calculator's language"], [back]
        return made

    def is_of_calculator(self, span: Span) -> bool:
        """Whether the calculator can read the line around a place, or the first of the text."""
        text = self.source.text
        lines = [text[start:end].strip() for start, end in logical_lines(text) if start <= span.start <= end]
        return any(line and parser.can_be_read(line) and not _is_python(line) for line in lines)

    def blanked(self) -> str:
        """The text, with something that Python can read in place of each command."""
        text = self.text
        known = "|".join(sorted(WORDS))
        if not re.search(rf"(?m)^[ \t]*(?:.*;[ \t]*)?(?:{known})[ \t]+[\w.\"']", text):
            return text
        pieces, done = list[str](), 0
        for start, end in logical_lines(text):
            found = _COMMAND.match(text, start, end)
            if found is None or found[1] not in WORDS:
                continue
            start = found.start(1)
            end = start + len(re.sub(r"(?s)(\s|#[^\n\"']*)*\Z", "", text[start:end]))
            self.commands[start] = Span(self.source, start, end)
            pieces += [text[done:start], "(", re.sub(r"[^\n]", " ", text[start + 1 : end - 2]), "0)"]
            done = end
        return "".join([*pieces, text[done:]])

    def command(self, span: Span) -> tuple[ast.Statement, ...]:
        """The statements that a command is in the calculator's grammar."""
        return parser.parse(self.source, blank(self.text, span.start, span.end))


def readable(source: Source, text: str, names: set[str]) -> tuple[tuple[ast.Statement, ...], list[AgradError]]:
    """The statements of a text that can be parsed, and the errors of the others, whose words are added to the names."""
    found = list[AgradError]()
    for _ in range(_MISTAKES):
        try:
            return Reader(source, text).statements(), found
        except AgradError as problem:
            found.append(problem)
            start, end = _mistaken(text, problem)
            names.update(re.findall(r"[^\W\d]\w*", text[start:end]))
            if not text[start:end].strip():
                break
            text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return (), found


def _mistaken(text: str, problem: AgradError) -> tuple[int, int]:
    """The statement without indentation that a syntax error is in, with its block: where it begins and ends."""
    place: Any = problem.labels[0].origin
    starts = [0, *(found.start() for found in _MARGIN.finditer(text)), len(text)]
    number = max(bisect_right(starts, min(place.start, len(text) - 1)) - 1, 0)
    end = len(text) if "triple-quoted" in problem.message else starts[number + 1]
    # What comes too early ends the statement above.
    is_early = number and place.start == starts[number] and "expected" in problem.message
    return starts[number - 1 if is_early else number], end


def _is_python(line: str) -> bool:
    """Whether a line by itself is one of Python."""
    try:
        compiled(line)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True


def compiled(tree: Any, name: str = "<agrad>", flags: int = 0) -> Any:
    """What CPython makes of a text or a tree, without its warnings."""
    with deep(_MOST_LEVELS, at_most=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(tree, name, "exec", flags, dont_inherit=True, optimize=0)


class Places:
    """The offsets of places that CPython gives as a line and bytes of it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", text))]
        self.plain = text.isascii()

    def start(self, line: int) -> int:
        """Where a line begins."""
        return self.starts[line - 1] if line <= len(self.starts) else len(self.text)

    def offset(self, line: int, column: int) -> int:
        """The offset of a place."""
        start = self.start(line)
        if self.plain:
            return start + column
        end = self.start(line + 1)
        return start + len(self.text[start:end].encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore"))

    def of(self, node: Any) -> tuple[int, int]:
        """Where a node begins and ends, with its decorators."""
        first = next(iter(getattr(node, "decorator_list", ())), node)
        start = self.offset(first.lineno, first.col_offset)
        if first is not node:
            start = self.text.rindex("@", 0, start)
        return start, self.offset(node.end_lineno, node.end_col_offset)


def nodes(tree: Any) -> Iterator[Any]:
    """All nodes of a tree of Python, without recursion."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, py.AST):
            yield node
            waiting += [getattr(node, name, None) for name in node._fields]
        elif type(node) is list:
            waiting += node
