"""A value, its gradient and its Hessian, as one program of numbers.

Of a function that chooses by an `if` whose condition depends on an argument, a trace follows one path. The others are
found by tracing at other values: those that the program compares with, small whole numbers, and random ones of all
sizes. What is known to be all of them, a function may be written for: `merged` makes one program, which computes every
path, and chooses between their results.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from agrad.engine.compile.arguments import flat
from agrad.engine.compile.paths import paths_of
from agrad.engine.compile.scalarise import Unexpanded, regular, scalarised, unrolled
from agrad.engine.core.guards import truth
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import OPS
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.program.ir import Input, Program, Rewriting, Step, arranged, frozen, inserted, optimised, share, spans
from agrad.engine.program.trace import gradients, of_graph, trace
from agrad.engine.struct import Struct
from agrad.engine.values import Shape, Value, format_shape, np, size_of

MOST = 20_000  # instructions of what is written


class Derived(Struct):
    """A program of numbers: the value, its derivatives by each entry of the arguments at `wrt`, the second ones.

    `arguments`: the names and shapes; `order`: of the highest derivatives; `result`: the shape of the value, of which
    each entry has its derivatives, one after the other.
    """

    program: Program
    arguments: tuple[Input, ...]
    wrt: tuple[int, ...]
    order: int
    result: Shape = ()

    @property
    def shapes(self) -> list[Shape]:
        """The shapes of the arguments that it is differentiated by."""
        return [self.arguments[place].shape for place in self.wrt]

    @property
    def count(self) -> int:
        """How many first derivatives there are."""
        return sum(map(size_of, self.shapes))

    def divided(self, results: list[str]) -> tuple[list[str], list[str], list[list[str]]]:
        """The formulas of the value, by entries; of the derivatives of each; and the rows of the second ones."""
        many = size_of(self.result)
        end = many + many * self.count * (self.order > 0)
        rows = range(end, len(results), self.count or 1)
        return results[:many], results[many:end], [results[begin : begin + self.count] for begin in rows]


def derived(programs: Program | Sequence[Program], values: Sequence[Value], wrt: Sequence[int], order: int) -> Derived:
    """The program of a value, traced at these values, with its derivatives up to an order: 0, 1 or 2.

    Of several programs, those of all `paths`, the one whose conditions hold. Raises AgradError of kind `shape`
    where the second derivatives are not those of one number, `guard` where the value is chosen by a condition of
    Python or of the language, and not all paths are known, and `limit` where there are too many instructions.
    """
    paths = [programs] if isinstance(programs, Program) else list(programs)
    (output,) = paths[0].outputs
    result, inputs = paths[0].shape(output), paths[0].inputs
    if any(program.shape(program.outputs[0]) != result for program in paths):
        raise AgradError("shape", "a function whose value has another shape on another path is not exported")
    if result and order > 1:
        message = f"the value has shape {format_shape(result)}, and a Hessian is that of one number"
        raise AgradError("shape", message, fixes=[Hint("sum the entries up")])
    if len(paths) == 1 and paths[0].checks:
        raise refusal(paths[0])
    entries = spans([size_of(given.shape) for given in inputs])
    places = [entry for place in wrt for entry in entries[place]]
    with quiet():  # at these values another path may have no number
        several = [
            _with_derivatives(program, values, wrt, order)
            if (numbers := _numbers(program)) is None
            else _of_choices(_derived(numbers, flat(values), places, order))
            for program in paths
        ]
    made = _in_order(optimised(merged(several)))
    if len(made.steps) > MOST:
        raise _too_long()
    return Derived(made, inputs, tuple(wrt), order, result)


def _numbers(program: Program) -> Program | None:
    """The program of numbers; None where it must be differentiated before."""
    shared = optimised(program, again=True)  # before the gradient: after it, there is much more to share
    is_plain = all(step.op.reach == "pointwise" and not step.shape for step in shared.steps) and shared.is_scalar
    return shared if is_plain else scalarised(shared, MOST)


def _with_derivatives(program: Program, values: Sequence[Value], wrt: Sequence[int], order: int) -> Program:
    """The program of numbers of a program of arrays that is differentiated as such."""
    made = _derived(optimised(program, again=True), values, wrt, order)
    try:
        numbers = unrolled(optimised(made, again=True), MOST)
    except Unexpanded as problem:
        raise AgradError("type", f"{problem} cannot be exported: it has no expansion into numbers") from None
    if numbers is None:
        raise _too_long()
    return _of_choices(numbers)


def _derived(program: Program, values: Sequence[Value], wrt: Sequence[int], order: int) -> Program:
    """A program with the derivatives of all entries of its outputs behind these, and the second ones, row by row."""
    rows = sum(size_of(program.shape(slot)) for slot in program.outputs)
    if order > 1:
        rows *= sum(size_of(program.inputs[place].shape) for place in wrt)
    if order and rows * sum(size_of(step.shape) for step in program.steps) > 10 * MOST:
        raise _too_long()

    def derivatives(results: list[Tensor], xs: list[Tensor]) -> list[Tensor]:
        by = [xs[place] for place in wrt]
        first = [found for y in results for x in _entries(y) for found in gradients(x, by)] if order else []
        if order < 2:
            return [*results, *first]
        if any(x.shape for x in by):
            return [*results, *first, *[found for y in first for x in _entries(y) for found in gradients(x, by)]]
        halves = [gradients(y, by[row:]) for row, y in enumerate(first)]  # the matrix is symmetric
        entries = range(len(by))
        second = [halves[min(row, column)][abs(row - column)] for row in entries for column in entries]
        return [*results, *first, *second]

    return of_graph(program, values, wrt, derivatives)


def _entries(x: Tensor) -> list[Tensor]:
    return [x[index] for index in np.ndindex(*x.shape)] if x.shape else [x]


def _in_order(program: Program) -> Program:
    """The steps in the order in which the outputs need them, from the first to the last."""
    backwards = arranged(replace(program, outputs=program.outputs[::-1]))
    return replace(backwards, outputs=backwards.outputs[::-1])


def _of_choices(program: Program) -> Program:
    """The program with the checks of its choices alone.

    That a matrix is regular is no choice: where it is singular, the results are not finite.
    """
    return replace(program, checks=tuple([check for check in program.checks if check.read is not regular]))


def _too_long() -> AgradError:
    return AgradError("limit", f"the function cannot be exported: it would have more than {MOST} instructions")


MOST_PATHS = 64  # paths
_TRACES = 1500
_WORK = 1_000_000  # steps, in all traces
_ORDINARY = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, 10.0)
_SCALES = (1.0, 1.0, 1.0, 0.1, 10.0, 100.0, 1e4, 1e-3)


def paths(
    f: Callable[..., Any], examples: Sequence[Value], names: Sequence[str], wrt: Sequence[int] | None = None
) -> list[Program]:
    """The programs of a function, one for each path through its choices; the first is that at the examples.

    Where the paths are not known to be all, it is that one alone, with its checks. Raises what `trace` raises there.
    """
    first = optimised(trace(f, examples, names, wrt), again=True)
    found: dict[tuple[object, ...], Program] = {_outcomes(first): first}
    if not first.checks or any(check.read is not truth for check in first.checks):
        return [first]
    dice = random.Random(0)
    for _ in range(min(_TRACES, _WORK // (len(first.steps) + 100))):
        try:
            with quiet():
                other = optimised(trace(f, _other(examples, found.values(), dice), names, wrt), again=True)
        except AgradError:  # there the function itself fails
            continue
        if len(found) >= MOST_PATHS or any(check.read is not truth for check in other.checks):
            break
        if found.setdefault(_outcomes(other), other) is other:
            tree = paths_of([*found.values()], _WORK)
            if all(one.guard is None or len(one.after) > 1 for one in tree.branches):  # both outcomes
                return [*found.values()]
    return [first]


def _outcomes(program: Program) -> tuple[object, ...]:
    return tuple(check.outcome for check in program.checks)


def _other(examples: Sequence[Value], known: Any, dice: random.Random) -> list[Value]:
    """Other values of the same shapes: some that are compared with, beside them, and random ones."""
    constants = {x for program in known for x in program.constants if isinstance(x, float) and abs(x) < 1e300}
    pool = sorted({*_ORDINARY, *constants, *(-x for x in constants)})

    def number() -> float:
        kind = dice.random()
        if kind < 0.3:
            return dice.choice(pool)
        if kind < 0.5:
            return dice.choice(pool) + dice.choice((1e-3, -1e-3, 0.5, -0.5))
        return dice.gauss(0.0, 1.0) * dice.choice(_SCALES)

    if dice.random() < 0.1:  # all the same
        same = number()
        return [same if isinstance(x, float) else np.full(x.shape, same) for x in examples]
    return [
        number() if isinstance(x, float) else np.array([number() for _ in x.flat]).reshape(x.shape) for x in examples
    ]


def refusal(program: Program) -> AgradError:
    """The error for a function whose paths are not all known."""
    check = program.checks[0]
    message = f"a function with a choice is not exported: this one holds only where {check.text}"
    notes = ["all its other paths were not found"] if check.read is truth else []
    return AgradError("guard", message, notes=notes, fixes=[Hint("where(c, a, b)   chooses between two values")])


def merged(programs: Sequence[Program]) -> Program:
    """One program, without checks, with the results of that path whose choices come out so."""
    if len(programs) == 1:
        return programs[0]
    tree = paths_of(programs, _WORK)
    if len(tree.members) < len(programs):  # the derivatives of one read its conditions otherwise
        raise refusal(programs[0])
    new = Rewriting(tree.program)
    slots = inserted(new, tree.program, range(len(new.inputs)), share)

    def chosen(number: int) -> list[int]:
        """The results behind a choice."""
        one = tree.branches[number]
        if one.guard is None:
            return [slots[x] for x in one.outputs]
        condition = slots[one.guard.slot]
        both = zip(*[chosen(one.after[frozen(outcome)]) for outcome in (True, False)], strict=True)
        return [x if x == y else new.step(Step(OPS["where"], (), {}, ()), (condition, x, y)) for x, y in both]

    return new.program(chosen(0), {})
