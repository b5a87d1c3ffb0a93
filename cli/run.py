"""`agrad run`: a script, start to end."""

from __future__ import annotations

from contextlib import suppress

import click

from agrad.cli.command import Command, precision_option, read_text, shown_name
from agrad.cli.render import Printer
from agrad.grammar.results import Quit
from agrad.grammar.session import Session


@click.command("run", cls=Command)
@click.argument("file")
@precision_option
def command(file: str, precision: int | None) -> None:
    """Run the statements in FILE; - reads standard input.

    Results appear as they happen. The first error stops the script, with the exit code 1, or 2 where the
    script cannot be read as agrad at all; its place is given as file:line:column.

    \b
    agrad run examples/toy.ag
    echo "print 6*7" | agrad run -
    """
    session = Session()
    session.settings.precision = precision
    with suppress(Quit):
        session.run(read_text(file), Printer(session.settings), source=shown_name(file), is_file=True)
