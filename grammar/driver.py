"""The loop that runs lark's parse table: what lark's own does, in fewer steps.

Between `2` and the sum that it is lie twelve levels of precedence, each a rule that hands on what it gets. The loop
takes all of them in one step, and remembers where it led.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from lark import Lark, Token
from lark.parse_tree_builder import ExpandSingleChild

_START = "program"
# The step of a rule that only hands on.
_ON = -1
# The state behind a shift; of a rule its length, its name and what makes its value; or _ON.
_Step: TypeAlias = "int | tuple[int, str, Callable[[list[Any]], Any]]"


class Misfit(Exception):
    """A token that cannot stand where it does, and the terminals that could."""

    def __init__(self, token: Token, accepts: set[str]) -> None:
        super().__init__(token)
        self.token = token
        self.accepts = accepts


class Driver:
    """A parser by the table of another."""

    def __init__(self, parser: Lark) -> None:
        lalr: Any = parser.parser.parser.parser
        table, self.callbacks = lalr.parse_table, lalr.callbacks
        self.table: dict[int, dict[str, Any]] = table.states
        self.start: int = table.start_states[_START]
        self.end: int = table.end_states[_START]
        # What has been looked up: by state and terminal, and where handing on leads, by the state below as well.
        self.steps: dict[int, dict[str, _Step]] = {state: {} for state in self.table}
        self.jumps: dict[tuple[int, int, str], int] = {}

    def parse(self, tokens: Iterable[Token]) -> Any:
        """What the callbacks make of the tokens. Raises Misfit at the first that does not fit."""
        table, steps, jumps, end = self.table, self.steps, self.jumps, self.end
        states, values = [self.start], list[Any]()
        for token in _ended(tokens):
            kind = token.type
            while True:
                step = steps[states[-1]].get(kind)
                if step is None:
                    step = self.look_up(states, token)
                if isinstance(step, tuple):
                    size, name, make = step
                    parts = values[len(values) - size :]
                    del values[len(values) - size :], states[len(states) - size :]
                    values.append(make(parts))
                    states.append(table[states[-1]][name][1])
                    if states[-1] == end:
                        return values[-1]
                elif step == _ON:
                    place = (states[-2], states[-1], kind)
                    states[-1] = jumps.get(place) or self.jump(place)
                else:
                    states.append(step)
                    values.append(token)
                    break
        raise AssertionError("the end of a text is the end of its program")

    def look_up(self, states: list[int], token: Token) -> _Step:
        """What the table says of a token in the topmost state, when that is asked for the first time."""
        kind, actions = token.type, self.table[states[-1]]
        if kind not in actions:
            raise Misfit(token, self.accepted(states))
        target = actions[kind][1]
        step: _Step = target
        if not isinstance(target, int):
            make, size = self.callbacks[target], len(target.expansion)
            step = _ON if size == 1 and isinstance(make, ExpandSingleChild) else (size, target.origin.name, make)
        self.steps[states[-1]][kind] = step
        return step

    def jump(self, place: tuple[int, int, str]) -> int:
        """Where handing on leads: the next state on top that does something else."""
        below, top, kind = place
        while kind in self.table[top] and self.look_up([top], Token(kind, "")) == _ON:
            rule = self.table[top][kind][1]
            top = self.table[below][rule.origin.name][1]
        self.jumps[place] = top
        return top

    def over(self, states: list[int], kind: str) -> bool:
        """Take states past a terminal, without values; False, and somewhere on the way, if it does not fit there."""
        while True:
            _, target = self.table[states[-1]].get(kind, ("", None))
            if target is None:
                return False
            if isinstance(target, int):
                states.append(target)
                return True
            del states[len(states) - len(target.expansion) :]
            states.append(self.table[states[-1]][target.origin.name][1])

    def accepted(self, states: list[int]) -> set[str]:
        """The terminals that may come next. A table that is merged as LALR's tells it only by trying."""
        terminals = (kind for kind in self.table[states[-1]] if kind.isupper() and kind != "$END")
        return {kind for kind in terminals if self.over(states.copy(), kind)}


def _ended(tokens: Iterable[Token]) -> Iterator[Token]:
    """The tokens, and behind them the one by which the table knows the end."""
    token = Token("$END", "", 0, 1, 1)
    for token in tokens:
        yield token
    yield Token.new_borrow_pos("$END", "", token)
