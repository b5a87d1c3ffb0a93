"""The names that a text binds, and those without a value: found from its tokens, since the text may be unfinished."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agrad.engine.core.op import FUNCTIONS
from agrad.grammar.commands.registry import COMMANDS
from agrad.grammar.pytorch.names import IGNORED, PREFIXES
from agrad.grammar.runtime.builtins import CONSTANTS, OTHERS, is_result
from agrad.grammar.syntax.lexer import CLOSING, OPENERS, STARTS, Token

# A name after these is not read as a value: it is defined here, or is not the name of a value.
_DEFINING = frozenset({"DEF", "CLASS", "FOR", "VAR", "IMPORT"})
_OTHERWISE = {"_DOT", "AS", "FAILS", "SET", *(word.upper() for word, made in COMMANDS.items() if made.choices)}
_IMPORTS = frozenset({"IMPORT", "FROM"})
_WORDS = frozenset({"print", "_", "ans", "no_grad", "super", "object"})
_KNOWN = _WORDS.union(OTHERS, FUNCTIONS, CONSTANTS, PREFIXES, IGNORED)


def given(tokens: Sequence[Token]) -> dict[str, Token]:
    """The names that the tokens bind, each with the place where it is first bound."""
    found: dict[str, Token] = {}
    statement: list[Token] = []
    depth = 0
    for token in tokens:
        depth += (token.type in OPENERS) - (token.type in CLOSING)
        head, before = (statement[0].type, statement[-1].type) if statement else ("", "")
        if token.type in STARTS or (token.type == "_COLON" and not depth):
            statement = []
            continue
        parameter = depth == 1 and head == "DEF" and len(statement) > 2 and before in ("LPAR", "_COMMA")
        imported = head in _IMPORTS and before in ("AS", "IMPORT", "_COMMA")
        binds_all = (token.type == "_EQUAL" and not depth) or (token.type == "_IN" and head == "FOR")
        for name in statement if binds_all else [token] * (before in _DEFINING or parameter or imported):
            if name.type == "NAME":
                found.setdefault(str(name), name)
        statement.append(token)
    return found


def unknown(tokens: Sequence[Token], names: Collection[str]) -> list[tuple[int, int]]:
    """The places of names without a value: neither in the session, nor in the language, nor bound by these tokens."""
    here = given(tokens)
    found, imports, before = [], False, ""
    for token, following in zip(tokens, [*tokens[1:], Token("")], strict=False):
        imports = before in _IMPORTS or (imports and before not in STARTS)
        if token.type == "NAME" and following.type != "_EQUAL" and not imports and before not in _OTHERWISE:
            known = token in _KNOWN or token in names or token in here or is_result(token)
            if not known:
                found.append((token.start_pos, token.end_pos))
        before = "SET" if before == "SET" and following.type == "NAME" else token.type  # `set echo off`
    return found
