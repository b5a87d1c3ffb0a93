"""What `agrad map` is asked to compute: formulas, constants and conditions, and a session for each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import click

from agrad.cli.arguments.expression import noted
from agrad.cli.data.row_formulas import RowFormula, aggregates
from agrad.cli.data.writers import BINARY
from agrad.engine.compile.registry import AUTO
from agrad.grammar.session.rowwise import Rowwise, listed_items


@dataclass(slots=True)
class Asked:
    """The formulas by their titles, and what is asked about them. `named`: whether -e gives the titles."""

    formulas: dict[str, str]
    named: bool
    constants: dict[str, str]
    wrt: list[str]
    uncertain: dict[str, str] = field(default_factory=dict)
    order: int = 1
    full: bool = False
    where: str | None = None
    whole: tuple[str, ...] = ()
    jacobian: bool = False  # whether all values come before all derivatives

    def require(self) -> None:
        """Refuse what does not go together. Raises click.UsageError."""
        if self.order == 2 and not self.wrt:
            raise click.UsageError("second derivatives need --wrt, which says by which columns")
        if self.jacobian and not self.wrt:
            raise click.UsageError("--jacobian needs --wrt, which says by which columns")
        if self.jacobian and self.order == 2:
            raise click.UsageError("--jacobian has first derivatives: leave --order and --hessian out")
        if self.uncertain and self.named:
            raise click.UsageError("--u is for one formula, without -e")


def entries(formulas: dict[str, str]) -> dict[str, str]:
    """The formulas, with one for each entry of a list: of f, f[0] and f[1]; the same object where none is a list.

    Raises AgradError of kind `syntax`.
    """
    found: dict[str, str] = {}
    for title, text in formulas.items():
        items = listed_items(text)
        found |= {title: text} if items is None else {f"{title}[{place}]": one for place, one in enumerate(items)}
    return formulas if found == formulas else found


class Sessions:
    """A session for each expression, all with the same constants.

    `ends`: sets the limits of a session; `seed`: with which the random numbers of each begin, if it is given.
    """

    def __init__(self, ask: Asked, ends: Callable[[Any], None], seed: int | None = None) -> None:
        self.ask, self.ends, self.seed = ask, ends, seed
        self.values = {title: self._read(text, f"-e {title}=…" * ask.named) for title, text in ask.formulas.items()}
        self.parts = {title: [self._by(text, name) for name in ask.wrt] for title, text in ask.formulas.items()}
        if ask.order < 2:
            self.parts = {}
        self.where = self._read(ask.where, "--where") if ask.where is not None else None
        self.first = next(iter(self.values.values()))
        self.whole: dict[str, float] = {}
        self.constants = {name: self.first.names[name] for name in ask.constants}

    def _read(self, text: str, word: str) -> Any:
        session = Rowwise()
        if self.seed is not None:
            session.seed(self.seed)
        self.ends(session)
        with noted(word) if word else nullcontext():
            session.read(text)
        return self._given(session)

    def _given(self, session: Any) -> Any:
        for name, value in self.ask.constants.items():
            with noted(f"-D {name}={value}"):
                session.give(name, value)
        return session

    def _by(self, text: str, name: str) -> Any:
        session = self._read(text, "")
        session.by = name
        return session

    def formulas(
        self,
        table: Any,
        again: Callable[[], Any],
        threads: int,
        tolerant: bool,
        backend: str = AUTO,
        known: Mapping[str, float] | None = None,
    ) -> tuple[list[Any], Any]:
        """The formulas, and the condition or None, over a table; functions of whole columns have their values.

        `backend`: of the condition, and of what is inside of those functions; `known`: their values, where they have
        been computed, by the texts of the calls. `self.whole` keeps the values.
        """
        ask = self.ask
        everyone = [*self.values.values(), *(part for parts in self.parts.values() for part in parts)]
        calls: dict[str, tuple[str, Any]] = {}
        for session in everyone:
            session.whole_columns(ask.whole, calls)
        inner = [self._given(session) for _, session in calls.values()]
        for session in [*everyone, *inner, *([self.where] if self.where else [])]:
            session.name_columns(table.quoted())
        where = RowFormula(table, self.where, "where", ()) if self.where is not None else None
        of_columns = {text: (name, RowFormula(table, inside, text, ())) for text, (name, inside) in calls.items()}
        for formula in [*(one for _, one in of_columns.values()), *([where] if where else [])]:
            formula.begin(lambda: backend, threads, tolerant)
        if calls:
            self.whole = dict(known) if known else aggregates(again, of_columns, where, tolerant)
            for text, value in self.whole.items():
                for session in everyone:
                    session.names[text] = session.numbers[text] = value
        found = [
            RowFormula(
                table,
                session,
                title,
                ask.wrt,
                ask.uncertain,
                self.parts.get(title, ()),
                ask.full,
                ask.named,
                ask.jacobian,
            )
            for title, session in self.values.items()
        ]
        return found, where


@dataclass(slots=True)
class Output:
    """What the options say of the output, and of how it is computed."""

    path: str | None
    to: str | None
    as_json: bool
    precision: int | None
    kept: list[str]
    backend: str
    threads: int
    tolerant: bool

    def require_text(self, form: str) -> None:
        """Refuse --precision for forms that hold numbers in full. Raises click.UsageError."""
        if self.precision is not None and form in BINARY:
            raise click.UsageError(f"--precision applies to text, and {self.path or form} holds numbers in full")
