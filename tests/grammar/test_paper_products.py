"""`·` and `×` are products of numbers; of two arrays, where paper means another product, they are refused."""

import pytest

from agrad.engine.errors import AgradError, typed
from agrad.grammar.prompt.live import Live
from agrad.grammar.session.session import Session

START = """u = [1, 2, 3]; v = [4, 5, 6]; A = [[1, 2, 0], [3, 4, 0], [0, 0, 1]]; k = 2; var w = [1, 0, 2]
xs = []; xs.append(1); xs.append(2)
def f(x) = x·x"""

# What is refused, with the values of what is proposed instead.
REFUSED = {
    "u·v": [32, [4, 10, 18]],
    "1 + u ⋅ v": [33, [5, 11, 19]],
    "2·u·v": [64, [8, 20, 36]],
    "u × v": [[-3, 6, -3], 32, [4, 10, 18]],
    "1 + (u + 1) × v": [[-1, 5, -1], 48, [9, 16, 25]],
    "A·u": [[5, 11, 3], [[1, 4, 0], [3, 8, 0], [0, 0, 3]]],
    "A[:2]·[1, 2, 3]": [[5, 11], [[1, 4, 0], [3, 8, 0]]],
    "xs·xs": [5, [1, 4]],
    "[k, k]·xs": [6, [2, 4]],
    "f(u)": [],  # the place is in another statement
    "u·w": [7, [1, 0, 6]],
}
READ = {
    "2·u": [2, 4, 6],
    "u·2": [2, 4, 6],
    "k·u + u × k": [4, 8, 12],
    "sum(u)·v": [24, 30, 36],
    "f(3)": 9,
    "[f(i) for i in 0..3]": [0, 1, 4, 9],
    "[f(i) for i in range(40)][3]": 9,
    "sum(i·i for i in 1..100)": 338350,
    "integral(f, 0, 3)": pytest.approx(9),
    "grad(f)(3)": 6,
}


def session() -> Session:
    made = Session()
    made.run(START)
    return made


def value(text: str) -> object:
    found = session().evaluate(text)
    return found.tolist() if hasattr(found, "tolist") else [*found] if type(found).__name__ == "List" else found


@pytest.mark.parametrize("text", REFUSED)
def test_of_two_arrays_it_is_refused_with_products_that_can_be_typed(text: str) -> None:
    with pytest.raises(AgradError, match="of two arrays") as caught:
        session().evaluate(text)
    if REFUSED[text]:
        assert [value(fix) for fix in typed(caught.value.fixes)] == REFUSED[text]


@pytest.mark.parametrize("text", READ)
def test_of_a_number_it_is_a_product(text: str) -> None:
    assert value(text) == READ[text]


def test_arrays_that_have_no_product_are_named_with_their_shapes() -> None:
    with pytest.raises(AgradError, match=r"shapes \(2\) and \(3\)"):
        session().evaluate("[1, 2]·u")


def test_a_loop_that_is_run_as_a_program_refuses_it_too() -> None:
    made = session()
    with pytest.raises(AgradError, match="of two arrays"):
        made.run("for i in range(300):\n    s = k·i\n    if i > 200: s = u·v")


def test_the_live_line_shows_no_value_of_it() -> None:
    live = Live(session())
    assert "[2, 4, 6]" in live.value("k·u")
    assert live.value("u·v") == ""
    assert live.value("f(u)") == ""
