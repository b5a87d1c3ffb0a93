"""`Term`: a sum of products of powers, in a form that collects what is alike.

The rules, each of which is exact for real numbers wherever both sides are defined:

* Sums in sums are one sum; products that differ by a number only become one: 2*a + 3*a = 5*a. What is 0 goes.
* Powers of one base become one: a**p * a**q = a**(p + q); a**0 = 1, a**1 = a.
* (a*b)**n = a**n * b**n and (a**p)**n = a**(p*n), for whole n only: sqrt(x**2) is not x.
* -(a + b) = -a - b. No other product of a sum is multiplied out: factors are kept.
* Numbers are fractions, so that 0.1 + 0.2 = 0.3 and x/3 + x/3 = 2*x/3.
* where(c, a, a) = a; where(not c, a, b) = where(c, b, a); where(c, a, b) + where(c, d, e) = where(c, a + d, b + e).
  A condition goes that only says what a power and its logarithm are where these are not defined.

Terms take Python's operators and numpy's functions, so that the formula of a row can be written as a function of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from operator import add, eq, ge, gt, le, lt, mul, ne, pow, sub, truediv  # noqa: A004 - of the operator
from typing import Any, NamedTuple

_WHERE = "where"
_COMPARISONS = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq, "!=": ne}
_LARGEST = 64  # of a whole exponent by which a number or a product is raised


class UnwritableError(Exception):
    """There is no formula: the message says of what."""


class Name(NamedTuple):
    """A variable; the name is the same for equal bases."""

    key: str


class Applied(NamedTuple):
    """A function or an operator that the algebra knows nothing about, with its operands.

    `sign`: that of an infix operator, else "". `rest`: further arguments as they are typed, such as `axis=0`.
    """

    name: str
    operands: tuple[Term, ...]
    sign: str
    rest: str

    @property
    def key(self) -> str:
        """The same for equal bases."""
        return f"{self.name}({';'.join(one.key for one in self.operands)};{self.rest})"


class Factor(NamedTuple):
    """A power."""

    base: Name | Applied | Term
    exponent: Term


class Product(NamedTuple):
    """A number times powers of different bases."""

    number: Fraction
    factors: tuple[Factor, ...]


def _reflected(operation: Callable[[Term, Term], Term]) -> Callable[[Term, Any], Term]:
    return lambda self, other: operation(term(other), self)


class Term:
    """A sum of products, no two of which differ by their numbers only. `key` is the same for equal terms."""

    __slots__ = ("key", "products", "size")

    def __init__(self, products: tuple[Product, ...]) -> None:
        self.products = products
        parts = sorted(f"{one.number}*{_key(one)}" for one in products)
        self.key = f"[{'+'.join(parts)}]"
        self.size = sum(1 + sum(_size(factor) for factor in one.factors) for one in products)

    @property
    def number(self) -> Fraction | None:
        """The number that it is; None for all else."""
        if not self.products:
            return Fraction(0)
        return self.products[0].number if len(self.products) == 1 and not self.products[0].factors else None

    def __add__(self, other: Any) -> Term:
        return _sum((*self.products, *term(other).products))

    def __neg__(self) -> Term:
        return Term(tuple(Product(-one.number, one.factors) for one in self.products))

    def __sub__(self, other: Any) -> Term:
        return self + -term(other)

    def __mul__(self, other: Any) -> Term:
        one, two = _as_product(self), _as_product(term(other))
        return _product(one.number * two.number, (*one.factors, *two.factors))

    def __truediv__(self, other: Any) -> Term:
        return self * term(other) ** -1.0

    def __pow__(self, other: Any) -> Term:
        return _power(self, term(other))

    def __gt__(self, other: Any) -> Term:
        return applied("greater", [self, term(other)], ">")

    def call(self, name: str, *others: Any) -> Term:
        """A function of it and others, by the name of that."""
        return applied(name, [self, *map(term, others)])

    def choose(self, here: Term, there: Term) -> Term:
        """One term where this one, a condition, is not 0, else the other."""
        condition, is_opposite = _condition(self)
        here, there = (there, here) if is_opposite else (here, there)
        if condition.number is not None:
            return here if condition.number else there
        if here.key == there.key or _is_guarded(condition, here, there):
            return there
        return applied(_WHERE, [condition, here, there])

    __radd__, __rsub__, __rmul__ = map(_reflected, (add, sub, mul))
    __rtruediv__, __rpow__ = map(_reflected, (truediv, pow))

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        """numpy's function of terms, by its name."""
        if method != "__call__" or options:
            raise UnwritableError(f"numpy's {ufunc.__name__}")
        return applied(ufunc.__name__, [term(one) for one in operands])


def variable(name: str) -> Term:
    """A name as a term."""
    return Term((Product(Fraction(1), (Factor(Name(name), _ONE),)),))


def term(value: Any) -> Term:
    """A number as a term: that of its shortest decimal text."""
    if isinstance(value, Term):
        return value
    if isinstance(value, Fraction):
        return _constant(value)
    if not math.isfinite(value):
        raise UnwritableError("a number that is not finite")
    return _constant(Fraction(repr(float(value))))


def applied(name: str, operands: Sequence[Term], sign: str = "", rest: str = "") -> Term:
    """A function of terms, or an infix operator between them."""
    if name == "sqrt":
        return operands[0] ** 0.5
    known = [one.number for one in operands if one.number is not None]
    if sign in _COMPARISONS and len(known) == 2:
        return term(float(_COMPARISONS[sign](*known)))
    return Term((Product(Fraction(1), (Factor(Applied(name, tuple(operands), sign, rest), _ONE),)),))


def _constant(number: Fraction) -> Term:
    return Term((Product(number, ()),)) if number else Term(())


def _key(product: Product) -> str:
    return "*".join(sorted(f"{factor.base.key}^{factor.exponent.key}" for factor in product.factors))


def _size(factor: Factor) -> int:
    base = factor.base
    inside = base.size if isinstance(base, Term) else 0
    if isinstance(base, Applied):
        inside = sum(one.size for one in base.operands)
    return 1 + inside + (factor.exponent.size if factor.exponent.number is None else 0)


def _sum(products: Sequence[Product]) -> Term:
    """Products added up, in the order in which they appear first."""
    found: dict[str, Product] = {}
    choices: dict[str, Applied] = {}
    for one in products:
        choice = _choice(one)
        if choice is not None and (same := choices.get(choice.operands[0].key)) is not None:
            pairs = zip(same.operands[1:], choice.operands[1:], strict=True)
            both = same.operands[0].choose(*[x + y for x, y in pairs])
            kept = [other for other in products if (mine := _choice(other)) is None or mine not in (same, choice)]
            return _sum([*kept, *both.products])
        if choice is not None:
            choices[choice.operands[0].key] = choice
        key = _key(one)
        before = found.get(key)
        found[key] = one if before is None else Product(before.number + one.number, before.factors)
    return Term(tuple(one for one in found.values() if one.number))


def _is_guarded(condition: Term, here: Term, there: Term) -> bool:
    """Whether a condition only says what a term is where it is not defined, as the rules of powers do at 0."""
    inner = _choice(here.products[0]) if len(here.products) == 1 else None
    if inner is not None and inner.operands[0].key == applied("isfinite", [there]).key:
        return inner.operands[1].key == there.key
    bases = [factor.base for product in condition.products for factor in product.factors]
    of_zero = [one.operands[0].key for one in bases if isinstance(one, Applied) and one.sign == "=="]
    logs = [factor.base for factor in _as_product(there).factors]
    return any(isinstance(one, Applied) and one.name == "log" and one.operands[0].key in of_zero for one in logs)


def _choice(product: Product) -> Applied | None:
    """The choice that a product is, if it is one and nothing else."""
    if product.number != 1 or len(product.factors) != 1:
        return None
    base, exponent = product.factors[0]
    is_one = isinstance(base, Applied) and base.name == _WHERE and exponent.number == 1
    return base if is_one else None  # type: ignore[return-value]


def _condition(x: Term) -> tuple[Term, bool]:
    """A condition without the comparisons with 0 around it, and whether these make it the opposite."""
    is_opposite = False
    while len(x.products) == 1 and len(x.products[0].factors) == 1:
        base = x.products[0].factors[0].base
        if not isinstance(base, Applied) or base.sign not in ("==", "!="):
            break
        inner, other = base.operands
        compared = inner.products[0].factors[0].base if inner.products and inner.products[0].factors else None
        if other.number != 0 or not isinstance(compared, Applied) or not compared.sign:
            break
        x, is_opposite = inner, is_opposite != (base.sign == "==")
    return x, is_opposite


def _as_product(x: Term) -> Product:
    """A term as one product: a sum of several is a factor."""
    if len(x.products) == 1:
        return x.products[0]
    return Product(Fraction(1), (Factor(x, _ONE),)) if x.products else Product(Fraction(0), ())


def _product(number: Fraction, factors: Sequence[Factor]) -> Term:
    """A product of powers, in the order in which their bases appear first."""
    if not number:
        return _constant(number)
    found: dict[str, Factor] = {}
    for one in factors:
        before = found.get(one.base.key)
        found[one.base.key] = one if before is None else Factor(one.base, before.exponent + one.exponent)
    left = tuple(one for one in found.values() if one.exponent.products)
    if len(left) == 1 and isinstance(left[0].base, Term) and left[0].exponent.number == 1 and abs(number) == 1:
        return left[0].base if number > 0 else -left[0].base
    return Term((Product(number, left),))


def _power(x: Term, exponent: Term) -> Term:
    n, known = exponent.number, x.number
    if n is not None and n.denominator == 1 and abs(n) <= _LARGEST:
        if known is not None:
            if not known and n < 0:
                raise UnwritableError("a division by 0")
            return _constant(known**n.numerator)
        one = _as_product(x)
        return _product(one.number**n.numerator, [Factor(base, p * exponent) for base, p in one.factors])
    if known == 1:
        return x
    one = _as_product(x)
    is_base = one.number == 1 and len(one.factors) == 1 and one.factors[0].exponent.number == 1
    return _product(Fraction(1), (Factor(one.factors[0].base if is_base else x, exponent),))


_ONE = Term((Product(Fraction(1), ()),))
