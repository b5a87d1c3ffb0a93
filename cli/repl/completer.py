"""Tab: names, functions, and at the start of a statement commands."""

from __future__ import annotations

import re
from collections.abc import Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from agrad.grammar.attributes import ATTRIBUTES, METHODS
from agrad.grammar.commands import COMMANDS
from agrad.grammar.functions import CONSTANTS, FUNCTIONS
from agrad.grammar.session import Session

_WORD = re.compile(r"[^\W\d]\w*$")
_STATEMENT_START = re.compile(r"(^|[;:\n])[ \t]*(help )?$")


class Names(Completer):
    """Completes the word before the cursor from what the session knows."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """In alphabetical order, each with a line that says what it is."""
        text = document.text_before_cursor
        found = _WORD.search(text)
        word = found[0] if found else ""
        for name, meaning in sorted(self._candidates(text.removesuffix(word)).items()):
            if name.startswith(word):
                yield Completion(name, start_position=-len(word), display_meta=meaning)

    def _candidates(self, before: str) -> dict[str, str]:
        """What may stand after `before`, and what it is."""
        known = {name: function.doc for name, function in FUNCTIONS.items()}
        if before.endswith("."):
            return known | dict.fromkeys([*ATTRIBUTES, *METHODS], "of a value")
        if _STATEMENT_START.search(before):
            known |= {word: command.help for word, command in COMMANDS.items()}
        return known | dict.fromkeys(CONSTANTS, "constant") | dict.fromkeys(self.session.names, "yours")
