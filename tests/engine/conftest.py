"""What tests of the engine share."""

import pytest
from refused import Place

from agrad.engine.core.context import STATE


@pytest.fixture
def says():
    """Run something as if it stood at a place of a program."""

    def say(where, text, compute):
        STATE.origin = STATE.statement = Place(text, where)
        try:
            return compute()
        finally:
            STATE.origin = STATE.statement = None

    return say
