"""`agrad functions`: all that can be called, by family."""

from __future__ import annotations

import click

from agrad.cli.command import Command


@click.command("functions", cls=Command)
@click.option("--markdown", is_flag=True, help="All there is to say of each, as docs/functions.md has it.")
@click.option(
    "--pytorch", is_flag=True, help="What of PyTorch's spelling is read, and as what, as docs/pytorch.md has it."
)
def command(markdown: bool, pytorch: bool) -> None:
    """List the functions of the language by family, a line each.

    \b
    agrad functions
    agrad functions --markdown > functions.md
    agrad functions --pytorch > pytorch.md
    """
    if pytorch:
        from agrad.grammar import spelling  # here, as below

        click.echo(spelling.markdown(), nl=False)
    elif markdown:
        from agrad.grammar import reference  # here, since the list alone does without it

        click.echo(reference.markdown(), nl=False)
    else:
        from agrad.cli.pager import explain
        from agrad.grammar.help import functions  # here, so that --help does without the engine

        explain(functions())
