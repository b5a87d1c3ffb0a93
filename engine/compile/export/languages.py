"""C, JavaScript and Python: how each spells what a symbol can do, and the function around it.

C99 needs nothing but its own mathematical functions, JavaScript is a module with one function, and Python needs its
module `math` alone. `LANGUAGES` lists these and the languages of formulas by the endings of their files.
"""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Callable, Iterator, Sequence
from keyword import kwlist
from operator import mul
from typing import ClassVar

from agrad.engine.compile.export import special
from agrad.engine.compile.export.derive import Derived
from agrad.engine.compile.export.formulas import in_agrad, in_latex
from agrad.engine.compile.export.source import CHOICE, Formula, Language, Lines, Results, source, spread
from agrad.engine.compile.llvm.stages import strides_of
from agrad.engine.text import beside, tables

_NAMES = tables(beside(__file__, "names.txt"))
_MATH = [*_NAMES["C functions"]]
_NAME = r"[A-Za-z_]\w*"
_DECLARED = r"const (?:double|int) (\w+) ="


class C(Language):
    """Arguments are numbers, or pointers to the entries of arrays, row by row, which no result may overlap."""

    name = "C"
    functions: ClassVar[dict[str, str]] = {name: name for name in _MATH}
    words = frozenset(
        [f"{name}{suffix}" for name in (*_MATH, *_NAMES["C other functions"]) for suffix in ("", "f", "l")]
    ).union(_NAMES["C words"])
    declared = frozenset(_NAMES["C library"])
    doubtful = r"_.*|[A-Z][A-Z0-9_]+|\w+_t"  # the headers of a system may define such names, as macros or types

    nan, infinity = "NAN", "INFINITY"

    def entry(self, name: str, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
        """An entry, counted row by row."""
        return f"{name}[{sum(map(mul, index, strides_of(shape)))}]"

    def assign(self, name: str, formula: str, is_outcome: bool) -> str:
        """A constant."""
        return f"const {'int' if is_outcome else 'double'} {name} = {formula};"

    def function(self, name: str, names: Lines, body: Lines, results: Results, remark: Lines) -> str:
        """The function, which returns the value and writes the derivatives where it is told."""
        what, second = results.what, [x for row in results.second for x in row]
        many, arguments = len(results.values), zip(names, what.arguments, strict=True)
        given = [f"const double *{one}" if argument.shape else f"double {one}" for one, argument in arguments]
        given += [f"double value[{many}]"] if what.result else []
        given += [f"double grad[{many * what.count}]"] if what.order else []
        given += [f"double hess[{what.count**2}]"] if what.order > 1 else []
        head = f"{'void' if what.result else 'double'} {name}({', '.join(given) or 'void'})"
        stored = [("value", results.values if what.result else []), ("grad", results.first), ("hess", second)]
        end = [] if what.result else [f"return {results.values[0]};"]
        comment = "\n   ".join(remark).replace("*/", "* /").replace("/*", "/ *").replace("\\", "/")
        lines = ["#include <math.h>", "", *(f"{one}\n" for one in self.definitions), f"/* {comment} */"]
        statements = [*_stored(body, stored), *end]
        used = set(re.findall(_NAME, "\n".join(statements)))
        unused = [f"(void){one};" for one in names if one not in used]  # which the compiler is told
        return "\n".join([*lines, head, "{", *[f"    {line}" for line in (*unused, *statements)], "}\n"])

    @property
    def definitions(self) -> list[str]:
        """All are declared first, since some call each other."""
        return [line for part in zip(*map(special.in_c, self.special), strict=True) for line in part]


def _stored(body: Sequence[str], stored: Sequence[tuple[str, Sequence[str]]]) -> Iterator[str]:
    """The statements, and each result as soon as it is there: then nothing has to be kept for it."""
    made = {found[1]: place for place, line in enumerate(body, 1) if (found := re.match(_DECLARED, line))}
    ready: dict[int, list[str]] = {}
    for array, formulas in stored:
        for number, formula in enumerate(formulas):
            last = max((made.get(name, 0) for name in re.findall(_NAME, formula)), default=0)
            ready.setdefault(last, []).append(f"{array}[{number}] = {formula};")
    yield from ready.get(0, ())
    for place, line in enumerate(body, 1):
        yield line
        yield from ready.get(place, ())


class JavaScript(Language):
    """Arguments are numbers, or arrays of arrays; the result is an object."""

    name = "JavaScript"
    helpers = _NAMES["JavaScript helpers"]
    functions: ClassVar[dict[str, str]] = {
        **{name: f"Math.{name}" for name in _NAMES["JavaScript functions"]},
        **{name: name for name in _NAMES["JavaScript helpers"]},
        "fabs": "Math.abs",
    }
    words = frozenset(_NAMES["JavaScript words"])
    same = ("===", "!==")
    nan, infinity = "NaN", "Infinity"
    spell = staticmethod(special.in_javascript)

    def number(self, value: float) -> str:
        """A literal."""
        is_short = math.isfinite(value) and value.is_integer() and 0 < abs(value) < 1e15
        return repr(int(value)) if is_short else super().number(value)

    def assign(self, name: str, formula: str, is_outcome: bool) -> str:
        """A constant."""
        return f"const {name} = {formula};"

    def function(self, name: str, names: Lines, body: Lines, results: Results, remark: Lines) -> str:
        """The function, which returns an object with `value`, `grad` and `hess`."""
        parts = [f"value: {results.value}", f"grad: [{', '.join(results.gradients)}]", f"hess: {results.rows}"]
        parts = parts[: results.what.order + 1]
        lines = [*self.definitions, ""] if self.definitions else []
        lines += [*(f"// {line}" for line in remark), f"export function {name}({', '.join(names)}) {{"]
        lines += [*(f"    {line}" for line in body), f"    return {{{spread(parts)}}};", "}\n"]
        return "\n".join(lines)


# Python raises where IEEE 754 has a result: functions that give it.
_HELPERS = {
    name: text for text, name in re.findall(r"^(def (\w+).*(?:\n .*)*)", beside(__file__, "helpers.txt"), re.MULTILINE)
}


class Python(Language):
    """Arguments are numbers, or arrays or lists of lists; the result is a tuple."""

    name = "Python"
    words = frozenset([*kwlist, *dir(builtins), "math"])
    helpers = _HELPERS
    spell = staticmethod(special.in_python)
    both, either, opposite = "and", "or", Formula("(not {})")
    choice = Formula("{1} if {0} else {2}", CHOICE)
    nan, infinity = "math.nan", "math.inf"
    functions: ClassVar[dict[str, str]] = {
        **{name: f"math.{name}" for name in _NAMES["Python functions"]},
        **{name: name for name in _HELPERS},
        "fabs": "abs",
    }

    def binary(self, name: str, x: str, y: str) -> str:
        """Arithmetic; a division by what may be 0 by a helper."""
        write, operands = self.steps[int(y)]
        text = write().text if not operands else ""
        is_nonzero = text[-1:].isdigit() and text[:1] in "-.0123456789" and float(text) != 0.0
        return super().binary(name, x, y) if name != "div" or is_nonzero else self.library("divide", (x, y))

    def function(self, name: str, names: Lines, body: Lines, results: Results, remark: Lines) -> str:
        """The function, which returns the value, a tuple of gradients, and a list of the rows of the Hessian."""
        parts = results.of_python
        lines = [line for definition in self.definitions for line in (definition, "", "")]
        lines += [*[f"# {line}" for line in remark], f"def {name}({', '.join(names)}):", *[f"    {x}" for x in body]]
        text = "\n".join([*lines, f"    return {f'({spread(parts)})' if len(parts) > 1 else parts[0]}"]) + "\n"
        return f"import math\n\n\n{text}" if "math." in text else text


# Of a value with its derivatives, the name of the function, and the expression, for a comment.
LANGUAGES: dict[str, Callable[[Derived, str, str], str]] = {
    "c": lambda what, name, text: source(what, C(), name, text),
    "js": lambda what, name, text: source(what, JavaScript(), name, text),
    "py": lambda what, name, text: source(what, Python(), name, text),
    "ag": in_agrad,
    "tex": in_latex,
}
