"""What tests of the engine share."""

import pytest
from refused import Place

from agrad.engine.core.context import CURRENT, Context, current


@pytest.fixture(autouse=True)
def own_context():
    """Run each test in a context of its own: a guard left by one would stand in the graphs of the next."""
    before = CURRENT.set(Context())
    yield
    CURRENT.reset(before)


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
