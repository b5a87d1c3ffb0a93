"""`agrad help`: the `help` of a session, without a session; and the help of the commands of the terminal."""

from __future__ import annotations

import click

import agrad
from agrad.cli.arguments import completions
from agrad.cli.main import COMMANDS, Command, root
from agrad.cli.settings import SETTINGS
from agrad.cli.terminal.pager import explain
from agrad.engine.text import beside, tables

# What there is beside the commands, with what it is about.
_TABLES = tables(beside(__file__, "surroundings.txt"))
ENVIRONMENT = _TABLES["environment"]
FILES = {name: told.replace("{settings}", ", ".join(SETTINGS)) for name, told in _TABLES["files"].items()}


def _words() -> dict[str, str]:
    """Every word that there is help on, in order, with a description."""
    return dict(sorted(agrad.grammar.help.help.topics(agrad.grammar.commands.COMMANDS).items()))


@click.command("help", cls=Command)
@click.argument("word", required=False, shell_complete=completions(_words))
@click.pass_context
def command(context: click.Context, word: str | None) -> None:
    """Explain a function or a command, or say what to type first.

    WORD is a function, operator or command of the language, or a command of the command line.

    \b
    agrad help sin
    agrad help backward
    agrad help kinks          derivatives at points where there is none
    agrad help everything     all that there is
    """
    if word is None:
        explain(agrad.grammar.help.help.start())
        return
    own = _own(context, word)
    parts = [own] if own else []
    try:
        parts.insert(0, agrad.grammar.help.help.help_on(word, agrad.grammar.commands.COMMANDS))
    except agrad.engine.errors.AgradError as problem:
        if not own:
            likely = [f"help {name}" for name in agrad.grammar.diagnostics.suggest(word, COMMANDS)]
            problem.fixes = [f"agrad {fix}" for fix in (*likely, *problem.fixes) if fix != "help" or not likely]
            raise
    explain("\n\n".join(parts))


def _own(context: click.Context, word: str) -> str | None:
    """The help of a command, an environment variable, a file or a setting of agrad; None if there is none."""
    found = root.get_command(context, word)
    if found is not None:
        with click.Context(found, info_name=word, parent=context.parent) as inner:
            return found.get_help(inner)
    settings = {name: f"In config.toml: {setting.text}, {setting.takes}." for name, setting in SETTINGS.items()}
    told = ENVIRONMENT | FILES | settings
    return f"{word}\n  {told[word]}" if word in told else None


# `agrad functions`: all functions, by family.


@click.command("functions", cls=Command)
def functions() -> None:
    """List the functions of the language, one per line, by family.

    \b
    agrad functions
    """
    explain(agrad.grammar.help.help.functions())
