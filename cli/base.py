"""What the commands have in common: how they parse and run, their errors, and their limits of time and memory."""

from __future__ import annotations

import math
import os
import shutil
import signal
import struct
import sys
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from inspect import cleandoc
from select import select
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING, Any, TypeVar

import click

import agrad
from agrad.cli.settings import configuration, find
from agrad.cli.terminal import INTERRUPTED
from agrad.cli.terminal.terminal import display_options, only_ascii, option
from agrad.lazy import rare

if TYPE_CHECKING:
    from agrad.engine.errors import AgradError

S = TypeVar("S")
FAILED, WRONG_SYNTAX, TIMED_OUT = 1, 2, 124  # exit codes


class Formatter(click.HelpFormatter):
    """Help in the width of the terminal, also where that is less than the 50 columns that click needs."""

    _LEAST = 50

    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        columns = shutil.get_terminal_size().columns
        self.columns = columns if width is None and columns < self._LEAST + 2 else None
        super().__init__(indent_increment, width if self.columns is None else max(columns - 2, 20), max_width)

    def write_dl(self, rows: Any, col_max: int = 30, col_spacing: int = 2) -> None:
        """Write terms and what they mean: below them, where it is narrow."""
        super().write_dl(rows, col_max if self.columns is None else 4, col_spacing)

    def getvalue(self) -> str:
        """The text, with its examples folded, too."""
        if self.columns is None:
            return super().getvalue()

        return agrad.engine.text.fit(super().getvalue(), self.columns)


class Context(click.Context):
    """A context whose help is written by a Formatter."""

    formatter_class = Formatter


class Command(click.Command):
    """A command that reports an AgradError on stderr, or as JSON on stdout, and returns its exit code."""

    context_class = Context
    tells_all = False  # whether to report all problems of config.toml; other commands report the first

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params += display_options()

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """The short one too."""
        return ["-h", "--help"]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Suggest an option for an unknown one."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as problem:
            name = problem.option_name
            raise unknown("option", name, options(self, ctx), ctx, self.where_known(ctx, name)) from None

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description of the command, without the examples, which come last."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(self._parts()[0])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, which are the last paragraph of the docstring."""
        with formatter.section("Examples"):
            formatter.write_text(self._parts()[2])

    def _parts(self) -> tuple[str, str, str]:

        return cleandoc(self.help or "").rpartition("\n\n")

    def where_known(self, ctx: click.Context, option: str) -> str:
        """Advice on an option that this command does not have; empty if there is none."""
        return ""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; the exit code: its own or 0, 1 after an error, 2 after a syntax error."""
        if not isinstance(self, click.Group):  # a group does not know the options after its command
            _configure(self.tells_all)
        try:
            return super().invoke(ctx) or 0
        except agrad.engine.errors.AgradError as problem:
            return complain(problem, _wants_json(ctx))
        except MemoryError as problem:
            problem.__traceback__ = None  # releases what its frames hold, so that there is memory to report it
            return complain(agrad.grammar.runtime.budget.out_of_memory(problem), _wants_json(ctx))
        except KeyboardInterrupt:
            click.echo("interrupted before the end", err=True)
            return INTERRUPTED


def _wants_json(ctx: click.Context) -> bool:
    """Whether errors are to be JSON."""
    return bool(ctx.params.get("as_json")) or ctx.params.get("form") == "json"


def _configure(tells_all: bool) -> None:
    """Apply the settings of config.toml that concern all output; report what is wrong with it."""
    written = configuration()
    if written is None:
        return
    if find("ascii", option("ascii"))[0]:
        only_ascii()
    if written.problems:
        for problem in written.problems if tells_all else [agrad.cli.config_toml.first(written.problems)]:
            agrad.cli.output.tell(problem)


def complain(problem: Any, as_json: bool = False) -> int:
    """Show an AgradError on stderr, or as JSON on stdout; its exit code."""
    problem = advised(problem)
    if as_json:
        click.echo(agrad.cli.output.structured.error_line(problem))
    else:
        agrad.cli.output.tell(problem)
    return exit_code(problem)


def advised(problem: AgradError) -> AgradError:
    """An error with what the command line knows about it: where a missing file may be found."""
    if isinstance(problem.facts, agrad.engine.errors.MissingFile):
        problem.fixes = [*agrad.cli.data.examples.how_to_copy(problem.facts.path), *problem.fixes]
        problem.notes += _in_the_folder_of_the_script(problem, problem.facts.path)
    return problem


def exit_code(problem: AgradError) -> int:
    """The exit code of a process that ends with an error."""
    if isinstance(problem.facts, agrad.engine.errors.TimeLimit):
        return TIMED_OUT
    return WRONG_SYNTAX if problem.kind == "syntax" else FAILED


def _in_the_folder_of_the_script(problem: AgradError, path: str) -> list[str]:
    """A note where a missing file exists beside the script that names it."""
    found = agrad.grammar.files.beside(path, problem.at)
    folder = os.path.dirname(found)
    if not folder or found == os.path.normpath(path) or not os.path.isfile(found):
        return []
    return [f'there is one in the folder of the script: run the script in {folder}, or write beside("{path}")']


def internal(error: Exception, *notes: str) -> AgradError:
    """The error for an exception that should have been caught earlier: its type, and where it was raised."""
    frames = rare.traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename}, line {frame.lineno}, in {frame.name}" for frame in frames]
    where = [f"raised in {places[-1]}"] + [f"called from {place}" for place in places[-2:-5:-1]]
    text = str(error).partition("\n")[0]
    message = f"an error in agrad itself: {type(error).__name__}" + (f": {text}" if text else "")
    return agrad.engine.errors.AgradError("internal", message, notes=[*where, *notes])


def options(command: click.Command, context: click.Context) -> list[str]:
    """The names of the options of a command."""
    own = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    return [name for option in own for name in (*option.opts, *option.secondary_opts)]


def unknown(
    what: str, word: str, candidates: Iterable[str], context: click.Context, otherwise: str = ""
) -> click.UsageError:
    """The usage error for an unknown option or command, with the one that was probably meant."""
    bare = {candidate.lstrip("-"): candidate for candidate in candidates}
    likely = [bare[name] for name in agrad.grammar.diagnostics.suggest(word.lstrip("-"), bare)]
    advice = f"did you mean {' or '.join(likely)}?" if likely else otherwise
    return click.UsageError(f"no such {what} {word}" + (f": {advice}" if advice else ""), context)


def read_text(path: str) -> str:
    """The text of a file, or of standard input for `-`. Raises AgradError of kind `file`."""
    if path != "-":
        return agrad.grammar.files.read_text(path)
    try:
        return agrad.grammar.files.decoded(sys.stdin.buffer.read(), shown_name(path))
    except OSError as problem:
        raise agrad.engine.errors.AgradError("file", f"cannot read {shown_name(path)}: {problem.strerror}") from None


def write_text(path: str, text: str) -> None:
    """Write a text to a file, or to standard output for `-`. Raises AgradError of kind `file`."""
    if path == "-":
        click.echo(text, nl=False)
    else:
        agrad.grammar.files.write_text(path, text)


def shown_name(path: str) -> str:
    """The name of a file in messages."""
    return "<stdin>" if path == "-" else path


# The limits of --timeout and --max-memory, and of config.toml, and how the system enforces them.

FOREVER = 1e9  # seconds; the clocks of some systems do not count further
_SPARE = 2**28  # bytes of addresses, for libraries that are loaded later
_AMPLE = 2**31  # bytes of addresses that numpy can be loaded into, on any machine
_LATE = "the time limit was exceeded in the middle of a computation"
_MESSAGE = f"error[limit]: {_LATE}"


def limit_memory(memory: float | None, statements: bool = True) -> None:
    """Limit the memory, also by the system: to a given size, that in config.toml, or half of the machine's.

    `limit memory=…` cannot lift a size that is given. Without `statements`, errors advise --max-memory instead.
    """
    usual = find("limits.memory")[0] or agrad.grammar.runtime.budget.memory_limit()
    advice = "--max-memory {}GB" if memory is not None or not statements else ""
    try:
        import resource
    except ImportError:  # a system without such limits
        agrad.grammar.runtime.budget.limit_memory(memory or usual, advice)
        return
    if memory is not None or usual < _AMPLE:
        _ = agrad.engine.values.np.float64  # loads numpy, which would fail with its own message where it has no room

    used = _addresses() + _SPARE
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]

    def ceiling(memory: float) -> None:
        soft = hard if memory == math.inf else int(min(used + memory, 2**62))
        if hard != resource.RLIM_INFINITY:
            soft = min(soft, hard)
        with suppress(OSError, ValueError):  # not every system keeps this one
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

    if memory is not None:
        hard = int(used + memory) if hard == resource.RLIM_INFINITY else min(hard, int(used + memory))
    agrad.grammar.runtime.budget.limit_memory(memory or usual, advice, ceiling)


def _addresses() -> int:
    """The size of the address space that the process uses now, in bytes; 0 if the system does not tell."""
    with suppress(OSError, ValueError, AttributeError), open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def limit_statements(session: Any) -> None:
    """Set the limits for each statement that config.toml gives; `limit` can change them."""
    seconds = find("limits.time")[0]
    session.watch.time = min(seconds, FOREVER) if seconds else session.watch.time
    session.watch.nodes = find("limits.nodes")[0] or session.watch.nodes


def limited(kind: Callable[[], S], options: Any, as_json: bool = False) -> S:
    """A session of one calculation, within the `timeout` and `memory` of some options."""
    limit_memory(options.memory, statements=False)
    session = kind()
    end_in(session, options.timeout, as_json)
    return session


def end_in(session: Any, seconds: float | None, as_json: bool = False) -> None:
    """Stop a session after so many seconds, even in the middle of a computation in a library.

    Without seconds, each statement has the limit in config.toml. `as_json`: whether to print the error as JSON.
    """
    limit_statements(session)
    session.watch.advice = "--timeout {}"
    if seconds is None:
        if session.watch.time < math.inf:
            end_if_late(session, as_json)
        return

    session.watch.time = math.inf  # a typed limit replaces that of config.toml
    session.watch.end_in(seconds)
    end_if_late(session, as_json)


def end_if_late(session: Any, as_json: bool = False) -> None:
    """End the process if a statement exceeds its time, which happens inside libraries."""
    problem = agrad.engine.errors.AgradError("limit", _LATE)
    # As JSON it is made in advance, since later there may be no memory to load anything.
    record = agrad.cli.output.structured.error_line(problem) if as_json else ""
    last_words = f"{record or _MESSAGE}\n".encode()
    enforce(lambda: session.watch.left, lambda: _leave(record), 1 if record else 2, last_words)


def _leave(record: str = "") -> None:
    """End the process in the middle of a computation, after printing the record, or else an error."""
    agrad.grammar.files.discard()
    with suppress(OSError):
        click.echo(record or _MESSAGE, err=not record)
        sys.stdout.flush()
    os._exit(TIMED_OUT)


# Ends the process where a computation in a library exceeds its time, since no signal is heard there.
#
# A thread looks at the clock, and ends the process. Some functions of libraries, such as `solve_triangular` of SciPy,
# do not let other threads run: so at each look the thread tells a second process how many seconds are left, and that
# one kills the first if it hears nothing for longer. Then the exit code is that of a process that was killed.

PATIENCE = 0.7  # seconds that a computation in a library may exceed its time
_LOOK = 0.1  # seconds between two readings of the clock
_MORE = 0.1  # seconds that the thread has to end the process, before the other process does
_AGAIN = 0.15  # seconds to hear something in after the time, in case that both processes had been stopped
_LONGEST = 1e9  # seconds; a process cannot be told to wait longer
_LEFT = struct.Struct("d")


def enforce(left: Callable[[], float], leave: Callable[[], None], out: int, last_words: bytes) -> None:
    """Call `leave` when the seconds that are `left` are exceeded; kill the process where that is not possible.

    `last_words` are then written to the file descriptor `out`.
    """
    pipe = _killer(left(), out, last_words) if hasattr(os, "fork") else None

    def look() -> None:
        if pipe is not None:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})  # if the other process was killed
        while (seconds := left()) > -PATIENCE:
            if pipe is not None:
                with suppress(OSError):
                    os.write(pipe, _LEFT.pack(seconds))
            sleep(_LOOK)
        leave()

    Thread(target=look, daemon=True).start()


def _killer(seconds: float, out: int, last_words: bytes) -> int:
    """Start the process that kills this one; returns the descriptor where it reads the seconds that are left."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which do not matter to what the child does
        parent, child = os.getpid(), os.fork()
    if child:
        os.close(read)
        return write
    try:
        os.close(write)
        with suppress(OSError):
            os.close(0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if _is_silent(read, seconds):
            os.write(out, last_words)
            os.kill(parent, signal.SIGKILL)
    finally:
        os._exit(0)


def _is_silent(pipe: int, left: float) -> bool:
    """Whether nothing was heard for longer than the seconds that were left; False when the other process has ended."""
    while True:
        wait = min(max(left, 0.0) + PATIENCE + _MORE, _LONGEST)
        if not select([pipe], [], [], wait)[0] and not select([pipe], [], [], _AGAIN)[0]:
            return True
        heard = os.read(pipe, 4096)
        if not heard:
            return False
        (left,) = _LEFT.unpack(heard[-_LEFT.size :])
