"""`xs += [x]` makes a list longer, as `xs = xs + [x]` does, and never adds x to each entry."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

LONGER = {
    "t = [1, 2]; t += [4]": [1, 2, 4],
    "t = [1, 2]; t = t + [4]": [1, 2, 4],
    "t = [1, 2]; s = t; s += [4]": [1, 2, 4],
    "t = [0]; t += [1]; t += [2]": [0, 1, 2],
    "t = []; t += [1]; t += [2]": [1, 2],
    "d = {'a': [1, 2]}; d['a'] += [4]; t = d['a']": [1, 2, 4],
    "def f(xs): xs += [9]\nt = [1, 2]\nf(t)": [1, 2, 9],
    "t = [0]\nfor i in range(300): t += [i]\nt = t[298:]": [297, 298, 299],
}
ADDED = {
    "t = [1, 2]; t += [3, 4]": [4, 6],
    "t = [1, 2]; t += 3": [4, 5],
    "t = tensor([1]); t += [3]": [4],
    "var t = [1]\nno_grad: t += [3]": [4],
}
REFUSED = ["t = tensor([1, 2]); t += [3]", "var t = [1, 2]\nno_grad: t += [3]", "t = 2*[1, 2]; t += [3]"]


@pytest.mark.parametrize("text", LONGER | ADDED)
def test_what_it_makes(text: str) -> None:
    session = Session()
    session.run(text)
    assert [float(x) for x in session.names["t"]] == (LONGER | ADDED)[text]


@pytest.mark.parametrize("text", REFUSED)
def test_a_computed_vector_is_not_taken_for_either(text: str) -> None:
    session = Session()
    with pytest.raises(AgradError, match="has one entry, and the vector has 2"):
        session.run(text)
