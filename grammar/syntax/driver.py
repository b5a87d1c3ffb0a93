"""The loop that runs the parser's table.

Between `2` and the sum that it is lie twelve levels of precedence, each a rule that hands on what it gets. The loop
takes all of them in one step, and remembers where it led.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agrad.grammar.syntax.table import Rows, Table
from agrad.grammar.syntax.token import Token

_START = "program"
_END = "$END"


class Misfit(Exception):
    """A token that cannot stand where it does, and the terminals that could."""

    def __init__(self, token: Token, accepts: set[str]) -> None:
        super().__init__(token)
        self.token = token
        self.accepts = accepts


class Driver:
    """The parser: a table, and what makes values of its rules."""

    start = 0

    def __init__(self, table: Table, builder: object) -> None:
        self.rows = Rows(table, builder)
        self.end: int = self.rows[self.start][_START]
        # Where handing on leads, by the state below, the one on top, and the terminal.
        self.jumps: dict[tuple[int, int, str], int] = {}

    def parse(self, tokens: Iterable[Token]) -> Any:
        """What the builder makes of the tokens. Raises Misfit at the first that does not fit."""
        rows, jumps, end = self.rows, self.jumps, self.end
        states, values = [self.start], list[Any]()
        for token in _ended(tokens):
            kind = token.type
            while True:
                step = rows[states[-1]].get(kind)
                if isinstance(step, tuple):
                    size, name, make = step
                    parts = values[len(values) - size :]
                    del values[len(values) - size :], states[len(states) - size :]
                    values.append(make(parts))
                    states.append(rows[states[-1]][name])
                    if states[-1] == end:
                        return values[-1]
                elif isinstance(step, str):
                    place = (states[-2], states[-1], kind)
                    states[-1] = jumps.get(place) or self.jump(place)
                elif step is None:
                    raise Misfit(token, self.accepted(states))
                else:
                    states.append(step)
                    values.append(token)
                    break
        raise AssertionError("the end of a text is the end of its program")

    def jump(self, place: tuple[int, int, str]) -> int:
        """Where handing on leads: the next state on top that does something else."""
        below, top, kind = place
        while isinstance(step := self.rows[top].get(kind), str):
            top = self.rows[below][step]
        self.jumps[place] = top
        return top

    def over(self, states: list[int], kind: str) -> bool:
        """Take states past a terminal, without values; False, and somewhere on the way, if it does not fit there."""
        while True:
            step = self.rows[states[-1]].get(kind)
            if step is None:
                return False
            if isinstance(step, int):
                states.append(step)
                return True
            size, name = (1, step) if isinstance(step, str) else step[:2]
            del states[len(states) - size :]
            states.append(self.rows[states[-1]][name])

    def accepted(self, states: list[int]) -> set[str]:
        """The terminals that may come next. A table that is merged as LALR's tells it only by trying."""
        terminals = (kind for kind in self.rows[states[-1]] if kind.isupper() and kind != _END)
        return {kind for kind in terminals if self.over(states.copy(), kind)}


def _ended(tokens: Iterable[Token]) -> Iterator[Token]:
    """The tokens, and behind them the one by which the table knows the end."""
    token = Token(_END)
    for token in tokens:
        yield token
    yield Token(_END, "", token.start_pos, token.end_pos)
