"""Tables of cases of which `make check` tries a part, and `make test` all."""

import pytest


def thinned(cases, step):
    """The cases for `parametrize`: of every `step`, all but the first are marked as long."""
    return [
        case if number % step == 0 else pytest.param(case, marks=pytest.mark.long) for number, case in enumerate(cases)
    ]
