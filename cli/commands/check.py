"""`agrad check`: exact derivatives compared with differences, and with claims."""

from __future__ import annotations

import click

from agrad.cli import arguments
from agrad.cli.arguments import Limits, Options, declared, expression, group, many
from agrad.cli.main import limited
from agrad.cli.output import note, printer
from agrad.cli.terminal import narrow
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, UnknownName
from agrad.grammar.commands.gradients import claimed_value
from agrad.grammar.session.session import Session

_WRONG = "--claim {0} has no name: write NAME=EXPR, as in --claim x={0}"


class Asked(Options):
    """What `agrad check` takes."""

    words: tuple[str, ...] = expression.words_argument("EXPR NAME=VALUE...")
    wrt: tuple[str, ...] = expression.wrt_option("Names to differentiate with respect to; the default is all.")
    claims: tuple[str, ...] = many("--claim", "NAME=EXPR", "A derivative with respect to NAME, to be checked as well.")
    as_json: bool = arguments.json_option
    precision: int | None = arguments.precision_option()
    limits: Limits = group(Limits)


@declared("check", expression.FormulaCommand, Asked)
def command(asked: Asked) -> None:
    """Compare exact derivatives with finite differences.

    Checks the derivatives of EXPR with respect to all names, or those in --wrt, with a line for each entry. A --claim
    is an expression for the derivative with respect to one name, to be compared with the exact derivative; there may be
    several. The exit code is 1 if anything disagrees. At a kink, where there is no derivative, nothing is compared.

    \b
    agrad check "x**2*sin(y)" x=2 y=3
    agrad check "x**2" x=1e5 --claim "x=2*x"
    """
    asserted = expression.texts_by_name("--claim", asked.claims, wrong=_WRONG)
    names = expression.listed(asked.wrt)
    wanted = expression.formula(asked.words)
    if not wanted.given:
        raise click.UsageError("a NAME=VALUE to differentiate by is missing")
    session = limited(Session, asked.limits, asked.as_json)
    session.settings.precision, session.settings.width = asked.precision, narrow()
    with wanted.advised():
        text = wanted.text()
        if names:
            names += [name for name in asserted if name in wanted.given and name not in names]
        leaves = wanted.bind(session, names or None)
        for remark in wanted.remarks:
            note(remark)
        values = _values(session, asserted, leaves)
        show = printer(session.settings, "json" if asked.as_json else "text")
        session.check(text, list(leaves.values()), values, show)


def _values(session: Session, claims: dict[str, str], leaves: dict[str, Tensor]) -> list[Tensor | None]:
    """The claimed derivative at the point, for each leaf; None where nothing is claimed."""
    values: dict[str, Tensor] = {}
    for name, text in claims.items():
        if name not in leaves:
            raise AgradError("name", f"{name}, in --claim, has no value", facts=UnknownName(name))
        with expression.noted(f"--claim {name}={text}"):
            values[name] = claimed_value(session, text, leaves[name])
    return [values.get(name) for name in leaves]
