"""The text of `help`, made from the tables of commands and functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agrad.engine.op import FUNCTIONS, Entry
from agrad.grammar.functions import CONSTANTS

if TYPE_CHECKING:
    from agrad.grammar.commands import Command

WIDTH = 100

STATEMENTS = """\
  var x = 2              a leaf that requires grad
  y = x**2*sin(x)        a value, with its graph
  x[0] = 5   w -= 0.1    writing in place
  def f(x) = x**2        a function; a block with return works too
  for i in range(3): …   while c: …   if c: …   elif, else
  no_grad: w -= w.grad   without recording
  print f"{y:.3f}"       assert y ~= 3 +- 1e-9       fails freed: backward y       del x"""


def help_on(word: str, commands: Mapping[str, Command]) -> str | None:
    """Help on a command, function or constant; None if there is none of that name."""
    if word in commands and word in FUNCTIONS:
        return f"{_of_command(commands[word])}\n\n{_of_function(FUNCTIONS[word])}"
    if word in commands:
        return _of_command(commands[word])
    if word in FUNCTIONS:
        return _of_function(FUNCTIONS[word])
    if word in CONSTANTS:
        return f"{word} = {CONSTANTS[word]!r}"
    return None


def overview(commands: Mapping[str, Command]) -> str:
    """All there is, a line or a word each."""
    lines = ["statements", STATEMENTS, "", "commands"]
    width = max(len(command.usage) for command in commands.values())
    lines += [f"  {command.usage.ljust(width)}  {command.help}" for command in commands.values()]
    families: dict[str, list[str]] = {}
    for entry in FUNCTIONS.values():
        families.setdefault(entry.family, []).append(entry.name)
    lines.append("")
    for family, names in families.items():
        lines += _wrapped(family, names)
    lines += _wrapped("constants", list(CONSTANTS))
    return "\n".join([*lines, "", "help WORD tells more: help backward, help sin"])


def _wrapped(title: str, names: list[str]) -> list[str]:
    """A family and its functions, on lines that fit the width."""
    lines = [f"{title}:"]
    for name in names:
        if len(lines[-1]) + len(name) + 1 > WIDTH:
            lines.append(" " * 4)
        lines[-1] += f" {name}"
    return lines


def _of_command(command: Command) -> str:
    example = command.example.replace("; ", "\n           ")
    return f"{command.usage}\n  {command.help}\n  example: {example}"


def _of_function(entry: Entry) -> str:
    lines: list[Any] = [entry.signature.usage, f"  {entry.doc}"]
    if entry.derivative:
        lines.append(f"  derivative: {entry.derivative}")
    if entry.example:
        lines.append(f"  example: {entry.example}")
    return "\n".join(lines)
