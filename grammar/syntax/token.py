"""A terminal of the grammar, as it stands in a text."""

from __future__ import annotations

from typing import Self


class Token(str):
    """What stands there, the terminal that it is, and from where to where. It equals its text."""

    __slots__ = ("end_pos", "start_pos", "type")
    type: str
    start_pos: int
    end_pos: int

    def __new__(cls, type: str, text: str = "", start_pos: int = 0, end_pos: int = 0) -> Self:
        """A token of a type, with a text and the place of that."""
        token = str.__new__(cls, text)
        token.type = type
        token.start_pos = start_pos
        token.end_pos = end_pos
        return token
