"""A loop as one operation: its body once, as a program, and how often it runs.

    states, totals = scan(lambda state, row: (state + row, state), 0.0, [1.0, 2.0, 3.0])

The body is a function of three vectors, the state, a row of data, and what is the same in each iteration, that gives
one vector: the new state, the row of results, and terms of sums over all iterations. The derivative of such a loop is
a loop of the same kind that runs backward: its state is the cotangent of the state, its rows are the states and rows
of the loop, and the gradients by what is the same in each iteration are its sums. So it has derivatives of any order,
and keeps only the states; the rest of an iteration is computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple

from agrad.engine import units
from agrad.engine.autodiff.backward import grad, or_zeros
from agrad.engine.compile.llvm.backend import supports
from agrad.engine.compile.llvm.repeated import PIECE, Repeated, Stepped, iterate, stepped
from agrad.engine.compile.python_backend import Compiled
from agrad.engine.compile.scalarise import scalarised
from agrad.engine.core.context import afford, current
from agrad.engine.core.graph import Units
from agrad.engine.core.op import FUNCTIONS, OPS
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.program.closed import Parts, closed_over, filled, flat, joined, leaves_of, settled, vector_of
from agrad.engine.program.ir import Program, Step, key, optimised, unchecked
from agrad.engine.program.trace import extract, inlined, placeholders
from agrad.engine.values import Array, describe, format_shape, np, shape_of, size_of, whole

_PAIRWISE = 8  # entries, from which on numpy sums up several at once
_MOST = 10_000  # instructions of a body of numbers


class Sizes(NamedTuple):
    """The lengths of the vectors that a body takes and gives."""

    state: int
    row: int
    same: int  # what is the same in each iteration
    out: int
    sums: int


class Body:
    """What one iteration computes."""

    def __init__(self, program: Program, sizes: Sizes, example: tuple[Array, Array, Array]) -> None:
        self.program = program
        self.sizes = sizes
        self.example = example  # values at which it was traced

    def __eq__(self, other: object) -> bool:
        """Whether the other one computes the same."""
        return isinstance(other, Body) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"<{len(self.program.steps)} operations>"

    @cached_property
    def _key(self) -> object:
        return key(self.program), self.sizes

    @property
    def width(self) -> int:
        """How many numbers an iteration keeps."""
        return self.sizes.state + self.sizes.out

    @cached_property
    def numbers(self) -> Program | None:
        """The body as a program of numbers, if it has one."""
        found = scalarised(self.program, _MOST)
        return optimised(found) if found is not None and not found.checks else None

    @cached_property
    def machine(self) -> Program | None:
        """The one of numbers for machine code, in which small matrices are factorised, too.

        If `doubts`, it has one more sum, which is not 0 where a matrix was singular: the arrays say what that gives.
        """
        found = self.numbers or scalarised(self.program, _MOST, is_final=True)
        return unchecked(optimised(found)) if found is not None else None

    @property
    def doubts(self) -> int:
        """How many sums there are more in it."""
        return 0 if self.machine is None else len(self.machine.outputs) - self.width - self.sizes.sums

    @cached_property
    def _is_exact(self) -> bool:
        """Whether the program of numbers gives every bit of that of arrays: all that it computes are numbers."""

        def is_exact(step: Step) -> bool:
            shapes = [*map(self.program.shape, step.operands)]
            is_rounded_alike = step.op.operator is not None and step.op.operator.sign in ("+", "-", "*", "/")
            if is_rounded_alike or not any((step.shape, *shapes)):
                return True
            if step.op.sums is not None:
                return size_of(shapes[0]) < _PAIRWISE * max(size_of(step.shape), 1)
            return step.op.moves_entries and step.op.reach != "mixed"  # BLAS adds in another order

        return all(map(is_exact, self.program.steps))

    @cached_property
    def _step(self) -> Callable[..., Any]:
        """An iteration on arrays."""
        return Compiled(self.program).inside

    @cached_property
    def step(self) -> Callable[..., Any]:
        """One iteration, as Python code: on numbers, if there is a program of numbers, else on the three vectors."""
        return self._step if self.numbers is None else Compiled(self.numbers).inside

    @cached_property
    def native(self) -> Repeated | None:
        """Machine code for the loop, if there is any."""
        if self.machine is None or supports(self.machine) is not None:
            return None
        return Repeated(self.machine, self.sizes[:3], self.width)

    @cached_property
    def stepped(self) -> Stepped | None:
        """Machine code for each iteration on arrays, if there is any that takes less than Python."""
        return stepped(self.program)

    def repeated(self, is_native: bool) -> Program:
        """The program of an iteration: in machine code, or in Python, where numbers have the bits of arrays."""
        numbers = self.machine if is_native else self.numbers if self._is_exact else None
        return numbers or self.program

    def is_one_call(self, count: int) -> bool:
        """Whether machine code runs so many iterations, not for too long at once, and always finds the result."""
        return 0 < count <= PIECE and self.native is not None and not self.doubts

    def run(self, x: Array, count: int, is_native: bool = False) -> Array:
        """All iterations. `x`: the first state, the rows, and what is the same; gives the new states and results in
        rows, then the sums, as one vector. Raises AgradError of kind `limit` where there is no room for it.
        """
        width = self.width
        afford("scan", (count * width + self.sizes.sums,))
        found = np.zeros(count * width + self.sizes.sums)
        table, sums = found[: count * width].reshape(count, width), found[count * width :]
        rows, same = self.split(x, count)
        start = np.ascontiguousarray(x[: self.sizes.state])
        if is_native and self._natively(start, rows, same, table, sums):
            pass
        elif self.numbers is not None and self._is_exact:
            step, size = self.step, self.sizes.state
            numbers, given = start.tolist(), same.tolist()
            for place, row in enumerate(rows.tolist()):
                result = step(*numbers, *row, *given)
                numbers = result[:size]
                table[place] = result[:width]
                if len(sums):
                    sums += result[width:]
        else:
            iterate(self._step, start, rows, (same,), table, sums)
        return found

    def _natively(self, start: Array, rows: Array, same: Array, table: Array, sums: Array) -> bool:
        """The same by machine code; False, and no sums, where there is none, or a matrix is singular."""
        if self.native is not None:
            found = np.zeros(len(sums) + self.doubts)
            self.native.run(start, np.ascontiguousarray(rows), np.ascontiguousarray(same), table, found)
            if not self.doubts or found[-1] == 0.0:
                sums += found[: len(sums)]
                return True
        return self.stepped is not None and self.stepped.run(start, rows, same, table, sums)

    def split(self, x: Any, count: int) -> tuple[Any, Any]:
        """The rows, and what is the same, of the operand."""
        state, row, *_ = self.sizes
        end = state + count * row
        return x[state:end].reshape(count, row), x[end:]

    @cached_property
    def reverse(self) -> Body:
        """The body of the derivative: from the cotangents of what this one gives to those of what it takes."""
        state, row, same, out, sums = self.sizes
        state0, row0, same0 = self.example
        example = np.ones(state), np.concatenate([state0, row0, np.ones(state + out)]), np.append(same0, np.ones(sums))
        with placeholders(example, range(3)) as xs:
            cotangent, rows, given = xs
            operands = [rows[:state], rows[state : state + row], given[:same]]
            (y,) = inlined(self.program, operands)
            of_rows = rows[state + row :]
            seed = joined([of_rows[:state] + cotangent, of_rows[state:], given[same:]])
            found = or_zeros(y, operands, lambda used: grad(y, used, True, seed))
            program = settled("scan", extract([joined(found)], xs, ("cotangent", "row", "same"), current().guard))
        return Body(program, Sizes(state, row + 2 * state + out, same + sums, row, same), example)


# From a function to its body


def scanned(f: Callable[..., Any], start: Any, rows: Any, count: int | None) -> tuple[Any, Any]:
    """The last state, and the results of all iterations, each along a new first axis: see the entry `scan`."""
    first, data = Parts(start), Parts(rows, is_rows=True)
    turns = _turns(data, count)
    if not turns:
        return start, ()
    if not callable(f):
        raise AgradError("type", f"scan needs a function of a state and a row, not {describe(f)}")
    examples = [vector_of(first.packed()), vector_of(data.packed())[: data.size]]
    result: list[Parts] = []

    given_rows = [x if len(shape_of(x)) > 1 else [x] for x in data.leaves]
    known = units.function(*first.leaves, *given_rows)

    def called(state: Tensor, row: Tensor) -> Tensor:
        given = first.unpacked(state), data.unpacked(row)
        with known.given([*leaves_of(given)]):
            both = _new_state(f(*given), first)
        for before, x in zip(known.arguments, both[0].leaves, strict=False):
            known.agree(before, known.work.quantity(x), "scan: the state is {}, and the new state {}")
        result.append(both[1])
        made = units.infer.bare(joined([one.packed() for one in both]))
        return made if isinstance(made, Tensor) else tensor(made)

    program, same, example = closed_over("scan", called, examples, ("state", "row"), "in another iteration")
    sizes = Sizes(first.size, data.size, len(example), result[0].size, 0)
    body = Body(settled("scan", program), sizes, (examples[0], examples[1], example))
    x = joined([units.infer.bare(one) for one in (first.packed(), data.packed(), *map(flat, same))])
    found = OPS["scanned"].call(x, body=body, count=turns)
    table = FUNCTIONS["reshape"].call(found[: turns * body.width], (turns, body.width))
    both = first.unpacked(table[turns - 1, : first.size]), result[0].unpacked(table[:, first.size :], turns)
    if not Units.exist:
        return both
    every = [*known.arguments[: len(first.leaves)], *map(known.work.quantity, result[0].leaves)]
    measured: tuple[Any, Any] = filled(both, map(known.of, leaves_of(both), every))
    return measured


def _turns(data: Parts, count: int | None) -> int:
    """How often the loop runs."""
    lengths = sorted({shape[0] for shape in data.whole})
    if len(lengths) > 1:
        raise AgradError("shape", f"scan: the arrays of rows have {' and '.join(map(str, lengths))} rows")
    if count is None and not lengths:
        raise AgradError("arity", "scan needs rows, or how often to run", fixes=[Hint("scan(f, start, count=100)")])
    found = lengths[0] if count is None else whole(count, "scan: count")
    if found < 0:
        raise AgradError("domain", f"scan: count is {found}")
    if lengths and lengths[0] != found:
        raise AgradError("shape", f"scan: there are {lengths[0]} rows, and count is {found}")
    return found


def _new_state(pair: Any, first: Parts) -> tuple[Parts, Parts]:
    """The new state and the results of an iteration. Raises AgradError where they do not fit to the first state."""
    if not isinstance(pair, tuple) or len(pair) != 2:
        message = "the function of scan must return two values, the new state and a result"
        fixes = [Hint("return state, ()   where there is no result")]
        raise AgradError("type", f"{message}; it returned {describe(pair)}", fixes=fixes)
    state, result = map(Parts, pair)
    if state.shapes != first.shapes:
        there, here = (", ".join(map(format_shape, one)) or "nothing" for one in (first.shapes, state.shapes))
        raise AgradError("shape", f"scan: the state has shape {there}, and the new state {here}")
    if filled(pair[0], repeat(0)) != filled(first.value, repeat(0)):
        raise AgradError("type", "scan: the new state is made of other tuples or dicts than the state")
    return state, result
