"""`agrad eval`: one expression, its value, and its gradient by the names one asks for."""

from __future__ import annotations

import re
from collections.abc import Callable

import click

from agrad.cli.command import Command, precision_option, read_text
from agrad.cli.render import Printer, answer, answer_json, note
from agrad.engine.errors import AgradError
from agrad.engine.tensor import Tensor, tensor
from agrad.engine.values import Value, format_shape, spread
from agrad.grammar.parser import RESERVED
from agrad.grammar.results import Result
from agrad.grammar.session import Session

_BINDING = re.compile(r"\s*([^\W\d]\w*)\s*=(?!=)(.*)", re.DOTALL)


class Eval(Command):
    """An expression may begin with a minus: `-2+x` and `-q*2` are no options, `--jsno` and `-q` are."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put what begins with one minus, and is no option, behind the `--` that click asks for."""
        options = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        end = args.index("--") if "--" in args else len(args)
        formulas = [word for word in args[:end] if re.match("-[^-]", word) and word not in options]
        others = [word for word in args[:end] if word not in formulas]
        return super().parse_args(ctx, [*others, "--", *formulas, *args[end + 1 :]])


@click.command("eval", cls=Eval)
@click.argument("words", nargs=-1, metavar="EXPR [NAME=VALUE]...")
@click.option("--wrt", default="", metavar="NAME,...", help="Names to differentiate by, with commas between.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, numbers in full.")
@click.option("-q", "--quiet", "bare", is_flag=True, help="Bare numbers: no labels, no notes.")
@precision_option
def command(words: tuple[str, ...], wrt: str, as_json: bool, bare: bool, precision: int | None) -> None:
    """Compute EXPR, and its gradient by the names in --wrt.

    EXPR is an expression of the language, or - to read it from standard input. A VALUE is an expression too.

    \b
    agrad eval "a**2*2" a=3 --wrt a
    agrad eval "sum(x**2)" "x=[1, 2, 3]" --wrt x --json
    """
    names = list(dict.fromkeys(name.strip() for name in wrt.split(",") if name.strip()))
    expression, given = _sort(words)
    text = read_text("-").strip() if expression == "-" else expression
    session = Session()
    session.settings.precision = precision
    try:
        leaves = _bind(session, given, names)
        value = session.evaluate(text)
        gradient = _gradient(session, value, leaves, (lambda result: None) if bare else Printer(session.settings))
    except AgradError as problem:
        _advise(problem, expression, given, wrt)
        raise
    unreached = [name for name, leaf in leaves.items() if leaf.grad is None]
    for name in unreached if not bare else ():
        note(f"{text} does not depend on {name}: the derivative is 0")
    if as_json:
        click.echo(answer_json(value, gradient if names else None))
    else:
        click.echo("\n".join(answer(value, gradient, session.settings, bare)))


def _sort(words: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """The one expression, and the text of each value by its name."""
    given: dict[str, str] = {}
    expressions = []
    for word in words:
        binding = _BINDING.fullmatch(word)
        if binding is None:
            expressions.append(word)
        elif binding[1] in given:
            raise click.UsageError(f"{binding[1]} is given twice")
        else:
            given[binding[1]] = binding[2]
    if not expressions:
        raise click.UsageError("the expression is missing")
    if len(expressions) > 1:
        whole = " ".join(expressions)
        raise click.UsageError(f"one expression at a time; if this is one, quote it: agrad eval {_quoted(whole)}")
    return expressions[0], given


def _bind(session: Session, given: dict[str, str], wrt: list[str]) -> dict[str, Tensor]:
    """Give the session its names, those to differentiate by as leaves; these, in the order of `wrt`."""
    for name, text in given.items():
        if name in RESERVED:
            raise AgradError("syntax", f"{name} is a word of agrad; choose another name", notes=[f"in {name}={text}"])
        try:
            value = session.evaluate(text)
            session.names[name] = _leaf(value, name) if name in wrt else value
        except AgradError as problem:
            problem.notes.append(f"in {name}={text}")
            raise
    for name in wrt:
        if name not in given:
            raise AgradError("name", f"{name}, which --wrt asks for, has no value", name=name)
    return {name: session.names[name] for name in wrt}


def _leaf(value: object, name: str) -> Tensor:
    leaf = tensor(value, requires_grad=True)
    leaf.name = name
    return leaf


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


def _advise(problem: AgradError, expression: str, given: dict[str, str], wrt: str) -> None:
    """Put the fix in the words of the command line, where there is one that can be typed."""
    name = problem.facts.get("name")
    if problem.kind == "name" and isinstance(name, str) and not problem.facts.get("close"):
        values = [f"{known}={text}" for known, text in given.items()]
        option = ["--wrt", wrt] if wrt else []
        words = " ".join(map(_quoted, [expression, *values, f"{name}=1", *option]))
        problem.fixes[:] = [f"give it one: agrad eval {words}"]
    elif problem.facts.get("array"):
        problem.fixes.append(f"add its entries up: agrad eval {_quoted(f'sum({expression})')} …")


def _quoted(word: str) -> str:
    """A word as a shell takes it, in double quotes where it needs any and they do."""
    if re.fullmatch(r"[\w.,=+:/-]+", word):
        return word
    if not re.search(r'["$`\\!]', word):
        return f'"{word}"'
    from shlex import quote  # here, since errors alone need it

    return quote(word)
