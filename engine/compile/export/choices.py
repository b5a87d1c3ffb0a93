"""The paths of a function that chooses: an `if` whose condition depends on an argument, and so what is computed.

A trace follows one path. The others are found by tracing at other values: those that the program compares with, small
whole numbers, and random ones of all sizes. What is known to be all of them, a function may be written for: `merged`
makes one program, which computes every path, and chooses between their results.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from agrad.engine.core.guards import truth
from agrad.engine.core.numpy_warnings import quiet
from agrad.engine.core.op import OPS
from agrad.engine.errors import AgradError, Hint
from agrad.engine.program.ir import Program, Step
from agrad.engine.program.passes import Rewriting, optimised
from agrad.engine.program.trace import trace
from agrad.engine.values import Value, np

MOST = 64  # paths
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
        if len(found) > MOST or missing(list(found.values())) is None:
            break
        try:
            with quiet():
                other = optimised(trace(f, _other(examples, found.values(), dice), names, wrt), again=True)
        except AgradError:  # there the function itself fails
            continue
        if any(check.read is not truth for check in other.checks):
            return [first]
        found.setdefault(_outcomes(other), other)
    programs = list(found.values())
    return programs if len(found) <= MOST and missing(programs) is None else [first]


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
        number() if isinstance(x, float) else np.array([number() for _ in range(x.size)]).reshape(x.shape)
        for x in examples
    ]


def missing(programs: Sequence[Program], depth: int = 0) -> str | None:
    """The condition of which one outcome is on no path, in words; None where every choice has both."""
    waiting = [(list(programs), depth)]
    while waiting:
        some, place = waiting.pop()
        if not some[0].checks[place:]:
            continue
        for outcome in (True, False):
            here = [one for one in some if one.checks[place:] and one.checks[place].outcome is outcome]
            if not here:
                return some[0].checks[place].text
            waiting.append((here, place + 1))
    return None


def refusal(program: Program) -> AgradError:
    """The error for a function whose paths are not all known."""
    check = program.checks[0]
    return AgradError(
        "guard",
        f"a function with a choice is not exported: this one holds only where {check.text}",
        notes=["all its other paths were not found"] if check.read is truth else [],
        fixes=[Hint("where(c, a, b)   chooses between two values")],
    )


def merged(programs: Sequence[Program], conditions: Sequence[Sequence[object]]) -> Program:
    """One program with the results of that path whose conditions hold.

    The outputs of each program are its results, and then the values of its conditions, of which `conditions` has the
    outcomes.
    """
    new = Rewriting(programs[0])
    made = [list(_inlined(new, program)) for program in programs]
    count = len(programs[0].outputs) - len(conditions[0])

    def chosen(some: list[int], place: int) -> list[int]:
        if not conditions[some[0]][place:]:
            return made[some[0]][:count]
        here, there = ([one for one in some if conditions[one][place] is outcome] for outcome in (True, False))
        condition = made[some[0]][count + place]
        both = zip(chosen(here, place + 1), chosen(there, place + 1), strict=True)
        return [x if x == y else new.step(Step(OPS["where"], (), {}, ()), (condition, x, y)) for x, y in both]

    return new.program(chosen(list(range(len(programs))), 0), {})


def _inlined(new: Rewriting, program: Program) -> Iterator[int]:
    """The references of the outputs of a program that is computed in another."""
    references = [*range(len(program.inputs)), *map(new.constant, program.constants)]
    for step in program.steps:
        operands = tuple([references[x] for x in step.operands])
        name = ("step", step.op.name, operands, repr(step.attrs)) if not step.attrs else None
        if name is None or name not in new.known:
            reference = new.step(step, operands)
            if name is not None:
                new.known[name] = reference
        references.append(reference if name is None else new.known[name])
    yield from (references[slot] for slot in program.outputs)
