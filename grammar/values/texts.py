"""The methods of texts, and texts with values in them: `"%.3f" % x` and `"{:.3f}".format(x)`, as Python has them."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from typing import Any

from agrad.engine.core.context import current
from agrad.engine.core.guards import choose, entries
from agrad.engine.core.op import Signature
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import describe, format_bytes, whole
from agrad.grammar.results import text_of
from agrad.grammar.values.lists import List, ListMethod, tensors_in


def _needs_text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise AgradError("type", f"{what} needs a text, not {describe(value)}")
    return value


def _asked(name: str, kind: type) -> Callable[..., Any]:
    """A method that is given a text, and gives a value of a kind."""
    return lambda text, part: kind(getattr(text, name)(_needs_text(part, f".{name}()")))


def _stripped(name: str) -> Callable[..., Any]:
    return lambda text, characters: getattr(text, name)(
        None if characters is None else _needs_text(characters, f".{name}()")
    )


def _padded(name: str) -> Callable[..., Any]:
    return lambda text, width, fill: getattr(text, name)(
        _affordable(whole(width, "a width")), _needs_text(fill, f".{name}()")
    )


def _affordable(size: int) -> int:
    if size > current().limits.memory:
        raise AgradError("limit", f"this text needs {format_bytes(size)}")
    return size


def _split(text: str, sep: Any, maxsplit: Any) -> List:
    parts = text.split(None if sep is None else _needs_text(sep, ".split()"), whole(maxsplit, "a number of cuts"))
    return List(parts, joins=True)


def _join(text: str, values: Any) -> str:
    if isinstance(values, float) or getattr(values, "shape", None) == ():
        raise AgradError("type", f".join() needs several texts, not {describe(values)}")
    parts = [_needs_text(value, ".join()") for value in values]
    _affordable(sum(map(len, parts)) + len(text) * len(parts))
    return text.join(parts)


def _replace(text: str, old: Any, new: Any) -> str:
    before, after = _needs_text(old, ".replace()"), _needs_text(new, ".replace()")
    _affordable(len(text) + (len(text) + 1) * len(after))
    return text.replace(before, after)


_PLAIN = "upper lower title capitalize swapcase isdigit isalpha isspace isupper islower".split()
_METHODS: dict[str, tuple[str, Callable[..., Any]]] = {
    **{name: ("", getattr(str, name)) for name in _PLAIN},
    **{name: ("characters=None", _stripped(name)) for name in ("strip", "lstrip", "rstrip")},
    **{name: ("part", _asked(name, bool)) for name in ("startswith", "endswith")},
    **{name: ("width, fill=' '", _padded(name)) for name in ("ljust", "rjust", "center")},
    **{name: ("part", _asked(name, float)) for name in ("find", "count")},
    "zfill": ("width", lambda text, width: text.zfill(_affordable(whole(width, "a width")))),
    "split": ("sep=None, maxsplit=-1", _split),
    "splitlines": ("", lambda text: List(text.splitlines(), joins=True)),
    "join": ("values", _join),
    "replace": ("old, new", _replace),
}
TEXT_METHODS = {name: ListMethod(Signature(f"text.{name}", f"; {form}"), run) for name, (form, run) in _METHODS.items()}


# Texts with values in them, as Python has them beside f-strings: `"%.3f" % x` and `"{:.3f}".format(x)`.

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
        if name is not None and name not in values:
            raise AgradError("name", f"there is no entry {name!r} for the text")
        value = values[name] if name is not None else given[used]
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


def _filled(form: str, value: Any) -> str:
    """One place, as Python fills it."""
    kind = form[-1]
    if any(int(digits) > _MOST for digits in re.findall(r"\d+", form)):
        raise AgradError("limit", f"the format {form} asks for more than {_MOST} characters")
    if kind in "sra":
        shown = repr(value) if kind != "s" and isinstance(value, str) else text_of(value)
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
            if {"", "0"} <= {"0" if (field or "").isdigit() else field for _, field, _, _ in places}:
                raise ValueError("its places have numbers, or none")
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
