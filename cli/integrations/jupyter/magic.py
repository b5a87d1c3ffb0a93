"""`%%agrad`: a cell of agrad in a notebook of Python, with arrays of the notebook.

Each cell has a session of its own. So nothing is left, after the cell, that could notice that the notebook writes to an
array, and arrays go in and come back without being copied, wherever their data are what the other side needs.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring
from IPython.display import display

from agrad.cli.integrations.jupyter.display import bundle, is_text, lines_of, told
from agrad.cli.settings.settings import find
from agrad.engine.core.tensor import Tensor
from agrad.engine.errors import AgradError, Hint
from agrad.engine.interop.notebook import given, taken
from agrad.grammar.results import Noted, Quit, Result
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
    session.settings.precision = find("precision")[0]
    copied: list[str] = []
    try:
        inputs = _bind(session, [*_names(options.input), *wrt], wrt, shell, copied)
        _run(session, cell)
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


def _run(session: Session, cell: str) -> None:
    """Run the statements of a cell, and show the results."""

    def show(result: Result) -> None:
        if isinstance(result, Noted):
            sys.stderr.write(f"{told(result, session.settings)}\n")
            return
        made = bundle(result, session.settings)
        if is_text(result, made):
            sys.stdout.write(f"{made['text/plain']}\n")
        else:
            display(made, raw=True)

    with suppress(Quit):
        session.run(cell, show)


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
        others = [(other, array) for other, array in [*inputs, *found.items()]]
        found[name], why = taken(value, others)
        if why:
            copied.append(f"{name}, {why}")
    return found
