"""The terminal itself: Ctrl-C, colour, width, and replacements for characters that its encoding does not have.

In modules of their own are the pager, the progress line of a loop, and Ctrl-C while a library computes. All of cli may
import from here; these modules do not depend on commands.
"""

from __future__ import annotations

import codecs
import os
import signal
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from types import FrameType
from typing import Any, TextIO

import click

import agrad
from agrad.cli.settings import COLOURS, find, keep
from agrad.lazy import lazy, rare

__getattr__ = lazy(__name__)

# Ctrl-C.

INTERRUPTED, TIMED_OUT = 130, 124  # exit codes
_LATER = 0.01  # seconds


def stop_once(number: int, frame: FrameType | None) -> None:
    """Handle SIGINT: the first Ctrl-C stops the statement; those directly after it do not stop its rollback."""
    if _is_deaf(frame):
        _come_again()
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def unraisable(lost: Any) -> None:
    """Handle what was raised where nothing can hear it, as in the `__del__` of an object: Ctrl-C comes again, later."""
    if lost.exc_type is KeyboardInterrupt:
        signal.signal(signal.SIGINT, stop_once)
        _come_again()
    else:
        sys.__unraisablehook__(lost)


def _is_deaf(frame: FrameType | None) -> bool:
    """Whether Ctrl-C would be lost in `unraisable`, or in an import: libraries take it for a failure of their own."""
    while frame is not None:
        if frame.f_code is unraisable.__code__ or frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _come_again() -> None:
    rare._thread.start_new_thread(_press, (rare._thread.get_ident(),))


def _press(thread: int) -> None:
    """Ctrl-C, as soon as the thread can hear it."""
    rare.time.sleep(_LATER)
    while _is_deaf(sys._current_frames().get(thread)):
        rare.time.sleep(_LATER)
    if hasattr(signal, "pthread_kill"):  # it ends what the thread waits for, too
        signal.pthread_kill(thread, signal.SIGINT)
    else:
        rare._thread.interrupt_main()


@contextmanager
def handled(handler: Any, *names: str) -> Iterator[None]:
    """Handle some signals inside, as far as the system has them, and the thread may."""
    before = {}
    for name in names:
        with suppress(AttributeError, ValueError):
            number = getattr(signal, name)
            before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, usual in before.items():
            signal.signal(number, usual)


def ignored() -> AbstractContextManager[None]:
    """Ignore Ctrl-C inside, except where `stop_once` handles it again."""
    return handled(signal.SIG_IGN, "SIGINT")


# What can be shown.

# The characters that agrad itself draws with, each in ASCII; other characters of a user are escaped, as in \u03c0.
_ASCII = str.maketrans(
    {"…": "...", "→": "->", "−": "-", "–": "-", "—": "-", "×": "x", "·": "*", "±": "+/-", "²": "^2", "’": "'"}
) | str.maketrans("─│├┤┬┴┼└┌┐┘▼█░", "-|+++++++++v#.")
_USUAL = 80  # columns of a terminal
_PLAIN = "agrad_ascii"


def coloured(stream: TextIO) -> bool:
    """Whether to write to a stream in colour.

    --color always and never come first, then NO_COLOR, which turns it off, FORCE_COLOR, which turns it on (except 0),
    config.toml; by default it is on for terminals that are not dumb.
    """
    chosen = find("color", option("color"))[0]
    if chosen != "auto":
        return bool(chosen == "always")
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def drawable(stream: TextIO) -> bool:
    """Whether a stream can encode the characters that agrad draws with: lines, and the ellipsis."""
    try:
        "…─│└".encode(stream.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def narrow() -> int | None:
    """The columns of the terminal that stdout is, if it has less than most tables need; else None."""
    if not sys.stdout.isatty():
        return None

    columns = rare.shutil.get_terminal_size().columns
    return columns if columns < _USUAL else None


def folded(text: str) -> str:
    """A text for stdout, folded where the terminal is narrow."""
    return agrad.engine.text.fit(text, narrow())


def shown(text: str) -> str:
    """A text from other sources for stdout: on a terminal without control characters.

    The output of `print` is not changed: a program may want to colour it.
    """
    if not sys.stdout.isatty():
        return text

    return agrad.engine.text.printable(text)


def stand_ins(streams: Iterable[Any]) -> None:
    """Let streams write a replacement for each character that their encoding does not have."""
    for stream in streams:
        if codecs.lookup(stream.encoding).name == "ascii":
            stream.reconfigure(encoding=_PLAIN, errors="agrad")
        else:
            stream.reconfigure(errors="agrad")


def _stand_in(problem: UnicodeError) -> tuple[str | bytes, int]:
    """The error handler with the name agrad; raises errors of decoding."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    text = problem.object[problem.start : problem.end]
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode(), problem.end


def _plain(name: str) -> codecs.CodecInfo | None:
    """ASCII under another name: click treats the usual name as a misconfigured system, and writes UTF-8."""
    known = codecs.lookup("ascii")
    if name != _PLAIN:
        return None
    return codecs.CodecInfo(*known, known.incrementalencoder, known.incrementaldecoder, _PLAIN)


codecs.register_error("agrad", _stand_in)
codecs.register(_plain)


def option(name: str) -> Any:
    """The value of --color or --ascii, before or after the command; None if it is not given."""
    context = click.get_current_context(silent=True)
    return context.meta.get(f"agrad.{name}") if context else None


def only_ascii(on: bool = True) -> None:
    """Write only ASCII from now on, or again all that the encoding of this system has."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding=_PLAIN if on else rare.locale.getpreferredencoding(False), errors="agrad")


def setting(name: str) -> Any:
    """The value of a setting of the terminal."""
    return find(name, option(name))[0]


def set_setting(name: str, value: Any) -> None:
    """Change a setting of the terminal, as `set` says."""
    keep(name, value)
    if name == "ascii":
        only_ascii(value)


def _keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep the value of an option where `option` finds it: a command shares it with its group."""
    if value:
        context.meta[f"agrad.{parameter.name}"] = value
        if parameter.name == "ascii" and not context.resilient_parsing:
            only_ascii()


def display_options() -> list[click.Parameter]:
    """The options --color, --ascii and --no-init, which every command has."""
    common: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": _keep}
    of_colour = "Whether to use colour; auto: on a terminal, unless NO_COLOR is set."
    return [
        click.Option(["--color"], type=click.Choice(COLOURS), help=of_colour, **common),
        click.Option(["--ascii"], is_flag=True, help="Use ASCII characters only.", **common),
        click.Option(["--no-init"], is_flag=True, help="Ignore config.toml and init.ag.", **common),
    ]


# Whether the terminal can show pictures, by kitty's protocol: some terminals say so in the environment.

_CELL = 10, 20  # pixels of a character, where the terminal does not tell
# Programs between agrad and the terminal, which do not pass pictures on, by what they set.
_BETWEEN = ("TMUX", "STY", "ZELLIJ", "INSIDE_EMACS")
_BETWEEN_TERMS = ("tmux", "screen", "dumb", "linux", "eterm")
_KITTY_TERMS = ("xterm-kitty", "xterm-ghostty")


def cell_of_pictures(chosen: str) -> tuple[int, int] | None:
    """The pixels of a character where stdout shows pictures; None where it cannot, or characters are wanted.

    `chosen`: `auto`, `braille` or `kitty`; empty for the setting of the user.
    """
    chosen = chosen or find("plots")[0]
    if chosen == "braille" or not (sys.stdout.isatty() and coloured(sys.stdout) and drawable(sys.stdout)):
        return None
    return _cell() if chosen == "kitty" or _knows_kitty(os.environ) else None


def _knows_kitty(environment: Mapping[str, str]) -> bool:
    """Whether the environment names a terminal with kitty's protocol, and no other program draws it."""
    term = environment.get("TERM", "")
    if not term or term.startswith(_BETWEEN_TERMS) or any(environment.get(name) for name in _BETWEEN):
        return False
    return term in _KITTY_TERMS or environment.get("TERM_PROGRAM") == "ghostty"


def _cell() -> tuple[int, int]:
    """The pixels of a character, as the system knows them."""
    try:
        import fcntl  # here, since few plots are pictures, and not every system has it
        import termios

        size = fcntl.ioctl(sys.stdout.fileno(), termios.TIOCGWINSZ, bytes(8))
    except (ImportError, OSError):
        return _CELL
    rows, columns, width, height = struct.unpack("HHHH", size)
    return (width // columns, height // rows) if rows and columns and width and height else _CELL
