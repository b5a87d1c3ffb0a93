"""The derivatives that `agrad eval` can be asked for: which, by what, and how they are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from agrad.cli.arguments.expression import binding, listed, named_completions, noted, require_one, wrt_option
from agrad.cli.output.text import Answer
from agrad.engine.autodiff.backward import backward
from agrad.engine.autodiff.transforms import jacobian, jvp, vjp
from agrad.engine.core.graph import reachable
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.errors import AgradError
from agrad.engine.values import Value, format_shape, size_of, spread
from agrad.grammar.diagnostics import Span
from agrad.grammar.results import Result
from agrad.grammar.runtime.operations import as_array
from agrad.grammar.session.session import Session

_OPTIONS = ("--order", "--jacobian", "--hessian", "--jvp", "--vjp")


def derivative_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the options that say which derivatives are wanted. `wanted` takes their values."""
    options = [
        wrt_option("Names to differentiate by, with commas between."),
        click.option("--order", type=click.IntRange(min=1), metavar="N", help="All derivatives up to the Nth."),
        click.option("--jacobian", is_flag=True, help="The derivatives of every entry, where EXPR is an array."),
        click.option("--hessian", is_flag=True, help="The gradient, and the second derivatives as a matrix."),
        click.option(
            "--jvp",
            multiple=True,
            metavar="NAME=VALUE",
            shell_complete=named_completions,
            help="The derivative in a direction, given for each name.",
        ),
        click.option("--vjp", metavar="VALUE", help="VALUE times the derivatives of every entry of an array."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


class Wanted:
    """Which derivatives are asked for: their `kind` as an Answer has it, and the names that they are by."""

    __slots__ = ("directions", "kind", "names", "order", "seed")

    def __init__(self, kind: str, names: list[str], order: int, directions: dict[str, str], seed: str) -> None:
        self.kind = kind
        self.names = names
        self.order = order
        self.directions = directions  # texts of values, by their names
        self.seed = seed

    def words(self) -> list[str]:
        """The options as they would be typed again."""
        by = ["--wrt", ",".join(self.names)] if self.names and self.kind != "jvp" else []
        own: dict[str, list[str]] = {
            "order": ["--order", str(self.order)],
            "jvp": [word for name, text in self.directions.items() for word in ("--jvp", f"{name}={text}")],
            "vjp": ["--vjp", self.seed],
        }
        return by + own.get(self.kind, [f"--{self.kind}"] if self.kind in ("jacobian", "hessian") else [])

    def answer(
        self, session: Calculation, value: Any, leaves: dict[str, Tensor], emit: Callable[[Result], None]
    ) -> Answer:
        """The value with its derivatives by the leaves. Raises AgradError."""
        if not self.kind:
            return Answer(value)
        if self.kind in ("grad", "order", "hessian"):
            _require_number(value)
        graph = as_array(value)
        graph = graph if isinstance(graph, Tensor) else tensor(graph)
        given = {word: self._given(session, word, text) for word, text in self._texts()}
        found = session.derive(lambda: self._derived(graph, leaves, given), graph, emit)
        used = _used(graph, leaves)
        return Answer(value, self.kind, found, [name for name in leaves if name not in used])

    def _texts(self) -> Iterator[tuple[str, str]]:
        """The values that belong to the question: each direction by its name, or the seed of --vjp."""
        yield from self.directions.items() if self.kind == "jvp" else [("", self.seed)] if self.kind == "vjp" else ()

    def _given(self, session: Session, name: str, text: str) -> Any:
        with noted(f"--jvp {name}={text}" if name else f"--vjp {text}"):
            return session.evaluate(text)

    def _derived(self, value: Tensor, leaves: dict[str, Tensor], given: dict[str, Any]) -> dict[tuple[str, ...], Value]:
        if self.kind == "grad":
            return _gradient(value, leaves)
        if self.kind not in ("jvp", "vjp"):
            return _orders(value, leaves, self.order)
        used = _used(value, leaves)
        xs = list(used.values())
        if self.kind == "jvp":
            return {(): jvp(value, xs, [given[name] for name in used]).value if used else spread(0.0, value.shape)}
        found = dict(zip(used, vjp(value, xs, given[""]) if used else (), strict=True))
        return {
            (name,): found[name].value if name in found else spread(0.0, leaf.shape) for name, leaf in leaves.items()
        }


class Calculation(Session):
    """A session that is asked for derivatives as well."""

    def derive(self, action: Callable[[], Any], value: Tensor, emit: Callable[[Result], None]) -> Any:
        """Do something about a value as one statement: all of it or nothing, in the time that there is.

        Of the notes the first is heard: what a first derivative that is inf does to the second needs no other.
        """
        origin = value.node.origin
        return self._guarded(action, origin if isinstance(origin, Span) else None, _first(emit))


def _first(emit: Callable[[Result], None]) -> Callable[[Result], None]:
    """What hands on one result only."""
    waiting = iter([emit])
    return lambda result: next(waiting, _unheard)(result)


def _unheard(result: Result) -> None:
    """Where the results behind the first go."""


def wanted(
    wrt: Sequence[str], order: int | None, jacobian: bool, hessian: bool, jvp: Sequence[str], vjp: str | None
) -> Wanted:
    """What the options ask for. Raises click.UsageError for what does not go together."""
    asked = [word for word, value in zip(_OPTIONS, (order, jacobian, hessian, jvp, vjp), strict=True) if value]
    if len(asked) > 1:
        raise click.UsageError(f"{asked[0]} and {asked[1]} are two questions: ask them one at a time")
    names = listed(wrt)
    directions: dict[str, str] = {}
    for word in jvp:
        require_one("--jvp", word)
        name, text = binding(word)
        if not name:
            raise click.UsageError(
                f"--jvp {word} does not say which name moves: write NAME=VALUE, as in --jvp x={word}"
            )
        if name in directions:
            raise click.UsageError(f"--jvp gives {name} twice")
        directions[name] = text
    if directions and names:
        raise click.UsageError("--jvp says by its names what to differentiate by: leave --wrt out")
    if asked and not names and not directions:
        raise click.UsageError(f"{asked[0]} needs --wrt: the names to differentiate by, as in --wrt x,y")
    kind = asked[0].removeprefix("--") if asked else "grad" if names else ""
    if order == 1:
        kind = "grad"
    return Wanted(kind, names or list(directions), order or (2 if hessian else 1), directions, vjp or "")


def _require_number(value: Any) -> None:
    shape = (len(value),) if isinstance(value, tuple) else value.shape if isinstance(value, Tensor) else ()
    if size_of(shape) != 1:
        raise AgradError(
            "grad", f"only one number has a gradient; this is an array of shape {format_shape(shape)}", array=True
        )


def _gradient(value: Tensor, leaves: dict[str, Tensor]) -> dict[tuple[str, ...], Value]:
    """By a walk that keeps the graph, since a later answer may use a part of it."""
    for leaf in leaves.values():
        leaf.clear_grad()
    if value.requires_grad:
        backward(value, retain_graph=True)
    return {(name,): spread(0.0, leaf.shape) if leaf.grad is None else leaf.grad.value for name, leaf in leaves.items()}


def _used(value: Tensor, leaves: dict[str, Tensor]) -> dict[str, Tensor]:
    """The leaves that a value depends on."""
    behind = reachable(value.node) if value.requires_grad else set()
    return {name: leaf for name, leaf in leaves.items() if leaf.node in behind}


def _orders(value: Tensor, leaves: dict[str, Tensor], order: int) -> dict[tuple[str, ...], Value]:
    """All derivatives up to an order; those that differ only in the order of their names once."""
    names = list(leaves)
    level: dict[tuple[str, ...], Tensor] = {(): value.sum() if order > 1 and value.shape else value}
    found: dict[tuple[str, ...], Value] = {}
    for depth in range(1, order + 1):
        deeper: dict[tuple[str, ...], Tensor] = {}
        for by, part in level.items():
            later = {name: leaves[name] for name in names[names.index(by[-1]) if by else 0 :]}
            used = _used(part, later)
            parts = jacobian(part, list(used.values()), create_graph=depth < order) if used else ()
            rows = dict(zip(used, parts, strict=True))
            for name, leaf in later.items():
                deeper[*by, name] = rows[name] if name in rows else tensor(spread(0.0, part.shape + leaf.shape))
        found |= {by: part.value for by, part in deeper.items()}
        level = deeper
    return found
