"""JavaScript, as a module with one function."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from agrad.engine.compile.export.derive import Derived
from agrad.engine.compile.export.source import Language, Results, Written, spread

_MATH = (
    "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp expm1 log log2 log10 log1p cbrt hypot sqrt "
    "floor ceil trunc"
).split()
_WORDS = (
    "arguments await break case catch class const continue debugger default delete do else enum eval export extends "
    "false finally for function if implements import in instanceof interface let new null package private protected "
    "public return static super switch this throw true try typeof var void while with yield "
    "Math Object Infinity NaN undefined value grad hess"
).split()


# The series 2/sqrt(pi)*exp(-x**2)*sum(2**k*x**(2*k + 1)/(2*k + 1)!!), whose terms are all positive, and Laplace's
# continued fraction of erfc (7.6.2 and 7.9.2 in the Digital Library of Mathematical Functions). The square in the
# exponent is taken in two parts: rounded as one, it would cost a large x its last digits.
_ERF = """\
const erf = (x) => {
    const size = Math.abs(x);
    if (size > 6) return Math.sign(x);
    if (size > 1.5) {
        let fraction = size;
        for (let k = 120; k > 0; k--) fraction = size + 0.5*k/fraction;
        return Math.sign(x)*(1 - 0.5641895835477563/fraction*Math.exp(-x*x));
    }
    let term = x, sum = x;
    for (let k = 1; Math.abs(term) > 1e-18*Math.abs(sum); k++) sum += term *= 2*x*x/(2*k + 1);
    return 1.1283791670955126*sum*Math.exp(-x*x);
};"""
_ERFC = """\
const erfc = (x) => {
    if (x < 0.75) {
        if (x < -6) return 2;
        let term = x, sum = x;
        for (let k = 1; Math.abs(term) > 1e-18*Math.abs(sum); k++) sum += term *= 2*x*x/(2*k + 1);
        return 1 - 1.1283791670955126*sum*Math.exp(-x*x);
    }
    if (x > 28) return 0;
    let fraction = x;
    for (let k = 20 + Math.ceil(200/(x*x)); k > 0; k--) fraction = x + 0.5*k/fraction;
    const near = Math.fround(x);
    return 0.5641895835477563/fraction*Math.exp(-near*near)*Math.exp((near - x)*(near + x));
};"""


class JavaScript(Language):
    """Arguments are numbers, or arrays of arrays; the result is an object."""

    name = "JavaScript"
    functions: ClassVar[dict[str, str]] = {
        **{name: f"Math.{name}" for name in _MATH},
        "fabs": "Math.abs",
        "exp2": "exp2",
        "fmod": "fmod",
        "pow": "pow",
        "rint": "rint",
        "copysign": "copysign",
        "erf": "erf",
        "erfc": "erfc",
    }
    words = frozenset(_WORDS)
    same = ("===", "!==")
    # As in C. Math.pow has nan for 1**nan and (-1)**inf, and Math.round rounds halves up.
    helpers: ClassVar[dict[str, str]] = {
        "exp2": "const exp2 = (x) => Math.pow(2, x);",
        "fmod": "const fmod = (x, y) => x % y;",
        "pow": "const pow = (x, y) => (x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : Math.pow(x, y));",
        "rint": "const rint = (x) => (Math.abs(x % 1) === 0.5 ? 2*Math.round(x/2) : Math.round(x));",
        "copysign": "const copysign = (x, y) => (y < 0 || Object.is(y, -0) ? -Math.abs(x) : Math.abs(x));",
        "erf": _ERF,
        "erfc": _ERFC,
    }

    def number(self, value: float) -> str:
        """A literal."""
        if math.isfinite(value):
            return repr(int(value)) if value.is_integer() and 0 < abs(value) < 1e15 else repr(value)
        return "NaN" if value != value else f"{'-' * (value < 0)}Infinity"

    def entry(self, name: str, index: tuple[int, ...], shape: tuple[int, ...]) -> str:
        """An entry of arrays in arrays."""
        return name + "".join(f"[{one}]" for one in index)

    def assign(self, name: str, formula: str, is_outcome: bool) -> str:
        """A constant."""
        return f"const {name} = {formula};"

    def function(
        self, name: str, names: Sequence[str], body: Sequence[str], results: Results, remark: Sequence[str]
    ) -> str:
        """The function, which returns an object with `value`, `grad` and `hess`."""
        parts = [f"value: {results.value}"]
        if results.what.order:
            parts.append(f"grad: [{', '.join(results.gradients)}]")
        if results.what.order > 1:
            parts.append(f"hess: {results.rows}")
        lines = [*(self.helpers[one] for one in self.used), ""] if self.used else []
        lines += [f"// {line}" for line in remark]
        lines += [f"export function {name}({', '.join(names)}) {{", *[f"    {line}" for line in body]]
        return "\n".join([*lines, f"    return {{{spread(parts)}}};", "}"]) + "\n"

    def loop(self, counter: str, length: int) -> str:
        """The head of a loop that counts from 0."""
        return f"for (let {counter} = 0; {counter} < {length}; {counter}++) {{"

    def variable(self, name: str) -> str:
        """A statement that makes a variable of 0."""
        return f"let {name} = 0;"

    def flat(self, name: str) -> str:
        """The name of an argument as a flat array."""
        return f"{name}_flat"

    def arrays(self, name: str, names: Sequence[str], what: Derived, written: Written, remark: Sequence[str]) -> str:
        """The function; the gradients get the shapes of the arguments at its end."""
        lines = [line for helper in self.used for line in (self.helpers[helper],)]
        lines += [_NESTED] if any(len(shape) > 1 for shape in what.shapes) and what.order else []
        for data, numbers in written.constants:
            lines.append(f"const {data} = new Float64Array([{', '.join(numbers)}]);")
        lines += [f"// {line}" for line in remark]
        lines.append(f"export function {name}({', '.join(names)}) {{")
        flat = [one for one, argument in zip(names, what.arguments, strict=True) if argument.shape]
        lines += [f"    const {self.flat(one)} = Array.from({one}).flat(Infinity);" for one in flat]
        lines += [f"    const {one} = new Float64Array({size});" for one, size in written.buffers.items()]
        lines += [f"    {line}" for line in written.body]
        grads = [
            output if not shape else f"Array.from({output})" if len(shape) == 1 else f"nested({output}, {list(shape)})"
            for output, shape in zip(written.outputs[1:], what.shapes, strict=False)
        ]
        parts = [f"value: {written.outputs[0]}"] + [f"grad: [{', '.join(grads)}]"] * (what.order > 0)
        return "\n".join([*lines, f"    return {{{spread(parts)}}};", "}"]) + "\n"


_NESTED = """\
const nested = (flat, [length, ...rest]) => {
    const step = flat.length/length;
    const row = (i) => flat.slice(i*step, (i + 1)*step);
    return rest.length ? Array.from({length}, (_, i) => nested(row(i), rest)) : Array.from(flat);
};"""
