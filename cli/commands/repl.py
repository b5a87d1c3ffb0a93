"""`agrad repl`: a session. Prompted on a terminal, read line by line from anything else."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

import click

import agrad
from agrad.cli import arguments, main
from agrad.cli.arguments import Options, argument, declared, option
from agrad.cli.output import Printer, as_read, note, separated, settle_mark
from agrad.cli.repl.plain import Opening, statements, typed
from agrad.cli.repl.printer import Echo, PromptPrinter
from agrad.cli.settings import find, initial_script
from agrad.cli.terminal import stop_once
from agrad.cli.terminal.progress import watching
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source
from agrad.grammar.files import require_ordinary
from agrad.grammar.results import Quit, Result
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.readings import parts
from agrad.lazy import pattern

if TYPE_CHECKING:
    from agrad.cli.repl.crash_log import CrashLog

_ARGUMENTS = pattern(r"\bargs\b")


class Asked(Options):
    """What `agrad repl` takes."""

    file: str | None = argument(required=False, type=arguments.FILE)
    precision: int | None = arguments.precision_option()
    files: bool = arguments.files_option
    timeout: float | None = arguments.timeout_option("a statement")
    memory: float | None = arguments.memory_option
    vi: bool | None = arguments.keys_option
    resume: str | None = option(
        "--resume",
        "[N]",
        "Restore the last session, also after a crash; or session N of `agrad sessions`.",
        is_flag=False,
        flag_value="",
    )


@declared("repl", main.Command, Asked)
def command(asked: Asked) -> int:
    """Open an interactive session. If there is a FILE, it is run first.

    On a terminal: Tab completes, makes α of \\alpha and, after a message, puts its fix into the line (Alt-2 the second
    one), Up finds earlier lines that begin the same, Alt-Enter starts a new line (with --vi: o), Ctrl-X Ctrl-E opens
    the editor, Alt-Up and Alt-Down on the name of a leaf move it a little (not with --vi), F2 hides the value of what
    is typed, Ctrl-C clears the line or interrupts a computation, and Ctrl-D quits. `copy` puts the last answer on the
    clipboard, `clear` empties the screen. A statement that fails, or is interrupted, changes nothing. If there is an
    init.ag, it is run first, on a terminal only; `agrad config` prints its path.

    The statements of a session are kept in a log, even with --no-files. --resume runs those of the last session again,
    without printing their results, and continues; a note names each file that was read and has been written since. With
    --resume, a session from a pipe is logged too. `sessions` at the prompt, or `agrad sessions`, lists the last
    sessions, those that crashed as well, and --resume with a number restores one.

    From a pipe: there is no prompt, and after an error the next statement is run. The exit code is that of the first
    error: 1, or 2 for a syntax error.

    --timeout limits each statement, as `limit time` does, and is checked between operations: a single long operation,
    such as svd of a large matrix, is not interrupted. From a pipe, the session is ended if it is more than a second
    late.

    \b
    agrad repl
    agrad repl examples/toy.ag
    echo "sin(pi/6)" | agrad repl
    """
    file, timeout = asked.file, asked.timeout
    restored = _to_restore(asked.resume, file)
    main.limit_memory(asked.memory)
    session = new_session(asked.precision, asked.files, timeout)
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if timeout is not None and not at_terminal:
        agrad.cli.limits.end_if_late(session)
    log: CrashLog | None = None
    message, failure = "", 0
    if restored or at_terminal:
        log, message, failure = agrad.cli.repl.crash_log.open_log(session, restored)
    if at_terminal and not session.record.entries:  # a restored session has run init.ag already
        _initialise(session)
    session.steps.depth, session.by_entry = DEPTH, at_terminal
    session.settings.echo, session.shows = at_terminal and find("echo")[0], (at_terminal, at_terminal)
    try:
        failure = failure if file is None else _begin(session, file, True)
    except Quit:
        return 0
    if log is not None:
        session.record.keeper = log  # which writes the accepted statements from now on
    lines = keyboard(session, asked.vi, Opening(told=message)) if at_terminal else piped(session, message)
    code = loop(session, lines, interactive=at_terminal)
    if log is not None:
        log.end()
    return code if at_terminal else failure or code


def new_session(precision: int | None, files: bool = True, timeout: float | None = None) -> Session:
    """A new session with the settings of the options and config.toml."""
    session = Session()
    session.context.files.on = files
    main.limit_statements(session)
    session.watch.time = timeout or session.watch.time
    session.settings.precision = precision
    session.record.on = True
    return session


def _to_restore(resume: str | None, file: str | None) -> bool | int:
    """Whether the last session is restored, or the number of one. Raises UsageError."""
    if resume is None:
        return False
    if file is not None or not (resume.isdecimal() or not resume):
        raise click.UsageError("--resume also restores what a FILE did: leave FILE out")
    if resume and not int(resume):
        raise main.Wrong("sessions are counted from 1", "agrad sessions")
    return int(resume) if resume else True


def keyboard(session: Session, vi: bool | None, opening: Opening) -> Iterator[str]:
    """What a person types at the prompt, statement by statement."""
    if os.environ.get("TERM") == "dumb":
        return typed(session, opening)
    # Here, since prompt_toolkit takes longer to load than everything else.

    keys, _ = find("edit", None if vi is None else "vi" if vi else "emacs")
    return agrad.cli.repl.prompt.prompted(session, keys == "vi", opening)


def piped(session: Session, message: str = "") -> Iterator[str]:
    """What comes from a pipe, statement by statement, after a message on stderr."""
    if message:
        click.echo(message, err=True)
    with main.reading_input():
        for text in statements(sys.stdin.buffer, lambda: session.reads_python):
            yield agrad.cli.repl.plain.answered(text, session.names)


def _initialise(session: Session) -> None:
    """Run init.ag, if there is one; even if it fails, the session opens, and `undo` does not take it back."""
    session.settings.width = shutil.get_terminal_size().columns
    path = initial_script()
    if path is None:
        return
    try:
        if not os.path.isdir(path):  # reported when it is read
            require_ordinary(path)
        _begin(session, path)
    except OSError as problem:
        note(f"cannot read {path}: {problem.strerror}")
    except Quit:
        pass
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, stop_once)
        note(f"interrupted: of {path} only the statements before this one have run")


def _begin(session: Session, file: str, goes_on: bool = False) -> int:
    """Run a script at the start of a session, which continues after an error; its exit code.

    `goes_on`: whether the session reads on as the script ended.
    """
    code, ends_in_python = 0, False
    try:
        text, name = main.read_text(file), main.shown_name(file)
        ends_in_python = goes_on and parts(Source(name, text, 1, True))[-1].is_python
        if _ARGUMENTS.search(text):  # `agrad run` gives them to a script; logged, so that it can be restored
            session.run("args = ()", source=name, is_file=True)
        session.run(text, Printer(session.settings), source=name, is_file=True)
    except AgradError as problem:
        code = main.complain(problem)
    if ends_in_python:
        session.reads_python = True
        session.run("pass")  # which the log has, so that a session that is restored reads Python, too
        note("this session reads Python, as the script did; `calculator` goes back")
    return code


@contextmanager
def _listening(session: Session, interactive: bool) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Listen for Ctrl-C while statements of a person run; gives what each of them runs in."""
    if not interactive:
        yield nullcontext
        return

    def is_kept() -> bool:
        return session.record.keeper is not None and bool(session.record.entries)

    with closing(agrad.cli.terminal.waiting.Waiting(is_kept)) as waiting:
        yield waiting.running


def loop(
    session: Session,
    statements: Iterator[str],
    interactive: bool = False,
    printer: Callable[[Result], None] | None = None,
    report: Callable[[AgradError], int] = main.complain,
) -> int:
    """Run statements, report those that fail, and continue; the exit code of the first failure.

    At a terminal the exit code is 0: the person there has seen the failures. `printer` and `report` get the results and
    the errors.
    """
    settle = settle_mark if printer is None else bool  # a lesson has points
    if printer is None:
        printer = PromptPrinter(session.settings) if interactive else Printer(session.settings)
    if isinstance(printer, Printer):
        session.record.transcript.text = printer.text
    echo, code = Echo(session) if interactive else None, 0
    with _listening(session, interactive) as running, suppress(Quit):
        settle(session.reads_python)
        for text in statements:
            failure = _run(session, text, echo, lambda: watching(session, printer), running, report)
            code = code or failure
            settle(session.reads_python)
    return 0 if interactive else code


def _run(
    session: Session,
    typed_text: str,
    echo: Echo | None,
    watched: Callable[[], AbstractContextManager[Callable[[Result], None]]],
    running: Callable[[], AbstractContextManager[None]],
    report: Callable[[AgradError], int],
) -> int:
    """Run a statement, within `watched` and `running`; the exit code of its failure. Raises Quit."""
    try:
        text = as_read(typed_text, True)
        if echo is not None:
            text = echo.begin(text)
        with watched() as emit, running():
            session.run(text, emit)
        if echo is not None:
            echo.end(text)
    except AgradError as problem:
        return report(separated(problem, typed_text))
    except KeyboardInterrupt as stop:
        if echo is None:
            raise
        said = f"interrupted: {str(stop) or 'everything is as before this statement'}"
        session.record.transcript.say(said)
        click.echo(said, err=True)
    except (Quit, OSError):  # where the output cannot be written, there is no reason to continue
        raise
    except Exception as error:  # a fault of agrad, which may be of any type, does not end a session
        return main.complain(main.internal(error, "the statement is taken back, and the session goes on"))
    return 0
