"""How to go on after an error in a table, in the words of the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import suggest


@contextmanager
def advised(typed: Sequence[str], command_line: Callable[[Sequence[str]], str]) -> Iterator[None]:
    """Add fixes to an error inside: options for `map`, behind whose name the words in `typed` stand."""
    try:
        yield
    except AgradError as problem:
        facts = problem.facts
        if facts.get("row") and "--on-error" not in typed:
            again = command_line([*typed, "--on-error", "null"])
            problem.fixes = [*problem.fixes, f"go on without such rows: {again}"]
        elif facts.get("copied"):
            problem.fixes = ["write .csv or .jsonl, which take texts too"]
        elif facts.get("names_given"):
            problem.fixes = ["leave --columns out"]
        elif "columns" in facts:
            problem.fixes = _other_columns(problem)
        raise


def _other_columns(problem: AgradError) -> list[str]:
    """What may have been meant by the name of a column that there is not."""
    name, columns = str(problem.facts["column"]), problem.facts["columns"]
    assert isinstance(columns, list)
    if close := suggest(name, columns):
        return [f"did you mean {' or '.join(close)}?"]
    fixes = [f"name the columns: --columns {','.join([name, *columns[1:]])}"] if problem.facts["nameless"] else []
    if problem.labels:  # it stands in the expression
        fixes.append(f"give it one value for all rows: -D {name}=1")
    return fixes
