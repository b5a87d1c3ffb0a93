"""What a prompt begins with, and the words that it takes beside the language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agrad.cli import __version__
from agrad.engine.errors import AgradError


def greeting() -> str:
    """The first line of a session."""
    return f"agrad {__version__}: help lists what there is, Ctrl-D quits"


@dataclass(frozen=True, slots=True)
class Opening:
    """The first line, nothing if it is empty; what is told below it; and words with what they do.

    `passes`: which texts are taken although they cannot be parsed (see `SyntaxValidator`).
    """

    greeting: str = field(default_factory=greeting)
    told: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    passes: Callable[[str, AgradError], bool] | None = None
