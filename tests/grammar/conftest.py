"""What all tests of the language need."""

import gc

import pytest

from agrad.engine.core.graph import Units


@pytest.fixture(autouse=True)
def nobody_listens_to_the_collector():
    """Hypothesis does, once it has run; Python loses what a signal raises in such a listener."""
    listeners = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = listeners


@pytest.fixture
def no_unit_yet(monkeypatch):
    """As in a process in which nothing has had a unit."""
    monkeypatch.setattr(Units, "exist", False)
