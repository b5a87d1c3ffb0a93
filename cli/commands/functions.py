"""`agrad functions`: all that can be called, by family."""

from __future__ import annotations

import click

from agrad.cli.base import Command


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
        from agrad.grammar.help import pytorch_doc  # here, as below

        click.echo(pytorch_doc.markdown(), nl=False)
    elif markdown:
        from agrad.grammar.help import functions_doc  # here, since the list alone does without it

        click.echo(functions_doc.markdown(), nl=False)
    else:
        from agrad.cli.terminal.pager import explain
        from agrad.grammar.help.help import functions  # here, so that --help does without the engine

        explain(functions())
