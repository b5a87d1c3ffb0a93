"""`agrad map`: an expression over the rows of a file, with its derivatives."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import chain
from types import MappingProxyType
from typing import Any, BinaryIO, NoReturn, TypeVar

import click

from agrad.cli.arguments.expression import Formula, FormulaCommand, binding, listed, noted, texts_by_name, wrt_option
from agrad.cli.arguments.limits import end_in, limit_memory, memory_option, timeout_option
from agrad.cli.arguments.tables import aliases_of, form_of, opened, split, table_options
from agrad.cli.base import file_completions, json_option, precision_option, shown_name
from agrad.cli.output.text import note
from agrad.cli.terminal.progress import AFTER, Loop, Progress, duration, on_terminal
from agrad.cli.terminal.terminal import shown
from agrad.engine.compile.registry import AUTO, CHOICES, NATIVE, described
from agrad.engine.errors import AgradError, Hint, Note
from agrad.engine.values import np
from agrad.grammar.results import derivative_name

_S = TypeVar("_S")
_T = TypeVar("_T")
_TYPED = "agrad.typed"
_ROOM = 2**30  # bytes of addresses
_LARGE = 2**24  # bytes of a file: computing a larger one takes longer than making machine code
_AHEAD = 8  # pieces, of some MB each, that wait for a slower step, such as making machine code, on few cores
_GLUED = re.compile(r"-D[^\W\d](?:\w|[^\x00-\x7f])*=(?!=)")


class MapCommand(FormulaCommand):
    """The expression may begin with a minus here, too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the typed words, for advice."""
        ctx.meta[_TYPED] = args
        parted = [part for word in args for part in (("-D", word[2:]) if _GLUED.match(word) else (word,))]
        return super().parse_args(ctx, parted)


@click.command("map", cls=MapCommand)
@click.argument("words", nargs=-1, metavar="EXPR DATA", shell_complete=file_completions)
@wrt_option("Columns to differentiate with respect to, separated by commas.")
@click.option(
    "-D", "given", multiple=True, metavar="NAME=VALUE", help="Define a name that has the same value in every row."
)
@click.option(
    "-o",
    "out",
    metavar="OUT",
    shell_complete=file_completions,
    help="The file to write; its extension gives the format.",
)
@click.option(
    "--u",
    "uncertain",
    multiple=True,
    metavar="NAME=U",
    help="The standard uncertainty of a column: a number, or @COLUMN; adds a column u. May be repeated.",
)
@table_options
@click.option("--keep", metavar="NAME,...|all", help="Columns to copy to the output, before the results.")
@click.option(
    "--value", "title", default="value", show_default=True, metavar="NAME", help="The name of the column of values."
)
@click.option(
    "--on-error",
    "on_error",
    type=click.Choice(("stop", "null")),
    default="stop",
    show_default=True,
    help="What to do with rows that cannot be read or computed; null: leave their results empty, and count them.",
)
@click.option(
    "--backend",
    type=click.Choice(CHOICES),
    default=AUTO,
    show_default=True,
    help=described("; ") + ".",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="The number of threads; the default is the number of cores.",
)
@json_option
@precision_option
@timeout_option("a computation")
@memory_option
@click.pass_context
def command(
    context: click.Context,
    /,
    words: tuple[str, ...],
    wrt: tuple[str, ...],
    given: tuple[str, ...],
    out: str | None,
    uncertain: tuple[str, ...],
    keep: str | None,
    title: str,
    on_error: str,
    backend: str,
    threads: int | None,
    as_json: bool,
    precision: int | None,
    timeout: float | None,
    memory: float | None,
    **reading: Any,
) -> None:
    """Compute EXPR, and its derivatives, for each row of DATA.

    The names in EXPR are columns of DATA: a file of text (.csv, .tsv, .txt, .dat, or - for standard input), .jsonl,
    .npy, .npz or, with the extra data, .arrow and .parquet. It may be compressed (.gz, .zst, .bz2, .xz), or a folder of
    such files, or 'data/*.csv'. Delimiter, decimal mark and comments are found in the first 32 kB; what contradicts
    them later is an error, as are empty entries. The first line of text is a header unless it has numbers only; columns
    without names are called c0, c1, ... or as --columns says. For names that are none, -c v="speed (m/s)".

    The results, columns value, d/dx, ..., go to standard output as CSV, or to OUT, in the format of its extension:
    .csv, .jsonl, .npy (a matrix), .npz or .parquet. OUT is written only when everything has succeeded; otherwise an
    existing file is kept. DATA may be larger than memory: a table of a few columns takes some 200 MB, however many
    rows it has. With --max-memory, the process ends with an error before it takes 1.3 GB more than SIZE. EXPR is
    evaluated for one row at a time, so mean(x) is an error; random numbers are drawn once, not for every row.

    \b
    agrad map "x**2 + y**3 - sin(x*y)" examples/points.csv --wrt x,y
    agrad map "x*y" examples/points.csv --u x=0.1 --u y=0.02
    agrad map "k*x" examples/points.csv -D k=3 --keep name --json
    agrad map "sqrt(x) if x > 0 else 0" examples/points.csv --wrt x -o slopes.npy
    printf "1,2\\n3,4\\n" | agrad map "hypot(a, b)" - --columns a,b --wrt a
    """
    # numpy's OpenBLAS lets a thread for each core spin for 40 ms when it is loaded, while the cores have rows to read.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # as a power of two, in cycles: the least that it takes
    expression, data = _two(words)
    constants = texts_by_name("-D", given, "-D takes NAME=VALUE, and {} is not one")
    by, kept = listed(wrt), split(keep)
    uncertainties = texts_by_name("--u", uncertain, "--u takes NAME=U, and {} is not one")
    if context.get_parameter_source("precision") is click.core.ParameterSource.DEFAULT:
        precision = None
    form_of(reading), aliases_of(reading)  # so that wrong ones are refused before anything is read
    _limit(memory)
    from agrad.cli.data.advice import advised  # here and below, so that --help loads no numpy
    from agrad.cli.data.writers import BINARY, form_for
    from agrad.grammar.session.rowwise import Rowwise

    form = form_for(out, as_json)
    if precision is not None and form in BINARY:
        raise click.UsageError(f"--precision applies to text, and {out} holds numbers in full")
    _require_other(data, out)
    session = Rowwise()
    end_in(session, timeout, as_json)
    session.read(expression)
    for name, text in constants.items():
        with noted(f"-D {name}={text}"):
            session.give(name, text)
    stream = sys.stdin.buffer if data == "-" else None
    with ExitStack() as stack:
        stack.enter_context(advised(context.meta[_TYPED], data, _typed))
        # On its own line: it reads, and may wait for its input.
        table = session.all_at_once(lambda: opened(shown_name(data), reading, stream), session.span)
        stack.enter_context(closing(table))
        job = Job(session, table, by, kept, title, on_error == "null", threads or os.cpu_count() or 1, uncertainties)
        visible = out is not None or not sys.stdout.isatty()
        with _writing(out, form) as output:
            session.all_at_once(lambda: job.run(output, form, precision, backend, visible), session.span)
    job.tell()


# The output of a calculation is for people; a table is for programs.
next(option for option in command.params if option.name == "precision").default = "full"


class Job:
    """The request, and the number of rows without results."""

    def __init__(
        self,
        session: Any,
        table: Any,
        wrt: Sequence[str],
        kept: Sequence[str],
        title: str,
        tolerant: bool,
        threads: int,
        uncertainties: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        from agrad.engine.data.tables import Wanted

        self.session, self.tolerant, self.threads = session, tolerant, threads
        self.wrt = list(dict.fromkeys([*wrt, *uncertainties]))  # the derivatives that are computed
        self.table = table
        self.used = self._used()
        self.uncertainties = {name: self._uncertainty(name, text) for name, text in uncertainties.items()}
        measured = [of for of in self.uncertainties.values() if isinstance(of, str)]
        self.kept = self.table.names if kept == ["all"] else [self.table.spelled(name) for name in kept]
        self.table.require_each(self.kept)
        slopes = [derivative_name("grad", (name,)) for name in wrt]
        self.shown = len(slopes)
        self.results = [title, *slopes, *(["u"] if uncertainties else [])]
        for name in self.results:
            if name in self.kept:
                fixes = [Hint("--value result")] if name == title else []
                raise AgradError("name", f"{self.table.path} already has a column {name}", fixes=fixes)
        if title in slopes:
            message = f"--value {title}: a derivative already has that name"
            raise AgradError("name", message, fixes=[Hint("--value result")])
        wanted = list(dict.fromkeys([*self.used.values(), *measured]))
        self.wanted = Wanted(wanted, self.kept, tolerant=tolerant)
        self.rows = self.failed = 0
        self.first: AgradError | None = None
        self.undefined = 0  # rows whose value is nan, though none of their numbers is
        self.first_undefined: Note | None = None
        self.slow = ""  # why there is no machine code, if it was requested

    def _used(self) -> dict[str, str]:
        """The names of columns that are needed, and how the table spells each.

        Raises AgradError of kind `name` for one that the table does not have.
        """
        used: dict[str, str] = {}
        for name, span in self.session.columns(self.table.known(), self.wrt):
            used[name] = self.table.spelled(name)
            self.table.require(used[name], span)
        return used

    def _uncertainty(self, name: str, text: str) -> float | str:
        """What is given for a column: a number, or the name of another column. Raises AgradError."""
        if text.startswith("@"):
            column: str = self.table.spelled(text[1:])
            self.table.require_each([column])
            return column
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not number >= 0.0:
            message = f"--u {name}={text}: an uncertainty is a number that is 0 or positive, or @ and a column"
            raise AgradError("domain", message)
        return number

    def _with_uncertainty(self, results: Sequence[Any], piece: Any) -> list[Any]:
        """The results, the derivatives that were asked for, and the uncertainty: see `engine.autodiff.uncertainty`."""
        value, *slopes = results
        if not self.uncertainties:
            return [value, *slopes]
        total: Any = 0.0
        for name, of in self.uncertainties.items():
            term = slopes[self.wrt.index(name)] * (of if isinstance(of, float) else piece.columns[of])
            total = total + term * term
        return [value, *slopes[: self.shown], np.sqrt(total)]

    def run(self, stream: BinaryIO, form: str, precision: int | None, backend: str, visible: bool) -> None:
        """Read, compute and write all rows. Raises AgradError."""
        from agrad.cli.data.writers import WRITERS
        from agrad.grammar.session.rowwise import Evaluation

        self.wanted.texts = form in ("csv", "json") or (form == "parquet" and self.table.typed)
        output = WRITERS[form](stream, [*self.kept, *self.results], precision)
        if backend != AUTO:
            self._require(backend)
        evaluation = Evaluation(
            self.session, list(self.used), self.wrt, lambda: self._backend(backend), self.threads, self.tolerant
        )
        line = on_terminal(Reading) if visible else None
        parts = self.table.parts(self.wanted)
        pieces = ahead(lambda part: self.table.piece(part, self.wanted), parts, self.threads)
        try:
            computed = self._computed(pieces, evaluation, line, backend == NATIVE)
            encoded = map(output.encode, computed) if output.quick else ahead(output.encode, computed, self.threads)
            first = next(encoded, None)  # before anything is written, so that an error in it is the only output
            output.begin()
            for data in chain([] if first is None else [first], encoded):
                output.write(data)
            output.end()
            if output.rows != self.rows:
                message = f"{output.rows} of the {self.rows} rows in {self.table.path} were written: this is an error"
                raise AgradError("file", f"{message} in agrad, and the output cannot be trusted")
        finally:
            output.close()
            if line is not None:
                line.clear()

    @staticmethod
    def _require(backend: str) -> None:
        """Raise AgradError of kind `limit` if a backend cannot be used."""
        from agrad.grammar.session.rowwise import backend_missing

        problem = backend_missing(backend)
        if problem is not None:
            problem.fixes = [
                *[fix for fix in problem.fixes if not fix.startswith("backend=")],
                Hint("--backend python"),
            ]
            raise problem

    def _backend(self, asked: str) -> str:
        """The backend: for a large file machine code for all rows, where `auto` would change to that on the way."""
        if asked != AUTO or self.table.size < _LARGE:
            return asked
        from agrad.grammar.session.rowwise import backend_missing

        return NATIVE if backend_missing(NATIVE) is None else asked

    def _computed(self, pieces: Iterable[Any], evaluation: Any, line: Reading | None, fast: bool) -> Iterator[Any]:
        """The rows to write, one piece after the other."""
        from agrad.cli.data.writers import Rows

        for piece in pieces:
            if piece.rows:
                columns = {name: piece.columns[spelled] for name, spelled in self.used.items()}
                results, bad = evaluation(columns, piece.rows, piece.bad, piece.place)
                copied = {name: piece.columns[name] for name in self.kept}
                yield Rows(copied, dict(zip(self.results, self._with_uncertainty(results, piece), strict=True)), bad)
                if bad is not None:
                    self.failed += int(bad.sum())
                    self.first = self.first or piece.problem or evaluation.first
                if fast and not self.slow:
                    self.slow = evaluation.without_machine_code()
            self.rows += piece.rows
            if line is not None:
                line.at(self.table.path, piece.done, self.table.total, self.rows)
        evaluation.require_some()
        self.undefined, self.first_undefined = evaluation.undefined, evaluation.first_undefined

    def tell(self) -> None:
        """Report how many rows have no results, and whether machine code was requested but not available."""
        if self.slow:
            note(f"computed without machine code: {self.slow}")
        if self.first_undefined is not None:
            from agrad.cli.output.text import tell

            rows = f"{self.undefined} of {self.rows} rows {'has' if self.undefined == 1 else 'have'} the value nan"
            message = f"{rows}, although none of their numbers is nan; the first:"
            tell(Note(message, self.first_undefined.labels, notes=self.first_undefined.notes))
        if self.failed and self.first is not None:
            from agrad.cli.output.text import tell

            rows = f"{self.failed} of {self.rows} rows {'has' if self.failed == 1 else 'have'} no results"
            tell(Note(f"{rows}; the first: {self.first.message}", self.first.labels, notes=self.first.notes))


class Reading(Progress):
    """The part of a file that has been read: `34 % of points.csv, 340000 rows: 12 s, about 23 s left`."""

    text = ""

    def at(self, name: str, done: int, total: int | None, rows: int) -> None:
        """Show it, if it is time."""
        now = self.clock()
        if not self.loops:
            self.loops.append(Loop(total, now))
        elapsed = now - self.loops[0].start
        if now < self.next or elapsed < AFTER:
            return
        part = min(done / total, 1.0) if total else 0.0
        left = f", about {duration(elapsed * (1 - part) / part)} left" if part else ""
        share = f"{part:.0%} of " if total else ""
        self.text = f"{share}{name}, {rows} rows: {duration(elapsed)}{left}"
        self._show(now)

    def line(self, now: float) -> str:
        """See Progress."""
        return self.text


def ahead(function: Callable[[_S], _T], items: Iterable[_S], threads: int) -> Iterator[_T]:
    """The function of each item, in order, computed in threads while the caller is busy with those before."""
    if threads < 2:
        yield from map(function, items)
        return
    from concurrent.futures import Future, ThreadPoolExecutor  # here, since --help needs no threads

    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[_T]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > max(threads, _AHEAD):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _two(words: Sequence[str]) -> tuple[str, str]:
    """The expression and the file. Raises click.UsageError."""
    if not words:
        raise click.UsageError("the expression and the file are missing")
    if len(words) == 1:
        raise click.UsageError(f"the file with the data is missing; - is standard input: {_typed([words[0], '-'])}")
    for word in words[1:]:
        if binding(word)[0]:
            raise click.UsageError(f"a name gets its value from -D: -D {word}")
    if "-e" in words and len(words) > 2:
        words = [word for word in words if word != "-e"]
        raise click.UsageError(f"the expression is written without -e: {_typed(words)}")
    if len(words) > 2:
        advice = _typed([" ".join(words[:-1]), words[-1]])
        raise click.UsageError(f"one expression and one file; if this is one, quote it: {advice}")
    first, last = words
    return (last, first) if last.startswith("-") and last != "-" else (first, last)  # an expression with a minus


def _typed(words: Sequence[str]) -> str:
    return Formula("map", [], {}, []).typed(words)


def _limit(memory: float | None) -> None:
    """Limit the memory, in addition to the addresses of pyarrow and threads, most of which never become memory."""
    from mmap import mmap

    with ExitStack() as stack:
        with suppress(OSError):  # there is less room than that
            stack.enter_context(mmap(-1, _ROOM))
        limit_memory(memory, statements=False)


def _require_other(data: str, out: str | None) -> None:
    """Refuse to overwrite the data with the results. Raises AgradError of kind `file`."""
    with suppress(OSError, ValueError):
        if out is not None and data != "-" and os.path.samefile(data, os.path.expanduser(out)):
            raise AgradError("file", f"{out} holds the data, and the results would overwrite it: choose another name")


@contextmanager
def _writing(out: str | None, form: str) -> Iterator[BinaryIO]:
    """The output. A file exists only when everything has succeeded; otherwise a message says so. Raises AgradError."""
    from agrad.grammar.files import replacing

    if out is None:
        screen: Any = _Screen(sys.stdout.buffer)
        yield screen if sys.stdout.isatty() else sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        with _terminable(), replacing(out) as stream:
            yield stream
    except (KeyboardInterrupt, SystemExit):
        note(f"stopped: {out} is {'as it was' if os.path.exists(out) else 'not written'}")
        raise


class _Screen(io.RawIOBase):
    """A terminal that a table is written to: control characters in its names and texts must have no effect."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def write(self, data: Any) -> int:
        """Write whole lines of text."""
        text = shown(bytes(data).decode("utf-8", "replace"))
        return self.stream.write(text.encode("utf-8", "replace"))

    def flush(self) -> None:
        """Write the rest."""
        self.stream.flush()


@contextmanager
def _terminable() -> Iterator[None]:
    """Let the signals that end a process clean up first; the exit code is the usual one, 128 plus the signal."""

    def end(number: int, frame: object) -> NoReturn:
        signal.signal(number, signal.SIG_IGN)
        raise SystemExit(128 + number)

    before = {}
    for name in ("SIGTERM", "SIGHUP"):
        with suppress(AttributeError, ValueError):  # no such signal, or a thread
            number = getattr(signal, name)
            before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
