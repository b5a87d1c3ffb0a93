"""The options that choose the derivatives, and the request that is made from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from agrad.cli.arguments.expression import listed, named_completions, noted, texts_by_name, wrt_option
from agrad.grammar.session.derivatives import Request
from agrad.grammar.session.session import Session

_WRONG = "--jvp {0} has no name: write NAME=VALUE, as in --jvp x={0}"
_OPTIONS = ("--order", "--jacobian", "--hessian", "--jvp", "--vjp")


def derivative_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the options that choose the derivatives. `wanted` gets their values."""
    options = [
        wrt_option("Names to differentiate with respect to, separated by commas."),
        click.option("--order", type=click.IntRange(min=1), metavar="N", help="All derivatives up to order N."),
        click.option("--jacobian", is_flag=True, help="The Jacobian: the derivatives of every entry of EXPR."),
        click.option("--hessian", is_flag=True, help="The gradient, and the matrix of second derivatives."),
        click.option(
            "--jvp",
            multiple=True,
            metavar="NAME=VALUE",
            shell_complete=named_completions,
            help="The directional derivative, in forward mode; VALUE is the direction for NAME.",
        ),
        click.option("--vjp", metavar="VALUE", help="The product of VALUE and the Jacobian of EXPR, in reverse mode."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


class Wanted:
    """The options: the kind of the derivatives, the names to differentiate by, and the texts of values."""

    __slots__ = ("directions", "kind", "names", "order", "seed")

    def __init__(self, kind: str, names: list[str], order: int, directions: dict[str, str], seed: str) -> None:
        self.kind = kind
        self.names = names
        self.order = order
        self.directions = directions  # of --jvp: the text of a value for each name
        self.seed = seed  # the text after --vjp

    def words(self) -> list[str]:
        """The options as they would be typed again."""
        by = ["--wrt", ",".join(self.names)] if self.names and self.kind != "jvp" else []
        own: dict[str, list[str]] = {
            "order": ["--order", str(self.order)],
            "jvp": [word for name, text in self.directions.items() for word in ("--jvp", f"{name}={text}")],
            "vjp": ["--vjp", self.seed],
        }
        return by + own.get(self.kind, [f"--{self.kind}"] if self.kind in ("jacobian", "hessian") else [])

    def request(self, session: Session) -> Request:
        """The same with the values of its texts. Raises AgradError."""
        directions, seed = {}, None
        for name, text in self.directions.items():
            with noted(f"--jvp {name}={text}"):
                directions[name] = session.evaluate(text)
        if self.kind == "vjp":
            with noted(f"--vjp {self.seed}"):
                seed = session.evaluate(self.seed)
        return Request(self.kind, self.names, self.order, directions, seed)


def wanted(
    wrt: Sequence[str], order: int | None, jacobian: bool, hessian: bool, jvp: Sequence[str], vjp: str | None
) -> Wanted:
    """The request of the options. Raises click.UsageError for options that exclude each other."""
    asked = [word for word, value in zip(_OPTIONS, (order, jacobian, hessian, jvp, vjp), strict=True) if value]
    if len(asked) > 1:
        raise click.UsageError(f"{asked[0]} and {asked[1]} cannot be combined: use one at a time")
    names = listed(wrt)
    directions = texts_by_name("--jvp", jvp, _WRONG)
    if directions and names:
        raise click.UsageError("--jvp names what to differentiate with respect to: leave --wrt out")
    if asked and not names and not directions:
        raise click.UsageError(f"{asked[0]} needs --wrt: the names to differentiate by, as in --wrt x,y")
    kind = asked[0].removeprefix("--") if asked else "grad" if names else ""
    if order == 1:
        kind = "grad"
    return Wanted(kind, names or list(directions), order or (2 if hessian else 1), directions, vjp or "")
