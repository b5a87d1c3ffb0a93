"""C99, with nothing but its own mathematical functions."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from agrad.engine.compile.export.derive import Derived
from agrad.engine.compile.export.source import Language, Results, Written
from agrad.engine.values import size_of

_MATH = (
    "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p cbrt hypot "
    "pow erf erfc fmod fabs sqrt floor ceil trunc rint copysign"
).split()
_WORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "main value grad hess "
    "j0 j1 jn y0 y1 yn gamma lgamma tgamma signgam fma fmax fmin fdim remainder remquo round lround "
    "llround nearbyint lrint llrint nan nextafter nexttoward scalbn scalbln scalb ilogb logb ldexp frexp modf "
    "significand drem finite isinf isnan isnormal isfinite isgreater isless signbit fpclassify"
).split()


_NAME = r"[A-Za-z_]\w*"
_DECLARED = r"const (?:double|int) (\w+) ="


class C(Language):
    """Arguments are numbers, or pointers to the entries of arrays, row by row, which no result may overlap."""

    name = "C"
    functions: ClassVar[dict[str, str]] = {name: name for name in _MATH}
    words = frozenset([*_MATH, *_WORDS, *(f"{name}{suffix}" for name in _MATH for suffix in "fl")])

    def number(self, value: float) -> str:
        """A literal."""
        if math.isfinite(value):
            return repr(value)
        return "NAN" if value != value else f"{'-' * (value < 0)}INFINITY"

    def entry(self, name: str, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
        """An entry, counted row by row."""
        place = 0
        for one, length in zip(index, shape, strict=True):
            place = place * length + one
        return f"{name}[{place}]"

    def assign(self, name: str, formula: str, is_outcome: bool) -> str:
        """A constant."""
        return f"const {'int' if is_outcome else 'double'} {name} = {formula};"

    def function(
        self, name: str, names: Sequence[str], body: Sequence[str], results: Results, remark: Sequence[str]
    ) -> str:
        """The function, which returns the value and writes the derivatives where it is told."""
        what, second = results.what, [x for row in results.second for x in row]
        given = [
            f"const double *{one}" if argument.shape else f"double {one}"
            for one, argument in zip(names, what.arguments, strict=True)
        ]
        many = len(results.values)
        given += [f"double value[{many}]"] if what.result else []
        given += [f"double grad[{many * what.count}]"] if what.order else []
        given += [f"double hess[{what.count**2}]"] if what.order > 1 else []
        used = set(re.findall(_NAME, " ".join([*body, *results.values, *results.first, *second])))
        comment = "\n   ".join(remark).replace("*/", "* /").replace("/*", "/ *").replace("\\", "/")
        kind = "void" if what.result else "double"
        lines = ["#include <math.h>", "", f"/* {comment} */", f"{kind} {name}({', '.join(given) or 'void'})", "{"]
        lines += [f"    (void){one};" for one in names if one not in used]
        stored = [("value", results.values if what.result else []), ("grad", results.first), ("hess", second)]
        lines += [f"    {line}" for line in _stored(body, stored)]
        lines += [] if what.result else [f"    return {results.values[0]};"]
        return "\n".join([*lines, "}"]) + "\n"

    def loop(self, counter: str, length: int) -> str:
        """The head of a loop that counts from 0."""
        return f"for (int {counter} = 0; {counter} < {length}; {counter}++) {{"

    def variable(self, name: str) -> str:
        """A statement that makes a variable of 0."""
        return f"double {name} = 0.0;"

    def arrays(self, name: str, names: Sequence[str], what: Derived, written: Written, remark: Sequence[str]) -> str:
        """The function; what it computes besides stands in memory that it takes, and gives back."""
        given = [
            f"const double *{one}" if argument.shape else f"double {one}"
            for one, argument in zip(names, what.arguments, strict=True)
        ]
        given += [f"double grad[{what.count}]"] if what.order else []
        comment = "\n   ".join(remark).replace("*/", "* /").replace("/*", "/ *").replace("\\", "/")
        lines = ["#include <math.h>", "#include <stdlib.h>", ""]
        for data, numbers in written.constants:
            lines += [f"static const double {data}[{len(numbers)}] = {{", *_wrapped(numbers), "};", ""]
        lines += [f"/* {comment}", "   The value is NAN, and grad untouched, where there is no memory. */"]
        lines += [f"double {name}({', '.join(given)})", "{", *_memory(written)]
        text = "\n".join(written.body + written.outputs)
        lines += [f"    (void){one};" for one in names if one not in re.findall(_NAME, text)]
        lines += [f"    {line}" for line in written.body]
        begin = 0
        for output, shape in zip(written.outputs[1:], what.shapes, strict=False):
            count = size_of(shape)
            if shape:
                there = f"{output}[i]"
                lines.append(
                    f"    for (int i = 0; i < {count}; i++) grad[{f'{begin} + ' if begin else ''}i] = {there};"
                )
            else:
                lines.append(f"    grad[{begin}] = {output};")
            begin += count
        lines += [f"    const double value = {written.outputs[0]};", "    free(work);", "    return value;", "}"]
        return "\n".join(lines) + "\n"


def _memory(written: Written) -> Iterator[str]:
    """The arrays, one after the other in one piece of memory."""
    yield f"    double *const work = malloc({max(sum(written.buffers.values()), 1)}*sizeof(double));"
    yield "    if (work == NULL) return NAN;"
    begin = 0
    for name, size in written.buffers.items():
        yield f"    double *const {name} = work + {begin};"
        begin += size


def _wrapped(numbers: Sequence[str]) -> Iterator[str]:
    """Numbers in lines."""
    for begin in range(0, len(numbers), 8):
        yield f"    {', '.join(numbers[begin : begin + 8])},"


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
