"""Formulas: what a program computes, as one would write it on paper, in the language of agrad and in LaTeX.

A term is made of each result; where these would be longer than the program, there are names for the parts that they
share. A `Language` writes terms as text, which can be read again in the language.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from agrad.engine.compile.export import terms
from agrad.engine.compile.export.derive import Derived
from agrad.engine.compile.export.source import Formula, Results
from agrad.engine.compile.scalarise import entry_names
from agrad.engine.core.op import FUNCTIONS, Op
from agrad.engine.errors import AgradError, Hint
from agrad.engine.program.ir import Input, Program, Step
from agrad.engine.program.printer import parts
from agrad.engine.text import latex_name, printable
from agrad.engine.values import format_shape

_MOST = 2000  # parts of a formula in one line
_LONG = 200  # parts of one with a name


class _TooLong(Exception):
    """One line would be very long."""


def _read(program: Program, spelling: Language, shares: Callable[[int, terms.Term], bool]) -> Written:
    """The formulas of the results, with names for the steps that are shared. Raises _TooLong, and UnwritableError."""
    found, taken = list[tuple[str, str]](), {given.name for given in program.inputs}
    names = (name for number in range(1, 10**9) if (name := f"t{number}") not in taken)
    slots = [terms.variable(given.name) for given in program.inputs]
    slots += [terms.term(value) for value in program.constants]
    for slot, step in enumerate(program.steps, program.first):
        made = term_of(step, [slots[x] for x in step.operands])
        if shares(slot, made):
            name = next(names)
            found.append((spelling.name(name).text, spelling.write(made)))
            made = terms.variable(name)
        if made.size > _MOST:
            raise _TooLong
        slots.append(made)
    return Written(found, [spelling.write(slots[slot]) for slot in program.outputs])


def term_of(step: Step, operands: Sequence[terms.Term]) -> terms.Term:
    """The result of a step as a term."""
    op = step.op
    if op.name == "pow" and operands[0].number is not None and float(operands[0].number) == math.e:
        return terms.applied("exp", operands[1:])  # e**x
    made: terms.Term | None = op.formula(*operands, **step.attrs) if op.formula is not None else None
    if made is not None:
        return made
    if op.role == "copy":
        return operands[0]
    if op.operator is not None:
        method = getattr(operands[0], f"__{op.operator.method}__", None)
        if method is not None and op.operator.precedence:  # a comparison is no arithmetic
            return method(*operands[1:])  # type: ignore[no-any-return]
        return terms.applied(op.name, operands, op.operator.sign)
    if FUNCTIONS.get(op.name) is None or op.role == "opaque":
        raise terms.UnwritableError(f"the operation {op.title}")
    return terms.applied(op.name, operands, rest=_attributes(op, step.attrs))


def _attributes(op: Op, attrs: dict[str, Any]) -> str:
    """The attributes of a call, as they are typed; nothing for those that a call has by default."""
    given = {name: value for name, value in attrs.items() if name in op.signature.attributes}
    if any(type(value) not in (int, float, str, bool) for value in given.values()):
        raise terms.UnwritableError(f"the operation {op.title} with these attributes")
    return ", ".join(f"{name}={value!r}" for name, value in given.items())


OTHER, SUM, PRODUCT, POWER, ATOM = range(5)  # how tightly the parts of a formula hold together
_DENOMINATOR = 12  # the largest of a number that is written as a fraction


# Numbers that the rules of operations have, and their multiples: 2/sqrt(pi) in the derivative of erf.
_CONSTANTS = {
    "pi": math.pi,
    "log(2)": math.log(2.0),
    "log(10)": math.log(10.0),
    "sqrt(pi)": math.sqrt(math.pi),
    "sqrt(2*pi)": math.sqrt(2.0 * math.pi),
    "sqrt(2)": math.sqrt(2.0),
    "e": math.e,
}
_ROUNDING = 4e-16  # relative


class Language:
    """Terms as text in the language of agrad. Numbers become fractions and multiples of pi where they are."""

    root, derived = "sqrt({})", "d/d{} = {}"
    last: Collection[str] = ()  # the names that stand behind all others in a product: 2*a*x
    has_e = False  # whether e is the number, and may stand for exp

    def write(self, x: terms.Term) -> str:
        """A term as text."""
        return self.sum(x).text

    def sum(self, x: terms.Term) -> Formula:
        """A sum, which begins with what is added, if there is such."""
        if not x.products:
            return Formula("0", ATOM)
        if len(x.products) == 1:
            return self.product(x.products[0])
        first = next((one for one in x.products if one.number > 0), x.products[0])
        text = self.bracketed(self.product(first), SUM)
        for one in x.products:
            if one is not first:
                sign = "+" if one.number > 0 else "-"
                text += f" {sign} {self.bracketed(self.product(terms.Product(abs(one.number), one.factors)), PRODUCT)}"
        return Formula(text, SUM)

    def product(self, one: terms.Product) -> Formula:
        """A product: its number first, then names, sums and functions; divisors below."""
        above, below = _numbers(abs(one.number), alone=not one.factors)
        over, under = list(map(self.number, above)), list(map(self.number, below))
        constants = {self.number(text).text for text in (*above, *below) if text.endswith(")")}
        for base, exponent in sorted(one.factors, key=lambda factor: (_rank(factor), factor.base.key in self.last)):
            n = exponent.number
            if n is not None and n < 0:
                under.append(self.power(base, -exponent))
            else:
                over.append(self.power(base, exponent))
        # 2**x*log(2), and 1/(x*log(10))
        for factors in (over, under):
            factors.sort(key=lambda part: part.text in constants)
        made = self.fraction(over, under)
        return Formula(f"-{self.bracketed(made, PRODUCT)}", SUM) if one.number < 0 else made

    def power(self, base: terms.Name | terms.Applied | terms.Term, exponent: terms.Term) -> Formula:
        """A base, with its exponent where that is not 1."""
        if exponent.number == Fraction(1, 2):
            return Formula(self.root.format(self.base(base).text), ATOM)
        if exponent.number == 1:
            return self.base(base)
        if exponent.number is not None:
            near = exponent.number.limit_denominator(_DENOMINATOR)
            if abs(near - exponent.number) <= _ROUNDING * abs(exponent.number):  # such as 1/3 - 1
                exponent = terms.term(near)
        return self.raised(self.base(base), self.sum(exponent))

    def base(self, base: terms.Name | terms.Applied | terms.Term) -> Formula:
        """What is raised to a power."""
        if isinstance(base, terms.Term):
            return self.sum(base)
        return self.name(base.key) if isinstance(base, terms.Name) else self.call(base)

    def bracketed(self, x: Formula, binding: int) -> str:
        """A part of a formula that holds together so tightly, in brackets if need be."""
        return f"({x.text})" if x.binding < binding else x.text

    def derivative(self, name: str, text: str) -> str:
        """A line that says what a derivative is: `d/dx = …`."""
        return self.derived.format(self.name(name).text, text)

    def number(self, text: str) -> Formula:
        """A positive number, or a constant."""
        return Formula(text, ATOM)

    def fraction(self, over: Sequence[Formula], under: Sequence[Formula]) -> Formula:
        """The product of some, divided by that of others: `a*b/(c*d)`."""
        if len(over) == 1 and not under:
            return over[0]
        above = "*".join(self.bracketed(one, POWER) for one in over) or "1"
        if not under:
            return Formula(above, PRODUCT)
        below = "*".join(self.bracketed(one, POWER) for one in under)
        return Formula(f"{above}/{f'({below})' if len(under) > 1 else below}", PRODUCT)

    def raised(self, base: Formula, exponent: Formula) -> Formula:
        """`a**b`."""
        return Formula(f"{self.bracketed(base, ATOM)}**{self.bracketed(exponent, POWER)}", POWER)

    def name(self, name: str) -> Formula:
        """Itself."""
        return Formula(name, ATOM)

    def call(self, one: terms.Applied) -> Formula:
        """`f(a, b)`, or `a < b`."""
        operands = [self.sum(x) for x in one.operands]
        if one.sign:
            return Formula(f" {self.sign(one.sign)} ".join(self.bracketed(x, POWER) for x in operands), OTHER)
        inside = ", ".join([*[x.text for x in operands], *filter(None, [one.rest])])
        return Formula(self.applied(one.name, inside), ATOM)

    def sign(self, sign: str) -> str:
        """An infix operator."""
        return sign

    def applied(self, name: str, inside: str) -> str:
        """A function of operands."""
        return f"{name}({inside})"


class Calculator(Language):
    """Terms as one types them at a calculator: `x^2`, `e^(2*x)`."""

    def raised(self, base: Formula, exponent: Formula) -> Formula:
        """`a^b`."""
        return Formula(f"{self.bracketed(base, ATOM)}^{self.bracketed(exponent, ATOM)}", POWER)

    def call(self, one: terms.Applied) -> Formula:
        """`e^x` instead of exp(x)."""
        if one.name == "exp" and self.has_e:
            return self.raised(self.name("e"), self.sum(one.operands[0]))
        return super().call(one)


class Latex(Language):
    """LaTeX, for between dollar signs."""

    root, derived = r"\sqrt{{{}}}", r"\frac{{\partial}}{{\partial {}}} = {}"

    def number(self, text: str) -> Formula:
        r"""`2.5`, `10^{-7}`, `\pi`."""
        if text in _CONSTANTS:
            text = text.replace("*", " ").replace("pi", r"\pi")
            return Formula(re.sub(r"sqrt\((.*)\)", r"\\sqrt{\1}", text.replace("log", r"\ln")), ATOM)
        mantissa, e, exponent = text.partition("e")
        return Formula(rf"{mantissa} \times 10^{{{int(exponent)}}}", PRODUCT) if e else Formula(text, ATOM)

    def fraction(self, over: Sequence[Formula], under: Sequence[Formula]) -> Formula:
        r"""`\frac{a b}{c d}`."""
        if len(over) == 1 and not under:
            return over[0]
        if not under:
            return Formula(self._together(over), PRODUCT)
        above = over[0].text if len(over) == 1 else self._together(over) or "1"
        below = under[0].text if len(under) == 1 else self._together(under)
        return Formula(rf"\frac{{{above}}}{{{below}}}", PRODUCT)

    def _together(self, factors: Sequence[Formula]) -> str:
        texts = [self.bracketed(one, POWER) for one in factors]
        return "".join(
            text if not place else (r" \cdot " if text[0].isdigit() else " ") + text for place, text in enumerate(texts)
        )

    def raised(self, base: Formula, exponent: Formula) -> Formula:
        """`a^{b}`."""
        return Formula(f"{self.bracketed(base, ATOM)}^{{{exponent.text}}}", POWER)

    def name(self, name: str) -> Formula:
        r"""`x`, `\alpha`, `\mathrm{speed}`."""
        return Formula(latex_name(name), ATOM)

    def sign(self, sign: str) -> str:
        r"""`<`, `\le`."""
        return _SIGNS.get(sign, rf"\mathbin{{{sign}}}")

    def applied(self, name: str, inside: str) -> str:
        r"""`\sin\left(a\right)`."""
        if name == "abs":
            return rf"\left|{inside}\right|"
        called = _FUNCTIONS.get(name) or rf"\operatorname{{{name}}}".replace("_", r"\_")
        return rf"{called}\left({inside}\right)"

    def bracketed(self, x: Formula, binding: int) -> str:
        """The same, in brackets that grow."""
        return rf"\left({x.text}\right)" if x.binding < binding else x.text


_FUNCTIONS = {
    **{name: f"\\{name}" for name in "sin cos tan sinh cosh tanh exp max min det".split()},
    **{f"a{name}": f"\\arc{name}" for name in ("sin", "cos", "tan")},
    "log": r"\ln",
    "gamma": r"\Gamma",
}
_SIGNS = {"<": "<", ">": ">", "<=": r"\le", ">=": r"\ge", "==": "=", "!=": r"\ne", "%": r"\bmod"}


def _rank(factor: terms.Factor) -> int:
    """The place of a factor in a product: names, powers of numbers, sums, exponentials, other functions."""
    base = factor.base
    if isinstance(base, terms.Name):
        return 0
    if isinstance(base, terms.Term):
        return 1 if base.number is not None else 2
    return 3 if base.name == "exp" else 4


def _numbers(number: Fraction, alone: bool) -> tuple[list[str], list[str]]:
    """A positive number as what is above and what is below a line; nothing for a factor 1."""
    value = float(number)
    near = number.limit_denominator(_DENOMINATOR)
    number = near if float(near) == value else number
    if number.denominator <= _DENOMINATOR and abs(number.numerator) < 10**15:
        above = [str(number.numerator)] if number.numerator != 1 or (alone and number.denominator == 1) else []
        return above, [str(number.denominator)] if number.denominator != 1 else []
    for text, constant in _CONSTANTS.items():
        for is_below, ratio in ((False, value / constant), (True, value * constant)):
            near = Fraction(ratio).limit_denominator(_DENOMINATOR)
            if 0 < near.numerator <= _DENOMINATOR and abs(ratio - near) <= _ROUNDING * ratio:
                above = [str(near.numerator)] if near.numerator != 1 else []
                below = [str(near.denominator)] if near.denominator != 1 else []
                return (above, [*below, text]) if is_below else ([*above, text], below)
    return [repr(value)], []


class Written(NamedTuple):
    """Names with the formulas that they stand for, of which the later may use the earlier, and those of the results."""

    parts: list[tuple[str, str]]
    results: list[str]

    @property
    def length(self) -> int:
        """How many characters there are."""
        return sum(map(len, [text for part in self.parts for text in part])) + sum(map(len, self.results))


def written(program: Program, spelling: Language, times: float = 1.0) -> Written:
    """The formulas without parts, if these are not so many times as long as the program; else whatever is shorter.

    Raises AgradError of kind `type` for what has no formula.
    """
    most = sum(len(step.partition("  #")[0].rstrip()) for step in parts(program)[1])
    uses = Counter([slot for step in program.steps for slot in step.operands] + list(program.outputs))

    def is_long(slot: int, made: terms.Term) -> bool:
        """Whether a part gets a name because it is used several times, or is long."""
        return made.size > (2 if uses[slot] > 1 else _LONG)

    tried: list[Written] = []
    try:
        if not program.is_scalar:
            raise terms.UnwritableError("an array")
        for shares in (lambda slot, made: False, is_long):
            with suppress(_TooLong):
                tried.append(_read(program, spelling, shares))
                if tried[-1].length <= times * most:
                    break
    except (terms.UnwritableError, OverflowError) as problem:
        raise AgradError("type", f"there is no formula of {problem}") from None
    return min(tried, key=lambda one: one.length)


_LATEX = 8.0  # how much longer formulas may be than the program, since each is read by itself


def in_agrad(what: Derived, name: str, text: str) -> str:
    """A function of agrad's language that returns a value, its gradient as a tuple, and its Hessian as a matrix."""
    if not name.isidentifier():
        raise AgradError("name", f"a function in agrad cannot be called {name}")
    results, parts = _results(what, Language())
    lines = [
        f"# {printable(' '.join(text.split()))}",
        f"def {name}({', '.join(given.name for given in what.arguments)}):",
        *[f"    {part} = {formula}" for part, formula in parts],
        f"    return {', '.join(results.of_python)}\n",
    ]
    return "\n".join(lines)


def in_latex(what: Derived, name: str, text: str) -> str:
    """Equations, for a document that loads amsmath."""
    spelling = Latex()
    results, equations = _results(what, spelling, _LATEX)
    called = spelling.name(name).text
    arguments = ", ".join(spelling.name(given.name).text for given in what.arguments)
    wrt = [spelling.name(what_entry).text for what_entry in entry_names([what.arguments[place] for place in what.wrt])]
    equations.append((rf"{called}\left({arguments}\right)", results.value))
    first = zip(wrt, results.first, strict=False)
    equations += [(rf"\frac{{\partial {called}}}{{\partial {x}}}", one) for x, one in first]
    for row, (x, entries) in enumerate(zip(wrt, results.second, strict=False)):
        for y, one in zip(wrt[row:], entries[row:], strict=True):
            below = rf"\partial {x}^{{2}}" if x == y else rf"\partial {x} \partial {y}"
            equations.append((rf"\frac{{\partial^{{2}} {called}}}{{{below}}}", one))
    lines = [f"    {left} &= {right}" for left, right in equations]
    remark = printable(" ".join(text.split()))
    return f"% {remark}\n\\begin{{align*}}\n" + " \\\\\n".join(lines) + "\n\\end{align*}\n"


def _results(what: Derived, spelling: Language, times: float = 1.0) -> tuple[Results, list[tuple[str, str]]]:
    """The formulas of a value and its derivatives, and what names in these stand for.

    Raises AgradError of kind `shape` where the value is not one number.
    """
    if what.result:
        message = f"the value has shape {format_shape(what.result)}, and as a formula one number is exported"
        raise AgradError("shape", message, fixes=[Hint("sum the entries up, or export to .c, .js or .py")])
    inputs = tuple(Input(entry, ()) for entry in entry_names(what.arguments))
    found = written(replace(what.program, inputs=inputs), spelling, times)
    return Results(what, *what.divided(found.results)), found.parts
