"""A program in readable lines."""

from __future__ import annotations

from agrad.engine.program.ir import Program, Step
from agrad.engine.text import one_line, truncate
from agrad.engine.values import format_shape, format_value

_SPACED = 1  # operators up to this precedence are written with spaces around them
_TIGHT = 5  # the precedence of a formula that needs no brackets
_LONG = 40  # characters: a longer formula is called by its slot


def parts(program: Program, precision: int | None = 10) -> tuple[list[str], list[str], list[str]]:
    """The lines of the inputs, a line for each step with its formula, and the lines of the checks and the outputs."""
    names = slot_names(program, precision)
    formulas = [(_TIGHT, name) for name in names[: program.first]]
    rows: list[tuple[str, str]] = []
    for slot, step in enumerate(program.steps, program.first):
        binding, formula = _formula(step, formulas)
        plain = _call(step, [names[x] for x in step.operands])
        shape = f"shape {format_shape(step.shape)}" if step.shape else ""
        shown = formula if formula != plain else ""
        rows.append((f"{names[slot]} = {plain}", ", ".join(filter(None, (shown, shape)))))
        formulas.append((binding, formula) if len(formula) <= _LONG else (_TIGHT, names[slot]))
    width = min(max((len(left) for left, _ in rows), default=0), _LONG)
    ends = [f" of shape {format_shape(one.shape)}" if one.shape else "" for one in program.inputs]
    given = [name + end for name, end in zip(names, ends, strict=False)]
    before = [f"inputs     {', '.join(given) or 'none'}"]
    for name, value in zip(names[len(given) :], program.constants, strict=False):
        if not isinstance(value, float):
            before.append(f"{name} = {_clipped(format_value(value))}")
    steps = [f"{left:{width}}  # {right}" if right else left for left, right in rows]
    after = [f"check      {names[check.slot]}: {one_line(check.text)}" for check in program.checks]
    return before, steps, [*after, "outputs    " + ", ".join(names[slot] for slot in program.outputs)]


def slot_names(program: Program, precision: int | None = 10) -> list[str]:
    """The name of each slot: an input's name, a number itself, else the number of the slot."""
    names = [one_line(given.name) for given in program.inputs]
    for constant in program.constants:
        names.append(format_value(constant, precision) if isinstance(constant, float) else f"c{len(names)}")
    return names + [f"t{slot}" for slot in range(program.first, program.first + len(program.steps))]


def _clipped(text: str) -> str:
    return truncate(" ".join(text.split()), 2 * _LONG)


def _call(step: Step, operands: list[str]) -> str:
    """`sum(x, axis=(0,))`: the operation as in the table."""
    attributes = step.op.signature.attributes
    given = [f"{name}={_attribute(value)}" for name, value in step.attrs.items() if name in attributes]
    return f"{step.op.name}({', '.join([*operands, *given])})"


def _attribute(value: object) -> str:
    """An attribute in a few words; an index as it is written."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_attribute, value))}{',' * (len(value) == 1)})"
    if isinstance(value, slice):
        ends = [value.start, value.stop] + ([value.step] if value.step is not None else [])
        return ":".join("" if end is None else str(end) for end in ends)
    if value is Ellipsis:
        return "..."
    return _clipped(str(value))


def _formula(step: Step, operands: list[tuple[int, str]]) -> tuple[int, str]:
    """The formula of a step, as it is typed, and its precedence."""
    given = [operands[x] for x in step.operands]
    operator = step.op.operator
    if operator is None or step.attrs.keys() & step.op.signature.attributes.keys():
        return _TIGHT, _call(step, [text for _, text in given])
    tight, is_right = operator.precedence, operator.is_right
    if len(given) == 1:
        return tight, f"{operator.sign}{_bracketed(given[0], tight + 1)}"
    left, right = given
    sign = f" {operator.sign} " if tight <= _SPACED else operator.sign
    either = not tight  # comparisons are brackets on both sides: x < y < z means something else
    return tight, f"{_bracketed(left, tight + (is_right or either))}{sign}{_bracketed(right, tight + (not is_right))}"


def _bracketed(formula: tuple[int, str], tight: int) -> str:
    binding, text = formula
    return f"({text})" if binding < tight or (text.startswith("-") and tight > 1) else text
