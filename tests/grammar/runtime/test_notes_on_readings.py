"""The notes on what has two readings: a number that was computed from what varies, a decimal comma, and `~=`.

Each fix, typed in the same session, is without a note and gives what the row says.
"""

from typing import Any

from rows import each

from agrad.engine.errors import typed
from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session

CONSTANT, COMMA = "is a constant here, though it was computed from", "is two numbers: the decimal mark is a point"
THOUSANDS = "numbers: commas between thousands are not read"
START = "x = 3; y = x^2; z = 2y; a = 4; h = 1/a; var w = 3; v = w^2"
NOTED = [
    ("d/dx (x*y)", f"y {CONSTANT} x: y = x^2", [27]),
    ("d/dx (x*z)", f"z {CONSTANT} x: z = 2(x^2)", [54]),
    ("∂/∂x (x + y)", f"y {CONSTANT} x", [7]),
    ("x = 5; d/dx (x*y)", f"y {CONSTANT} x", [75]),
    ("y = y + x; d/dx (x*y)", f"y {CONSTANT} x: y = (x^2) + x", [33]),
    ("sum(x*y for x in 1..3)", f"y {CONSTANT} x", [36]),
    ("sum(a*h for a in 1..3)", f"h {CONSTANT} a", [3]),
    ("(lambda x: x*y)(2)", f"y {CONSTANT} x", [8]),
    ("solve x*y = 8 for x", f"y {CONSTANT} x", ["x = 2"]),
    ("solve w*v = 8 for w", f"v {CONSTANT} w", ["w = 2"]),
    ("f(x) = x*y", f"y {CONSTANT} x", [None]),
    ("tangent x*y at x = 2", f"y {CONSTANT} x", ["y = 12*x - 16"]),
    ("round(2,6)", f"2,6 {COMMA}", [3]),
    ("3*round(2,567)", f"2,567 {COMMA}", [9, 7701]),
    ("x,1,5", f"1,5 {COMMA}", [None]),
    ("1,234.56 + 1", f"1,234.56 is two {THOUSANDS}", [1235.56]),
    ("1,234,567.5", f"1,234,567.5 is several {THOUSANDS}", [1234567.5]),
    ("log(1,234.5) - log(1234.5)", f"1,234.5 is two {THOUSANDS}", [0]),
    ("max([1,234.5])", f"1,234.5 is two {THOUSANDS}", [1234.5]),
    ("x ~= y", "x ~= y is true where the two are equal to 9 digits; `!=` is not equal", [True, False]),
    ("a*(x ~= 3)", "`!=`", [0, 4]),
    ("if mod(a, 3) ~= 0: print(5)", "mod(a, 3) ~= 0 is true where the two are equal", [5, None]),
    ("if sin(a) ~= cos(a): print(5)", "sin(a) ~= cos(a) is true", [5, None]),
]
SILENT = (
    "d/dx x^2 ; d/dw (w*v) ; y = 9; d/dx (x*y) ; x,1, 5 ; sum(a*x for a in 1..3) ; f(y) = y*x ; n = v.item(); d/dw (w*n) ;"
    "round(2.567,2) ; round(2567, 2) ; round(3.142,2) ; [1,2.5] ; log(1, 234.5) ; atan2(1,234.5) ; hypot(3,400.5) ; g(u, v) = u + v; g(1,234.5) ; assert x ~= 3 ; sin(pi/6) ~= 0.5 ; x ~= y +- 1 ; z = 5; d/dx (x*z)"
)


def run(session: Session, text: str) -> tuple[list[Noted], list[Any]]:
    found: list[Any] = []
    session.run(text, found.append)
    return [one for one in found if isinstance(one, Noted)], [one for one in found if not isinstance(one, Noted)]


@each("text, message, answers", NOTED)
def test_two_readings_have_a_note_whose_fixes_say_which(text: str, message: str, answers: list[Any]) -> None:
    session = Session()
    session.run(START)
    ((note,), _) = run(session, text)
    assert message in note.note.message
    fixes = typed(note.note.fixes)
    assert len(fixes) == len(answers)
    for fix, expected in zip(fixes, answers, strict=True):
        others, shown = run(session, fix)
        assert not others, fix
        if expected is not None:
            told = "\n".join(one.text(session.settings) for one in shown)
            assert str(expected) in told.split("\n"), (fix, told)


@each("text", SILENT.split(" ; "))
def test_what_has_one_reading_has_no_note(text: str) -> None:
    session = Session()
    session.run(START)
    assert not run(session, text.strip())[0]
