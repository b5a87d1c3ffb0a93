"""The numbers of a page as a function of its leaves, in JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agrad.engine.compile.export.javascript import JavaScript
from agrad.engine.compile.export.source import statements
from agrad.engine.compile.lower.scalarise import Unexpanded, unrolled
from agrad.engine.core.graph import Node
from agrad.engine.core.guards import integer, number, truth
from agrad.engine.core.tensor import Tensor, bare
from agrad.engine.errors import AgradError
from agrad.engine.program.ir import GuardCheck, Program, unchecked
from agrad.engine.program.passes import arranged, optimised
from agrad.engine.program.trace import extract
from agrad.engine.values import Value

_MOST = 6_000  # instructions of what a page computes
_LONGEST = 100_000  # characters of its code


@dataclass(frozen=True, slots=True)
class Code:
    """`numbers` are the outputs now, entry by entry, those of the guards at the end, which `guards` describe.

    `text` defines `run`, which returns the same for other leaves; empty where there is none, and then `reason` says
    why.
    """

    numbers: list[float]
    guards: list[dict[str, Any]]
    text: str = ""
    reason: str = ""


def code(outputs: Sequence[Tensor], leaves: Sequence[Node]) -> Code:
    """The code that computes some values from some leaves, which are numbers.

    Raises AgradError as `extract`: then only the values that are held can be shown.
    """
    if not outputs:
        return Code([], [], reason="the graph has no numbers that are shown")
    program = extract(outputs, [bare(leaf) for leaf in leaves], [f"x{place}" for place in range(len(leaves))])
    whole = unchecked(program)
    values = whole.run(*[leaf.value for leaf in leaves if leaf.value is not None])
    numbers, guards = _entries(values), _guards(program.checks, values[len(outputs) :])
    if not leaves:
        return Code(numbers, guards, reason="no leaf of the graph is a single number that requires grad")
    try:
        found, guard = _numbers(whole)
        if guard is not None:
            numbers, guards = [*numbers, 0.0], [*guards, guard]
        return Code(numbers, guards, _function(found))
    except AgradError as problem:
        return Code(numbers, guards, reason=problem.message)


def held(outputs: Sequence[Tensor], reason: str) -> Code:
    """Values that are all held, as they are, without code; with the reason."""
    return Code(_entries([x.value for x in outputs]), [], reason=reason)


def _entries(values: Sequence[Value | None]) -> list[float]:
    """All numbers in some values, row by row."""
    found: list[float] = []
    for value in values:
        if isinstance(value, float):
            found.append(value)
        elif value is not None:
            found += value.ravel().tolist()
    return found


def _guards(checks: Sequence[GuardCheck], values: Sequence[Value]) -> list[dict[str, Any]]:
    """How a page checks each guard: by the truth of a number, by its whole part, or by every entry."""
    kinds: dict[object, str] = {truth: "truth", number: "number", integer: "integer"}
    return [
        {"text": check.text, "read": kinds.get(check.read, "entries"), "size": len(_entries([value]))}
        for check, value in zip(checks, values, strict=True)
    ]


def _numbers(program: Program) -> tuple[Program, dict[str, Any] | None]:
    """The program of numbers, and one guard more where it e.g. solves with a matrix, which may be singular.

    Raises AgradError where there is none, or one that would be too long.
    """
    try:
        found = unrolled(optimised(program, again=True), _MOST)
    except Unexpanded as problem:
        raise AgradError("type", f"the page has no code for {problem}") from None
    if found is None:
        raise AgradError("limit", f"a page computes up to {_MOST} instructions, and this graph needs more")
    finite = {"text": "the results of its matrix operations are finite", "read": "number", "size": 1}
    numbers = arranged(optimised(unchecked(found)))
    if len(numbers.steps) > _MOST:
        raise AgradError("limit", f"a page computes up to {_MOST} instructions; these are {len(numbers.steps)}")
    return numbers, finite if found.checks else None


def _function(numbers: Program) -> str:
    """The function `run`. Raises AgradError where it cannot be written, or would be too long."""
    language = JavaScript()
    names, body, found = statements(numbers, numbers.inputs, language, "run")
    lines = [*(language.helpers[one] for one in language.used)]
    lines += [f"function run({', '.join(names)}) {{", *body, f"return [{','.join(found)}];", "}"]
    text = "\n".join(lines)
    if len(text) > _LONGEST:
        raise AgradError("limit", f"its code would have {len(text)} characters; a page has up to {_LONGEST}")
    return text
