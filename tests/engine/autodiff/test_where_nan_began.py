"""What a note says of a gradient, or a value, that is nan: where it began, in which iteration, and what to write."""

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
BEGAN = [
    ("var x = [0, 1]; y = sum(sqrt(x)*0); backward y",
     "the derivative of sqrt(x) is inf at x[0] = 0, and 0 * inf is nan", "sqrt(x)", "sqrt(x + 1e-12)"),
    ("var x = [0, 1]; backward sum(x.sqrt())",
     "the derivative of x.sqrt() is inf at x[0] = 0", "x.sqrt()", "(x + 1e-12).sqrt()"),
    ("var b = ones(3); q = (b - mean(b))/b.std(); backward sum(q)",
     "q is nan at (b - mean(b))[0] = 0, b.std() = 0", "(b - mean(b))/b.std()", "(b - mean(b))/(b.std() + 1e-12)"),
    ("var w = [-2, 4]; backward sum(w**0.5)", "w**0.5 is nan at w[0] = -2", "w**0.5", None),
    ("var w = -8; backward w**(1/3)", "w**(1/3) is nan at w = -8", "w**(1/3)", "sign(w)*abs(w)**(1/3)"),
    ("var w = 0; backward w**(1/3)", "the derivative of w**(1/3) is inf at w = 0", "w**(1/3)", "clip(w, 1e-12)**(1/3)"),
    ("var p = [0, 1]; backward -sum(torch.log(p))",
     "torch.log(p) is -inf at p[0] = 0", "torch.log(p)", "torch.log(p + 1e-12)"),
    ("var z = [800, 0]; backward sum(log(softmax(z)))",
     "log(softmax(z)) is -inf at softmax(z)[1] = 0", "log(softmax(z))", "log_softmax(z)"),
    ("var z = -800; backward log(sigmoid(z))",
     "log(sigmoid(z)) is -inf at sigmoid(z) = 0", "log(sigmoid(z))", "logsigmoid(z)"),
    ("var z = [800, 0]; s = exp(z)/exp(z).sum(); backward s[1]",
     "exp(z) is inf at z[0] = 800", "exp(z)", "exp(z - max(z))"),
    ("var a = 1; backward acos(a)", "the derivative of acos(a) is -inf at a = 1", "acos(a)",
     "acos(clip(a, -1 + 1e-7, 1 - 1e-7))"),
    ("var a = -1; backward log1p(a)", "log1p(a) is -inf at a = -1", "log1p(a)", "log1p(clip(a, -1 + 1e-12))"),
    ("var w = [1, 2]; v = [[0], [3]]; backward sum(w/v)", "w/v is inf at w[0] = 1, v[0, 0] = 0", "w/v",
     "w/(v + 1e-12)"),
    ("d = tensor([1, nan]); var w = 2; backward sum((d*w)**2)", "d[1] is nan already", "tensor([1, nan])", None),
    ("var x = [0, 4]; backward sum(where(x > 0, log(x), 0) + sqrt(x))",  # what was not selected is not the cause
     "the derivative of sqrt(x) is inf at x[0] = 0", "sqrt(x)", "sqrt(x + 1e-12)"),
]  # fmt: skip


@each("text, said, place, fix", BEGAN)
def test_a_note_says_where_it_began_and_what_to_write(text, said, place, fix):
    _, notes = notes_of(text)
    note = next(note for note in notes if "a gradient is inf or nan: " in note.message)
    assert note.message == f"a gradient is inf or nan: {said}"
    assert note.labels[0].origin.text == place
    assert [one.partition("   ")[0] for one in note.fixes[:1]] == ([] if fix is None else [fix])


@each("text, place, fix", [case[:1] + case[2:] for case in BEGAN if case[3]])
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
