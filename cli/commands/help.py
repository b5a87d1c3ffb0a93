"""`agrad help`: the `help` of a session, without a session; and the help of the commands of the terminal."""

from __future__ import annotations

import click

import agrad
from agrad.cli.arguments import completions
from agrad.cli.main import COMMANDS, Command, root
from agrad.cli.settings import SETTINGS
from agrad.cli.terminal.pager import explain

# What there is beside the commands, with what it is about.

ENVIRONMENT = {
    "NO_COLOR": "If set and not empty, output is not coloured.",
    "FORCE_COLOR": "If set to anything but 0, output is coloured even if it does not go to a terminal.",
    "TERM": "If it is `dumb`, there are no colours, no cursor movements and no pager.",
    "AGRAD_ECHO": "Whether a session says in a line what a statement has changed: 1 or 0.",
    "PAGER": "The pager for output that is longer than the screen: less if not set; none if empty, or cat.",
    "LESS": "Options of less; the default leaves the text on the screen, and says how to go on.",
    "XDG_CONFIG_HOME": "On Linux, the folder that contains agrad's folder of files; the default is ~/.config.",
    "XDG_STATE_HOME": "On Linux, the folder that contains agrad's history and logs; the default is ~/.local/state.",
}
FILES = {
    "config.toml": f"Settings: {', '.join(SETTINGS)}. `agrad config` prints them, and an example.",
    "init.ag": "A script that is run when a session starts on a terminal.",
    "history": "The lines typed at the prompt; on Linux in the folder of XDG_STATE_HOME.",
    "lesson.json": "How far `agrad learn` has come.",
    "sessions": "The logs of sessions, for `agrad repl --resume`; in the folder of the history.",
    "ended": "The logs of the last sessions that have ended, for `agrad sessions`; in the same folder.",
}


def _words() -> dict[str, str]:
    """Every word that there is help on, in order, with a description."""
    return dict(sorted(agrad.grammar.help.help.topics(agrad.grammar.commands.COMMANDS).items()))


@click.command("help", cls=Command)
@click.argument("word", required=False, shell_complete=completions(_words))
@click.pass_context
def command(context: click.Context, word: str | None) -> None:
    """Explain a function or a command, or list them all.

    WORD is a function, operator or command of the language, or a command of the command line.

    \b
    agrad help sin
    agrad help backward
    agrad help kinks          derivatives at points where there is none
    """
    if word is None:
        explain(agrad.grammar.help.help.overview(agrad.grammar.commands.COMMANDS))
        return
    own = _own(context, word)
    parts = [own] if own else []
    try:
        parts.insert(0, agrad.grammar.help.help.help_on(word, agrad.grammar.commands.COMMANDS))
    except agrad.engine.errors.AgradError as problem:
        if not own:
            likely = [f"help {name}" for name in agrad.grammar.diagnostics.suggest(word, COMMANDS)]
            problem.fixes = [f"agrad {fix}" for fix in (*likely, *problem.fixes) if fix != "help" or not likely]
            raise
    explain("\n\n".join(parts))


def _own(context: click.Context, word: str) -> str | None:
    """The help of a command, an environment variable, a file or a setting of agrad; None if there is none."""
    found = root.get_command(context, word)
    if found is not None:
        with click.Context(found, info_name=word, parent=context.parent) as inner:
            return found.get_help(inner)
    settings = {name: f"In config.toml: {setting.text}, {setting.takes}." for name, setting in SETTINGS.items()}
    told = ENVIRONMENT | FILES | settings
    return f"{word}\n  {told[word]}" if word in told else None


# `agrad functions`: all functions, by family.


@click.command("functions", cls=Command)
def functions() -> None:
    """List the functions of the language, one per line, by family.

    \b
    agrad functions
    """
    explain(agrad.grammar.help.help.functions())
