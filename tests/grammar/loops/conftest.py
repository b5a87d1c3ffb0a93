"""What holds for all tests of loops."""

import gc

import pytest

from agrad.engine.autodiff.reverse import HOOKED


@pytest.fixture(autouse=True)
def no_hooks_of_others():
    """No loop is compiled while there is a hook, such as one of another test that nothing but garbage refers to."""
    if HOOKED:
        gc.collect()
