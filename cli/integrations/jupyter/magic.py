"""`%%agrad`: a cell of agrad in a notebook of Python, with arrays of the notebook.

Each cell has a session of its own. So nothing is left, after the cell, that could notice that the notebook writes to an
array, and arrays go in and come back without being copied, wherever their data are what the other side needs.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from agrad.cli.main import advised
from agrad.cli.output import as_text, report
from agrad.cli.settings import find
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.interop.notebook import framed, given, html_of, of_parts, pictures, taken
from agrad.grammar import results
from agrad.grammar.session.inputs import require_free
from agrad.grammar.session.session import Session

_NAME = re.compile(r"[^\W\d]\w*")


class CellError(Exception):
    """A cell that failed: shown as agrad shows errors, with the carets below the lines of the cell."""

    def __init__(self, problem: AgradError) -> None:
        super().__init__(f"error[{problem.kind}]: {problem.message}")
        self.problem = problem

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython shows."""
        return lines_of(self.problem)


def register(shell: Any) -> None:
    """Add the magic to a shell of IPython."""

    def run(line: str, cell: str) -> None:
        run_cell(line, cell, shell)

    run.__doc__ = agrad.__doc__  # with the options
    shell.register_magic_function(run, "cell", "agrad")


@magic_arguments()
@argument("-i", "--input", action="append", default=[], metavar="NAMES", help="Names of the notebook: -i a,b")
@argument("-o", "--output", action="append", default=[], metavar="NAMES", help="Names of the cell to give back.")
@argument(
    "-w", "--wrt", action="append", default=[], metavar="NAMES", help="Inputs that require grad: w.grad has gradients."
)
@argument("-q", "--quiet", action="store_true", help="Do not say which arrays are copied.")
def agrad(line: str, cell: str) -> None:
    """Run a cell in agrad's language, in a session of its own."""


def run_cell(line: str, cell: str, shell: Any) -> None:
    """Run a cell with the names of a shell that a line of options names. Raises UsageError and CellError."""
    options = parse_argstring(agrad, line)
    wrt, outputs = _names(options.wrt), _names(options.output)
    session = Session()
    session.settings.precision, session.shows = find("precision")[0], (False, True)
    copied: list[str] = []

    def write(name: str, text: str) -> None:
        getattr(sys, name).write(f"{text}\n")

    try:
        inputs = _bind(session, [*_names(options.input), *wrt], wrt, shell, copied)
        with suppress(results.Quit):
            session.run(cell, lambda result: show(result, session.settings, write, partial(display, raw=True)))
        found = _back(session, outputs, inputs, copied)
    except AgradError as problem:
        raise CellError(problem) from None
    shell.push(found)
    if copied and not options.quiet:
        sys.stderr.write("".join(f"copied: {line}\n" for line in copied))


def _names(lists: Iterable[str]) -> list[str]:
    """The names in the values of an option. Raises UsageError for what is none."""
    names = [name for text in lists for name in re.split(r"[,\s]+", text) if name]
    for name in names:
        if not _NAME.fullmatch(name):
            raise UsageError(f"%%agrad: {name} is not a name")
    return list(dict.fromkeys(names))


def _bind(session: Session, names: Iterable[str], wrt: list[str], shell: Any, copied: list[str]) -> list[Any]:
    """Give a session the values of the notebook; the arrays. Raises UsageError and AgradError."""
    arrays = []
    for name in dict.fromkeys(names):
        if name not in shell.user_ns:
            raise UsageError(f"%%agrad -i {name}: the notebook has no {name}")
        require_free(name)
        value = shell.user_ns[name]
        if isinstance(value, str) or value is None or isinstance(value, bool):
            session.names[name] = value
            continue
        tensor, why = given(value, name in wrt)
        if why:
            copied.append(f"{name}, {why}")
        tensor.name = name
        session.names[name] = tensor
        arrays.append((name, tensor))
    return arrays


def _back(session: Session, names: list[str], inputs: list[Any], copied: list[str]) -> dict[str, Any]:
    """The values of names, for the notebook. Raises AgradError of kind `name` for one that the cell does not give."""
    found: dict[str, Any] = {}
    for name in names:
        if name not in session.names:
            raise AgradError("name", f"the cell gives {name} no value", fixes=[Hint(f"give it one: {name} = 1")])
        value = session.names[name]
        if not isinstance(value, Tensor):
            found[name] = value
            continue
        found[name], why = taken(value, [*inputs, *found.items()])
        if why:
            copied.append(f"{name}, {why}")
    return found


# Results in a notebook: each as text and, where there is more to show, as HTML or a picture beside it; and errors.

Bundle = dict[str, str]

_SIZE = (6.5, 4.0)  # of a plot, in inches


def bundle(result: results.Result, settings: results.Settings) -> Bundle:
    """What to show of a result, by MIME type."""
    shown = {"text/plain": as_text(result, settings, False)}
    if isinstance(result, results.Plot):
        from agrad.grammar.commands.plot.files import drawn  # here, since few cells plot

        return shown | pictures(lambda form: drawn(result, f".{form}", _SIZE))
    if isinstance(result, results.Graph):
        return _graph(result, shown)
    html = ""
    if isinstance(result, results.Shown):
        value = result.value
        html = html_of(value, settings.precision, results.uncertainty_of(value) if isinstance(value, Tensor) else None)
    elif isinstance(result, results.Checked):
        html = of_parts(result.report.parts(settings.precision))
    elif isinstance(result, results.Estimated) and result.form == "text":
        html = of_parts(result.found.parts())
    return shown | ({"text/html": html} if html else {})


def _graph(result: results.Graph, shown: Bundle) -> Bundle:
    """A graph as it was asked for; where no form was given, the picture beside the text."""
    if result.form == "svg":
        draw = result.picture
        return {"text/plain": "a graph", **(pictures(draw) if draw is not None else {"image/svg+xml": result.lines})}
    if result.form == "page":
        return {"text/plain": "a graph", "text/html": framed(result.lines)}
    if result.form == "mermaid":
        return shown | {"text/vnd.mermaid": result.lines}
    draw = result.picture
    return shown if draw is None or result.form != "text" else shown | pictures(draw)


def show(
    result: results.Result,
    settings: results.Settings,
    write: Callable[[str, str], None],
    display: Callable[[Bundle], object],
) -> None:
    """Show a result: a value by `display`, a printed line on stdout, a note, in colour, on stderr, by `write`."""
    if isinstance(result, results.Noted):
        write("stderr", as_text(result, settings, True))
        return
    made = bundle(result, settings)
    if not isinstance(result, results.Shown | results.Represented) and made.keys() == {"text/plain"}:
        write("stdout", made["text/plain"])
    else:
        display(made)


def lines_of(problem: AgradError, width: int | None = None) -> list[str]:
    """An error in colour, with the carets below the lines of the cell."""
    return report(advised(problem), width, True).split("\n")
