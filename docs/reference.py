"""The pages that are made from the same tables as `help`: functions, language, errors."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from agrad.cli.repl.printer import SAYS, PromptPrinter
from agrad.engine.core.context import Context, enter
from agrad.engine.core.op import Entry
from agrad.engine.errors import AgradError
from agrad.grammar.commands import COMMANDS
from agrad.grammar.commands.registry import Command
from agrad.grammar.diagnostics import render
from agrad.grammar.help.help import (
    FOOTING,
    HEADING,
    KINDS,
    LISTS,
    OPERATORS,
    STATEMENT_HELP,
    STATEMENTS,
    all_kinks,
    facts,
    families,
)
from agrad.grammar.prompt.changes import Changes
from agrad.grammar.results import Noted, Result
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.keywords import GRAMMAR, OPTIONS, SOFT

_MADE = "Made by `make docs` from the table of functions; `help sin` in a session, and `agrad help sin`, say the same."


def functions_page() -> str:
    """All functions by family, and the table of kinks."""
    lines = ["# Functions", "", _MADE, ""]
    groups = families()
    lines += [f"* [{family}](#{family.replace(' ', '-')})" for family, _ in groups]
    lines += ["* [kinks](#kinks)", "* [index](#index)", ""]
    for family, entries in groups:
        lines += [f"## {family}", ""]
        for entry in entries:
            lines += _lines(entry)
        lines.append("")
    return "\n".join([*lines, *_kinks(), *_index(groups)]) + "\n"


def _lines(entry: Entry) -> Iterator[str]:
    """One function: how it is called and what it computes, then its other facts."""
    yield f"* `{entry.signature.usage}`: {escaped(entry.doc)}"
    for word, text in facts(entry):
        yield f"  * {word}: {f'`{text}`' if word == 'example' else escaped(text)}"


def _kinks() -> Iterator[str]:
    yield from ("## kinks", "", f"{escaped(HEADING)}.", "", "| at | value | derivative |", "|---|---|---|")
    for kink in all_kinks():
        yield f"| {escaped(kink.at)} | {escaped(kink.value)} | {escaped(kink.derivative)} |"
    yield from ("", escaped(FOOTING))


def _index(groups: Iterable[tuple[str, list[Entry]]]) -> Iterator[str]:
    """All functions by name, each with a link to its family."""
    places = {entry.name: family for family, entries in groups for entry in entries}
    yield from ("", "## index", "")
    for initial, names in groupby(sorted(places, key=str.lower), key=lambda name: name[0].upper()):
        links = [f"[{escaped(name)}](#{places[name].replace(' ', '-')})" for name in names]
        yield f"* {initial}: {', '.join(links)}"


def prose(text: str) -> str:
    """A text in which nothing is markup but `code`."""
    return re.sub(r"`[^`]*`|[^`]+", lambda part: part[0] if part[0][0] == "`" else escaped(part[0]), text)


def escaped(text: str) -> str:
    """A text with its markup escaped."""
    return re.sub(r"([\\`*_\[<|])", r"\\\1", text)


# The language: docs/language.md

_LANGUAGE = """\
# The language

Made by `make docs` from the table of commands and the grammar; `help backward` in a session, and `agrad help backward`,
say the same. The functions are in [functions.md](functions.md), the kinds of errors in [errors.md](errors.md).

* [two readings](#two-readings)
* [statements](#statements)
* [commands](#commands)
* [lists](#lists)
* [operators](#operators)
* [grammar](#grammar)
"""
_READINGS = """\
## Two readings

agrad reads two languages. This page is about the first.

* **The calculator's**, at a prompt, in `agrad eval` and in `.ag` files: every number is a float, `^` is power, `[1, 2]`
  is a vector, values are shown, nothing needs an import.
* **Python**, in `.py` files, and in a session, a notebook or an `.ag` file from its first `import` on. Lists are lists,
  whole numbers are ints, `^` is xor, names follow Python's scopes. `torch`, `numpy` and the modules of Python that a
  script can import are agrad's own; see [pytorch.md](pytorch.md). All of Python is read but `async`, metaclasses, and
  what reaches into Python's own machinery, within the limits of [SECURITY.md](../SECURITY.md): classes derived from
  `int`, `str`, `list` or `dict`, `__getattr__` and `__init_subclass__`, `BaseException`, `.__cause__`, `throw` of a
  generator, `cache_info`, and dataclasses with slots are errors that say so.

A session says once that it reads Python; `calculator` on a line of its own goes back, in a session as in a file.
"""
_BOTH = [
    "var x = 3; y = x^2",
    "import torch",
    "y",
    "[4, 8]*2",
    "y.backward()",
    "calculator",
    "x.grad",
    "[4, 8]*2",
]
_RULES = """
Where Python is read:

* An expression alone on a line shows its value at a prompt as Python's does, and `_` is that value. In a notebook the
  last one of a cell does. In files and from pipes nothing is shown but what `print` writes. `;` behind it hides it.
* Commands stand beside Python's statements, as `graph y`, `backward y retain`, `undo`, `var x = 2`, where Python could
  not read the line otherwise, or would read a name that has no value.
* A statement that fails, or is stopped, changes nothing, and `undo` takes it back, in lists, dictionaries, objects and
  modules of a network, too. What was written into a file, and a generator that went on, stay.
* A line that only the calculator can read is an error, which says so; a name that only it has, such as `load_csv`, too.

Values are the same in both: a number of the calculator is a float of Python, a vector a tensor of float64, a list a
list. Back in the calculator, whole numbers become numbers, lists of numbers vectors; modules, functions and objects of
Python can be used there, `math.pi`, `f(2)`, `net(x)`, `a.size`, `d["k"]`.

## Statements

Statements stand on a line each, or several with `;` between them. A value followed by `;` is not shown. A block is
indented, or stands on the line after its `:`. `#` starts a comment.
"""
_CHANGES = {
    "nothing": "",
    "graph": "Changes gradients, or the graph behind them.",
    "session": "Changes names, values or settings.",
}


def language_page() -> str:
    """Every statement, command and operator, and the rules of the grammar."""
    parts = [*_readings(), *_statements(), *_commands(), *_lists(), *_operators(), *_grammar()]
    return "\n".join([_LANGUAGE, *parts]) + "\n"


def _readings() -> Iterator[str]:
    session = enter(Context(), Session)
    session.steps.depth, session.by_entry, session.settings.echo = DEPTH, True, True  # as at the prompt
    session.shows = True, True
    yield from (_READINGS, "```agrad", *_transcript(session, _BOTH), "```", _RULES)


def _statements() -> Iterator[str]:
    statements = "\n".join(line.removeprefix("  ") for line in STATEMENTS.split("\n"))
    yield f"```text\n{statements}\n```\n"
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
    for choices in (command.keywords, command.choices, *(option.choices for option in command.options.values())):
        rows += choices.items()
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
        yield f"| {', '.join(map(_in_table, re.split(r' {3}', usage)))} | {prose(meaning)} |"


def _in_table(form: str) -> str:
    """Code in a cell, where a bar would end it, and a backslash before the bar is shown by some readers."""
    return f"`{form}`" if "|" not in form else f"<code>{form.replace('|', '&#124;')}</code>"


def _grammar() -> Iterator[str]:
    """The rules of agrad.lark, with words and signs in the place of its terminals."""
    text = Path(GRAMMAR).read_text("utf-8")
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


# The kinds of errors: docs/errors.md. Its programs are run when it is made.

_ERRORS = """\
# Errors

Made by `make docs` from the table of kinds, by running each program; `help errors` lists the kinds, and `help freed`
explains one.

An error has a kind: `error[freed]` in a session, `"kind": "freed"` with `--json`, `error.kind` in Python. The statement
`fails freed: backward y` holds if the rest of the line fails with an error of that kind. An error names the place, and
says what to type instead. A statement that fails changes nothing. At a prompt, a syntax error is told below the line as
it is typed, which can be corrected there; texts from a file or a pipe are answered as below.
"""


def errors_page() -> str:
    """Every kind of error: what it is about, a program that causes one, and how it goes on."""
    return "\n".join([_ERRORS, *_sections()])


def _sections() -> Iterator[str]:
    for name, kind in KINDS.items():
        meaning = " ".join(kind.meaning.split())
        yield f"## {name}\n\n{prose(meaning[0].upper() + meaning[1:])}.\n"
        if kind.program:
            session = enter(Context(), Session)  # whatever the limits of this process
            session.steps.depth, session.by_entry, session.settings.echo = DEPTH, True, True  # as at the prompt
            session.record.on = True
            with without(kind.missing):
                yield from ("```agrad", *_transcript(session, kind.program), "```\n", "What to type then:\n")
            if kind.shell:
                yield f"```sh\n{kind.shell}\n```\n"
            yield from ("```agrad", *_transcript(session, kind.fix), "```\n")


@contextmanager
def without(library: str) -> Iterator[None]:
    """As if a library were not installed; its modules are found again afterwards."""
    if not library:
        yield
        return
    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == library}
    sys.modules[library] = None  # type: ignore[assignment]  # what Python takes for: there is none
    try:
        yield
    finally:
        del sys.modules[library]
        sys.modules.update(kept)


def _transcript(session: Session, statements: Iterable[str]) -> Iterator[str]:
    """Each statement behind a prompt, and what it answers and changes."""
    changes, printer = Changes(session), PromptPrinter(session.settings)
    for typed in statements:
        yield f"agrad {session.line}> {typed}"
        changes.begin()
        answers: list[Result] = []
        try:
            session.run(typed, answers.append)
        except AgradError as error:
            yield from (line.rstrip() for line in render(error).split("\n"))
        for answer in answers:
            yield render(answer.note) if isinstance(answer, Noted) else printer.text(answer, session.settings)
        if not SAYS.match(typed):
            yield from filter(None, changes.line(typed).split("\n"))
