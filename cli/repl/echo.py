"""What a statement has changed, in one dim line."""

from __future__ import annotations

import re
import sys

import click

from agrad.cli.terminal.terminal import coloured, shown
from agrad.grammar.prompt.changes import Changes
from agrad.grammar.prompt.graphs import with_newest
from agrad.grammar.session.session import Session

# What says itself what it does.
_SAYS = re.compile(r"\s*(undo|redo|reset|fit|minimize|maximize|solve|backward\b.*\btrace)\b")


class Echo:
    """Prints what each text that is typed has changed, and which graph a bare command is about."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.changes = Changes(session)

    def begin(self, text: str) -> str:
        """A text is about to run: what it runs as. A bare command is about the newest graph, which is said."""
        text, about = with_newest(text, self.session)
        if about:
            _say(about)
        self.changes.begin()
        return text

    def end(self, text: str) -> None:
        """A text has run: say what it has changed."""
        if not self.session.settings.echo or text.rstrip().endswith(";") or _SAYS.match(text):
            return
        line = self.changes.line(text)
        if line:
            _say(line)
            self.session.record.transcript.say(line)


def _say(line: str) -> None:
    """Print a line, dim where there is colour."""
    colour = coloured(sys.stdout)
    click.echo(click.style(shown(line), dim=True) if colour else shown(line), color=colour or None)
