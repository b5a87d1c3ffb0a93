"""The lexer of Pygments, under the name `agrad`: each token of the language's own lexer, with Pygments' type of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from pygments.lexer import Lexer
from pygments.token import Text, string_to_tokentype

from agrad.grammar.syntax.typed import tokens

# By the kinds of tokens that the prompt colours.
TYPES = {
    kind: string_to_tokentype("Keyword.Reserved" if kind == "command" else kind.capitalize())
    for kind in ("number", "string", "name", "command", "keyword", "operator", "comment", "error")
}


class AgradLexer(Lexer):
    """Scripts of agrad, and sessions with its prompts."""

    name = "agrad"
    aliases: ClassVar[list[str]] = ["agrad"]
    filenames: ClassVar[list[str]] = ["*.ag"]
    mimetypes: ClassVar[list[str]] = ["text/x-agrad"]
    url = ""

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """Each piece of a text: where it starts, its type, and its text."""
        done = 0
        for kind, start, end in tokens(text):
            if start > done:
                yield done, Text, text[done:start]
            yield start, TYPES[kind], text[start:end]
            done = end
        if done < len(text):
            yield done, Text, text[done:]
