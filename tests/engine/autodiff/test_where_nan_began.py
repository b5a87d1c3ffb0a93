"""What a note says of a gradient, or a value, that is nan: where it began, in which iteration, and what to write."""

from pathlib import Path

from rows import each

from agrad.engine.autodiff.anomalies import remedies
from agrad.engine.core.op import OPS
from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session


def notes_of(text):
    """The notes of a text, and whether a gradient became nan."""
    session, heard = Session(), []
    session.run(text, heard.append)
    return session, [result.note for result in heard if isinstance(result, Noted)]


# Statements whose last one tells of an inf or a nan; what the note says; the text of the place, and the first fix.
BEGAN = [line.split(" | ") for line in Path(__file__).with_name("where_nan_began.txt").read_text("utf-8").splitlines()]


@each("text, said, place, fix", BEGAN)
def test_a_note_says_where_it_began_and_what_to_write(text, said, place, fix):
    _, notes = notes_of(text)
    note = next(note for note in notes if "a gradient is inf or nan: " in note.message)
    assert note.message == f"a gradient is inf or nan: {said}"
    assert note.labels[0].origin.text == place
    assert [one.partition("   ")[0] for one in note.fixes[:1]] == ([] if fix == "-" else [fix])


@each("text, place, fix", [case[:1] + case[2:] for case in BEGAN if case[3] != "-"])
def test_with_what_the_fix_says_the_gradient_is_finite(text, place, fix):
    mended = text.replace(place, fix)
    if "exp(" in place:
        mended = text.replace("exp(z)", fix)
    if "[0, 4]" in text:
        mended = mended.replace("log(x)", "log(x + 1e-12)")
    assert mended != text
    assert not notes_of(mended)[1]


@each(
    "op, text, operands",
    [
        ("sqrt", "sqrt(x)", [-1.0]),
        ("sqrt", "sqrt(x) + sqrt(y)", [0.0]),
        ("log", "log(x, 2)", [0.0]),
        ("log", "x", [0.0]),
        ("div", "x/y", [float("inf"), float("inf")]),
        ("mul", "x*y", [0.0, float("inf")]),
        ("pow", "x**y", [2.0, float("inf")]),
        ("tan", "tan(x)", [1.0]),
    ],
)
def test_there_is_no_fix_where_none_is_known(op, text, operands):
    assert remedies(OPS[op], text, operands) == []


@each(
    "text, fix",
    [
        ("x = tensor(1000, requires_grad=True); backward log(1 + exp(x))", "softplus(x)"),
        ("x = tensor(1000, requires_grad=True); backward log1p(exp(2*x))", "softplus(2*x)"),
        ("x = tensor([1000, 999], requires_grad=True); backward log(sum(exp(x)))", "logsumexp(x)"),
    ],
)
def test_the_fix_of_an_exponential_in_a_logarithm_has_the_same_value(text, fix):
    _, notes = notes_of(text)
    assert [one.partition("   ")[0] for one in notes[0].fixes] == [fix]
    begin, _, place = text.partition("backward ")
    assert not notes_of(f"{begin}assert {fix} >= 1000; backward {fix}")[1], place
