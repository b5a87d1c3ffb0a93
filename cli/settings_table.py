"""The table of settings: what each is, its default, and how its value is read from config.toml or the environment.

Every start loads this file, so it imports little.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from typing import Any

import agrad

_Said = tuple[Any, str]  # a value, and the variable that it comes from
_MOST = 1e15  # the largest number: beyond any machine, and within the integers of the system


class Setting:
    """One setting.

    `default`: None if grammar or engine has its own. `takes`: the possible values, in words. `read`: converts a value
    of the file; raises ValueError. `example`: a value in the file, and `text`: a description.
    """

    # Not a dataclass: creating one would take longer, at every start, than the rest of this file.
    __slots__ = ("default", "environment", "example", "read", "takes", "text")

    def __init__(
        self,
        default: Any,
        takes: str,
        read: Callable[[Any], Any],
        example: str,
        text: str,
        environment: Callable[[Mapping[str, str]], _Said | None] | None = None,
    ) -> None:
        self.default = default
        self.takes = takes
        self.read = read
        self.example = example
        self.text = text
        self.environment = environment


class Configuration:
    """The content of config.toml: values with their lines, and notes on its errors."""

    __slots__ = ("problems", "values")

    def __init__(self, values: dict[str, tuple[Any, int]], problems: list[Any]) -> None:
        self.values = values
        self.problems = problems


def digits(value: Any) -> int | None:
    """A number of significant digits, or None for "full"; of an option or of the file. Raises ValueError."""
    if value == "full":
        return None
    count = int(value) if isinstance(value, str) and value.isdecimal() else value
    if type(count) is int and 1 <= count <= 17:
        return count
    raise ValueError


def _one_of(*words: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in words:
            raise ValueError
        return str(value)

    return read


def _plots(value: Any) -> str:

    return _one_of(*agrad.grammar.syntax.keywords.SETTABLE["plots"])(value)


def _switch(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError
    return value


def _amount(value: Any) -> float:
    if type(value) not in (int, float) or not 0 < value <= _MOST:
        raise ValueError
    return float(value)


def _size(value: Any) -> float:

    return _amount(agrad.grammar.runtime.budget.bytes_of(value) if isinstance(value, str) else value)


def _colour(environment: Mapping[str, str]) -> _Said | None:
    if environment.get("NO_COLOR"):
        return "never", "NO_COLOR"
    if forced := environment.get("FORCE_COLOR"):
        return "never" if forced == "0" else "always", "FORCE_COLOR"
    return None


def _pager(environment: Mapping[str, str]) -> _Said | None:
    """Whether PAGER turns paging off: it is empty, or `cat`."""
    return (False, "PAGER") if environment.get("PAGER") in ("", "cat") else None


def _echo(environment: Mapping[str, str]) -> _Said | None:
    """Whether AGRAD_ECHO turns the lines on what has changed on or off: 1 or 0."""
    said = environment.get("AGRAD_ECHO")
    return (said == "1", "AGRAD_ECHO") if said in ("0", "1") else None


COLOURS = ("auto", "always", "never")
SETTINGS = {
    "precision": Setting(10, 'a number from 1 to 17, or "full"', digits, "6", "significant digits"),
    "color": Setting("auto", '"auto", "always" or "never"', _one_of(*COLOURS), '"never"', "colour", _colour),
    "ascii": Setting(False, "true or false", _switch, "true", "use ASCII characters only"),
    "edit": Setting("emacs", '"emacs" or "vi"', _one_of("emacs", "vi"), '"vi"', "key bindings of the prompt"),
    "echo": Setting(True, "true or false", _switch, "false", "say at the prompt what a statement has changed", _echo),
    "live": Setting(True, "true or false", _switch, "false", "show the value of what is typed below the prompt"),
    "plots": Setting(
        "auto",
        '"auto", "braille", or "kitty" for pictures by its protocol',
        _plots,
        '"braille"',
        "how the terminal draws plots; auto: as a picture, if it can and matplotlib is installed",
    ),
    "pager": Setting(True, "true or false", _switch, "false", "use a pager for output longer than the screen", _pager),
    "limits.memory": Setting(None, 'a size such as "4 GB"', _size, '"4 GB"', "for one result"),
    "limits.time": Setting(None, "a number of seconds above 0", _amount, "10", "for a statement"),
    "limits.nodes": Setting(None, "a number above 0", _amount, "1e6", "kept by a statement"),
}


# The check that a path is a file that can be read to its end.


def require_ordinary(path: str | os.PathLike[str]) -> None:
    """Refuse anything but a file or a link to one: reading a pipe waits, and a device may not end. Raises OSError."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(0, "it is not a regular file")
