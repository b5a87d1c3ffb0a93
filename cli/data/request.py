"""What `agrad map` is asked to compute: formulas, constants and conditions, and a session for each of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import combinations_with_replacement, product
from typing import Any

import click

from agrad.cli.arguments import Line
from agrad.cli.arguments.expression import noted
from agrad.cli.data.writers import BINARY
from agrad.cli.main import typed
from agrad.engine.compile.registry import AUTO
from agrad.engine.core.graph import Units
from agrad.engine.data.tables import NAMES, Aggregates, Piece, Wanted, pyarrow
from agrad.engine.errors import AgradError, BadEntry, Hint, Instead, NamedColumns, OtherForm, UnknownColumn
from agrad.engine.units.quantity import Scale
from agrad.engine.units.unit import name_of, of_header
from agrad.engine.values import np
from agrad.grammar.diagnostics import Span, leading, suggest
from agrad.grammar.results import derivative_name
from agrad.grammar.session.inputs import open_names
from agrad.grammar.session.rowwise import AlongRows, Evaluation, Rowwise, listed_items


@dataclass(slots=True)
class Asked:
    """The formulas by their titles, and what is asked about them. `named`: whether -e gives the titles."""

    formulas: dict[str, str]
    named: bool
    constants: dict[str, str]
    wrt: list[str]
    uncertain: dict[str, str] = field(default_factory=dict)
    order: int = 1
    full: bool = False
    where: str | None = None
    whole: tuple[str, ...] = ()
    jacobian: bool = False  # whether all values come before all derivatives
    units: bool = False  # whether headers have units, also where no formula has one

    def __post_init__(self) -> None:
        """Refuse what does not go together. Raises click.UsageError."""
        if self.order == 2 and not self.wrt:
            raise click.UsageError("second derivatives need --wrt, which says by which columns")
        if self.jacobian and not self.wrt:
            raise click.UsageError("--jacobian needs --wrt, which says by which columns")
        if self.jacobian and self.order == 2:
            raise click.UsageError("--jacobian has first derivatives: leave --order and --hessian out")
        if self.uncertain and self.named:
            raise click.UsageError("--u is for one formula, without -e")


def entries(formulas: dict[str, str]) -> dict[str, str]:
    """The formulas, with one for each entry of a list: of f, f[0] and f[1]; the same object where none is a list.

    Raises AgradError of kind `syntax`.
    """
    found: dict[str, str] = {}
    for title, text in formulas.items():
        items = listed_items(text)
        found |= {title: text} if items is None else {f"{title}[{place}]": one for place, one in enumerate(items)}
    return formulas if found == formulas else found


class Sessions:
    """A session for each expression, all with the same constants.

    `ends`: sets the limits of a session; `seed`: with which the random numbers of each begin, if it is given.
    """

    def __init__(self, ask: Asked, ends: Callable[[Any], None], seed: int | None = None) -> None:
        self.ask, self.ends, self.seed = ask, ends, seed
        self.values = {title: self.read(text, f"-e {title}=…" * ask.named) for title, text in ask.formulas.items()}
        formulas = ask.formulas.items() if ask.order > 1 else ()
        self.parts = {title: [self.read(text, "", name) for name in ask.wrt] for title, text in formulas}
        self.where = self.read(ask.where, "--where") if ask.where is not None else None
        self.first = next(iter(self.values.values()))
        self.whole: dict[str, float] = {}
        self.constants = {name: self.first.names[name] for name in ask.constants}

    def read(self, text: str, word: str, by: str = "") -> Any:
        """A session for an expression, or for its derivative by a column."""
        session = Rowwise()
        if self.seed is not None:
            session.seed(self.seed)
        self.ends(session)
        with noted(word) if word else nullcontext():
            session.read(text)
        session.by = by
        return self._given(session)

    def _given(self, session: Any) -> Any:
        for name, value in self.ask.constants.items():
            with noted(f"-D {name}={value}"):
                session.give(name, value)
        return session

    def measured(self, table: Any, sessions: Sequence[Any]) -> bool:
        """Let sessions have the columns of a table; whether these have units."""
        names = {*table.known(), *map(name_of, table.names)}
        found = any([self.ask.units, *[one.is_measured(names) for one in sessions]])
        if found:
            table.measured()
            Units.exist = True
        for session in sessions:
            session.measured = found
            session.name_columns(table.quoted())
        return found

    def formulas(
        self,
        table: Any,
        again: Callable[[], Any],
        threads: int,
        tolerant: bool,
        backend: str = AUTO,
        known: Mapping[str, float] | None = None,
    ) -> tuple[list[Any], Any]:
        """The formulas, and the condition or None, over a table; functions of whole columns have their values.

        `backend`: of the condition, and of what is inside of those functions; `known`: their values, where they have
        been computed, by the texts of the calls. `self.whole` keeps the values.
        """
        ask = self.ask
        everyone = [*self.values.values(), *(part for parts in self.parts.values() for part in parts)]
        calls: dict[str, tuple[str, Any]] = {}
        for session in everyone:
            session.whole_columns(ask.whole, calls)
        inner = [self._given(session) for _, session in calls.values()]
        if self.measured(table, [*everyone, *inner, *([self.where] if self.where else [])]) and calls:
            raise AgradError("unit", "--whole takes numbers without units")
        where = RowFormula(table, self.where, "where") if self.where is not None else None
        of_columns = {text: (name, RowFormula(table, inside, text)) for text, (name, inside) in calls.items()}
        for formula in [*(one for _, one in of_columns.values()), *([where] if where else [])]:
            formula.begin(lambda: backend, threads, tolerant)
        if calls:
            self.whole = dict(known) if known else aggregates(again, of_columns, where, tolerant)
            for text, value in self.whole.items():
                for session in everyone:
                    session.names[text] = session.numbers[text] = value
        parts = self.parts
        return [RowFormula(table, one, title, ask, parts.get(title, ())) for title, one in self.values.items()], where


@dataclass(slots=True)
class Output:
    """What the options say of the output, and of how it is computed."""

    path: str | None
    to: str | None
    as_json: bool
    precision: int | None
    kept: list[str]
    backend: str
    threads: int
    tolerant: bool

    def require_text(self, form: str) -> None:
        """Refuse --precision for forms that hold numbers in full. Raises click.UsageError."""
        if self.precision is not None and form in BINARY:
            raise click.UsageError(f"--precision applies to text, and {self.path or form} holds numbers in full")


# A formula over the rows of a table: what it needs of it, and the columns of its results.

UNCERTAIN = "an uncertainty is a number that is 0 or positive"


class RowFormula:
    """An expression with its title, and what is asked about it: by default nothing but its value.

    `pairs`: by which pairs of columns second derivatives are taken, `parts`, for each column, the same session
    differentiated by it. `paths`: where each result stands in a JSON object.
    """

    def __init__(
        self, table: Any, session: Rowwise, title: str, ask: Asked | None = None, parts: Sequence[Rowwise] = ()
    ) -> None:
        ask = ask or Asked({}, False, {}, [])
        wrt, uncertain, full, named, jacobian = ask.wrt, ask.uncertain, ask.full, ask.named, ask.jacobian
        self.table, self.session, self.title, self.named = table, session, title, named
        self.shown = wrt
        self.wrt = list(dict.fromkeys([*wrt, *uncertain]))  # the derivatives that are computed
        self.used: dict[str, str] = {}  # the names of columns that are needed, and how the table spells each
        for name, span in session.columns(table.known(), self.wrt):
            self.used[name] = table.spelled(name)
            table.require(self.used[name], span)
        self.uncertain = {name: self._uncertainty(name, text) for name, text in uncertain.items()}
        self.parts = dict(zip(wrt, parts, strict=False))
        if session.measured:
            for one in (session, *parts):
                one.scales |= {name: Scale(of_header(column)[1]) for name, column in self.used.items()}
        self.pairs = list(product(wrt, wrt) if full else combinations_with_replacement(wrt, 2)) if parts else []
        self.slopes = [self._derivative((name,), named) for name in wrt]
        self.seconds = [self._derivative(pair, named) for pair in self.pairs]
        above = ("results", title) if named else ()
        self.paths: dict[str, tuple[str, ...]] = {title: (*above, "value")}
        if uncertain:
            self.paths["u"] = (*above, "u")
        self.jacobian = jacobian
        row = ("jacobian", title) if jacobian else (*above, "grad")
        self.paths |= {column: (*row, name) for name, column in zip(wrt, self.slopes, strict=True)}
        for pair, column in zip(self.pairs, self.seconds, strict=True):
            self.paths[column] = (*above, "hessian", *pair) if full else (*above, "derivatives", ",".join(pair))
        self.results = [title, *self.slopes, *self.seconds, *(["u"] if uncertain else [])]

    def _derivative(self, by: tuple[str, ...], named: bool) -> str:
        """The name of a column of derivatives: d/dx, or da/dx of a formula a; d2/dx2, d2/dxdy."""
        name = derivative_name("grad", by)
        above, _, below = name.partition("/")
        return f"{above}{self.title}/{below}" if named else name

    def _uncertainty(self, name: str, text: str) -> float | str:
        """What is given for a column: a number, or the name of another column. Raises AgradError."""
        if text.startswith("@"):
            column: str = self.table.spelled(text[1:])
            self.table.require_each([column])
            own, unit = (of_header(one)[1] for one in (column, self.used[name]))
            if self.session.measured and own is not None and own != unit:
                raise AgradError("unit", f"--u {name}={text}: {column} has another unit than {self.used[name]}")
            return column
        with suppress(ValueError):
            if float(text) >= 0.0:
                return float(text)
        raise AgradError("domain", f"--u {name}={text}: {UNCERTAIN}, or @ and a column")

    def heads(self) -> dict[str, str]:
        """The names of the results with their units, which are known once a row was computed."""
        scales, up = self.session.scales, self.session.result
        if self.session.measured and up.unit is None:
            with suppress(AgradError):
                self.session.alone(list(self.used), [1.0] * len(self.used), ())
        by = [(), *[(name,) for name in self.shown], *self.pairs, ()]
        below = [[scales.get(name, Scale()) for name in names] for names in by]
        return {name: up.named(name, *each) for name, each in zip(self.results, below, strict=False)}

    @property
    def columns(self) -> list[str]:
        """The columns that it needs."""
        return [*self.used.values(), *(of for of in self.uncertain.values() if isinstance(of, str))]

    def begin(self, backend: Callable[[], str], threads: int, tolerant: bool) -> None:
        """Prepare to compute rows."""
        names = list(self.used)
        self.evaluation = Evaluation(self.session, names, self.wrt, backend, threads, tolerant)
        self.others = {
            name: Evaluation(part, names, self.shown, backend, threads, tolerant) for name, part in self.parts.items()
        }

    @property
    def evaluations(self) -> list[Evaluation]:
        """Those of its value, and of its second derivatives."""
        return [self.evaluation, *self.others.values()]

    def prepare(self, example: Mapping[str, float]) -> None:
        """Compile it once, at an example of a row: see Evaluation."""
        given = {name: example[spelled] for name, spelled in self.used.items()}
        for evaluation in self.evaluations:
            evaluation.prepare(given)

    def restart(self) -> None:
        """Let what the next rows give not depend on those before."""
        for evaluation in self.evaluations:
            evaluation.restart()

    def of(self, piece: Any) -> tuple[dict[str, Any], Any]:
        """The columns of results of some rows, and a mask of those that have none (None: all have some)."""
        given = {name: piece.columns[spelled] for name, spelled in self.used.items()}
        (value, *slopes), bad = self.evaluation(given, piece.rows, piece.bad, piece.place)
        found = [value, *slopes[: len(self.shown)]]
        if self.pairs:
            rows = {}
            for name, other in self.others.items():
                (_, *second), bad = other(given, piece.rows, bad, piece.place)
                rows[name] = dict(zip(self.shown, second, strict=True))
            found += [rows[x][y] for x, y in self.pairs]
        if self.uncertain:
            found.append(self._spread(slopes, piece))
        return dict(zip(self.results, found, strict=True)), bad

    def _spread(self, slopes: Sequence[Any], piece: Any) -> Any:
        """The standard uncertainty of the value: see `engine.autodiff.uncertainty`."""
        given = {name: of if isinstance(of, float) else piece.columns[of] for name, of in self.uncertain.items()}
        for name, u in given.items():
            if np.min(u, initial=0.0) < 0.0:
                raise AgradError("domain", f"--u {name}: {UNCERTAIN}", **piece.place(int(np.argmin(u))))
        return reduce(np.hypot, [slopes[self.wrt.index(name)] * u for name, u in given.items()])


def kept_rows(piece: Any, where: RowFormula) -> Any:
    """The rows of a piece in which a condition is true, and those in which it has no value, without results."""
    found, bad = where.of(piece)
    value = found[where.title]
    keep = (value != 0) & ~np.isnan(value)
    if bad is not None:
        keep |= bad
    if keep.all():
        piece.bad = bad
        return piece
    rows = np.flatnonzero(keep)
    columns = {name: _chosen(column, keep) for name, column in piece.columns.items()}
    place = piece.place
    bad = bad[keep] if bad is not None and bad[keep].any() else None
    return Piece(columns, len(rows), piece.done, lambda row: place(int(rows[row])), bad, piece.problem)


def _chosen(column: Any, keep: Any) -> Any:
    if isinstance(column, np.ndarray):
        return column[keep]
    if isinstance(column, list):
        return [entry for entry, kept in zip(column, keep.tolist(), strict=True) if kept]
    return column.filter(pyarrow().array(keep))


def aggregates(
    opened: Callable[[], Any],
    calls: Mapping[str, tuple[str, RowFormula]],
    where: RowFormula | None,
    tolerant: bool,
) -> dict[str, float]:
    """The values of functions of whole columns, by the texts of their calls: in one pass over the table.

    Rows that are left out, or that have no value and are tolerated, do not count.
    """
    found = {text: Aggregates() for text in calls}
    formulas = [formula for _, formula in calls.values()]
    columns = [column for formula in [*formulas, *([where] if where else [])] for column in formula.columns]
    wanted = Wanted(list(dict.fromkeys(columns)), [], tolerant=tolerant)
    with closing(opened()) as table:
        for part in table.parts(wanted):
            piece = table.piece(part, wanted)
            if piece.rows and where is not None:
                piece = kept_rows(piece, where)
            if not piece.rows:
                continue
            for text, (_, formula) in calls.items():
                values, bad = formula.of(piece)
                column = np.broadcast_to(values[formula.title], piece.rows)
                found[text].add(column if bad is None else column[~bad])
    return {text: found[text].value(name) for text, (name, _) in calls.items()}


# Fixes for errors in a table, as options of the command line.


@contextmanager
def advised(typed: Sequence[str], command_line: Callable[..., str], data: str | None = None) -> Iterator[None]:
    """Add fixes to an error inside: options for a command, whose arguments are the words in `typed`.

    `data`: the file whose rows are mapped, or - for standard input; None for a fit.
    """
    try:
        yield
    except AgradError as problem:
        facts = problem.facts
        if isinstance(facts, Instead) and isinstance(problem.at, Span):
            edited = partial(Line.typed().edited, problem.at.source.text)
            problem.fixes = [fix if isinstance(fix, Hint) else edited(fix) for fix in problem.fixes]
        if fixes := _of_form(facts, typed, command_line):
            problem.fixes = fixes
        elif data is not None and problem.row and "--on-error" not in typed:
            again = command_line(*typed, "--on-error", "null")
            missing = _of_missing(facts, typed, command_line)
            problem.fixes = [*missing, *problem.fixes, Hint(f"go on without such rows: {again}")]
        elif isinstance(facts, UnknownColumn):
            columns = [] if suggest(facts.name, facts.columns) else leading(facts.name, facts.columns)
            fixes = [command_line(*typed, "-c", f"{facts.name}={one}") for one in columns]  # -c 't=t [min]'
            if "--units" not in typed and facts.name in map(name_of, columns):
                fixes.insert(0, command_line(*typed, "--units"))
            is_measured = facts.name in [word.partition("~")[0].strip() for word in typed]
            if data is None and not (facts.nameless or fixes or is_measured or suggest(facts.name, facts.columns)):
                fixes = [command_line(*typed, option, f"{facts.name}=1") for option in ("--over", "-D")]
            again = command_line(*typed, "-D", f"{facts.name}=1")
            if data is not None and (lines := _above_names(facts.name, data)) and "--skip" not in typed:
                fixes = [command_line(*typed, "--skip", str(lines))]
            elif facts.nameless and data is None:
                fixes = [Hint(f"name the columns: --columns {','.join([facts.name, *facts.columns[1:]])}")]
            elif facts.nameless and problem.labels and isinstance(at := problem.labels[0].origin, Span):
                named = command_line(*typed, "--columns", _named(open_names(at.source.text), facts.columns))
                fixes = [Hint(f"{named}   names the columns, in this order")]
                if {*open_names(at.source.text)} & {*facts.columns}:  # who knows their names may mean a constant
                    fixes += _other_columns(facts, again)
            problem.fixes = fixes or _other_columns(facts, again if data is not None and problem.labels else "")
        elif data is not None and isinstance(facts, BadEntry) and facts.copied:
            problem.fixes = [Hint("write .csv or .jsonl, which take texts too")]
        elif data is not None and isinstance(facts, NamedColumns):
            problem.fixes = [Hint("leave --columns out")]
        elif data is not None and isinstance(facts, AlongRows):
            problem.fixes = _whole_column(facts.text, data, typed)
            name = facts.text.partition("(")[0]
            if name in NAMES and data != "-" and "--whole" not in typed:
                problem.fixes.insert(0, command_line(*typed, "--whole", name))
        raise


def _of_form(facts: object, typed: Sequence[str], command_line: Callable[..., str]) -> list[str]:
    """The options that say how the rows of a file are divided, where an error is about that."""
    if isinstance(facts, OtherForm):
        return [command_line(*typed, f"--{facts.option}", str(one)) for one in facts.values]
    if isinstance(facts, BadEntry) and facts.decimal and "--decimal" not in typed:
        return [command_line(*typed, "--decimal", facts.decimal)]
    if isinstance(facts, BadEntry) and facts.damaged and "--encoding" not in typed:
        return [command_line(*typed, "--encoding", "cp1252")]
    return []


def _of_missing(facts: object, typed: Sequence[str], command_line: Callable[..., str]) -> list[str]:
    """The option that says which entries are missing, where an error is about one that may be."""
    if not isinstance(facts, BadEntry) or facts.missing is None or "--resume" in typed:  # which goes on as it began
        return []
    words = [*typed, "--na", facts.missing]
    if "--na" in typed:
        words, place = [*typed], typed.index("--na") + 1
        words[place] += f",{facts.missing}"
    return [f"{command_line(*words)}   reads it as nan"]


def _above_names(name: str, data: str) -> int:
    """How many lines of a file come before the row that names a column, where the first is a title."""
    with suppress(OSError, ValueError), open(data, encoding="utf-8") as file:
        for number, line in zip(range(20), file, strict=False):
            if name in [entry.strip(' "\n') for entry in re.split(r"[,;|\t]", line)]:
                return number
    return 0


def _named(names: Sequence[str], columns: Sequence[str]) -> str:
    """Names for columns that have numbers alone: those of an expression, in the order of the alphabet."""
    new = sorted({*names} - {*columns})[: len(columns)]
    return ",".join([*new, *columns[len(new) :]])


def _whole_column(text: str, data: str, typed_words: Sequence[str]) -> list[str]:
    """How to use a function of a whole column in each row: compute it before, and pass it as a constant."""
    names = open_names(text)
    if len(names) != 1 or os.path.splitext(data)[1] in (".npy", ".npz", ".parquet", ".pq") or data == "-":
        return ["-D m=…   for a number that is the same in every row"]
    called = [word.partition("=")[2] for word in typed_words if word.startswith(f"{names[0]}=")]  # -c x=t
    column = typed("eval", text, f"{names[0]}=@{data}:{(called or names)[0]}")
    return [f"{column}   for the whole column, then -D m=… with its value, and m in the expression"]


def _other_columns(facts: UnknownColumn, again: str) -> list[str]:
    """Suggestions for an unknown column."""
    name, columns = facts.name, facts.columns
    if close := suggest(name, columns):
        return [f"did you mean {' or '.join(close)}?"]
    return [f"{again}   gives it one value for all rows"] if again else []
