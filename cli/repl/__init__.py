"""`agrad repl`: a session. Prompted on a terminal, read line by line from anything else."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from agrad.cli.command import Command, complain, precision_option
from agrad.cli.render import Printer
from agrad.engine.errors import AgradError
from agrad.grammar.results import Quit
from agrad.grammar.session import Session


@click.command("repl", cls=Command)
@precision_option
def command(precision: int | None) -> int:
    """Open a session: type statements, see their results.

    On a terminal: Tab completes, Ctrl-C clears the line or stops a computation, Ctrl-D leaves. A statement
    that fails, or is stopped, leaves everything as it was.

    From a pipe: no prompt, and a failing statement does not keep the next from running; the exit code is
    that of the first failure (1, or 2 for syntax).

    \b
    agrad repl
    echo "sin(pi/6)" | agrad repl
    """
    session = Session()
    session.settings.precision = precision
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        from agrad.cli.repl.plain import statements

        return loop(session, statements(sys.stdin.buffer))
    from agrad.cli.repl.prompt import (
        prompted,
    )  # here, since prompt_toolkit takes longer to load than all the rest

    return loop(session, prompted(session), interactive=True)


def loop(session: Session, statements: Iterator[str], interactive: bool = False) -> int:
    """Run what comes, report what fails, go on; the exit code of the first failure.

    A person at a terminal has seen the failures: the exit code is 0.
    """
    printer = Printer(session.settings)
    code = 0
    for text in statements:
        try:
            session.run(text, printer)
        except AgradError as problem:
            failure = complain(problem)
            code = code or failure
        except KeyboardInterrupt:
            if not interactive:
                raise
            click.echo("interrupted: everything is as before this statement", err=True)
        except Quit:
            break
    return 0 if interactive else code
