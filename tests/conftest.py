"""What the tests of all floors share."""

import pytest
from hypothesis import settings
from workshops import equipped

# The same cases at each run, so that a change is judged by what it changes; `make explore` looks for new ones.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def workshop(tmp_path_factory):
    """Where to run commands of the documents: a folder with the examples, and an environment that finds `agrad`."""
    return equipped(tmp_path_factory.mktemp("workshop"))
