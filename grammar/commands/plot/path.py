"""The values that numbers had over the steps of a session: its statements are run once more, beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agrad.engine.core.context import scope
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint, Label, Note
from agrad.engine.values import format_number
from agrad.grammar.results import Noted
from agrad.grammar.runtime.bytecode import Do
from agrad.grammar.runtime.compiler import compile_expression

if TYPE_CHECKING:
    from agrad.grammar.commands.host import Session
    from agrad.grammar.syntax import ast

_MOST = 2000  # points that are drawn
_STILL = 2  # statements without a change that end a step: in `no_grad: w -= 1` there are two

Pair = tuple[float, float]


def steps(session: Session, names: Sequence[ast.Expr]) -> tuple[list[float], list[float]]:
    """The values of two numbers, from the first that they had together to the present ones.

    Writes to both that follow each other are one step. Raises AgradError if the statements cannot be run again.
    """
    from agrad.grammar.session.log import restore  # here: the log imports the table of commands

    other = session.beside()
    seen = _Steps(other, [compile_expression(name) for name in names])
    run_statement = other.machine.handlers[Do.STATEMENT]

    def look_first(frame: Any, detail: Any, span: Any) -> int | None:
        seen.look()
        done: int | None = run_statement(frame, detail, span)
        return done

    other.machine.handlers[Do.STATEMENT] = look_first
    changed: list[str] = []
    try:
        restore(other, session.record.entries, changed.append)
    except AgradError as problem:
        message = f"the steps of this session cannot be run again: {problem.message}"
        raise AgradError(problem.kind, message, fixes=[Hint("leave out path")]) from problem
    seen.look()
    seen.commit()
    for path in changed:
        session.emit(Noted(Note(f"{path} has changed since: the path is that with its new content")))
    return _thinned(session, names, seen.points)


class _Steps:
    """Looks at two numbers again and again, and keeps where they stop."""

    def __init__(self, session: Any, codes: Sequence[Any]) -> None:
        self.session, self.codes = session, codes
        self.points: list[Pair] = []
        self.now: Pair | None = None
        self.moved: set[int] = set()  # which of them have changed since the last point
        self.still = 0  # statements since the last change

    def look(self) -> None:
        """A statement is about to run."""
        now = self._values()
        if now is None:
            return
        moved = {place for place in (0, 1) if self.now is None or now[place] != self.now[place]}
        self.still = 0 if moved else self.still + 1
        if self.still == _STILL or moved & self.moved:
            self.commit()
        self.moved |= moved
        self.now = now

    def commit(self) -> None:
        """Keep the present values, if they are not the last that are kept."""
        if self.now is not None and self.points[-1:] != [self.now]:
            self.points.append(self.now)
        self.moved = set()

    def _values(self) -> Pair | None:
        """Both numbers; None as long as one of them is none."""
        with scope(recording=False, listener=None):
            try:
                first, second = (_number(self.session.machine.run(code)) for code in self.codes)
            except AgradError:
                return None
        return None if first is None or second is None else (first, second)


def _number(value: Any) -> float | None:
    if isinstance(value, Tensor) and value.size == 1:
        return value.item()
    return value if isinstance(value, float) else None


def _thinned(session: Session, names: Sequence[ast.Expr], points: list[Pair]) -> tuple[list[float], list[float]]:
    """The points as two lists; of very many, some, with the first and the last. Raises AgradError if there are none."""
    if not points:
        labels = [Label(names[0].span)]
        raise AgradError("name", "no statement that is kept has changed these numbers", labels=labels)
    if len(points) > _MOST:
        kept = [points[round(place * (len(points) - 1) / (_MOST - 1))] for place in range(_MOST)]
        told = f"{format_number(len(points))} steps, of which {_MOST} are drawn"
        session.emit(Noted(Note(told)))
        points = kept
    return [x for x, _ in points], [y for _, y in points]
