"""What the commands have in common: their errors, and shared options."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

import click

import agrad
from agrad.cli import arguments
from agrad.cli.arguments.limits import TIMED_OUT
from agrad.cli.settings import configuration, find
from agrad.cli.settings_table import digits
from agrad.cli.terminal.interrupt import told
from agrad.cli.terminal.terminal import display_options, only_ascii, option
from agrad.lazy import rare

if TYPE_CHECKING:
    from agrad.engine.errors import AgradError

FAILED = 1
WRONG_SYNTAX = 2


class Formatter(click.HelpFormatter):
    """Help in the width of the terminal, also where that is less than the 50 columns that click needs."""

    _LEAST = 50

    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        columns = shutil.get_terminal_size().columns
        self.columns = columns if width is None and columns < self._LEAST + 2 else None
        super().__init__(indent_increment, width if self.columns is None else max(columns - 2, 20), max_width)

    def write_dl(self, rows: Any, col_max: int = 30, col_spacing: int = 2) -> None:
        """Write terms and what they mean: below them, where it is narrow."""
        super().write_dl(rows, col_max if self.columns is None else 4, col_spacing)

    def getvalue(self) -> str:
        """The text, with its examples folded, too."""
        if self.columns is None:
            return super().getvalue()

        return agrad.engine.text.fit(super().getvalue(), self.columns)


class Context(click.Context):
    """A context whose help is written by a Formatter."""

    formatter_class = Formatter


class Command(click.Command):
    """A command that reports an AgradError on stderr, or as JSON on stdout, and returns its exit code."""

    context_class = Context
    tells_all = False  # whether to report all problems of config.toml; other commands report the first

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params += display_options()

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """The short one too."""
        return ["-h", "--help"]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Suggest an option for an unknown one."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as problem:
            name = problem.option_name
            raise unknown("option", name, options(self, ctx), ctx, self.where_known(ctx, name)) from None

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the description of the command, without the examples, which come last."""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(self._parts()[0])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, which are the last paragraph of the docstring."""
        with formatter.section("Examples"):
            formatter.write_text(self._parts()[2])

    def _parts(self) -> tuple[str, str, str]:

        return cleandoc(self.help or "").rpartition("\n\n")

    def where_known(self, ctx: click.Context, option: str) -> str:
        """Advice on an option that this command does not have; empty if there is none."""
        return ""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; the exit code: its own or 0, 1 after an error, 2 after a syntax error."""
        if not isinstance(self, click.Group):  # a group does not know the options after its command
            _configure(self.tells_all)
        try:
            return super().invoke(ctx) or 0
        except agrad.engine.errors.AgradError as problem:
            return complain(problem, _wants_json(ctx))
        except MemoryError as problem:
            problem.__traceback__ = None  # releases what its frames hold, so that there is memory to report it
            return complain(agrad.grammar.runtime.budget.out_of_memory(problem), _wants_json(ctx))
        except KeyboardInterrupt:
            return told()


def _wants_json(ctx: click.Context) -> bool:
    """Whether errors are to be JSON."""
    return bool(ctx.params.get("as_json")) or ctx.params.get("form") == "json"


def _configure(tells_all: bool) -> None:
    """Apply the settings of config.toml that concern all output; report what is wrong with it."""
    written = configuration()
    if written is None:
        return
    if find("ascii", option("ascii"))[0]:
        only_ascii()
    if written.problems:
        for problem in written.problems if tells_all else [agrad.cli.config_toml.first(written.problems)]:
            agrad.cli.output.text.tell(problem)


def complain(problem: Any, as_json: bool = False) -> int:
    """Show an AgradError on stderr, or as JSON on stdout; its exit code."""
    problem = advised(problem)
    if as_json:
        click.echo(agrad.cli.output.structured.error_line(problem))
    else:
        agrad.cli.output.text.tell(problem)
    return exit_code(problem)


def advised(problem: AgradError) -> AgradError:
    """An error with what the command line knows about it: where a missing file may be found."""
    if isinstance(problem.facts, agrad.engine.errors.MissingFile):
        problem.fixes = [*agrad.cli.data.examples.how_to_copy(problem.facts.path), *problem.fixes]
        problem.notes += _in_the_folder_of_the_script(problem, problem.facts.path)
    return problem


def exit_code(problem: AgradError) -> int:
    """The exit code of a process that ends with an error."""
    if isinstance(problem.facts, agrad.engine.errors.TimeLimit):
        return TIMED_OUT
    return WRONG_SYNTAX if problem.kind == "syntax" else FAILED


def _in_the_folder_of_the_script(problem: AgradError, path: str) -> list[str]:
    """A note where a missing file exists beside the script that names it."""
    found = agrad.grammar.files.beside(path, problem.at)
    folder = os.path.dirname(found)
    if not folder or found == os.path.normpath(path) or not os.path.isfile(found):
        return []
    return [f'there is one in the folder of the script: run the script in {folder}, or write beside("{path}")']


def internal(error: Exception, *notes: str) -> AgradError:
    """The error for an exception that should have been caught earlier: its type, and where it was raised."""
    frames = rare.traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename}, line {frame.lineno}, in {frame.name}" for frame in frames]
    where = [f"raised in {places[-1]}"] + [f"called from {place}" for place in places[-2:-5:-1]]
    text = str(error).partition("\n")[0]
    message = f"an error in agrad itself: {type(error).__name__}" + (f": {text}" if text else "")
    return agrad.engine.errors.AgradError("internal", message, notes=[*where, *notes])


def options(command: click.Command, context: click.Context) -> list[str]:
    """The names of the options of a command."""
    own = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    return [name for option in own for name in (*option.opts, *option.secondary_opts)]


def unknown(
    what: str, word: str, candidates: Iterable[str], context: click.Context, otherwise: str = ""
) -> click.UsageError:
    """The usage error for an unknown option or command, with the one that was probably meant."""
    bare = {candidate.lstrip("-"): candidate for candidate in candidates}
    likely = [bare[name] for name in agrad.grammar.diagnostics.suggest(word.lstrip("-"), bare)]
    advice = f"did you mean {' or '.join(likely)}?" if likely else otherwise
    return click.UsageError(f"no such {what} {word}" + (f": {advice}" if advice else ""), context)


def _digits(context: click.Context, parameter: click.Parameter, value: str) -> int | None:
    """The value of --precision for a session's settings: None for full."""
    if context.get_parameter_source("precision") is click.core.ParameterSource.DEFAULT:
        found: int | None = find("precision")[0]
        return found
    try:
        return digits(value)
    except ValueError:
        message = f"{value} is neither a number of digits (1 to 17) nor full"
        raise click.BadParameter(message, context, parameter) from None


def precision_option(usual: str = "10") -> Any:
    """The option --precision."""
    text = "Significant digits to print; full: as many as are needed to read back the same number."
    return arguments.option("--precision", "N|full", text, default=usual, callback=_digits)


json_option = arguments.flag("--json", "Print each result as a JSON object, with numbers in full.")
keys_option = arguments.option(
    "--vi/--emacs", None, "The key bindings for editing; the default is --emacs.", default=None
)
files_option = arguments.flag("--no-files", "Neither read nor write any file.", flag_value=False, default=True)


def completions(known: Callable[[], Mapping[str, str]]) -> Callable[..., list[Any]]:
    """The callback of an argument for the shell: words, each with a description."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem  # here, since few runs come from a shell's completion

        return [CompletionItem(word, help=told) for word, told in known().items() if word.startswith(incomplete)]

    return complete


def file_completions(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """For the shell: the names of files."""
    from click.shell_completion import CompletionItem  # here, as above

    return [CompletionItem(incomplete, type="file")]


def file_option(names: str, help: str, takes: str = "FILE", **settings: Any) -> Any:
    """An option that names a file."""
    return arguments.option(names, takes, help, shell_complete=file_completions, **settings)


def read_text(path: str) -> str:
    """The text of a file, or of standard input for `-`. Raises AgradError of kind `file`."""
    if path != "-":
        return agrad.grammar.files.read_text(path)
    try:
        return agrad.grammar.files.decoded(sys.stdin.buffer.read(), shown_name(path))
    except OSError as problem:
        raise agrad.engine.errors.AgradError("file", f"cannot read {shown_name(path)}: {problem.strerror}") from None


def file_or_stdout(context: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
    """The callback of an option with a file to write: None, which means standard output, for `-`."""
    return None if path == "-" else path


def write_text(path: str, text: str) -> None:
    """Write a text to a file, or to standard output for `-`. Raises AgradError of kind `file`."""
    if path == "-":
        click.echo(text, nl=False)
    else:
        agrad.grammar.files.write_text(path, text)


def shown_name(path: str) -> str:
    """The name of a file in messages."""
    return "<stdin>" if path == "-" else path
