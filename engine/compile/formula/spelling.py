"""Terms as text: in the language, so that they can be read again, and in LaTeX."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from agrad.engine.compile.formula.terms import Applied, Factor, Name, Product, Term
from agrad.engine.text import latex_name

OTHER, SUM, PRODUCT, POWER, ATOM = range(5)  # how tightly the parts of a formula hold together
_DENOMINATOR = 12  # the largest of a number that is written as a fraction
_OPERATIONS = re.compile(r"\*\*|[-+*/%@<>=!]+|[A-Za-z_]\w*\(")


# Numbers that the rules of operations have, and their multiples: 2/sqrt(pi) in the derivative of erf.
_CONSTANTS = {
    "pi": math.pi,
    "log(2)": math.log(2.0),
    "log(10)": math.log(10.0),
    "sqrt(pi)": math.sqrt(math.pi),
    "sqrt(2*pi)": math.sqrt(2.0 * math.pi),
    "sqrt(2)": math.sqrt(2.0),
}
_ROUNDING = 4e-16  # relative


class Text(NamedTuple):
    """A formula, and how tightly it holds together."""

    text: str
    binding: int


def operations(text: str) -> int:
    """How many operators and calls a formula in the language has."""
    return len(_OPERATIONS.findall(text))


class Spelling(ABC):
    """How sums, products and powers are put together. Numbers become fractions and multiples of pi where they are."""

    def write(self, x: Term) -> str:
        """A term as text."""
        return self.sum(x).text

    def sum(self, x: Term) -> Text:
        """A sum, which begins with what is added, if there is such."""
        if not x.products:
            return Text("0", ATOM)
        if len(x.products) == 1:
            return self.product(x.products[0])
        first = next((one for one in x.products if one.number > 0), x.products[0])
        text = self.bracketed(self.product(first), SUM)
        for one in x.products:
            if one is not first:
                sign = "+" if one.number > 0 else "-"
                text += f" {sign} {self.bracketed(self.product(Product(abs(one.number), one.factors)), PRODUCT)}"
        return Text(text, SUM)

    def product(self, one: Product) -> Text:
        """A product: its number first, then names, sums and functions; divisors below."""
        above, below = _numbers(abs(one.number), alone=not one.factors)
        over, under = list(map(self.number, above)), list(map(self.number, below))
        constants = {self.number(text).text for text in (*above, *below) if text.endswith(")")}
        for base, exponent in sorted(one.factors, key=_rank):
            n = exponent.number
            if n is not None and n < 0:
                under.append(self.power(base, -exponent))
            else:
                over.append(self.power(base, exponent))
        # 2**x*log(2), and 1/(x*log(10))
        for parts in (over, under):
            parts.sort(key=lambda part: part.text in constants)
        made = self.fraction(over, under)
        return Text(f"-{self.bracketed(made, PRODUCT)}", SUM) if one.number < 0 else made

    def power(self, base: Name | Applied | Term, exponent: Term) -> Text:
        """A base, with its exponent where that is not 1."""
        if exponent.number == Fraction(1, 2):
            return self.root(self.base(base))
        if exponent.number == 1:
            return self.base(base)
        return self.raised(self.base(base), self.sum(exponent))

    def base(self, base: Name | Applied | Term) -> Text:
        """What is raised to a power."""
        if isinstance(base, Term):
            return self.sum(base)
        return self.name(base.text) if isinstance(base, Name) else self.call(base)

    @abstractmethod
    def derivative(self, name: str, text: str) -> str:
        """A line that says what a derivative is."""

    @abstractmethod
    def number(self, text: str) -> Text:
        """A positive number, or a constant."""

    @abstractmethod
    def fraction(self, over: Sequence[Text], under: Sequence[Text]) -> Text:
        """The product of some, divided by that of others."""

    @abstractmethod
    def raised(self, base: Text, exponent: Text) -> Text:
        """A power."""

    @abstractmethod
    def root(self, base: Text) -> Text:
        """A square root."""

    @abstractmethod
    def name(self, name: str) -> Text:
        """A variable."""

    @abstractmethod
    def call(self, one: Applied) -> Text:
        """A function, or an infix operator."""

    def bracketed(self, x: Text, binding: int) -> str:
        """A part of a formula that holds together so tightly, in brackets if need be."""
        return f"({x.text})" if x.binding < binding else x.text


class Language(Spelling):
    """The language of agrad."""

    def derivative(self, name: str, text: str) -> str:
        """As `d/dx = …`."""
        return f"d/d{name} = {text}"

    def number(self, text: str) -> Text:
        """Itself."""
        return Text(text, ATOM)

    def fraction(self, over: Sequence[Text], under: Sequence[Text]) -> Text:
        """`a*b/(c*d)`."""
        if len(over) == 1 and not under:
            return over[0]
        above = "*".join(self.bracketed(one, POWER) for one in over) or "1"
        if not under:
            return Text(above, PRODUCT)
        below = "*".join(self.bracketed(one, POWER) for one in under)
        return Text(f"{above}/{f'({below})' if len(under) > 1 else below}", PRODUCT)

    def raised(self, base: Text, exponent: Text) -> Text:
        """`a**b`."""
        return Text(f"{self.bracketed(base, ATOM)}**{self.bracketed(exponent, POWER)}", POWER)

    def root(self, base: Text) -> Text:
        """`sqrt(a)`."""
        return Text(f"sqrt({base.text})", ATOM)

    def name(self, name: str) -> Text:
        """Itself."""
        return Text(name, ATOM)

    def call(self, one: Applied) -> Text:
        """`f(a, b)`, or `a < b`."""
        operands = [self.sum(x) for x in one.operands]
        if one.sign:
            return Text(f" {one.sign} ".join(self.bracketed(x, POWER) for x in operands), OTHER)
        return Text(f"{one.name}({', '.join([*[x.text for x in operands], *filter(None, [one.rest])])})", ATOM)


class Latex(Spelling):
    """LaTeX, for between dollar signs."""

    def derivative(self, name: str, text: str) -> str:
        r"""As `\frac{\partial}{\partial x} = …`."""
        return rf"\frac{{\partial}}{{\partial {latex_name(name)}}} = {text}"

    def number(self, text: str) -> Text:
        r"""`2.5`, `10^{-7}`, `\pi`."""
        if text in _CONSTANTS:
            text = text.replace("*", " ").replace("pi", r"\pi")
            return Text(re.sub(r"sqrt\((.*)\)", r"\\sqrt{\1}", text.replace("log", r"\ln")), ATOM)
        mantissa, e, exponent = text.partition("e")
        return Text(rf"{mantissa} \times 10^{{{int(exponent)}}}", PRODUCT) if e else Text(text, ATOM)

    def fraction(self, over: Sequence[Text], under: Sequence[Text]) -> Text:
        r"""`\frac{a b}{c d}`."""
        if len(over) == 1 and not under:
            return over[0]
        if not under:
            return Text(self._together(over), PRODUCT)
        above = over[0].text if len(over) == 1 else self._together(over) or "1"
        below = under[0].text if len(under) == 1 else self._together(under)
        return Text(rf"\frac{{{above}}}{{{below}}}", PRODUCT)

    def _together(self, factors: Sequence[Text]) -> str:
        texts = [self.bracketed(one, POWER) for one in factors]
        return "".join(
            text if not place else (r" \cdot " if text[0].isdigit() else " ") + text for place, text in enumerate(texts)
        )

    def raised(self, base: Text, exponent: Text) -> Text:
        """`a^{b}`."""
        return Text(f"{self.bracketed(base, ATOM)}^{{{exponent.text}}}", POWER)

    def root(self, base: Text) -> Text:
        r"""`\sqrt{a}`."""
        return Text(rf"\sqrt{{{base.text}}}", ATOM)

    def name(self, name: str) -> Text:
        r"""`x`, `\alpha`, `\mathrm{speed}`."""
        return Text(latex_name(name), ATOM)

    def call(self, one: Applied) -> Text:
        r"""`\sin\left(a\right)`, or `a < b`."""
        operands = [self.sum(x) for x in one.operands]
        if one.sign:
            sign = _SIGNS.get(one.sign, rf"\mathbin{{{one.sign}}}")
            return Text(f" {sign} ".join(self.bracketed(x, POWER) for x in operands), OTHER)
        inside = ", ".join([*[x.text for x in operands], *filter(None, [one.rest])])
        if one.name == "abs":
            return Text(rf"\left|{inside}\right|", ATOM)
        return Text(rf"{_FUNCTIONS.get(one.name) or _operator(one.name)}\left({inside}\right)", ATOM)

    def bracketed(self, x: Text, binding: int) -> str:
        """The same, in brackets that grow."""
        return rf"\left({x.text}\right)" if x.binding < binding else x.text


_FUNCTIONS = {
    **{name: f"\\{name}" for name in "sin cos tan sinh cosh tanh exp max min det".split()},
    **{f"a{name}": f"\\arc{name}" for name in ("sin", "cos", "tan")},
    "log": r"\ln",
    "gamma": r"\Gamma",
}
_SIGNS = {"<": "<", ">": ">", "<=": r"\le", ">=": r"\ge", "==": "=", "!=": r"\ne", "%": r"\bmod"}


def _operator(name: str) -> str:
    return rf"\operatorname{{{name}}}".replace("_", r"\_")


def _rank(factor: Factor) -> int:
    """The place of a factor in a product: names, powers of numbers, sums, exponentials, other functions."""
    base = factor.base
    if isinstance(base, Name):
        return 0
    if isinstance(base, Term):
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
