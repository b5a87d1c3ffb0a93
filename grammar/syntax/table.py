"""The file agrad.table: what build.py has made of agrad.lark, for the layout and the driver.

It is text, so that a change of it can be read: its format; the words of the language, each with its terminal; the
signs, a terminal and its pattern on a line, in the order in which they are tried; the rules; the states. An empty line
stands between these. What a start does not need, it does not read: a rule and a state remain a line until asked for.

A rule is what it makes, how, and its parts: `keyword keyword NAME -_EQUAL expression`. How is the name of the
builder's method that takes the parts; `[]` makes a list of them; `=` hands the only one on. A part behind a `-` is left
out, one behind a `*` is such a list, and its parts stand there instead of it.

A state is its number, and terminals and rules that may come there, each with its step: the state behind it, or, below
zero, the rule that is complete before it (-1 is the first). A text begins in state 0.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable
from typing import Any, TypeAlias

from agrad.engine.errors import AgradError

# os.path, because importing pathlib would take longer than reading the table.
PATH = os.path.join(os.path.dirname(os.path.dirname(__file__)), "agrad.table")
FORMAT = "agrad table 1"
LISTED, HANDED_ON = "[]", "="

_Make: TypeAlias = Callable[[list[Any]], Any]
# The state behind a terminal or rule; of a rule that is complete its length, what it makes and how; of one that only
# hands on what it makes.
Step: TypeAlias = "int | str | tuple[int, str, _Make]"


class Table:
    """The table, read as far as it is asked for."""

    def __init__(self, text: str) -> None:
        head, _, text = text.partition("\n\n")
        if head != FORMAT:
            raise ValueError(head)
        words, signs, rules, states = text.split("\n\n")
        self.words = dict(line.split(" ") for line in words.split("\n"))
        self.signs = dict(line.split(" ", 1) for line in signs.split("\n"))
        self.rules = rules.split("\n")
        self.states = states.rstrip("\n").split("\n")


def load() -> Table:
    """The table of this installation. Raises AgradError of kind `file` if that is broken."""
    try:
        with open(PATH, encoding="utf-8") as file:
            return Table(file.read())
    except OSError as problem:
        why = problem.strerror
    except ValueError:
        why = f"it is no {FORMAT}"
    raise AgradError(
        "file",
        f"agrad cannot read its own {PATH}: {why}",
        notes=["it comes with agrad: install that anew, or, where its sources are, say make table"],
    )


class Rows(dict[int, "dict[str, Any]"]):
    """The Step of each terminal in a state, and the state behind each rule; made ready when it is asked for first."""

    def __init__(self, table: Table, builder: object) -> None:
        super().__init__()
        self.table = table
        self.builder = builder
        self.steps: dict[int, Step] = {}

    def __missing__(self, state: int) -> dict[str, Any]:
        _, *words = self.table.states[state].split(" ")
        pairs = zip(words[::2], map(int, words[1::2]), strict=True)
        row = {name: target if target >= 0 else self.step(target) for name, target in pairs}
        self[state] = row
        return row

    def step(self, target: int) -> Step:
        """The step of a rule that is complete, from its number in the states."""
        if target not in self.steps:
            origin, how, *parts = self.table.rules[-1 - target].split(" ")
            self.steps[target] = origin if how == HANDED_ON else (len(parts), origin, self.make(how, parts))
        return self.steps[target]

    def make(self, how: str, parts: list[str]) -> _Make:
        """What makes the value of a rule from the values of its parts."""
        make: _Make = _as_they_are if how == LISTED else getattr(self.builder, how)
        kept = [(place, part[0] == "*") for place, part in enumerate(parts) if part[0] != "-"]
        if len(kept) == len(parts) and not any(spread for _, spread in kept):
            return make

        def make_of_kept(values: list[Any]) -> Any:
            chosen: list[Any] = []
            for place, spread in kept:
                if not spread:
                    chosen.append(values[place])
                elif chosen:
                    chosen += values[place]
                else:
                    chosen = values[place]  # no other rule has it, and copying one that grows would take ever longer
            return make(chosen)

        return make_of_kept


def _as_they_are(parts: list[Any]) -> list[Any]:
    return parts
