"""The formulas of the results of a program as text, in one line each or with lines for the parts that they share."""

from __future__ import annotations

from typing import NamedTuple

from agrad.engine.compile.formula.reader import formulas
from agrad.engine.compile.formula.spelling import Spelling
from agrad.engine.compile.formula.terms import UnwritableError
from agrad.engine.errors import AgradError
from agrad.engine.program.ir import Program
from agrad.engine.program.printer import parts


class Written(NamedTuple):
    """Names with the formulas that they stand for, of which the later may use the earlier, and those of the results."""

    parts: list[tuple[str, str]]
    results: list[str]

    @property
    def length(self) -> int:
        """How many characters there are."""
        return sum(map(len, [text for part in self.parts for text in part])) + sum(map(len, self.results))


def written(program: Program, spelling: Spelling, times: float = 1.0) -> Written:
    """The formulas without parts, if these are not so many times as long as the program; else whatever is shorter.

    Raises AgradError of kind `type` for what has no formula.
    """
    most = sum(len(step.partition("  #")[0].rstrip()) for step in parts(program)[1])
    tried: list[Written] = []
    try:
        for found in formulas(program):
            named = [(spelling.name(name).text, spelling.write(x)) for name, x in found.parts.items()]
            tried.append(Written(named, list(map(spelling.write, found.results))))
            if tried[-1].length <= times * most:
                break
    except (UnwritableError, OverflowError) as problem:
        raise AgradError("type", f"there is no formula of {problem}") from None
    return min(tried, key=lambda one: one.length)
