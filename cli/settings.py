"""The value of a setting: from an option, the environment, config.toml or its default, in this order.

Every start needs some, so this file imports little; `config_toml` is imported only if there is such a file.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any

import click

import agrad
from agrad.cli.settings_table import SETTINGS, Configuration

_KEPT, _SKIPPED = "agrad.configuration", "agrad.no_init"


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
        if os.path.exists(path):
            context.meta[_KEPT] = agrad.cli.config_toml.read(path)
        else:
            context.meta[_KEPT] = None
    found: Configuration | None = context.meta[_KEPT]
    return found
