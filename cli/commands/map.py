"""`agrad map`: an expression over the rows of a file, with its derivatives."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO, NoReturn, TypeVar

import click

from agrad.cli.arguments.expression import Formula, binding, listed, noted, texts_by_name, wrt_option
from agrad.cli.arguments.limits import end_in, limit_memory, memory_option, timeout_option
from agrad.cli.arguments.tables import TYPED, TableCommand, aliases_of, form_of, opened, split, table_options
from agrad.cli.base import file_completions, file_or_stdout, json_option, precision_option, shown_name
from agrad.cli.output.text import note
from agrad.cli.terminal.progress import AFTER, Loop, Progress, duration, on_terminal
from agrad.cli.terminal.terminal import shown
from agrad.engine.compile.registry import AUTO, CHOICES, NATIVE, described
from agrad.engine.errors import AgradError, Hint, Note

_S = TypeVar("_S")
_T = TypeVar("_T")
TO = ("csv", "jsonl", "npy", "npz", "arrow", "parquet")  # formats of the output
_ROOM = 2**30  # bytes of addresses
_LARGE = 2**24  # bytes of a file: computing a larger one takes longer than making machine code
_AHEAD = 8  # pieces, of some MB each, that wait for a slower step, such as making machine code, on few cores


@click.command("map", cls=TableCommand)
@click.argument("words", nargs=-1, metavar="EXPR DATA", shell_complete=file_completions)
@wrt_option("Columns to differentiate with respect to, separated by commas.")
@click.option(
    "-D", "given", multiple=True, metavar="NAME=VALUE", help="Define a name that has the same value in every row."
)
@click.option(
    "-o",
    "out",
    metavar="OUT",
    callback=file_or_stdout,
    shell_complete=file_completions,
    help="The file to write; its extension gives the format.",
)
@click.option(
    "--to",
    type=click.Choice(tuple(TO)),
    help="The format of the output, whatever its name.",
)
@click.option(
    "--u",
    "uncertain",
    multiple=True,
    metavar="NAME=U",
    help="The standard uncertainty of a column: a number, or @COLUMN; adds a column u. May be repeated.",
)
@table_options
@click.option(
    "-e", "expressions", multiple=True, metavar="NAME=EXPR", help="A formula, and the column for it. May be repeated."
)
@click.option("--where", metavar="EXPR", help="Compute and write only the rows in which this is true.")
@click.option(
    "--whole",
    metavar="NAME,...",
    help="Functions that see the whole column, in a pass of their own: mean, std, var, sum, min, max.",
)
@click.option(
    "--order",
    type=click.IntRange(1, 2),
    default=1,
    show_default=True,
    metavar="K",
    help="Derivatives up to this order.",
)
@click.option("--hessian", is_flag=True, help="The second derivatives by every pair of --wrt.")
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
    .csv, .jsonl, .npy (a matrix), .npz, .arrow or .parquet. OUT is written only when everything has succeeded;
    otherwise an existing file is kept. DATA may be larger than memory: a table of a few columns takes some 200 MB,
    however many rows it has. With --max-memory, the process ends with an error before it takes 1.3 GB more than SIZE.
    EXPR is evaluated for one row at a time, so mean(x) needs --whole mean; random numbers are drawn once, not for every
    row.

    \b
    agrad map "x**2 + y**3 - sin(x*y)" examples/points.csv --wrt x,y
    agrad map "x*y" examples/points.csv --u x=0.1 --u y=0.02
    agrad map "k*x" examples/points.csv -D k=3 --keep name --json
    agrad map "sqrt(x) if x > 0 else 0" examples/points.csv --wrt x -o slopes.npy
    agrad map -e a="x*y" -e b="x - mean(x)" examples/points.csv --whole mean
    printf "1,2\\n3,4\\n" | agrad map "hypot(a, b)" - --columns a,b --wrt a
    """
    # numpy's OpenBLAS lets a thread for each core spin for 40 ms when it is loaded, while the cores have rows to read.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # as a power of two, in cycles: the least that it takes
    formulas = texts_by_name("-e", reading.pop("expressions"), "-e takes NAME=EXPR, and {} is not one")
    expression, data = _two(words, formulas)
    ask = _Asked(
        formulas or {title: expression},
        bool(formulas),
        texts_by_name("-D", given, "-D takes NAME=VALUE, and {} is not one"),
        listed(wrt),
        texts_by_name("--u", uncertain, "--u takes NAME=U, and {} is not one"),
        2 if reading["hessian"] else reading.pop("order"),
        reading.pop("hessian"),
        reading.pop("where"),
        _functions(reading.pop("whole"), data),
    )
    ask.require()
    kept = split(keep)
    if context.get_parameter_source("precision") is click.core.ParameterSource.DEFAULT:
        precision = None
    form_of(reading), aliases_of(reading)  # so that wrong ones are refused before anything is read
    _limit(memory)
    from agrad.cli.data.advice import advised  # here and below, so that --help loads no numpy
    from agrad.cli.data.writers import BINARY, form_for

    form = form_for(out, as_json, reading.pop("to"))
    if precision is not None and form in BINARY:
        raise click.UsageError(f"--precision applies to text, and {out or form} holds numbers in full")
    _require_other(data, out)
    sessions = _Sessions(ask, lambda session: end_in(session, timeout, as_json))
    session = sessions.first
    stream = sys.stdin.buffer if data == "-" else None
    with ExitStack() as stack:
        stack.enter_context(advised(context.meta[TYPED], data, _typed))
        # On its own line: it reads, and may wait for its input.
        again = lambda: opened(shown_name(data), reading, stream)  # noqa: E731
        table = session.all_at_once(again, session.span)
        stack.enter_context(closing(table))
        count = threads or os.cpu_count() or 1
        tolerant = on_error == "null"
        found, where = session.all_at_once(lambda: sessions.formulas(table, again, count, tolerant), session.span)
        job = Job(table, found, where, kept, tolerant, count)
        visible = out is not None or not sys.stdout.isatty()
        with _writing(out, form) as output:
            session.all_at_once(lambda: job.run(output, form, precision, backend, visible), session.span)
    job.tell()


# The output of a calculation is for people; a table is for programs.
next(option for option in command.params if option.name == "precision").default = "full"


@dataclass(slots=True)
class _Asked:
    """The formulas by their titles, and what is asked about them. `named`: whether -e gives the titles."""

    formulas: dict[str, str]
    named: bool
    constants: dict[str, str]
    wrt: list[str]
    uncertain: dict[str, str]
    order: int
    full: bool
    where: str | None
    whole: tuple[str, ...]

    def require(self) -> None:
        """Refuse what does not go together. Raises click.UsageError."""
        if self.order == 2 and not self.wrt:
            raise click.UsageError("second derivatives need --wrt, which says by which columns")
        if self.uncertain and self.named:
            raise click.UsageError("--u is for one formula, without -e")


class _Sessions:
    """A session for each expression, all with the same constants."""

    def __init__(self, ask: _Asked, ends: Callable[[Any], None]) -> None:
        self.ask, self.ends = ask, ends
        self.values = {title: self._read(text, f"-e {title}=…" * ask.named) for title, text in ask.formulas.items()}
        self.parts = {title: [self._by(text, name) for name in ask.wrt] for title, text in ask.formulas.items()}
        if ask.order < 2:
            self.parts = {}
        self.where = self._read(ask.where, "--where") if ask.where is not None else None
        self.first = next(iter(self.values.values()))
        self.constants = {name: self.first.names[name] for name in ask.constants}

    def _read(self, text: str, word: str) -> Any:
        from agrad.grammar.session.rowwise import Rowwise

        session = Rowwise()
        self.ends(session)
        with noted(word) if word else nullcontext():
            session.read(text)
        return self._given(session)

    def _given(self, session: Any) -> Any:
        for name, value in self.ask.constants.items():
            with noted(f"-D {name}={value}"):
                session.give(name, value)
        return session

    def _by(self, text: str, name: str) -> Any:
        session = self._read(text, "")
        session.by = name
        return session

    def formulas(self, table: Any, again: Callable[[], Any], threads: int, tolerant: bool) -> tuple[list[Any], Any]:
        """The formulas, and the condition or None, over a table; functions of whole columns have their values."""
        from agrad.cli.data.row_formulas import RowFormula, aggregates

        ask = self.ask
        everyone = [*self.values.values(), *(part for parts in self.parts.values() for part in parts)]
        calls: dict[str, tuple[str, Any]] = {}
        for session in everyone:
            session.whole_columns(ask.whole, calls)
        inner = [self._given(session) for _, session in calls.values()]
        for session in [*everyone, *inner, *([self.where] if self.where else [])]:
            session.name_columns(table.quoted())
        where = RowFormula(table, self.where, "where", ()) if self.where is not None else None
        of_columns = {text: (name, RowFormula(table, inside, text, ())) for text, (name, inside) in calls.items()}
        for formula in [*(one for _, one in of_columns.values()), *([where] if where else [])]:
            formula.begin(lambda: AUTO, threads, tolerant)
        if calls:
            for text, value in aggregates(again, of_columns, where, tolerant).items():
                for session in everyone:
                    session.names[text] = session.numbers[text] = value
        found = [
            RowFormula(table, session, title, ask.wrt, ask.uncertain, self.parts.get(title, ()), ask.full, ask.named)
            for title, session in self.values.items()
        ]
        return found, where


class Job:
    """The request, and the number of rows without results."""

    def __init__(
        self, table: Any, formulas: Sequence[Any], where: Any, kept: Sequence[str], tolerant: bool, threads: int
    ) -> None:
        from agrad.engine.data.tables import Wanted

        self.table, self.formulas, self.where = table, formulas, where
        self.tolerant, self.threads = tolerant, threads
        self.kept = self.table.names if kept == ["all"] else [self.table.spelled(name) for name in kept]
        self.table.require_each(self.kept)
        self._require_unlike()
        self.results = [name for formula in formulas for name in formula.results]
        conditions = [where] if where is not None else []
        columns = [column for formula in [*formulas, *conditions] for column in formula.columns]
        self.wanted = Wanted(list(dict.fromkeys(columns)), self.kept, tolerant=tolerant)
        self.rows = self.failed = self.written = 0
        self.first: AgradError | None = None
        self.undefined = 0  # rows whose value is nan, though none of their numbers is
        self.first_undefined: Note | None = None
        self.slow = ""  # why there is no machine code, if it was requested

    def _require_unlike(self) -> None:
        """Refuse two columns of one name in the output. Raises AgradError of kind `name`."""
        seen: set[str] = set()
        for formula in self.formulas:
            title, named = formula.title, formula.named
            fixes = [Hint("--value result")] if not named else [Hint("another name in -e NAME=EXPR")]
            for name in formula.results:
                if name in self.kept:
                    message = f"{self.table.path} already has a column {name}"
                    raise AgradError("name", message, fixes=fixes if name == title else [])
                if name in seen or formula.results.count(name) > 1:
                    option = "-e" if named else "--value"
                    raise AgradError("name", f"{option} {title}: a derivative already has that name", fixes=fixes)
            seen.update(formula.results)

    def run(self, stream: BinaryIO, form: str, precision: int | None, backend: str, visible: bool) -> None:
        """Read, compute and write all rows. Raises AgradError."""
        from agrad.cli.data.writers import WRITERS

        self.wanted.texts = form in ("csv", "json") or (form in ("parquet", "arrow") and self.table.typed)
        output = WRITERS[form](stream, [*self.kept, *self.results], precision)
        output.paths = {name: path for formula in self.formulas for name, path in formula.paths.items()}
        if backend != AUTO:
            self._require(backend)
        for formula in self.formulas:
            formula.begin(lambda: self._backend(backend), self.threads, self.tolerant)
        line = on_terminal(Reading) if visible else None
        parts = self.table.parts(self.wanted)
        pieces = ahead(lambda part: self.table.piece(part, self.wanted), parts, self.threads)
        try:
            computed = self._computed(pieces, line, backend == NATIVE)
            encoded = map(output.encode, computed) if output.quick else ahead(output.encode, computed, self.threads)
            first = next(encoded, None)  # before anything is written, so that an error in it is the only output
            output.begin()
            for data in chain([] if first is None else [first], encoded):
                output.write(data)
            output.end()
            if output.rows != self.written:
                message = (
                    f"{output.rows} of the {self.written} rows in {self.table.path} were written: this is an error"
                )
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

    def _computed(self, pieces: Iterable[Any], line: Reading | None, fast: bool) -> Iterator[Any]:
        """The rows to write, one piece after the other."""
        from agrad.cli.data.row_formulas import kept_rows
        from agrad.cli.data.writers import Rows

        for piece in pieces:
            self.rows += piece.rows
            if piece.rows and self.where is not None:
                piece = kept_rows(piece, self.where)
            if piece.rows:
                copied = {name: piece.columns[name] for name in self.kept}
                results, bad = self._results(piece)
                yield Rows(copied, results, bad)
                if bad is not None:
                    self._count(piece, bad)
                if fast and not self.slow:
                    self.slow = next(filter(None, (one.evaluation.without_machine_code() for one in self.formulas)), "")
                self.written += piece.rows
            if line is not None:
                line.at(self.table.path, piece.done, self.table.total, self.rows)
        for formula in self.formulas:
            formula.evaluation.require_some()
            self.undefined += formula.evaluation.undefined
            self.first_undefined = self.first_undefined or formula.evaluation.first_undefined

    def _results(self, piece: Any) -> tuple[dict[str, Any], Any]:
        """The columns of results of all formulas, and a mask of the rows for which one of them has none."""
        found: dict[str, Any] = {}
        for formula in self.formulas:
            results, bad = formula.of(piece)
            found |= results
            piece.bad = bad
        return found, piece.bad

    def _count(self, piece: Any, bad: Any) -> None:
        self.failed += int(bad.sum())
        evaluations = [*([self.where.evaluation] if self.where is not None else [])]
        evaluations += [one for formula in self.formulas for one in (formula.evaluation, *formula.others.values())]
        errors = (evaluation.first for evaluation in evaluations)
        self.first = self.first or piece.problem or next(filter(None, errors), None)

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


def _functions(names: str | None, data: str) -> tuple[str, ...]:
    """The functions of whole columns in --whole. Raises click.UsageError."""
    if names is None:
        return ()
    from agrad.engine.data.aggregates import NAMES  # here, so that --help loads no numpy

    found = split(names)
    for name in found:
        if name not in NAMES:
            raise click.UsageError(f"--whole takes functions among {', '.join(NAMES)}, and {name} is not one")
    if data == "-":
        raise click.UsageError("--whole reads the data twice, so that they must be in a file")
    return tuple(found)


def _two(words: Sequence[str], formulas: Mapping[str, str]) -> tuple[str, str]:
    """The expression, empty where -e gives `formulas`, and the file. Raises click.UsageError."""
    if formulas:
        if len(words) != 1:
            what = "is missing" if not words else "is all that can follow, and there is more"
            raise click.UsageError(f"with -e, the file with the data {what}")
        return "", words[0]
    if not words:
        raise click.UsageError("the expression and the file are missing")
    if len(words) == 1:
        raise click.UsageError(f"the file with the data is missing; - is standard input: {_typed([words[0], '-'])}")
    for word in words[1:]:
        if binding(word)[0]:
            raise click.UsageError(f"a name gets its value from -D: -D {word}")
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
