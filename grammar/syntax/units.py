"""Where a text has a unit: directly behind a number or a bracket, and behind `to`."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from agrad.engine.units import table, unit
from agrad.grammar.diagnostics import Span
from agrad.grammar.syntax import ast

_BLANK = re.compile(r"[ \t]*")
_WORD = r"(°?[A-Za-z_µμΩ\u2126Åöℓ]+)"
_FACTOR = re.compile(rf"{_WORD}(?![(\[]|[^\W⁰¹²³⁴⁵⁶⁷⁸⁹]){unit.POWER}?")
# A power that is none of a unit would be one of the number with the unit: `3 m^n`.
_ENDS = re.compile(r"(?![\w(\['\"]|\.(?!\.))(?![ \t]*(?:\(|\^|\*\*))")
# Behind a number `in` is the inch where no list follows.
_INCH = re.compile(
    r"[ \t]*(?:$|[\n)\],;#+*/^<>=!:]|-(?![^\n]*\.\.)|(?:and|or|else|if|for)\b|to[ \t]+[°A-Za-zµμΩ\u2126Å])"
)


def end_of_unit(text: str, start: int, reserved: Collection[str], own: Collection[str] = ()) -> int:
    """The place behind the unit that begins here; `start` if there is none. `own`: further names of units."""
    begin = _BLANK.match(text, start).end()  # type: ignore[union-attr]
    end = _factor(text, begin + 2 * text.startswith("1/", begin), reserved, own)
    while end and text[end : end + 1] and text[end] in "·⋅/ ":
        further = _group(text, end, reserved, own) or _factor(text, end + 1, reserved, own)
        if not further:
            break
        end = further
    return end or start


def _factor(text: str, start: int, reserved: Collection[str], own: Collection[str] = ()) -> int:
    """The end of one unit with its power; 0 if there is none."""
    found = _FACTOR.match(text, start)
    if found is None or not _ENDS.match(text, found.end()):
        return 0
    if found[1] in reserved and not (found[1] == "in" and _INCH.match(text, found.end())):
        return 0
    return found.end() if found[1] in own or unit.find(found[1]) is not None or found[1] in table.AMBIGUOUS else 0


def _group(text: str, start: int, reserved: Collection[str], own: Collection[str] = ()) -> int:
    """The end of `/(kg·K)`; 0 if there is none."""
    end = start + 1
    while text[end : end + 1] in ("·⋅* " if end > start + 1 else "("):
        end = _factor(text, end + 1, reserved, own)
    return end + 1 if text[end : end + 1] == ")" else 0


def names_in(text: str) -> list[str]:
    """The names in a unit, in order."""
    return [found[1] for found, _ in unit.factors(text)]


def product(node: ast.Quantity) -> ast.Expr:
    """`3 m/s^2` where m is the name of a value: `3*m/s^2`."""
    made, source, start = node.value, node.span.source, node.span.end - len(node.unit)
    for found, is_below in unit.factors(node.unit):
        span = Span(source, start + found.start(1), start + found.end(1))
        one: ast.Expr = ast.Name(found[1], span=span)
        if (power := unit.power_of(found)) != 1:
            one = ast.Binary("**", one, ast.Number(float(power), span=span), None, span=span)
        whole = Span(source, node.span.start, span.end)
        made = ast.Binary("/" if is_below else "*", made, one, None, span=whole)
    return made


def bound(tree: ast.Node, names: Collection[str]) -> Any:
    """A tree in which some names have values, so that these are no units."""

    def seen(part: Any) -> ast.Expr | None:
        is_product = isinstance(part, ast.Quantity) and not part.sure and names_in(part.unit)[0] in names
        return product(part) if is_product else None

    return ast.replaced(tree, seen)
