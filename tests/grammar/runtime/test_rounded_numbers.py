"""A number that a float64 cannot hold is told with what it became, once; any other is not."""

import pytest

from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session

ROUNDED = {
    "9007199254740993": "9007199254740993 is read as 9007199254740992: whole numbers are exact up to 2**53",
    "x = -123_456_789_123_456_789": "123_456_789_123_456_789 is read as 123456789123456784: "
    "whole numbers are exact up to 2**53",
    "0xFFFFFFFFFFFFFFFF": "0xFFFFFFFFFFFFFFFF is read as 18446744073709551616: whole numbers are exact up to 2**53",
    "1e400": "1e400 is read as inf: a float64 holds numbers up to 1.8e308",
    "1e-400": "1e-400 is read as 0: a float64 holds numbers down to 5e-324",
    "for i in range(300): x = i*9007199254740993": "9007199254740993 is read as 9007199254740992: "
    "whole numbers are exact up to 2**53",
}
REMAINDERS = [
    "3**40 % 7",
    "for i in range(300): x = 3**40 % (i + 2)",
    "var q = 1e20; x = q % 3",
    "f = lambda k: k % 3; f(1e17)",
]
QUIET = [
    "5 % 3",
    "2**53 % 3",
    "-2**53 % 3",
    "inf % 3",
    "arange(9) % 4",
    "'%d' % 5",
    "[k % 3 for k in 1..50]",
    "var q = 7; q % 3",
]
EXACT = "0 0.0 0e5 00 007 1e-300 1e308 1e23 9007199254740992 0x1F 1_000_000 0.1 True 18446744073709551616".split()


def notes(text: str) -> list[str]:
    told: list[str] = []
    Session().run(text, lambda result: told.append(result.note.message) if isinstance(result, Noted) else None)
    return told


@pytest.mark.parametrize("text", ROUNDED)
def test_a_number_that_was_rounded_is_told_once(text: str) -> None:
    assert notes(text) == [ROUNDED[text]]


@pytest.mark.parametrize("text", EXACT)
def test_a_number_that_is_as_it_was_typed_is_not_told(text: str) -> None:
    assert notes(text) == []


@pytest.mark.parametrize("text", REMAINDERS)
def test_a_remainder_of_a_rounded_number_is_told_once(text: str) -> None:
    (note,) = notes(text)
    assert note.endswith("whole numbers beyond 2**53 are rounded, so that the remainder may be wrong")


@pytest.mark.parametrize("text", QUIET)
def test_any_other_remainder_is_not_told(text: str) -> None:
    assert [note for note in notes(text) if "remainder" in note] == []
