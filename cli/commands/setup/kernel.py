"""`agrad kernel`: agrad in Jupyter."""

from __future__ import annotations

import sys

import click

from agrad.cli.base import FAILED, Command


@click.command("kernel", cls=Command)
@click.argument("action", type=click.Choice(["install", "remove"]))
@click.option("--sys-prefix", "here", is_flag=True, help="Install it in this Python environment, not for the user.")
@click.option("--prefix", metavar="FOLDER", help="Install it in the environment in a folder.")
def command(action: str, here: bool, prefix: str | None) -> int:
    """Install agrad as a kernel of Jupyter, or remove it: then a notebook can have cells in agrad's language.

    It needs ipykernel, which comes with the extra `jupyter`. In a notebook of Python, %load_ext agrad is enough: it
    gives cells that begin with %%agrad. docs/notebooks.md has examples.

    \b
    agrad kernel install --prefix env     in the environment in the folder env
    """
    from agrad.engine.errors import AgradError  # here, as below: this runs once
    from agrad.engine.extras import extra

    if here and prefix is not None:
        raise click.UsageError("--sys-prefix and --prefix name two places: use one of them")
    extra("ipykernel", "agrad kernel", "ipykernel", "jupyter")
    from agrad.cli.integrations.jupyter import kernel

    try:
        if action == "install":
            click.echo(f"installed in {kernel.install(sys.prefix if here else prefix)}")
            return 0
        folder = kernel.remove()
    except OSError as problem:
        raise AgradError("file", f"cannot {action} the kernel: {problem}") from None
    click.echo(f"removed {folder}" if folder else "the kernel is not installed: agrad kernel install", err=not folder)
    return 0 if folder else FAILED
