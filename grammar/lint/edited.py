"""A script that changes while it is checked: after each change, only the statements that it concerns are read again."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from agrad.engine.errors import AgradError
from agrad.engine.text import same_beginning
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.lint.files import MARGIN, PATIENCE, Facts, Files, mistakes, pieces
from agrad.grammar.lint.lint import ordered, problems, problems_of
from agrad.grammar.syntax.lexer import typed_in
from agrad.grammar.syntax.parser import can_be_read, parse


class _Part:
    """A statement without indentation, with its block: its place, and what it says, or its syntax errors."""

    def __init__(self, name: str, text: str, start: int, line: int) -> None:
        self.start = start
        self.source = Source(name, text, line, True)
        self.facts: tuple[Facts, ...] = ()
        self.errors: list[AgradError] = []
        self.is_transcript = typed_in(text) != text
        try:
            self.facts = tuple(map(Facts, parse(self.source)))
        except AgradError:
            self.errors = list(mistakes(name, text, line, True))

    def move(self, start: int, line: int) -> None:
        """Give it another place in the script."""
        self.start = start
        if line != self.source.first_line:
            for source in (self.source, *_sources(self.errors)):
                source.first_line = line  # type: ignore[misc]  # the one place where a source changes


def _sources(errors: list[AgradError]) -> Iterator[Source]:
    for problem in errors:
        for place in (problem.at, *(label.origin for label in problem.labels)):
            if isinstance(place, Span):
                yield place.source


class EditedScript:
    """A script of which one version after the other is checked. Some names may have values before it starts."""

    def __init__(self, name: str, names: Iterable[str] = ()) -> None:
        self.name = name
        self.names = tuple(names)
        self.text = ""
        self.parts: list[_Part] = []

    def problems(self, text: str) -> list[AgradError]:
        """What `problems` finds in a text, which becomes that of the script. Sources are parts of it."""
        self._change(text)
        if self._is_the_sum_of_its_parts():
            broken = next((part for part in self.parts if part.errors), None)
            if broken is None:
                return self._semantic()
            # A part that is wrong by itself may be the beginning of something longer.
            if not can_be_read(text[broken.start :]):
                return ordered(Files(), [problem for part in self.parts for problem in part.errors])
        return problems(Source(self.name, text, 1, True), self.names)

    def _is_the_sum_of_its_parts(self) -> bool:
        """Whether the parts, read one by one, are what the text says as a whole."""
        first = MARGIN.search(self.text)
        indented = self.parts and (first is None or first.start()) and (self.parts[0].facts or self.parts[0].errors)
        text = self.text
        # Where a line may begin in another way than after "\n".
        others = "\f" in text or text.count("\r") != text.count("\r\n") or "\ufeff" in text[1:]
        return not (indented or others or any(part.is_transcript for part in self.parts))

    def _semantic(self) -> list[AgradError]:
        """The errors of a script that can be parsed."""
        facts = [one for part in self.parts for one in part.facts]
        body = tuple(one.statement for one in facts)
        files = Files({id(one.statement): one for one in facts})
        return problems_of(files, files.follow(self.name, body), self.names)

    def _change(self, text: str) -> None:
        """Read the parts that another text has in the place of others."""
        same = same_beginning(self.text, text)
        least = max(
            same, len(text) - same_beginning(self.text[same:][::-1], text[same:][::-1])
        )  # where the same end begins
        starts = [part.start for part in self.parts]
        # Where a part ends may depend on as many lines as are searched for a bracket that closes.
        kept = max(bisect_right(starts, same) - PATIENCE - 2, 0)
        old, parts = self.parts, self.parts[:kept]
        start = starts[kept] if kept < len(starts) else 0
        line = old[kept].source.first_line if kept < len(old) else 1
        moved = len(self.text) - len(text)
        most = bisect_right(starts, same)
        for piece in pieces(text, start):
            if start > least:
                after = bisect_left(starts, start + moved)
                if after < len(starts) and starts[after] == start + moved:
                    lines = line - old[after].source.first_line
                    for part in old[after:]:
                        part.move(part.start - moved, part.source.first_line + lines)
                    parts += old[after:]
                    break
            place = bisect_left(starts, start, kept, most)
            again = place < most and starts[place] == start and old[place].source.text == piece
            parts.append(old[place] if again else _Part(self.name, piece, start, line))
            start += len(piece)
            line += parts[-1].source.position(len(piece))[0] - line
        self.text, self.parts = text, parts
