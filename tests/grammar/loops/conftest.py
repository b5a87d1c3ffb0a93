"""What holds for all tests of loops."""

import pytest

from agrad.engine.autodiff.reverse import HOOKED


@pytest.fixture(autouse=True)
def no_hooks_of_others():
    """No loop is compiled while there is a hook: those of other tests are put aside."""
    others = [*HOOKED]
    HOOKED.clear()
    yield
    HOOKED.update(others)
