"""The notes on whole numbers that are not exact any more, and on powers of square matrices."""

import random

from rows import each

from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session

START = "7; n = [1, 2]; A = [[1, 2], [3, 4]]; B = [[1, 2, 3], [4, 5, 6]]; v = [1, 2]; x = 3; var W = [[1, 2], [3, 4]]"
NOTED = [
    ("2^64 + 1", "2^64 + 1 is 18446744073709551617, and this number is 18446744073709551616", []),
    ("y = 2^64 + 1 - 2^64", "2^64 + 1 - 2^64 is 1, and this number is 0", []),
    ("2^53 + 1 - 1", "2^53 + 1 - 1 is 9007199254740992, and this number is 9007199254740991", []),
    ("A^2", "A^2 is the power of each entry; that of the matrix is A @ A", ["A @ A"]),
    ("C = 2*A**3 - A^2", "A**3 is the power of each entry", ["C = 2*(A @ A @ A) - A^2"]),
    ("W^2", "W^2 is the power of each entry", ["W @ W"]),
    ("A^-1 @ v", "A^-1 is the power of each entry; that of the matrix is inv(A)", ["inv(A) @ v"]),
    ("[[1, 2], [3, 4]]^2", "[[1, 2], [3, 4]]^2 is the power of each entry", ["[[1, 2], [3, 4]] @ [[1, 2], [3, 4]]"]),
    ("[[1, 2], [3, 4]]^-1", "that of the matrix is inv([[1, 2], [3, 4]])", ["inv([[1, 2], [3, 4]])"]),
    ("eigh(A)[0]", "the matrix is not symmetric", []),
    ("cholesky(A + 9*eye(2))", "the matrix is not symmetric", []),
    ("|v|^2", "|v| is the absolute value of each entry; the length of a vector is norm(v)", ["norm(v)^2"]),
    ("w = |v - 1|", "the length of a vector is norm(v - 1)", ["w = norm(v - 1)"]),
    ("|A|", "the determinant is det(A)", ["det(A)"]),
    ("0^-1", "the result is infinite", []),
]
SILENT = "n[1] = 0 ; a, b = 1, 2 ; 2^64 ; 2^53 - 1 + 1 ; 3^20 ; v^2 ; B^2 ; x^2 ; sum((A - A)^2) ; sum(A^2) ; A^0.5 ; |x| ; |B| ; sum(|v|) ; abs(v) ; 2^64 + 0.5 ; 1/3 ; A @ A ; eigh(A + A.T) ; cholesky(A @ A.T) ; [[1, 2, 3], [4, 5, 6]]^2"


def notes(text: str) -> list[tuple[str, list[str]]]:
    session, found = Session(), []
    session.run(START)
    session.run(text, found.append)
    return [(one.note.message, one.note.fixes) for one in found if isinstance(one, Noted)]


@each("text, message, fixes", NOTED)
def test_a_power_has_one_note(text: str, message: str, fixes: list[str]) -> None:
    ((told, offered),) = notes(text)
    assert message in told
    assert [*offered] == fixes


@each("text", SILENT.split(" ; "))
def test_other_powers_have_none(text: str) -> None:
    assert notes(text) == []


def test_a_note_is_there_exactly_where_python_has_another_whole_number() -> None:
    made = random.Random(5)
    for _ in range(200):
        x, y = (made.getrandbits(made.randint(1, 40)) for _ in range(2))
        text = f"{x} * {y} {made.choice('+-')} 3**{made.randint(0, 40)}"
        session, exact = Session(), eval(text)
        assert bool(notes(text)) == (session.evaluate(text) != exact), text
