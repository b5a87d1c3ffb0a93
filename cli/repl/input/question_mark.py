"""`? sin`, `sin?` and `sin(x)?`: help, as in other consoles; for a name of the session, `info`."""

from __future__ import annotations

import re
from collections.abc import Collection

_QUESTION = re.compile(r"\s*(?:\?\s*(\S*)|([^\s?(]+(?=\())\([^?]*\)\s*\?|([^\s?]+)\s*\?)\s*")


def answered(text: str, names: Collection[str]) -> str:
    """The command that a question means; any other text unchanged."""
    found = _QUESTION.fullmatch(text)
    if found is None:
        return text
    word = found[1] or found[2] or found[3] or ""
    return f"info {word}" if word in names else f"help {word}".rstrip()
