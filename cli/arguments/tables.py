"""Options that say how a table is read, from `--delimiter` to `--encoding`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from agrad.cli.arguments.expression import FormulaCommand, noted, texts_by_name
from agrad.engine.errors import AgradError

_F = TypeVar("_F", bound=Callable[..., Any])
TABLE_OPTIONS = (
    "columns",
    "renamed",
    "delimiter",
    "decimal",
    "comments",
    "skip",
    "header",
    "na",
    "encoding",
    "kind",
)  # the names of their values
TYPED = "agrad.typed"  # the words of a command line, in the context
_GLUED = re.compile(r"-D[^\W\d](?:\w|[^\x00-\x7f])*=(?!=)")


class TableCommand(FormulaCommand):
    """An expression and a table. It may begin with a minus, and a constant stand behind `-D` without a space."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the typed words, for advice."""
        ctx.meta[TYPED] = list(args)
        parted = [part for word in args for part in (("-D", word[2:]) if _GLUED.match(word) else (word,))]
        return super().parse_args(ctx, parted)


def table_options(function: _F) -> _F:
    """The options."""
    for option in reversed(
        (
            click.option("--columns", metavar="NAME,...", help="Names for the columns, if the file has none."),
            click.option(
                "-c",
                "renamed",
                multiple=True,
                metavar="NAME=COLUMN",
                help="Call a column NAME in expressions. May be repeated.",
            ),
            click.option(
                "--delimiter",
                metavar="SIGN",
                help="What separates entries: , ; | tab or blanks. Without it, it is found in the file.",
            ),
            click.option(
                "--decimal",
                type=click.Choice((".", ",")),
                help="The decimal mark. Without it, it is found in the file.",
            ),
            click.option(
                "--comments",
                type=click.Choice(("#", "none")),
                help="Whether lines that begin with # are comments.  [default: #]",
            ),
            click.option(
                "--na",
                metavar="TEXT,...",
                help='Entries that stand for missing numbers, which become nan: NA,- for example, "" for empty ones.',
            ),
            click.option("--encoding", metavar="NAME", help="The encoding of text that is not UTF-8, such as cp1252."),
            click.option(
                "--from",
                "kind",
                type=click.Choice(("csv", "jsonl", "arrow")),
                help="The format of the data, whatever its name.",
            ),
            click.option("--skip", type=click.IntRange(min=0), metavar="N", help="Lines to skip before the first."),
            click.option(
                "--header",
                type=click.Choice(("1", "0")),
                help="Whether the first row has the names, 1, or is data, 0. Must be said where neither is certain.",
            ),
        )
    ):
        function = option(function)
    return function


def form_of(options: Mapping[str, Any]) -> Any:
    """What the options say of a file of text. Raises click.UsageError."""
    from agrad.engine.data.csv_tables import TextForm  # here, so that --help loads no reader

    try:
        return TextForm(
            options["delimiter"],
            options["decimal"],
            options["comments"],
            options["skip"] or 0,
            options["header"] == "1" if options["header"] else None,
            na=tuple(one.strip() for one in options["na"].split(",")) if options["na"] is not None else (),
            encoding=options["encoding"],
        )
    except AgradError as problem:
        raise click.UsageError(problem.message) from None


def opened(path: str, options: Mapping[str, Any], stream: Any = None, files: Sequence[str] = ()) -> Any:
    """The table in a file, or in `files`, with the names of the options. Raises AgradError."""
    from agrad.engine.data.formats import open_table

    names = split(options["columns"])
    table = open_table(path, names, stream, form_of(options), files=files, kind=options["kind"])
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
    return texts_by_name("-c", options["renamed"], "-c takes NAME=COLUMN, and {} is not one")


def split(names: str | None) -> list[str]:
    """The names of columns in an option, each once; they may contain spaces."""
    return list(dict.fromkeys(name.strip() for name in (names or "").split(",") if name.strip()))
