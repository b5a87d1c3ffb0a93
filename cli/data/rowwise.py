"""An expression over the rows of a table: its value and derivatives in each, a row being the unit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from agrad.cli.arguments.expression import noted
from agrad.cli.data.tables import Numbers, Piece, Table
from agrad.engine.core.context import current
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Label
from agrad.engine.values import describe, format_number, format_shape, np
from agrad.grammar.diagnostics import Source
from agrad.grammar.results import Result
from agrad.grammar.runtime.builtins import CONSTANTS, FUNCTIONS
from agrad.grammar.runtime.bytecode import Code, Do
from agrad.grammar.runtime.compiler import compile_expression
from agrad.grammar.runtime.errors.name_errors import unknown
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.parser import RESERVED, parse_expression

_T = TypeVar("_T")
_OF_ALL = frozenset({"name", "syntax", "arity", "guard", "limit"})  # kinds of errors that no other row is free of
_HOPELESS = 1000  # rows: if there are so many, and none has a value, what is wrong is not the rows
_FEW = 64  # rows that are computed one by one where a program of them fails
_CHANCE = re.compile(r"\brandn?\b")  # what draws random numbers has one of these words in it
_NONE = "# no machine code: "  # how the code of a program begins that has none


class Rowwise(Session):
    """A session with one expression. Names are columns of a table, or constants that -D gives."""

    def read(self, text: str) -> None:
        """Take the expression. Raises AgradError."""
        expression = self._read(parse_expression, Source("expression", text))
        self.text, self.span = text, expression.span
        self.draws = _CHANCE.search(text) is not None
        self.chance: Any = None  # where the random numbers of each row begin
        self.numbers: dict[str, float] = {}  # the constants that are numbers
        self.code: Code = compile_expression(expression)

    def give(self, constants: Mapping[str, str]) -> None:
        """Let names stand for values, each computed from those before it. Raises AgradError."""
        for name, text in constants.items():
            with noted(f"-D {name}={text}"):
                if name in RESERVED:
                    raise AgradError("syntax", f"{name} is a word of agrad; choose another name")
                self.names[name] = value = self.evaluate(text)
                if isinstance(value, float):
                    self.numbers[name] = value

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
        if self.draws:
            self._draw_again()
        value = self.machine.run(self.code)
        if not isinstance(value, float | Tensor):
            raise self._no_number(describe(value))
        if isinstance(value, Tensor) and value.shape:
            raise self._no_number(
                f"an array of shape {format_shape(value.shape)}", [f"add its entries up: sum({self.text})"]
            )
        return value

    def alone(self, names: Sequence[str], values: Sequence[float], wrt: Sequence[str]) -> list[float]:
        """The value for one row and its derivatives, as `eval` computes them: without a program. Raises AgradError."""
        given = self.numbers | dict(zip(names, values, strict=True))
        try:
            return self._alone(given, wrt, wrt)
        except AgradError as problem:
            if problem.kind != "grad":
                raise
            return self._alone(given, wrt, list(given))  # it differentiates inside, by what `eval` makes leaves of
        finally:
            self.names.update(self.numbers)

    def _alone(self, given: Mapping[str, float], wrt: Sequence[str], leaves: Sequence[str]) -> list[float]:
        from agrad.engine.program.trace import gradients  # here: most rows are computed by what is loaded later

        xs = {name: tensor(value, requires_grad=name in leaves) for name, value in given.items()}
        for name, x in xs.items():
            x.name = name
        current().guard = None  # the choices in other rows decide nothing here
        value = self.row(list(xs), list(xs.values()))
        graph = value if isinstance(value, Tensor) else tensor(value)
        return [float(x.value) for x in (graph, *gradients(graph, [xs[name] for name in wrt]))]

    def _draw_again(self) -> None:
        """Let what is drawn at random in a row be what was drawn in the first."""
        source = self.context.random
        if source.generator is None:
            source.generator = np.random.default_rng()
        if self.chance is None:
            self.chance = source.generator.bit_generator.state
        source.generator.bit_generator.state = self.chance

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
        self.programs = True  # whether there can be any
        self.why = ""  # what the last one said that could not be made, or failed
        self.done = self.failed = 0  # rows with results, and those whose value is an error
        self.first: AgradError | None = None  # of those

    def __call__(self, piece: Piece) -> tuple[list[Numbers], Any]:
        """The value and the derivatives of each row, and which rows have none (None: all have). Raises AgradError."""
        given = [piece.columns[name] for name in self.names if name not in self.constants]
        given += [np.full(piece.rows, float(value)) for value in self.constants.values()]
        bad = np.zeros(piece.rows, dtype=np.bool_) if piece.bad is None else piece.bad.copy()
        rows = None if piece.bad is None else np.flatnonzero(~bad)
        results = [np.full(piece.rows, np.nan) for _ in range(1 + len(self.wrt))]
        waiting = [(0, piece.rows if rows is None else len(rows))]
        while waiting:
            start, stop = waiting.pop()
            if start == stop:
                continue
            some: Any = slice(start, stop) if rows is None else rows[start:stop]
            columns = [column[some] for column in given]
            found = self._by_program(columns)
            if found is None and self.programs and stop - start > _FEW:  # some row in here fails
                middle = (start + stop) // 2
                waiting += [(middle, stop), (start, middle)]
                continue
            if found is None:
                places = np.arange(start, stop) if rows is None else some
                found = self._one_by_one(piece, places, columns, bad)
            for result, part in zip(results, found, strict=True):
                result[some] = part
        self.done += piece.rows - int(bad.sum())
        return results, bad if bad.any() else None

    def require_some(self) -> None:
        """Refuse an expression that has a value in none of many rows. Raises AgradError."""
        if self.first is not None and not self.done and self.failed >= _HOPELESS:
            raise self.first

    def without_machine_code(self) -> str:
        """Why the rows of late were computed without; empty if they were not."""
        if not self.programs:
            return self.why
        source = self.compiled.source("llvm").partition("\n")[0] if self.compiled is not None else ""
        return source.removeprefix(_NONE) if source.startswith(_NONE) else ""

    def _by_program(self, columns: list[Numbers]) -> list[Any] | None:
        """The value and derivatives of rows; None where one fails, or there is no program."""
        if not self.programs:
            return None
        try:
            if not columns:
                return self.session.alone((), (), ())
            if self.compiled is None:
                self.compiled = self._compile([float(column[0]) for column in columns])
            values, slopes = self.compiled.map(*columns, threads=self.threads)
        except AgradError as problem:
            self.compiled = None  # which may be left with a half of what it was to learn
            self.why = problem.message
            return None
        return [values, *slopes]

    def _compile(self, example: Sequence[float]) -> Any:
        from agrad.engine.compile import compile as compiled  # here: an error in a name needs none of it

        def of_row(*values: Any) -> Any:
            return self.session.row(self.names, values)

        return compiled(of_row, *example, wrt=[self.names.index(name) for name in self.wrt], backend=self.backend())

    def _one_by_one(self, piece: Piece, rows: Any, columns: list[Numbers], bad: Any) -> list[Numbers]:
        """The same without a program, which finds the rows that fail. If none does, there can be no program."""
        found = [np.full(len(rows), np.nan) for _ in range(1 + len(self.wrt))]
        good = True
        for place, row in enumerate(rows.tolist()):
            values = [float(column[place]) for column in columns]
            try:
                results = self.session.alone(self.names, values, self.wrt)
            except AgradError as problem:
                self._refuse(problem, piece, row, values)
                bad[row], good = True, False
                continue
            for column, result in zip(found, results, strict=True):
                column[place] = result
        self.programs = self.programs and not good
        return found

    def _refuse(self, problem: AgradError, piece: Piece, row: int, values: Sequence[float]) -> None:
        """Raise an error; one that is of this row with the row, unless that is tolerated."""
        if problem.kind in _OF_ALL or problem.facts.get("of_all"):
            raise problem
        self.failed += 1
        if self.first is not None:
            return  # to find the place of a row takes time
        where = piece.place(row)
        problem.labels += [Label(label.origin, "with this row") for label in where.get("labels", ())]
        told = ", ".join(f"{name} = {format_number(value)}" for name, value in zip(self.names, values, strict=True))
        problem.notes += [*where.get("notes", ()), *([f"where {told}"] if told else [])]
        problem.facts["row"] = True
        if not self.tolerant:
            raise problem
        self.first = problem
        piece.problem = piece.problem or problem
