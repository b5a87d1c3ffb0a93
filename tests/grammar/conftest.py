"""What all tests of the language need."""

import gc

import pytest


@pytest.fixture(autouse=True)
def nobody_listens_to_the_collector():
    """Hypothesis does, once it has run; Python loses what a signal raises in such a listener."""
    listeners = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = listeners
