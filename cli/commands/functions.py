"""`agrad functions`: all functions, by family."""

from __future__ import annotations

import click

from agrad.cli.base import Command


@click.command("functions", cls=Command)
@click.option("--markdown", is_flag=True, help="Print all help texts in Markdown, as in docs/functions.md.")
@click.option("--pytorch", is_flag=True, help="Print how PyTorch's names are understood, as in docs/pytorch.md.")
def command(markdown: bool, pytorch: bool) -> None:
    """List the functions of the language, one per line, by family.

    \b
    agrad functions
    agrad functions --markdown > functions.md
    agrad functions --pytorch > pytorch.md
    """
    if pytorch:
        from agrad.grammar.help import pytorch_doc  # here, as below

        click.echo(pytorch_doc.markdown(), nl=False)
    elif markdown:
        from agrad.grammar.help import functions_doc  # here, since the list alone does not need it

        click.echo(functions_doc.markdown(), nl=False)
    else:
        from agrad.cli.terminal.pager import explain
        from agrad.grammar.help.help import functions  # here, so that --help does not load the engine

        explain(functions())
