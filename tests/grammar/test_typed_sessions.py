"""Sessions, and all that agrad answers: see `typed_sessions` in tests/support."""

import pytest
import typed_sessions
from rounding import same_answers


@pytest.mark.parametrize("file", sorted(typed_sessions.FOLDER.glob("*.txt")), ids=lambda file: file.stem)
def test_each_session_has_the_answers_that_it_had(file):
    before = file.read_text("utf-8")
    today = typed_sessions.replayed(before)
    assert today == before or same_answers(before, today)
