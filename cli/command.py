"""What the commands have in common: how they fail, and the options they share."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import click

FAILED = 1
WRONG_SYNTAX = 2


class Command(click.Command):
    """A command that reports an AgradError on stderr and returns its exit code."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Name the likely option beside an unknown one."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as problem:
            options = [name for parameter in self.get_params(ctx) for name in parameter.opts]
            raise unknown("option", problem.option_name, options, ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; 0 or what it returns, 1 after an error, 2 after a syntax error."""
        from agrad.engine.errors import AgradError  # here, so that `agrad --version` does without the engine

        try:
            return super().invoke(ctx) or 0
        except AgradError as problem:
            return complain(problem)


def complain(problem: Any) -> int:
    """Show an AgradError on stderr; its exit code."""
    from agrad.grammar.diagnostics import render

    click.echo(render(problem), err=True)
    return WRONG_SYNTAX if problem.kind == "syntax" else FAILED


def unknown(
    what: str, word: str, candidates: Iterable[str], context: click.Context, otherwise: str = ""
) -> click.UsageError:
    """The usage error for a word that is no option or command: with the one that was probably meant."""
    from agrad.grammar.diagnostics import suggest

    bare = {candidate.lstrip("-"): candidate for candidate in candidates}
    likely = [bare[name] for name in suggest(word.lstrip("-"), bare)]
    advice = f"did you mean {' or '.join(likely)}?" if likely else otherwise
    return click.UsageError(f"no such {what} {word}" + (f": {advice}" if advice else ""), context)


def _digits(context: click.Context, parameter: click.Parameter, value: str) -> int | None:
    """The value of --precision as a session's settings have it: None for full."""
    if value == "full":
        return None
    if value.isdecimal() and 1 <= int(value) <= 17:
        return int(value)
    raise click.BadParameter(f"{value} is neither a number of digits (1 to 17) nor full", context, parameter)


precision_option = click.option(
    "--precision",
    default="10",
    show_default=True,
    metavar="N|full",
    callback=_digits,
    help="Significant digits of what is printed; full: what reads back to the same number.",
)


def read_text(path: str) -> str:
    """The text of a file, or of standard input for `-`. Raises AgradError of kind `file`."""
    from agrad.engine.errors import AgradError

    name = shown_name(path)
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                data = file.read()
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as problem:
        raise AgradError("file", f"cannot read {name}: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise AgradError("file", f"cannot read {name}: line {line} is not UTF-8 text") from None


def shown_name(path: str) -> str:
    """A file as messages call it."""
    return "<stdin>" if path == "-" else path
