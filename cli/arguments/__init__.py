"""What is typed behind a command: a class of Options declares its arguments and options, each in one place.

`expression` has the words after a command, and the advice in errors about them; `options` those that several commands
share: which derivatives, how a table is read, where to compute; `limits` the options --timeout and --max-memory, and
how the process ends when they are exceeded. Used by `commands/`; click's options and texts only, no computing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import click

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
