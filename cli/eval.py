"""`agrad eval`: one expression, its value, and its gradient by the names one asks for."""

from __future__ import annotations

from collections.abc import Callable

import click

from agrad.cli.command import precision_option
from agrad.cli.formula import FormulaCommand, formula, listed
from agrad.cli.render import Printer, answer, answer_json, note
from agrad.engine.errors import AgradError
from agrad.engine.tensor import Tensor
from agrad.engine.values import Value, format_shape, spread
from agrad.grammar.results import Result
from agrad.grammar.session import Session


@click.command("eval", cls=FormulaCommand)
@click.argument("words", nargs=-1, metavar="EXPR [NAME=VALUE]...")
@click.option("--wrt", multiple=True, metavar="NAME,...", help="Names to differentiate by, with commas between.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, numbers in full.")
@click.option("-q", "--quiet", "bare", is_flag=True, help="Bare numbers: no labels, no notes.")
@precision_option
def command(words: tuple[str, ...], wrt: tuple[str, ...], as_json: bool, bare: bool, precision: int | None) -> None:
    """Compute EXPR, and its gradient by the names in --wrt.

    EXPR is an expression of the language, or - to read it from standard input. A VALUE is an expression too.

    \b
    agrad eval "a**2*2" a=3 --wrt a
    agrad eval "sum(x**2)" "x=[1, 2, 3]" --wrt x --json
    """
    names = listed(wrt)
    wanted = formula("eval", words, ["--wrt", ",".join(names)] if names else [])
    text = wanted.text()
    session = Session()
    session.settings.precision = precision
    with wanted.advised():
        leaves = wanted.bind(session, names)
        value = session.evaluate(text)
        gradient = _gradient(session, value, leaves, (lambda result: None) if bare else Printer(session.settings))
    unreached = [name for name, leaf in leaves.items() if leaf.grad is None]
    for name in unreached if not bare else ():
        note(f"{text} does not depend on {name}: the derivative is 0")
    if as_json:
        click.echo(answer_json(value, gradient if names else None))
    else:
        click.echo("\n".join(answer(value, gradient, session.settings, bare)))


def _gradient(
    session: Session, value: object, leaves: dict[str, Tensor], emit: Callable[[Result], None]
) -> dict[str, Value]:
    """The derivative by each leaf: 0 where the value does not depend on it."""
    if leaves and isinstance(value, Tensor) and value.requires_grad:
        if value.size != 1:
            shape = format_shape(value.shape)
            raise AgradError("grad", f"only one number has a gradient; this is an array of shape {shape}", array=True)
        session.backward(value, emit)
    return {
        name: leaf.grad.value if leaf.grad is not None else spread(0.0, leaf.shape) for name, leaf in leaves.items()
    }
