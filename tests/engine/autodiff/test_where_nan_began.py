"""What a note says of a gradient, or a value, that is nan: where it began, in which iteration, and what to write."""

import re

import pytest
from rows import each

from agrad.engine.autodiff.anomalies import remedies
from agrad.engine.core.op import OPS
from agrad.engine.errors import AgradError, Hint
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


def test_a_product_with_a_log_is_written_as_one_function():
    _, notes = notes_of("p = tensor([0, 1]); t = tensor([0, 1]); y = t*torch.log(p)")
    assert notes[0].message == "t*torch.log(p) is nan in 1 of 2 entries: 0 * (-inf) at [0]"
    assert notes[0].fixes == ["xlogy(t, p)   is 0 where t is 0"]


def test_a_quotient_of_exponentials_is_a_softmax():
    _, notes = notes_of("z = tensor([800, 0]); s = torch.exp(z)/torch.exp(z).sum()")
    assert notes[0].fixes == ["softmax(z)   is the same, without overflow"]


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


LOOP = """
var w = 3
for step in range(200):
    loss = (w**2 - 2)**2
    backward loss
    step sgd w lr=2
    zero_grad
"""


def test_a_loop_that_diverges_says_in_which_iteration():
    _, notes = notes_of(LOOP)
    assert len(notes) == 1  # the next iterations follow from this one
    assert re.fullmatch(r"at step = \d+", notes[0].labels[0].text)
    assert [type(fix) for fix in notes[0].fixes] == [Hint]
    assert "smaller step" in notes[0].fixes[0]


def test_an_anomaly_in_a_loop_says_in_which_iteration():
    with pytest.raises(AgradError) as caught:
        Session().run(
            "var x = 0\nwith torch.autograd.detect_anomaly():\n  for i in range(4):\n    backward 0*sqrt(x - i + 2 + x)"
        )
    assert caught.value.labels[0].text == "at i = 2"


def test_the_iteration_of_an_error_is_that_of_all_loops_around_it():
    text = "for i in range(2):\n  for j, row in enumerate([5, 6]):\n    y = [1, 2, 3][i + 2*j]"
    with pytest.raises(AgradError) as caught:
        Session().run(text)
    assert caught.value.labels[0].text == "at i = 1, j = 1, row = 6"


def test_a_gradient_that_was_told_of_is_shown_without_a_note():
    session, notes = notes_of("var x = [0, 1]; backward sum(sqrt(x)*0)")
    heard = []
    session.run("x.grad\nprint x.grad", heard.append)
    assert len(notes) == 1
    assert not [result for result in heard if isinstance(result, Noted)]


def test_a_gradient_is_not_old_after_a_step():
    _, notes = notes_of("var w = [2, 3]; backward sum(w**2); step sgd w lr=0.1\nw.grad\nprint w.grad")
    assert notes == []


def test_a_nan_that_is_added_to_is_told():
    session, _ = notes_of("var x = [0, 1]; backward sum(sqrt(x)*0)")
    heard = []
    session.run("backward sum(x**2)", heard.append)
    assert heard[0].note.message == "x.grad is still inf or nan: a backward adds to what was there"
    assert heard[0].note.fixes == ["zero_grad x"]
    session.run("zero_grad x\nbackward sum(x**2)", heard.append)
    assert len(heard) == 1


def test_what_shows_the_steps_shows_them_where_anomalies_are_errors():
    session = Session()
    session.run("torch.autograd.set_detect_anomaly(True)\nvar x = [0, 1]; y = sum(sqrt(x)*0)")
    heard = []
    session.run("explain y", heard.append)
    assert "[inf, 0.5]" in heard[-1].text(session.settings)
    with pytest.raises(AgradError, match="0 \\* inf is nan"):
        session.run("backward y trace", heard.append)
    assert heard[-1].text(session.settings).endswith("x.grad would get [nan, 0]")
    assert session.names["x"].grad is None


def test_what_freed_a_graph_is_the_statement_not_a_line_of_the_function_it_calls():
    session = Session()
    session.run("def f(p):\n  q = p**2\n  return sum(q)\nvar w = [1, 2]; p = w*2\nf(p).backward()")
    with pytest.raises(AgradError) as caught:
        session.run("backward sum(p)")
    assert caught.value.labels[-1].origin.text == "f(p).backward()"


def test_a_quotient_by_a_sum_names_softmax():
    _, notes = notes_of("z = tensor([800, 0]); e = exp(z); s = e/e.sum()")
    assert notes[0].fixes == ["softmax(z, …), if e is exp(z): it does not overflow, and its sum is not 0"]


def test_an_entry_of_an_expression_is_written_with_brackets():
    _, notes = notes_of("var a = [1, 2]; backward sum(sqrt([0, 2]*a))")
    assert notes[0].message.endswith("is inf at ([0, 2]*a)[0] = 0")


def test_a_name_for_what_was_nan_before_gets_no_note():
    session, _ = notes_of("net = nn.Linear(1, 1)\nno_grad: net.weight[0, 0] = nan")
    heard = []
    session.run("for name, w in net.named_parameters(): print(name, w.isnan().any())", heard.append)
    assert not [result for result in heard if isinstance(result, Noted)]
    session.run("v = tensor([1, 2])\nv[0] = sqrt(-1)", heard.append)
    assert [result for result in heard if isinstance(result, Noted)]


MASKED = """
var x = [[1, 2], [3, 4]]
s = (x*2).masked_fill(tensor([[1, 0], [0, 0]]) == 0, -inf)
a = softmax(s*1, 1)
backward sum(a**2)
"""


def test_what_is_infinite_on_purpose_is_not_the_cause():
    _, notes = notes_of(MASKED)
    assert (
        notes[0].message
        == "softmax(s*1, 1) is nan in 2 of 4 entries, the first at [1, 0]: softmax of -inf alone is 0/0"
    )
    assert "-1e9" in notes[0].fixes[0]
    assert "masked_fill" not in "".join(note.message for note in notes)
    assert not notes_of(MASKED.replace("-inf", "-1e9"))[1]


@each(
    "text, said",
    [
        ("w, V = eigh(A); backward sum(V)", "the derivative of V is nan: the vectors of equal eigenvalues have none"),
        (
            "U, S, V = svd(A); backward sum(U)",
            "the derivative of U is nan: the vectors of equal singular values have none",
        ),
    ],
)
def test_a_decomposition_without_a_derivative_says_why(text, said):
    _, notes = notes_of(f"var A = eye(2)\n{text}")
    assert notes[-1].message == f"a gradient is inf or nan: {said}"


def test_a_leaf_that_came_in_is_told_by_its_first_nan():
    _, notes = notes_of("var x = [1, -inf, nan]\nbackward sum(log(abs(x)))")
    assert notes[-1].message == "a gradient is inf or nan: x[2] is nan already"


def test_a_matrix_without_a_factor_has_a_fix():
    with pytest.raises(AgradError) as caught:
        Session().run("K = ones(2, 2)\nL = cholesky(K)")
    assert caught.value.fixes == ["cholesky(A + 1e-6*eye(2))   where A is a covariance, singular by rounding"]
    Session().run("A = ones(2, 2)\nL = cholesky(A + 1e-6*eye(2))\nassert L @ L.T ~= A +- 2e-6")


def test_of_the_steps_of_a_loop_the_first_is_told():
    text = "var w = 2\nx = 1\nt = 0\nfor i in range(20):\n  x = x*w\n  t = t + exp(x)\nbackward t"
    _, notes = notes_of(text)
    assert notes[0].message == "a gradient is inf or nan: exp(x) is inf at x = 1024"  # 2**10
    assert notes[0].labels[0].text == "number 10 of the 20 times that it was computed"


def test_an_entry_of_a_gradient_that_was_told_of_gets_no_note():
    session, _ = notes_of("var x = [0, 1]; backward sum(sqrt(x)*0)")
    heard = []
    session.run("x.grad[0]\ny = x.grad*2", heard.append)
    assert not [result for result in heard if isinstance(result, Noted)]


def test_infinite_data_are_the_cause_of_what_is_infinite():
    _, notes = notes_of("var x = [1, 2]\ny = x*(log(x) - log(tensor([0, 1])))\nbackward sum(y)")
    assert notes[-1].message == "a gradient is inf or nan: log(tensor([0, 1]))[0] is -inf already"


def test_a_network_that_became_nan_is_told_once():
    text = (
        "class Net(nn.Module):\n  def __init__(self):\n    super().__init__()\n    self.one = nn.Linear(1, 1)\n"
        "  def forward(self, x):\n    return exp(1000*self.one(x)**2)\n"
        "net = Net(); opt = optim.SGD(net.parameters(), lr=1)\nx = ones(2, 1)*5\n"
        "for i in range(4):\n  opt.zero_grad()\n  loss = net(x).sum()\n  loss.backward()\n  opt.step()"
    )
    _, notes = notes_of(f"manual_seed(0)\n{text}")
    assert len(notes) == 1
    assert notes[0].labels[0].text == "at i = 0"
    assert "exp(" in notes[0].message


@each("called", ["x[m].mean()", "x[m].pow(2).mean()", "mean(x[m])", "x[m].std()"])
def test_a_mean_of_an_empty_mask_is_named(called):
    _, notes = notes_of(f"var x = [1, 2]; m = x > 5\nt = 0\nfor c in range(2): t = t + {called}")
    (note,) = notes
    name = "std" if "std" in called else "mean"
    assert note.message == f"{called} is nan: {name} of no entries"


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


def test_what_overflows_in_the_chain_is_no_derivative_of_one_step():
    _, notes = notes_of("var x = 1e-200; backward x*1e200*1e150")
    assert notes[0].message == "a gradient is inf or nan: the gradient through x*1e200 is inf at x = 1e-200"
