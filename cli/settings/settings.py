"""The settings, and where each value comes from: an option, the environment, config.toml, or the default, in order.

Every run needs this file, so it imports little; `config_toml` is imported only if there is a config.toml.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import click

_Said = tuple[Any, str]  # a value, and the variable that says so
_MOST = 1e15  # of anything: far beyond any machine, and within what the system counts
_KEPT, _SKIPPED = "agrad.configuration", "agrad.no_init"


class Setting:
    """One thing to set.

    `default`: None where the floors below have one of their own. `takes`: what a value is, in words. `read`: a value of
    the file as the program has it; raises ValueError. `example`: a value in the file, and `text`: what it is about.
    """

    # No dataclass: making one would cost every start more than all the rest of this file.
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
    """The content of config.toml: values with their lines, and notes on what is wrong with it."""

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


def _switch(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError
    return value


def _amount(value: Any) -> float:
    if type(value) not in (int, float) or not 0 < value <= _MOST:
        raise ValueError
    return float(value)


def _size(value: Any) -> float:
    from agrad.grammar.runtime.budget import bytes_of  # here, since few set it

    return _amount(bytes_of(value) if isinstance(value, str) else value)


def _colour(environment: Mapping[str, str]) -> _Said | None:
    if environment.get("NO_COLOR"):
        return "never", "NO_COLOR"
    if forced := environment.get("FORCE_COLOR"):
        return "never" if forced == "0" else "always", "FORCE_COLOR"
    return None


def _pager(environment: Mapping[str, str]) -> _Said | None:
    """Whether PAGER turns paging off: it is empty, or `cat`."""
    return (False, "PAGER") if environment.get("PAGER") in ("", "cat") else None


COLOURS = ("auto", "always", "never")
SETTINGS = {
    "precision": Setting(10, 'a number from 1 to 17, or "full"', digits, "6", "significant digits"),
    "color": Setting("auto", '"auto", "always" or "never"', _one_of(*COLOURS), '"never"', "colour", _colour),
    "ascii": Setting(False, "true or false", _switch, "true", "draw and mark with ASCII alone"),
    "edit": Setting("emacs", '"emacs" or "vi"', _one_of("emacs", "vi"), '"vi"', "keys of the prompt"),
    "pager": Setting(True, "true or false", _switch, "false", "page what is longer than the screen", _pager),
    "limits.memory": Setting(None, 'a size such as "4 GB"', _size, '"4 GB"', "for one result"),
    "limits.time": Setting(None, "a number of seconds above 0", _amount, "10", "for a statement"),
    "limits.nodes": Setting(None, "a number above 0", _amount, "1e6", "kept by a statement"),
}


def find(name: str, option: Any = None) -> tuple[Any, str]:
    """The value of a setting, and where it comes from. `option`: what the command line says, None for nothing."""
    setting = SETTINGS[name]
    if option is not None:
        return option, f"option --{name}"
    said = setting.environment(os.environ) if setting.environment is not None else None
    if said is not None:
        return said[0], f"environment {said[1]}"
    written = configuration()
    if written is not None and name in written.values:
        value, line = written.values[name]
        return value, f"config.toml line {line}"
    return setting.default, "default"


def folder() -> str:
    """Where the user's settings are: config.toml, init.ag, and what was typed in earlier sessions."""
    path = click.get_app_dir("agrad")
    # An XDG_CONFIG_HOME that is empty, or relative, is to be ignored: nobody means an init.ag in the current folder.
    return path if os.path.isabs(path) else os.path.expanduser("~/.config/agrad")


def initial_script() -> str | None:
    """The path of init.ag, if there is one and --no-init is not given."""
    context = click.get_current_context(silent=True)
    path = os.path.join(folder(), "init.ag")
    return path if context is not None and not context.meta.get(_SKIPPED) and os.path.exists(path) else None


def skip(context: click.Context) -> None:
    """Ignore config.toml and init.ag in this run."""
    context.meta[_SKIPPED] = True


def configuration() -> Configuration | None:
    """The content of config.toml, read once in a run; None if there is none, or it is ignored."""
    context = click.get_current_context(silent=True)
    if context is None or context.meta.get(_SKIPPED):
        return None
    if _KEPT not in context.meta:  # which a command shares with its group
        path = os.path.join(folder(), "config.toml")
        context.meta[_KEPT] = _read(path) if os.path.exists(path) else None
    found: Configuration | None = context.meta[_KEPT]
    return found


def _read(path: str) -> Configuration:
    from agrad.cli.settings.config_toml import read

    return read(path)
