"""A claim on every row of a table as one test, whose failure names the rows that break it.

Rows that need fixtures of their own (a folder, a changed module) or that take seconds are cases: `pytest.mark.parametrize`.
"""

import functools
import importlib
import inspect
import re
import sys

import pytest

from agrad.engine.core.context import CURRENT, Context

MOST = 20  # rows of which a failure shows the errors


def divided(text):
    """The entries of a text, which `;` or the end of a line divides; lines of `#` are comments."""
    lines = [line.strip().rstrip(";") for line in text.splitlines() if line[:1] != "#"]
    return [entry for line in lines for entry in line.split("; ") if entry]


def table(text, parameters, names):
    """Rows of a text, each a function of parameters and values that a test expects of it: `function | value | …`."""
    rows = [line.split(" | ") for line in divided(text)]
    return [(functions(parameters, row[0], names)[row[0]], *[eval(cell, names) for cell in row[1:]]) for row in rows]


def by_name(text, parameters, names):
    """The same with a name in front of each row; a row without values is its function."""
    parts = [line.split(" | ", 1) for line in divided(text)]
    rows = {name: table(rest, parameters, names)[0] for name, rest in parts}
    return {name: row if len(row) > 1 else row[0] for name, row in rows.items()}


def functions(parameters, text, names):
    """Functions of these parameters, by their texts, with the names of a module and modules of Python's library."""
    for name in {*re.findall(r"\b([a-z]+)\.", text)} & sys.stdlib_module_names:
        names.setdefault(name, importlib.import_module(name))
    found = {entry: eval(f"lambda {parameters}: {entry}", names) for entry in divided(text)}
    for entry, function in found.items():
        function.name = entry
    return found


def each(names, rows, short=1):
    """Runs a test for each row, as `parametrize` would, but within one case: all rows are tried, then it fails.

    Of several decorators the lowest turns fastest. With `short`, only so many a row is tried by `make test`, the others
    by `make long`. A row is named by its texts and numbers, or by where its function stands.
    """
    names = [name.strip() for name in names.split(",")]
    rows = [row if len(names) > 1 else (row,) for row in rows]
    assert rows, "the table has no rows"

    def decorate(test):
        @functools.wraps(test)
        def of_all_rows(**fixtures):
            part = fixtures.pop("part") if short > 1 else None
            failed, skipped = [], []
            chosen = [row for number, row in enumerate(rows) if part in (None, "rest" if number % short else "some")]
            for row in chosen:
                try:
                    _alone(test, fixtures | dict(zip(names, row, strict=True)))
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except (Exception, pytest.fail.Exception) as problem:
                    failed.append((", ".join(map(_named, row)), problem))
            if failed:
                told = [f"{name}: {type(problem).__name__}: {problem}" for name, problem in failed[:MOST]]
                more = [f"and {name}" for name, _ in failed[MOST:]]
                text = "\n".join([f"{len(failed)} of {len(chosen)} rows fail:", *told, *more])
                raise AssertionError(text) from failed[0][1]
            if len(skipped) == len(chosen):
                raise skipped[0]

        signature = inspect.signature(test)
        kept = [one for name, one in signature.parameters.items() if name not in names]
        assert len(signature.parameters) - len(kept) == len(names), f"{test.__name__} does not take {names}"
        del of_all_rows.__wrapped__  # in which pytest would look for fixtures
        if short > 1:
            kept.append(inspect.Parameter("part", inspect.Parameter.POSITIONAL_OR_KEYWORD))
            of_all_rows = pytest.mark.parametrize("part", ["some", pytest.param("rest", marks=pytest.mark.long)])(
                of_all_rows
            )
        of_all_rows.__signature__ = signature.replace(parameters=kept)
        return of_all_rows

    return decorate


def _alone(test, values):
    """Each row in a context of its own: a guard left by one would stand in the graphs of the next."""
    before = CURRENT.set(Context())
    try:
        test(**values)
    finally:
        CURRENT.reset(before)


def _named(value):
    code = getattr(value, "__code__", None)
    text = getattr(value, "name", None) or (f"line {code.co_firstlineno}" if code else str(value))
    return text if len(text) <= 80 else f"{text[:77]}..."
