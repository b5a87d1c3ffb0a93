"""`agrad help`: what a session's `help` says, without a session; and what a command of the terminal's own does."""

from __future__ import annotations

import click

from agrad.cli.command import Command
from agrad.engine.errors import AgradError
from agrad.grammar.commands import COMMANDS
from agrad.grammar.help import help_on, overview


@click.command("help", cls=Command)
@click.argument("word", required=False)
@click.pass_context
def command(context: click.Context, word: str | None) -> None:
    """Explain a function or a command; or list all.

    Functions, operators and commands of the language, and the commands that follow `agrad`.

    \b
    agrad help sin
    agrad help backward
    agrad help kinks          what derivatives are where there is none
    """
    if word is None:
        click.echo(overview(COMMANDS))
        return
    own = _own(context, word)
    parts = [own] if own else []
    try:
        parts.insert(0, help_on(word, COMMANDS))
    except AgradError as problem:
        if not own:
            problem.fixes = [f"agrad {fix}" for fix in problem.fixes]
            raise
    click.echo("\n\n".join(parts))


def _own(context: click.Context, word: str) -> str | None:
    """The help of a command of the terminal's; None if there is none of that name."""
    root = context.parent
    found = root.command.get_command(root, word) if root and isinstance(root.command, click.Group) else None
    if root is None or found is None:
        return None
    with click.Context(found, info_name=word, parent=root) as inner:
        return found.get_help(inner)
