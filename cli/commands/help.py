"""`agrad help`: the `help` of a session, without a session; and the help of the commands of the terminal."""

from __future__ import annotations

import click

import agrad
from agrad.cli.arguments import completions
from agrad.cli.main import COMMANDS, Command, root
from agrad.cli.settings import SETTINGS
from agrad.cli.terminal.pager import explain


def _words() -> dict[str, str]:
    """Every word that there is help on, in order, with a description."""
    return dict(sorted(agrad.grammar.help.help.topics(agrad.grammar.commands.COMMANDS).items()))


@click.command("help", cls=Command)
@click.argument("word", required=False, shell_complete=completions(_words))
@click.pass_context
def command(context: click.Context, word: str | None) -> None:
    """Explain a function or a command, or list them all.

    WORD is a function, operator or command of the language, or a command of the command line.

    \b
    agrad help sin
    agrad help backward
    agrad help kinks          derivatives at points where there is none
    """
    if word is None:
        explain(agrad.grammar.help.help.overview(agrad.grammar.commands.COMMANDS))
        return
    own = _own(context, word)
    parts = [own] if own else []
    try:
        # `man` is a command of this program, and no other's.
        if not (own and word in agrad.grammar.syntax.keywords.COMMANDS_ELSEWHERE):
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
    told = {**agrad.cli.commands.man.ENVIRONMENT, **agrad.cli.commands.man.FILES}
    told |= {name: f"In config.toml: {setting.text}, {setting.takes}." for name, setting in SETTINGS.items()}
    return f"{word}\n  {told[word]}" if word in told else None


# `agrad functions`: all functions, by family.


@click.command("functions", cls=Command)
@click.option("--markdown", is_flag=True, help="Print all help texts in Markdown, as in docs/functions.md.")
@click.option("--pytorch", is_flag=True, help="Print how PyTorch's names are understood, as in docs/pytorch.md.")
def functions(markdown: bool, pytorch: bool) -> None:
    """List the functions of the language, one per line, by family.

    \b
    agrad functions
    agrad functions --markdown > functions.md
    agrad functions --pytorch > pytorch.md
    """
    if pytorch or markdown:
        documents = agrad.grammar.help.documents
        click.echo(documents.pytorch_page() if pytorch else documents.functions_page(), nl=False)
    else:
        explain(agrad.grammar.help.help.functions())
