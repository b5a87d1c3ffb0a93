"""A claim on every row of a table as one test, whose failure names the rows that break it.

Rows that need fixtures of their own (a folder, a changed module) or that take seconds are cases: `pytest.mark.parametrize`.
"""

import functools
import inspect

import pytest

from agrad.engine.core.context import CURRENT, Context

MOST = 20  # rows of which a failure shows the errors


def each(names, rows, ids=None):
    """Runs a test for each row, as `parametrize` would, but within one case: all rows are tried, then it fails.

    Of several decorators the lowest turns fastest. A row is named by `ids`, a function of its values or a list.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)

    def decorate(test):
        @functools.wraps(test)
        def of_all_rows(**fixtures):
            failed, skipped, count = [], [], 0
            for number, row in enumerate(rows):
                count += 1
                values = row if len(names) > 1 else (row,)
                try:
                    _alone(test, fixtures | dict(zip(names, values, strict=True)))
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except (Exception, pytest.fail.Exception) as problem:
                    failed.append((_named(ids, number, values), problem))
            assert count, "the table has no rows"
            if failed:
                told = [f"{name}: {type(problem).__name__}: {problem}" for name, problem in failed[:MOST]]
                more = ", ".join(name for name, _ in failed[MOST:])
                text = "\n".join([f"{len(failed)} of {count} rows fail:", *told, *([f"and {more}"] if more else [])])
                raise AssertionError(text) from failed[0][1]
            if len(skipped) == count:
                raise skipped[0]

        signature = inspect.signature(test)
        kept = [one for name, one in signature.parameters.items() if name not in names]
        assert len(signature.parameters) - len(kept) == len(names), f"{test.__name__} does not take {names}"
        del of_all_rows.__wrapped__  # in which pytest would look for fixtures
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


def _named(ids, number, values):
    if ids is None:
        text = ", ".join(getattr(value, "__name__", None) or str(value) for value in values)
    else:
        text = str(ids(*values) if callable(ids) else ids[number])
    return text if len(text) <= 100 else f"{text[:97]}..."
