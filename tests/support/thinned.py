"""Tables of cases of which `make test` tries a part, and `make long` the others."""

import pytest


def thinned(cases, step):
    """The cases for `parametrize`: of every `step`, all but the first are marked as long. A tuple is several arguments."""
    return [case if number % step == 0 else _long(case) for number, case in enumerate(cases)]


def _long(case):
    if not hasattr(case, "marks"):
        case = pytest.param(*case) if isinstance(case, tuple) else pytest.param(case)
    return pytest.param(*case.values, marks=(*case.marks, pytest.mark.long), id=case.id)
