"""`Session`: names, settings, and the running of statements. It never prints.

A statement that fails, or is interrupted, leaves everything as it was: names, values, gradients, graphs, settings and
the random generator.
"""

from __future__ import annotations

import re
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import agrad
from agrad.engine import autodiff, units
from agrad.engine.core.context import (
    Context,
    Limits,
    UndoLog,
    current,
    enter,
    exhausted,
    remember_entry,
    remember_random,
    restored,
)
from agrad.engine.core.graph import Guard, Units, collect
from agrad.engine.core.guards import joined
from agrad.engine.core.numpy_warnings import Silence
from agrad.engine.core.op import FUNCTIONS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Label, Note
from agrad.engine.text import printable
from agrad.engine.values import np
from agrad.grammar import run, runtime, syntax
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.results import Noted, Plot, Printed, Quit, Result, Settings, unheard
from agrad.grammar.run.machine import Machine
from agrad.grammar.runtime.budget import TimeUp, Watch
from agrad.grammar.runtime.builtins import Closure, Loop
from agrad.grammar.runtime.notes import note_on_nan, of_second_order
from agrad.grammar.session.log import BLOCKS, DEPTH, Listener, OutputBuffer, SessionLog, Step, Steps, asks, together
from agrad.grammar.syntax import ast
from agrad.grammar.syntax.parser import parse_expression
from agrad.grammar.values.lists import List, parts_of, settled
from agrad.lazy import pattern

if TYPE_CHECKING:
    from agrad.grammar.commands.registry import Command, Emit

_T = TypeVar("_T")
_FEW = 10_000  # entries, which are looked at in some microseconds
_TOLD = 100  # notes


def _is_special(value: Any) -> bool:
    """Whether a result is nan or infinite, or an array with such an entry, if it is not large."""
    number = value.value if type(value) is Tensor else value
    if type(number) is float:
        return number - number != 0.0
    return type(value) is Tensor and value.size <= _FEW and not np.isfinite(number).all()


def _is_told(note: Note, span: Any, fixes: Sequence[str]) -> bool:
    """Whether a note is on a part of what another was on, and has nothing to add."""
    if not note.labels or note.labels[0].text or not set(fixes).issuperset(note.fixes):
        return False
    place = note.labels[0].origin
    if not isinstance(place, Span) or not isinstance(span, Span) or place.source is not span.source:
        return False
    return span.start <= place.start <= place.end <= span.end


def _fixes_of(value: Any) -> Sequence[str]:
    """What to write in the place of the operation that made an infinite value, if it is known."""
    note = autodiff.anomalies.on_values(collect([value.node])) if isinstance(value, Tensor) else None
    return note.fixes if note is not None else []


def _is_infinite(value: Any) -> bool:
    """Whether a result is infinite, or an array with such an entry, if it is not large."""
    return _is_special(value) and bool(np.isinf(value.value if type(value) is Tensor else value).any())


_COMPARED = pattern(r"(?:^|[;\n])[ \t]*(([^\W\d]\w*)[ \t]*<-[ \t]+([^;#\n]*[^;#\s]))")


def _note_arrow(text: str, emit: Emit) -> None:
    """Note `x <- 3`, which compares as in Python, and gives x a value in R."""
    found = _COMPARED.search(text) if "<- " in text else None
    if found:
        value = found[3] if re.fullmatch(r"[\w.]+", found[3]) else f"({found[3]})"
        message = f"{found[1]} compares {found[2]} with -{value}, as in Python"
        emit(Noted(Note(message, notes=["a value is given by ="], fixes=[f"{found[2]} = {found[3]}"])))


def _note_sign(text: str, emit: Emit) -> None:
    """Note `2+-0.1`, which is a sum as in Python, and might mean an uncertainty."""
    found = re.match(r"""[^"'~]*?(?<![\w.])(([\d.]+)\+-([\d.]+))""", text) if "+-" in text else None
    if found:
        message = f"{found[1]} is {found[2]} + (-{found[3]}), as in Python"
        fixes = [f"{found[2]} +/- {found[3]}"]
        emit(Noted(Note(message, notes=["an uncertainty has spaces around the sign"], fixes=fixes)))


_COMMA = re.compile(r"(?<![\w.])(?<!\d,)(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}\.\d{3},\d+|\d+,\d+)(?![\d,.])")
_IN_BRACKETS = re.compile(r"round\(|(?<![\w.,])[1-9]\d{0,2},\d{3}\.\d+(?![\w.,])")  # where other commas are usual


def _takes_two(function: Any) -> bool:
    """Whether a function needs two values, so that a call with two is meant so."""
    definition, signature = getattr(function, "definition", None), getattr(function, "signature", None)
    if definition is not None:
        return len(definition.parameters) - len(definition.defaulted) > 1
    return signature is not None and len(signature.operands) > 1


def _note_comma(value: Any, whole: Span, names: Mapping[str, Any], emit: Emit) -> None:
    """Note `1,5+1`, `1.000,50` and `1,000.50`: two values that might mean a number with a decimal comma, or thousands.

    `whole`: the statement whose value it is; `names`: those that have values.
    """
    spans = [value.span] if isinstance(value, ast.Tuple) else []
    for node in ast.nodes(value) if _IN_BRACKETS.search(whole.text) else ():
        match node:
            case ast.Call(ast.Name("round"), (ast.Number(span=x), ast.Number(span=y))) if x.text.isdecimal():
                spans.append(Span(x.source, x.start, y.end))  # a whole number, which there is nothing to round of
            case ast.Call(ast.Name(name), (_, _)) if _takes_two(names.get(name, FUNCTIONS.get(name))):
                pass  # `atan2(1,234.5)`
            case ast.Call(_, entries) | ast.List(entries):
                between = [Span(x.span.source, x.span.start, y.span.end) for x, y in pairwise(entries)]
                spans += [span for span in between if _IN_BRACKETS.fullmatch(span.text)]
    for span in spans:
        found = _COMMA.search(span.text)
        if not found or re.search(r"[(\[{\"']", span.text[: found.start()]):
            continue
        number = found[1]
        texts = [number.replace(",", "")] * bool(re.fullmatch(r"[1-9]\d{0,2}(,\d{3})+(\.\d+)?", number))
        is_decimal = number.count(",") == 1 and "." not in number[number.index(",") :]
        texts = [number.replace(".", "").replace(",", ".")] * is_decimal + texts
        start = span.start - whole.start
        fixes = [whole.text[: start + found.start()] + text + whole.text[start + found.end() :] for text in texts]
        why = "the decimal mark is a point" if is_decimal or not texts else "commas between thousands are not read"
        message = f"{number} is {'two' if number.count(',') == 1 else 'several'} numbers: {why}"
        emit(Noted(Note(message, labels=[Label(span)], fixes=fixes)))


class Session:
    """The names of a session, and the record of its statements."""

    def __init__(self) -> None:
        self.context = Context(current().limits.copy())  # each statement runs in one derived from it
        self.names: dict[str, Any] = {}
        self.settings = self.context.settings = Settings()
        self.last: tuple[Any, ...] = ()  # the last answer
        self.computed: dict[str, runtime.notes.Computed] = {}  # names of numbers, by what they were computed
        self.chosen: dict[str, Guard] = {}  # the names whose values depend on a guard
        self.watch = Watch(self.context.limits)
        self.machine = Machine(self)
        self.steps = Steps()  # what `undo` can take back
        self.record = SessionLog(self.context)  # the statements in effect
        self.emit: Emit = unheard
        # Where something infinite or nan was told of lately, with the fixes.
        self.told: deque[tuple[Any, Sequence[str]]] = deque(maxlen=_TOLD)
        self.line = 1  # the number of the next text of the session: of its first line, or of what is entered at once
        self.by_entry = False  # whether what is entered at once has one number, as at a prompt that shows it
        self.reads_python = False  # whether what is typed is read as Python, as it is from an import on
        self.has_python = False  # whether the values of names are those that Python has, not the calculator's
        self.shows = False, False  # whether an expression of Python shows its value; whether the last one of a text
        self.compiles = True  # whether loops with many iterations are compiled
        self.loading: list[str] = []  # the scripts that are running, each loaded by the one before it
        # Called when a loop begins; returns the iterator to use instead.
        self.progress: Callable[..., Iterator[Any]] | None = None
        self.fit: Any = None  # the latest, for `plot fit`
        self.constants: dict[str, Any] = {}  # of `use`, once they are wanted
        self.restoring = False  # whether the statements of an earlier session run again
        self._limits: dict[str, float] = {}  # as they were before they were set
        self._log: UndoLog | None = None  # of the statement that is running

    @property
    def commands(self) -> Mapping[str, Command]:
        """The commands of the language, which an expression does not need."""
        known: Mapping[str, Command] = agrad.grammar.commands.COMMANDS
        return known

    @cached_property
    def python(self) -> Machine:
        """The machine of Python's reading."""
        made: Machine = run.guards.Python(self)
        return made

    @property
    def answer(self) -> Any:
        """The last answer; None where there is none."""
        return self.last[0] if self.last else None

    def run(
        self,
        text: str,
        emit: Emit = unheard,
        source: str = "session",
        is_file: bool = False,
        report: Callable[[AgradError], None] | None = None,
    ) -> None:
        """Run statements, emitting each result as it is made.

        Raises AgradError (nothing runs if the text does not parse); the statement that failed has changed nothing,
        those before it stay. With `report`, which gets the error, the rest runs too. `quit` raises results.Quit.
        """
        by_python = self.reads_python and not is_file
        read = Source(source, text, 1 if is_file else self.line, is_file, self.by_entry and not is_file, by_python)
        self._pass(read)
        self.steps.running = read.first_line if read.is_entry else 0
        self.record.enter(read)
        try:
            self._run_all(read, emit, report)
        finally:
            self.record.entered(read)

    def _run_all(self, read: Source, emit: Emit, report: Callable[[AgradError], None] | None) -> None:
        """Run the statements of a text, as `run` does."""
        heard = Listener(self.record.transcript, read, emit, self.settings)
        try:
            statements = self._read(syntax.readings.parse, read)
        except AgradError as problem:
            heard.failed(problem)
            raise
        _note_sign(read.text, heard)
        _note_arrow(read.text, heard)
        self.loading = [read.name] if read.is_file else []
        with self._keeping(read.text, statements):
            try:
                for statement in statements:
                    heard.begin(statement.span)
                    given = statement.body[-1] if isinstance(statement, ast.Define) else statement
                    _note_comma(getattr(given, "value", None), statement.span, self.names, heard)
                    try:
                        self._run_statement(statement, heard)
                    except AgradError as problem:
                        heard.failed(problem)
                        if report is None:
                            raise
                        report(problem)
            finally:
                self._end_line(heard)

    def _end_line(self, emit: Emit) -> None:
        """Show what was printed without the end of its line."""
        outer, self.emit = self.emit, emit
        try:
            self.machine.end_line()
        finally:
            self.emit = outer

    def _pass(self, source: Source) -> None:
        """Continue at the number after that of a text that was typed; one that is blank is not counted at a prompt."""
        if source.is_entry:
            self.line = max(self.line, source.first_line + bool(source.text.strip()))
        elif not source.is_file:
            lines = source.text.count("\n") + (not source.text.endswith("\n"))
            self.line = max(self.line, source.first_line + lines)

    @contextmanager
    def _keeping(self, text: str, statements: Sequence[ast.Statement]) -> Iterator[None]:
        """Begin to keep what a text needs: the log, and what `undo` takes back."""
        depth, recorded = self.steps.depth, self.record.on
        commands = map(agrad.grammar.commands.registry.of, statements)
        if not depth and any(made is not None and made.needs == "undo" for made in commands):
            self.steps.depth = DEPTH
        self.record.on = recorded or asks(text)
        try:
            yield
        finally:
            self.loading = []
            if not depth:
                self.steps.turn_off()
            if not recorded:
                self.record.turn_off()

    def run_again(self, statement: ast.Statement, seed: int | None) -> None:
        """Run a statement of an earlier session, without output; `seed`: with which it seeded the random numbers."""
        source = statement.span.source
        self._pass(source)
        self.steps.running = source.first_line if source.is_entry else 0
        self.loading = [source.name] if source.is_file else []
        self.record.begin(seed)
        if not self.steps.redoing:
            self.record.transcript.restored(statement.span)
        try:
            self.all_at_once(lambda: self._do(statement), statement.span, unheard, statement)
        finally:
            self.loading = []

    def evaluate(self, text: str, emit: Emit = unheard, is_given: bool = False) -> Any:
        """The value of one expression: a float, a Tensor, a tuple, a text or None; notes go to `emit`.

        `is_given`: it is that of a name on the command line, where `3, 4` is an array. Raises AgradError.
        """
        expression = self._read(parse_expression, Source("expression", text))
        _note_sign(text, emit)
        _note_comma(expression, expression.span, self.names, emit)
        code = self.machine.expression(expression)

        def run() -> Any:
            self.machine.given = is_given
            try:
                value = self.machine.run(code)
            finally:
                self.machine.given = False
            return settled(List(value) if is_given and type(value) is tuple else value)

        value = self.all_at_once(run, expression.span, emit)
        of_second_order(value, expression.span, lambda note: emit(Noted(note)))
        return value

    def check(self, text: str, leaves: Sequence[Tensor], claims: Sequence[Tensor | None], emit: Emit) -> None:
        """Compare the derivatives of an expression by some leaves with differences, as the command does."""
        expression = self._read(parse_expression, Source("expression", text))
        check = agrad.grammar.commands.gradients.check
        self.all_at_once(lambda: check(self, expression, leaves, claims), expression.span, emit)

    def undo(self, count: int, emit: Emit = unheard) -> None:
        """Take back the last statements that changed something. Raises AgradError if there are not so many.

        The KeyboardInterrupt of a Ctrl-C says how many were taken back, if any were.
        """
        before = self.steps.units
        if count > before:
            raise self.steps.too_few(count)
        try:
            for _ in range(count):
                self._undo_together(emit)
        except KeyboardInterrupt:
            done = before - self.steps.units
            if not done:
                raise
            said = "undo is complete" if done == count else f"undo took back {done} of {count} statements"
            raise KeyboardInterrupt(said) from None

    def _undo_together(self, emit: Emit) -> None:
        """Take back the last line that was entered, or the last statement of a text; a Ctrl-C is raised after that."""
        steps, before, stopped = self.steps.last_together, len(self.steps), None
        gone = self.record.entries[steps[0].place :]
        try:
            self.take_back(before - len(steps))
        except KeyboardInterrupt as error:
            if len(self.steps) == before:
                raise
            stopped = error
        self.steps.undone.append(gone)
        emit(Printed(f"took back: {together(step.span for step in steps)}"))
        if stopped is not None:
            raise stopped

    def take_back(self, left: int) -> None:
        """Take back the last statements that changed something, until so many are left; a Ctrl-C comes after that."""
        stopped = None
        while len(self.steps) > left:
            try:
                step = self.steps.last
                self.last, self.chosen = step.last, step.chosen
                step.log.roll_back()
                self.record.cut(step.place)
                self.steps.drop(step.log)
            except KeyboardInterrupt as error:  # may be interrupted at any point: all of this can be done again
                stopped = error
        if stopped is not None:
            raise stopped

    def run_inside(self, source: Source) -> None:
        """Run the statements of a text as a part of the text that is running, each as a statement of its own."""
        for statement in self._read(syntax.readings.parse, source):
            self._run_statement(statement, self.emit)

    def forget(self) -> None:
        """Return to the state of a new session (names, random numbers, limits), as a part of the running statement."""
        log, before = current().undo_log, dict(self.names)
        if log is not None:
            log.remember(("forget", id(self.names)), partial(restored, self.names, before), before)
        remember_entry(vars(self.record), "results")
        self.names.clear()
        for name in [*self.context.units]:
            remember_entry(self.context.units, name)
            del self.context.units[name]
        self.read_python(False)
        self.record.results = deque()
        self.last, self.chosen, self.fit = (), {}, None
        remember_random(self.context.random)
        self.context.random.generator = None
        for name, amount in self._limits.items():
            self.limit(name, amount)

    def limit(self, name: str, amount: float) -> None:
        """Set the limit of `memory`, `time` or `nodes`, so that `undo` takes it back."""
        change = self.watch.allow if name == "memory" else partial(setattr, self.watch, name)
        log, before = current().undo_log, getattr(self.watch, name)
        if log is not None:
            log.remember((id(self.watch), name), partial(change, before))
        self._limits.setdefault(name, before)
        change(amount)

    def _read(self, reader: Callable[[Source], _T], source: Source) -> _T:
        """Parse a text within the time limit. Raises AgradError."""
        watch = self.watch
        watch.start()
        try:
            watch.running = True
            return enter(self.context, reader, source)
        except (RecursionError, MemoryError, TimeUp) as error:
            raise self._stopped(error, None) from None
        except AgradError as problem:
            problem.fixes = runtime.fixes.by_names(problem, self.names)
            raise
        finally:
            watch.running = False
            watch.stop()

    def _run_statement(self, statement: ast.Statement, emit: Emit) -> None:
        made = agrad.grammar.commands.registry.of(statement)
        if made is not None and made.alone:
            self._run_alone(made, statement, emit)
            return
        self.record.begin()
        self.all_at_once(lambda: self._do(statement), statement.span, emit, statement)

    def _run_alone(self, made: Command, node: Any, emit: Emit) -> None:
        """Run a command between two statements; its operands are numbers."""
        values = [operand.value for operand in node.operands if isinstance(operand, ast.Number)]
        outer, self.emit = self.emit, emit
        try:
            call = agrad.grammar.commands.Call(node, values, {}, self.names, node.span)
            made.run_alone(self, call)
        except RecursionError as error:  # of `again` in `again`
            raise self._stopped(error, None) from None
        finally:
            self.emit = outer

    def include(self, source: Source) -> None:
        """Run the statements of another script as a part of the running one; `quit` ends the script."""
        context = current()
        guard = context.guard
        self.loading.append(source.name)
        try:
            for statement in syntax.readings.parse(source):
                self._do(statement, guard)
        except Quit:
            pass
        finally:
            self.loading.pop()
            context.guard = guard

    def _do(self, statement: ast.Statement, guard: Guard | None = None) -> None:
        """Run a statement under the guards of the names that it uses, and of the statement that it is a part of."""
        if isinstance(statement, ast.Define) and isinstance(self.names.get(statement.name), Tensor | List):
            self._refuse_entry(statement)
        self.record.seed()
        machine = self.python if isinstance(statement, ast.Python) else self.machine
        by_python, is_file = syntax.readings.is_in_python(statement.span), statement.span.source.is_file
        if by_python is not self.has_python:
            runtime.crossing.cross(self, by_python)
        if isinstance(statement, ast.Evaluate | ast.Assign):
            statement = agrad.grammar.session.formulas.of_functions(statement, self.names)
        free = agrad.grammar.session.formulas.without_values(statement, self.machine)
        if free is not None:
            operand = ast.Unknowns((), statement.value, span=statement.value.span)  # type: ignore[attr-defined]
            statement = ast.Command("formula", (operand,), (), span=statement.span)
        code = machine.statement(statement)
        running, formula = current(), None
        match statement:
            case ast.Assign((ast.Name(name),), value):
                formula = runtime.notes.formula(value, self.names, self.computed)
        if self.chosen:
            guard = joined(guard, agrad.grammar.session.analysis.context(statement, self.chosen, self.names))
        running.guard = guard
        machine.run(code)
        if not is_file and isinstance(statement, ast.Evaluate | ast.Assign):
            named = statement.targets[0] if isinstance(statement, ast.Assign) else None
            made = self.answer if named is None else self.names.get(named.id) if isinstance(named, ast.Name) else None
            self.machine.tell(runtime.notes.of_power(statement.value, made, self.names))
        if formula is not None and not getattr(made := self.names[name], "shape", ()):
            self.computed[name] = formula._replace(value=weakref.ref(made) if isinstance(made, Tensor) else made)
        self.machine.tell(runtime.notes.of_constant(statement, self.names, self.computed))
        self.machine.tell(runtime.notes.of_near(statement))
        if free:
            told = f"{runtime.fixes.listed(free)} {'has' if len(free) == 1 else 'have'} no value"
            text = statement.span.text
            fix = f"{'var ' * ('grad(' in text)}{free[0]} = 1; {text}"
            self.emit(Noted(Note(f"{told}, and so this is a formula", fixes=[fix])))
        if by_python and isinstance(statement, ast.Variable):
            runtime.crossing.cross(self, True)  # the new leaf is a tensor of Python's
        if isinstance(statement, ast.Python) and not (is_file or self.reads_python):
            self.read_python(True)
            self.emit(Noted(Note("from here on this session reads Python; `calculator` goes back")))
        if self.chosen or running.guard is not None:
            self.chosen = agrad.grammar.session.analysis.after(statement, self.chosen, running.guard, self.names)

    def _refuse_entry(self, statement: ast.Define) -> None:
        """Raise AgradError for `x(i) = 5` of an array x, which may be meant for an entry."""
        found = re.match(r"(\w+)\s*\(([^()]*)\)\s*:?=", statement.span.text)
        if found is not None:
            rest = statement.span.text[found.end() :]
            fixes = [f"{found[1]}[{found[2]}] ={rest}", f"def {found[1]}({found[2]}) ={rest}"]
            message, labels = f"{found[1]} has a value, and is no function", [Label(statement.span)]
            raise AgradError("type", message, labels=labels, fixes=fixes)

    def read_python(self, is_on: bool) -> None:
        """Read what is typed as Python, or in the calculator's language."""
        remember_entry(vars(self), "reads_python")
        self.reads_python = is_on

    def all_at_once(
        self,
        action: Callable[[], _T],
        span: Span | None = None,
        emit: Emit = unheard,
        statement: ast.Statement | None = None,
    ) -> _T:
        """Run an action as one statement: all of it or nothing, within the limits.

        `span`: the place for its errors. A `statement` that succeeds is added to the log.
        """
        context, outer = self.context.derived(), current().limits
        # What numpy calls where an operation on arrays is not defined.
        context.silence = Silence(lambda kind, flag: agrad.engine.inspect.undefined.on_invalid(kind, flag))
        context.begun = span
        context.undefined = []
        result: _T = enter(context, self._all_or_nothing, action, span, emit, statement, outer)
        return result

    def _all_or_nothing(
        self, action: Callable[[], _T], span: Span | None, emit: Emit, statement: ast.Statement | None, limits: Limits
    ) -> _T:
        running, log, place = current(), UndoLog(self._log), len(self.record.entries)
        silence = running.silence
        before = self.last, self.settings.precision, self.chosen
        written = self.record.keeper is not None and statement is not None and not isinstance(statement, BLOCKS)
        held = OutputBuffer(emit, self.machine if written else None)
        running.listener = self._hear(held)
        around, watch = (self.emit, self._log, silence, syntax.depth.needed()), self.watch
        watch.start(span, limits)
        # From here to `try` nothing is called, so that no Ctrl-C can come in between.
        self.emit, self._log, running.undo_log = held, log, log
        watch.running = True
        try:
            silence.begin()
            result = action()
            if Units.exist:
                self._check_units(result, log, held, running.guard)
            self._tell_undefined(result, log, held, span, isinstance(statement, ast.Python))
            self.steps.keep(Step(span, log, before[0], before[2], place))
            if statement is not None:
                self.record.add(statement, self.last if self.last is not before[0] else ())
            held.release()
            self._end(*around)
            return result  # nothing is called after `_end`: a Ctrl-C before this line takes the statement back
        except BaseException as error:  # whatever ends a statement, a Ctrl-C too, it is taken back
            watch.running = False  # a statement that was stopped may take longer to clean up
            stopped = None
            while True:
                try:
                    self._take_back(error, log, before, place, isinstance(statement, ast.For | ast.While))
                    self._end(*around)
                    break
                except KeyboardInterrupt as pressed:  # may be interrupted at any point: all of this can be done again
                    stopped = pressed
            if stopped is not None:
                raise stopped from None
            if isinstance(error, Exception):
                held.release()
            if isinstance(error, RecursionError | MemoryError | TimeUp):
                raise self._stopped(error, span) from None
            raise

    def _check_units(self, result: Any, log: UndoLog, held: OutputBuffer, guard: Guard | None) -> None:
        """Infer the units of what a statement has bound and shown, and of the guards it passed. Raises AgradError."""
        values = parts_of([result, held.shown, *self.names.values()])
        made = [x.node for x in values if isinstance(x, Tensor) and x.node.seq > log.since]
        units.quantity.checked(units.quantity.conditions(guard, log.since), made)

    def _tell_undefined(
        self, result: Any, log: UndoLog, held: OutputBuffer, span: Span | None, is_python: bool
    ) -> None:
        """Note where the result of a statement became nan, and that it became infinite, as masks of Python's may be."""
        context, names = current(), id(self.names)
        bound = [self.names.get(key[1]) for key in log.undos if type(key) is tuple and key[0] == names]
        given = [result, held.shown]
        if held.noted or not (context.undefined or held.printed_inf or any(map(_is_special, [*given, *bound]))):
            return
        note = note_on_nan(given, context.undefined or [], log, span, self.names, held.printed_nan)
        is_inf = held.printed_inf or any(map(_is_infinite, [*given, *bound]))
        if note is None and span is not None and not is_python and is_inf:
            known = {name: value for name, value in self.names.items() if (names, name) not in log.undos}
            read = [*log.held, *(known.get(word) for word in re.findall(r"\w+", span.text))]
            if not re.search(r"inf|grad|\b_\d*\b|∞", span.text) and not any(map(_is_infinite, parts_of(read, False))):
                fixes = [fix for value in [*given, *bound] for fix in _fixes_of(value)]
                note = Note("the result is infinite", labels=[Label(span)], fixes=list(dict.fromkeys(fixes)))
        if note is not None and context.listener is not None:
            context.listener(note)
        if note is not None and held.emit is not unheard:
            self.told.extend((label.origin, note.fixes) for label in note.labels)

    def _take_back(self, error: BaseException, log: UndoLog, before: tuple[Any, ...], place: int, looped: bool) -> None:
        """Restore the state before a statement that failed, and complete its error."""
        try:
            if isinstance(error, AgradError) and self.record.on and looped and log.undos:
                error.notes.append("the loop is taken back: all is as it was before it")
            self.steps.drop(log)
            self.record.cut(place)
            if isinstance(error, AgradError):
                # The memory may be used up, for imports, too: the error is told without fixes.
                with suppress(MemoryError, ImportError):
                    runtime.fixes.explain(error, self.steps.since, self.computed, self.names)
        finally:
            self.last, self.settings.precision, self.chosen = before
            log.roll_back()

    def _end(self, emit: Emit, log: UndoLog | None, silence: Silence, levels: int) -> None:
        """Restore the context around a statement that has ended. May be called again if it was interrupted."""
        syntax.depth.need(levels)
        self.watch.running = False
        self.emit, self._log = emit, log
        silence.end()
        self.watch.stop()

    def _stopped(self, error: BaseException, span: Span | None) -> AgradError:
        """The error for a statement, or a text, that exceeded Python's memory or stack."""
        labels = [Label(span)] if span is not None else []
        if isinstance(error, TimeUp):
            return self.watch.too_long(labels)
        if isinstance(error, MemoryError):
            self.steps.clear()
            problem = exhausted("this", error)
            problem.labels = problem.labels or labels
            return problem
        return AgradError("limit", "this nests too deeply", labels=labels)

    def _hear(self, emit: Emit) -> Callable[[Note], None]:
        """Passes on a note of the engine, once per statement, even if a loop repeats it: it says in which iteration."""
        heard: set[str] = set()

        def listener(note: Note) -> None:
            place = note.labels[0].origin if note.labels else None
            key = note.message if place is None else f"{place.where} {place.text}"
            if note.is_of_value and any(_is_told(note, *told) for told in self.told):
                return  # a backward met what was told of when it was computed
            if key not in heard and not (note.follows and heard):
                heard.add(key)
                told = self.machine.iteration() if note.of_numbers else ""
                if told and note.labels and not note.labels[0].text:
                    first = Label(note.labels[0].origin, f"at {told}")
                    note = Note(note.message, [first, *note.labels[1:]], note.fixes, note.notes)
                emit(Noted(note))

        return listener

    def count(self, iterator: Iterator[Any], numbers: range, loop: Loop) -> Iterator[Any]:
        """The counter of a `for` over a range, which may run many of its iterations compiled."""
        found: Iterator[Any] = agrad.grammar.loops.hot_loops.counter(self.machine, iterator, numbers, loop)
        return found

    def at_once(self, function: Closure, values: Any) -> Tensor | None:
        """The values of a function of one number as a vector; None where it must be called for each."""
        found: Tensor | None = agrad.grammar.session.analysis.at_once(self.machine, function, values)
        return found

    def draw(self, plot: Plot, path: str) -> None:
        """Write a plot to a file, unless a session is restored: then it was written before."""
        statement = current().statement
        from agrad.grammar.commands.plot.files import form_of, save  # here, since few plots go to files

        form_of(path, statement if isinstance(statement, Span) else Span(Source("session", ""), 0, 0))
        if not self.restoring:
            save(plot, path)
            self.emit(Printed(f"wrote {printable(path)}"))

    def write(self, path: str, text: str) -> None:
        """Write a text to a file, unless a session is restored."""
        agrad.engine.core.context.require_files(f"cannot write {path}")
        if not self.restoring:
            agrad.grammar.files.write_text(path, text)
            self.emit(Printed(f"wrote {printable(path)}"))

    def time(self, run: Callable[[], None], names: Callable[[], Mapping[str, Any]]) -> None:
        """Measure and run the body of `time:`."""
        agrad.grammar.commands.time.timed(self, run, names)

    def why_none(self, expression: ast.Expr) -> str | None:
        """The text to show instead of a bare None: for `W.grad`, why there is no gradient."""
        if not isinstance(expression, ast.Attribute):
            return None
        if expression.name == "grad":
            value = self.machine.evaluate(self.machine.expression(expression.value))
            if isinstance(value, Tensor):
                gradient: Result = agrad.grammar.commands.gradients.gradient_of(expression.value.span.text, value, self)
                return gradient.text(self.settings)
        return f"{expression.span.text} = none"
