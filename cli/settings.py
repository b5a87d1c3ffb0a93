"""The table of settings: what each is, its default, and how its value is read from config.toml or the environment.

Every start loads this file, so it imports little.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import click

from agrad.engine.errors import AgradError, Hint, Label, Note
from agrad.grammar.diagnostics import Source, Span, suggest
from agrad.grammar.files import read_text

_Said = tuple[Any, str]  # a value, and the variable that it comes from
_MOST = 1e15  # the largest number: beyond any machine, and within the integers of the system


class Setting:
    """One setting.

    `default`: None if grammar or engine has its own. `takes`: the possible values, in words. `read`: converts a value
    of the file; raises ValueError. `example`: a value in the file, and `text`: a description.
    """

    # Not a dataclass: creating one would take longer, at every start, than the rest of this file.
    __slots__ = ("default", "environment", "example", "read", "takes", "text")

    def __init__(
        self,
        default: Any,
        takes: str,
        read: Callable[[Any], Any],
        example: str,
        text: str,
        environment: Callable[[Mapping[str, str]], _Said | None] | None = None,
    ) -> None:
        self.default = default
        self.takes = takes
        self.read = read
        self.example = example
        self.text = text
        self.environment = environment


class Configuration:
    """The content of config.toml: values with their lines, and notes on its errors."""

    __slots__ = ("problems", "values")

    def __init__(self, values: dict[str, tuple[Any, int]], problems: list[Any]) -> None:
        self.values = values
        self.problems = problems


def digits(value: Any) -> int | None:
    """A number of significant digits, or None for "full"; of an option or of the file. Raises ValueError."""
    if value == "full":
        return None
    count = int(value) if isinstance(value, str) and value.isdecimal() else value
    if type(count) is int and 1 <= count <= 17:
        return count
    raise ValueError


def _one_of(*words: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in words:
            raise ValueError
        return str(value)

    return read


def _plots(value: Any) -> str:
    from agrad.grammar.syntax.keywords import SETTABLE  # here, since few set it

    return _one_of(*SETTABLE["plots"])(value)


def _switch(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError
    return value


def _amount(value: Any) -> float:
    if type(value) not in (int, float) or not 0 < value <= _MOST:
        raise ValueError
    return float(value)


def _size(value: Any) -> float:
    from agrad.grammar.runtime.budget import bytes_of  # here, since few set it

    return _amount(bytes_of(value) if isinstance(value, str) else value)


def _colour(environment: Mapping[str, str]) -> _Said | None:
    if environment.get("NO_COLOR"):
        return "never", "NO_COLOR"
    if forced := environment.get("FORCE_COLOR"):
        return "never" if forced == "0" else "always", "FORCE_COLOR"
    return None


def _pager(environment: Mapping[str, str]) -> _Said | None:
    """Whether PAGER turns paging off: it is empty, or `cat`."""
    return (False, "PAGER") if environment.get("PAGER") in ("", "cat") else None


def _echo(environment: Mapping[str, str]) -> _Said | None:
    """Whether AGRAD_ECHO turns the lines on what has changed on or off: 1 or 0."""
    said = environment.get("AGRAD_ECHO")
    return (said == "1", "AGRAD_ECHO") if said in ("0", "1") else None


COLOURS = ("auto", "always", "never")
SETTINGS = {
    "precision": Setting(10, 'a number from 1 to 17, or "full"', digits, "6", "significant digits"),
    "color": Setting("auto", '"auto", "always" or "never"', _one_of(*COLOURS), '"never"', "colour", _colour),
    "ascii": Setting(False, "true or false", _switch, "true", "use ASCII characters only"),
    "edit": Setting("emacs", '"emacs" or "vi"', _one_of("emacs", "vi"), '"vi"', "key bindings of the prompt"),
    "echo": Setting(True, "true or false", _switch, "false", "say at the prompt what a statement has changed", _echo),
    "live": Setting(True, "true or false", _switch, "false", "show the value of what is typed below the prompt"),
    "plots": Setting(
        "auto",
        '"auto", "braille", or "kitty" for pictures by its protocol',
        _plots,
        '"braille"',
        "how the terminal draws plots; auto: as a picture, if it can and matplotlib is installed",
    ),
    "pager": Setting(True, "true or false", _switch, "false", "use a pager for output longer than the screen", _pager),
    "limits.memory": Setting(None, 'a size such as "4 GB"', _size, '"4 GB"', "for one result"),
    "limits.time": Setting(None, "a number of seconds above 0", _amount, "10", "for a statement"),
    "limits.nodes": Setting(None, "a number above 0", _amount, "1e6", "kept by a statement"),
}


# The check that a path is a file that can be read to its end.


def require_ordinary(path: str | os.PathLike[str]) -> None:
    """Refuse anything but a file or a link to one: reading a pipe waits, and a device may not end. Raises OSError."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(0, "it is not a regular file")


# The value of a setting: from an option, the environment, config.toml or its default, in this order.
#
# Every start needs some, so this file imports little; `config_toml` is imported only if there is such a file.

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
    import sys  # here, since few runs keep anything

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
        context.meta[_KEPT] = _read(path) if os.path.exists(path) else None
    found: Configuration | None = context.meta[_KEPT]
    return found


def _read(path: str) -> Configuration:

    return read(path)


# Reading config.toml. An error in it is reported with its line, and does not stop the program.


def read(path: str) -> Configuration:
    """The settings of a file, and notes on its errors."""
    try:
        if not os.path.isdir(path):  # reported when it is read
            require_ordinary(path)
        text = read_text(path)
    except OSError as problem:
        why = f"cannot read {path}: {problem.strerror}"
        return Configuration({}, [Note(f"{why}; the file is ignored")])
    except AgradError as problem:
        return Configuration({}, [Note(f"{problem.message}; the file is ignored")])
    source = Source(path, text, 1, True)
    try:
        table = tomllib.loads(text)
    except ValueError as problem:  # a TOMLDecodeError, or a number of more digits than Python reads
        return Configuration({}, [_broken(source, str(problem))])
    except RecursionError:
        return Configuration({}, [_broken(source, "It nests too deeply")])
    found = Configuration({}, [])
    lines = _lines(text)
    for name, value in _entries(table):
        line = lines.get(name, 1)
        if name not in SETTINGS:
            found.problems.append(_unknown(name, value, _span(source, line)))
            continue
        try:
            found.values[name] = SETTINGS[name].read(value), line
        except (ValueError, TypeError):
            found.problems.append(_wrong(name, _span(source, line)))
    return found


def _entries(table: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The entries of a table, by dotted names, including those of inner tables that may hold settings."""
    groups = {name.partition(".")[0] for name in SETTINGS if "." in name}
    for key, value in table.items():
        if key in groups and isinstance(value, dict):
            yield from ((f"{key}.{inner}", part) for inner, part in value.items())
        else:
            yield key, value


def _lines(text: str) -> dict[str, int]:
    """The line of each entry of a text that is TOML.

    tomllib does not give lines, but it shows where a statement ends: each is parsed by itself, below the header of its
    table, and has as many lines as it takes until that succeeds.
    """
    found: dict[str, int] = {}
    header, statement, first = "", "", 1
    for number, line in enumerate(text.split("\n"), 1):
        first = first if statement else number
        statement += f"{line}\n"
        is_header = statement.lstrip().startswith("[")
        try:
            table = tomllib.loads(statement if is_header else header + statement)
        except ValueError:
            continue
        if is_header:
            header = statement
        for name, _ in _entries(table):
            found.setdefault(name, first)
        statement = ""
    return found


def _span(source: Source, number: int) -> Span:
    """A line, without the white space around it."""
    line = source.line(number)
    start = sum(len(before) + 1 for before in source.text.split("\n")[: number - 1])
    return Span(source, start + len(line) - len(line.lstrip()), start + len(line.rstrip()))


def _unknown(name: str, value: Any, place: Span) -> Note:
    table, _, last = name.rpartition(".")
    same = [full for full in SETTINGS if full.rpartition(".")[2] == last]  # in another table
    inner = [full for full in SETTINGS if suggest(last, [full.rpartition(".")[2]])]
    fixes = [_line(full, table, value) for full in same or suggest(name, SETTINGS) or inner]
    message = f"there is no setting {name}; it is ignored"
    return Note(message, [Label(place)], fixes or [Hint(f"the settings are {', '.join(SETTINGS)}")])


def _wrong(name: str, place: Span) -> Note:
    message = f"{name} must be {SETTINGS[name].takes}; this value is ignored"
    return Note(message, [Label(place)], [_line(name, name.rpartition(".")[0])])


def _broken(source: Source, told: str) -> Note:
    """The note on a text that is not TOML, from the message of tomllib."""
    reason, at_place, place = told.rpartition(" (at ")  # "line 2, column 5)", or "end of document)"
    numbers = [int(word) for word in place.rstrip(")").replace(",", "").split() if word.isdecimal()]
    at = len(source.text.rstrip())
    if at_place and len(numbers) == 2:
        at = sum(len(line) + 1 for line in source.text.split("\n")[: numbers[0] - 1]) + numbers[1] - 1
    reason = reason if at_place else told
    message = f"this is not TOML: {reason[0].lower()}{reason[1:]}; the file is ignored"
    fixes = [Hint("agrad config   shows an example")]
    return Note(message, [Label(Span(source, at, min(at + 1, len(source.text))))], fixes)


def _line(name: str, table: str, value: Any = None) -> str:
    """A setting as a line of the file, inside a table; with the value if it is valid, else with an example."""
    own, _, last = name.rpartition(".")
    below = f"   below [{own}]" if own and own != table else "   above all tables" if own != table else ""
    try:
        SETTINGS[name].read(value)
        written = str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else value
    except (ValueError, TypeError):
        written = SETTINGS[name].example
    return f"{last} = {written}{below}"


def first(problems: Sequence[Note]) -> Note:
    """One note for all problems."""
    head, *others = problems
    if not others:
        return head
    more = f"{len(others)} more {'problem' if len(others) == 1 else 'problems'}: agrad config shows all"
    return Note(head.message, head.labels, head.fixes, [*head.notes, more])
