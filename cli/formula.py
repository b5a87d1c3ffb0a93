"""What `eval` and `check` have in common: an expression on the command line, and values for its names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import click

from agrad.cli.command import Command, read_text
from agrad.engine.errors import AgradError
from agrad.engine.tensor import Tensor, tensor
from agrad.grammar.parser import RESERVED
from agrad.grammar.session import Session

_BINDING = re.compile(r"\s*([^\W\d]\w*)\s*=(?!=)(.*)", re.DOTALL)


class FormulaCommand(Command):
    """An expression may begin with a minus: `-2+x` and `-q*2` are no options, `--jsno` and `-q` are."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put what begins with one minus, and is no option, behind the `--` that click asks for."""
        options = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        end = args.index("--") if "--" in args else len(args)
        formulas = [word for word in args[:end] if re.match("-[^-]", word) and word not in options]
        others = [word for word in args[:end] if word not in formulas]
        return super().parse_args(ctx, [*others, "--", *formulas, *args[end + 1 :]])


class Formula:
    """The words behind a command: its expression, and the text of each value by its name.

    `options` are repeated, as they were typed, in advice. (No dataclass: making one would double the time that this
    file takes to load, at every start.)
    """

    __slots__ = ("command", "expression", "given", "options")

    def __init__(self, command: str, expression: str, given: dict[str, str], options: Sequence[str]) -> None:
        self.command = command
        self.expression = expression
        self.given = given
        self.options = options

    def text(self) -> str:
        """The expression; for `-`, what standard input says. Raises AgradError of kind `file`."""
        return read_text("-").strip() if self.expression == "-" else self.expression

    def bind(self, session: Session, wrt: Sequence[str] | None) -> dict[str, Tensor]:
        """Give the session its names, numbers as leaves; those to differentiate by, in the order of `wrt` (None: all).

        What is computed from names before it is a leaf only if it is asked for. Raises AgradError.
        """
        for name, text in self.given.items():
            if name in RESERVED:
                notes = [f"in {name}={text}"]
                raise AgradError("syntax", f"{name} is a word of agrad; choose another name", notes=notes)
            with noted(f"{name}={text}"):
                value = session.evaluate(text)
                number = isinstance(value, float | Tensor)
                computed = isinstance(value, Tensor) and value.requires_grad  # from names before it
                leaf = number if wrt is None else name in wrt or (number and not computed)
                session.names[name] = _leaf(value, name) if leaf else value
        if wrt is None:
            wrt = [name for name in self.given if isinstance(session.names[name], Tensor)]
        for name in wrt:
            if name not in self.given:
                raise AgradError("name", f"{name}, which --wrt asks for, has no value", name=name)
        return {name: session.names[name] for name in wrt}

    @contextmanager
    def advised(self) -> Iterator[None]:
        """Put the fix of an error inside in the words of the command line, where there is one that can be typed."""
        try:
            yield
        except AgradError as problem:
            name = problem.facts.get("name")
            if problem.kind == "name" and isinstance(name, str) and not problem.facts.get("close"):
                if name in self.given:
                    problem.fixes = [f"put {name}={self.given[name]} before what needs it"]
                    raise
                values = [f"{known}={text}" for known, text in self.given.items()]
                problem.fixes = [f"give it one: {self.typed([self.expression, *values, f'{name}=1', *self.options])}"]
            elif problem.facts.get("array"):
                problem.fixes = [f"add its entries up: {self.typed([f'sum({self.expression})'])} …"]
            raise

    def typed(self, words: Iterable[str]) -> str:
        """A command line with these words."""
        return " ".join(["agrad", self.command, *map(_quoted, words)])


def formula(command: str, words: Sequence[str], options: Sequence[str]) -> Formula:
    """Tell the one expression among the words from the values. Raises click.UsageError."""
    given: dict[str, str] = {}
    expressions = []
    for word in words:
        name, text = binding(word)
        if not name:
            expressions.append(word)
        elif name in given:
            raise click.UsageError(f"{name} is given twice")
        else:
            given[name] = text
    if not expressions:
        raise click.UsageError("the expression is missing")
    found = Formula(command, expressions[0], given, options)
    if len(expressions) > 1:
        advice = found.typed([" ".join(expressions)])
        raise click.UsageError(f"one expression at a time; if this is one, quote it: {advice}")
    return found


def binding(word: str) -> tuple[str, str]:
    """The two sides of NAME=TEXT; no name for a word that is none."""
    found = _BINDING.fullmatch(word)
    return (found[1], found[2]) if found else ("", word)


def listed(options: Sequence[str]) -> list[str]:
    """The names in options such as --wrt x,y, each once. Raises click.UsageError for what is no name."""
    names = [name for option in options for name in re.split(r"[,\s]+", option) if name]
    for name in names:
        if not name.isidentifier():
            raise click.UsageError(f"--wrt takes names, with commas between, and {name} is none")
    return list(dict.fromkeys(names))


@contextmanager
def noted(word: str) -> Iterator[None]:
    """Say of an error inside which word of the command line it is in."""
    try:
        yield
    except AgradError as problem:
        problem.notes.append(f"in {word}")
        raise


def _leaf(value: object, name: str) -> Tensor:
    leaf = tensor(value, requires_grad=True)
    leaf.name = name
    return leaf


def _quoted(word: str) -> str:
    """A word as a shell takes it, in double quotes where it needs any and they do."""
    if re.fullmatch(r"[\w.,=+:/-]+", word):
        return word
    if not re.search(r'["$`\\!]', word):
        return f'"{word}"'
    from shlex import quote  # here, since errors alone need it

    return quote(word)
