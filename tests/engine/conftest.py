"""What tests of the engine share."""

import pytest
from refused import Place

from agrad.engine.core.context import current


@pytest.fixture
def says():
    """Run something as if it stood at a place of a program."""

    def say(where, text, compute):
        current().origin = current().statement = Place(text, where)
        try:
            return compute()
        finally:
            current().origin = current().statement = None

    return say
