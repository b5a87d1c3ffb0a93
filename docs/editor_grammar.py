"""The TextMate grammar, which VS Code and GitHub colour with: made from the terminals of `agrad.lark` and the lexer.

A TextMate grammar is a tree of regular expressions, each matched within a line. What the lexer decides from the tokens
before a word is said here by where a rule stands: a command begins a statement, its options stand in the rule of the
command, and in brackets there are no statements.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from typing import Any

from agrad.grammar.syntax import keywords
from agrad.grammar.syntax.keywords import saved
from agrad.grammar.syntax.lexer import (
    FSTRING_TEXT,
    IN_FIELD,
    OPERAND_ENDS,
    TOPIC,
    Token,
    after_command,
)
from agrad.grammar.syntax.parser import kind_of

Rule = dict[str, Any]

# The scope of TextMate's grammars for each kind of token that the prompt colours.
SCOPES = {
    "number": "constant.numeric",
    "string": "string.quoted",
    "name": "variable.other",
    "command": "support.function",
    "keyword": "keyword.control",
    "operator": "keyword.operator",
    "comment": "comment.line",
    "error": "invalid.illegal",
}
GROUPS = {kind: kind.capitalize() for kind in SCOPES} | {"name": "Identifier", "command": "Statement"}  # those of Vim

_START = r"(?:^|(?<=[;:]))[ \t]*"  # of a statement, outside of brackets
_SUPERSCRIPT = f"[{''.join(keywords.SUPERSCRIPTS)}]"
_NAME = rf"[^\W\d](?:(?!{_SUPERSCRIPT})\w)*"
_VALUES = frozenset({"None", "True", "False"})
_QUOTES = ("'", '"')


def grammar() -> Rule:
    """The whole grammar: statements, and under `expression` what stands in brackets."""
    return {
        "scopeName": "source.agrad",
        "name": "agrad",
        "fileTypes": ["ag"],
        "patterns": [_include("statement"), _include("expression")],
        "repository": {
            # `print` is a command but where it is called.
            "statement": {"patterns": [*_commands(), _match(r"(?<!\.)\bprint\b(?!\()", "command")]},
            "expression": {"patterns": _expression()},
            "brackets": _brackets(),
            "field": _field(),
        },
    }


def as_json() -> str:
    """The grammar as the text of a file."""
    return json.dumps(grammar(), indent=2, ensure_ascii=False) + "\n"


def as_vim() -> str:
    """The syntax file of Vim: the same kinds, of a command's options those that are words alone."""
    signs, options = saved()["signs"], {word for given in keywords.OPTIONS.values() for word in given}
    commands = keywords.COMMAND_WORDS | {*keywords.HEADERS, "print", "fails"}
    number = re.sub(r"(?<!\\)\((?!\?)", "%(", f"{signs['MEASURED']}|{signs['NUMBER']}".replace(r"(?!\.)", r"(\.)@!"))
    value = r"\s+%((if|and|or|in|is|else|for|not)>)@![[:alpha:]_0-9.\"']|\s*%($|[;#:])"
    strings = [(sign, f"start=/[fF]\\={sign}/ skip=/\\\\./ end=/{sign}/") for sign in ("'", '"', "'''", '"""')]
    rules = {
        "operator": r"match /[-+*\/%@^=<>!~,.:;()\[\]{}|±√×·−≤≥≠]/",
        "number": rf"match /\v<%({number})/",
        "command": rf"match /\v%(%(^|[;:])\s*)@<=<%({_any(commands)})>%({value})@=/",
        "keyword": f"keyword {' '.join(sorted(keywords.PYTHON))}",
        "comment": "match /#.*/",
    }
    lines = [f"syn {rule.replace(' ', f' agrad{kind} ', 1)}" for kind, rule in rules.items()]
    lines += [f"syn region agradstring {rule}{' oneline' * (len(sign) == 1)}" for sign, rule in strings]
    lines.append(
        f"syn match agradcommand /\\v[[:alnum:]_)\\]\"']\\s+\\zs<%({_any(options - keywords.PYTHON)})>%(\\s*[=(.,])@!/"
    )
    links = [f"hi def link agrad{kind} {GROUPS[kind]}" for kind in (*rules, "string")]
    head = ['" Made by `make docs` from the grammar of agrad.', 'if exists("b:current_syntax") | finish | endif']
    return "\n".join([*head, *lines, *links, 'let b:current_syntax = "agrad"', ""])


def _include(name: str) -> Rule:
    return {"include": f"#{name}"}


def _scope(kind: str) -> str:
    return f"{SCOPES[kind]}.agrad"


def _match(pattern: str, *kinds: str) -> Rule:
    """A rule for a pattern: one kind is that of all it matches, several are those of its groups."""
    if len(kinds) == 1:
        return {"name": _scope(kinds[0]), "match": pattern}
    return {"match": pattern, "captures": _captures(kinds)}


def _captures(kinds: Iterable[str]) -> Rule:
    return {str(number): {"name": _scope(kind)} for number, kind in enumerate(kinds, 1)}


def _any(words: Collection[str]) -> str:
    """One of some words or signs, the longest first."""
    return "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))


def _word(words: Collection[str]) -> str:
    return rf"\b(?:{_any(words)})\b"


# Statements


def _commands() -> list[Rule]:
    """A rule for each word that is a command where a statement begins."""
    maybe = sorted(keywords.SOFT - {"fails"} | keywords.NAMES_TOO)
    sure = sorted(keywords.OPTIONS.keys() - keywords.SOFT)
    follows = {word: rf"\b(?={after_command(word)})" for word in [*maybe, "exit"]} | dict.fromkeys(sure, r"\b")
    return [
        _match(rf"{_START}(help)\b{TOPIC}", "command", "command"),
        _match(rf"{_START}(fails)\b(?={after_command('fails')})[ \t]+(\w+)", "command", "name"),
        *(_command(word, after) for word, after in follows.items()),
    ]


def _command(word: str, after: str) -> Rule:
    """A command, up to the end of its statement if it has options: words that are names elsewhere."""
    start = rf"{_START}({word}){after}"
    if word not in keywords.OPTIONS:
        return {"match": start, "captures": _captures(["command"])}
    options = keywords.OPTIONS[word]
    kinds = {kind_of(Token(terminal, option)) for option, terminal in options.items()}
    assert kinds == {"command"}
    valued = {option for option, terminal in options.items() if terminal not in keywords.FLAGS}
    return {
        "begin": rf"{start}(?:[ \t]+({_any(options)})\b)?",
        "beginCaptures": _captures(["command", "name"]),
        "end": r"(?=[;#])|$",
        "patterns": [
            # An option follows an operand: not a sign, a keyword, or another option that takes a value.
            _match(rf"({_operators(but=OPERAND_ENDS)})[ \t]*({_any(options)})\b", "operator", "name"),
            _match(rf"\b({_any(keywords.PYTHON - _VALUES - {'with'})})[ \t]+({_any(options)})\b", "keyword", "name"),
            *([_match(rf"\b({_any(valued)})[ \t]+({_any(options)})\b", "command", "name")] if valued else []),
            _match(_word(options), "command"),
            _include("expression"),
        ],
    }


# Expressions


def _expression() -> list[Rule]:
    """What an expression consists of, in the order in which it is tried."""
    signs = saved()["signs"]
    commands = keywords.COMMANDS - {"print"} - keywords.NAMES_TOO
    return [
        _match(signs["COMMENT"], "comment"),
        *map(_fstring, _QUOTES),
        *map(_long_string, _QUOTES),
        _match(signs["STRING"], "string"),
        _match(signs["MEASURED"], "number"),
        _match(signs["NUMBER"], "number"),
        _match(f"{_SUPERSCRIPT}+", "number"),
        _include("brackets"),
        _match(rf"(\.)[ 	]*(?!{_word(keywords.PYTHON)})({_NAME})", "operator", "name"),
        # A method may be called as a command is.
        _match(rf"^[ \t]+(def)[ \t]+(?!{_word(keywords.PYTHON)})({_NAME})", "keyword", "name"),
        _match(_word(keywords.PYTHON), "keyword"),
        _match(_word(commands), "command"),
        _match("π", "name"),
        _match(_NAME, "name"),
        _match(f"{_operators()}|[{''.join(keywords.MATHEMATICS)}]", "operator"),
        _match(r"[^\s\ufeff]", "error"),
    ]


def _operators(but: Collection[str] = ()) -> str:
    """All signs that are operators."""
    signs = {name: sign for name, sign in saved()["signs"].items() if name not in ("SPACE", "LINE_BREAK", *but)}
    return "|".join(sign for name, sign in signs.items() if kind_of(Token(name)) == "operator")


def _brackets() -> Rule:
    """What stands in brackets, over several lines too."""
    begin, end = (f"[{re.escape(''.join(signs))}]" for signs in (keywords.CLOSERS, keywords.CLOSERS.values()))
    return _between(begin, end, "operator", [_include("expression")], group="0")


def _between(begin: str, end: str, kind: str, patterns: list[Rule], group: str = "1") -> Rule:
    """What stands between two signs of a kind; in which group of its pattern the end has its sign."""
    return {
        "begin": begin,
        "beginCaptures": {"0": {"name": _scope(kind)}},
        "end": end,
        "endCaptures": {group: {"name": _scope(kind)}},
        "patterns": patterns,
    }


def _long_string(quote: str) -> Rule:
    """A string that may have several lines."""
    return {
        "name": _scope("string"),
        "begin": quote * 3,
        "end": quote * 3,
        "patterns": [{"match": r"\\."}],
    }


def _fstring(quote: str) -> Rule:
    """A string with expressions in braces, on one line."""
    inside = [_match(FSTRING_TEXT[quote], "string"), _include("field")]
    return _between(rf"[fF]{quote}", rf"({quote})|$", "string", inside)


def _field() -> Rule:
    """An expression in an f-string, with how it is shown."""
    inside = [_match(pattern, kind_of(Token(name))) for name, pattern in IN_FIELD.items()]
    return _between(r"\{", r"(\})|$", "operator", [*inside, _include("expression")])
