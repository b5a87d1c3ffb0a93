"""An expression over the rows of a table: its value and its derivatives in each row.

The table comes as plain data: names of columns, arrays of numbers. This module neither reads the table nor writes the
results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from agrad.engine.compile import compile as compiled
from agrad.engine.compile.registry import NATIVE, load
from agrad.engine.core.context import current
from agrad.engine.core.graph import reachable
from agrad.engine.core.op import Signature
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Facts, Label, Note
from agrad.engine.program.trace import gradients
from agrad.engine.units.quantity import Scale
from agrad.engine.values import Array, describe, format_number, format_shape, has_nan, np
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.elsewhere import SCHOOL
from agrad.grammar.results import uncertainty_of
from agrad.grammar.run.machine import Machine
from agrad.grammar.runtime.builtins import CONSTANTS, FUNCTIONS, RANDOM, entry_of
from agrad.grammar.session.inputs import refuse_call, require_free
from agrad.grammar.session.session import Session
from agrad.grammar.syntax import units
from agrad.grammar.syntax.ast import (
    Binary,
    Call,
    Conversion,
    List,
    Name,
    Quantity,
    Starred,
    String,
    Tuple,
    loads,
    nodes,
    replaced,
    standing_for,
)
from agrad.grammar.syntax.parser import parse_expression
from agrad.grammar.values.lists import settled
from agrad.lazy import pattern

Place = Callable[[int], Mapping[str, Any]]  # the labels and the notes with which an error names a row


class EveryRow(Facts):
    """An error that each row has, so that none need be tried after it."""


class AlongRows(EveryRow):
    """A function along an axis, of one number: `text`, which was probably meant for a whole column."""

    text: str


class RowMachine(Machine):
    """Runs an expression in which each name is one number of a row."""

    in_row = False  # whether a row is computed, and not the value of a constant

    def adapter(self, function: Any) -> Any:
        """A function of the engine as the language calls it: each call is looked at."""
        return lambda *args: self.called(function, args, {}, self.here())

    def helper(self, name: str) -> Any:
        """What the code calls by a name: here, too, no function of the engine directly."""
        found = super().helper(name)
        return self.adapter(found) if name[:4] == ".op " else found

    def invoke(self, function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Call a function of the table."""
        if self.in_row and len(args) == 1:
            self.require_entries(function, args[0])
        return super().invoke(function, args, keywords)

    def require_entries(self, function: Any, x: Any) -> None:
        """Refuse a function along an axis, such as `mean`, of one number: it would see that, and not the column.

        Raises AgradError of kind `shape`.
        """
        entry = entry_of(function)
        form: Signature | None = entry.signature if entry is not None else getattr(function, "form", None)
        if form is None or form.variadic or "axis" not in form.attributes:
            return
        if isinstance(x, float) or (isinstance(x, Tensor) and not x.shape):
            span = self.here()
            message = f"{span.text} would see one number: each row is computed by itself"
            notes = ["for several columns, pass a list: sum([x, y])"]
            raise AgradError("shape", message, labels=[Label(span)], notes=notes, facts=AlongRows(span.text))


_NUMBER = Scale()
_OF_ALL = frozenset(
    {"name", "syntax", "arity", "guard", "limit", "extra", "unit"}
)  # kinds of errors that every row has
_HOPELESS = 1000  # rows: if so many fail, and none succeeds, the expression is wrong and not the rows
_FEW = 64  # rows that are computed one by one where compiled code fails on them
_BACKTICKS = pattern(r"`([^`\"\n]+)`")
_CERTAIN = "the rows of a table are computed with numbers, and this would lose its uncertainty: columns may have one"
_NONE = "# no machine code: "  # the first words of compiled code that is no machine code


def listed_items(text: str) -> list[str] | None:
    """The texts of the entries of an expression that is a list or a tuple; None of any other. Raises AgradError."""
    node = parse_expression(Source("expression", _BACKTICKS.sub(r'"\1"', text)))
    if not isinstance(node, List | Tuple) or any(isinstance(item, Starred) for item in node.items):
        return None
    return [item.span.text for item in node.items]


class Rowwise(Session):
    """A session with one expression. Names are columns of a table, or constants."""

    machine: RowMachine

    def __init__(self) -> None:
        super().__init__()
        self.machine = RowMachine(self)
        self.measured = False  # whether columns have units
        self.scales: dict[str, Scale] = {}  # those of columns and constants
        self.result = Scale()

    def read(self, text: str) -> None:
        """Parse the expression, in which a column of any name may stand in quotes or backticks. Raises AgradError."""
        expression = self._parsed("expression", _BACKTICKS.sub(r'"\1"', text))
        self.by = ""  # the column by which it is differentiated before all else; none if empty
        self.text, self.span = text, expression.span
        self.draws = RANDOM.search(text) is not None
        self.random_state: Any = None  # with which the random numbers of each row begin
        self.numbers: dict[str, float] = {}  # the constants that are numbers, in their units
        self.values: dict[str, Any] = {}  # of all constants
        self._use(expression)

    def _parsed(self, name: str, text: str) -> Any:
        """The tree of an expression."""
        tree = self._read(parse_expression, Source(name, text))
        uncertain = [one for one in nodes(tree) if isinstance(one, Binary) and one.op[0] == "±"]
        if uncertain:
            raise AgradError("type", _CERTAIN, labels=[Label(uncertain[0].span)])
        return tree

    def is_measured(self, known: Collection[str]) -> bool:
        """Whether a unit is in the expression, or in what is given; names of columns behind numbers are none."""
        self._use(units.bound(self.expression, {*known, *self.names}))
        return bool(self.scales) or any(isinstance(one, Quantity | Conversion) for one in nodes(self.expression))

    def seed(self, seed: int) -> None:
        """Let the random numbers be those of a seed: of the constants, and of each row."""
        self.context.random.generator = np.random.default_rng(seed)

    def _use(self, expression: Any) -> None:
        self.expression = expression
        self.code = self.machine.expression(expression)

    def tie(self, texts: Mapping[str, str]) -> None:
        """Let names stand for expressions, each of which may have those before it. Raises AgradError."""
        ties: dict[str, Any] = {}
        for name, text in texts.items():
            ties[name] = replaced(self._parsed(name, text), standing_for(ties))
        self._use(replaced(self.expression, standing_for(ties)))

    def name_columns(self, known: Collection[str]) -> None:
        """Let texts in the expression that are names of columns stand for these."""

        def column(node: Any) -> Any:
            return Name(node.value, span=node.span) if isinstance(node, String) and node.value in known else None

        self._use(replaced(self.expression, column))

    def whole_columns(self, functions: Collection[str], found: dict[str, tuple[str, Rowwise]]) -> None:
        """Take calls of these functions, of one column or expression each, out of the expression.

        Each becomes a name, the text of the call, which is to be given its value; `found` has for it the function and
        the expression it is called with. Raises AgradError of kind `syntax` for a call inside of another.
        """

        def call(node: Any) -> Any:
            if not (isinstance(node, Call) and isinstance(node.function, Name) and node.function.id in functions):
                return None
            text = node.span.text
            if len(node.arguments) != 1 or node.keywords:
                message = f"{text}: of a whole column, {node.function.id} has one argument"
                raise AgradError("arity", message, labels=[Label(node.span)])
            inner = Rowwise()
            inner.read(node.arguments[0].span.text)
            inside: dict[str, tuple[str, Rowwise]] = {}
            inner.whole_columns(functions, inside)
            if inside:
                message = f"{text}: a function of a whole column inside of another"
                raise AgradError("arity", message, labels=[Label(node.span)])
            found.setdefault(text, (node.function.id, inner))
            return Name(text, span=node.span)

        self._use(replaced(self.expression, call))

    def give(self, name: str, text: str) -> None:
        """Give a name the value of an expression, the same for every row. Raises AgradError."""
        require_free(name)
        self.names[name] = value = self.evaluate(text, is_given=True)
        if uncertainty_of(value) is not None:
            raise AgradError("type", _CERTAIN)
        scale = Scale()
        number = scale.numbers(value)
        if scale.text():
            self.scales[name] = scale
            number = number if number.shape else number.item()
        if isinstance(number, float):
            self.numbers[name] = number
        self.values[name] = value

    def columns(self, known: Collection[str], wrt: Sequence[str]) -> Iterator[tuple[str, Span | None]]:
        """The columns that the expression uses or is differentiated by, in order, and the place of each in it.

        They need not be among those `known`. Raises AgradError of kind `name` for the call of an unknown function.
        """
        for one in loads(self.expression):
            name = one.id
            if name in self.names or name in FUNCTIONS or (name in SCHOOL and name not in known):
                continue
            if name not in known:
                refuse_call(name, one.span, known)
            if name in known or name not in CONSTANTS:
                yield name, one.span
        for name in wrt:
            if name not in self.names:
                yield name, None

    def row(self, names: Sequence[str], values: Sequence[Any]) -> Any:
        """The value for one row. Raises AgradError."""
        given = dict(zip(names, values, strict=True))
        value = self.value(given)
        if self.measured:
            value = self.result.numbers(value)
        if self.by:
            value = self._slope(value, given[self.by])
        is_array = isinstance(value, Tensor) and value.shape
        if is_array or not isinstance(value, float | Tensor):
            what = f"an array of shape {format_shape(value.shape)}" if is_array else describe(value)
            fixes = [f"add its entries up: sum({self.text})"] if is_array else []
            message = f"a row must have one number as its value, and this is {what}"
            raise AgradError("type", message, labels=[Label(self.span)], fixes=fixes, facts=EveryRow())
        return value

    def value(self, given: Mapping[str, Any], unknown: Mapping[str, Any] = MappingProxyType({})) -> Any:
        """The value for numbers of columns in their units, and others whose units are not known. Raises AgradError."""
        current().place = None  # the numbers of a row are not made in the text of the last one
        self.names.update({**given, **unknown})
        if self.measured:
            self.names.update({name: self.scales.get(name, _NUMBER).of(x, name) for name, x in given.items()})
        if self.draws:
            self._draw_again()
        self.machine.in_row = True
        try:
            value = settled(self.machine.run(self.code))
        finally:
            self.machine.in_row = False
        return float(value) if isinstance(value, bool) else value  # of a comparison of constants

    def _slope(self, value: Any, x: Any) -> Any:
        """The derivative of the value by what `by` names, with its graph; 0 where it does not depend on it."""
        if not (isinstance(value, Tensor) and isinstance(x, Tensor)):
            return 0.0
        return value if value.shape else gradients(value, [x])[0]

    def alone(self, names: Sequence[str], values: Sequence[float], wrt: Sequence[str]) -> list[float]:
        """The value for one row and its derivatives, computed without compiled code. Raises AgradError."""
        given = self.numbers | dict(zip(names, values, strict=True))
        try:
            return self._alone(given, wrt, wrt)
        except AgradError as problem:
            if problem.kind != "grad":
                raise
            return self._alone(given, wrt, list(given))  # the expression differentiates by its names

    def _alone(self, given: Mapping[str, float], wrt: Sequence[str], leaves: Sequence[str]) -> list[float]:
        xs, value = self._with_graph(given, leaves)
        graph = value if isinstance(value, Tensor) else tensor(value)
        return [float(x.value) for x in (graph, *gradients(graph, [xs[name] for name in wrt]))]

    def _with_graph(self, given: Mapping[str, float], leaves: Sequence[str]) -> tuple[dict[str, Tensor], Any]:
        """The numbers of a row as arrays, some of them leaves, and its value with its graph. Raises AgradError."""
        xs = {name: tensor(value, requires_grad=name in leaves) for name, value in given.items()}
        for name, x in xs.items():
            x.name = name
        current().guard = None  # the guards of other rows say nothing about this one
        try:
            return xs, self.row(list(xs), list(xs.values()))
        finally:
            self.names.update(self.numbers | self.values)

    def undefined_in(self, names: Sequence[str], values: Sequence[float]) -> Span | None:
        """The part of the expression in which nan begins for these values, if it is found in the graph."""
        try:
            _, value = self._with_graph(dict(zip(names, values, strict=True)), names)
        except AgradError:  # such as of a derivative inside, by a name that is a leaf here
            return None
        nodes = reachable(value.node) if isinstance(value, Tensor) else ()
        first = min((node for node in nodes if has_nan(node.value)), key=lambda node: node.seq, default=None)
        return first.origin if first is not None and isinstance(first.origin, Span) else None

    def _draw_again(self) -> None:
        """Let a row draw the same random numbers as the first row."""
        source = self.context.random
        if source.generator is None:
            source.generator = np.random.default_rng()
        if self.random_state is None:
            self.random_state = source.generator.bit_generator.state
        source.generator.bit_generator.state = self.random_state


def backend_missing(name: str) -> AgradError | None:
    """The error that says what to install for a backend; None where it can be used."""
    try:
        load(name).require()
    except AgradError as problem:
        return problem
    return None


def hopeless(done: int, failed: int) -> bool:
    """Whether an expression is wrong, and not its rows: many failed, and none had a value."""
    return not done and failed >= _HOPELESS


@dataclass(eq=False)
class Evaluation:
    """Computes an expression on columns of numbers, some rows at a time.

    `names`: the columns that it is a function of. `wrt`: what to differentiate by: of these, and of the constants of
    the session. `backend` is called when there are rows, since loading machine code takes a while. `tolerant`: an error
    in a row leaves its results empty; else it is raised.
    """

    session: Rowwise
    names: Sequence[str]
    wrt: Sequence[str]
    backend: Callable[[], str]
    threads: int
    tolerant: bool

    def __post_init__(self) -> None:
        given = self.session.names | self.session.numbers
        self.constants = {name: given[name] for name in self.wrt if name not in self.names}
        for name, value in self.constants.items():
            if not isinstance(value, float) and not (isinstance(value, Tensor) and not value.shape):
                raise AgradError("type", f"rows are differentiated with respect to numbers only, and {name} is not one")
        self.names = [*self.names, *self.constants]
        self.original: Any = None  # what was compiled for an example, to begin with
        self.restart()

    def restart(self) -> None:
        """Begin anew: what the next rows give, bit for bit, does not depend on those before."""
        self.compiled: Any = self.original
        if self.original is not None:
            self.original.restart()
        self.compiles = True  # whether the expression can be compiled at all
        self.why = ""  # the message of the last error while it was compiled, or run
        self.done = self.failed = 0  # rows with results, and rows whose value is an error
        self.first: AgradError | None = None  # of those
        self.undefined = 0  # rows whose value is nan, though none of their numbers is
        self.first_undefined: Note | None = None

    def prepare(self, example: Mapping[str, float]) -> None:
        """Compile the expression once, at an example of a row; `restart` goes back to that.

        Where it has no value there, it is compiled for the rows as they come.
        """
        columns = [np.array([example[name]]) for name in self.names if name not in self.constants]
        columns += [np.array([float(value)]) for value in self.constants.values()]
        if columns and self._compiled(columns) is not None:
            self.original = self.compiled
        self.restart()

    def __call__(self, given: Mapping[str, Any], count: int, unread: Any, place: Place) -> tuple[list[Array], Any]:
        """The value and the derivatives of each row, and a mask of the rows that have none (None: all have some).

        `given`: the columns, with `count` rows; `unread`: a mask of the rows that could not be read, or None; `place`:
        the labels and the notes with which an error names a row. Raises AgradError.
        """
        columns = [given[name] for name in self.names if name not in self.constants]
        columns += [np.full(count, float(value)) for value in self.constants.values()]
        bad = np.zeros(count, dtype=np.bool_) if unread is None else unread.copy()
        rows = None if unread is None else np.flatnonzero(~bad)
        results = [np.full(count, np.nan) for _ in range(1 + len(self.wrt))]
        waiting = [(0, count if rows is None else len(rows))]
        while waiting:
            start, stop = waiting.pop()
            if start == stop:
                continue
            some: Any = slice(start, stop) if rows is None else rows[start:stop]
            parts = [column[some] for column in columns]
            found = self._compiled(parts)
            if found is None and self.compiles and stop - start > _FEW:  # one of these rows fails
                middle = (start + stop) // 2
                waiting += [(middle, stop), (start, middle)]
                continue
            if found is None:
                places = np.arange(start, stop) if rows is None else some
                found = self._one_by_one(places, parts, bad, place)
            for result, part in zip(results, found, strict=True):
                result[some] = part
        self.done += count - int(bad.sum())
        self._count_undefined(columns, results[0], bad, place)
        return results, bad if bad.any() else None

    def _count_undefined(self, columns: list[Array], values: Array, bad: Any, place: Place) -> None:
        """Count the rows whose value is nan, though none of their numbers is, and keep where the first is."""
        found = np.isnan(values) & ~bad
        if not found.any() or any(math.isnan(value) for value in self.session.numbers.values()):
            return
        for column in columns:
            found &= ~np.isnan(column)
        self.undefined += int(found.sum())
        if self.first_undefined is None and found.any():
            row = int(np.argmax(found))
            given = [float(column[row]) for column in columns]
            span = self.session.undefined_in(self.names, given)
            labels, notes = self._told(place(row), given, "in this row")
            labels = labels if span is None else [Label(span), *labels]
            self.first_undefined = Note("a value is nan", labels, notes=notes)

    def _told(self, where: Mapping[str, Any], values: Sequence[float], text: str) -> tuple[list[Label], list[str]]:
        """The labels and notes that name a row: where it is, and its numbers."""
        pairs = zip(self.names, values, strict=True)
        told = ", ".join(f"{name} = {format_number(value)}" for name, value in pairs)
        labels = [Label(label.origin, text) for label in where.get("labels", ())]
        return labels, [*where.get("notes", ()), *([f"where {told}"] if told else [])]

    def without_machine_code(self) -> str:
        """Why the last rows were computed without machine code; empty if they were not."""
        if not self.compiles:
            return self.why
        source = self.compiled.source(NATIVE).partition("\n")[0] if self.compiled is not None else ""
        return source.removeprefix(_NONE) if source.startswith(_NONE) else ""

    def _compiled(self, columns: list[Array]) -> list[Any] | None:
        """The value and derivatives of rows by compiled code; None where one fails, or there is no such code."""
        if not self.compiles:
            return None
        try:
            if not columns:
                return self.session.alone((), (), ())
            if self.compiled is None:
                self.compiled = self._compile([float(column[0]) for column in columns])
            values, slopes = self.compiled.map(*columns, threads=self.threads)
        except AgradError as problem:
            self.compiled = None  # it may be incomplete
            self.why = problem.message
            return None
        return [values, *slopes]

    def _compile(self, example: Sequence[float]) -> Any:
        def of_row(*values: Any) -> Any:
            return self.session.row(self.names, values)

        return compiled(of_row, *example, wrt=[self.names.index(name) for name in self.wrt], backend=self.backend())

    def _one_by_one(self, rows: Any, columns: list[Array], bad: Any, place: Place) -> list[Array]:
        """The same without compiled code, row by row. If none fails, the expression cannot be compiled."""
        found = [np.full(len(rows), np.nan) for _ in range(1 + len(self.wrt))]
        good = True
        for position, row in enumerate(rows.tolist()):
            values = [float(column[position]) for column in columns]
            try:
                results = self.session.alone(self.names, values, self.wrt)
            except AgradError as problem:
                self._refuse(problem, values, partial(place, row))
                bad[row], good = True, False
                continue
            for column, result in zip(found, results, strict=True):
                column[position] = result
        self.compiles = self.compiles and not good
        return found

    def _refuse(self, problem: AgradError, values: Sequence[float], place: Callable[[], Mapping[str, Any]]) -> None:
        """Raise an error, unless it is tolerated; an error of this row alone says which row it is."""
        if problem.kind in _OF_ALL or isinstance(problem.facts, EveryRow):
            raise problem
        self.failed += 1
        if self.first is not None:
            return  # finding the place of a row takes time
        labels, notes = self._told(place(), values, "with this row")
        problem.labels += labels
        problem.notes += notes
        problem.row = True
        if not self.tolerant:
            raise problem
        self.first = problem
