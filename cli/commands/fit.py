"""`agrad fit`: the parameters of a model that fits the rows of a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import click

from agrad.cli.arguments.expression import Formula, noted, texts_by_name
from agrad.cli.arguments.limits import end_in, limit_memory, memory_option, timeout_option
from agrad.cli.arguments.tables import TYPED, TableCommand, opened, table_options
from agrad.cli.base import file_completions, json_option, shown_name
from agrad.cli.output.printers import printer
from agrad.engine.compile.registry import AUTO
from agrad.engine.values import np
from agrad.grammar.results import Estimated


@click.command("fit", cls=TableCommand)
@click.argument("words", nargs=-1, metavar="MODEL DATA", shell_complete=file_completions)
@click.option("--y", "measured", required=True, metavar="EXPR", help="What was measured: a column, or an expression.")
@click.option(
    "--over",
    "start",
    required=True,
    multiple=True,
    metavar="NAME=VALUE,...",
    help="The parameters, with values to start from.",
)
@click.option("--sigma", metavar="EXPR", help="The standard uncertainty of what was measured: a number, or a column.")
@click.option(
    "-D", "given", multiple=True, metavar="NAME=VALUE", help="Define a name with the same value in every row."
)
@table_options
@json_option
@timeout_option("a computation")
@memory_option
@click.pass_context
def command(context: click.Context, /, words: tuple[str, ...], **options: Any) -> int:
    """Fit MODEL to the rows of DATA, by least squares.

    The names in MODEL are columns of DATA, as for `agrad map`, and the parameters in --over. It prints these with their
    standard uncertainties and correlations. DATA is read once for each step, so that it may be larger than memory. The
    exit code is 1 where the search does not converge.

    \b
    agrad fit "a*height + b*width" examples/chunks.csv --y price --over a=1,b=1
    agrad fit "a - b*width" examples/chunks.csv --y price --over a=1,b=1 --json
    """
    from agrad.engine.ops.solvers.fitting import fit, in_one  # here, so that --help loads no numpy

    if len(words) != 2:
        raise click.UsageError('a model and a file are needed, such as: agrad fit "a*x" data.csv --y y --over a=1')
    model, path = words
    if path == "-":
        raise click.UsageError("fit reads its data several times, so that they must be in a file")
    parts = [part for text in options["start"] for part in text.split(",") if part.strip()]
    texts = texts_by_name("--over", parts, "--over takes NAME=VALUE, and {} is not one")
    limit_memory(options["memory"], statements=False)
    from agrad.cli.data.advice import divided  # here, as above

    with divided(context.meta[TYPED], Formula("fit", [], {}, []).typed):
        job, as_json = _Job(model, path, texts, options), options["as_json"]
        found: Any = job.session.all_at_once(lambda: fit(in_one(job.pieces), job.names, job.start), job.session.span)
    result = Estimated(found)
    if as_json or not found.problem:
        printer(job.session.settings, "json" if as_json else "text")(result)
    if found.problem:
        if as_json:
            return 1
        raise found.failure("--over with other values starts elsewhere")
    return 0


class _Job:
    """The model, what was measured, and the file."""

    def __init__(self, model: str, path: str, texts: dict[str, str], options: dict[str, Any]) -> None:
        from agrad.cli.data.row_formulas import RowFormula

        self.path, self.names, self.options = shown_name(path), list(texts), options
        constants = texts_by_name("-D", options["given"], "-D takes NAME=VALUE, and {} is not one")
        others = [options["measured"], *([options["sigma"]] if options["sigma"] is not None else [])]
        sessions = [self._session(model, constants | texts), *(self._session(text, constants) for text in others)]
        self.session = sessions[0]
        self.start = [self.session.number(name, "fit", f"--over {name}") for name in self.names]
        with closing(self.session.all_at_once(self.open, self.session.span)) as table:
            for session in sessions:
                session.name_columns(table.quoted())
            model_of, *rest = sessions
            self.model = RowFormula(table, model_of, "model", self.names)
            self.formulas = [self.model, *(RowFormula(table, session, "", ()) for session in rest)]
        for formula in self.formulas:
            formula.begin(lambda: AUTO, os.cpu_count() or 1, False)

    def _session(self, text: str, names: dict[str, str]) -> Any:
        from agrad.grammar.session.rowwise import Rowwise

        session = Rowwise()
        end_in(session, self.options["timeout"], self.options["as_json"])
        session.read(text)
        for name, value in names.items():
            with noted(f"{name}={value}"):
                session.give(name, value)
        return session

    def open(self) -> Any:
        """The file, from its beginning."""
        return opened(self.path, self.options)

    def pieces(self, p: Any) -> Iterator[tuple[Any, Any, Any]]:
        """The file, for some parameters: see `fitting`."""
        from agrad.engine.data.tables import Wanted

        self.model.evaluation.constants = dict(zip(self.names, p.tolist(), strict=True))
        wanted = Wanted(list(dict.fromkeys(column for formula in self.formulas for column in formula.columns)), [])
        with closing(self.open()) as table:
            for part in table.parts(wanted):
                piece = table.piece(part, wanted)
                if piece.rows:
                    (value, *slopes), *others = [list(formula.of(piece)[0].values()) for formula in self.formulas]
                    rows = np.stack([np.broadcast_to(x, piece.rows) for x in (*slopes, value)])
                    yield rows, others[0][0], others[1][0] if len(others) > 1 else None
