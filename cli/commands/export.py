"""`agrad export`: an expression with its derivatives as source code of another language."""

from __future__ import annotations

from os.path import splitext

import click

import agrad
from agrad.cli.arguments import Limits, Options, declared, file_option, flag, group, option
from agrad.cli.arguments.expression import FormulaCommand, formula, listed, words_argument, wrt_option
from agrad.cli.main import limited, write_text
from agrad.engine.text import printable
from agrad.grammar.session.session import Session

_LANGUAGES = ("c", "js", "py", "ag", "tex")


class Asked(Options):
    """What `agrad export` takes."""

    words: tuple[str, ...] = words_argument("EXPR [NAME=VALUE]...")
    wrt: tuple[str, ...] = wrt_option("Names to differentiate with respect to; the default is all without a value.")
    language: str | None = option("--to", _LANGUAGES, "The language: C99, JavaScript, Python, agrad's, or LaTeX.")
    hessian: bool = flag("--hessian", "Also the second derivatives.")
    name: str = option("--name", "NAME", "The name of the function.", default="f")
    path: str = file_option("-o", "Write to FILE.", default="-")
    limits: Limits = group(Limits)


@declared("export", FormulaCommand, Asked)
def command(asked: Asked) -> None:
    """Write EXPR and its gradient as a function in C, JavaScript or Python, or as formulas.

    The function needs no agrad. Its arguments are the names in EXPR that have no value, which are numbers, and those in
    --wrt; a VALUE of one of these gives its shape only, as in "w=[0, 0, 0]". Other values become constants.

    \b
    In C           double f(double x, const double *w, double grad[4])
    In JavaScript  f(x, w) returns {value, grad: [dx, [dw0, dw1, dw2]]}
    In Python      f(x, w) returns value, (dx, [dw0, dw1, dw2])

    In agrad       f(x, w) returns value, (dx, [dw0, dw1, dw2]); in LaTeX, an equation for each

    Where EXPR is an array, so is the value, and grad has the derivatives of each of its entries: the Jacobian. In C,
    both are written where the last arguments say, which must not overlap the others.

    A function has at most 20,000 instructions. `if` is allowed where all its paths can be found.

    With --hessian there is also hess: in C row by row, elsewhere a list of rows. The language is that of --to, or of
    the extension of FILE.

    \b
    agrad export "x**2*sin(x)" --to c
    agrad export "a*exp(-b*t)" --wrt a,b --hessian -o model.py
    agrad export "sum(w**2)*x" "w=[0, 0, 0]" --wrt w,x --to js --name loss
    agrad export "[r*cos(t), r*sin(t)]" --to c
    """
    names, path = listed(asked.wrt), asked.path
    what = formula(asked.words)
    found = asked.language or splitext(path)[1][1:].lower()
    if found not in _LANGUAGES:
        raise click.UsageError("the language is missing: --to c, js, py, ag or tex")
    session = limited(Session, asked.limits)
    with what.advised():
        what.bind(session, ())
        formulas, order = agrad.grammar.session.formulas, 2 if asked.hessian else 1
        session.names.update({word: formulas.constant(value) for word, value in session.names.items()})
        text = formulas.exported(session, what.text(), names, order, found, asked.name)
        write_text(path, text)
    if path != "-":
        click.echo(f"wrote {printable(path)}")
