"""The language as a document: docs/language.md, made from the tables behind `help` and from the grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from agrad.grammar import syntax
from agrad.grammar.commands import COMMANDS
from agrad.grammar.commands.registry import Command
from agrad.grammar.help.functions_doc import escaped, prose
from agrad.grammar.help.help import OPERATORS, STATEMENT_HELP, STATEMENTS
from agrad.grammar.help.lists_page import LISTS
from agrad.grammar.syntax.keywords import OPTIONS, SOFT

_HEAD = """\
# The language

Made by `make docs` from the table of commands and the grammar; `help backward` in a session, and `agrad help backward`,
say the same. The functions are in [functions.md](functions.md), the kinds of errors in [errors.md](errors.md).

* [statements](#statements)
* [commands](#commands)
* [lists](#lists)
* [operators](#operators)
* [grammar](#grammar)

## Statements

Statements stand on a line each, or several with `;` between them. A value followed by `;` is not shown. A block is
indented, or stands on the line after its `:`. `#` starts a comment.
"""
_CHANGES = {
    "nothing": "",
    "graph": "Changes gradients, or the graph behind them.",
    "session": "Changes names, values or settings.",
}


def markdown() -> str:
    """Every statement, command and operator, and the rules of the grammar."""
    return "\n".join([_HEAD, *_statements(), *_commands(), *_lists(), *_operators(), *_grammar()]) + "\n"


def _statements() -> Iterator[str]:
    yield f"```text\n{_unindented(STATEMENTS)}\n```\n"
    for word, text in STATEMENT_HELP.items():
        usage, _, meaning = text.partition("\n")
        yield f"### {escaped(word)}\n\n```text\n{usage}\n```\n\n{prose(_joined(meaning))}\n"


def _commands() -> Iterator[str]:
    yield "## Commands\n"
    for word, command in COMMANDS.items():
        yield f"### {escaped(word)}\n\n```text\n{command.usage}\n```\n\n{prose(command.help)}"
        yield from _options(command)
        if _CHANGES[command.changes]:
            yield f"\n{_CHANGES[command.changes]}"
        yield f"\n```agrad\n{command.example.replace('; ', chr(10))}\n```\n"


def _options(command: Command) -> Iterator[str]:
    """The words that may follow the operands of a command, and `name=value`, each with its meaning."""
    rows = [(word, option.meaning) for word, option in command.options.items()]
    rows += [(f"{keyword.example}", keyword.meaning) for keyword in command.keywords.values()]
    if command.choices is not None:
        rows += list(command.choices().items())
    for option in command.options.values():
        if option.choices is not None:
            rows += list(option.choices().items())
    if rows:
        yield "\n| option | meaning |\n|---|---|"
        yield from (f"| `{word}` | {prose(_joined(meaning))} |" for word, meaning in rows)


def _lists() -> Iterator[str]:
    yield "## Lists\n"
    for told, shown in LISTS:
        lines = shown.replace("; ", "\n")
        yield f"{prose(told)}\n\n```text\n{lines}\n```\n"


def _operators() -> Iterator[str]:
    yield "## Operators\n\nThe tightest first.\n\n| operator | meaning |\n|---|---|"
    for usage, meaning in OPERATORS:
        yield f"| {', '.join(f'`{form}`' for form in re.split(r' {3}', usage))} | {prose(meaning)} |"


def _grammar() -> Iterator[str]:
    """The rules of agrad.lark, with words and signs in the place of its terminals."""
    text = (Path(syntax.__file__).parents[1] / "agrad.lark").read_text(encoding="utf-8")
    written = _terminals(text)
    yield "\n## Grammar\n\nThe rules of `grammar/agrad.lark`, with words and signs in the place of its terminals.\n"
    yield "```text"
    for name, body in re.findall(r"^[?!]*([a-z_]+): (.*(?:\n {2,}\|.*)*)", text, re.MULTILINE):
        body = re.sub(r" -> \w+", "", body)
        body = re.sub(r"\b_?[A-Z][A-Z_]*\b", lambda found: written.get(found[0], found[0].lstrip("_")), body)
        lines = [line.strip() for line in body.split("\n")]
        yield f"{name}: " + f"\n{' ' * len(name)}".join(lines)
    yield "```"


def _terminals(text: str) -> dict[str, str]:
    """How each terminal that stands for words or signs is written."""
    signs: dict[str, str] = dict(re.findall(r'^(_?[A-Z_]+)(?:\.\d+)?: ("[^\n]*")$', text, re.MULTILINE))
    options: dict[str, list[str]] = {}
    for words in OPTIONS.values():
        for word, terminal in words.items():
            options.setdefault(terminal, []).append(f'"{word}"')
    written = {word.upper(): f'"{word}"' for word in SOFT}
    written |= {terminal: " | ".join(dict.fromkeys(words)) for terminal, words in options.items()} | signs
    return {name: f"({form})" if " | " in form else form for name, form in written.items()}


def _joined(text: str) -> str:
    """Lines as one."""
    return " ".join(text.split())


def _unindented(text: str) -> str:
    return "\n".join(line.removeprefix("  ") for line in text.split("\n"))
