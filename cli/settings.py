"""The settings of the user: a table of them, and the value of each.

It comes from an option, the environment, config.toml or its default, in this order. Every start needs some, so this
file imports little; `config_toml` is imported only if there is such a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import click

import agrad
from agrad.engine.struct import Struct

# The table: what each setting is, its default, and how its value is read from config.toml or the environment.

_Said = tuple[Any, str]  # a value, and the variable that it comes from
_MOST = 1e15  # the largest number: beyond any machine, and within the integers of the system


class Setting(Struct, eq=False):
    """One setting.

    `default`: None if grammar or engine has its own. `takes`: the possible values, in words. `read`: converts a value
    of the file; raises ValueError. `example`: a value in the file, and `text`: a description.
    """

    default: Any
    takes: str
    read: Callable[[Any], Any]
    example: str
    text: str
    environment: Callable[[Mapping[str, str]], _Said | None] | None = None


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


def _settable(name: str, value: Any) -> str:
    """One of the words that `set` takes."""
    return _one_of(*agrad.grammar.syntax.keywords.SETTABLE[name])(value)


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
    "decimal": Setting(".", '"." or ","', _one_of(".", ","), '","', "decimal mark of what is typed and shown"),
    "color": Setting("auto", '"auto", "always" or "never"', _one_of(*COLOURS), '"never"', "colour", _colour),
    "ascii": Setting(False, "true or false", _switch, "true", "use ASCII characters only"),
    "edit": Setting("emacs", '"emacs" or "vi"', _one_of("emacs", "vi"), '"vi"', "key bindings of the prompt"),
    "echo": Setting(True, "true or false", _switch, "false", "say at the prompt what a statement has changed", _echo),
    "live": Setting(True, "true or false", _switch, "false", "show the value of what is typed below the prompt"),
    "plots": Setting(
        "auto",
        '"auto", "braille", or "kitty" for pictures by its protocol',
        partial(_settable, "plots"),
        '"braille"',
        "how the terminal draws plots; auto: as a picture, if it can and matplotlib is installed",
    ),
    "rounding": Setting(
        "two", '"one", "two" or "pdg"', partial(_settable, "rounding"), '"pdg"', "digits of an uncertainty"
    ),
    "pager": Setting(True, "true or false", _switch, "false", "use a pager for output longer than the screen", _pager),
    "limits.memory": Setting(None, 'a size such as "4 GB"', _size, '"4 GB"', "for one result"),
    "limits.time": Setting(None, "a number of seconds above 0", _amount, "10", "for a statement"),
    "limits.nodes": Setting(None, "a number above 0", _amount, "1e6", "kept by a statement"),
}


# The value of a setting, and the folders of the files that a user or agrad writes.

_KEPT, _SKIPPED = "agrad.configuration", "agrad.no_init"  # the second is that of the option
_TYPED = "agrad.set"


def find(name: str, option: Any = None) -> tuple[Any, str]:
    """The value of a setting, and where it comes from. `option`: what the command line says, None for nothing."""
    setting, context = SETTINGS[name], click.get_current_context(silent=True)
    if context is not None and name in (typed := context.meta.get(_TYPED, {})):
        return typed[name], f"set {name}"
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


def keep(name: str, value: Any) -> None:
    """Let a setting have a value for the rest of the run, as `set` says."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta.setdefault(_TYPED, {})[name] = value


def folder() -> str:
    """The folder of the user's files: config.toml and init.ag."""
    path = click.get_app_dir("agrad")
    # An XDG_CONFIG_HOME that is empty, or relative, is ignored: an init.ag in the current folder must not be run.
    return path if os.path.isabs(path) else os.path.expanduser("~/.config/agrad")


def state_folder() -> str:
    """The folder of what agrad keeps by itself: the history of earlier sessions, and their logs.

    On Linux that is in XDG_STATE_HOME, or ~/.local/state; elsewhere it is the folder of the user's files. What an
    earlier version kept there is moved.
    """
    if sys.platform in ("win32", "darwin"):
        return folder()
    said = os.environ.get("XDG_STATE_HOME", "")
    place = os.path.join(said if os.path.isabs(said) else os.path.expanduser("~/.local/state"), "agrad")
    _move(folder(), place)
    return place


def _move(old: str, new: str) -> None:
    """Move what an earlier version kept in the folder of the user's files, if nothing has taken its place yet."""
    if old == new:
        return
    for name in ("history", "sessions"):
        before, now = os.path.join(old, name), os.path.join(new, name)
        if os.path.exists(before) and not os.path.lexists(now):
            with suppress(OSError):  # it stays where it is
                make_folder(new)  # type: ignore[arg-type]
                os.rename(before, now)


def make_folder(path: os.PathLike[str]) -> None:
    """Make a folder and its parents, for its owner alone. Raises OSError."""
    missing = []
    place = os.fspath(path)
    while not os.path.isdir(place) and os.path.dirname(place) != place:
        missing.append(place)
        place = os.path.dirname(place)
    for place in reversed(missing):
        try:
            os.mkdir(place, 0o700)
        except FileExistsError:  # another session has made it, unless it is a file
            if not os.path.isdir(place):
                raise


def initial_script() -> str | None:
    """The path of init.ag, if there is one and --no-init is not given."""
    context = click.get_current_context(silent=True)
    path = os.path.join(folder(), "init.ag")
    return path if context is not None and not context.meta.get(_SKIPPED) and os.path.exists(path) else None


def configuration() -> Any:
    """The `Configuration` in config.toml, read once in a run; None if there is none, or it is ignored."""
    context = click.get_current_context(silent=True)
    if context is None or context.meta.get(_SKIPPED):
        return None
    if _KEPT not in context.meta:  # which a command shares with its group
        path = os.path.join(folder(), "config.toml")
        context.meta[_KEPT] = agrad.cli.config_toml.read(path, SETTINGS) if os.path.exists(path) else None
    return context.meta[_KEPT]
