"""`agrad sessions`: the last sessions, which `agrad repl --resume N` restores."""

from __future__ import annotations

import click

from agrad.cli.base import Command
from agrad.cli.terminal.terminal import folded


@click.command("sessions", cls=Command)
@click.option("--dismiss", type=click.IntRange(1), metavar="N", help="Remove what is kept of session N.")
def command(dismiss: int | None) -> int:
    """List the last sessions: when each ended, its statements in effect, how it ended, and the last of them.

    What is kept is what was typed. `agrad repl --resume N` runs it again, without printing results, and continues.

    \b
    agrad sessions
    """
    from agrad.cli.repl import crash_log  # here, since it loads the language

    if dismiss is None:
        click.echo(folded(crash_log.listed()))
        return 0
    gone = crash_log.dismiss(dismiss)
    if gone is None:
        click.echo(f"there is no session {dismiss}: agrad sessions lists them", err=True)
        return 1
    click.echo(f"removed: {'  '.join(gone.told)}")
    return 0
