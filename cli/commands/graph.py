"""`agrad graph`: the graph of one expression, drawn."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from os.path import splitext
from typing import Any

import click

from agrad.cli import arguments
from agrad.cli.arguments import Limits, Options, count, declared, file_option, flag, group, many, option
from agrad.cli.arguments.expression import FormulaCommand, formula, words_argument
from agrad.cli.main import Wrong, again, limited
from agrad.cli.terminal import folded, shown
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint
from agrad.grammar.commands import graphs
from agrad.grammar.commands.registry import COMMANDS
from agrad.grammar.results import Settings
from agrad.grammar.runtime.operations import describe_value
from agrad.grammar.session.session import Session

_MEANT = {word: f"{option.meaning.capitalize()}." for word, option in COMMANDS["graph"].options.items()}


class Asked(Options):
    """What `agrad graph` takes."""

    words: tuple[str, ...] = words_argument("EXPR [NAME=VALUE]...")
    form: str | None = option(
        "--as", [*graphs.FORMS, *graphs.PICTURES], "The form; the default is text, or the form of the file in -o."
    )
    file: str | None = file_option("-o --output", "Write the graph to FILE.", callback=arguments.file_or_stdout)
    depth: int | None = count("--depth", "N", "Show only the last N operations on each path.", 0)
    gradients: bool = flag("--gradients", _MEANT.get("gradients", ""))
    opened: tuple[str, ...] = many("--open", "NAME", _MEANT.get("open", ""))
    precision: int | None = arguments.precision_option()
    limits: Limits = group(Limits)


@declared("graph", FormulaCommand, Asked)
def command(asked: Asked) -> None:
    """Show the graph of EXPR: its operations, and what they save for the backward pass.

    The names with a VALUE are its leaves. The form of a FILE follows from its extension: .txt, .dot or .gv for
    Graphviz, .mmd or .mermaid for Mermaid, .json, .svg for a picture, with the extra `plot` also .png or .pdf, and
    .html for a page that steps through the graph, forward and backward.

    \b
    agrad graph "a**2*2" a=3
    agrad graph "sin(x)*y" x=2 y=3 --as boxes
    agrad graph "sin(x)*y" x=2 y=3 -o graph.dot
    agrad graph "sin(x)*y" x=2 y=3 -o graph.png
    agrad graph "sin(x)*y" x=2 y=3 -o graph.svg --gradients
    agrad graph "sin(x)*y" x=2 y=3 -o walk.html
    """
    wanted, form, file = formula(asked.words), asked.form, asked.file
    if form is None:
        form = "text" if file is None else form_of_file(file)
    elif file is not None and (told := graphs.told_otherwise(form, file)):
        raise click.UsageError(f"{file} means {told} by its extension, and {form} by --as")
    elif file is None and form in graphs.PICTURES:
        raise Wrong(f"a graph as {form} is written to a file", again("-o", f"graph.{form}"))
    for name in ("gradients", "opened"):
        if getattr(asked, name) and form not in graphs.DRAWN:
            raise Wrong(f"--{name.removesuffix('ed')} is for pictures: svg, png and pdf", again("-o", "graph.svg"))
    session = limited(Session, asked.limits)
    with wanted.advised():
        text = wanted.text()
        wanted.bind(session, None)
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        value = _graphed(session.evaluate(text), text)
        settings = Settings(asked.precision, width)
        picture = asked.opened, asked.gradients
        try:
            drawing = session.all_at_once(
                lambda: graphs.drawn(value, text, form, settings, asked.depth, session, *picture)
            )
        except AgradError as problem:
            problem.fixes = [Hint(re.sub("^open ", "--open ", str(fix))) for fix in problem.fixes]
            raise
    if file is not None:
        graphs.write_graph(file, drawing)
    elif isinstance(drawing, str):
        click.echo(shown(folded(drawing) if form == "text" else drawing))


def writer(path: str) -> Callable[[Any, str, int | None], None]:
    """The function that writes the graph of a value to a file, in the form of its ending. Raises click.UsageError."""
    form = form_of_file(path)

    def write(value: Any, text: str, precision: int | None) -> None:
        graphs.write_graph(path, graphs.drawn(_graphed(value, text), text, form, Settings(precision)))

    return write


def form_of_file(path: str) -> str:
    """The form of a graph that the ending of a file means. Raises click.UsageError if it means none."""
    ending = splitext(path)[1].lower()
    if ending in graphs.ENDINGS:
        return graphs.ENDINGS[ending]
    raise click.UsageError(graphs.extension_unknown(path))


def _graphed(value: Any, text: str) -> Tensor:
    if isinstance(value, Tensor):
        return value
    fixes = [Hint("give a name in it a value: x=2")] if isinstance(value, float) else []
    raise AgradError("grad", f"{text} is {describe_value(value)}, with no graph", fixes=fixes)
