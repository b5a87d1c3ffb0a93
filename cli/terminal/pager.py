"""The user's pager, for texts that are longer than the screen."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

import click

import agrad
from agrad.cli.settings import find
from agrad.cli.terminal import handled, shown
from agrad.lazy import rare


class Pager:
    """Shows texts. There is one, `PAGER`; `seconds` is the time spent in the pager, which is not computing time."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def show(self, text: str, paint: Callable[[str], str] | None = None) -> None:
        """Print a text, through the pager if it is longer than the screen and there is someone to read it.

        `paint` puts it in colour, where the pager that the user has set up shows colours.
        """
        text = shown(text)
        if not (_readable() and _longer(text) and _is_there()):
            click.echo(text if paint is None else paint(text), color=True if paint is not None else None)
            return
        os.environ.setdefault("LESS", _LESS)
        painted = paint is not None and _shows_colours()
        # As stdout would show it: with --ascii, the pager gets ASCII too.
        text = text.encode(sys.stdout.encoding, sys.stdout.errors or "strict").decode(sys.stdout.encoding)
        start = perf_counter()
        try:
            with _undisturbed():
                click.echo_via_pager(paint(text) if painted else text, color=painted or None)  # type: ignore[misc]
        except (ValueError, OSError):  # a PAGER that cannot be called
            click.echo(text)
        finally:
            self.seconds += perf_counter() - start


PAGER = Pager()

# The text stays on the screen; and a prompt that says how to go on, where that of less is a colon.
_LESS = "-FRX -Ps?e(end) :.Space goes on, / finds, q leaves$"


def explain(text: str) -> None:
    """Show a help text in the width of the terminal."""
    columns = rare.shutil.get_terminal_size().columns
    PAGER.show(agrad.grammar.help.help.fitted(text, columns) if sys.stdout.isatty() else text)


def _readable() -> bool:
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    return at_terminal and bool(find("pager")[0])


def _shows_colours() -> bool:
    """Whether the pager is `less`, told to pass colours on."""
    pager = os.environ.get("PAGER", "")
    return (not pager or "less" in pager) and any(sign in os.environ["LESS"] for sign in "rR")


def _longer(text: str) -> bool:
    columns, rows = rare.shutil.get_terminal_size()
    return sum(1 + max(len(line) - 1, 0) // columns for line in text.split("\n")) >= rows


def _is_there() -> bool:
    """Whether the program that PAGER names can be called: some versions of click call it in vain, and show nothing."""
    try:
        words = rare.shlex.split(os.environ.get("PAGER", ""))
    except ValueError:  # a quote that is not closed
        return False
    return not words or os.name == "nt" or rare.shutil.which(words[0]) is not None


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let neither a pager that is quit early nor a time limit end the session."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return
    left, interval = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        with handled(signal.SIG_IGN, "SIGPIPE"):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, interval)
