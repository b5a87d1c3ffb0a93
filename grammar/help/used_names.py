"""The names that a text binds, and those without a value: found from its tokens, since the text may be unfinished."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agrad.engine.core.op import FUNCTIONS
from agrad.grammar.commands.registry import words
from agrad.grammar.pytorch.names import IGNORED, PREFIXES
from agrad.grammar.runtime.builtins import CONSTANTS, OTHERS, is_result
from agrad.grammar.syntax.lexer import Token

_LINE_ENDS = frozenset({"_NEWLINE", "_INDENT", "_DEDENT", "SEMICOLON"})
_OPENERS = frozenset({"LPAR", "_LSQB", "LBRACE"})
_CLOSERS = frozenset({"RPAR", "RSQB", "RBRACE"})
# A name after these is not read as a value: it is defined here, or is not the name of a value.
_DEFINING = frozenset({"DEF", "CLASS", "FOR", "VAR", "IMPORT"})
_OTHERWISE = frozenset({"_DOT", "AS", "FAILS", "SET"}) | {word.upper() for word in words(lambda made: made.choices)}
_IMPORTS = frozenset({"IMPORT", "FROM"})
_KNOWN = (
    frozenset({"print", "_", "ans", "no_grad", "super", "object"})
    | OTHERS
    | FUNCTIONS.keys()
    | CONSTANTS.keys()
    | PREFIXES
    | IGNORED
)


def given(tokens: Sequence[Token]) -> dict[str, Token]:
    """The names that the tokens bind, each with the place where it is first bound."""
    found: dict[str, Token] = {}
    statement: list[Token] = []
    depth = 0
    for token in tokens:
        depth += (token.type in _OPENERS) - (token.type in _CLOSERS)
        before = statement[-1].type if statement else ""
        if token.type in _LINE_ENDS or (token.type == "_COLON" and not depth):
            statement = []
            continue
        if token.type == "_EQUAL" and not depth:
            names = statement
        elif token.type == "NAME" and (before in _DEFINING or (depth == 1 and _heads_function(statement, before))):
            names = [token]
        elif token.type == "_IN" and statement and statement[0].type == "FOR":
            names = statement
        elif (
            token.type == "NAME"
            and statement
            and statement[0].type in _IMPORTS
            and before in ("AS", "IMPORT", "_COMMA")
        ):
            names = [token]
        else:
            names = []
        for name in names:
            if name.type == "NAME":
                found.setdefault(str(name), name)
        statement.append(token)
    return found


def _heads_function(statement: Sequence[Token], before: str) -> bool:
    """Whether a name in brackets is a parameter: def f(x, y."""
    return len(statement) > 2 and statement[0].type == "DEF" and before in ("LPAR", "_COMMA")


def unknown(tokens: Sequence[Token], names: Collection[str]) -> list[tuple[int, int]]:
    """The places of names without a value: neither in the session, nor in the language, nor bound by these tokens."""
    here = given(tokens)
    found, imports, before = [], False, ""
    for token, following in zip(tokens, [*tokens[1:], Token("")], strict=False):
        imports = before in _IMPORTS or (imports and before not in _LINE_ENDS)
        if token.type == "NAME" and following.type != "_EQUAL" and not imports and before not in _OTHERWISE:
            known = token in _KNOWN or token in names or token in here or is_result(token)
            if not known:
                found.append((token.start_pos, token.end_pos))
        before = "SET" if before == "SET" and following.type == "NAME" else token.type  # `set echo off`
    return found
