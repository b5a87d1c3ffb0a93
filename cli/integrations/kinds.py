"""The kinds of tokens that `grammar.syntax.parser.tokens` tells apart, in the terms of other programs."""

from __future__ import annotations

from agrad.engine.struct import Struct


class Kind(Struct):
    """A kind of token: the type that Pygments has for it, and the scope of TextMate's grammars."""

    pygments: str
    textmate: str


KINDS = {
    "number": Kind("Number", "constant.numeric"),
    "string": Kind("String", "string.quoted"),
    "name": Kind("Name", "variable.other"),
    "command": Kind("Keyword.Reserved", "support.function"),
    "keyword": Kind("Keyword", "keyword.control"),
    "operator": Kind("Operator", "keyword.operator"),
    "comment": Kind("Comment", "comment.line"),
    "error": Kind("Error", "invalid.illegal"),
}
