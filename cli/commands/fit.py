"""`agrad fit`: the parameters of a model that fits the rows of a file."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import partial

import click

import agrad
from agrad.cli import arguments
from agrad.cli.arguments import Limits, Line, Options, argument, declared, group, option
from agrad.cli.arguments.expression import constants_option, texts_by_name
from agrad.cli.arguments.options import Reading, TableCommand, require_readable, split
from agrad.cli.main import Wrong, again, end_in, limit_memory, typed
from agrad.cli.output import printer, tell
from agrad.engine.errors import Note
from agrad.grammar.commands.solving import mistaken_constants
from agrad.grammar.results import Estimated
from agrad.grammar.session.inputs import open_names


class Asked(Options):
    """What `agrad fit` takes."""

    words: tuple[str, ...] = argument(nargs=-1, metavar="MODEL DATA", type=arguments.FILE)
    measured: str | None = option(
        "--y", "EXPR", "What was measured: a column, or an expression. A MODEL `y ~ a*x` says it, too."
    )
    start: tuple[str, ...] = option(
        "--over", "NAME=VALUE,...", "The parameters, with values to start from. Must be given.", multiple=True
    )
    sigma: str | None = option(
        "--sigma", "EXPR", "The standard uncertainty of what was measured: a number, or a column."
    )
    given: tuple[str, ...] = constants_option
    reading: Reading = group(Reading)
    as_json: bool = arguments.json_option
    limits: Limits = group(Limits)


@declared("fit", TableCommand, Asked)
def command(asked: Asked) -> int:
    """Fit MODEL to the rows of DATA, by least squares.

    The names in MODEL are columns of DATA, as for `agrad map`, and the parameters in --over. It prints these with their
    standard uncertainties and correlations. DATA is read once for each step, so that it may be larger than memory: a
    file, a folder of files, or 'data/*.parquet'. The exit code is 1 where the search does not converge.

    \b
    agrad fit "a*height + b*width" examples/chunks.csv --y price --over a=1,b=1
    agrad fit "a - b*width" examples/chunks.csv --y price --over a=1,b=1 --json
    agrad fit "a*exp(-b*t)" "data/*.parquet" --y n --over a=400,b=0.1
    """
    if len(asked.words) != 2:
        raise click.UsageError("a model and a file are needed")
    model, path = asked.words
    if path == "-":
        raise click.UsageError("fit reads its data several times, so that they must be in a file")
    measured = asked.measured
    if measured is None and "~" in model:
        measured, model = map(str.strip, model.split("~", 1))
    if measured is None or not asked.start:
        raise _incomplete(model, measured, path)
    start = split(",".join(asked.start))
    texts = texts_by_name("--over", start)
    constants = texts_by_name("-D", asked.given)
    require_readable(asked.reading)
    limit_memory(asked.limits.memory, statements=False)

    ends = partial(end_in, seconds=asked.limits.timeout, as_json=asked.as_json)
    formulas = {"model": model, "--y": measured, "--sigma": asked.sigma}
    ask = agrad.cli.data.request.Asked(
        {title: text for title, text in formulas.items() if text is not None}, False, constants, [*texts]
    )
    with agrad.cli.data.request.advised(Line.typed().words, partial(typed, "fit")):
        files = agrad.cli.data.parts.inputs(path)
        work = agrad.cli.data.work.Work(ask, vars(asked.reading), path, files)
        bench = agrad.cli.data.work.FitBench(work, texts, os.cpu_count() or 1, ends)
        bench.run(bench.prepare)
        bench.run(bench.find_example)
        found = bench.run(bench.fit)
    for name, message in mistaken_constants(model):
        if name not in {*texts, *constants, *bench.table.names}:
            tell(Note(message, fixes=[again("--over", f"{name}=1")]))
    if found.problem and not asked.as_json:
        raise found.failure("--over with other values starts elsewhere")
    printer(bench.sessions.first.settings, "json" if asked.as_json else "text")(Estimated(found))
    return 1 if found.problem else 0


def _incomplete(model: str, measured: str | None, path: str) -> Wrong:
    """The error for a line without --y or --over, with those parameters that the head of the file does not name."""
    if measured is None:
        return Wrong("missing option --y: what was measured", again("--y", "y"))
    header = ""
    with suppress(OSError, ValueError), open(path, encoding="utf-8") as file:
        header = file.readline(10_000)
    unknown = [name for name in open_names(model) if name not in re.findall(r"\w+", header)]
    starts = ",".join(f"{name}=1" for name in unknown)
    return Wrong("missing option --over: the parameters, with values to start from", again("--over", starts))
