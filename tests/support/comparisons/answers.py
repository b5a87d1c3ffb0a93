"""What a session answers and holds, in a form that two sessions can be compared by, to the bit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from agrad.engine.core.context import current, scope
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, render
from agrad.grammar.results import Noted, Quit, Result
from agrad.grammar.runtime.notes import Growth
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.ast import Statement
from agrad.grammar.syntax.parser import parse


def new_session(start: str) -> Session:
    """A session as at the prompt that prints numbers in full."""
    session = Session()
    session.steps.depth = DEPTH
    session.settings.precision = None
    session.context.files.on = False
    begin_again(session, start)
    return session


def begin_again(session: Session, start: str) -> None:
    """Have the names of a script and no others: much faster than a new session."""
    session.names.clear()
    session.chosen = {}
    session.last = ()
    session.machine.growth = Growth()  # what it has said of names
    session.steps.clear()
    for statement in parsed(start):
        session.run_again(statement, None)


@cache
def parsed(text: str) -> Sequence[Statement]:
    """The statements of a text that many sessions begin with."""
    return parse(Source("session", text))


class Program(tuple[Any, ...]):
    """Statements that are parsed once and run often."""

    text: str

    def __str__(self) -> str:
        return self.text


def program(texts: Iterable[str]) -> Program:
    """Some texts as a program, without those that are none."""
    kept = [text for text in texts if not isinstance(read(text), str)]
    made = Program(map(read, kept))
    made.text = "\n".join(kept)
    return made


def read(text: str) -> str | Sequence[Statement]:
    """The statements of a text; the text itself where it is no program."""
    try:
        return parse(Source("session", text))
    except AgradError:
        return text


def told(
    session: Session, text: str | Sequence[Statement], listener: Callable[[Result], None] | None = None
) -> list[str]:
    """All that a text, or statements that are parsed already, make a session say; a listener hears it meanwhile."""
    said: list[str] = []

    def emit(result: Result) -> None:
        said.append(render(result.note) if isinstance(result, Noted) else result.text(session.settings))
        if listener is not None:
            listener(result)

    try:
        if isinstance(text, str):
            session.run(text, emit)
        else:
            for statement in text:
                session._run_statement(statement, emit)
    except AgradError as error:
        said.append(render(error))
    except Quit:
        said.append("quit")
    return said


def bits(value: Any) -> Any:
    """A value so that two are equal only if all their bits are; the sign of a nan does not count."""
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    if isinstance(value, Tensor):
        gradient = None if value.grad is None else bits(value.grad.value)
        return bits(value.value), gradient, value.version, value.requires_grad
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, np.ndarray):
        return value.shape, np.where(np.isnan(value), np.nan, value).tobytes()
    return repr(type(value))


def held(session: Session) -> dict[str, Any]:
    """The values of all names, their gradients and versions, the last answer, and where the random numbers are."""
    generator = session.context.random.generator
    drawn = generator.bit_generator.state["state"] if generator is not None else None
    with scope(guard=current().guard):  # what is read here as plain data is no guard of the caller's
        names = {name: bits(value) for name, value in session.names.items()}
        return names | {" answer": bits(session.answer), " random": drawn}


def differences(first: Any, second: Any) -> Any:
    """What differs, in short."""
    if isinstance(first, dict):
        return {
            key: (first.get(key), second.get(key)) for key in {**first, **second} if first.get(key) != second.get(key)
        }
    if isinstance(first, list):
        return [pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]] or (first, second)
    return first, second


def assert_equal(first: Any, second: Any, *texts: str) -> None:
    """Fail, and show the program, where two do not hold or say the same."""
    assert first == second, "\n".join([*texts, repr(differences(first, second))[:1500]])
