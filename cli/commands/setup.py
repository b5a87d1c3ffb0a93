"""The commands that concern agrad itself: its settings, its manual, and completion in a shell."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import click
from click.shell_completion import get_completion_class

import agrad
from agrad.cli.main import FAILED, Command, reading_input
from agrad.cli.settings import SETTINGS, find, folder
from agrad.cli.terminal import folded, option
from agrad.cli.terminal.pager import PAGER

# `agrad config`: every setting, its value and where it comes from; and the files that a user may write.


class Config(Command):
    """Reports every problem in config.toml; other commands report the first, and refer to this one."""

    tells_all = True


@click.command("config", cls=Config)
@click.option("--path", "only_path", is_flag=True, help="Print only the folder of the configuration files.")
def config(only_path: bool) -> None:
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

    found = {name: find(name, option(name)) for name in SETTINGS}
    rows = ((name, _shown(name, value), origin) for name, (value, origin) in found.items())
    yield from agrad.engine.text.align([("setting", "value", "from"), *rows])
    yield ""
    files = {name: os.path.join(folder(), name) for name in ("config.toml", "init.ag")}
    there = ((path, "exists" if os.path.exists(path) else "does not exist") for path in files.values())
    yield from agrad.engine.text.align(there)
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
    if name == "precision":
        return "full" if value is None else str(value)
    if name == "limits.memory":
        return agrad.engine.values.format_bytes(value or agrad.grammar.runtime.budget.memory_limit())
    if name == "limits.nodes":
        return agrad.engine.values.format_number(value or agrad.grammar.runtime.budget.NODES)
    if name == "limits.time":
        return "none" if value is None else f"{agrad.engine.values.format_number(value)} s"
    return str(value).lower() if isinstance(value, bool) else str(value)


# `agrad completion`: the script for a shell, so that Tab completes agrad's words.

SHELLS = {"bash": "~/.bashrc", "zsh": "~/.zshrc", "fish": "~/.config/fish/completions/agrad.fish"}

# What click's scripts lack: the value follows behind `x=`, without a blank, and in fish a comma is a part of a word.
_BETTER = {
    "bash": ("COMPREPLY+=($value)", "COMPREPLY+=($value)\n            [[ $value == *= ]] && compopt -o nospace"),
    "zsh": (
        "compadd -U -V unsorted -a completions",
        "compadd -U -V unsorted -S '' -- ${(M)completions:#*=}\n        compadd -U -V unsorted -- ${completions:#*=}",
    ),
    "fish": ('string split ","', 'string split --max 1 ","'),
}


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that lets SHELL complete commands, options, functions, and the names in an expression.

    To use it in every shell: in bash, add eval "$(agrad completion bash)" to ~/.bashrc; in zsh, add eval "$(agrad
    completion zsh)" to ~/.zshrc; in fish, write the script to ~/.config/fish/completions/agrad.fish.

    \b
    agrad completion bash
    """
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(context.find_root().command, {}, "agrad", "_AGRAD_COMPLETE").source()
    click.echo(script.replace(*_BETTER[shell]))


# `agrad sessions`: the last sessions, which `agrad repl --resume N` restores.


@click.command("sessions", cls=Command)
@click.option("--dismiss", type=click.IntRange(1), metavar="N", help="Remove what is kept of session N.")
def sessions(dismiss: int | None) -> int:
    """List the last sessions: when each ended, its statements in effect, how it ended, and the last of them.

    What is kept is what was typed. `agrad repl --resume N` runs it again, without printing results, and continues.

    \b
    agrad sessions
    """
    if dismiss is None:
        click.echo(folded(agrad.cli.repl.crash_log.listed()))
        return 0
    gone = agrad.cli.repl.crash_log.dismiss(dismiss)
    if gone is None:
        click.echo(f"there is no session {dismiss}: agrad sessions lists them", err=True)
        return 1
    click.echo(f"removed: {'  '.join(gone.told)}")
    return 0


# `agrad kernel`: agrad in Jupyter.


@click.command("kernel", cls=Command)
@click.argument("action", type=click.Choice(["install", "remove"]))
@click.option("--sys-prefix", "here", is_flag=True, help="Install it in this Python environment, not for the user.")
@click.option("--prefix", metavar="FOLDER", help="Install it in the environment in a folder.")
def kernel(action: str, here: bool, prefix: str | None) -> int:
    """Install agrad as a kernel of Jupyter, or remove it: then a notebook can have cells in agrad's language.

    It needs ipykernel, which comes with the extra `jupyter`. In a notebook of Python, %load_ext agrad is enough: it
    gives cells that begin with %%agrad. docs/notebooks.md has examples.

    \b
    agrad kernel install --prefix env     in the environment in the folder env
    """
    if here and prefix is not None:
        raise click.UsageError("--sys-prefix and --prefix name two places: use one of them")
    agrad.engine.extras.extra("ipykernel", "agrad kernel", "ipykernel", "jupyter")

    try:
        if action == "install":
            click.echo(f"installed in {agrad.cli.integrations.jupyter.kernel.install(sys.prefix if here else prefix)}")
            return 0
        folder = agrad.cli.integrations.jupyter.kernel.remove()
    except OSError as problem:
        raise agrad.engine.errors.AgradError("file", f"cannot {action} the kernel: {problem}") from None
    click.echo(f"removed {folder}" if folder else "the kernel is not installed: agrad kernel install", err=not folder)
    return 0 if folder else FAILED


# `agrad lsp`: the language server, which an editor starts.


@click.command("lsp", cls=Command)
@click.option("--stdio", is_flag=True, help="Speak on standard input and output: it always does.")
def lsp(stdio: bool) -> None:
    """Start the language server, for an editor: it shows errors as one types, completes, and explains names.

    It speaks the Language Server Protocol on standard input and output, and needs pygls, which comes with the extra
    `lsp`. docs/editors.md says how editors are set up.

    \b
    agrad lsp < /dev/null     what an editor starts
    """
    agrad.engine.extras.extra("pygls.lsp.server", "agrad lsp", "pygls", "lsp")
    with reading_input():
        os.read(sys.stdin.fileno(), 0)  # nothing, which fails where it is closed
    agrad.cli.integrations.lsp.server.serve()
