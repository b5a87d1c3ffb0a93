"""Texts with values in them, as Python has them beside f-strings: `"%.3f" % x` and `"{:.3f}".format(x)`."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from typing import Any

from agrad.engine.core.guards import choose, entries
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import describe
from agrad.grammar.results import Settings, text_of
from agrad.grammar.values.lists import tensors_in

_PLACE = r"%(?:\((\w+)\))?([-+ #0]*)(\d+|\*)?(?:\.(\d+|\*))?([a-zA-Z%])"
_MOST = 999  # characters of a width


def percent(text: str, values: Any) -> str:
    """`text % values`: one value, a tuple of them, or a dictionary. Raises AgradError where they do not fit."""
    named = isinstance(values, Mapping)
    given = [values] if named or not isinstance(values, tuple) else list(values)
    for value in tensors_in(given):
        choose(value.node, value.value, entries)
    used = 0

    def filled(place: re.Match[str]) -> str:
        nonlocal used
        name, flags, width, digits, kind = place.groups()
        if kind == "%":
            return "%"
        if "*" in (width, digits):
            raise AgradError("type", "a width in a format is a number here, not *", fixes=['f"{x:{n}}"'])
        if name is not None and not named:
            raise AgradError("type", f"%({name}) needs a dictionary on the right of %")
        if name is None and used >= len(given):
            raise AgradError("arity", f"the text has more places than the {used} values behind %")
        value = _entry(values, name) if name is not None else given[used]
        used += name is None
        return _filled(f"%{flags}{width or ''}{'' if digits is None else '.' + digits}{kind}", value)

    rest = re.sub(_PLACE, "", text)
    if "%" in rest:
        raise AgradError("type", "a % in this text is no place for a value: %% is a per cent sign")
    made = re.sub(_PLACE, filled, text)
    if not named and used < len(given):
        places = "1 place" if used == 1 else f"{used} places"
        raise AgradError("arity", f"the text has {places} for the {len(given)} values behind %")
    return made


def _entry(values: Mapping[str, Any], name: str) -> Any:
    if name not in values:
        raise AgradError("name", f"there is no entry {name!r} for the text")
    return values[name]


def _filled(form: str, value: Any) -> str:
    """One place, as Python fills it."""
    kind = form[-1]
    if any(int(digits) > _MOST for digits in re.findall(r"\d+", form)):
        raise AgradError("limit", f"the format {form} asks for more than {_MOST} characters")
    if kind in "sra":
        shown = repr(value) if kind != "s" and isinstance(value, str) else text_of(value, Settings())
        return f"{form[:-1]}s" % shown
    number = value.item() if isinstance(value, Tensor) and value.size == 1 else value
    if not isinstance(number, float | bool):
        raise AgradError("type", f"{form} needs a number, not {describe(value)}")
    if kind in "oxXc" and float(number).is_integer():
        number = int(number)
    try:
        return form % number
    except (TypeError, ValueError, OverflowError):
        raise AgradError("type", f"the format {form} does not fit {describe(value)}") from None


def formatter(one: Callable[[str, str, Any], str]) -> Callable[..., str]:
    """The method `format` of texts. `one` gives the text of a value, by a conversion and a format."""

    def call(text: str, *args: Any, **named: Any) -> str:
        for value in tensors_in([*args, *named.values()]):
            choose(value.node, value.value, entries)
        pieces, automatic = [], 0
        try:
            places = list(string.Formatter().parse(text))
        except ValueError as problem:
            raise AgradError("type", f"the text cannot be formatted: {problem}") from None
        for literal, field, spec, conversion in places:
            pieces.append(literal)
            if field is None:
                continue
            if field == "":
                field, automatic = str(automatic), automatic + 1
            if "{" in (spec or ""):
                raise AgradError("type", "the format after the colon is plain text in agrad, without braces")
            pieces.append(one(conversion or "", spec or "", _given(field, args, named)))
        return "".join(pieces)

    call.__name__ = "format"
    return call


def _given(field: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
    """The value of a place in a text, by number or by name."""
    if field.isdigit():
        if int(field) >= len(args):
            raise AgradError("arity", f"the text has a place {field}, and format got {len(args)} values")
        return args[int(field)]
    if field not in named:
        fixes = ['f"{x.grad}"'] if "." in field or "[" in field else []
        raise AgradError("name", f"format got no value {field}", fixes=fixes)
    return named[field]
