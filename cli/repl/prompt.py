"""The prompt: prompt_toolkit with the language's history, colours, completion and line breaks."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.output.plain_text import PlainTextOutput
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import is_dumb_terminal

from agrad.cli import __version__
from agrad.cli.interrupt import ignored, stop_once
from agrad.cli.render import COLOURS
from agrad.cli.repl.completer import Names
from agrad.cli.repl.highlighter import Highlighter
from agrad.cli.repl.history import history
from agrad.cli.repl.multiline import enter
from agrad.grammar.session import Session


def prompted(session: Session) -> Iterator[str]:
    """What is typed, statement by statement, until Ctrl-D."""
    prompt: PromptSession[str] = PromptSession(
        "agrad> ",
        prompt_continuation="   ... ",
        multiline=True,
        key_bindings=enter(),
        history=history(),
        lexer=Highlighter(),
        style=Style.from_dict(COLOURS),
        completer=Names(session),
        complete_while_typing=False,
        # On a dumb terminal too, prompt_toolkit would begin by resetting the cursor.
        output=PlainTextOutput(sys.stdout) if is_dumb_terminal() else None,
    )
    click.echo(f"agrad {__version__}: help says what there is, Ctrl-D leaves")
    with ignored():  # at the prompt Ctrl-C is a key like any other
        while True:
            try:
                text = prompt.prompt()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            signal.signal(signal.SIGINT, stop_once)
            yield text
            signal.signal(signal.SIGINT, signal.SIG_IGN)
