"""Programs of torch print the same in Python's reading, under its guards, as in plain Python with agrad.torch."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from agrad.engine.errors import AgradError
from agrad.grammar.results import Noted, Result
from agrad.grammar.session.session import Session

from .torch_programs import Script, printed

PROGRAMS = 40


def cases(dice: random.Random) -> Iterator[None]:
    """A program for each case; plain Python runs some together."""
    texts = [f"import torch\n{Script(dice).text()}" for _ in range(PROGRAMS)]
    for text, meant in zip(texts, printed(texts, "agrad"), strict=True):
        found, raised = read(text)
        assert found == re.sub(r"raises \w+\s*\Z", "", meant).rstrip(), f"{text}\n--\n{found}\nmeant {meant}"
        assert raised == ("raises " in meant), f"{text}\n--\n{found}\nmeant {meant}"
        yield


def read(text: str) -> tuple[str, bool]:
    """What a script prints, and whether it ends with an error."""
    session, shown = Session(), list[str]()

    def emit(result: Result) -> None:
        if not isinstance(result, Noted):
            shown.append(result.text(session.settings))

    try:
        session.run(text, emit, "x.py", is_file=True)
    except AgradError:
        return "\n".join(shown).rstrip(), True
    return "\n".join(shown).rstrip(), False
