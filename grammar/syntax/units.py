"""Where a text has a unit: directly behind a number or a bracket, and behind `to`."""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction
from typing import Any

from agrad.engine.units import table, unit
from agrad.grammar.diagnostics import Span
from agrad.grammar.syntax import ast

_BLANK = re.compile(r"[ \t]*")
# A power that is none of a unit would be one of the number with the unit: `3 m^n`.
_ENDS = re.compile(r"(?![\w(\['\"]|\.(?!\.))(?![ \t]*(?:\(|\^|\*\*))")
# Behind a number `in` is the inch where no list follows.
_INCH = re.compile(
    r"[ \t]*(?:$|[\n)\],;#+*/^<>=!:·⋅]|-(?![^\n]*\.\.)|(?:and|or|else|if|for)\b|to[ \t]+[°A-Za-zµμΩ\u2126Å])"
)


def end_of_unit(text: str, start: int, reserved: Collection[str], own: Collection[str] = ()) -> int:
    """The place behind the unit that begins here; `start` if there is none. `own`: further names of units."""

    def is_one(found: re.Match[str]) -> bool:
        is_free = found[1] not in reserved or (found[1] == "in" and _INCH.match(text, found.end()))
        is_unit = found[1] in own or unit.find(found[1]) is not None or found[1] in table.AMBIGUOUS
        return bool(is_free and is_unit and _ENDS.match(text, found.end()))

    begin = _BLANK.match(text, start).end()  # type: ignore[union-attr]
    end, names = unit.parsed(text, begin, "·⋅ /", is_one)
    return end if names else start


def factors(text: str) -> list[tuple[re.Match[str], Fraction]]:
    """The names in a unit, in order, each as a match and with its power."""
    return unit.parsed(text, is_one=bool)[1]


def names_in(text: str) -> list[str]:
    """The names in a unit, in order."""
    return [found[1] for found, _ in factors(text)]


def product(node: ast.Quantity) -> ast.Expr:
    """`3 m/s^2` where m is the name of a value: `3*m/s^2`."""
    made, source, start = node.value, node.span.source, node.span.end - len(node.unit)
    for found, power in factors(node.unit):
        span = Span(source, start + found.start(1), start + found.end(1))
        one: ast.Expr = ast.Name(found[1], span=span)
        if abs(power) != 1:
            one = ast.Binary("**", one, ast.Number(float(abs(power)), span=span), None, span=span)
        whole = Span(source, node.span.start, span.end)
        made = ast.Binary("/" if power < 0 else "*", made, one, None, span=whole)
    return made


def bound(tree: ast.Node, names: Collection[str]) -> Any:
    """A tree in which some names have values, so that these are no units."""

    def seen(part: Any) -> ast.Expr | None:
        is_product = isinstance(part, ast.Quantity) and not part.sure and names_in(part.unit)[0] in names
        return product(part) if is_product else None

    return ast.replaced(tree, seen)
