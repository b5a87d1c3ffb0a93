"""What is typed behind a command: a class of Options declares its arguments and options, each in one place.

Below are the words as they were typed, and the options of most commands. `expression` has what the words mean, and the
advice in errors about them, `slips` what is meant by a word too many; `options` says how a table is read, and where to
compute. Used by `commands/`; click's options and texts only, no computing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import click

import agrad
from agrad.cli.main import FOREVER, typed
from agrad.cli.settings import digits, find
from agrad.cli.terminal import TIMED_OUT
from agrad.engine.struct import Struct
from agrad.lazy import lazy

__getattr__ = lazy(__name__)
Given = TypeVar("Given", bound="Options")


class Options:
    """The values of what was typed. In a subclass each annotated attribute is an argument or option, or a `group`."""

    def __init__(self, given: dict[str, Any]) -> None:
        for name in self.__annotations__:
            kind = getattr(type(self), name)
            setattr(self, name, kind(given) if isinstance(kind, type) else given[name])

    @classmethod
    def parameters(cls) -> Iterator[click.Parameter]:
        """The arguments and options as click has them, in their order, which is that of the help."""
        for name in cls.__annotations__:
            kind = getattr(cls, name)
            if isinstance(kind, type):
                yield from kind.parameters()  # type: ignore[attr-defined]  # another class of options
            else:
                yield kind(name)


def group(options: type[Options]) -> Any:
    """An attribute that has the options of another class."""
    return options


def argument(**settings: Any) -> Any:
    """An attribute for words that are no options."""
    return lambda name: click.Argument([name], **settings)


def option(names: str, takes: str | Sequence[str] | None, help: str, **settings: Any) -> Any:
    """An attribute for an option with a value: what that is called in the help, or the words to choose from."""
    kind: dict[str, Any] = {"metavar": takes} if isinstance(takes, str | None) else {"type": click.Choice(takes)}
    kind["show_default"] = settings.get("default") not in (None, "-")
    return lambda name: click.Option([*names.split(), name], help=help, **kind, **settings)


def many(names: str, takes: str, help: str, **settings: Any) -> Any:
    """An attribute for an option that may be repeated."""
    return option(names, takes, help, multiple=True, **settings)


def count(names: str, takes: str, help: str, least: int = 1, most: int | None = None, **settings: Any) -> Any:
    """An attribute for an option with a whole number."""
    return option(names, takes, help, type=click.IntRange(least, most), **settings)


def flag(names: str, help: str, **settings: Any) -> Any:
    """An attribute for an option that is given or not."""
    return lambda name: click.Option([*names.split(), name], is_flag=True, help=help, **settings)


def is_usual(name: str) -> bool:
    """Whether an option of the running command was left at its default."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.DEFAULT


def declared(
    name: str, kind: type[click.Command], options: type[Given]
) -> Callable[[Callable[[Given], Any]], click.Command]:
    """Decorator: a function with such options as a command, whose help is the docstring."""

    def declare(run: Callable[[Given], Any]) -> click.Command:
        parameters = list(options.parameters())
        return kind(name, callback=lambda **given: run(options(given)), params=parameters, help=run.__doc__)

    return declare


# The words behind a command.

NAME = r"[^\W\d](?:\w|[^\x00-\x7f])*"  # including combining marks
_BINDING = rf"(?s)\s*({NAME})\s*=(?!=)(.*)"
TYPED = "agrad.typed"  # the words behind a command, in its context
PLACES = "agrad.places"  # the places among them of those that are no options, nor values of options


class Line(Struct, eq=False):
    """A command line as it was typed: its words, and the places of those that are no options, nor values of options."""

    command: str
    words: list[str]
    places: list[int]

    @classmethod
    def typed(cls) -> Line:
        """That of the command that runs."""
        context = click.get_current_context()
        return cls(str(context.info_name), context.meta[TYPED], context.meta[PLACES])

    def given(self, names: Sequence[str]) -> list[list[int]]:
        """For each time that an option is given its place, and that of its value if this is a word of its own."""
        words = self.words[: self.words.index("--") if "--" in self.words else None]
        return [[at, at + 1][: 1 + (word in names)] for at, word in enumerate(words) if word.partition("=")[0] in names]

    def place(self, word: str) -> int:
        """The place of an expression, be it that of -e."""
        known = enumerate(self.words)
        return next((at for at, one in known if one == word and (at in self.places or self.words[at - 1] == "-e")), -1)

    def changed(self, instead: Mapping[int, Sequence[str]], more: str = "") -> str:
        """The line with other words in some places, and one `more`: an option, or behind the last that is none."""
        words = [[*instead.get(place, (word,))] for place, word in enumerate(self.words)]
        end = self.words.index("--") if "--" in self.words else len(words)
        if more:
            words.insert(end if more.startswith("-") or not self.places else self.places[-1] + 1, [more])
        return typed(self.command, *(part for parts in words for part in parts))

    def edited(self, old: str, new: str) -> str:
        """The line with another expression in place of one, also beside `~` or behind `=`; else that expression."""
        form = re.compile(rf"(?s)((?:.*[=~])?\s*){re.escape(old)}(\s*(?:~.*)?)")
        found = {at: [x[1] + new + x[2]] for at, word in enumerate(self.words) if (x := form.fullmatch(word))}
        return self.changed(found) if len(found) == 1 else new

    def joined(self, places: Sequence[int], text: str) -> str:
        """The line with one word in place of several, where the first of these was."""
        return self.changed(dict.fromkeys(places, ()) | {places[0]: (text,)})


def binding(word: str) -> tuple[str, str]:
    """The two sides of NAME=TEXT; an empty name for any other word."""
    found = re.fullmatch(_BINDING, word)
    return (named(found[1]), found[2]) if found else ("", word)


def named(name: str) -> str:
    """The name as in expressions, which read π as pi, and names that look alike as one."""
    return "pi" if name == "π" else agrad.engine.text.as_name(name)


# The options of most commands.


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
    return option("--precision", "N|full", text, default=usual, callback=_digits)


json_option = flag("--json", "Print each result as a JSON object, with numbers in full.")
keys_option = option("--vi/--emacs", None, "The key bindings for editing; the default is --emacs.", default=None)
files_option = flag("--no-files", "Neither read nor write any file.", flag_value=False, default=True)


def completions(known: Callable[[], Mapping[str, str]]) -> Callable[..., list[Any]]:
    """The callback of an argument for the shell: words, each with a description."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem  # here, since few runs come from a shell's completion

        return [CompletionItem(word, help=told) for word, told in known().items() if word.startswith(incomplete)]

    return complete


FILE = click.Path(readable=False)  # a name, which the shell completes; whether there is one is seen when it is read


def file_option(names: str, help: str, takes: str = "FILE", **settings: Any) -> Any:
    """An option that names a file."""
    return option(names, takes, help, type=FILE, **settings)


def file_or_stdout(context: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
    """The callback of an option with a file to write: None, which means standard output, for `-`."""
    return None if path == "-" else path


def _seconds(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value < math.inf:
        raise click.BadParameter(f"{value} is not a time", context, parameter)
    return value if value is None else min(value, FOREVER)


def size(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """The bytes of a size such as 2GB: the callback of an option. Raises click.BadParameter."""
    if value is None:
        return None
    found = agrad.grammar.runtime.budget.bytes_of(value)
    if not 0 < found < math.inf:
        raise click.BadParameter(f"{value} is not a size such as 2GB or 500MB", context, parameter)
    return found


def timeout_option(what: str) -> Any:
    """The option --timeout, which stops `what`."""
    text = f"Stop {what} that takes longer; the exit code is {TIMED_OUT}."
    return option("--timeout", "SECONDS", text, type=float, callback=_seconds)


memory_option = option(
    "--max-memory",
    "SIZE",
    "The memory for results, each and together, in addition to the program itself, such as 2GB; the default is half of "
    "the machine's memory.",
    callback=size,
)


class Limits(Options):
    """The limits of a command that computes one thing."""

    timeout: float | None = timeout_option("a computation")
    memory: float | None = memory_option
