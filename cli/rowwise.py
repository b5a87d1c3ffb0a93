"""An expression over the rows of a table: its value and derivatives in each, a row being the unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from agrad.cli.formula import noted
from agrad.cli.tables import Numbers, Piece, Table
from agrad.engine.errors import AgradError, Label
from agrad.engine.tensor import Tensor
from agrad.engine.values import describe, format_number, format_shape, np
from agrad.grammar.code import Code, Do
from agrad.grammar.compiler import compile_expression
from agrad.grammar.diagnostics import Source
from agrad.grammar.functions import CONSTANTS, FUNCTIONS
from agrad.grammar.parser import RESERVED, parse_expression
from agrad.grammar.results import Result
from agrad.grammar.session import Session
from agrad.grammar.unknown import unknown

_T = TypeVar("_T")
_OF_ALL = frozenset({"name", "syntax", "arity", "guard", "limit"})  # kinds of errors that no other row is free of
_ENOUGH = 1000  # rows, of which none has a value, until no more are tried


class Rowwise(Session):
    """A session with one expression. Names are columns of a table, or constants that -D gives."""

    def read(self, text: str) -> None:
        """Take the expression. Raises AgradError."""
        expression = self._read(parse_expression, Source("expression", text))
        self.text, self.span = text, expression.span
        self.code: Code = compile_expression(expression)

    def give(self, constants: Mapping[str, str]) -> None:
        """Let names stand for values, each computed from those before it. Raises AgradError."""
        for name, text in constants.items():
            with noted(f"-D {name}={text}"):
                if name in RESERVED:
                    raise AgradError("syntax", f"{name} is a word of agrad; choose another name")
                self.names[name] = self.evaluate(text)

    def columns(self, table: Table, wrt: Sequence[str]) -> list[str]:
        """The columns that the expression uses or is differentiated by, in order. Raises AgradError of kind `name`."""
        found: dict[str, None] = {}
        for do, name, span in self.code.instructions:
            if do is not Do.LOAD or name in self.names or name in FUNCTIONS:
                continue
            if name not in table.names and self.text[span.end :].lstrip().startswith("("):
                problem = unknown(name, span, table.names)
                if any(fix.startswith("def ") for fix in problem.fixes):  # there is no place for one here
                    problem.fixes = ["agrad functions   lists those there are"]
                raise problem
            if name in table.names or name not in CONSTANTS:
                table.require(name, span)
                found[name] = None
        for name in wrt:
            if name not in self.names:
                table.require(name)
                found[name] = None
        return list(found)

    def all_at_once(self, action: Callable[[], _T]) -> _T:
        """Do something as one statement: stopped as a whole, in the time that there is."""
        found: _T = self._guarded(action, self.span, _unheard)
        return found

    def row(self, names: Sequence[str], values: Sequence[Any]) -> Any:
        """The value for one row. Raises AgradError."""
        self.names.update(zip(names, values, strict=True))
        value = self.machine.run(self.code)
        if not isinstance(value, float | Tensor):
            raise self._no_number(describe(value))
        if isinstance(value, Tensor) and value.shape:
            raise self._no_number(
                f"an array of shape {format_shape(value.shape)}", [f"add its entries up: sum({self.text})"]
            )
        return value

    def _no_number(self, what: str, fixes: Sequence[str] = ()) -> AgradError:
        message = f"a row must have one number as its value, and this is {what}"
        return AgradError("type", message, labels=[Label(self.span)], fixes=fixes, of_all=True)


def _unheard(result: Result) -> None:
    """Where notes go: what is worth a note in one row would be one in many."""


class Evaluation:
    """What computes pieces. `names`: the columns and constants that the expression is a function of; `wrt`: of these
    the ones to differentiate by. `backend` is asked when there are rows: to load machine code takes a while, in which
    more of them are read.
    """

    def __init__(
        self,
        session: Rowwise,
        names: Sequence[str],
        wrt: Sequence[str],
        backend: Callable[[], str],
        threads: int,
        tolerant: bool,
    ) -> None:
        self.session = session
        self.constants = {name: session.names[name] for name in wrt if name not in names}
        for name, value in self.constants.items():
            if not isinstance(value, float) and not (isinstance(value, Tensor) and not value.shape):
                raise AgradError("type", f"--wrt {name}: only by a number can rows be differentiated")
        self.names = [*names, *self.constants]
        self.wrt = wrt
        self.backend = backend
        self.threads = threads
        self.tolerant = tolerant
        self.compiled: Any = None
        self.done = self.failed = 0  # rows with results, and those whose value is an error
        self.first = False  # whether one of those was told of

    def __call__(self, piece: Piece) -> tuple[list[Numbers], Any]:
        """The value and the derivatives of each row, and which rows have none (None: all have). Raises AgradError."""
        given = [piece.columns[name] for name in self.names if name not in self.constants]
        given += [np.full(piece.rows, float(value)) for value in self.constants.values()]
        bad = np.zeros(piece.rows, dtype=np.bool_) if piece.bad is None else piece.bad.copy()
        rows = None if piece.bad is None else np.flatnonzero(~bad)
        results = [np.full(piece.rows, np.nan) for _ in range(1 + len(self.wrt))]
        count = piece.rows if rows is None else len(rows)
        waiting = [(0, count)]
        while waiting:
            start, stop = waiting.pop()
            if start == stop:
                continue
            some: Any = slice(start, stop) if rows is None else rows[start:stop]
            try:
                found = self._map([column[some] for column in given])
            except AgradError as problem:
                self.compiled = None  # which may be left with a half of what it was to learn
                if stop - start > 1:  # the first row that fails is somewhere in here
                    middle = (start + stop) // 2
                    waiting += [(middle, stop), (start, middle)]
                    continue
                row = start if rows is None else int(rows[start])
                self._refuse(problem, piece, row, [float(column[row]) for column in given])
                bad[row] = True
                continue
            for result, part in zip(results, found, strict=True):
                result[some] = part
            self.done += stop - start
        return results, bad if bad.any() else None

    def _refuse(self, problem: AgradError, piece: Piece, row: int, values: Sequence[float]) -> None:
        """Raise an error; one that is of this row with the row, unless that is tolerated."""
        if problem.kind in _OF_ALL or problem.facts.get("of_all"):
            raise problem
        self.failed += 1
        if self.tolerant and self.first and (self.done or self.failed < _ENOUGH):
            return  # to find the place of a row takes time
        where = piece.place(row)
        problem.labels += [Label(label.origin, "with this row") for label in where.get("labels", ())]
        told = ", ".join(f"{name} = {format_number(value)}" for name, value in zip(self.names, values, strict=True))
        problem.notes += [*where.get("notes", ()), *([f"where {told}"] if told else [])]
        problem.facts["row"] = True
        if not self.tolerant or self.first:
            raise problem
        self.first = True
        piece.problem = piece.problem or problem

    def _map(self, columns: list[Numbers]) -> list[Any]:
        """The value and derivatives of rows, which all of them have."""
        if not columns:
            return [float(self.session.row((), ()))]
        if self.compiled is None:
            self.compiled = self._compile([float(column[0]) for column in columns])
        values, slopes = self.compiled.map(*columns, threads=self.threads)
        return [values, *slopes]

    def _compile(self, example: Sequence[float]) -> Any:
        from agrad.engine.compile import compile as compiled  # here: an error in a name needs none of it

        def of_row(*values: Any) -> Any:
            return self.session.row(self.names, values)

        return compiled(of_row, *example, wrt=[self.names.index(name) for name in self.wrt], backend=self.backend())
