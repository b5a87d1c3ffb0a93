"""Python, with its module `math` alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from keyword import kwlist
from typing import ClassVar

from agrad.engine.compile.export.source import CHOICE, OR, Formula, Language, Results, inside, spread

_TOTAL = "atan atan2 asinh tanh cbrt hypot erf erfc copysign".split()


def _helper(name: str, arguments: str, text: str) -> str:
    return f"def {name}({arguments}):\n    {text}"


def _or_infinite(name: str, infinite: str) -> str:
    """A function that overflows."""
    text = f"try:\n        return math.{name}(x)\n    except OverflowError:\n        return {infinite}"
    return _helper(name, "x", text)


# Python raises where IEEE 754 has a result.
_HELPERS = {
    **{
        name: _helper(name, "x", f"return math.{name}(x) if math.isfinite(x) else math.nan")
        for name in ("sin", "cos", "tan")
    },
    **{name: _helper(name, "x", f"return math.{name}(x) if abs(x) <= 1.0 else math.nan") for name in ("asin", "acos")},
    **{
        name: _helper(name, "x", f"return math.{name}(x) if x > 0.0 else math.nan if x else -math.inf")
        for name in ("log", "log2", "log10")
    },
    **{name: _or_infinite(name, "math.inf") for name in ("exp", "exp2", "expm1", "cosh")},
    "sinh": _or_infinite("sinh", "math.copysign(math.inf, x)"),
    "acosh": _helper("acosh", "x", "return math.acosh(x) if x >= 1.0 else math.nan"),
    "sqrt": _helper("sqrt", "x", "return math.sqrt(x) if x >= 0.0 else math.nan"),
    "log1p": _helper("log1p", "x", "return math.log1p(x) if x > -1.0 else -math.inf if x == -1.0 else math.nan"),
    "atanh": _helper(
        "atanh", "x", "return math.atanh(x) if abs(x) < 1.0 else x*math.inf if abs(x) == 1.0 else math.nan"
    ),
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
    words = frozenset([*kwlist, "math", "abs", "round"])
    helpers = _HELPERS
    both, either = "and", "or"
    functions: ClassVar[dict[str, str]] = {
        **{name: f"math.{name}" for name in _TOTAL},
        **{name: name for name in _HELPERS if name != "divide"},
        "fabs": "abs",
    }

    def binary(self, name: str, x: str, y: str) -> str:
        """Arithmetic; a division by what may be 0 by a helper."""
        if name != "div" or self._is_constant(y):
            return super().binary(name, x, y)
        return self._called("divide", (x, y))

    def _is_constant(self, x: str) -> bool:
        """Whether a divisor is a number other than 0."""
        write, operands = self.steps[int(x)]
        text = write().text if not operands else ""
        return text[-1:].isdigit() and text[:1] in "-.0123456789" and float(text) != 0.0

    def opposite(self, text: str) -> Formula:
        """The opposite of an outcome."""
        return Formula(f"(not {text})")

    def choice(self, which: Formula, here: Formula, there: Formula) -> Formula:
        """One of two numbers."""
        return Formula(f"{inside(here, OR)} if {inside(which, OR)} else {inside(there, CHOICE)}", CHOICE)

    def number(self, value: float) -> str:
        """A literal."""
        if math.isfinite(value):
            return repr(value)
        return "math.nan" if value != value else f"{'-' * (value < 0)}math.inf"

    def entry(self, name: str, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
        """An entry of a list of lists, or of an array."""
        return name + "".join(f"[{one}]" for one in index)

    def assign(self, name: str, formula: str, is_outcome: bool) -> str:
        """A variable."""
        return f"{name} = {formula}"

    def function(
        self, name: str, names: Sequence[str], body: Sequence[str], results: Results, remark: Sequence[str]
    ) -> str:
        """The function, which returns the value, a tuple of gradients, and a list of the rows of the Hessian."""
        parts, first = [results.value], results.gradients
        if results.what.order:
            parts.append(f"({', '.join(first)}{',' * (len(first) == 1)})")
        if results.what.order > 1:
            parts.append(results.rows)
        lines = [line for helper in self.used for line in (self.helpers[helper], "", "")]
        lines = [
            *lines,
            *[f"# {line}" for line in remark],
            f"def {name}({', '.join(names)}):",
            *[f"    {line}" for line in body],
        ]
        text = "\n".join([*lines, f"    return {f'({spread(parts)})' if len(parts) > 1 else parts[0]}"]) + "\n"
        return f"import math\n\n\n{text}" if "math." in text else text
