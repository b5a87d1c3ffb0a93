"""The tokens of a text that is typed: what stands before a change is not read again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agrad.engine.text import same_beginning
from agrad.grammar.diagnostics import Source
from agrad.grammar.syntax.parser import lexer

if TYPE_CHECKING:
    from agrad.grammar.syntax.lexer import Item

_DEEP = 100  # open brackets: with more, a state is too large to keep many of
# Text that decides how the text before it is read, however far away: quotes that may be closed later, and the prompts
# of a transcript.
_FAR = ('"""', "'''", ">>>", "agrad")


class Incremental:
    """Reads one text after the other, each of which usually differs little from the last."""

    def __init__(self) -> None:
        self.text = ""
        self.items: list[Item] = []
        # States of the scanner at some places, each with how many items there are before it.
        self.states: list[tuple[int, dict[str, Any]]] = []

    def read(self, text: str) -> list[Item]:
        """The tokens of a text with its comments, and its lexical errors among them.

        A place in an error may be one in an earlier text, which has the same characters up to there.
        """
        if text == self.text:
            return self.items[:]
        scanner = lexer().scanner(Source("session", text), comments=True)
        far = any(sign in text for sign in _FAR)
        self._keep(0 if far else same_beginning(self.text, text))
        if self.states:
            scanner.resume(self.states[-1][1])
        items = self.items

        def remember() -> None:
            if len(scanner.brackets) < _DEEP:
                self.states.append((len(items), scanner.state()))

        scanner.paused = None if far else remember
        self.text = ""  # so that what an interruption leaves is not taken for a whole text
        items.extend(scanner.items())
        self.text = text
        return items[:]

    def _keep(self, same: int) -> None:
        """Forget what may be read otherwise when only so many characters at the beginning are the same.

        How a token is read depends on a few tokens behind it, which is less than what is between two states.
        """
        safe = [state["position"] <= same for _, state in self.states].count(True)
        del self.states[max(safe - 1, 0) :]
        del self.items[self.states[-1][0] if self.states else 0 :]
