"""What tests of compiled functions share."""

import pytest

from agrad.engine.compile import specializations


@pytest.fixture
def soon(monkeypatch):
    """Specialisations become one function after few calls."""
    monkeypatch.setattr(specializations.cost, "repaid_by_one_function", lambda length: 2e3 * length)
