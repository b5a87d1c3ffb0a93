"""`agrad run`: a script, from start to end."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress

import click

import agrad
from agrad.cli.arguments.expression import noted, texts_by_name
from agrad.cli.arguments.limits import end_in, limit_memory, memory_option, timeout_option
from agrad.cli.base import (
    Command,
    complain,
    file_completions,
    files_option,
    json_option,
    precision_option,
    read_text,
    shown_name,
)
from agrad.cli.output import printer
from agrad.cli.terminal.progress import clear, watching
from agrad.cli.terminal.terminal import narrow
from agrad.engine.errors import AgradError, Hint, Label, Note, TimeLimit
from agrad.grammar.diagnostics import Source
from agrad.grammar.results import Noted, Quit, Result
from agrad.grammar.session.inputs import refuse_data, refuse_page, require_free
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.parser import parse

_ARGUMENTS = "agrad.arguments"
THEMES = ("auto", "light", "dark")  # of the pictures in `cli.output.pictures`


class Script(Command):
    """Passes the words after the file, and after `--`, to the script."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Separate the arguments of the script."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[_ARGUMENTS] = tuple(args[end + 1 :])
        return super().parse_args(ctx, args[:end])


@click.command("run", cls=Script)
@click.argument("file", shell_complete=file_completions)
@click.argument("extra", nargs=-1, metavar="[ARGS...]")
@click.option("-D", "given", multiple=True, metavar="NAME=VALUE", help="Define a name before the script starts.")
@click.option("--check", "checking", is_flag=True, help="Do not run the script; report unknown names and wrong calls.")
@click.option(
    "-k", "--keep-going", is_flag=True, help="After an error, continue; after a syntax error, report the others."
)
@click.option("-q", "--quiet", is_flag=True, help="Print no notes, and no progress of loops.")
@click.option(
    "--echo", "echoing", is_flag=True, help="Print a transcript: each statement behind a prompt, and its answers."
)
@click.option(
    "--html", "page", metavar="FILE", shell_complete=file_completions, help="Write the transcript as an HTML page."
)
@click.option(
    "--svg", "picture", metavar="FILE", shell_complete=file_completions, help="Write the transcript as a picture."
)
@click.option("--theme", type=click.Choice(THEMES), help="The colours of --html and --svg; auto: those of the system.")
@json_option
@precision_option
@files_option
@timeout_option("a script")
@memory_option
@click.pass_context
def command(
    context: click.Context,
    /,
    file: str,
    extra: tuple[str, ...],
    given: tuple[str, ...],
    checking: bool,
    keep_going: bool,
    quiet: bool,
    echoing: bool,
    page: str | None,
    picture: str | None,
    theme: str | None,
    as_json: bool,
    precision: int | None,
    files: bool,
    timeout: float | None,
    memory: float | None,
) -> int:
    """Run the statements in FILE, or in standard input if FILE is -.

    Results are printed as they are computed. The first error stops the script and is reported as file:line:column; the
    exit code is 1. With --keep-going the script continues after an error, and the exit code is that of the first one.

    --echo prints a transcript, in which the script continues after each error, as at a prompt. --html and --svg write
    it into a file, with the colours of a terminal; an error in it is then no failure, unless --echo prints it too.

    Nothing of a script with a syntax error is run; the exit code is 2. With --keep-going all of its syntax errors are
    reported.

    The ARGS are in `args`, a tuple of strings; float(args[0]) converts one to a number. Write -- before
    arguments that begin with a minus sign. Names of data files are relative to the current folder; beside("x.csv") is a
    file in the folder of the script.

    \b
    agrad run examples/toy.ag
    agrad run -D rate=0.1 examples/toy.ag data.csv
    agrad run --svg toy.svg examples/toy.ag
    echo "print 6*7" | agrad run -
    """
    names = texts_by_name("-D", given, "-D takes NAME=VALUE, and {} is not one", context)
    for name, text in names.items():
        if text.startswith("@"):
            raise click.UsageError(
                f"-D takes an expression, not a file: -D {name}='load_csv(\"{text[1:].partition(':')[0]}\")'"
            )
    if echoing or page is not None or picture is not None:
        _check_echo(context, page or picture, files)
    elif theme is not None:
        raise click.UsageError("--theme gives the colours of --html and --svg: use it with one of them")
    limit_memory(memory)
    refuse_data(file, "agrad run")
    if checking:
        return _check(file, [*names, "args"], files, as_json)
    session = Session()
    session.files = files
    end_in(session, timeout, as_json)
    session.settings.precision, session.settings.width = precision, narrow()
    session.names["args"] = (*extra, *context.meta[_ARGUMENTS])
    _give(session, names)
    if echoing or page is not None or picture is not None:
        return agrad.cli.repl.printer.echo(
            session, read_text(file), shown_name(file), echoing, page, picture, theme or "auto"
        )
    emit: Callable[[Result], None] = printer(session.settings, "json" if as_json else "text")
    failures = Failures(as_json, session, timeout is not None)
    text, report = read_text(file), failures if keep_going else None
    refuse_page(file, text, "agrad run")
    for note in _overwritten(names, Source(shown_name(file), text, 1, True)):
        emit(Noted(note))
    try:
        with suppress(Quit), _stoppable(), nullcontext(_unnoted(emit)) if quiet else watching(session, emit) as heard:
            session.run(text, heard, shown_name(file), is_file=True, report=report)
    except AgradError as problem:
        if not (keep_going and problem.kind == "syntax" and failures.several(Source(shown_name(file), text, 1, True))):
            raise
    return failures.end()


def _overwritten(names: Mapping[str, str], source: Source) -> Iterator[Note]:
    """The notes on names of -D that a script gives another value before it reads them."""
    try:
        statements = parse(source) if names else ()
    except AgradError:  # which the run reports
        return
    for name, value in names.items():
        first = next((one for one in statements if re.search(rf"\b{re.escape(name)}\b", one.span.text)), None)
        if not isinstance(first, ast.Variable | ast.Assign):
            continue
        targets = (first.name,) if isinstance(first, ast.Variable) else first.targets
        is_given = any(isinstance(one, ast.Name) and one.id == name for one in targets)
        if is_given and not re.search(rf"\b{re.escape(name)}\b", first.value.span.text):
            place = Label(first.span)
            leaf = f"; var {name} = {name} makes a leaf of what -D gives" if isinstance(first, ast.Variable) else ""
            fixes = [Hint(f"leave this line out of the script{leaf}")]
            yield Note(f"-D {name}={value} has no effect: the script gives {name} another value", (place,), fixes)


def _stoppable() -> AbstractContextManager[None]:
    """What a script runs in: at a terminal, a Ctrl-C that has to wait is answered."""
    if not sys.stderr.isatty():
        return nullcontext()

    return agrad.cli.terminal.waiting.listening()


class Failures:
    """Reports the errors of a script that continues after each."""

    def __init__(self, as_json: bool, session: Session | None = None, hurried: bool = False) -> None:
        self.as_json = as_json
        self.session = session
        self.hurried = hurried
        self.codes: list[int] = []

    def __call__(self, problem: AgradError) -> None:
        """Show an error; raises it if it is the time limit."""
        if self.hurried and isinstance(problem.facts, TimeLimit):
            raise problem
        if self.session is not None:
            clear(self.session)
        self.codes.append(complain(problem, self.as_json))

    def several(self, source: Source) -> bool:
        """Show all syntax errors of a script if there are several; whether there are."""
        problems = agrad.grammar.lint.files.unreadable(source)
        if len(problems) < 2:
            return False
        for problem in problems:
            self(problem)
        return True

    def end(self) -> int:
        """Report how many there were; the exit code."""
        if self.codes:
            click.echo("1 error" if len(self.codes) == 1 else f"{len(self.codes)} errors", err=True)
        return self.codes[0] if self.codes else 0


def _check_echo(context: click.Context, path: str | None, files: bool) -> None:
    """Refuse options that do not go together with a transcript. Raises click.UsageError."""
    for name, parameter in (("check", "checking"), ("quiet", "quiet"), ("json", "as_json")):
        if context.params[parameter]:
            raise click.UsageError(f"a transcript shows all answers as text: leave --{name} out")
    if path is not None and not files:
        raise click.UsageError("--html and --svg write a file, which --no-files does not allow")


def _give(session: Session, names: dict[str, str]) -> None:
    """Give names their values, as `name = value` would before the first line. Raises AgradError."""
    for name, text in names.items():
        with noted(f"-D {name}={text}"):
            require_free(name)
            session.machine.bind(session.names, name, session.evaluate(text))


def _unnoted(emit: Callable[[Result], None]) -> Callable[[Result], None]:
    """A function that prints results, but no notes."""
    return lambda result: None if isinstance(result, Noted) else emit(result)


def _check(file: str, names: Sequence[str], files: bool, as_json: bool) -> int:
    """Report the errors of a script, without running it; the exit code."""
    failures = Failures(as_json)
    for problem in agrad.grammar.lint.lint.problems(Source(shown_name(file), read_text(file), 1, True), names, files):
        failures(problem)
    return max([failures.end(), *failures.codes])
