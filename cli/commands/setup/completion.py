"""`agrad completion`: the script for a shell, so that Tab completes agrad's words."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from agrad.cli.base import Command

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
def command(context: click.Context, shell: str) -> None:
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
