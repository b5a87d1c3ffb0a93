"""Messages that take a look at the session, each as a whole, and what is as it was after them."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.log import DEPTH
from agrad.grammar.session.session import Session


def session() -> Session:
    made = Session()
    made.steps.depth = DEPTH
    return made


def test_a_freed_graph_whose_backward_cannot_be_taken_back_has_no_undo_in_its_fix() -> None:
    made = Session()
    with pytest.raises(AgradError) as caught:
        made.run("var x = 1\ny = x*x\nbackward y\nbackward y")
    assert caught.value.fixes == ["backward y retain   at line 3, or evaluate line 2 again"]


def test_an_error_is_told_without_fixes_where_there_is_no_memory_to_find_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def explain(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("agrad.grammar.runtime.fixes.explain", explain)
    made = session()
    with pytest.raises(AgradError, match=r"^zeros\(10\*\*9\) needs 8 GB"):
        made.run("limit memory=1e9\nx = 2\nx = zeros(10**9)")
    assert made.evaluate("x") == 2
