"""Where the statements of a session come from, but for a prompt with an editor: a dumb terminal, or a pipe.

`prompted` of `prompt`, and `typed` and `statements` here, yield texts; `commands/repl` chooses one of them. What a pipe
needs does not load prompt_toolkit.
"""

from __future__ import annotations

import re
import shutil
import signal
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import click

from agrad.cli import __version__
from agrad.cli.output import as_read
from agrad.cli.terminal import coloured, ignored, stop_once
from agrad.engine.errors import AgradError
from agrad.engine.text import fit
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.typed import can_be_read, needs_more
from agrad.lazy import pattern

# The prompt on a terminal that only shows text, as in an editor's shell: the terminal itself edits the line.


def prompts(number: int) -> tuple[str, str]:
    """The prompt of a line with its number, `agrad 5> `, and that of the lines that continue it."""
    first = f"agrad {number}> "
    return first, f"{'...> ':>{len(first)}}"


def typed(session: Session, opening: Opening | None = None) -> Iterator[str]:
    """The typed statements, one at a time, until Ctrl-D, after the opening.

    An empty line ends a block, and Ctrl-C discards an unfinished statement.
    """
    opening = opening or Opening()
    opening.show()
    lines: list[str] = []
    with ignored():
        while True:
            signal.signal(signal.SIGINT, stop_once)
            try:
                click.echo(prompts(session.line)[bool(lines)], nl=False)
                data = sys.stdin.buffer.readline()
            except KeyboardInterrupt:
                lines = []
                click.echo()
                continue
            if not data:
                click.echo()
                return
            lines.append(data.decode("utf-8", "replace").rstrip("\r\n"))  # with a stand-in for what is not text
            text = answered(opening.taken("\n".join(lines)), session.names)
            if not opening.waits(as_read(text), session.reads_python):
                lines = []
                yield text.rstrip("\n ")


# Statements from a pipe or a file, read line by line.

_CONTINUES = pattern(r"[ \t]|(elif|else|except|finally)\b|\s*(#|$)")

_PROMPT = pattern(r"(?:>>>|agrad(?: \d+)?>)( |(?=\n)|$)")
_MORE = pattern(r"(?:\.\.\.| +\.\.\.>)( |(?=\n)|$)")


def statements(lines: Iterable[bytes], by_python: Callable[[], bool] = lambda: False) -> Iterator[str]:
    """Yield each statement as soon as it is complete; `by_python`: whether Python is read by now.

    A block ends where the next line is not indented, as in a file; at a prompt an empty line ends it. Of a transcript
    of Python or of agrad, what was typed is read. What is indented below a line that cannot be read is left out.
    Raises AgradError of kind `file` for what is not UTF-8.
    """
    pending = last = ""
    transcript = None
    for number, data in enumerate(lines, 1):
        try:
            line = data.decode("utf-8-sig" if number == 1 else "utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError:
            raise AgradError("file", f"cannot read <stdin>: line {number} is not UTF-8 text") from None
        if transcript is None and line.strip():
            transcript = _PROMPT.match(line) is not None
        if transcript:
            prompt = _PROMPT.match(line) or _MORE.match(line)
            line = line[prompt.end() :] or "\n" if prompt else f"# {line}"  # its output is a comment
        if not pending and _belongs_to(last, line) and not can_be_read(as_read(last), by_python()):
            yield "#\n"  # the rest of a block whose header cannot be read
            continue
        if pending and not _CONTINUES.match(line) and not needs_more(as_read(pending), by_python()):
            yield pending
            last, pending = _later(pending, last), ""
        pending += line
        if not needs_more(as_read(pending.rstrip()), by_python()):
            yield pending
            last, pending = _later(pending, last), ""
    if pending:
        yield pending


def _belongs_to(header: str, line: str) -> bool:
    """Whether a line is a part of the block of a header: indented below it, or the function behind a decorator."""
    if header.startswith("@") and re.match(r"(@|def\b|class\b)", line):
        return True
    return bool(header.strip()) and line[:1] in (" ", "\t") and bool(line.strip())


def _later(statement: str, before: str) -> str:
    """The last of two statements that is not only a comment."""
    return before if re.fullmatch(r"\s*(#.*\s*)?", statement) else statement


# Pasted text: without the prompts it was copied with, and recognised where the terminal does not mark it.

# agrad's own prompts, Python's and IPython's; an editor may have cut the space at the end of a line.
_PASTED_FIRST = pattern(r"(agrad(?: \d+)?>|>>>|In \[\d+\]:)( |$)")
_PASTED_MORE = pattern(r" {2,}\.\.\.>( |$)|\.\.\.( |$)| +\.\.\.:( |$)")
_TAB = 4  # columns, which a tab in the margin of a pasted line goes on to


def pasted_statements(text: str) -> str:
    """The statements in a pasted text: of a transcript what follows its prompts, else all of it."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not any(_PASTED_FIRST.match(line) for line in lines):
        return _spaced(text)
    typed = [(line, _PASTED_FIRST.match(line) or _PASTED_MORE.match(line)) for line in lines]
    return _spaced("\n".join(line[found.end() :] for line, found in typed if found) + "\n" * text.endswith("\n"))


def _spaced(text: str) -> str:
    """A text with spaces for the tabs before its lines, which a prompt would show as ^I."""
    return re.sub(r"(?m)^[ \t]+", lambda margin: margin[0].expandtabs(_TAB), text)


# `? sin`, `sin?` and `sin(x)?`: help, as in other consoles; for a name of the session, `info`.

_QUESTION = pattern(r"\s*(?:\?\s*(\S*)|([^\s?(]+(?=\())\([^?]*\)\s*\?|([^\s?]+)\s*\?)\s*")


def answered(text: str, names: Collection[str]) -> str:
    """The command that a question means; any other text unchanged."""
    found = _QUESTION.fullmatch(text)
    if found is None:
        return text
    word = found[1] or found[2] or found[3] or ""
    return f"info {word}" if word in names else f"help {word}".rstrip()


# What a prompt begins with, and the words that it takes beside the language.

_HEADER = pattern(r":\s*(#.*)?$|^@")  # of a block, or a decorator


def greeting() -> str:
    """The first line of a session."""
    return f"agrad {__version__}: help lists what there is, Ctrl-D quits"


@dataclass(frozen=True, slots=True)
class Opening:
    """The first line, nothing if it is empty; what is told below it; and words with what they do.

    `submits`: whether Enter hands over every line that is wrong, so that somebody can answer to it, and waits for more
    only in a block. `alone`: words that, alone in a line, are handed over without the unfinished lines above them.
    `live`: whether the line below the prompt may show results while typing.
    """

    greeting: str = field(default_factory=greeting)
    told: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    submits: bool = False
    alone: frozenset[str] = frozenset()
    live: bool = True

    def show(self) -> None:
        """Print what the session begins with."""
        columns = shutil.get_terminal_size().columns
        if self.greeting:
            click.echo(fit(self.greeting, columns))
        if told := fit(self.told, columns):
            click.echo(click.style(told, dim=True) if coloured(sys.stderr) else told, err=True, color=True)

    def waits(self, text: str, by_python: bool = False) -> bool:
        """Whether another line is awaited below a text: where `submits`, of a block that no empty line ends."""
        header, *below = text.split("\n")
        ended = not _HEADER.search(header) or bool(below and not below[-1].strip())
        return needs_more(text, by_python) and not (self.submits and ended)

    def taken(self, text: str) -> str:
        """What is handed over of a text: all of it, or the word that stands alone in its last line."""
        word = text.rpartition("\n")[2].strip()
        return word if word in self.alone else text
