"""A program as formulas: a term for each result, and where they would be longer than the program, for shared parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from agrad.engine.compile.formula.terms import Term, UnwritableError, applied, term, variable
from agrad.engine.core.op import FUNCTIONS, Op
from agrad.engine.program.ir import Program, Step
from agrad.engine.values import shape_of

_MOST = 2000  # parts of a formula in one line
_LONG = 200  # parts of one with a name


class Formulas(NamedTuple):
    """The results as terms, in which each name of `parts` stands for its term; the later may use the earlier."""

    parts: dict[str, Term]
    results: list[Term]


def formulas(program: Program) -> Iterator[Formulas]:
    """The formulas of the results: first whole ones, then with names for what is used several times, or is long.

    Raises UnwritableError, with what has no formula.
    """
    if not program.is_scalar:
        raise UnwritableError("an array")
    uses = Counter([slot for step in program.steps for slot in step.operands] + list(program.outputs))
    taken = {given.name for given in program.inputs}
    with suppress(_TooLong):
        yield _read(program, lambda slot, made: False, taken)
    yield _read(program, lambda slot, made: made.size > (2 if uses[slot] > 1 else _LONG), taken)


class _TooLong(Exception):
    """One line would be very long."""


def _read(program: Program, shares: Callable[[int, Term], bool], taken: set[str]) -> Formulas:
    """The terms of the results, with names for the steps that are shared. Raises _TooLong."""
    parts: dict[str, Term] = {}
    names = (name for number in range(1, 10**9) if (name := f"t{number}") not in taken)
    slots = [variable(given.name) for given in program.inputs] + [_constant(value) for value in program.constants]
    for slot, step in enumerate(program.steps, program.first):
        made = term_of(step, [slots[x] for x in step.operands])
        if shares(slot, made):
            name = next(names)
            parts[name], made = made, variable(name)
        if made.size > _MOST:
            raise _TooLong
        slots.append(made)
    return Formulas(parts, [slots[slot] for slot in program.outputs])


def _constant(value: Any) -> Term:
    if shape_of(value):
        raise UnwritableError("an array")
    return term(value)


def term_of(step: Step, operands: Sequence[Term]) -> Term:
    """The result of a step as a term."""
    op = step.op
    if op.formula is not None:
        made: Term = op.formula(*operands)
        return made
    if op.is_copy:
        return operands[0]
    if op.operator is not None:
        method = getattr(operands[0], f"__{op.operator.method}__", None)
        if method is not None and op.operator.precedence:  # a comparison is no arithmetic
            return method(*operands[1:])  # type: ignore[no-any-return]
        return applied(op.name, operands, op.operator.sign)
    if FUNCTIONS.get(op.name) is None or op.is_opaque:
        raise UnwritableError(f"the operation {op.title}")
    return applied(op.name, operands, rest=_attributes(op, step.attrs))


def _attributes(op: Op, attrs: dict[str, Any]) -> str:
    """The attributes of a call, as they are typed; nothing for those that a call has by default."""
    given = {name: value for name, value in attrs.items() if name in op.signature.attributes}
    if any(type(value) not in (int, float, str, bool) for value in given.values()):
        raise UnwritableError(f"the operation {op.title} with these attributes")
    return ", ".join(f"{name}={value!r}" for name, value in given.items())
