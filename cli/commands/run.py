"""`agrad run`: a script, from start to end."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext

import click

import agrad
from agrad.cli import arguments, main
from agrad.cli.arguments import Options, argument, declared, file_option, flag, many, option
from agrad.cli.arguments.expression import noted, texts_by_name
from agrad.cli.output import printer
from agrad.cli.terminal import narrow
from agrad.cli.terminal.progress import clear, watching
from agrad.engine.errors import AgradError, Hint, Label, Note, TimeLimit
from agrad.grammar.diagnostics import Source
from agrad.grammar.results import Noted, Quit, Result
from agrad.grammar.session.inputs import refuse_data, refuse_page, require_free
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import ast, readings

_ARGUMENTS = "agrad.arguments"
THEMES = ("auto", "light", "dark")  # of the pictures in `cli.output.pictures`


class Script(main.Command):
    """Passes the words after the file, and after `--`, to the script."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Separate the arguments of the script."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[_ARGUMENTS] = tuple(args[end + 1 :])
        return super().parse_args(ctx, args[:end])


class Asked(Options):
    """What `agrad run` takes."""

    file: str = argument(type=arguments.FILE)
    extra: tuple[str, ...] = argument(nargs=-1, metavar="[ARGS...]")
    given: tuple[str, ...] = many("-D", "NAME=VALUE", "Define a name before the script starts.")
    checking: bool = flag("--check", "Do not run the script; report unknown names and wrong calls.")
    keep_going: bool = flag("-k --keep-going", "After an error, continue; after a syntax error, report the others.")
    quiet: bool = flag("-q --quiet", "Print no notes, and no progress of loops.")
    echoing: bool = flag("--echo", "Print a transcript: each statement behind a prompt, and its answers.")
    picture: str | None = file_option("--svg", "Write the transcript as a picture.")
    theme: str | None = option("--theme", THEMES, "The colours of --svg; auto: those of the system.")
    as_json: bool = arguments.json_option
    precision: int | None = arguments.precision_option()
    files: bool = arguments.files_option
    timeout: float | None = arguments.timeout_option("a script")
    memory: float | None = arguments.memory_option

    @property
    def is_transcript(self) -> bool:
        """Whether all that is typed and shown is written."""
        return self.echoing or self.picture is not None


@declared("run", Script, Asked)
def command(asked: Asked) -> int:
    """Run the statements in FILE, or in standard input if FILE is -.

    Results are printed as they are computed. The first error stops the script and is reported as file:line:column; the
    exit code is 1. With --keep-going the script continues after an error, and the exit code is that of the first one.

    --echo prints a transcript, in which the script continues after each error, as at a prompt. --svg writes it into a
    file, with the colours of a terminal; an error in it is then no failure, unless --echo prints it too.

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
    names = texts_by_name("-D", asked.given)
    for name, text in names.items():
        if text.startswith("@"):
            file = text[1:].partition(":")[0]
            fix = {f"{name}={text}": f'{name}=load_csv("{file}")'}
            again = main.typed(*(fix.get(one, one) for one in sys.argv[1:]))
            raise main.Wrong("-D takes an expression, not a file", again)
    if asked.is_transcript:
        _check_echo(asked)
    elif asked.theme is not None:
        raise click.UsageError("--theme gives the colours of --svg: use it with that")
    main.limit_memory(asked.memory)
    refuse_data(asked.file, "agrad run")
    if asked.checking:
        return _check(asked.file, [*names, "args"], asked.files, asked.as_json)
    session = Session()
    session.context.files.on = asked.files
    main.end_in(session, asked.timeout, asked.as_json)
    session.settings.precision, session.settings.width = asked.precision, narrow()
    session.names["args"] = (*asked.extra, *click.get_current_context().meta[_ARGUMENTS])
    for given, value in names.items():
        with noted(f"-D {given}={value}"):
            require_free(given)
            session.machine.bind(session.names, given, session.evaluate(value, is_given=True))
    text, name = main.read_text(asked.file), main.shown_name(asked.file)
    if asked.is_transcript:
        echo = agrad.cli.repl.printer.echo
        return echo(session, text, name, asked.echoing, asked.picture, asked.theme or "auto")
    return _run(session, asked, names, Source(name, text, 1, True))


def _run(session: Session, asked: Asked, names: dict[str, str], source: Source) -> int:
    """Run a script, and print its results; the exit code."""
    emit: Callable[[Result], None] = printer(session.settings, "json" if asked.as_json else "text")
    failures = Failures(asked.as_json, session, asked.timeout is not None)
    refuse_page(asked.file, source.text, "agrad run")
    for note in _overwritten(names, source):
        emit(Noted(note))
    unnoted = nullcontext(lambda result: None if isinstance(result, Noted) else emit(result))
    try:
        with (
            agrad.cli.terminal.waiting.listening() if sys.stderr.isatty() else nullcontext(),
            unnoted if asked.quiet else watching(session, emit) as heard,
        ):
            session.run(source.text, heard, source.name, is_file=True, report=failures if asked.keep_going else None)
    except Quit as end:
        return failures.end() or sum(end.args)
    except AgradError as problem:
        if not (asked.keep_going and problem.kind == "syntax" and failures.several(source)):
            raise
    return failures.end()


def _overwritten(names: Mapping[str, str], source: Source) -> Iterator[Note]:
    """The notes on names of -D that a script gives another value before it reads them."""
    try:
        statements = readings.parse(source) if names else ()
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
        self.codes.append(main.complain(problem, self.as_json))

    def several(self, source: Source) -> bool:
        """Show all syntax errors of a script if there are several; whether there are."""
        problems = agrad.grammar.lint.lint.unreadable(source)
        for problem in problems if len(problems) > 1 else ():
            self(problem)
        return len(problems) > 1

    def end(self) -> int:
        """Report how many there were; the exit code."""
        if self.codes:
            click.echo("1 error" if len(self.codes) == 1 else f"{len(self.codes)} errors", err=True)
        return self.codes[0] if self.codes else 0


def _check_echo(asked: Asked) -> None:
    """Refuse options that do not go together with a transcript. Raises click.UsageError."""
    for name, given in (("check", asked.checking), ("quiet", asked.quiet), ("json", asked.as_json)):
        if given:
            raise click.UsageError(f"a transcript shows all answers as text: leave --{name} out")
    if asked.picture is not None and not asked.files:
        raise click.UsageError("--svg writes a file, which --no-files does not allow")


def _check(file: str, names: Sequence[str], files: bool, as_json: bool) -> int:
    """Report the errors of a script, without running it; the exit code."""
    failures = Failures(as_json)
    source = Source(main.shown_name(file), main.read_text(file), 1, True)
    for problem in agrad.grammar.lint.lint.problems(source, names, files):
        failures(problem)
    return max([failures.end(), *failures.codes])
