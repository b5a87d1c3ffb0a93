"""A unit: how it is written, its factor to coherent SI units, where its zero is, and its dimension."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeVar

from agrad.engine.core.context import current
from agrad.engine.errors import AgradError, Hint, Instead
from agrad.engine.units.table import AMBIGUOUS, CALLED, PREFIXES, TABLE
from agrad.engine.values import format_number
from agrad.lazy import pattern, rare

Powers = Mapping[str, Fraction]  # of the base dimensions, or of symbols

BASE = "kg m s A K mol cd bit"  # in the order in which they are written
NAMED = "N Pa J W C V F Ω Wb T H"  # what a result is shown in where its dimension is exactly theirs
_SUPERSCRIPT = str.maketrans("-0123456789/", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹ᐟ")
DIGITS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_WORD = r"°?[A-Za-z_µμΩ\u2126Åöℓ]+|°"
# The power of a unit: `^2`, `**-1`, `^(1/3)`, `²`; not of thousands of digits, which Python does not read.
POWER = r"(?:(?:\^|\*\*)(-?\d{1,99}(?![\w.])|\(-?\d{1,99}(?:/[1-9]\d{0,98})?\))|(⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,99}))"
_FACTOR = pattern(rf"({_WORD})(?![(\[]|[^\W⁰¹²³⁴⁵⁶⁷⁸⁹]){POWER}?")
_END_OF_GROUP = pattern(rf"(\)){POWER}?")
_MOST_BITS = 10_000  # of a power of a factor
_NUMBER = pattern(r"(pi|\d[\d.]*(?:e-?\d+)?)(?:/(pi|\d[\d.]*)(?![\w.]))?\s*")


_U = TypeVar("_U", "Unit", "Unit | None")


class Unit(NamedTuple):
    """A unit. `symbols`: what it is written with; `zero`: the number of kelvins at its zero, None without an origin.

    `entries`: of an array whose entries along the last axis have units of their own. Its dimension is like no other.
    """

    symbols: Powers
    factor: Fraction
    dim: Powers
    zero: Fraction | None = None
    typed: str = ""
    entries: tuple[Unit, ...] = ()

    @property
    def text(self) -> str:
        """As it was typed, or else by its symbols: `kg·m/s²`."""
        return self.typed or spelled(self.symbols)

    @property
    def meaning(self) -> str:
        """How much it is in SI units: `1000 m`, of a scale with its zero; empty for a base unit."""
        unit = si(self.dim)
        unit = _of_bases(self.dim) if self.factor == 1 and unit.text == self.text else unit
        if unit.text == self.text:
            return ""
        number, exact = format_number(float(self.factor), None), self.factor
        if Fraction(number) != exact:
            number = f"{exact}" if exact.denominator < 10**6 else f"about {float(exact):.12g}"
        amount = f"{number} {unit.text}".rstrip()
        return amount + (f", with its zero at {format_number(float(self.zero * self.factor))} K" if self.zero else "")

    def to_si(self, number: float) -> float:
        """A number in this unit, in SI units: rounded once."""
        return _rounded((Fraction(number) + (self.zero or 0)) * self.factor) if rare.math.isfinite(number) else number

    def of_si(self, number: float) -> float:
        """The number in this unit, of one in SI units."""
        if not rare.math.isfinite(number):
            return number
        exact = _rounded(Fraction(number) / self.factor - (self.zero or 0))
        # As it was typed, if that is the number; beside a zero of hundreds of kelvins fewer digits are left of it.
        shorter = (float(f"{exact:.{digits}g}") for digits in ((6, 12, 15) if self.zero else (15,)))
        return next((short for short in shorter if self.to_si(short) == number), exact)


ONE = Unit({}, Fraction(1), {})


def _rounded(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return float("inf" if exact > 0 else "-inf")


def spelled(symbols: Powers) -> str:
    """`kg·m²/(s²·mol)`: in the order given, those below behind a slash; `1/s` where none is above."""
    above = [_power(name, power) for name, power in symbols.items() if power > 0]
    below = [_power(name, -power) for name, power in symbols.items() if power < 0]
    under = f"({'·'.join(below)})" if len(below) > 1 else "".join(below)
    return "·".join(above) + (f"/{under}" if below and above else f"1/{under}" if below else "")


def _power(name: str, power: Fraction) -> str:
    if power == 1:
        return name
    return f"{name}^({power})" if power.denominator > 1 else f"{name}{str(power).translate(_SUPERSCRIPT)}"


def times(*terms: tuple[Powers, Fraction | int]) -> dict[str, Fraction]:
    """The product of powers of units, those that cancel left out."""
    found: dict[str, Fraction] = {}
    for powers, exponent in terms:
        for name, power in powers.items():
            found[name] = found.get(name, Fraction(0)) + power * exponent
    return {name: power for name, power in found.items() if power}


@cache
def _rows() -> dict[str, tuple[str, str, bool, str]]:
    """By each name: its definition, the prefixes that it takes, whether these are words, and the word for a symbol."""
    found = {}
    for line in TABLE.splitlines():
        names, _, definition = line.partition(" = ")
        symbols, _, long = names.partition(";")
        for name in [*symbols.split(), *long.split()]:
            bare, is_word = name.rstrip("*+-"), name in long.split()
            word = long.split()[0].rstrip("*+-") if long and not is_word else ""
            for spelling in (bare, bare + "s") if is_word else (bare,):
                found[spelling] = definition, name[len(bare) :], is_word, word
    return found


def names() -> Iterator[str]:
    """All names, without prefixes."""
    yield from [*_rows(), *current().units]


def offered() -> Iterator[str]:
    """What completion offers: the names without plurals, and the symbols with prefixes from p to G."""
    known = dict.fromkeys(names())
    yield from [name for name in known if name[-1] != "s" or name[:-1] not in known]
    symbols = [name for name, (_, allowed, is_word, _) in _rows().items() if allowed and not is_word]
    yield from [both for prefix in "pnµmkMG" for name in symbols if _known(both := prefix + name) is not None]


def described(text: str) -> str:
    """What a unit is: how much in SI units, what it measures, and the others of its dimension.

    Raises AgradError of kind `unit` for a text that is none.
    """
    unit, alike = read(text), dict[Any, str]()
    for name in names():
        one = find(name)
        if one is not None and one.dim == unit.dim and one[1:4] != unit[1:4]:
            alike.setdefault(one[1:4:2], name)
    told = f"1 {unit.text} = {unit.meaning}" if unit.meaning else f"{unit.text} is a base unit"
    others = [*[*alike.values()][:16], *["…"] * (len(alike) > 16)]
    return f"{told}, {named(unit.dim)}." + (f" Others: {', '.join(others)}." if others else "")


def word(name: str) -> str:
    """The word for a symbol, `metre` for `m`; empty if there is none."""
    return _rows()[name][3] if name in _rows() else ""


def near(name: str) -> list[str]:
    """What a name that is no unit may mean: `Kg` kg, `hrs` hr, `cm3` cm^3; else names that are written alike."""
    lower, power = name.lower(), pattern(r"([^\W\d]+)([23])").fullmatch(name)
    if power and find(power[1]):
        return [f"{power[1]}^{power[2]}"]
    if product := pattern(r"([mkMG]?(?:N|Pa|V|W|A|J))([mc]?m|s|h)").fullmatch(name):  # Nm, kNm, mPas, Ws
        return [f"{product[1]}·{product[2]}"]
    for word in (lower, lower.removesuffix("s")):
        if word in AMBIGUOUS:
            return AMBIGUOUS[word].split()
        if found := dict.fromkeys(one for one in offered() if one.lower() == word):
            return [*found]
    close: list[str] = rare.difflib.get_close_matches(name, list(names()), 2, 0.8)
    return close


def find(name: str) -> Unit | None:
    """The unit of a name, with a prefix or without, or of one's own; None where it is none."""
    return current().units.get(name) or _known(name)


@lru_cache(4096)
def _known(name: str) -> Unit | None:
    name = name.replace("μ", "µ").replace("\u2126", "Ω").replace("ℓ", "l")
    if name in _rows():
        return _defined(name)
    for prefix, scale in PREFIXES.items():
        of_words = len(prefix) > 2
        _, allowed, is_word, _ = _rows().get(name.removeprefix(prefix), ("", "", of_words, ""))
        fits = allowed == "*" or allowed == ("+" if scale > 1 else "-")
        if name.startswith(prefix) and fits and is_word is of_words:
            found = _defined(name.removeprefix(prefix))
            return Unit({name: Fraction(1)}, found.factor * scale, found.dim)
    return None


def _defined(name: str) -> Unit:
    definition = _rows()[name][0]
    symbols = {name: Fraction(1)}
    if definition.startswith("["):
        return Unit(symbols, Fraction(1), {definition[1:-1]: Fraction(1)})
    text, _, zero = definition.partition(" @ ")
    factor, rest = Fraction(1), text
    if number := _NUMBER.match(text):
        above, below = (Fraction(rare.math.pi if part == "pi" else part or "1") for part in number.groups())
        factor, rest = above / below, text[number.end() :]
    found = read(f"1{rest}" if rest.startswith("/") else rest) if rest else Unit({}, Fraction(1), {})
    return Unit(symbols, factor * found.factor, found.dim, Fraction(zero) if zero else None)


def read(text: str) -> Unit:
    """The unit that a text says: `km/h`, `J/(kg·K)`, `N m`, `1/s`. Raises AgradError of kind `unit`."""
    is_deep = text.count("(") >= 100  # a frame of Python for each
    end, factors = (0, []) if is_deep else parsed(text := text.strip())
    if "/" in text[:end] and text[end : end + 1] in {*"·*⋅ "}:
        above, _, below = text.partition("/")
        fix = f"{above}/({below.replace(text[end], '·').replace('/', '·')})"
        message = f"what is below the line of `{text}` is not clear"
        raise AgradError("unit", message, fixes=[Hint(fix)], facts=Instead(text, (fix,)))
    if degrees := pattern(r"deg(?:rees?)?[ ·]([CF])").fullmatch(text):
        message = f"`{text}` is the product of an angle and another unit: a temperature is in °{degrees[1]}"
        raise AgradError("unit", message, fixes=[Hint(f"°{degrees[1]}")], facts=Instead(text, (f"°{degrees[1]}",)))
    if not end or end < len(text):
        is_open = text.count("(") > text.count(")")
        raise AgradError("unit", f"`{text}` is not a unit{': a bracket is open' * is_open}")
    units = [(_one(one[1]), power) for one, power in factors]
    if len(units) == 1 and units[0][1] == 1:
        return units[0][0]
    factor = in_range(text, (_raised(unit.factor, power) for unit, power in units))
    symbols = times(*[(unit.symbols, power) for unit, power in units])
    # Several lines and powers of brackets, as of `J/(km/h)²`, stay as they were typed, in the signs of scripts.
    plain = pattern(r"\^\([^)]*\)").sub("^2", text := text.replace("**", "^").replace("*", "·"))
    typed = text if pattern(r"/\(.*/|/.*/\(|\).").search(plain) else spelled(symbols)
    return Unit(symbols, factor, times(*[(unit.dim, power) for unit, power in units]), None, typed)


_HEADER = pattern(r"(.*\S)\s*(?:\((.+)\)|\[(.+)\])")


def of_header(header: str) -> tuple[str, Unit | None]:
    """The name and the unit of a column such as `speed (m/s)` or `mass [kg]`; the whole and None where that is no unit.

    Raises AgradError of kind `unit` for a name of more than one unit.
    """
    found = _HEADER.fullmatch(header.strip())
    try:
        return (found[1], read(found[2] or found[3])) if found else (header, None)
    except AgradError as error:
        if "has no one size" in error.message:
            raise
        return header, None


def name_of(header: str) -> str:
    """The name of a column, without its unit, also where that has several meanings."""
    try:
        return of_header(header)[0]
    except AgradError:
        return header.strip()[:-1].rpartition("[" if header.strip()[-1] == "]" else "(")[0].strip()


def _raised(factor: Fraction, power: Fraction) -> Fraction:
    """A power of a factor, exactly if it is whole. Raises OverflowError for what is far beyond the range of float64."""
    if power.denominator != 1:
        return Fraction(float(factor) ** float(power))
    if abs(power) * (factor.numerator.bit_length() + factor.denominator.bit_length() - 2) > _MOST_BITS:
        raise OverflowError
    return Fraction(factor**power)


def in_range(text: str, factors: Iterable[Fraction]) -> Fraction:
    """The factor of a unit. Raises AgradError of kind `unit` where float64 has no number near it."""
    with suppress(OverflowError):
        factor = Fraction(rare.math.prod(factors))
        if float(factor):
            return factor
    raise AgradError("unit", f"in SI units, {text} is beyond the range of float64")


def parsed(
    text: str, at: int = 0, signs: str = "·*⋅ /", is_one: Callable[[re.Match[str]], bool] | None = None
) -> tuple[int, list[tuple[re.Match[str], Fraction]]]:
    """The place behind the unit that begins at a place, and the names in it, each as a match and with its power.

    `is_one`: whether a match is a unit, and may stand there; without it, a product below a line ends the unit.
    """
    found, end, is_below = list[tuple[re.Match[str], Fraction]](), at, text.startswith("1/", at)
    begin = at + 2 * is_below
    while True:
        if is_below and text.startswith("(", begin):
            inner, group = parsed(text, begin + 1, is_one=is_one)
            one = _END_OF_GROUP.match(text, inner) if group else None
        else:
            one = _FACTOR.match(text, begin)
            group = [(one, Fraction(1))] if one is not None else []
            one = one if one is None or is_one is None or is_one(one) else None
        if one is None:
            return end, found
        power = Fraction((one[2] or "1").strip("()") if not one[3] else one[3].translate(DIGITS))
        found += [(name, -power * own if is_below else power * own) for name, own in group]
        end, sign = one.end(), text[one.end() : one.end() + 1]
        if not sign or sign not in signs or (is_one is None and is_below and sign != "/"):
            return end, found
        begin, is_below = end + 1, sign == "/"


def _one(name: str) -> Unit:
    found = find(name)
    if found is None:
        if name in AMBIGUOUS:
            choices = AMBIGUOUS[name].split()
            message = f"`{name}` has no one size, as {', '.join(choices[:-1])} and {choices[-1]} have"
            fixes = [Hint(choice) for choice in choices]
            raise AgradError("unit", message, fixes=fixes, facts=Instead(name, tuple(choices)))
        close = near(name)
        fixes = [Hint(one) for one in close]
        raise AgradError("unit", f"`{name}` is no unit", fixes=fixes, facts=Instead(name, tuple(close)))
    return found


def si(dim: Powers) -> Unit:
    """The SI unit of a dimension: one of those with a name, if it is exactly that; else of base units."""
    for name in NAMED.split():
        found = find(name)
        if found is not None and found.dim == dim:
            return found
    return _of_bases(dim)


def without_zero(unit: _U) -> _U | Unit:
    """A unit, or the one of SI for a scale such as °C."""
    return si(unit.dim) if unit is not None and unit.zero is not None else unit


def _of_bases(dim: Powers) -> Unit:
    order = [*BASE.split(), *sorted(set(dim) - set(BASE.split()))]
    return Unit({name: dim[name] for name in order if name in dim}, Fraction(1), dim)


def of_entries(units: Sequence[Unit]) -> Unit:
    """The unit of an array whose entries along the last axis have these."""
    if len({one.text for one in units}) == 1:
        return units[0]
    text = f"({', '.join(one.text or '1' for one in units)})"
    return Unit({text: Fraction(1)}, Fraction(1), {text: Fraction(1)}, None, text, tuple(units))


def quotient(above: Unit, below: Unit, order: int = 1) -> Unit:
    """The unit of a derivative: that of the value over that of the variable, with equal symbols cancelled."""
    dim, factor = times((above.dim, 1), (below.dim, -order)), above.factor / below.factor**order
    symbols = times((above.symbols, 1), (below.symbols, -order))
    text = ""
    if len(below.symbols) > 1 and above.symbols and not {*above.symbols} & {*below.symbols}:
        text = f"{above.text}/({below.text})" + (str(order).translate(_SUPERSCRIPT) if order > 1 else "")
    return Unit(symbols, factor, dim, None, text)


def named(dim: Powers) -> str:
    """What a dimension is called: `a length`; its SI unit, where it has no name."""
    text = si(dim).text
    return CALLED.get(text, f"a value in {text}")
