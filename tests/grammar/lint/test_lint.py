"""What is told of a script without running it: all that is certainly wrong, and nothing that may be right."""

from pathlib import Path

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, Span, render
from agrad.grammar.lint.lint import problems
from agrad.grammar.session.session import Session

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.ag"))

# A script in which each place marked with ‸ is wrong, and the kinds of these errors.
WRONG = [
    ("y = ‸sni(2)", "name"),
    ("x = 2\ny = x + ‸q", "name"),
    ("‸x + 1\nx = 2", "name"),
    ("x = 1\ndel x\n‸x", "name"),
    ("‸q + ‸r", "name name"),
    ("def f(x) = x + ‸q\ndef g(x):\n    return ‸r", "name name"),
    ("def f(x=‸q) = x", "name"),
    ("for i in ‸q: i", "name"),
    ("if 0: print ‸q\nelse: print ‸r", "name name"),
    ("while ‸q: pass", "name"),
    ('print f"{‸q:.3f}"', "name"),
    ("x = 2\nx[‸q] = ‸r", "name name"),
    ("‸q[0] = 1", "name"),
    ("‸q += 1", "name"),
    ("x, y = ‸q", "name"),
    ("no_grad: ‸q", "name"),
    ("time: ‸q", "name"),
    ("assert ‸q, ‸r", "name name"),
    ("y = 1 if 1 else ‸q", "name"),
    ("y = 0 and ‸q", "name"),
    ("y = 1 < 2 < ‸q", "name"),
    ("set ‸q = 3", "name"),
    ("grad ‸q", "name"),
    ("retain ‸q.grad", "name"),
    ("var x = 1\ny = x\nforward y with ‸q=3", "name"),
    ("step sgd ‸q lr=‸r", "name name"),
    ("var x = 1\nbackward x seed ‸q", "name"),
    ("check sin(‸q) wrt ‸r", "name name"),
    ("x = 2\n‸x.bakward()\n‸x.gard", "name name"),
    ("‸torch.sni(2)\n‸np.linalg.invv(2)", "name name"),
    ("‸sin(1, 2)\n‸sin()", "arity arity"),
    ("‸sum(2, foo=1)", "arity"),
    ("x = 2\n‸x.sum(1, 2, 3)\n‸x.item(1)\n‸x.backward(foo=1)", "arity arity arity"),
    ("‸torch.sum(2, foo=1)", "arity"),
    ("def f(x, y=2) = x\n‸f()\n‸f(1, 2, 3)\n‸f(1, z=3)\nf(1); f(1, 2); f(1, y=2)", "arity arity arity"),
    ("def f(x):\n    def g(y) = y\n    return ‸g() + g(x)", "arity"),
    ("def f(x) = ‸f()", "arity"),
    ("x = [[1]]\n‸(x + 1)[0] = 5", "type"),
    ("print ‸x.bar", "name"),
    ("x = 1\nprint ‸x.bar.baz", "name"),
    ("contour p*q for p in 0..1, q in 0..1\nplot sin(r) for r in 0..1\nprint ‸p, ‸q, ‸r", "name name name"),
    ("retain‸", "syntax"),
    ("‸break", "syntax"),
    ("‸1(2)\n‸'a'(3)\nx = 3\n‸x(4)", "type type type"),
    ("x = 3\nx = 'a'\ndef f(y) = ‸x(y)", "type"),
    ("var g = 1\n‸step foo g\nstep sgd g ‸zork=3", "name arity"),
    ("var h = 1\ngraph h as ‸zzz\nlimit zork=‸3", "name name"),
    ("fails ‸zork: 1", "syntax"),
    ("‸q\nload ‸'nofile.ag'\nk\n‸torch.sni(1)\n‸1(2)", "name file name type"),
    ("def f() = k\nif 1: load ‸'nofile.ag'\nk(2); sin(1, 2)", "file"),
    ("def f():\n    load ‸'nofile.ag'\nk", "file"),
    ("x = [1,\n2 ‸3\n]\ny = 2‸x", "syntax syntax"),
    ("x = ‸(1\ny = 2\n3‸z", "syntax syntax"),
    ("def f(x):\n    y = 2‸x\n    if x ‸= 3:\n        return 4‸z\n    else:\n        ‸?\n    return y", "syntax " * 4),
    ("for i in x ‸y:\n    if z ‸w: break\n    else: 2‸x\n3‸x", "syntax " * 4),
    ("if x:\n    y = ‸(1\n    z = 2\n2‸x", "syntax syntax"),
    ("x = 2*‸\ny = 1\nz = ‸= 3\ndef f(x):\n    return x ‸x\n", "syntax syntax syntax"),
    ("y = ‸(3\nx = 1", "syntax"),
    ("@torch.no_grad()\n@torch.no_grad()  # twice\n# a comment\ndef f(x):\n    return x\ny =‸ ", "syntax"),
    ("class A:\n    z = 1\nprint ‸z", "name"),
]

RIGHT = [
    "",
    "def f(x) = g(x)\ndef g(x) = k\nk = 2\nf(2)",
    "def f(n) = n if n < 2 else f(n - 1) + f(n - 2)\nf(5)",
    "for i in range(3):\n    if i > 0: print last\n    last = i",
    "i = 0\nwhile i < 3 and (i == 0 or last):\n    last = i\n    i += 1",
    "if 0: x = 1\nif 0: x",
    "if 0: print x\nx = 1",
    "fails name: nothing\nfails arity: sin(1, 2)",
    "x = 2\ndel x\nx = 3\nx",
    "if 0:\n    x = 2\n    del x\nx = 1\nif 0: del x\nx",
    "sin = 3\nsin",
    "def sin(x, y) = x + y\nsin(1, 2)",
    "def f(x) = x\ndef f(x, y) = x\nf(1, 2)",
    "f = sin\nf(1)",
    "def f(g) = g(1, 2, 3)\n",
    "def f(x):\n    sin = x\n    return sin(1, 2)\n",
    "a = b = 3\n(q, r), s = (a, b), 2\nq + r + s",
    "1 + 1\n_ + ans",
    "concat([[1], [2]]); stack(([1], [2]), axis=0); einsum('i,i->', [1], [2])",
    "import torch\nfrom torch.autograd import Variable\nx = Variable(torch.rand(1, 4), requires_grad=True)\nx.dim()",
    "x = torch.tensor([1.], dtype=torch.float32)\ny = torch.max(x, dim=0)\nx.sum(dim=0, keepdim=True)",
    "x = 2\nx.T; x.shape; x.grad_fn.next_functions",
    "np = [1, 2]\nnp.T; np.sum(1, 2, 3, 4)",
    "def outer(a):\n    def inner(b):\n        return a + b + c\n    c = 2\n    return inner(1)\nouter(1)",
    "quit\nnothing",
    "e + pi + inf + nan + tau",
    "x = 3\ndef x(y) = y\nx(4)",
    "x = 3\nx = cos\nx(4)",
    "def f() = sin(1)\nf()\nsin = 3",
    "def f(x) = x(1)\nx = 3\nf(cos)",
    "fails type: 1(2)",
    "var g = 1\nbackward g\nstep adam g lr=0.1 beta1=0.9\ngraph g as dot depth 1 from g\nlimit time=10 nodes=None",
]


def kinds(text, *names, name="a.ag"):
    return [problem.kind for problem in problems(Source(name, text, 1, True), names)]


def places(text):
    found = problems(Source("a.ag", text, 1, True))
    spans = [problem.labels[0].origin for problem in found]
    assert all(isinstance(span, Span) for span in spans)
    return [span.source.position(span.start) for span in spans], " ".join(problem.kind for problem in found)


@pytest.mark.parametrize(("marked", "expected"), WRONG)
def test_what_is_wrong_is_told_with_its_place(marked, expected):
    wanted, text = [], ""
    for part in marked.split("‸")[:-1]:
        text += part
        wanted.append((text.count("\n") + 1, len(text) - text.rfind("\n")))
    assert places(marked.replace("‸", "")) == (wanted, expected.strip())


@pytest.mark.parametrize("text", RIGHT)
def test_nothing_is_said_of_what_may_be_right(text):
    assert kinds(text) == []


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_nothing_is_said_of_the_examples(file):
    assert kinds(file.read_text(encoding="utf-8"), "args", name=str(file)) == []


def test_the_next_line_is_not_the_arguments_of_a_call():
    (problem,) = problems(Source("a.ag", "print x\n(1)", 1, True))
    assert problem.message == "x has no value"


def test_lines_are_counted_by_all_of_their_ends():
    assert places('x = """\r"""\r\n' + "y = \n") == ([(3, 4)], "syntax")


def test_names_that_are_given_are_known():
    assert kinds("lr + args[0]", "lr", "args") == []
    assert kinds("lr + args[0]", "lr") == ["name"]


def test_a_message_is_that_of_a_run():
    texts = (
        "1(2)",
        "x = 3\nx(4)",
        "var g = 1\nstep foo g",
        "var h = 1\ngraph h as zzz",
        "limit zork=3",
        "fails zork: 1",
    )
    for text in (*texts, "y = sni(2)", "q", "sum(2, foo=1)", "def f(x) = x\nf()", "x = 1\nx.bakward()", "torch.sni(1)"):
        (told,) = problems(Source("a.ag", text, 1, True))
        with pytest.raises(AgradError) as ran:
            Session().run(text, source="a.ag", is_file=True)
        assert (told.kind, told.message, told.fixes) == (ran.value.kind, ran.value.message, ran.value.fixes)


def test_scripts_that_are_loaded_are_checked_as_well(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.ag").write_text("def f(x) = x\nload 'b.ag'\nq\n")
    (tmp_path / "lib" / "b.ag").write_text("k = 1\nf()\n")
    main = str(tmp_path / "main.ag")
    found = problems(Source(main, 'load "lib/a.ag"\nload "lib/a.ag"\nf(k)\nr\n', 1, True))
    lib = str(tmp_path / "lib")
    assert [(problem.labels[0].origin.source.name, problem.kind) for problem in found] == [
        (main, "name"),
        (f"{lib}/a.ag", "name"),
        (f"{lib}/b.ag", "arity"),
    ]


def test_what_a_function_loads_is_known_everywhere(tmp_path):
    (tmp_path / "a.ag").write_text("k = 1\n")
    assert kinds("def f():\n    load 'a.ag'\nf()\nk", name=str(tmp_path / "main.ag")) == []


def test_a_script_that_is_missing_or_loads_itself(tmp_path):
    main = tmp_path / "main.ag"
    main.write_text("load 'main.ag'\n")
    assert kinds("load 'nope.ag'\nk", name=str(main)) == ["file"]
    (found,) = problems(Source(str(main), main.read_text(), 1, True))
    assert found.message == f"{main} would load itself: {main} -> {main}"
    assert kinds("load 'nope.ag'\nx = = 2\n", name=str(main)) == ["syntax"]


def test_a_script_that_loads_what_cannot_be_read_hides_names(tmp_path):
    (tmp_path / "a.ag").write_text("load 'b.ag'\nq\n")
    (tmp_path / "b.ag").write_text("k = 2x\n")
    found = problems(Source(str(tmp_path / "main.ag"), "p\nload 'a.ag'\nr\n1(2)\n", 1, True))
    assert [(problem.kind, problem.labels[0].origin.where) for problem in found] == [
        ("name", "line 1"),
        ("type", "line 4"),
        ("syntax", "line 1"),
    ]


def test_nothing_runs(tmp_path):
    text = f'x = zeros(1e12)\nwhile 1: pass\nvar v = 1\ngraph v to "{tmp_path}/a.dot"\nload_csv("nowhere.csv")\n'
    assert kinds(text) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_long_and_deep_scripts_are_checked_too():
    assert kinds("x = 1\n" + "x = x + 1\n" * 5000 + "y = x" + " + x" * 20000) == []
    assert kinds("y = " + "(" * 2000 + "q" + ")" * 2000) == ["name"]
    assert kinds("".join("  " * depth + "if 1:\n" for depth in range(200)) + "  " * 200 + "q") == ["limit"]
    assert kinds("x = (\n" + "y = 1\n" * 3000) == ["syntax"]
    assert len(kinds("q\n" * 3000)) == 3000
    assert len(kinds("2x\n" * 3000)) == 3000
    assert len(kinds("def f():\n" + "  2x\n" * 300)) == 50


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x == 2", "2"),
        ("y = 1; x == 2*y + 1  # one", "2*y + 1"),
        ("x == (1 +\n  2)", "1"),
        ("x == y == 2", "1"),
        ("x == 2 and 1", "1"),
        ("assert x == 2", "1"),
        ("2 == x", "1"),
        ('x == "a;b"', "1"),
    ],
)
def test_a_name_that_is_compared_may_be_meant_to_get_the_value(text, value):
    assert problems(Source("a.ag", text, 1, True))[0].fixes == [f"give it one: x = {value}"]


@pytest.mark.parametrize("word", "grad forward graph step retain info set var check time fails".split())
def test_a_command_without_its_operand_is_wrong_behind_its_word(word):
    with pytest.raises(AgradError) as caught:
        Session().run(f"x = 1\n{word}  # and what?\n", source="a.ag", is_file=True)
    assert render(caught.value).startswith(f"a.ag:2:{len(word) + 1}: error[syntax]: `{word}` is written ")
