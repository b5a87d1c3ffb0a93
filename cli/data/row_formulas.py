"""A formula over the rows of a table: what it needs of it, and the columns of its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import reduce
from itertools import combinations_with_replacement, product
from types import MappingProxyType
from typing import Any

from agrad.engine.data.tables import Aggregates, Wanted
from agrad.engine.errors import AgradError
from agrad.engine.values import np
from agrad.grammar.results import derivative_name
from agrad.grammar.session.rowwise import Evaluation, Rowwise

_UNCERTAIN = "an uncertainty is a number that is 0 or positive"


class RowFormula:
    """An expression with its title, and what it is differentiated by.

    `uncertain`: the standard uncertainties of columns; `pairs`: by which pairs of columns second derivatives are taken,
    `parts`, for each column, the same session differentiated by it. `paths`: where each result stands in a JSON object.
    """

    def __init__(
        self,
        table: Any,
        session: Rowwise,
        title: str,
        wrt: Sequence[str],
        uncertain: Mapping[str, str] = MappingProxyType({}),
        parts: Sequence[Rowwise] = (),
        full: bool = False,
        named: bool = False,
        jacobian: bool = False,
    ) -> None:
        self.table, self.session, self.title, self.named = table, session, title, named
        self.shown = list(wrt)
        self.wrt = list(dict.fromkeys([*wrt, *uncertain]))  # the derivatives that are computed
        self.used = self._used()
        self.uncertain = {name: self._uncertainty(name, text) for name, text in uncertain.items()}
        self.parts = dict(zip(wrt, parts, strict=False))
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

    def _used(self) -> dict[str, str]:
        """The names of columns that are needed, and how the table spells each.

        Raises AgradError of kind `name` for one that the table does not have.
        """
        used: dict[str, str] = {}
        for name, span in self.session.columns(self.table.known(), self.wrt):
            used[name] = self.table.spelled(name)
            self.table.require(used[name], span)
        return used

    def _uncertainty(self, name: str, text: str) -> float | str:
        """What is given for a column: a number, or the name of another column. Raises AgradError."""
        if text.startswith("@"):
            column: str = self.table.spelled(text[1:])
            self.table.require_each([column])
            return column
        with suppress(ValueError):
            if float(text) >= 0.0:
                return float(text)
        raise AgradError("domain", f"--u {name}={text}: {_UNCERTAIN}, or @ and a column")

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
                raise AgradError("domain", f"--u {name}: {_UNCERTAIN}", **piece.place(int(np.argmin(u))))
        return reduce(np.hypot, [slopes[self.wrt.index(name)] * u for name, u in given.items()])


def kept_rows(piece: Any, where: RowFormula) -> Any:
    """The rows of a piece in which a condition is true, and those in which it has no value, without results."""
    from agrad.engine.data.tables import Piece  # here, since most tables are used whole

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
    from agrad.engine.data.tables import pyarrow

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
