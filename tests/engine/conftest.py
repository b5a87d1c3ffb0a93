"""What tests of the engine share."""

import gc

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
def uncollected():
    """No garbage collection: what is gone went by itself."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def says():
    """Run something as if it stood at a place of a program."""

    def say(where, text, compute):
        current().place = current().begun = Place(text, where)
        try:
            return compute()
        finally:
            current().place = current().begun = None

    return say


@pytest.fixture
def file(tmp_path):
    """Write a file, and tell its path."""

    def write(data, name="a.csv"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogateescape"))
        return str(path)

    return write
