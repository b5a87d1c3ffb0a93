"""`agrad fit`: the parameters of a model that fits the rows of a file."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import partial

import click

import agrad
from agrad.cli import arguments
from agrad.cli.arguments import Limits, Line, Options, argument, declared, group, many, option
from agrad.cli.arguments.expression import constants_option, texts_by_name
from agrad.cli.arguments.options import Reading, TableCommand, opened, require_readable, split
from agrad.cli.main import Wrong, again, end_in, limit_memory, typed
from agrad.cli.output import printer, tell
from agrad.engine.errors import AgradError, Note
from agrad.engine.ops.solvers.losses import LOSSES
from agrad.grammar.commands.fitting import mistaken_constants
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
    bounds: tuple[str, ...] = many("--bounds", "NAME=LOW..HIGH", "The bounds of a parameter. May be repeated.")
    loss: str | None = option("--loss", tuple(LOSSES), "A loss that counts large residuals less, as SciPy has it.")
    beyond: str | None = option(
        "--beyond", "R", "The residual from which on it counts them less, in units of --sigma if that is given: 1."
    )
    where: str | None = option("--where", "EXPR", "Fit only the rows in which this is true.")
    out: str | None = arguments.file_option(
        "-o", "A file for all rows that were fitted, with what is predicted, residuals, leverage and bands.", "OUT"
    )
    given: tuple[str, ...] = constants_option
    reading: Reading = group(Reading)
    as_json: bool = arguments.json_option
    limits: Limits = group(Limits)


@declared("fit", TableCommand, Asked)
def command(asked: Asked) -> int:
    """Fit MODEL to the rows of DATA, by least squares.

    The names in MODEL are columns of DATA, as for `agrad map`, and the parameters in --over. It prints these with their
    standard uncertainties and correlations; -o writes what is predicted for each row, its residual, standardized
    residual and leverage, and the 95 % bands of the model and of another measurement. DATA is read once for each step,
    so that it may be larger than memory: a file, a folder of files, or 'data/*.parquet'. The exit code is 1 where the
    search does not converge.

    \b
    agrad fit "a*height + b*width" examples/chunks.csv --y price --over a=1,b=1
    agrad fit "a - b*width" examples/chunks.csv --y price --over a=1,b=1 --json
    agrad fit "a*exp(-b*t)" "data/*.parquet" --y n --over a=400,b=0.1
    agrad fit "a*height" examples/chunks.csv --y price --over a=1 --bounds a=0..5
    """
    if len(asked.words) != 2:
        raise click.UsageError("a model and a file are needed")
    model, path = asked.words
    if path == "-":
        raise click.UsageError("fit reads its data several times, so that they must be in a file")
    measured = asked.measured
    if measured is None and "~" in model:
        measured, model = map(str.strip, model.split("~", 1))
    elif measured is None and re.search(r"(?<![=<>!])=(?!=)", model):
        line = Line.typed()
        fix = line.changed({line.place(model): [model.replace("=", "~", 1)]})
        raise Wrong("a model has ~ between what was measured and its formula", fix)
    if measured is None or not asked.start:
        raise _incomplete(model, measured, asked)
    start = split(",".join(asked.start))
    if bare := [name for name in start if name.isidentifier()]:
        raise _without_start(bare[0], start, asked.start)
    texts = texts_by_name("--over", start)
    constants = texts_by_name("-D", asked.given)
    require_readable(asked.reading)
    limit_memory(asked.limits.memory, statements=False)

    ends = partial(end_in, seconds=asked.limits.timeout, as_json=asked.as_json)
    formulas = {"model": model, "--y": measured, "--sigma": asked.sigma}
    ask = agrad.cli.data.request.Asked(
        {title: text for title, text in formulas.items() if text is not None},
        False,
        constants,
        [*texts],
        where=asked.where,
    )
    bounds, loss = _bounds(asked, texts), _loss(asked)
    if asked.out is not None:
        agrad.cli.data.writers.form_for(asked.out, False)
    with agrad.cli.data.request.advised(Line.typed().words, partial(typed, "fit")):
        files = agrad.cli.data.parts.inputs(path)
        work = agrad.cli.data.work.Work(ask, vars(asked.reading), path, files)
        bench = agrad.cli.data.work.FitBench(work, texts, bounds, loss, os.cpu_count() or 1, ends)
        bench.run(bench.prepare)
        bench.run(bench.find_example)
        found = bench.run(bench.fit)
    for name, message in mistaken_constants(model):
        if name not in {*texts, *constants, *bench.table.names}:
            tell(Note(message, fixes=[again("--over", f"{name}=1")]))
    if found.problem and not asked.as_json:
        raise found.failure("--over with other values starts elsewhere")
    if asked.out is not None and not found.problem:
        bench.run(partial(bench.write, found, asked.out))
    printer(bench.sessions.first.settings, "json" if asked.as_json else "text")(Estimated(found))
    return 1 if found.problem else 0


def _bounds(asked: Asked, known: Collection[str]) -> dict[str, tuple[str, str]]:
    """The texts of the ends in --bounds. Raises click.UsageError."""
    found: dict[str, tuple[str, str]] = {}
    for name, text in texts_by_name("--bounds", asked.bounds, "NAME=LOW..HIGH").items():
        low, dots, high = text.partition("..")
        if not dots:
            raise Wrong(f"--bounds: {name} has one end", again("--bounds", f"{name}={text}..inf"))
        if name not in known:
            raise click.UsageError(f"--bounds: {name} is no parameter of --over")
        found[name] = low, high
    return found


def _loss(asked: Asked) -> tuple[str, str] | None:
    """The loss and its scale. Raises click.UsageError."""
    if asked.loss is None and asked.beyond is not None:
        raise Wrong("--beyond is for a loss", again("--loss", "huber"))
    if asked.loss is None:
        return None
    if asked.beyond is None and asked.sigma is None:
        message = "without --sigma, a loss needs --beyond: the residual from which on it counts less"
        raise Wrong(message, again("--beyond", "0.1"))
    return asked.loss, asked.beyond or "1"


def _without_start(name: str, start: list[str], asked: Sequence[str]) -> Wrong:
    """The error for `--over a,b`, with the line in which each begins at 1."""
    line, given = Line.typed(), ",".join(one if "=" in one else f"{one}=1" for one in start)
    is_one = len(asked) == 1 and asked[0] in line.words
    fixes = [line.changed({line.words.index(asked[0]): [given]})] if is_one else []
    return Wrong(f"--over: {name} has no number to start from", *fixes)


def _incomplete(model: str, measured: str | None, asked: Asked) -> Wrong:
    """The error for a line without --y or --over, with those parameters that neither the file nor the line names."""
    if measured is None:
        return Wrong("missing option --y: what was measured", again("--y", "y"))
    known = [word.partition("=")[0] for word in (*asked.given, *asked.reading.renamed)]
    with suppress(AgradError, OSError, ValueError):
        files = agrad.cli.data.parts.inputs(path := asked.words[1])
        known += opened(path, vars(asked.reading), None, files).names
    unknown = [name for name in open_names(model) if name not in known]
    starts = ",".join(f"{name}=1" for name in unknown)
    return Wrong("missing option --over: the parameters, with values to start from", again("--over", starts))
