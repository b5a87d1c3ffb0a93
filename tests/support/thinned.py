"""Tables of cases of which `make check` tries a part, and `make test` all."""

import pytest


def thinned(cases, step):
    """The cases for `parametrize`: of every `step`, all but the first are marked as long."""
    return [case if number % step == 0 else _long(case) for number, case in enumerate(cases)]


def _long(case):
    known = case if hasattr(case, "marks") else pytest.param(case)
    return pytest.param(*known.values, marks=(*known.marks, pytest.mark.long), id=known.id)
