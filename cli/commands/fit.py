"""`agrad fit`: the parameters of a model that fits the rows of a file."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import click

import agrad
from agrad.cli.arguments.expression import Formula, constants_option, texts_by_name
from agrad.cli.arguments.limits import end_in, limit_memory, memory_option, part_size_option, timeout_option
from agrad.cli.arguments.options import (
    TABLE_OPTIONS,
    TYPED,
    On,
    TableCommand,
    aliases_of,
    cluster_options,
    form_of,
    split,
    table_options,
    where,
)
from agrad.cli.base import file_completions, json_option
from agrad.cli.output import printer
from agrad.cli.output.text import note
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
@constants_option
@table_options
@part_size_option("Sum larger Parquet files in parts of about this size, between row groups.")
@cluster_options
@json_option
@timeout_option("a computation")
@memory_option
@click.pass_context
def command(context: click.Context, /, words: tuple[str, ...], **options: Any) -> int:
    """Fit MODEL to the rows of DATA, by least squares.

    The names in MODEL are columns of DATA, as for `agrad map`, and the parameters in --over. It prints these with their
    standard uncertainties and correlations. DATA is read once for each step, so that it may be larger than memory: a
    file, a folder of files, or 'data/*.parquet'. --on dask sums them on several processes, and --on dask=tcp://host:8786
    on several machines, with the same results bit for bit. The exit code is 1 where the search does not converge.

    \b
    agrad fit "a*height + b*width" examples/chunks.csv --y price --over a=1,b=1
    agrad fit "a - b*width" examples/chunks.csv --y price --over a=1,b=1 --json
    agrad fit "a*exp(-b*t)" "data/*.parquet" --y n --over a=400,b=0.1 --on dask
    """
    if len(words) != 2:
        raise click.UsageError('a model and a file are needed, such as: agrad fit "a*x" data.csv --y y --over a=1')
    model, path = words
    if path == "-":
        raise click.UsageError("fit reads its data several times, so that they must be in a file")
    start = split(",".join(options["start"]))
    texts = texts_by_name("--over", start, "--over takes NAME=VALUE, and {} is not one")
    constants = texts_by_name("-D", options["given"], "-D takes NAME=VALUE, and {} is not one")
    form_of(options), aliases_of(options)  # so that wrong ones are refused before anything is read
    on = where(options["on"], options["workers"])
    limit_memory(options["memory"], statements=False)

    as_json = options["as_json"]
    ends = partial(end_in, seconds=options["timeout"], as_json=as_json)
    reading = {name: options[name] for name in TABLE_OPTIONS}
    formulas = {"model": model, "--y": options["measured"], "--sigma": options["sigma"]}
    ask = agrad.cli.data.request.Asked(
        {title: text for title, text in formulas.items() if text is not None}, False, constants, [*texts]
    )
    with agrad.cli.data.request.divided(context.meta[TYPED], Formula("fit", [], {}, []).typed):
        bench = agrad.cli.data.fit_work.FitBench(
            agrad.cli.data.fit_work.FitWork(ask, reading, path, agrad.cli.data.parts.inputs(path), texts),
            os.cpu_count() or 1,
            ends,
        )
        found = _found(bench, options["most"], on)
    if found.problem and not as_json:
        raise found.failure("--over with other values starts elsewhere")
    printer(bench.sessions.first.settings, "json" if as_json else "text")(Estimated(found))
    return 1 if found.problem else 0


def _found(bench: Any, most: float, on: On | None) -> Any:
    """The fit, in this process or on a cluster. Raises AgradError."""
    bench.run(bench.prepare)
    parts = bench.run(
        lambda: [part for of_file in agrad.cli.data.parts.in_files(bench.work.files, most) for part in of_file]
    )
    bench.run(lambda: bench.find_example(parts))
    if on is None:
        total = lambda ask: agrad.engine.ops.solvers.fitting.joined(bench.sums(part, ask) for part in parts)  # noqa: E731
        return bench.run(lambda: agrad.engine.ops.solvers.fitting.fit(total, bench.names, bench.start))

    try:
        with agrad.cli.data.cluster.fit_on_cluster(bench.work, parts, on) as total:
            return bench.run(lambda: agrad.engine.ops.solvers.fitting.fit(total, bench.names, bench.start))
    except KeyboardInterrupt:
        note("stopped: nothing was found")
        raise
