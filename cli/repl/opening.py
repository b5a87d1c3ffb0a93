"""What a prompt begins with, and the words that it takes beside the language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from agrad.cli import __version__
from agrad.grammar.syntax.parser import needs_more

_HEADER = re.compile(r":\s*(#.*)?$|^@")  # of a block, or a decorator


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

    def waits(self, text: str) -> bool:
        """Whether another line is awaited below a text."""
        return needs_more(text) and not (self.submits and _ended(text))

    def taken(self, text: str) -> str:
        """What is handed over of a text: all of it, or the word that stands alone in its last line."""
        word = text.rpartition("\n")[2].strip()
        return word if word in self.alone else text


def _ended(text: str) -> bool:
    """Whether a text is no block, or one that an empty line ends."""
    header, *below = text.split("\n")
    return not _HEADER.search(header) or bool(below and not below[-1].strip())
