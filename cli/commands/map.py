"""`agrad map`: an expression over the rows of a file, with its derivatives."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from functools import partial
from mmap import mmap
from typing import Any, BinaryIO, NoReturn

import click

import agrad
from agrad.cli import arguments
from agrad.cli.arguments.expression import constants_option, listed, texts_by_name, wrt_option
from agrad.cli.arguments.options import (
    Cluster,
    Reading,
    TableCommand,
    opened,
    require_readable,
    split,
    units_option,
    where,
)
from agrad.cli.main import Wrong, again, end_in, limit_memory, shown_name, typed
from agrad.cli.output import note
from agrad.cli.terminal import handled, shown
from agrad.cli.terminal.progress import on_terminal
from agrad.engine.compile.registry import AUTO, CHOICES, described
from agrad.grammar.files import replacing

TO = ("csv", "jsonl", "npy", "npz", "arrow", "parquet")  # formats of the output
_ROOM = 2**30  # bytes of addresses


class Asked(arguments.Options):
    """What `agrad map` takes."""

    words: tuple[str, ...] = arguments.argument(nargs=-1, metavar="EXPR DATA", type=arguments.FILE)
    wrt: tuple[str, ...] = wrt_option("Columns to differentiate with respect to, separated by commas.")
    given: tuple[str, ...] = constants_option
    out: str | None = arguments.file_option(
        "-o",
        "The file to write; its extension gives the format. Or a folder, out/, for a file of each file of DATA.",
        "OUT",
        callback=arguments.file_or_stdout,
    )
    resume: bool = arguments.flag("--resume", "Continue a run into a folder that was interrupted.")
    most: float = arguments.option(
        "--part-size",
        "SIZE",
        "Into a folder: divide larger Parquet files at their row groups, into parts of about this size.",
        default="128MB",
        callback=arguments.size,
    )
    cluster: Cluster = arguments.group(Cluster)
    to: str | None = arguments.option("--to", TO, "The format of the output, whatever its name.")
    uncertain: tuple[str, ...] = arguments.many(
        "--u", "NAME=U", "The standard uncertainty of a column: a number, or @COLUMN; adds a column u. May be repeated."
    )
    reading: Reading = arguments.group(Reading)
    units: bool = units_option
    expressions: tuple[str, ...] = arguments.many(
        "-e", "NAME=EXPR", "A formula, and the column for it. May be repeated."
    )
    where: str | None = arguments.option("--where", "EXPR", "Compute and write only the rows in which this is true.")
    whole: str | None = arguments.option(
        "--whole",
        "NAME,...",
        "Functions that see the whole column, in a pass of their own: mean, std, var, sum, min, max.",
    )
    order: int = arguments.count("--order", "K", "Derivatives up to this order.", 1, 2, default=1)
    hessian: bool = arguments.flag("--hessian", "The second derivatives by every pair of --wrt.")
    jacobian: bool = arguments.flag(
        "--jacobian", "All formulas by all of --wrt, after their values; a list [a, b] is one formula for each entry."
    )
    keep: str | None = arguments.option("--keep", "NAME,...|all", "Columns to copy to the output, before the results.")
    title: str = arguments.option("--value", "NAME", "The name of the column of values.", default="value")
    on_error: str = arguments.option(
        "--on-error",
        ("stop", "null"),
        "What to do with rows that cannot be read or computed; null: leave their results empty, and count them.",
        default="stop",
    )
    backend: str = arguments.option("--backend", CHOICES, described("; ") + ".", default=AUTO)
    threads: int | None = arguments.count(
        "--threads", "N", "The number of threads; the default is the number of cores."
    )
    as_json: bool = arguments.json_option
    precision: int | None = arguments.precision_option("full")  # a table is for programs, and not for people
    limits: arguments.Limits = arguments.group(arguments.Limits)


@arguments.declared("map", TableCommand, Asked)
def command(asked: Asked) -> None:
    """Compute EXPR, and its derivatives, for each row of DATA.

    The names in EXPR are columns of DATA: a file of text (.csv, .tsv, .txt, .dat, or - for standard input), .jsonl,
    .npy, .npz or, with the extra data, .arrow and .parquet. It may be compressed (.gz, .zst, .bz2, .xz), or a folder of
    such files, or 'data/*.csv'. Delimiter and decimal mark are found in the first 32 kB; what contradicts them later is
    an error, as are empty entries. The first line of text is a header unless it has numbers only; columns without names
    are called c0, c1, ... or as --columns says. For names that are none, -c v="speed (m/s)".

    The results, columns value, d/dx, ..., go to standard output as CSV, or to OUT, in the format of its extension:
    .csv, .jsonl, .npy (a matrix), .npz, .arrow or .parquet. OUT is written only when everything has succeeded;
    otherwise an existing file is kept. DATA may be larger than memory: a table of a few columns takes some 200 MB,
    however many rows it has. With --max-memory, the process ends with an error before it takes 1.3 GB more than SIZE.
    EXPR is evaluated for one row at a time, so mean(x) needs --whole mean; random numbers are drawn once, not for every
    row.

    With -o out/ each file of DATA gets a file of its own in the folder, in the same format or that of --to. No file has
    its name before all are done; a run that was interrupted goes on with --resume. --on dask computes them on several
    processes, and --on dask=tcp://host:8786 on several machines, with the same results bit for bit.

    \b
    agrad map "x**2 + y**3 - sin(x*y)" examples/points.csv --wrt x,y
    agrad map "x*y" examples/points.csv --u x=0.1 --u y=0.02
    agrad map "k*x" examples/points.csv -D k=3 --keep name --json
    agrad map "sqrt(x) if x > 0 else 0" examples/points.csv --wrt x -o slopes.npy
    agrad map -e a="x*y" -e b="x - mean(x)" examples/points.csv --whole mean
    agrad map "x*y" "data/*.parquet" -o out/ --on dask --workers 4 --resume
    printf "1,2\\n3,4\\n" | agrad map "hypot(a, b)" - --columns a,b --wrt a
    """
    # numpy's OpenBLAS lets a thread for each core spin for 40 ms when it is loaded, while the cores have rows to read.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")  # as a power of two, in cycles: the least that it takes
    formulas = texts_by_name("-e", asked.expressions, "NAME=EXPR")
    expression, data = _two(asked.words, formulas)
    ask = _ask(asked, formulas or {asked.title: expression}, bool(formulas), data)
    require_readable(asked.reading)
    with ExitStack() as stack:  # in addition to the addresses of pyarrow and threads, most of which never become memory
        with suppress(OSError):  # there is less room than that
            stack.enter_context(mmap(-1, _ROOM))
        limit_memory(asked.limits.memory, statements=False)
    precision = None if arguments.is_usual("precision") else asked.precision
    threads, tolerant = asked.threads or os.cpu_count() or 1, asked.on_error == "null"
    to = agrad.cli.data.request.Output(
        asked.out, asked.to, asked.as_json, precision, split(asked.keep), asked.backend, threads, tolerant
    )
    ends = partial(end_in, seconds=asked.limits.timeout, as_json=asked.as_json)
    form = vars(asked.reading)
    line = arguments.Line.typed().words
    with agrad.cli.data.request.advised(line, _typed, data):
        if asked.out and (asked.out.endswith(("/", os.sep)) or os.path.isdir(os.path.expanduser(asked.out))):
            on = where(asked.cluster.on, asked.cluster.workers)
            folder = agrad.cli.data.parts_run.Folder(asked.most, asked.resume, on, ends, line, _typed)
            with _terminable():
                agrad.cli.data.parts_run.into_folder(ask, data, to, form, folder)
        else:
            _require_no_folder(asked)
            _into_one(ask, data, to, form, ends)
        is_drawn = agrad.grammar.runtime.builtins.RANDOM.search
        drawing = next(filter(is_drawn, [*ask.formulas.values(), ask.where or ""]), None)
        if drawing is not None:
            note(f"the random numbers of {drawing} are drawn once: they are the same in every row")


def _ask(asked: Asked, found: dict[str, str], named: bool, data: str) -> Any:
    """What is computed: the formulas by their titles. Raises click.UsageError."""
    formulas = agrad.cli.data.request.entries(found) if asked.jacobian else found
    return agrad.cli.data.request.Asked(
        formulas,
        named or formulas is not found,
        texts_by_name("-D", asked.given),
        listed(asked.wrt),
        texts_by_name("--u", asked.uncertain, "NAME=U"),
        2 if asked.hessian else asked.order,
        asked.hessian,
        asked.where,
        _functions(asked.whole, data),
        asked.jacobian,
        asked.units,
    )


def _into_one(ask: Any, data: str, to: Any, form: dict[str, Any], ends: Callable[[Any], None]) -> None:
    """Write one table, to a file or to standard output. Raises AgradError, click.UsageError."""
    written = agrad.cli.data.writers.form_for(to.path, to.as_json, to.to)
    to.require_text(written)
    agrad.cli.data.parts.keep_apart(to.path, [data] if data != "-" else [])
    sessions = agrad.cli.data.request.Sessions(ask, ends)
    session = sessions.first
    stream = sys.stdin.buffer if data == "-" else None
    with ExitStack() as stack:
        # On its own line: it reads, and may wait for its input.
        again = lambda: opened(shown_name(data), form, stream)  # noqa: E731
        table = session.all_at_once(again, session.span)
        stack.enter_context(closing(table))
        found = session.all_at_once(lambda: sessions.formulas(table, again, to.threads, to.tolerant), session.span)
        for name in filter(table.names.__contains__, ask.constants):
            note(f"{name} is that of -D in every row: the column {name} of {table.path} is not read for it")
        job = agrad.cli.data.job.Job(table, found[0], found[1], to.kept, to.tolerant, to.threads)
        line = on_terminal(agrad.cli.data.job.Reading) if to.path is not None or not sys.stdout.isatty() else None
        with _writing(to.path) as output:

            def write() -> Any:
                job.begin(written, to.precision, to.backend)
                return job.write(output, table, line)

            tally = session.all_at_once(write, session.span)
    tally.tell()


def _require_no_folder(asked: Asked) -> None:
    """Refuse options of a folder of results where there is none. Raises click.UsageError."""
    chosen = {"--resume": asked.resume, "--on": asked.cluster.on, "--workers": asked.cluster.workers}
    chosen["--part-size"] = not arguments.is_usual("most")
    for name, value in chosen.items():
        if value:
            fixes = [again("-o", "out/")] if asked.out is None else []
            raise Wrong(f"{name} is for a folder of results, such as -o out/", *fixes)


def _functions(names: str | None, data: str) -> tuple[str, ...]:
    """The functions of whole columns in --whole. Raises click.UsageError."""
    if names is None:
        return ()

    found, known = split(names), agrad.engine.data.tables.NAMES
    for name in found:
        if name not in known:
            raise click.UsageError(f"--whole takes functions among {', '.join(known)}, and {name} is not one")
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
    line = arguments.Line.typed()
    if len(words) == 1 and os.path.exists(words[0]):
        raise Wrong(f"the expression is missing: {words[0]} is the file")
    if len(words) == 1:
        raise Wrong("the file with the data is missing; - is standard input", line.changed({}, "-"))
    values = [place for place in line.places if arguments.binding(line.words[place])[0]]
    if values and values != line.places[:1]:
        fix = line.changed({place: ["-D", line.words[place]] for place in values if place != line.places[0]})
        raise Wrong("a name gets its value from -D", fix)
    files = [place for place in line.places if line.words[place] == "-" or os.path.exists(line.words[place])]
    data = (files or line.places)[-1]
    if len(words) > 2:
        raise agrad.cli.arguments.slips.slip(line, data)
    if data != line.places[0]:
        return line.words[line.places[0]], line.words[line.places[1]]
    note(f"the expression comes before the file: {line.words[data]} is read")
    return line.words[line.places[1]], line.words[data]


_typed = partial(typed, "map")


@contextmanager
def _writing(out: str | None) -> Iterator[BinaryIO]:
    """The output. A file exists only when everything has succeeded; otherwise a message says so. Raises AgradError."""
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


def _terminable() -> AbstractContextManager[None]:
    """Let the signals that end a process clean up first; the exit code is the usual one, 128 plus the signal."""

    def end(number: int, frame: object) -> NoReturn:
        signal.signal(number, signal.SIG_IGN)
        raise SystemExit(128 + number)

    return handled(end, "SIGTERM", "SIGHUP")
