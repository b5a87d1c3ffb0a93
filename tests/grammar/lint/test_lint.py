"""What is told of a script without running it: all that is certainly wrong, and nothing that may be right."""

from pathlib import Path

import pytest
from answers import answers
from rows import each

from agrad.engine.errors import AgradError
from agrad.grammar.diagnostics import Source, Span, render
from agrad.grammar.lint.lint import problems
from agrad.grammar.session.session import Session

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.ag"))

# A script in which each place marked with ‸ is wrong, and the kinds of these errors.
WRONG = list(answers(Path(__file__).with_name("wrong.txt")).items())

RIGHT = list(answers(Path(__file__).with_name("right.txt")))


def kinds(text, *names, name="a.ag"):
    return [problem.kind for problem in problems(Source(name, text, 1, True), names)]


def places(text):
    found = problems(Source("a.ag", text, 1, True))
    spans = [problem.labels[0].origin for problem in found]
    assert all(isinstance(span, Span) for span in spans)
    return [span.source.position(span.start) for span in spans], " ".join(problem.kind for problem in found)


@each("marked, expected", WRONG)
def test_what_is_wrong_is_told_with_its_place(marked, expected):
    wanted, text = [], ""
    for part in marked.split("‸")[:-1]:
        text += part
        wanted.append((text.count("\n") + 1, len(text) - text.rfind("\n")))
    assert places(marked.replace("‸", "")) == (wanted, expected.strip())


@each("text", RIGHT)
def test_nothing_is_said_of_what_may_be_right(text):
    assert kinds(text) == []


@each("file", EXAMPLES)
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
    assert kinds("load 'nope.ag'\nx = = 2\n", name=str(main)) == ["file", "syntax"]


def test_a_line_that_cannot_be_parsed_hides_the_names_in_it_alone(tmp_path):
    (tmp_path / "a.ag").write_text("load 'b.ag'\nq\n")
    (tmp_path / "b.ag").write_text("k = 2 3\n")
    found = problems(Source(str(tmp_path / "main.ag"), "p\nload 'a.ag'\nr\n'a'(2)\n", 1, True))
    assert [(problem.kind, problem.labels[0].origin.where) for problem in found] == [
        ("name", "line 1"),
        ("name", "line 3"),
        ("type", "line 4"),
        ("name", "line 2"),
        ("syntax", "line 1"),
    ]


@each(
    "text, expected",
    [
        ("print p\nx = = y\nprint x, y, q\nsin(1, 2)", "name syntax name arity"),
        ("def f(a:\n    b = 1\nprint f, b, c", "syntax name"),
        ("x = 2 3; load 'a.ag'\nq", "syntax"),
        ('y = 1\ns = """a\nb c d\n', "syntax syntax"),
        (
            "import math\nx = )\nprint(x, y)\nfor i in x:\nprint(i)\ntry:\n    z = 1\nw = 2\nv",
            "syntax name syntax syntax name",
        ),
        ('import math\nx = y\ns = """a\nb c d\n', "name syntax"),
        ("print a\nx = = 2\nimport math\nprint(x, b)\ny = )", "name syntax name syntax"),
    ],
)
def test_syntax_errors_hide_no_other_errors(text, expected):
    assert " ".join(kinds(text)) == expected


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
    assert len(kinds("2 3\n" * 3000)) == 3000
    assert len(kinds("def f():\n" + "  2 3\n" * 300)) == 50


@each(
    "text, value",
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


@each("word", "grad forward graph step retain info var check time fails".split())
def test_a_command_without_its_operand_is_wrong_behind_its_word(word):
    with pytest.raises(AgradError) as caught:
        Session().run(f"x = 1\n{word}  # and what?\n", source="a.ag", is_file=True)
    assert render(caught.value).startswith(f"a.ag:2:{len(word) + 1}: error[syntax]: `{word}` is written ")


def test_a_line_that_cannot_be_parsed_hides_no_unit():
    found = problems(Source("f.ag", "unit EUR\nprint 2 3 4\nprint 5 EUR/kg\n", 1, True))
    assert [problem.labels[0].origin.where for problem in found] == ["line 2"]
