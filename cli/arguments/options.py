"""Options that say how a table is read, where to compute, and a constant for what a command line had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import click

import agrad
from agrad.cli.arguments import Line, Options, count, flag, many, option
from agrad.cli.arguments.expression import FormulaCommand, noted, texts_by_name
from agrad.cli.main import Wrong, again
from agrad.engine.errors import AgradError
from agrad.lazy import pattern

_GLUED = pattern(r"-D[^\W\d](?:\w|[^\x00-\x7f])*=(?!=)")


class TableCommand(FormulaCommand):
    """An expression and a table. It may begin with a minus, and a constant stand behind `-D` without a space."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Part `-Dk=3` in two words."""
        parted = [part for word in args for part in (("-D", word[2:]) if _GLUED.match(word) else (word,))]
        rest = super().parse_args(ctx, parted)
        for one in self.params:
            *old, _ = (line := Line.typed()).given(one.opts) or [[]]
            if old and not (one.multiple or one.nargs == -1 or getattr(one, "is_flag", True)):
                told = f"{one.opts[-1]} is given twice, and takes one value"
                raise Wrong(told, line.changed(dict.fromkeys(chain(*old), ())))
        return rest


class Reading(Options):
    """How a table is read."""

    columns: str | None = option("--columns", "NAME,...", "Names for the columns, if the file has none.")
    renamed: tuple[str, ...] = many("-c", "NAME=COLUMN", "Call a column NAME in expressions. May be repeated.")
    delimiter: str | None = option(
        "--delimiter", "SIGN", "What separates entries: , ; | tab or blanks. Without it, it is found in the file."
    )
    decimal: str | None = option("--decimal", (".", ","), "The decimal mark. Without it, it is found in the file.")
    comments: str | None = option(
        "--comments", ("#", "none"), "Whether lines that begin with # are comments.  [default: #]"
    )
    na: str | None = option(
        "--na",
        "TEXT,...",
        'Entries that stand for missing numbers, which become nan: NA,- for example, "" for empty ones.',
    )
    encoding: str | None = option("--encoding", "NAME", "The encoding of text that is not UTF-8, such as cp1252.")
    kind: str | None = option("--from", ("csv", "jsonl", "arrow"), "The format of the data, whatever its name.")
    skip: int | None = count("--skip", "N", "Lines to skip before the first.", 0)
    header: str | None = option(
        "--header",
        ("1", "0"),
        "Whether the first row has the names, 1, or is data, 0. Must be said where neither is certain.",
    )


units_option = flag(
    "--units", "Columns have the units at the ends of their names, as speed (m/s), mass [kg]: speed*mass."
)
TABLE_OPTIONS = tuple(Reading.__annotations__)


def form_of(options: Mapping[str, Any]) -> Any:
    """What the options say of a file of text. Raises click.UsageError."""
    try:
        given = {name: options[name] for name in ("delimiter", "decimal", "comments", "encoding")}
        header = options["header"] == "1" if options["header"] else None
        na = tuple(one.strip() for one in options["na"].split(",")) if options["na"] is not None else ()
        return agrad.engine.data.csv_tables.TextForm(**given, skip=options["skip"] or 0, header=header, na=na)
    except AgradError as problem:
        raise click.UsageError(problem.message) from None


def require_readable(options: Reading) -> None:
    """Refuse wrong options before anything is read. Raises click.UsageError."""
    form_of(vars(options))
    aliases_of(vars(options))


def opened(path: str, options: Mapping[str, Any], stream: Any = None, files: Sequence[str] = ()) -> Any:
    """The table in a file, or in `files`, with the names of the options. Raises AgradError."""
    names = split(options["columns"])
    table = agrad.engine.data.formats.open_table(
        path, names, stream, form_of(options), files=files, kind=options["kind"]
    )
    try:
        for name, column in aliases_of(options).items():
            with noted(f"-c {name}={column}"):
                table.alias(name, column)
    except AgradError:
        table.close()
        raise
    return table


def aliases_of(options: Mapping[str, Any]) -> dict[str, str]:
    """The columns in `-c NAME=COLUMN`. Raises click.UsageError."""
    return texts_by_name("-c", options["renamed"], "NAME=COLUMN")


def split(names: str | None) -> list[str]:
    """The names of columns in an option, each once; they may contain spaces."""
    return list(dict.fromkeys(name.strip() for name in (names or "").split(",") if name.strip()))


# Options that say where to compute: `--on dask`, `--on dask=tcp://scheduler:8786`, `--workers`.


class On(NamedTuple):
    """A Dask cluster: the address of its scheduler, or "" for one of processes on this machine, and how many."""

    address: str
    workers: int | None


class Cluster(Options):
    """Where to compute. `on` is as it was typed; `where` reads both."""

    on: str | None = option(
        "--on",
        "dask[=ADDRESS]",
        "Compute on a Dask cluster: at the address of its scheduler, such as tcp://host:8786, or, without one, of "
        "processes on this machine.",
    )
    workers: int | None = count(
        "--workers", "N", "The number of these processes, of one thread each; the default is the number of cores."
    )


def where(on: str | None, workers: int | None) -> On | None:
    """The cluster that the options ask for; None for this process. Raises click.UsageError."""
    if on is None:
        if workers is not None:
            raise Wrong("--workers is for a Dask cluster on this machine", again("--on", "dask"))
        return None
    name, equals, address = on.partition("=")
    if name != "dask" or bool(equals) != bool(address):
        raise click.UsageError(f"--on takes dask, or dask= and the address of a scheduler, and {on} is neither")
    if address and workers is not None:
        raise click.UsageError(f"--workers is for a Dask cluster on this machine, and {address} has its own workers")
    return On(address, workers)
