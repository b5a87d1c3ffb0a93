"""`agrad fit`: the parameters of a model that fits the rows of a file."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from itertools import chain, combinations
from time import monotonic
from typing import TYPE_CHECKING

import click

import agrad
from agrad.cli import arguments
from agrad.cli.arguments import Limits, Line, Options, argument, declared, flag, group, many, option
from agrad.cli.arguments.expression import constants_option, texts_by_name
from agrad.cli.arguments.options import Reading, TableCommand, opened, require_readable, split, units_option
from agrad.cli.main import Wrong, again, end_in, limit_memory, typed
from agrad.cli.output import note, printer, tell
from agrad.engine.errors import AgradError, Note
from agrad.engine.ops.solvers.errors_in_x import METHODS
from agrad.engine.ops.solvers.fit_quality import Told, profile
from agrad.engine.ops.solvers.losses import LOSSES
from agrad.engine.text import Grid
from agrad.engine.units.unit import name_of
from agrad.grammar.commands.fitting import mistaken_constants
from agrad.grammar.files import require_folder
from agrad.grammar.results import Estimated
from agrad.grammar.session.inputs import open_names
from agrad.grammar.session.rowwise import Rowwise

if TYPE_CHECKING:
    from agrad.cli.data.fit_work import FitBench, Wishes
    from agrad.engine.core.tensor import Tensor
    from agrad.engine.ops.solvers.least_squares import Fit
    from agrad.grammar.session.report import Section


class Asked(Options):
    """What `agrad fit` takes."""

    words: tuple[str, ...] = argument(nargs=-1, metavar="MODEL DATA", type=arguments.FILE)
    measured: str | None = option(
        "--y", "EXPR", "What was measured: a column, or an expression. A MODEL `y ~ a*x` says it, too."
    )
    start: tuple[str, ...] = option(
        "--over",
        "NAME[=VALUE],...",
        "The parameters, with values to start from, which a linear model does not need. Must be given.",
        multiple=True,
    )
    sigma: str | None = option(
        "--sigma", "EXPR", "The standard uncertainty of what was measured: a number, or a column."
    )
    bounds: tuple[str, ...] = many("--bounds", "NAME=LOW..HIGH", "The bounds of a parameter. May be repeated.")
    loss: str | None = option("--loss", tuple(LOSSES), "A loss that counts large residuals less, as SciPy has it.")
    beyond: str | None = option(
        "--beyond", "R", "The residual from which on it counts them less, in units of --sigma if that is given: 1."
    )
    tied: tuple[str, ...] = many("--tied", "NAME=EXPR", "What parameters give, such as c=2*a. May be repeated.")
    of_x: tuple[str, ...] = many(
        "--sigma-x", "NAME=EXPR", "The standard uncertainty of a column of MODEL, which --sigma goes with."
    )
    method: str | None = option("--errors", tuple(METHODS), "How those are used: orthogonal, if nothing is said.")
    where: str | None = option("--where", "EXPR", "Fit only the rows in which this is true.")
    coverage: float = option(
        "--coverage", "P", "The coverage of intervals and bands.", type=click.FloatRange(0, 1, True, True), default=0.95
    )
    profile: bool = flag("--profile", "Intervals by the profile likelihood, too, for a model that is curved.")
    points: bool = flag("--points", "With --json: what is predicted for each row, residuals, leverage and bands.")
    out: str | None = arguments.file_option(
        "-o", "A file for all rows that were fitted, with what is predicted, residuals, leverage and bands.", "OUT"
    )
    report: str | None = arguments.file_option("--report", "A report: .html, .md, .tex or .pdf.", "FILE")
    given: tuple[str, ...] = constants_option
    reading: Reading = group(Reading)
    units: bool = units_option
    as_json: bool = arguments.json_option
    limits: Limits = group(Limits)


@declared("fit", TableCommand, Asked)
def command(asked: Asked) -> int:
    """Fit MODEL to the rows of DATA, by least squares.

    The names in MODEL are columns of DATA, as for `agrad map`, and the parameters in --over; -D holds a parameter at a
    number. It prints these with their standard uncertainties and correlations; -o writes what is predicted for each
    row, its residual, standardized residual and leverage, the bands of the model and of another measurement, and the
    derivatives of the parameters by what was measured. DATA that is large is read once for each step, so that it may
    be larger than memory: a file, a folder of files, 'data/*.parquet', or - for standard input. The exit code is 1
    where the search does not converge.

    \b
    agrad fit "a*height + b*width" examples/chunks.csv --y price --over a=1,b=1
    agrad fit "a - b*width" examples/chunks.csv --y price --over a=1,b=1 --json
    agrad fit "a*exp(-b*t)" "data/*.parquet" --y n --over a=400,b=0.1
    agrad fit "a*height" examples/chunks.csv --y price --over a=1 --bounds a=0..5
    """
    model, measured, path = _words(asked)
    if measured is None or not asked.start:
        raise _incomplete(model, measured, asked)
    start = split(",".join(asked.start))
    texts = texts_by_name("--over", [f"{name}=" if name.isidentifier() else name for name in start])
    formulas, wishes = _wishes(asked, model, measured, texts)
    require_readable(asked.reading)
    limit_memory(asked.limits.memory, statements=False)
    write_report = None
    if asked.report is not None:
        write_report = agrad.grammar.session.report.writer(asked.report, fix=partial(again, "--report"))
    if asked.out is not None:
        agrad.cli.data.writers.form_for(asked.out, False)
        require_folder(asked.out)
    with ExitStack() as stack:
        if agrad.cli.data.at_file.is_pipe(path):
            watched, copied = Rowwise(), partial(stack.enter_context, agrad.cli.data.at_file.copied(path))
            end_in(watched, asked.limits.timeout, asked.as_json)
            begun, files, path = monotonic(), [watched.all_at_once(copied)], "<stdin>"
            if asked.limits.timeout is not None:
                asked.limits.timeout -= monotonic() - begun
        else:
            files = agrad.cli.data.parts.inputs(path)
        for written in (asked.out, asked.report):
            agrad.cli.data.parts.keep_apart(written, files)
        bench, found, values = _fitted(asked, formulas, wishes, path, files)
        given = {**dict.fromkeys(bench.sessions.constants, "-D"), **dict.fromkeys(wishes.start, "--over")}
        for name in filter(bench.table.known().__contains__, given):
            note(f"{name} is that of {given[name]} in every row: the column {name} of {path} is not read for it")
        _note_constants(model, {*wishes.start, *wishes.tied, *bench.sessions.constants, *bench.table.names})
        printed = printer(bench.sessions.first.settings, "json" if asked.as_json else "text")
        if found.problem and not asked.as_json:
            raise found.failure("--over with other values starts elsewhere")
        if found.problem:
            printed(Estimated(found))
            return 1
        if asked.out is not None:
            bench.run(partial(bench.write, found, asked.out))
        intervals = bench.run(lambda: profile(found, asked.coverage)) if asked.profile else ()
        told = Told(found, asked.coverage, intervals, is_alone=False, has_points=asked.points)
        bench.run(lambda: printed(Estimated(told)))
        if write_report is not None and asked.report is not None:
            sections = bench.run(lambda: _sections(asked, bench, told, values, (measured, model)))
            write_report(asked.report, sections, "Report")
        return 0


def _fitted(
    asked: Asked, formulas: dict[str, str], wishes: Wishes, path: str, files: Sequence[str]
) -> tuple[FitBench, Fit, list[Tensor]]:
    """Where the fit was computed, it, and its parameters. Raises AgradError."""
    wrt = [*wishes.start, *texts_by_name("--sigma-x", asked.of_x)]
    constants = texts_by_name("-D", asked.given)
    ask = agrad.cli.data.request.Asked(formulas, False, constants, wrt, where=asked.where, units=asked.units)
    ends = partial(end_in, seconds=asked.limits.timeout, as_json=asked.as_json)
    with agrad.cli.data.request.advised(Line.typed().words, partial(typed, "fit")):
        work = agrad.cli.data.work.Work(ask, vars(asked.reading), path, files)
        bench = agrad.cli.data.fit_work.FitBench(work, wishes, os.cpu_count() or 1, ends)
        bench.run(bench.prepare)
        bench.run(bench.find_example)
        return bench, *bench.run(bench.fit)


def _note_constants(model: str, known: Collection[str]) -> None:
    """Note the constants in a model that may be meant as parameters."""
    for name, message in mistaken_constants(model):
        if name not in known:
            tell(Note(message, fixes=[again("--over", f"{name}=1")]))


def _words(asked: Asked) -> tuple[str, str | None, str]:
    """The model, what was measured if that is said, and the file. Raises click.UsageError."""
    if len(asked.words) != 2:
        raise click.UsageError("a model and a file are needed")
    model, path = asked.words
    measured, tilde, formula = map(str.strip, model.partition("~"))
    if tilde and asked.measured is not None:
        raise click.UsageError("--y and ~ both say what was measured")
    if tilde:
        return formula, measured, path
    if asked.measured is None and re.search(r"(?<![=<>!])=(?!=)", model):
        line = Line.typed()
        fix = line.changed({line.place(model): [model.replace("=", "~", 1)]})
        raise Wrong("a model has ~ between what was measured and its formula", fix)
    return model, asked.measured, path


def _wishes(asked: Asked, model: str, measured: str, start: dict[str, str]) -> tuple[dict[str, str], Wishes]:
    """The formulas by their titles, and what is asked of the fit. Raises click.UsageError."""
    of_x, tied = texts_by_name("--sigma-x", asked.of_x), texts_by_name("--tied", asked.tied)
    _require_apart({"--over": start, "--tied": tied, "--sigma-x": of_x, "-D": texts_by_name("-D", asked.given)})
    known = [*open_names(model), *chain.from_iterable(map(open_names, tied.values()))]
    if unknown := [name for name in of_x if name not in known]:
        raise click.UsageError(f"{unknown[0]} is not in {model}")
    bounds = texts_by_name("--bounds", asked.bounds, "NAME=LOW..HIGH")
    if unknown := [name for name in bounds if name not in start]:
        raise click.UsageError(f"--bounds: {unknown[0]} is no parameter of --over")
    for place, text in enumerate(tied.values()):
        if later := [name for name in open_names(text) if name in [*tied][place:]]:
            raise click.UsageError(f"--tied: {later[0]} is tied, and may be used only in what is tied after it")
    if asked.method is not None and not of_x:
        column = next((name for name in open_names(model) if name not in (*start, *tied)), "x")
        raise Wrong("--errors is for columns that have uncertainties", again("--sigma-x", f"{column}=0.1"))
    if of_x and asked.sigma is None:
        raise Wrong("--sigma-x goes with --sigma: the uncertainty of what was measured", again("--sigma", "0.1"))
    if asked.points and not asked.as_json:
        raise Wrong("--points is for --json", again("--json"))
    if not 0.0 < asked.coverage < 1.0:  # nan, which no range of click's refuses
        raise click.UsageError(f"--coverage: {asked.coverage} is not in the range 0<x<1")
    work, has_bends = agrad.cli.data.fit_work, asked.points or asked.out is not None
    formulas = {work.MODEL: model, work.MEASURED: measured}
    formulas |= {work.SIGMA: asked.sigma} if asked.sigma is not None else {}
    formulas |= {f"{work.OF_X}{x}": u for x, u in of_x.items()}
    how = asked.loss, asked.beyond, asked.method or "orthogonal", has_bends, asked.coverage
    return formulas, work.Wishes(start, bounds, tied, *how)


def _require_apart(texts: dict[str, dict[str, str]]) -> None:
    """Refuse a name that two options have. Raises click.UsageError."""
    for (one, names), (other, others) in combinations(texts.items(), 2):
        if twice := [name for name in names if name in others]:
            raise click.UsageError(f"{one} and {other} both have {twice[0]}")


def _sections(
    asked: Asked, bench: FitBench, told: Told, values: Sequence[Tensor], formulas: tuple[str, str]
) -> list[Section]:
    """What a report says: the data, the fit, and how to compute it again."""
    report, (measured, model) = agrad.grammar.session.report, formulas
    options = [("--sigma", asked.sigma), ("--errors", asked.method), ("--where", asked.where)]
    options += [*[("--sigma-x", one) for one in asked.of_x], *[("-D", one) for one in asked.given]]
    found = told.found
    rows = [["data", asked.words[1]], ["rows", str(found.dof + int(found.free.sum()))]]
    rows += [[option, text] for option, text in options if text is not None]
    free = [x for x, one in zip(values, found.free, strict=True) if one]
    return [
        report.Section("What was measured", [Grid([["what", ""], *rows])]),
        report.of_fit([f"{measured} ~ {model}"], told, free, bench.picture(found, measured, model)),
        *report.closing(typed("fit", *Line.typed().words)),
    ]


def _incomplete(model: str, measured: str | None, asked: Asked) -> Wrong:
    """The error for a line without --y or --over, with those parameters that neither the file nor the line names."""
    known = [word.partition("=")[0] for word in (*asked.given, *asked.reading.renamed)]
    columns: Sequence[str] = ()
    with suppress(AgradError, OSError, ValueError):
        stream = sys.stdin.buffer if (path := asked.words[1]) == "-" and not sys.stdin.isatty() else None
        files = agrad.cli.data.parts.inputs(path) if path != "-" else ()
        columns = opened(path, vars(asked.reading), stream, files).names
        columns = [*map(name_of, columns)] if asked.units else columns
    if measured is None:
        left = [name for name in columns if name.isidentifier() and name not in (*open_names(model), *known)]
        return Wrong("missing option --y: what was measured", again("--y", [*left, "y"][0]))
    unknown = [name for name in open_names(model) if name not in (*known, *columns)]
    if not unknown:
        return Wrong(f"{model} has no parameters: each of its names is a column, or has a value")
    starts = ",".join(unknown if asked.units else [f"{name}=1" for name in unknown])
    return Wrong("missing option --over: the parameters, with values to start from", again("--over", starts))
