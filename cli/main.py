"""The command line: its root, what its commands have in common, and what `agrad` alone does.

A command's module is imported when the command is called, so that `agrad --version` loads none of them.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from os.path import isfile
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click
from click.core import augment_usage_errors

import agrad
from agrad.cli import __version__
from agrad.cli.settings import configuration, find
from agrad.cli.terminal import INTERRUPTED, TIMED_OUT, display_options, only_ascii, option, set_setting, setting
from agrad.lazy import rare

if TYPE_CHECKING:
    from agrad.engine.errors import AgradError

S = TypeVar("S")
FAILED, WRONG_SYNTAX = 1, 2  # exit codes
# By the name of a command, its module in agrad.cli.commands, and the first sentence of its help, which `agrad --help`
# shows without importing it; in the order in which a new user needs them.
_COMMANDS = """
eval       eval     Compute EXPR, and its derivatives with respect to the names in --wrt.
learn      learn    Learn how derivatives are computed from a graph, in nine short chapters, at the prompt.
run        run      Run the statements in FILE, or in standard input if FILE is -.
repl       repl     Open an interactive session.
check      check    Compare exact derivatives with finite differences.
graph      graph    Show the graph of EXPR: its operations, and what they save for the backward pass.
map        map      Compute EXPR, and its derivatives, for each row of DATA.
fit        fit      Fit MODEL to the rows of DATA, by least squares.
export     export   Write EXPR and its gradient as a function in C, JavaScript or Python, or as formulas.
functions  help     List the functions of the language, one per line, by family.
help       help     Explain a function or a command, or say what to type first.
examples   examples List the example programs, or copy those of these NAMEs, with their data, into a folder.
kernel     setup    Install agrad as a kernel of Jupyter, or remove it: then a notebook can have cells in agrad's
                    language.
lsp        setup    Start the language server, for an editor: it shows errors as one types, completes, and explains
                    names.
config     setup    Show every setting, its value, and where the value comes from.
completion setup    Print the script that lets SHELL complete commands, options, functions, and the names in an
                    expression.
sessions   setup    List the last sessions: when each ended, its statements in effect, how it ended, and the last of
                    them.
"""
COMMANDS = {
    name: (module, " ".join(told.split()))
    for name, module, told in (row.split(None, 2) for row in re.split(r"\n(?! )", _COMMANDS.strip()))
}


# Wrong usage, and the command lines that mend it.


class Wrong(click.UsageError):
    """Wrong usage, with the command lines that are probably meant."""

    def __init__(self, message: str, *fixes: str) -> None:
        super().__init__(message)
        self.fixes = fixes


def typed(*words: str, of: str = "agrad") -> str:
    """The command line of these words behind a program."""
    return " ".join([of, *map(_quoted, words)])


def again(option: str, value: str | None = None) -> str:
    """The command line that was typed, with an option before a `--`: in place of one that it cannot have beside it.

    That is one that cannot be repeated, or, of an option that can, the part NAME=TEXT of the same name.
    """
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    context = click.get_current_context(silent=True)
    known = next((one for one in (context.command.params if context else ()) if option in one.opts), None)
    names, part = [option] if known is None else known.opts, "(?s)^().*$"
    if getattr(known, "multiple", False):
        part = rf"(^|,\s*){re.escape((value or '').partition('=')[0])}\s*=.*?(?=,\s*[^\W\d]\w*\s*=|$)"
    given, found, is_new = iter(words[:end]), list[str](), True
    for word in given:
        name, equals, old = word.partition("=")
        found.append(word)
        if name not in names or value is None:
            is_new = is_new and name not in names
            continue
        new, count = re.subn(part, lambda before: before[1] + value, old if equals else next(given, ""), count=1)
        found[-1:] = [f"{name}={new}"] if equals else [name, new]
        is_new = is_new and not count
    return typed(*found, *([option] if value is None else [option, value]) * is_new, *words[end:])


def _quoted(word: str) -> str:
    """A word quoted for a shell: in double quotes if they suffice."""
    if re.fullmatch(r"[\w.,=+:/@%-]+", word):
        return word
    if word and not re.search(r'["$`\\!]', word):
        return f'"{word}"'

    return rare.shlex.quote(word)


# A command: how its help is written, how it is parsed, and what becomes of its errors.


class Command(click.Command):
    """A command that reports an AgradError on stderr, or as JSON on stdout, and returns its exit code."""

    tells_all = False  # whether to report all problems of config.toml; other commands report the first

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params += display_options()

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        """The short one too."""
        return ["-h", "--help"]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Suggest an option for an unknown one."""
        with augment_usage_errors(ctx):
            try:
                return super().parse_args(ctx, args)
            except click.NoSuchOption as problem:
                name = problem.option_name
                raise unknown("option", name, options(self, ctx), self.where_known(ctx, name)) from None

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

        return rare.inspect.cleandoc(self.help or "").rpartition("\n\n")

    def where_known(self, ctx: click.Context, option: str) -> list[str]:
        """The words that are meant by an option that this command does not have; none if that is unknown."""
        return []

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; the exit code: its own or 0, 1 after an error, 2 after a syntax error."""
        if not isinstance(self, click.Group):  # a group does not know the options after its command
            _configure(self.tells_all)
        try:
            return super().invoke(ctx) or 0
        except agrad.engine.errors.AgradError as problem:
            return complain(problem, _wants_json(ctx))
        except (MemoryError, ImportError) as problem:
            if isinstance(problem, ImportError):  # of a library that the memory does not hold
                if "failed to map" not in str(problem):
                    raise
                problem = MemoryError()
            problem.__traceback__ = None  # releases what its frames hold, so that there is memory to report it
            return complain(agrad.grammar.runtime.budget.out_of_memory(problem, "--max-memory {}GB"), _wants_json(ctx))
        except KeyboardInterrupt:
            click.echo("interrupted before the end", err=True)
            return INTERRUPTED


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
            agrad.cli.output.tell(problem)


def complain(problem: Any, as_json: bool = False) -> int:
    """Show an AgradError on stderr, or as JSON on stdout; its exit code."""
    problem = advised(problem)
    if as_json:
        click.echo(agrad.cli.output.structured.error_line(problem))
    else:
        agrad.cli.output.tell(problem)
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
    return WRONG_SYNTAX if problem.kind in ("syntax", "usage") else FAILED


def misused(problem: click.ClickException) -> AgradError:
    """Wrong usage as an error; its fix is the help, if it has no other. What click says begins with a capital."""
    text = re.sub("^(Got|Invalid|Missing|No|Option) ", lambda word: word[0].lower(), problem.format_message())
    context = getattr(problem, "ctx", None)
    fixes = getattr(problem, "fixes", ()) or ([f"{context.command_path} --help"] if context is not None else [])
    kind: Any = "usage"  # which no program has
    return agrad.engine.errors.AgradError(kind, text.removesuffix("."), fixes=fixes)


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


def unknown(what: str, word: str, candidates: Iterable[str], otherwise: Sequence[str] = ()) -> Wrong:
    """The usage error for an unknown option or command: its fixes have what was probably meant, or are `otherwise`."""
    bare = {candidate.lstrip("-"): candidate for candidate in candidates}
    close = agrad.grammar.diagnostics.suggest(word.lstrip("-"), bare)
    meant = agrad.grammar.syntax.keywords.COMMANDS_ELSEWHERE.get(word)  # `man` is `help`
    likely = [bare[name] for name in ([meant] if meant in bare else close)]
    again = [[re.sub(rf"^{re.escape(word)}(?==|$)", one, given) for given in sys.argv[1:]] for one in likely]
    return Wrong(f"no such {what} {word}", *(typed(*line) for line in again or [list(otherwise)] if line))


def read_text(path: str) -> str:
    """The text of a file, or of standard input for `-`. Raises AgradError of kind `file`."""
    if path != "-":
        return agrad.grammar.files.read_text(path)
    with reading_input():
        return agrad.grammar.files.decoded(sys.stdin.buffer.read(), shown_name(path))


@contextmanager
def reading_input() -> Iterator[None]:
    """Let what the system says of standard input inside, such as that it is closed, be an error of kind `file`."""
    try:
        yield
    except OSError as problem:
        raise agrad.engine.errors.AgradError("file", f"cannot read <stdin>: {problem.strerror or problem}") from None


def write_text(path: str, text: str) -> None:
    """Write a text to a file, or to standard output for `-`. Raises AgradError of kind `file`."""
    if path == "-":
        click.echo(text, nl=False)
    else:
        agrad.grammar.files.write_text(path, text)


def shown_name(path: str) -> str:
    """The name of a file in messages."""
    return "<stdin>" if path == "-" else path


# The limits of --timeout and --max-memory, and of config.toml.

FOREVER = 1e9  # seconds; the clocks of some systems do not count further
_SPARE = 2**28  # bytes of addresses, for libraries that are loaded later
_AMPLE = 2**31  # bytes of addresses that numpy can be loaded into, on any machine


def limit_memory(memory: float | None, statements: bool = True) -> None:
    """Limit the memory, also by the system: to a given size, that in config.toml, or half of the machine's.

    `limit memory=…` cannot lift a size that is given. Without `statements`, errors advise --max-memory instead.
    """
    usual = find("limits.memory")[0] or agrad.grammar.runtime.budget.memory_limit()
    advice = "--max-memory {}GB" if memory is not None or not statements else ""
    try:
        import resource
    except ImportError:  # a system without such limits
        agrad.grammar.runtime.budget.limit_memory(memory or usual, advice)
        return
    if memory is not None or usual < _AMPLE:
        # Loads numpy, which would fail with its own message where it has no room, and has OpenBLAS take what it needs
        # for its products: it ends the process where there is none left.
        ones = agrad.engine.values.np.ones((256, 256))
        _ = ones @ ones

    used = _addresses() + _SPARE
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]

    def ceiling(memory: float) -> None:
        soft = hard if memory == math.inf else int(min(used + memory, 2**62))
        if hard != resource.RLIM_INFINITY:
            soft = min(soft, hard)
        with suppress(OSError, ValueError):  # not every system keeps this one
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))

    if memory is not None:
        hard = int(used + memory) if hard == resource.RLIM_INFINITY else min(hard, int(used + memory))
    agrad.grammar.runtime.budget.limit_memory(memory or usual, advice, ceiling)


def _addresses() -> int:
    """The size of the address space that the process uses now, in bytes; 0 if the system does not tell."""
    with suppress(OSError, ValueError, AttributeError), open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def limit_statements(session: Any) -> None:
    """Set what config.toml gives for all statements: the limits, which `limit` can change, and how u is rounded."""
    session.settings.rounding = find("rounding")[0]
    session.settings.found, session.settings.changed = setting, set_setting
    seconds = find("limits.time")[0]
    session.watch.time = min(seconds, FOREVER) if seconds else session.watch.time
    session.watch.nodes = find("limits.nodes")[0] or session.watch.nodes


def limited(kind: Callable[[], S], options: Any, as_json: bool = False) -> S:
    """A session of one calculation, within the `timeout` and `memory` of some options."""
    limit_memory(options.memory, statements=False)
    session = kind()
    end_in(session, options.timeout, as_json)
    return session


def end_in(session: Any, seconds: float | None, as_json: bool = False) -> None:
    """Stop a session after so many seconds, even in the middle of a computation in a library.

    Without seconds, each statement has the limit in config.toml. `as_json`: whether to print the error as JSON.
    """
    limit_statements(session)
    session.watch.advice = "--timeout {}"
    if seconds is not None:
        session.watch.time = math.inf  # a typed limit replaces that of config.toml
        session.watch.end_in(seconds)
    if seconds is not None or session.watch.time < math.inf:
        agrad.cli.limits.end_if_late(session, as_json)


# The root.


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
        """Write the commands, for which none is imported."""
        room = formatter.width - 6 - max(map(len, COMMANDS))  # as click leaves it
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
            given = [word for word in args[2:] if "=" in word]
            named = [word.partition("=")[0] for word in args[2:] if word.isidentifier() or word in given]
            by = (named or re.findall(r"\b[a-z]\b", args[1]) or ["x"])[0]
            rest = [word for word in args[2:] if word != by]
            raise unknown("command", word, (), ["eval", args[1], *rest, *[f"{by}=1"][len(given) :], "--wrt", by])
        if word in agrad.grammar.commands.COMMANDS:
            given = [one for one in args[1:] if re.match(r"[^\W\d]\w*=[^=]", one) and ".." not in one]
            words = [*(f"{one};" for one in given), *(one for one in args if one not in given)]
            said = re.sub(r" --?to[ =](\S+)", r' to "\1"', " ".join(words))
            line = f"{typed(said, of='echo')} | agrad run -" if len(args) > 1 else typed("help", word)
            raise Wrong(f"{word} is a statement, and no command", line)
        raise unknown("command", word, COMMANDS, ["eval", *args[word.isidentifier() and len(args) > 1 :]])

    def where_known(self, ctx: click.Context, option: str) -> list[str]:
        """The words in which an option that belongs to a command, not to the group, follows it."""
        commands = [command for name in COMMANDS if (command := self.get_command(ctx, name)) is not None]
        known = [command.name for command in commands if option in options(command, ctx)]
        if not known:
            return []
        words = sys.argv[1:]
        first = next((word for word in words if word in known), "repl" if "repl" in known else str(known[0]))
        return [first, *(word for word in words if word != first)]


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
            failed = "write the results" if problem.filename is None else f"read {problem.filename}"
            click.echo(f"error[file]: cannot {failed}: {problem.strerror}", err=True)
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
        words = " ".join(sys.argv[1:]).partition(" -- ")[0]
        as_json = re.search(r"(^| )--(json|(format|as)[ =]json)( |$)", words)  # even if other words are wrong
        return complain(misused(problem), as_json is not None)
