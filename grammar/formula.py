"""Texts of the language from Python: `agrad.evaluate("x**2*y", x=3, y=2, wrt="x")`, `agrad.formula("x**2*y")`.

A text reads and writes no files, has a limit of time and of memory, and reaches nothing of Python: this is the way for
services. What a library computes at one go, such as a large matrix, is stopped only when it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from typing import Any

from agrad.engine.autodiff.transforms import grad
from agrad.engine.compile import compile as compiled
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.values import coerce, np, outward
from agrad.grammar.diagnostics import Source, Span
from agrad.grammar.elsewhere import SCHOOL
from agrad.grammar.runtime.builtins import CONSTANTS, FUNCTIONS
from agrad.grammar.runtime.fixes import listed
from agrad.grammar.session import formulas
from agrad.grammar.session.session import Session
from agrad.grammar.syntax.ast import Call, Name, loads, nodes
from agrad.grammar.syntax.parser import parse_expression


class Formula:
    """An expression as a function of the names in it, `names`, in the order in which they stand there."""

    def __init__(self, text: str, seconds: float = 10.0, memory: float | None = None) -> None:
        """Read a text. Each use of it may take so many seconds, and each result so many bytes.

        Raises AgradError for what is no expression.
        """
        source = Source("expression", text)
        known = FUNCTIONS.keys() | CONSTANTS.keys()
        tree = parse_expression(source)
        called = {one.function.id for one in nodes(tree) if isinstance(one, Call) and isinstance(one.function, Name)}
        known |= called & SCHOOL.keys()
        names = dict.fromkeys(one.id for one in loads(tree) if one.id not in known)
        self.text, self.names = text, tuple(names)
        self._span, self._lock = Span(source, 0, len(text)), RLock()
        self._session = session = Session()
        session.context.files.on = False
        session.watch.time, session.watch.advice = seconds, "seconds={}"
        session.context.limits.advice = "memory={}e9"
        if memory is not None:
            session.context.limits.set(memory)
        body = f"({text}\n)" if "\n" in text or "#" in text else text
        session.run(f"def f({', '.join(self.names)}): return {body}")
        self._function = session.names.pop("f")

    def __repr__(self) -> str:
        return f"formula({self.text!r})"

    def __call__(self, values: Mapping[str, Any] = {}, /, **named: Any) -> Any:
        """The value: a float, an array, or a tuple of these. Raises AgradError, also for a name without a value."""
        return self._plainly(lambda: self._function(*self._given(values, named)))

    def gradient(self, values: Mapping[str, Any] = {}, /, wrt: str | Sequence[str] = (), **named: Any) -> Any:
        """The derivative by the name in `wrt`; by each of several, or of all, a dictionary. Raises AgradError."""
        by = [wrt] if isinstance(wrt, str) else list(wrt or self.names)
        places = [self._place(name) for name in by]
        found = self._plainly(lambda: grad(self._function, places)(*self._given(values, named)))
        return found[0] if isinstance(wrt, str) else dict(zip(by, found, strict=True))

    def map(self, values: Mapping[str, Any] = {}, /, **named: Any) -> tuple[Any, dict[str, Any]]:
        """The value, and the derivatives by name, for each row of columns; a number is the same in each row."""
        given = np.broadcast_arrays(*map(np.atleast_1d, map(_plain, self._given(values, named))))
        function = self._plainly(lambda: compiled(self._function, *[column.flat[0] for column in given]))
        found, slopes = self._plainly(lambda: function.map(*given))
        return found, dict(zip(self.names, slopes, strict=True))

    def export(self, language: str, wrt: Sequence[str] = (), order: int = 1, name: str = "f", **constants: Any) -> str:
        """A function in `c`, `js`, `py`, `ag` or `tex`: its value, and derivatives up to an order."""
        with self._lock:
            values = {word: formulas.constant(coerce(value)) for word, value in constants.items()}
            self._session.names.update(values)
            try:
                return formulas.exported(self._session, self.text, list(wrt), order, language, name)
            finally:
                self._session.names.clear()

    def _given(self, values: Mapping[str, Any], named: Mapping[str, Any]) -> list[Any]:
        given = {**values, **named}
        for name in given:
            self._place(name)
        missing = [name for name in self.names if name not in given]
        if missing:
            fixes = [Hint(f"give each one: {missing[0]}=1")]
            raise AgradError("name", f"{listed(missing)} of {self.text} has no value", fixes=fixes)
        return [_bound(given[name]) for name in self.names]

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise AgradError("name", f"{name} is not in {self.text}")
        return self.names.index(name)

    def _plainly(self, action: Callable[[], Any]) -> Any:
        """What an action gives within the limits, as other programs have it."""
        with self._lock:
            return _plain(self._session.all_at_once(action, self._span))


def _bound(value: Any) -> Any:
    """A value as the language has it: a float, or a Tensor."""
    number = value if isinstance(value, Tensor) else coerce(value, truths=True)
    return number if isinstance(number, Tensor | float) else tensor(number)


def _plain(found: Any) -> Any:
    if isinstance(found, tuple | list):
        return type(found)(map(_plain, found))
    return outward(found.value) if isinstance(found, Tensor) and not found.requires_grad else found


def evaluate(
    text: str,
    values: Mapping[str, Any] = {},
    /,
    *,
    wrt: str | Sequence[str] | None = None,
    seconds: float = 10.0,
    memory: float | None = None,
    **named: Any,
) -> Any:
    """The value of a text; with `wrt`, that and the derivative by a name, or a dictionary of those by several.

    Raises AgradError.
    """
    found = Formula(text, seconds, memory)
    value = found(values, **named)
    return value if wrt is None else (value, found.gradient(values, wrt, **named))
