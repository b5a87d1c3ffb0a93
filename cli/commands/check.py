"""`agrad check`: exact derivatives compared with differences, and with claims."""

from __future__ import annotations

import click

from agrad.cli.arguments.expression import (
    FormulaCommand,
    formula,
    listed,
    named_completions,
    noted,
    texts_by_name,
    wrt_option,
)
from agrad.cli.arguments.limits import end_in, limit_memory, memory_option, timeout_option
from agrad.cli.base import json_option, precision_option
from agrad.cli.output import printer
from agrad.cli.output.text import note
from agrad.cli.terminal.terminal import narrow
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, UnknownName
from agrad.engine.values import Value
from agrad.grammar.commands.check import claimed_value
from agrad.grammar.session.session import Session

_WRONG = "--claim {0} has no name: write NAME=EXPR, as in --claim x={0}"


@click.command("check", cls=FormulaCommand)
@click.argument("words", nargs=-1, metavar="EXPR NAME=VALUE...", shell_complete=named_completions)
@wrt_option("Names to differentiate with respect to; the default is all.")
@click.option(
    "--claim",
    "claims",
    multiple=True,
    metavar="NAME=EXPR",
    help="A derivative with respect to NAME, to be checked as well.",
)
@json_option
@precision_option
@timeout_option("a computation")
@memory_option
def command(
    words: tuple[str, ...],
    wrt: tuple[str, ...],
    claims: tuple[str, ...],
    as_json: bool,
    precision: int | None,
    timeout: float | None,
    memory: float | None,
) -> None:
    """Compare exact derivatives with finite differences.

    Checks the derivatives of EXPR with respect to all names, or those in --wrt, with a line for each entry. A --claim
    is an expression for the derivative with respect to one name, to be compared with the exact derivative; there may be
    several. The exit code is 1 if anything disagrees. At a kink, where there is no derivative, nothing is compared.

    \b
    agrad check "x**2*sin(y)" x=2 y=3
    agrad check "x**2" x=1e5 --claim "x=2*x"
    """
    asserted = texts_by_name("--claim", claims, _WRONG)
    names = listed(wrt)
    options = [
        *(["--wrt", ",".join(names)] if names else []),
        *(part for claim in claims for part in ("--claim", claim)),
    ]
    wanted = formula("check", words, options)
    if not wanted.given:
        raise click.UsageError("a NAME=VALUE to differentiate by is missing")
    limit_memory(memory, statements=False)
    session = Session()
    end_in(session, timeout, as_json)
    session.settings.precision, session.settings.width = precision, narrow()
    with wanted.advised():
        text = wanted.text()
        if names:
            names += [name for name in asserted if name in wanted.given and name not in names]
        leaves = wanted.bind(session, names or None)
        for remark in wanted.remarks:
            note(remark)
        values = _values(session, asserted, leaves)
        session.check(text, list(leaves.values()), values, printer(session.settings, "json" if as_json else "text"))


def _values(session: Session, claims: dict[str, str], leaves: dict[str, Tensor]) -> list[Value | None]:
    """The claimed derivative at the point, for each leaf; None where nothing is claimed."""
    values: dict[str, Value] = {}
    for name, text in claims.items():
        if name not in leaves:
            raise AgradError("name", f"{name}, in --claim, has no value", facts=UnknownName(name))
        with noted(f"--claim {name}={text}"):
            values[name] = claimed_value(session, text, leaves[name])
    return [values.get(name) for name in leaves]
