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

_MATH = (
    "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p cbrt hypot "
    "pow erf erfc fmod fabs sqrt floor ceil trunc rint copysign"
).split()
_REST = (  # of math.h
    "j0 j1 jn y0 y1 yn gamma lgamma tgamma signgam fma fmax fmin fdim remainder remquo round lround "
    "llround nearbyint lrint llrint nan nextafter nexttoward scalbn scalbln scalb ilogb logb ldexp frexp modf "
    "significand drem finite isinf isnan isnormal isfinite isgreater isless signbit fpclassify"
).split()
_WORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    "asm typeof typeof_unqual bool true false nullptr alignas alignof constexpr static_assert thread_local main value "
    "grad hess math_errhandling "
    "unix linux HUGE HUGE_VAL HUGE_VALF HUGE_VALL INFINITY NAN NULL MAXFLOAT RAND_MAX EXIT_FAILURE EXIT_SUCCESS "
    "DOMAIN OVERFLOW"
).split()

_LIBRARY = (  # of stdlib.h, and what compilers know without a header: an argument may be called so
    "abort abs atexit atof atoi atol atoll bsearch calloc div exit free getenv labs ldiv llabs lldiv malloc mblen "
    "mbstowcs mbtowc qsort rand realloc srand strtod strtof strtol strtold strtoll strtoul strtoull "
    "system wcstombs wctomb alloca index memchr memcmp memcpy memmove memset printf puts putchar scanf strcat "
    "strchr strcmp strcpy strlen strncmp"
).split()

_NAME = r"[A-Za-z_]\w*"
_DECLARED = r"const (?:double|int) (\w+) ="


class C(Language):
    """Arguments are numbers, or pointers to the entries of arrays, row by row, which no result may overlap."""

    name = "C"
    functions: ClassVar[dict[str, str]] = {name: name for name in _MATH}
    words = frozenset([*_MATH, *_REST, *_WORDS, *(f"{name}{suffix}" for name in (*_MATH, *_REST) for suffix in "fl")])
    declared = frozenset(_LIBRARY)
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
        given, many = _parameters(names, what), len(results.values)
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


def _parameters(names: Sequence[str], what: Derived) -> list[str]:
    pairs = zip(names, what.arguments, strict=True)
    return [f"const double *{one}" if argument.shape else f"double {one}" for one, argument in pairs]


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


_JAVASCRIPT_MATH = (
    "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp expm1 log log2 log10 log1p cbrt hypot sqrt "
    "floor ceil trunc"
).split()
_JAVASCRIPT_WORDS = (
    "arguments await break case catch class const continue debugger default delete do else enum eval export extends "
    "false finally for function if implements import in instanceof interface let new null package private protected "
    "public return static super switch this throw true try typeof var void while with yield "
    "Math Object Array Float64Array Number Infinity NaN undefined globalThis value grad hess"
).split()


# As in C. Math.pow has nan for 1**nan and (-1)**inf, and Math.round rounds halves up.
_JAVASCRIPT_HELPERS = {
    "exp2": "const exp2 = (x) => Math.pow(2, x);",
    "fmod": "const fmod = (x, y) => x % y;",
    "pow": "const pow = (x, y) => (x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : Math.pow(x, y));",
    "rint": "const rint = (x) => (Math.abs(x % 1) === 0.5 ? 2*Math.round(x/2) : Math.round(x));",
    "copysign": "const copysign = (x, y) => (y < 0 || Object.is(y, -0) ? -Math.abs(x) : Math.abs(x));",
}
_JAVASCRIPT_FUNCTIONS = {
    **{name: f"Math.{name}" for name in _JAVASCRIPT_MATH},
    **{name: name for name in _JAVASCRIPT_HELPERS},
    "fabs": "Math.abs",
}
_JAVASCRIPT_ERF = "\n".join(special.in_javascript(name, _JAVASCRIPT_FUNCTIONS) for name in ("erf_near", "erfc", "erf"))


class JavaScript(Language):
    """Arguments are numbers, or arrays of arrays; the result is an object."""

    name = "JavaScript"
    functions: ClassVar[dict[str, str]] = _JAVASCRIPT_FUNCTIONS | {"erf": "agrad_erf", "erfc": "agrad_erfc"}
    words = frozenset(_JAVASCRIPT_WORDS)
    same = ("===", "!==")
    nan, infinity = "NaN", "Infinity"
    helpers = _JAVASCRIPT_HELPERS | dict.fromkeys(("agrad_erf", "agrad_erfc"), _JAVASCRIPT_ERF)
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
        parts = [f"value: {results.value}"]
        if results.what.order:
            parts.append(f"grad: [{', '.join(results.gradients)}]")
        if results.what.order > 1:
            parts.append(f"hess: {results.rows}")
        lines = [*self.definitions, ""] if self.definitions else []
        lines += [*(f"// {line}" for line in remark), f"export function {name}({', '.join(names)}) {{"]
        lines += [*(f"    {line}" for line in body), f"    return {{{spread(parts)}}};", "}\n"]
        return "\n".join(lines)


_TOTAL = "atan atan2 asinh tanh cbrt hypot erf erfc copysign".split()


def _helper(name: str, arguments: str, text: str) -> str:
    return f"def {name}({arguments}):\n    {text}"


def _or_infinite(name: str, infinite: str) -> str:
    """A function that overflows."""
    text = f"try:\n        return math.{name}(x)\n    except OverflowError:\n        return {infinite}"
    return _helper(name, "x", text)


# Python raises where IEEE 754 has a result: some functions, the condition under which they do not, and that result.
_PARTIAL = (
    ("sin cos tan", "math.isfinite(x)", "math.nan"),
    ("asin acos", "abs(x) <= 1.0", "math.nan"),
    ("log log2 log10", "x > 0.0", "math.nan if x else -math.inf"),
    ("log1p", "x > -1.0", "-math.inf if x == -1.0 else math.nan"),
    ("sqrt", "x >= 0.0", "math.nan"),
    ("acosh", "x >= 1.0", "math.nan"),
    ("atanh", "abs(x) < 1.0", "x*math.inf if abs(x) == 1.0 else math.nan"),
)
_HELPERS = {
    **{
        name: _helper(name, "x", f"return math.{name}(x) if {defined} else {otherwise}")
        for names, defined, otherwise in _PARTIAL
        for name in names.split()
    },
    **{name: _or_infinite(name, "math.inf") for name in ("exp", "exp2", "expm1", "cosh")},
    "sinh": _or_infinite("sinh", "math.copysign(math.inf, x)"),
    "divide": _helper("divide", "x, y", "return x/y if y else x*math.copysign(math.inf, y)"),
    "fmod": _helper("fmod", "x, y", "return math.fmod(x, y) if math.isfinite(x) and y else math.nan"),
    "pow": """def pow(x, y):
    is_odd = math.isfinite(y) and y % 2.0 == 1.0
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0.0 and is_odd else math.inf
    except ValueError:
        return math.nan if x else math.copysign(math.inf, x) if is_odd else math.inf""",
    **{
        name: _helper(name, "x", f"return math.copysign({called}(x), x) if math.isfinite(x) else x")
        for name, called in (("floor", "math.floor"), ("ceil", "math.ceil"), ("trunc", "math.trunc"), ("rint", "round"))
    },
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
        **{name: f"math.{name}" for name in _TOTAL},
        **{name: name for name in _HELPERS if name != "divide"},
        "fabs": "abs",
    }

    def binary(self, name: str, x: str, y: str) -> str:
        """Arithmetic; a division by what may be 0 by a helper."""
        write, operands = self.steps[int(y)]
        text = write().text if not operands else ""
        is_nonzero = text[-1:].isdigit() and text[:1] in "-.0123456789" and float(text) != 0.0
        return super().binary(name, x, y) if name != "div" or is_nonzero else self._called("divide", (x, y))

    def function(self, name: str, names: Lines, body: Lines, results: Results, remark: Lines) -> str:
        """The function, which returns the value, a tuple of gradients, and a list of the rows of the Hessian."""
        parts, first = [results.value], results.gradients
        if results.what.order:
            parts.append(f"({', '.join(first)}{',' * (len(first) == 1)})")
        if results.what.order > 1:
            parts.append(results.rows)
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
