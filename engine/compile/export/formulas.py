"""The language of agrad itself, and LaTeX: formulas, with like terms collected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agrad.engine.compile.export.derive import Derived
from agrad.engine.compile.export.structure import nested
from agrad.engine.compile.formula.spelling import Language, Latex, Spelling
from agrad.engine.compile.formula.writing import Written, written
from agrad.engine.errors import AgradError, Hint
from agrad.engine.program.ir import Input
from agrad.engine.text import printable
from agrad.engine.values import format_shape, np

_LATEX = 8.0  # how much longer formulas may be than the program, since each is read by itself


def in_agrad(what: Derived, name: str, text: str) -> str:
    """A function of agrad's language that returns a value, its gradient as a tuple, and its Hessian as a matrix."""
    if not name.isidentifier():
        raise AgradError("name", f"a function in agrad cannot be called {name}")
    value, first, second, found = _results(what, Language())
    results = [value]
    if what.order:
        gradients = nested(first, what.shapes)
        results.append(f"({', '.join(gradients)}{',' * (len(gradients) == 1)})")
    if what.order > 1:
        results.append(f"[{', '.join(f'[{row}]' for row in map(', '.join, second))}]")
    lines = [
        f"# {printable(' '.join(text.split()))}",
        f"def {name}({', '.join(given.name for given in what.arguments)}):",
    ]
    lines += [f"    {part} = {formula}" for part, formula in found.parts]
    return "\n".join([*lines, f"    return {', '.join(results)}"]) + "\n"


def in_latex(what: Derived, name: str, text: str) -> str:
    """Equations, for a document that loads amsmath."""
    spelling = Latex()
    value, first, second, found = _results(what, spelling, _LATEX)
    called = spelling.name(name).text
    arguments = ", ".join(spelling.name(given.name).text for given in what.arguments)
    wrt = [spelling.name(what_entry).text for what_entry in _entries([what.arguments[place] for place in what.wrt])]
    equations = [(part, formula) for part, formula in found.parts]
    equations.append((rf"{called}\left({arguments}\right)", value))
    equations += [(rf"\frac{{\partial {called}}}{{\partial {x}}}", one) for x, one in zip(wrt, first, strict=False)]
    for row, (x, entries) in enumerate(zip(wrt, second, strict=False)):
        for y, one in zip(wrt[row:], entries[row:], strict=True):
            below = rf"\partial {x}^{{2}}" if x == y else rf"\partial {x} \partial {y}"
            equations.append((rf"\frac{{\partial^{{2}} {called}}}{{{below}}}", one))
    lines = [f"    {left} &= {right}" for left, right in equations]
    remark = printable(" ".join(text.split()))
    return f"% {remark}\n\\begin{{align*}}\n" + " \\\\\n".join(lines) + "\n\\end{align*}\n"


def _results(what: Derived, spelling: Spelling, times: float = 1.0) -> tuple[str, list[str], list[list[str]], Written]:
    """The value, its derivatives, the rows of the second ones, and what names in these stand for.

    Raises AgradError of kind `shape` where the value is not one number.
    """
    if what.arrays:
        raise AgradError(
            "limit", "arrays of so many entries are not exported as formulas", fixes=[Hint("export to .c, .js or .py")]
        )
    if what.result:
        raise AgradError(
            "shape",
            f"the value has shape {format_shape(what.result)}, and as a formula one number is exported",
            fixes=[Hint("sum the entries up, or export to .c, .js or .py")],
        )
    inputs = tuple(Input(entry, ()) for entry in _entries(what.arguments))
    found = written(replace(what.program, inputs=inputs), spelling, times)
    value, *others = found.results
    first, rest = others[: what.count], others[what.count :]
    return value, first, [rest[begin : begin + what.count] for begin in range(0, len(rest), what.count or 1)], found


def _entries(arguments: Sequence[Input]) -> list[str]:
    """Each number of the arguments, as the language names it."""
    return [
        f"{given.name}[{', '.join(map(str, index))}]" if given.shape else given.name
        for given in arguments
        for index in np.ndindex(*given.shape)
    ]
