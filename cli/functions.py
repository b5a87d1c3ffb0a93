"""`agrad functions`: all that can be called, by family."""

from __future__ import annotations

import click

from agrad.cli.command import Command


@click.command("functions", cls=Command)
@click.option("--markdown", is_flag=True, help="All there is to say of each, as docs/functions.md has it.")
def command(markdown: bool) -> None:
    """List the functions of the language by family, a line each.

    \b
    agrad functions
    agrad functions --markdown > functions.md
    """
    if markdown:
        from agrad.grammar import reference  # here, since the list alone does without it

        click.echo(reference.markdown(), nl=False)
    else:
        from agrad.grammar.help import functions  # here, so that --help does without the engine

        click.echo(functions())
