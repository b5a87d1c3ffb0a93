"""What statements of Python's reading leave: undo gives what was before, an error leaves it, and a repetition repeats."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from types import CellType, FunctionType, MethodType
from typing import Any

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

from .python_scripts import ADDRESS, START, Script

# Parts of statements that advance an iterator of before, which nothing takes back.
CLASSES: tuple[type, ...] = (property, staticmethod, classmethod)


def picture(names: dict[str, Any]) -> list[Any]:
    """All that names lead to, with what is the same object."""
    seen: dict[int, int] = {}
    kept: list[Any] = []

    def of(value: Any) -> Any:
        kind = type(value)
        if kind in (int, float, str, bool, bytes, complex, type(None), range) or value is ...:
            return kind.__name__, repr(value)
        if id(value) in seen:
            return "same", seen[id(value)]
        seen[id(value)] = len(seen)
        kept.append(value)
        if isinstance(value, dict):
            return kind.__name__, [(of(key), of(one)) for key, one in value.items()]
        if kind.__name__ in ("set", "frozenset"):
            return kind.__name__, sorted(map(repr, value))
        if isinstance(value, list | tuple) or kind.__name__ == "deque":
            return kind.__name__, [of(one) for one in value]
        if kind is FunctionType:
            cells = [of(one) for one in value.__closure__ or ()]
            return value.__name__, cells, of(value.__defaults__), of(value.__dict__)
        if kind is CellType:
            try:
                return of(value.cell_contents)
            except ValueError:
                return "empty"
        if kind is MethodType:
            return of(value.__self__), value.__name__
        if isinstance(value, type):
            own = {
                k: v
                for k, v in vars(value).items()
                if not (k[:2] == "__" and k[-2:] == "__") and type(v) not in CLASSES
            }
            return (
                (value.__name__, [(k, of(v)) for k, v in own.items()])
                if value.__module__ == "__main__"
                else value.__name__
            )
        if type(value).__module__ == "__main__" and hasattr(value, "__dict__"):
            return of(kind), of(vars(value))
        return kind.__name__

    return [(name, of(value)) for name, value in names.items()]


def run(session: Session, text: str) -> tuple[str, str]:
    """Run one statement; what it prints, and its error."""
    printed: list[str] = []
    try:
        session.run(text, lambda result: printed.append(result.text(session.settings)), "cell.py", is_file=True)
    except AgradError as problem:
        return ADDRESS.sub("", "\n".join(printed)), problem.message
    return ADDRESS.sub("", "\n".join(printed)), ""


def statements(dice: random.Random, count: int) -> Iterator[str]:
    """Statements of the top level, one by one."""
    script = Script(dice)
    while count > 0:
        text = script.statement(2)
        try:
            body = ast.parse(text).body
            compile(text, "cell.py", "exec")
        except SyntaxError:
            continue
        for one in body:
            yield ast.unparse(one)
            count -= 1


def cases(dice: random.Random) -> Iterator[None]:
    """Five sessions of twenty statements for each case."""
    for _ in range(5):
        session, before, history = Session(), list[Any](), START
        session.steps.depth = 100
        run(session, START)
        session.steps.clear()
        for text in statements(dice, 20):
            history += f"\n# then\n{text}"
            was, depth = picture(session.names), session.steps.units
            said, error = run(session, text)
            now = picture(session.names)
            if error:
                assert now == was, f"{history}\nfails with {error}, and leaves\n{now}\nnot\n{was}"
                continue
            if session.steps.units == depth:
                assert now == was, f"{history}\nis not kept, and changes\n{now}\nnot\n{was}"
                continue
            before.append(was)
            session.undo(1)
            assert picture(session.names) == was, f"{history}\nis undone to\n{picture(session.names)}\nnot\n{was}"
            assert run(session, text) == (said, ""), f"{history}\nsays something else when it is repeated"
            assert picture(session.names) == now, f"{history}\ndoes something else when it is repeated"
            if dice.random() < 0.2:
                count = dice.randint(1, len(before))
                session.undo(count)
                before, was = before[: len(before) - count], before[len(before) - count]
                history += f"\n# undo {count}"
                assert picture(session.names) == was, f"{history}\ngives\n{picture(session.names)}\nnot\n{was}"
        yield
