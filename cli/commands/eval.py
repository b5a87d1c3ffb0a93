"""`agrad eval`: an expression, its value, and its derivatives by the given names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import click

import agrad
from agrad.cli import arguments
from agrad.cli.arguments import Limits, Options, count, declared, expression, file_option, flag, group, many, option
from agrad.cli.main import Wrong, again, limited, read_text, shown_name
from agrad.cli.output import Printer, answer, as_read, as_shown, note, printer, settle_mark
from agrad.engine.errors import AgradError
from agrad.grammar.results import Answer, Estimated, Noted, Quit, Result, Shown, unheard
from agrad.grammar.session.inputs import Request, derive
from agrad.grammar.session.session import Session

_WRONG = "--jvp {0} has no name: write NAME=VALUE, as in --jvp x={0}"


class Derivatives(Options):
    """Which derivatives are computed. `settle` finds their `kind`, and the `names` to differentiate by."""

    wrt: tuple[str, ...] = expression.wrt_option("Names to differentiate with respect to, separated by commas.")
    order: int | None = count("--order", "N", "All derivatives up to order N.")
    jacobian: bool = flag("--jacobian", "The Jacobian: the derivatives of every entry of EXPR.")
    hessian: bool = flag("--hessian", "The gradient, and the matrix of second derivatives.")
    jvp: tuple[str, ...] = many(
        "--jvp",
        "NAME=VALUE",
        "The directional derivative, in forward mode; VALUE is the direction for NAME.",
        shell_complete=expression.named_completions,
    )
    vjp: str | None = option("--vjp", "VALUE", "The product of VALUE and the Jacobian of EXPR, in reverse mode.")

    def settle(self) -> None:
        """Find what is asked for. Raises click.UsageError for options that exclude each other."""
        asked = [f"--{name}" for name, value in vars(self).items() if value and name != "wrt"]
        if len(asked) > 1:
            raise click.UsageError(f"{asked[0]} and {asked[1]} cannot be combined: use one at a time")
        names = expression.listed(self.wrt)
        self.directions = expression.texts_by_name("--jvp", self.jvp, wrong=_WRONG)  # the text of a value for each name
        if self.directions and names:
            raise click.UsageError("--jvp names what to differentiate with respect to: leave --wrt out")
        if asked and not names and not self.directions:
            given = [name for word in arguments.Line.typed().words if (name := arguments.binding(word)[0])]
            fixes = [again("--wrt", ",".join(given))] if given else []
            raise Wrong(f"{asked[0]} needs --wrt: the names to differentiate by, as in --wrt x,y", *fixes)
        self.kind = asked[0].removeprefix("--") if asked and self.order != 1 else "grad" if names else ""
        self.names = names or list(self.directions)

    def request(self, session: Session) -> Request:
        """The same with the values of its texts. Raises AgradError."""
        directions, seed = {}, None
        for name, text in self.directions.items():
            with expression.noted(f"--jvp {name}={text}"):
                directions[name] = session.evaluate(text)
        if self.vjp:
            with expression.noted(f"--vjp {self.vjp}"):
                seed = session.evaluate(self.vjp)
        order = self.order or (2 if self.hessian else 1)
        return Request(self.kind, self.names, order, directions, seed)


class Asked(Options):
    """What `agrad eval` takes."""

    words: tuple[str, ...] = expression.words_argument("EXPR [NAME=VALUE]...")
    expressions: tuple[str, ...] = many("-e", "EXPR", "An expression or statement, instead of EXPR; may be repeated.")
    file: str | None = file_option("-f", "A file of statements, instead of EXPR.")
    derivatives: Derivatives = group(Derivatives)
    form: str = option(
        "--format",
        ("text", "json", "csv", "latex", "siunitx"),
        "How to print results; json: one object per line, with numbers in full; siunitx: LaTeX with \\qty.",
        default="text",
    )
    as_json: bool = flag("--json", "The same as --format json.")
    bare: bool = flag("-q --quiet", "Print numbers only: no labels, no notes.")
    is_budget: bool = flag("--budget", "Show what each uncertain value, as x=2+/-0.1, contributes.")
    drawn: str | None = file_option("--graph", "Also draw the graph to FILE.")
    precision: int | None = arguments.precision_option()
    files: bool = arguments.files_option
    limits: Limits = group(Limits)


@declared("eval", expression.FormulaCommand, Asked)
def command(asked: Asked) -> None:
    """Compute EXPR, and its derivatives with respect to the names in --wrt.

    EXPR is an expression of the language, or - to read it from standard input. A VALUE is an expression, or a file:
    @x.npy, @data.csv, @data.csv:speed for one column, or @- for standard input. -e and -f may also contain statements,
    which define names for what follows, and leaves for --wrt, as in -e "var x = 2". Each -e that has a value prints it.

    \b
    agrad eval "a**2*2" a=3 --wrt a
    agrad eval "sum(x**2)" "x=[1, 2, 3]" --wrt x --json
    agrad eval -e "y = sin(x)" -e "y*exp(y)" x=0 --wrt x --order 2
    agrad eval "[x*y, x + y]" x=2 y=3 --wrt x,y --jacobian
    agrad eval "m*9.81*h" m=2+/-0.1 h=3+/-0.05 --budget
    """
    form, bare = _form(asked), asked.bare
    settle_mark()
    request = asked.derivatives
    request.settle()
    what = expression.formula(asked.words, _instead(asked.expressions, asked.file))
    if asked.drawn is not None and not asked.files:
        raise click.UsageError("--graph writes a file, which --no-files does not allow")
    draw = agrad.cli.commands.graph.writer(asked.drawn) if asked.drawn is not None else None
    session = limited(Session, asked.limits, form == "json")
    session.context.files.on = asked.files
    session.settings.precision = asked.precision
    emit = printer(session.settings, form)
    with what.advised():
        given = what.bind(session, request.names, [*request.directions.values(), request.vjp or ""])
        for remark in what.remarks if not bare else ():
            note(remark)
        hear = unheard if bare or request.names else emit  # with derivatives, a note on these says as much
        for text, value in _values(session, what, emit, hear):
            if draw is not None:
                draw(value, text, asked.precision)
            leaves = what.leaves(session, request.names, given)
            if asked.is_budget:
                emit(Estimated(session.all_at_once(partial(agrad.engine.inspect.budget.budget, value)), form))
                continue
            found = derive(session, value, leaves, request.request(session), unheard if bare else emit)
            for name in found.unreached if not bare else ():
                note(f"{text} does not depend on {name}: the derivative is 0")
            _show(found, session, form, bare, text, list(what.given))


def _form(asked: Asked) -> str:
    """The form that --format and --json give, with the precision that it has. Raises click.UsageError."""
    form = "json" if asked.as_json else asked.form
    if asked.as_json and asked.form not in ("text", "json"):
        raise click.UsageError(f"--json and --format {asked.form} are two forms: use one of them")
    if asked.bare and form != "text":
        raise click.UsageError(f"-q applies to text: leave it out, since --format {form} has no labels and notes")
    if form == "csv" and arguments.is_usual("precision"):
        asked.precision = None
    return form


def _instead(expressions: Sequence[str], file: str | None) -> list[str]:
    """The words of -e and -f, which replace the one expression. Raises click.UsageError."""
    if file is None:
        return [part for text in expressions for part in ("-e", text)]
    if expressions:
        raise click.UsageError("-e and -f both say what to compute: use one of them")
    return ["-f", file]


def _values(
    session: Session, what: expression.Formula, emit: Printer, hear: Callable[[Result], None]
) -> Iterator[tuple[str, Any]]:
    """Each text with its value: the one expression; or each -e, or the file, with the last value that it shows."""
    if len(what.words) == 1:
        text = what.text()
        yield text, session.evaluate(text, emit=hear)
        return
    found = False
    for letter, word in zip(what.words[::2], what.words[1::2], strict=True):
        of_file = letter == "-f"
        text = read_text(word) if of_file else as_read(word, True)
        last: list[Shown] = []

        def hold(result: Result, last: list[Shown] = last) -> None:
            """Print what was held back, since it was not the last."""
            if not isinstance(result, Noted):
                while last:
                    emit(last.pop())
            if isinstance(result, Shown):
                last.append(result)
            else:
                emit(result)

        with suppress(Quit):
            session.run(text, hold, source=shown_name(word) if of_file else "expression", is_file=of_file)
        for shown in last:
            found = True
            yield word, shown.value
    if not found:
        raise AgradError("type", "there is no value to show: the last thing to compute must be an expression")


def _show(found: Answer, session: Session, form: str, bare: bool, text: str, symbols: Sequence[str]) -> None:
    """Print an answer in a form; in LaTeX with the formula of the text, in which some names are symbols."""
    settings = session.settings
    if form == "text":
        click.echo(as_shown("\n".join(answer(found, settings, bare))))
    elif form == "json":
        click.echo(agrad.cli.output.structured.answer_line(found, settings))
    elif form == "csv":
        click.echo(agrad.cli.output.structured.answer_table(found, settings.precision))
    else:
        written = partial(agrad.grammar.session.formulas.in_latex, session.machine, session.names, text, symbols)
        lines = agrad.cli.output.structured.answer_latex(found, settings.precision, written, form == "siunitx")
        click.echo("\n".join(lines))
