"""What the terminal can show: colour, and replacements for characters that its encoding does not have."""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from select import select
from time import monotonic
from typing import Any, NamedTuple, TextIO

import click

from agrad.cli.settings import COLOURS, find, skip

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
    import shutil  # here, as below

    columns = shutil.get_terminal_size().columns
    return columns if columns < _USUAL else None


def folded(text: str) -> str:
    """A text for stdout, folded where the terminal is narrow."""
    from agrad.engine.text import fit  # here, so that the command line starts without the engine

    return fit(text, narrow())


def shown(text: str) -> str:
    """A text from other sources for stdout: on a terminal without control characters.

    The output of `print` is not changed: a program may want to colour it.
    """
    if not sys.stdout.isatty():
        return text
    from agrad.engine.text import printable  # here, so that the command line starts without the engine

    return printable(text)


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
    return codecs.CodecInfo(
        known.encode,
        known.decode,
        known.streamreader,
        known.streamwriter,
        known.incrementalencoder,
        known.incrementaldecoder,
        _PLAIN,
    )


codecs.register_error("agrad", _stand_in)
codecs.register(_plain)


def option(name: str) -> Any:
    """The value of --color or --ascii, before or after the command; None if it is not given."""
    context = click.get_current_context(silent=True)
    return context.meta.get(f"agrad.{name}") if context else None


def only_ascii() -> None:
    """Write only ASCII from now on."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding=_PLAIN, errors="agrad")


def _colour(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is not None and not context.resilient_parsing:
        context.meta["agrad.color"] = value  # the commands share it with their group


def _ascii(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        context.meta["agrad.ascii"] = True
        only_ascii()


def _skip(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        skip(context)


def display_options() -> list[click.Parameter]:
    """The options --color, --ascii and --no-init, which every command has."""
    common: dict[str, Any] = {"expose_value": False, "is_eager": True}
    return [
        click.Option(
            ["--color"],
            type=click.Choice(COLOURS),
            callback=_colour,
            help="Whether to use colour; auto: on a terminal, unless NO_COLOR is set.",
            **common,
        ),
        click.Option(["--ascii"], is_flag=True, callback=_ascii, help="Use ASCII characters only.", **common),
        click.Option(["--no-init"], is_flag=True, callback=_skip, help="Ignore config.toml and init.ag.", **common),
    ]


# Whether the terminal can show pictures, and by which protocol: kitty's, that of iTerm2, or sixel.
#
# Some terminals say so in the environment. Others are asked, which only a prompt can do: what is typed before the
# answer comes is read with it, and has to be kept for the prompt.

PATIENCE = 2.0  # seconds to wait for an answer
_CELL = 10, 20  # pixels of a character, where the terminal does not tell
# Programs between agrad and the terminal, which do not pass pictures on, by what they set.
_BETWEEN = ("TMUX", "STY", "ZELLIJ", "INSIDE_EMACS")
_BETWEEN_TERMS = ("tmux", "screen", "dumb", "linux", "eterm")
_KITTY_TERMS = ("xterm-kitty", "xterm-ghostty")
_ITERM_PROGRAMS = ("iTerm.app", "WezTerm")

# What is asked: whether kitty's protocol is understood, how many pixels a character has, the largest sixel picture, the
# colour of the background; and last what the terminal is, which each answers, and in the order of the questions.
_KITTY = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
_QUESTIONS = "\x1b[16t\x1b[?2;1;0S\x1b]11;?\x1b\\\x1b[c"
_ANSWERS = re.compile(
    rb"\x1b_Gi=31;(?P<kitty>[^\x1b]*)\x1b\\"
    rb"|\x1b\[6;(?P<rows>\d+);(?P<columns>\d+)t"
    rb"|\x1b\[\?2;(?P<largest>[\d;]*)S"
    rb"|\x1b\]11;(?P<background>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    rb"|\x1b\[\?(?P<attributes>[\d;]*)c"
)
_LAST = re.compile(rb"\x1b\[\?[\d;]*c$")
_RGB = re.compile(r"rgba?:([\da-f]+)/([\da-f]+)/([\da-f]+)", re.IGNORECASE)


class Graphics(NamedTuple):
    """How pictures are shown: the protocol, the pixels of a character, and of the largest picture, and the background.

    `largest` and `background` are None where the terminal does not tell.
    """

    protocol: str
    cell: tuple[int, int] = _CELL
    largest: tuple[int, int] | None = None
    background: tuple[int, int, int] | None = None


class Asking:
    """Asks the terminal once in a session. There is one, `ASKING`.

    `keep` takes what was typed before the answer; None where nobody would read it, so that nothing may be asked.
    """

    def __init__(self) -> None:
        self.keep: Callable[[bytes], None] | None = None
        self.told: Graphics | None = None

    def graphics(self) -> Graphics:
        """What the terminal has answered; without a protocol if it has none, or is not asked."""
        if self.keep is None:
            return Graphics("")
        if self.told is None:
            answers, typed = _asked(_may_be_kitty(os.environ))
            if typed:
                self.keep(typed)
            self.told = understood(answers)
        return self.told


ASKING = Asking()


def graphics(chosen: str) -> Graphics | None:
    """How stdout shows pictures; None where it cannot, or characters are wanted.

    `chosen`: `auto`, `braille`, or a protocol; empty for the setting of the user.
    """
    chosen = chosen or find("plots")[0]
    if chosen == "braille" or not _may_show():
        return None
    if chosen == "auto" and _is_between(os.environ):
        return None
    protocol = named(os.environ) if chosen == "auto" else chosen
    told = Graphics("") if protocol in ("kitty", "iterm2") else ASKING.graphics()
    protocol = protocol or told.protocol
    if not protocol:
        return None
    return told._replace(protocol=protocol, cell=_cell() if told.cell == _CELL else told.cell)


def named(environment: Mapping[str, str]) -> str:
    """The protocol of the terminal that the environment names; empty if it names none that is known."""
    if environment.get("TERM") in _KITTY_TERMS or environment.get("TERM_PROGRAM") == "ghostty":
        return "kitty"
    # iTerm2 sets LC_TERMINAL too, which ssh passes on.
    is_iterm = environment.get("TERM_PROGRAM") in _ITERM_PROGRAMS or environment.get("LC_TERMINAL") == "iTerm2"
    return "iterm2" if is_iterm else ""


def understood(answers: bytes) -> Graphics:
    """What the answers of a terminal say."""
    told = {
        name: part.decode() for found in _ANSWERS.finditer(answers) for name, part in found.groupdict().items() if part
    }
    attributes = told.get("attributes", "").split(";")
    protocol = "kitty" if told.get("kitty") == "OK" else "sixel" if "4" in attributes[1:] else ""
    width, height = int(told.get("columns", 0)), int(told.get("rows", 0))
    cell = (width, height) if width and height else _CELL
    status, *largest = [int(number or 0) for number in told.get("largest", "1").split(";")]
    limit = (largest[0], largest[1]) if status == 0 and len(largest) == 2 and all(largest) else None
    colour = _RGB.match(told.get("background", ""))
    background = None
    if colour is not None:
        red, green, blue = (round(int(part, 16) / (16 ** len(part) - 1) * 255) for part in colour.groups())
        background = red, green, blue
    return Graphics(protocol, cell, limit, background)


def _may_show() -> bool:
    """Whether stdout is a terminal that may show colours, and more than ASCII."""
    return sys.stdout.isatty() and coloured(sys.stdout) and drawable(sys.stdout)


def _is_between(environment: Mapping[str, str]) -> bool:
    """Whether another program draws the terminal, or it is one that shows only text."""
    term = environment.get("TERM", "")
    return not term or term.startswith(_BETWEEN_TERMS) or any(environment.get(name) for name in _BETWEEN)


def _may_be_kitty(environment: Mapping[str, str]) -> bool:
    """Whether kitty's question is understood, which some terminals would print: kitty sets this, whatever TERM is."""
    return "KITTY_WINDOW_ID" in environment


def _asked(kitty: bool) -> tuple[bytes, bytes]:
    """Ask the terminal; its answers, and what was typed before the last of them."""
    try:
        import termios  # here, since few plots are pictures, and not every system has it
    except ImportError:
        return b"", b""
    source = sys.stdin.fileno()
    before = termios.tcgetattr(source)
    quiet = termios.tcgetattr(source)
    quiet[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG)  # also Ctrl-C is kept for the prompt
    quiet[6][termios.VMIN], quiet[6][termios.VTIME] = 1, 0
    read = b""
    termios.tcsetattr(source, termios.TCSANOW, quiet)  # which leaves what was typed already
    try:
        sys.stdout.write(_KITTY * kitty + _QUESTIONS)
        sys.stdout.flush()
        end = monotonic() + PATIENCE
        while not _LAST.search(read) and select([source], [], [], max(end - monotonic(), 0))[0]:
            byte = os.read(source, 1)  # one by one, so that nothing behind the last answer is taken
            if not byte:
                break
            read += byte
    finally:
        termios.tcsetattr(source, termios.TCSANOW, before)
    return b"".join(found[0] for found in _ANSWERS.finditer(read)), _ANSWERS.sub(b"", read)


def _cell() -> tuple[int, int]:
    """The pixels of a character, as the system knows them."""
    try:
        import fcntl  # here, as above
        import struct
        import termios

        size = fcntl.ioctl(sys.stdout.fileno(), termios.TIOCGWINSZ, bytes(8))
    except (ImportError, OSError):
        return _CELL
    rows, columns, width, height = struct.unpack("HHHH", size)
    return (width // columns, height // rows) if rows and columns and width and height else _CELL
