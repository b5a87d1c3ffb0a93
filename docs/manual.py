"""The manual page and its form in Markdown, made from the help of each command: for make_pages.py."""

import inspect
import re
from collections.abc import Iterable, Iterator

import click

from agrad.cli import __version__
from agrad.cli.commands.help import ENVIRONMENT, FILES
from agrad.cli.main import COMMANDS, root

_WIDTH = 100  # of the help texts in the Markdown form

EXIT = {
    "0": "Success.",
    "1": "An error in evaluation or differentiation, a failed assertion, or a derivative that `check` finds wrong.",
    "2": "Wrong usage of the command line, or a syntax error.",
    "124": "The time limit of --timeout, or of limits.time in config.toml, was exceeded.",
    "137": "The same, in a function of a library that had to be killed.",
    "130": "Interrupted by Ctrl-C.",
}
_SECTIONS = (
    ("Exit codes", "EXIT STATUS", EXIT),
    ("Environment", "ENVIRONMENT", ENVIRONMENT),
    ("Files, in the folder that `agrad config --path` prints", "FILES", FILES),
)


def _contexts() -> Iterator[click.Context]:
    """The root, and each of its commands, with the contexts in which they print their help."""
    outer = click.Context(root, info_name="agrad", terminal_width=_WIDTH)
    yield outer
    for name in COMMANDS:
        if (found := root.get_command(outer, name)) is not None:
            yield click.Context(found, info_name=name, parent=outer)


# Markdown


def markdown() -> Iterator[str]:
    """The lines of docs/cli.md."""
    yield "# The command line"
    yield "\nThe help of every command. `make docs` generates this page."
    for context in _contexts():
        with context:
            yield f"\n## {context.command_path}\n\n```text\n{context.command.get_help(context)}\n```"
    for title, _, rows in _SECTIONS:
        yield f"\n## {title}\n"
        yield from (f"* `{name}`: {text}" for name, text in rows.items())


# The manual page, in the language of man(7)


def page() -> Iterator[str]:
    """The lines of docs/agrad.1."""
    first, *others = _contexts()
    summary, *description = _paragraphs(first.command)
    yield f'.TH AGRAD 1 "" "agrad {__version__}" "User Commands"'
    yield from (".SH NAME", rf"agrad \- {_escaped(summary[0].lower() + summary[1:].rstrip('.'))}")
    yield from (".SH SYNOPSIS", _escaped(_usage(first)), ".SH DESCRIPTION", *_text(description), *_options(first))
    yield ".SH COMMANDS"
    for context in others:
        yield f".SS {_escaped(_usage(context))}"
        yield from _text(_paragraphs(context.command))
        yield from _options(context)
    for _, title, rows in _SECTIONS:
        yield f".SH {title}"
        if rows is FILES:
            yield _escaped("They are in the folder that agrad config --path prints. All of them are optional.")
        yield from _tagged(rows.items())


def _usage(context: click.Context) -> str:
    return " ".join([context.command_path, *context.command.collect_usage_pieces(context)])


def _paragraphs(command: click.Command) -> list[str]:
    return re.split(r"\n\s*\n", inspect.cleandoc(command.help or "").strip())


def _text(paragraphs: list[str]) -> Iterator[str]:
    """Paragraphs; those after the mark against rewrapping, unchanged."""
    for paragraph in paragraphs:
        lines = [_escaped(line) for line in paragraph.splitlines()]
        if lines[0] == "\b":
            yield from (".PP", ".RS 4", ".nf", *lines[1:], ".fi", ".RE")
        else:
            yield from (".PP", *lines)


def _options(context: click.Context) -> Iterator[str]:
    with context:
        options = [one for one in context.command.get_params(context) if isinstance(one, click.Option)]
        records = [option.get_help_record(context) for option in options]
    yield from _tagged(record for record in records if record is not None)


def _tagged(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for name, text in rows:
        yield from (".TP", rf"\fB{_escaped(name)}\fR", _escaped(text))


def _escaped(text: str) -> str:
    """A line escaped for man: without requests and escapes, with minus signs that can be copied."""
    line = text.replace("\\", r"\e").replace("-", r"\-").replace("…", "...")
    return rf"\&{line}" if line.startswith((".", "'")) else line
