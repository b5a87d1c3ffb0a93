"""What the tests of all floors share."""

import gc
import resource
from contextlib import suppress

import pytest
from hypothesis import given, settings, strategies
from workshops import equipped, put_data

from agrad.engine.autodiff.reverse import HOOKED
from agrad.engine.core.context import current
from agrad.engine.core.graph import Units

# The same cases at each run, so that a change is judged by what it changes; `make explore` looks for new ones.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("steady")


gc.disable()  # finding the many thousand tests makes no garbage


def pytest_collection_finish():
    """Leaves the tests that were found out of all later collections of garbage, which some tests ask for."""
    _first_property()
    gc.collect()
    gc.freeze()
    gc.enable()


@given(strategies.none())
def _first_property(_):
    """At its first run, Hypothesis asks what refers to its random numbers, which cannot be seen any more later."""


@pytest.fixture(autouse=True)
def _apart():
    """Nothing of a test shows in those that come later.

    What it has read as plain data would be a guard of their graphs; while there is a hook, or a unit, no loop is
    compiled; with a limit of the process's memory, no browser starts.
    """
    current().guard, others, Units.exist = None, [*HOOKED], False
    HOOKED.clear()
    before = resource.getrlimit(resource.RLIMIT_AS)
    yield
    HOOKED.update(others)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


@pytest.fixture(scope="session")
def workshop(tmp_path_factory):
    """Where to run commands of the documents: a folder with the examples, and an environment that finds `agrad`."""
    folder = tmp_path_factory.mktemp("workshop")
    with suppress(ImportError):  # it needs pyarrow, as do the examples that read it
        put_data(folder / "data")
    return equipped(folder)
