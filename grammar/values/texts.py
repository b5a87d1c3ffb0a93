"""The methods of texts: Python's, with the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agrad.engine.core.context import current
from agrad.engine.errors import AgradError
from agrad.engine.values import describe, format_bytes, whole
from agrad.grammar.values.list_methods import ListMethod
from agrad.grammar.values.lists import List


def _needs_text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise AgradError("type", f"{what} needs a text, not {describe(value)}")
    return value


def _plain(name: str) -> Callable[[str], Any]:
    """A method without arguments."""
    return lambda text: getattr(text, name)()


def _stripped(name: str) -> Callable[..., str]:
    def call(text: str, characters: Any) -> str:
        found: str = getattr(text, name)(None if characters is None else _needs_text(characters, f".{name}()"))
        return found

    return call


def _tested(name: str) -> Callable[..., bool]:
    def call(text: str, part: Any) -> bool:
        found: bool = getattr(text, name)(_needs_text(part, f".{name}()"))
        return found

    return call


def _padded(name: str) -> Callable[..., str]:
    def call(text: str, width: Any, fill: Any) -> str:
        size = _affordable(whole(width, "a width"))
        found: str = getattr(text, name)(size, _needs_text(fill, f".{name}()"))
        return found

    return call


def _affordable(size: int) -> int:
    if size > current().limits.memory:
        raise AgradError("limit", f"this text needs {format_bytes(size)}")
    return size


def _zfill(text: str, width: Any) -> str:
    return text.zfill(_affordable(whole(width, "a width")))


def _split(text: str, sep: Any, maxsplit: Any) -> List:
    parts = text.split(None if sep is None else _needs_text(sep, ".split()"), whole(maxsplit, "a number of cuts"))
    return List(parts, joins=True)


def _lines(text: str) -> List:
    return List(text.splitlines(), joins=True)


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


def _place(name: str) -> Callable[..., float]:
    return lambda text, part: float(getattr(text, name)(_needs_text(part, f".{name}()")))


_METHODS: dict[str, tuple[str, Callable[..., Any]]] = {
    **{name: ("", _plain(name)) for name in ("upper", "lower", "title", "capitalize", "swapcase")},
    **{name: ("", _plain(name)) for name in ("isdigit", "isalpha", "isspace", "isupper", "islower")},
    **{name: ("characters=None", _stripped(name)) for name in ("strip", "lstrip", "rstrip")},
    **{name: ("part", _tested(name)) for name in ("startswith", "endswith")},
    **{name: ("width, fill=' '", _padded(name)) for name in ("ljust", "rjust", "center")},
    **{name: ("part", _place(name)) for name in ("find", "count")},
    "zfill": ("width", _zfill),
    "split": ("sep=None, maxsplit=-1", _split),
    "splitlines": ("", _lines),
    "join": ("values", _join),
    "replace": ("old, new", _replace),
}
TEXT_METHODS = {name: ListMethod(name, form, run, "text") for name, (form, run) in _METHODS.items()}
