"""`·` and `×` are products of numbers; of two arrays, where paper means another product, they are refused."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.prompt.live import Live
from agrad.grammar.session.session import Session

START = """u = [1, 2, 3]; v = [4, 5, 6]; A = [[1, 2, 0], [3, 4, 0], [0, 0, 1]]; k = 2; var w = [1, 0, 2]
xs = []; xs.append(1); xs.append(2)
def f(x) = x·x"""


def session() -> Session:
    made = Session()
    made.run(START)
    return made


def value(text: str) -> object:
    found = session().evaluate(text)
    return found.tolist() if hasattr(found, "tolist") else [*found] if type(found).__name__ == "List" else found


def test_arrays_that_have_no_product_are_named_with_their_shapes() -> None:
    with pytest.raises(AgradError, match=r"shapes \(2\) and \(3\)"):
        session().evaluate("[1, 2]·u")


def test_the_live_line_shows_no_value_of_it() -> None:
    live = Live(session())
    assert "[2, 4, 6]" in live.value("k·u")
    assert live.value("u·v") == ""
    assert live.value("f(u)") == ""
