"""`agrad config`: every setting, its value and where it comes from; and the files that a user may write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click

from agrad.cli.base import Command
from agrad.cli.settings import SETTINGS, find, folder
from agrad.cli.terminal.pager import PAGER
from agrad.cli.terminal.terminal import option

_ROWS = ("setting", "value", "from")


class Config(Command):
    """Reports every problem in config.toml; other commands report the first, and refer to this one."""

    tells_all = True


@click.command("config", cls=Config)
@click.option("--path", "only_path", is_flag=True, help="Print only the folder of the configuration files.")
def command(only_path: bool) -> None:
    """Show every setting, its value, and where the value comes from.

    Options take precedence over environment variables, these over config.toml, and this over the defaults. Both
    config.toml and init.ag are optional, and only you write them. init.ag is a script that is run when a session starts
    on a terminal. --no-init ignores both files.

    \b
    agrad config
    agrad config --path
    """
    if only_path:
        click.echo(folder())
        return
    PAGER.show("\n".join(_told()))


def _told() -> Iterator[str]:
    from agrad.engine.text import align  # here, as below, so that --path and --help do not load the engine

    found = {name: find(name, option(name)) for name in SETTINGS}
    yield from align([_ROWS, *((name, _shown(name, value), origin) for name, (value, origin) in found.items())])
    yield ""
    files = {name: os.path.join(folder(), name) for name in ("config.toml", "init.ag")}
    yield from align((path, "exists" if os.path.exists(path) else "does not exist") for path in files.values())
    yield "\na config.toml with every setting:\n"
    yield from example()


def example() -> Iterator[str]:
    """The lines of a config.toml with every setting."""
    table = ""
    for name, setting in SETTINGS.items():
        own, _, last = name.rpartition(".")
        if own != table:
            table = own
            yield f"\n[{table}]"
        yield f"{f'{last} = {setting.example}':<20}  # {setting.text}: {setting.takes}"


def _shown(name: str, value: Any) -> str:
    """A value as it is written in config.toml, without quotes; for a limit that is not set, the default."""
    from agrad.engine.values import format_bytes, format_number
    from agrad.grammar.runtime.budget import NODES, memory_limit

    if name == "precision":
        return "full" if value is None else str(value)
    if name == "limits.memory":
        return format_bytes(value or memory_limit())
    if name == "limits.nodes":
        return format_number(value or NODES)
    if name == "limits.time":
        return "none" if value is None else f"{format_number(value)} s"
    return str(value).lower() if isinstance(value, bool) else str(value)
