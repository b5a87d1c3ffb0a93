"""Which word is asked about at a place in a text, and what there is to tell: for a server and for a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from agrad.engine.errors import AgradError
from agrad.grammar.commands.registry import COMMANDS
from agrad.grammar.help.help import help_on
from agrad.grammar.help.python_completion import told
from agrad.grammar.results import Result
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.lexer import CLOSING, OPENERS, Token
from agrad.grammar.syntax.parser import lexed


def word_at(tokens: Sequence[Token], place: int) -> list[Token]:
    """The tokens up to the word at a place; none where there is no word."""
    for number, token in enumerate(tokens):
        if token and token.start_pos <= place <= token.end_pos and token.isidentifier():
            return [before for before in tokens[: number + 1] if before]
    return []


def path_of(tokens: Sequence[Token]) -> list[str]:
    """The word at the end of some tokens, with the names before its points; `x` stands for any other value."""
    names = [str(tokens[-1])]
    place = len(tokens) - 2
    while place > 0 and tokens[place].type == "_DOT":
        names.insert(0, str(tokens[place - 1]) if tokens[place - 1].type == "NAME" else "x")
        place -= 2
    return names


def asked_about(text: str, place: int) -> list[str]:
    """The word at a place, as `path_of` gives it, or the function in whose brackets the place is; else nothing."""
    tokens = lexed(text)
    found = word_at(tokens, place)
    if found:
        return path_of(found)
    before = [token for token in tokens if token and token.end_pos <= place]
    number = called(before)
    if number is not None:
        return path_of(before[:number])
    return path_of(before[:1]) if before and before[0].isidentifier() else []


def called(tokens: Sequence[Token]) -> int | None:
    """Of some tokens the number of the bracket that calls a name, and is still open; None where there is none."""
    open_at: list[int] = []
    for number, token in enumerate(tokens):
        if token.type in OPENERS:
            open_at.append(number)
        elif token.type in CLOSING and open_at:
            open_at.pop()
    calls = (number for number in reversed(open_at) if number and tokens[number].type == "LPAR")
    return next((number for number in calls if tokens[number - 1].type == "NAME"), None)


def help_about(path: Sequence[str], session: Session) -> str | None:
    """What `info` tells of a name of the session, or else the help on a word; None where there is none."""
    if path[0] in session.names and len(path) == 1:
        return info(path[0], session)
    if session.reads_python and (found := told(".".join(path), session)) is not None:
        return found
    try:
        return help_on(".".join(path), COMMANDS)
    except AgradError:
        return None


def info(name: str, session: Session) -> str:
    """What `info` tells of a name."""
    answers: list[Result] = []
    try:
        session.run(f"info {name}", answers.append)
    except AgradError as problem:  # a limit of the session
        return problem.message
    return "\n".join(result.text(session.settings) for result in answers)
