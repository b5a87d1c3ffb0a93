"""Mistakes of people who know what they want to say: a misspelt option, and what Python has.

Those that do not fit are looked for before all others (blame.py), for which a word too many is one like any other.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, Span, suggest
from agrad.grammar.syntax.driver import Misfit
from agrad.grammar.syntax.errors.messages import wrong
from agrad.grammar.syntax.errors.recognisers import Scene
from agrad.grammar.syntax.keywords import HEADERS, OPTIONS, SHAPES
from agrad.grammar.syntax.token import Token

# The words behind the operands of a command, also those that are words of Python: these are options everywhere.
_OPTIONS = {**OPTIONS, "graph": {*OPTIONS["graph"], "as", "from"}, "forward": {"with"}}


def slip(source: Source, error: Misfit, read: list[Token]) -> AgradError | None:
    """The mistake behind a token that did not fit, if it is one of these."""
    scene = Scene(source, error, read, iter(()))
    return _option(scene) or _assigned(scene) or _annotation(scene) or _star(scene) or _uncalled(scene)


def refuse_aliases(source: Source, read: list[Token]) -> None:
    """Refuse the names that an import makes up: a module is known by the prefixes that agrad reads.

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
    from agrad.grammar.runtime import pytorch_names  # here, since few texts import anything

    name = "".join(path)
    function = statement[0].type == "FROM" and (name in FUNCTIONS or name in pytorch_names.RENAMED)
    if name == alias or (alias in pytorch_names.PREFIXES and not function):
        return
    known = {"torch": "torch", "numpy": "np", "math": "math"}.get(name, "F" if name.endswith("functional") else "")
    if function:
        instead = f"{alias} = {name}   on a line of its own"
    elif known:
        instead = f"write {known}. where it says {alias}."
    else:
        instead = f"write {name}. where it says {alias}."
    place = Span(source, alias.start_pos, alias.end_pos)
    raise wrong("alias", place, module=name, name=str(alias), instead=instead)


def _option(scene: Scene) -> AgradError | None:
    """A word that is almost an option of the command: the one that does not fit, or one taken for an operand."""
    head = str(scene.head)
    if scene.head.type == "BACKWARD" and scene.bad.type == "_EQUAL" and scene.open:  # backward(y, retain_graph=True)
        return wrong("shape", scene.place, word=head, usage=SHAPES[head])
    if head not in _OPTIONS or scene.head.type in ("NAME", "RESERVED"):
        return None
    _, *written = [*scene.statement[1:], scene.bad]  # what stands first is the operand
    for token in reversed(written):
        known = near(token, _OPTIONS[head]) if token.type == "NAME" else []
        if known:
            place = scene.span(token)
            before, behind = scene.line_before(place.start), scene.rest_of_line(place.end)
            instead = " or ".join(f"{before}{word}{behind}" for word in known)
            return wrong("option", place, word=str(token), command=head, instead=instead)
    return None


def near(word: str, options: Collection[str]) -> list[str]:
    """The options that a word may be a slip of; here also those of two letters in the wrong order."""
    swapped = [option for option in sorted(options) if len(word) == 2 and option == word[::-1]]
    return swapped or suggest(word, options)


def _assigned(scene: Scene) -> AgradError | None:
    """`x := 3`, `f(x) := x**2`: the sign of mathematics, where a statement may give a value."""
    place, head = scene.bad.start_pos, scene.head
    if scene.bad.type != "_COLON" or scene.open or not scene.source.text.startswith(":=", place):
        return None
    if head.type not in ("NAME", "SET", "VAR"):
        return None
    target = scene.text_of(head, scene.previous)
    word = "def " if scene.previous.type == "RPAR" else ""
    instead = f"{word}{target} = {scene.rest_of_line(place + 2).strip()}"
    return wrong("becomes", Span(scene.source, place, place + 2), instead=instead)


def _uncalled(scene: Scene) -> AgradError | None:
    """`sin x`, and `[1, 2; 3, 4]`: what other calculators read."""
    if scene.bad.type == "SEMICOLON" and scene.open and scene.open[-1].type == "_LSQB":
        return wrong("rows", scene.span(scene.bad))
    head = scene.head
    if len(scene.statement) != 1 or head.type != "NAME" or head not in FUNCTIONS or head in SHAPES:
        return None
    if scene.bad.type not in ("NAME", "NUMBER"):
        return None
    right = scene.rest_of_line(scene.bad.start_pos).partition("#")[0].strip()
    return wrong("brackets", scene.span(scene.bad), name=str(head), instead=f"{head}({right})")


def _star(scene: Scene) -> AgradError | None:
    """`f(*x)` and `[*x]`: an argument, or an entry, that begins with the sign."""
    bad, end = scene.bad, scene.bad.end_pos
    if bad not in ("*", "**") or not scene.open or scene.previous.type not in ("LPAR", "_LSQB", "_COMMA"):
        return None
    if not re.match(r"[\w(\[]", scene.source.text[end : end + 1]):
        return None
    if scene.head.type == "DEF" and all(token.type != "_EQUAL" for token in scene.statement):
        return wrong("def", scene.span(bad))
    return wrong("star", scene.span(bad), sign=str(bad))


def _annotation(scene: Scene) -> AgradError | None:
    """`x: float = 3`, `def f(x: float)`, `def f(x) -> float:`."""
    bad, head = scene.bad, scene.head
    if head.type == "DEF":
        inside = bad.type == "_COLON" and len(scene.open) == 1 and scene.previous.type == "NAME"
        if inside:
            return wrong("annotation", scene.span(bad), instead=f"{scene.previous} alone")
        arrow = bad == "-" and scene.previous.type == "RPAR" and not scene.open
        if arrow and scene.source.text.startswith("->", bad.start_pos):
            place = Span(scene.source, bad.start_pos, bad.start_pos + 2)
            return wrong("annotation", place, instead=f"{scene.text_of(head, scene.previous)}:")
        return None
    if bad.type != "_COLON" or scene.open or {token.type for token in scene.statement} - {"NAME", "_DOT"}:
        return None
    rest = scene.rest_of_line(bad.start_pos)
    annotated = re.match(r":[^=]*", rest)
    header = len(scene.statement) == 1 and (suggest(str(head), HEADERS) or head in SHAPES)  # a misspelt `time:`
    if not scene.statement or header or not re.match(r":[ \t]*[^\W\d]", rest) or annotated is None:
        return None
    target = scene.text_of(head, scene.previous)
    value = rest[annotated.end() :].partition("#")[0].rstrip()
    return wrong("annotation", scene.span(bad), instead=f"{target} {value}" if value else f"{target} = …")
