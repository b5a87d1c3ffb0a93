"""A compiled loop iteration in machine code, many in a row: where numbers are enough, and there are enough iterations.

The bits are those of uncompiled iterations, as are the orders of sums; the last digits may differ of products of
matrices, of powers, and of numpy's elementary functions of arrays where these are not rounded as in the C library.
Machine code only advances the state. An iteration that it does not run, because it takes another path, or has a
gradient that is not finite, or an operation that is not defined, is left to Python, which knows what to do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from agrad.engine.compile.lower.cost import iterations_at_once, iterations_to_repay
from agrad.engine.core.op import Op
from agrad.engine.program.ir import Program
from agrad.engine.values import Shape, Value, np, size_of

if TYPE_CHECKING:
    from agrad.engine.compile.llvm.iterated import Iterated

_FEWEST = 64  # iterations, of fewer of which Python is asked which of them has an operation that is not defined
_FEWER = 16  # how many times fewer are tried when one of them has such an operation


class Part(NamedTuple):
    """Where the entries of an input are among those of all inputs."""

    begin: int
    shape: Shape

    @property
    def end(self) -> int:
        """The place after the last one."""
        return self.begin + size_of(self.shape)


class NativeIteration:
    """The iteration in machine code: `run` advances the values of its inputs."""

    def __init__(self, code: Iterated, inputs: Sequence[Shape], is_asked: bool) -> None:
        ends = np.cumsum([0, *map(size_of, inputs)]).tolist()
        self.code = code
        self.parts = [Part(begin, shape) for begin, shape in zip(ends, inputs, strict=False)]
        self.is_asked = is_asked  # whether it asks the conditions itself
        self.block = iterations_at_once(len(code.program.steps))

    def run(
        self,
        values: list[Any],
        numbers: range,
        places: Sequence[int],
        same: Callable[[range], int],
        is_noticed: bool,
    ) -> Iterator[int]:
        """Advance the values at these places; yields how many iterations have run, every few milliseconds.

        `numbers` are those of the iterations to come, and one more; `same` says for how many of some of them the
        conditions come out as they should; with `is_noticed`, no operation may be undefined.
        """
        state = np.concatenate([np.ravel(value) for value in values])
        position, block, last = 0, self.block, len(numbers) - 1
        while position < last:
            count = min(block, last - position)
            if not self.is_asked:
                count = same(numbers[position + 1 : position + 1 + count])
            before, state[0] = state.copy(), numbers[position]
            done, undefined = self.code.run(state, count, numbers.step)
            if undefined and is_noticed:
                block, state = count // _FEWER, before
                if block < _FEWEST:
                    break
                continue
            if done:
                for place in places:
                    values[place] = self._value(state, place)
                yield done
            position += done
            if done < count or not count:
                break

    def _value(self, state: Any, place: int) -> Value:
        part = self.parts[place]
        if not part.shape:
            return float(state[part.begin])
        found: Value = state[part.begin : part.end].reshape(part.shape).copy()
        return found


class Native:
    """The machine code of an iteration, made when it pays."""

    def __init__(
        self, program: Program, places: Sequence[int], conditions: Program | None, answers: Sequence[bool]
    ) -> None:
        """The inputs at the places are the first outputs, for the next iteration."""
        self._program, self._places, self._conditions, self._answers = program, places, conditions, answers
        is_quiet = all(_is_quiet(step.op) for step in program.steps)
        self._due = iterations_to_repay(program) if is_quiet else math.inf
        self._made: NativeIteration | None = None

    def of(self, count: int) -> NativeIteration | None:
        """The code, where it pays for so many iterations; None where it does not, or there is none."""
        if self._made is None and count >= self._due:
            self._made, self._due = self._make(), math.inf
        return self._made

    def _make(self) -> NativeIteration | None:
        from agrad.engine.compile.llvm.backend import supports  # here, since most loops do not take as long as this
        from agrad.engine.compile.llvm.iterated import Conditions, Iterated, notices_invalid
        from agrad.engine.compile.lower.scalarise import scalarised
        from agrad.engine.program.ir import unchecked

        program, asked = self._program, self._conditions
        numbers = scalarised(program)
        if numbers is None or supports(numbers := unchecked(numbers)) is not None or not notices_invalid():
            return None
        asked = scalarised(asked) if asked is not None else None
        is_asked = asked is not None and not asked.checks and all(_is_exact(step.op) for step in asked.steps)
        inputs = [one.shape for one in program.inputs]
        ends = np.cumsum([0, *map(size_of, inputs)]).tolist()
        changed = [entry for place in self._places for entry in range(ends[place], ends[place + 1])]
        found = Conditions(asked, tuple(self._answers)) if asked is not None and is_asked else None
        return NativeIteration(Iterated(numbers, changed, found), inputs, self._conditions is None or is_asked)


def _is_quiet(op: Op) -> bool:
    """Whether an operation raises nothing that depends on values."""
    return op.total or op.reach != "pointwise"


def _is_exact(op: Op) -> bool:
    """Whether machine code gives every bit of an operation on numbers."""
    return op.scalar is None or (op.operator is not None and op.operator.sign != "**")
