"""The names that an import defines, `import numpy as n`: agrad reads only the usual prefixes of a module."""

from __future__ import annotations

from itertools import takewhile

from agrad.engine.core.op import FUNCTIONS
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.pytorch.libraries import HERE
from agrad.grammar.syntax.errors.messages import syntax_error
from agrad.grammar.syntax.lexer import Token


def refuse_aliases(source: Source, read: list[Token]) -> None:
    """Refuse the names that an import defines: a module is known by the prefixes that agrad reads.

    Raises AgradError of kind `syntax`.
    """
    path: list[Token] = []
    statement: list[Token] = []
    for token in read:
        if token.type in ("_NEWLINE", "_INDENT", "_DEDENT", "SEMICOLON", "_COLON"):
            path, statement = [], []
            continue
        if token.type in ("IMPORT", "FROM", "_COMMA"):
            path = []
        elif statement and statement[-1].type == "AS" and statement[0].type in ("IMPORT", "FROM"):
            _check_alias(source, statement, path, token)
        elif token.type in ("NAME", "_DOT"):
            path.append(token)
        statement.append(token)


def _check_alias(source: Source, statement: list[Token], path: list[Token], alias: Token) -> None:
    from agrad.grammar.pytorch import names as pytorch_names  # here, since few texts import anything

    name = "".join(path)
    module = "".join(takewhile(lambda token: token != "import", statement[1:]))
    if statement[0].type == "FROM" and pytorch_names.is_imported(module, name):
        return
    if (module if statement[0].type == "FROM" else name).partition(".")[0] not in HERE:
        return
    function = statement[0].type == "FROM" and (name in FUNCTIONS or name in pytorch_names.RENAMED)
    if name == alias or (alias in pytorch_names.PREFIXES and not function):
        return
    known = {"torch": "torch", "numpy": "np", "math": "math"}.get(name, "F" if name.endswith("functional") else "")
    if function:
        instead = f"{alias} = {name}   on its own line"
    elif known:
        instead = f"write {known}. where it says {alias}."
    else:
        instead = f"write {name}. where it says {alias}."
    place = Span(source, alias.start_pos, alias.end_pos)
    raise syntax_error("alias", place, module=name, name=str(alias), instead=instead)
