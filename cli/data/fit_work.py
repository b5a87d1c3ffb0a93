"""Where the sums over the rows of a file are computed, and what is said of its rows, for `agrad fit`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from agrad.cli.arguments import Line
from agrad.cli.arguments.expression import noted
from agrad.cli.data.job import Job
from agrad.cli.data.parts import Part
from agrad.cli.data.request import UNCERTAIN, RowFormula, kept_rows
from agrad.cli.data.work import Bench, Work
from agrad.cli.data.writers import form_for
from agrad.cli.main import Wrong, again
from agrad.engine.compile.registry import AUTO
from agrad.engine.data.tables import Piece, Wanted
from agrad.engine.errors import AgradError, Hint, UnknownName
from agrad.engine.ops.solvers.errors_in_x import at_true_values, of_variance
from agrad.engine.ops.solvers.fit_quality import derivatives, of_points, units_of
from agrad.engine.ops.solvers.fitting import is_linear
from agrad.engine.ops.solvers.least_squares import Fit, fit
from agrad.engine.ops.solvers.refinement import of_linear
from agrad.engine.ops.solvers.sums import Ask, Sums, joined, summed
from agrad.engine.units.quantity import Scale, unit_of
from agrad.engine.units.unit import without_zero
from agrad.engine.values import Array, np
from agrad.grammar.commands.fit_units import Given, Scales, scales_of
from agrad.grammar.commands.fitting import Typed, leaves_of, loss_of, middle_of, with_tied, within_of
from agrad.grammar.commands.plot.command import Drawn, of_sets
from agrad.grammar.files import replacing
from agrad.grammar.results import Plot
from agrad.grammar.runtime.operations import as_array
from agrad.grammar.session.rowwise import Rowwise

_DRAWN = 2000  # rows at most, of a file
_ROOM = 1 << 26  # bytes of rows that are kept from one step to the next
# The titles of the formulas of a request: the model, what was measured, its uncertainty, and those of columns.
MODEL, MEASURED, SIGMA, OF_X = "model", "--y", "--sigma", "--sigma-x "

TYPED = Typed("--", Wrong, lambda word, value: again(f"--{word}", value))


class Wishes(NamedTuple):
    """What is asked of a fit, in texts: the first values of parameters, their bounds, and what they give.

    `loss`: the name of one; `beyond`: the residual from which on it counts less; `method`: how the uncertainties of
    columns are used; `bends`: whether the derivatives of the parameters by the data are asked for.
    """

    start: Mapping[str, str]
    bounds: Mapping[str, str]
    tied: Mapping[str, str]
    loss: str | None
    beyond: str | None
    method: str
    bends: bool
    coverage: float


class FitBench(Bench):
    """A place where the sums of parts are computed.

    `ask.wrt` has the parameters, then the columns that are uncertain.
    """

    formulas: list[RowFormula]

    def __init__(self, work: Work, wishes: Wishes, threads: int, ends: Callable[[Any], None]) -> None:
        super().__init__(work, threads, ends)
        self.wishes, self.names = wishes, [*wishes.start]
        self.uncertain = [name for name in work.ask.wrt if name not in wishes.start]
        bent = self.uncertain if wishes.method == "effective" else ()
        if wishes.bends and not self.uncertain:
            bent = self.names
        self.bends = [self.sessions.read(work.ask.formulas[MODEL], "", name) for name in bent]
        for session in (self.sessions.first, *self.bends):
            for name, value in wishes.start.items():
                with noted(f"{name}={value}"):
                    session.give(name, value or "1")
            session.tie(wishes.tied)
        self.kept, self.room = dict[Part, list[Any]](), _ROOM
        self.given, self.bounds, self.starts = dict[str, list[Given]](), dict[str, tuple[float, float]](), {}
        for name in self.names:
            self.given[name], self.bounds[name], self.starts[name] = self._place(name)
        text = wishes.beyond
        with noted("--beyond"):
            self.beyond = None if text is None else Given.read("--beyond is", text, _in("--beyond"))
        every = chain(*self.given.values(), filter(None, [self.beyond]))
        work.ask.units = work.ask.units or any(unit_of(one.value) is not None for one in every)

    def started(self, texts: Mapping[str, str]) -> str:
        """The command line with other starts."""
        every, line = {**self.wishes.start, **texts}, Line.typed()
        given = ",".join(f"{name}={text}" if text else name for name, text in every.items())
        places = [*chain(*line.given(["--over"]))]
        return line.changed({**dict.fromkeys(places, ()), places[0]: ("--over", given)})

    def _place(self, name: str) -> tuple[list[Given], tuple[float, float], float | None]:
        """What says where a parameter begins and ends, its bounds, and the number to start from, in SI units.

        Raises AgradError or click.UsageError.
        """
        text, ends, bounds, start = self.wishes.start[name], list[Given](), (-np.inf, np.inf), None
        if name in self.wishes.bounds:
            first, _, last = self.wishes.bounds[name].partition("..")
            if not (first and last):
                fix = again("--bounds", f"{name}={first or '-inf'}..{last or 'inf'}")
                raise Wrong(f"--bounds: {name} has one end", fix)
            said, change = f"{name} is bounded by", _in("--bounds", name)
            with noted(f"--bounds {name}={first}..{last}"):
                ends.append(Given.read(said, first, lambda new: change(f"{new}..{last}")))
                ends.append(Given.read(said, last, lambda new: change(f"{first}..{new}")))
            low, high = bounds = ends[0].number(), ends[1].number()
            held, turned = f"-D {name}={first} instead of --over holds it", partial(change, f"{last}..{first}")
            start = middle_of(name, low, high, TYPED, turned, held)
        if text:
            value, change = self.sessions.first.names[name], lambda new: self.started({name: new})
            ends.insert(0, Given.read(f"{name} starts at", text, change, value))
            start = ends[0].number()
        return ends, bounds, start

    def prepare(self) -> None:
        """Open the input. Raises AgradError."""
        self.table, ask = self.work.open(), self.work.ask
        where, named = self.sessions.where, self.sessions.values
        self.sessions.measured(self.table, [*named.values(), *self.bends, *([where] if where is not None else [])])
        self.others = {title: RowFormula(self.table, one, "") for title, one in named.items() if title != MODEL}
        self.model, *self.bent = [RowFormula(self.table, one, "", ask) for one in (self.sessions.first, *self.bends)]
        self.formulas = [self.model, *self.others.values(), *self.bent]
        self.where = RowFormula(self.table, where, "where") if where is not None else None
        every = [*self.formulas, *([self.where] if self.where is not None else [])]
        self.wanted = Wanted(list(dict.fromkeys(column for formula in every for column in formula.columns)))
        for formula in every:
            formula.begin(lambda: self.work.backend, self.threads, False)

    def compile(self) -> None:
        """Find the units of all numbers, and compile the expressions for the example, if there is one."""
        scales, has_sigma = self._scales(), SIGMA in self.others
        session, row = self.model.session, self._row(self.model)
        unit = None if has_sigma else scales.measured[0]
        beyond = None if self.beyond is None else float(scales.option(self.beyond, unit))
        loss = loss_of(self.wishes.loss, beyond, has_sigma, TYPED, lambda: Scale(unit).told(0.1))

        def has_one_minimum() -> bool:
            values = [*[1.0] * len(self.names), *row.values()]
            called = lambda *xs: session.row([*self.names, *row], xs)  # noqa: E731
            return loss is None and not self.uncertain and is_linear(called, values, len(self.names))

        self.start, within = within_of(self.starts, self.bounds, scales, self.started, has_one_minimum)
        self.within = within._replace(loss=loss)
        self.tied({name: session.scales[name].of(x) for name, x in zip(self.names, self.start, strict=True)})
        self.at(np.array(self.start))
        super().compile()

    def _scales(self) -> Scales:
        """The units of the parameters and of what was measured, which all rows have. Raises AgradError."""
        y, named, model = self.work.ask.formulas[MEASURED], self.sessions.values, self.model.session
        row = self._row(self.model)

        def of_model(*xs: Any) -> Any:
            return as_array(model.value(row, dict(zip(self.names, xs, strict=True))))

        def given(title: str, said: str, change: Callable[[str], str], beside: Any = None) -> Given:
            value = as_array(named[title].value(self._row(self.others[title])))
            return Given(f"{said} is", value, named[title].expression, change, beside)

        measured = given(MEASURED, y, partial(Line.typed().edited, y), model.expression)
        used = [model.scales[name].unit for name in row if name in model.scales]
        scales = scales_of([of_model], self.starts, [measured], self.given, used)
        for session in (model, *self.bends, named[MEASURED]):
            session.scales |= dict(zip(self.names, map(Scale, scales.parameters), strict=True))
            session.result = scales.scale(scales.measured[0])
        for title in self.others.keys() - {MEASURED}:  # differences, also of a scale such as °C
            option, _, name = title.partition(" ")
            unit = without_zero(model.scales.get(name, Scale()).unit) if name else scales.measured[0]
            named[title].result = scales.scale(unit, given(title, title, _in(option, name)))
        return scales

    def _row(self, formula: RowFormula) -> dict[str, float]:
        """The numbers of the example for a formula."""
        return {name: self.work.example.get(spelled, 1.0) for name, spelled in formula.used.items()}

    def tied(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What parameters give. Raises AgradError."""
        session = Rowwise()
        session.names.update({**self.sessions.constants, **values})
        found = {}
        for name, text in self.wishes.tied.items():
            with noted(f"--tied {name}={text}"):
                session.names[name] = found[name] = self._tied(session, text)
        return found

    def _tied(self, session: Rowwise, text: str) -> Any:
        try:
            return session.evaluate(text)
        except AgradError as problem:
            if isinstance(problem.facts, UnknownName):
                problem.fixes, problem.facts = [again("-D", f"{problem.facts.name}=1")], None
            raise

    def pieces(self, part: Part) -> Generator[Any, None, None]:
        """The rows of a part in which the condition is true: they are kept, if there is room for all of them."""
        if part in self.kept:
            yield from self.kept[part]
            return
        found, room = list[Any](), self.room
        for piece in super().pieces(part):
            room -= sum(column.nbytes for column in piece.columns.values())
            rows = kept_rows(piece, self.where) if self.where is not None and piece.rows else piece
            found = [*found, rows] if room >= 0 else []
            yield rows
        if room >= 0:
            self.kept[part], self.room = found, room

    def fit(self) -> tuple[Fit, list[Any]]:
        """The fit, with the parameters as uncertain values. Raises AgradError."""
        total = lambda ask: joined(self._sums(ask, Part(file)) for file in self.work.files)  # noqa: E731
        found = fit(total, self.names, self.start, None, self.within)
        found = found._replace(
            pieces=self._every, bends=self._bends if self.wishes.bends and not self.uncertain else None
        )
        if found.problem:
            return found, []
        if not self.uncertain and (SIGMA not in self.others or not self.others[SIGMA].used):
            found = of_linear(found)
        values = leaves_of(found, [()] * len(self.names))
        for name, value in zip(self.names, values, strict=True):
            value.name = name
        tied = self.tied(dict(zip(self.names, values, strict=True)))
        return with_tied(found, {name: (x, self.wishes.tied[name]) for name, x in tied.items()}), values

    def write(self, found: Fit, path: str) -> None:
        """Write all columns of the rows that were fitted, and what is said of each point. Raises AgradError."""
        columns = Fitted(self, found)
        with closing(self.work.open()) as table:
            job = Job(table, [columns], self.where, ["all"], False, self.threads)
            job.begin(form_for(path, False), None, AUTO)
            with replacing(path) as stream:
                job.write(stream, table, None)

    def picture(self, found: Fit, measured: str, model: str) -> Plot:
        """The rows and the curve, over the only column of the model, or over the index; of many rows some."""
        names, step = self.model.columns, -(-(found.dof + int(found.free.sum())) // _DRAWN)
        said = []
        self.at(found.values)
        for piece in self._every_piece():
            table, y, sigma = self.rows(piece)
            of = of_points(found, table, y, sigma)
            half = of["confidence_high"] - of["predicted"]
            x = piece.columns[names[0]] if len(names) == 1 else np.zeros(piece.rows)
            u = np.zeros(piece.rows) if sigma is None else np.broadcast_to(sigma, piece.rows)
            said.append(np.stack([x, y, u, of["residual"], of["predicted"], half])[:, ::step])
        x, y, u, residuals, predicted, half = np.concatenate(said, axis=1)
        axis, x = (names[0], x) if len(names) == 1 else ("index", np.arange(0.0, len(x) * step, step))
        order, name = np.argsort(x, kind="stable"), measured if step == 1 else f"{measured}, 1 row of {step}"
        bars = u.tolist() if SIGMA in self.others else ()
        curve = predicted[order], half[order]
        unit = self.sessions.values[MEASURED].result.named("")
        return of_sets([Drawn(name, model, axis, x, y, bars, residuals, x[order], *curve, unit)])

    def at(self, p: Any) -> None:
        """Take these parameters for the next rows."""
        self.restart()
        for formula in (self.model, *self.bent):
            formula.evaluation.constants = dict(zip(self.names, p.tolist(), strict=True))

    def _sums(self, ask: Ask, part: Part) -> Sums:
        self.at(ask.p)
        with closing(self.pieces(part)) as pieces:
            return summed(ask, (self.rows(piece) for piece in pieces if piece.rows))

    def _every(self, p: Array) -> Generator[tuple[Array, Array, Any], None, None]:
        """All rows, piece by piece, as `Fit.points` has them."""
        self.at(p)
        yield from map(self.rows, self._every_piece())

    def _bends(self, p: Array) -> Iterator[Array]:
        """The second derivatives of the model, piece by piece."""
        self.at(p)
        for piece in self._every_piece():
            yield np.stack([_table(bend, piece)[:-1] for bend in self.bent])

    def _every_piece(self) -> Iterator[Piece]:
        return (piece for file in self.work.files for piece in self.pieces(Part(file)) if piece.rows)

    def rows(self, piece: Piece) -> tuple[Any, Any, Any]:
        """Some rows: see `Sums.take`. Raises AgradError of kind `domain` where an entry is missing."""
        table = _table(self.model, piece)
        columns = {title: next(iter(formula.of(piece)[0].values())) for title, formula in self.others.items()}
        y, sigma = np.broadcast_to(columns.pop(MEASURED), piece.rows), columns.pop(SIGMA, None)
        known = [table[-1], y, *columns.values(), *([sigma] if sigma is not None else [])]
        if not all(np.isfinite(x).all() for x in known):
            self._require_all(piece)
        return self._with_errors(piece, table, y, sigma, columns) if self.uncertain else (table, y, sigma)

    def _with_errors(self, piece: Piece, table: Array, y: Array, sigma: Any, columns: Mapping[str, Any]) -> Any:
        *u, sigma = [np.broadcast_to(x, piece.rows) for x in (*columns.values(), sigma)]
        for title, one in zip(columns, u, strict=True):
            if not np.all(one >= 0.0):
                raise AgradError("domain", f"{title}: {UNCERTAIN}", **piece.place(int(np.argmin(one >= 0.0))))
        if self.bent:
            table, spread = of_variance(table, [_table(bend, piece) for bend in self.bent], np.stack(u), y, sigma)
            return table, y, spread
        spelled = [self.table.spelled(name) for name in self.uncertain]

        def at(xs: Sequence[Array]) -> Array:
            moved = copy(piece)
            moved.columns = {**piece.columns, **dict(zip(spelled, xs, strict=True))}
            return _table(self.model, moved)

        table, spread = at_true_values(at, [np.asarray(piece.columns[name]) for name in spelled], np.stack(u), y, sigma)
        return table, y, spread

    def _require_all(self, piece: Piece) -> None:
        """Refuse rows in which an entry is missing, with a line that leaves these out."""
        used = {name: column for formula in self.formulas for name, column in formula.used.items()}
        missing = {name: column for name, column in used.items() if np.isnan(piece.columns[column]).any()}
        if not missing:
            return
        rows = np.logical_or.reduce([np.isnan(piece.columns[column]) for column in missing.values()])
        condition = " and ".join(f"isfinite({name})" for name in missing)
        if self.work.ask.where is not None:
            condition = f"({self.work.ask.where}) and {condition}"
        fixes = [Hint(f"{again('--where', condition)}   leaves such rows out")]
        row = int(np.argmax(rows))
        name = next(column for column in missing.values() if np.isnan(piece.columns[column][row]))
        raise AgradError("domain", f"fit: column {name} is nan", **piece.place(row), fixes=fixes)


def _table(formula: RowFormula, piece: Piece) -> Array:
    """The derivatives of a formula, row by row, and its values."""
    value, *slopes = formula.of(piece)[0].values()
    return np.stack([np.broadcast_to(x, piece.rows) for x in (*slopes, value)])


def _in(option: str, name: str = "") -> Callable[[str], str]:
    """The command line with another text in an option, behind NAME= if it has a name."""
    return lambda text: again(option, f"{name}={text}" if name else text)


class Fitted:
    """The columns about each point of a fit, as a `Job` writes them."""

    named, jacobian, title = True, False, "predicted"

    def __init__(self, bench: FitBench, found: Fit) -> None:
        self.bench = bench
        self.points = partial(of_points, found, coverage=bench.wishes.coverage, inverse=derivatives(found))
        nothing = np.zeros((len(found.names) + 1, 0))
        self.results = list(self.points(nothing, np.zeros(0), 1.0))
        self.paths = {name: (name,) for name in self.results}
        of = units_of(found)
        self.heads = lambda: {name: Scale(of.get(name)).named(name) for name in self.results}
        self.columns, self.evaluation = bench.wanted.numbers, bench.model.evaluation
        self.evaluations = [formula.evaluation for formula in bench.formulas]
        bench.at(found.values)

    def begin(self, *how: object) -> None:
        """See RowFormula: the bench has begun."""

    def of(self, piece: Any) -> tuple[dict[str, Any], None]:
        """The columns about some rows."""
        return self.points(*self.bench.rows(piece)), None
