"""The root of the command line.

A command's module is imported when the command is called, so that `agrad --version` loads none of them.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from importlib import import_module
from os.path import isfile
from typing import NoReturn

import click

import agrad
from agrad.cli import __version__
from agrad.cli.base import FAILED, Command, Formatter, complain, internal, options, unknown
from agrad.cli.terminal import INTERRUPTED
from agrad.lazy import rare

# By the name of a command, its module in agrad.cli.commands, and the first sentence of its help, which `agrad --help`
# shows without importing it; in the order in which a new user needs them.
COMMANDS = {
    "eval": ("eval", "Compute EXPR, and its derivatives with respect to the names in --wrt."),
    "learn": ("learn", "Learn how derivatives are computed from a graph, in nine short chapters, at the prompt."),
    "run": ("run", "Run the statements in FILE, or in standard input if FILE is -."),
    "repl": ("repl", "Open an interactive session."),
    "check": ("check", "Compare exact derivatives with finite differences."),
    "graph": ("graph", "Show the graph of EXPR: its operations, and what they save for the backward pass."),
    "map": ("map", "Compute EXPR, and its derivatives, for each row of DATA."),
    "fit": ("fit", "Fit MODEL to the rows of DATA, by least squares."),
    "export": ("export", "Write EXPR and its gradient as a function in C, JavaScript or Python, or as formulas."),
    "functions": ("help", "List the functions of the language, one per line, by family."),
    "help": ("help", "Explain a function or a command, or list them all."),
    "examples": (
        "examples",
        "List the example programs, or copy those of these NAMEs, with their data, into a folder.",
    ),
    "kernel": (
        "setup",
        "Install agrad as a kernel of Jupyter, or remove it: then a notebook can have cells in agrad's language.",
    ),
    "lsp": (
        "setup",
        "Start the language server, for an editor: it shows errors as one types, completes, and explains names.",
    ),
    "config": ("setup", "Show every setting, its value, and where the value comes from."),
    "completion": (
        "setup",
        "Print the script that lets SHELL complete commands, options, functions, and the names in an expression.",
    ),
    "sessions": (
        "setup",
        "List the last sessions: when each ended, its statements in effect, how it ended, and the last of them.",
    ),
    "man": ("man", "Print the manual page, which has the help of every command."),
}


_WHOLE = 200  # characters of what a command does: all of them


class Root(Command, click.Group):
    """The group of COMMANDS."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"agrad.cli.commands.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name, None) or module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands; where it is narrow, what each does is not cut, but folded."""
        is_narrow = isinstance(formatter, Formatter) and formatter.columns is not None
        room = _WHOLE if is_narrow else formatter.width - 6 - max(map(len, COMMANDS))  # as click leaves it
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, click.Command(name, help=told).get_short_help_str(room))
                    for name, (_, told) in COMMANDS.items()
                ]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As in click, but a script is run, and for an unknown command `agrad eval` is suggested."""
        word = args[0]
        if word in COMMANDS or (word.startswith("-") and word != "-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        if word == "-" or word.endswith(".ag") or isfile(word):
            return "run", self.get_command(ctx, "run"), [word, "--", *args[1:]]  # what follows are its arguments
        if word in _DERIVATIVES and len(args) > 1:
            by = next(iter(re.findall(r"\b[a-z]\b", args[1])), "x")
            raise unknown(
                "command", word, (), ctx, f'a derivative is at a point: agrad eval "{args[1]}" {by}=1 --wrt {by}'
            )
        raise unknown("command", word, COMMANDS, ctx, f'for an expression: agrad eval "{word}"')

    def where_known(self, ctx: click.Context, option: str) -> str:
        """Advice on an option that belongs to a command, not to the group; empty if it belongs to none."""
        commands = [command for name in COMMANDS if (command := self.get_command(ctx, name)) is not None]
        known = [command.name for command in commands if option in options(command, ctx)]
        if not known:
            return ""
        return f"it follows a command: agrad {'repl' if 'repl' in known else known[0]} {option}"


# Names in other programs.
_DERIVATIVES = frozenset({"diff", "derivative", "derive", "grad", "gradient", "differentiate"})


@click.command(
    cls=Root,
    invoke_without_command=True,
    subcommand_metavar="[COMMAND] [ARGS]...",
    context_settings={"max_content_width": 100},
)
@click.version_option(__version__, message="agrad %(version)s")
@click.pass_context
def root(context: click.Context) -> int | None:
    """An autograd calculator: values, their graph, exact derivatives.

    Without a command, agrad opens a session, as `agrad repl` does. With the name of a script it runs the script, and
    with - what it reads from standard input.

    \b
    agrad learn                          a lesson, about an hour
    agrad eval "a**2*2" a=3 --wrt a      one answer, one gradient
    agrad repl                           a session
    agrad run examples/toy.ag            the same statements from a file
    agrad check "a**2*2" a=3             the gradient, compared with differences
    agrad help sin                       help on a function, or on everything
    agrad examples toy                   copies examples/toy.ag, to run and to change
    """
    if context.invoked_subcommand is not None:
        return None
    repl: click.Command = import_module("agrad.cli.commands.repl").command
    with repl.make_context("repl", [], parent=context) as inner:
        return repl.invoke(inner)


def _show(problem: click.ClickException) -> None:
    """Show wrong usage on stderr, or as JSON on stdout if the words contain that option, even if others are wrong."""
    words = " ".join(sys.argv[1:]).partition(" -- ")[0]
    if not re.search(r"(^| )--(json|(format|as)[ =]json)( |$)", words):
        _visible(problem).show()
        return

    click.echo(agrad.cli.output.structured.usage_line(problem))


def _visible(problem: click.ClickException) -> click.ClickException:
    """The same without control characters in its message, which is folded at a terminal."""
    text, head = problem.format_message(), "Error: "
    shown = agrad.engine.text.printable(text)
    if sys.stderr.isatty():
        shown = agrad.engine.text.fit(f"{head}{shown}", rare.shutil.get_terminal_size().columns).removeprefix(head)
    if shown == text:
        return problem
    context = problem.ctx if isinstance(problem, click.UsageError) else None
    return click.UsageError(shown, context)


def main() -> NoReturn:
    """Run the command line and exit: 0, 1 after an error, 2 for wrong usage or syntax, 130 after Ctrl-C."""
    # To read or to write a stream that was closed fails, as with any file; and no file gets its number.
    for name, mode, flags in (("stdin", "r", os.O_WRONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, flags), mode, encoding="utf-8"))  # noqa: SIM115
    try:
        code = _run()
    except OSError as problem:  # errors of files have been handled where they were read
        with suppress(OSError):  # stderr may be as full as stdout
            click.echo(f"error[file]: cannot write the results: {problem.strerror}", err=True)
        code = FAILED
    except Exception as error:  # the last resort, for faults of agrad of any type: nobody should read a traceback
        code = complain(internal(error))
    sys.exit(code)


def _run() -> int:
    """Run the command line; its exit code. Raises OSError for what cannot be written."""
    try:
        code: int = root.main(prog_name="agrad", standalone_mode=False)
        return code
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as problem:
        _show(problem)
        return problem.exit_code
