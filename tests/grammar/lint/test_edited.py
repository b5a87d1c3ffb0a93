"""A script that is checked after each change: what is found is what a check from scratch finds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import each
from test_lint import RIGHT, WRONG

from agrad.grammar.diagnostics import Source
from agrad.grammar.lint import lint
from agrad.grammar.lint.lint import EditedScript, problems
from agrad.grammar.syntax.parser import parse

NAMES = ["args"]
LINES = [
    *(f"{text}\n" for text in ("x = 1", "y = x + 1", "print z", "f(1)", "z = 2", "z.foo", "del x", "quit", "x(2)")),
    "def f(x): return x + z\n",
    "def f(x, y) = x\n",
    "@torch.no_grad()\n# of f\ndef f(x):\n    return x\n",
    "class A(Module):\n    z = 3\n    def __init__(self): self.w = 1\n    def foo(self): return self.w\n",
    "if x:\n    del y\nelse:\n    z = 1\n",
    "with no_grad():\n    u = 1\n    quit\n",
    "fails name: foo\n",
    "x = [1,\n2]\n",
    '"""\nx = 1\n"""\n',
    "x = 1 + \\\n2\n",
    "import torch as t\n",
    'load "other.ag"\n',
    'load "nowhere.ag"\n',
    *(f"{marked.replace('‸', '')}\n" for marked, _ in WRONG),
    *(f"{text}\n" for text in RIGHT),
]
TYPED = ["", "x", "1", " ", "(", ")", "[", '"', "'", '"""', "@", ":", "#", "\n", "\n    ", "\n\n", "\\\n", "\r\n", "\f", "\r", "\ufeff", ">>> ", "é", "if ", "else:\n", "z = 5\n", "\nz = 5\n", *LINES]  # fmt: skip
SCRIPTS = st.lists(st.sampled_from(LINES), max_size=12).map("".join)
# Where to edit, as a part of the text; how many characters are replaced; by what.
EDITS = st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0, 0, 0, 1, 3, 20]), st.sampled_from(TYPED)), min_size=1, max_size=5)  # fmt: skip


def told(found):
    """All that is shown of errors, with their places."""

    def place(span):
        return span and (span.source.name, span.source.position(span.start), span.source.position(span.end))

    return [
        (problem.kind, problem.message, problem.notes, problem.fixes, place(problem.at), [(place(label.origin), label.text) for label in problem.labels])
        for problem in found
    ]  # fmt: skip


def agrees(script, name, text):
    assert told(script.problems(text)) == told(problems(Source(name, text, 1, True), NAMES)), text


def follow(name, text, edits):
    script = EditedScript(name, NAMES)
    agrees(script, name, text)
    for part, removed, typed in edits:
        place = round(part * len(text))
        text = text[:place] + typed + text[place + removed :]
        agrees(script, name, text)


@pytest.fixture(scope="module")
def name(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "other.ag").write_text("w = 2\nprint nothing\n")
    return str(folder / "a.ag")


@given(SCRIPTS, EDITS)
def test_edits_of_a_script_give_what_a_check_from_scratch_gives(name, text, edits):
    follow(name, text, edits)


@pytest.mark.long
@settings(max_examples=20)
@given(st.lists(st.sampled_from(LINES), min_size=100, max_size=150).map("".join), EDITS)
def test_edits_of_a_long_script_give_what_a_check_from_scratch_gives(name, text, edits):
    follow(name, text, edits)


def test_only_what_changes_is_read_and_checked_again(monkeypatch):
    lines = [f"x{number} = {number}\n" for number in range(500)]
    lines[250] = "def f(x): return x + unknown\n"
    script = EditedScript("a.ag", NAMES)
    text = "".join([*lines, "y = f(x3)\n", "f(1, 2)\n"])
    first = told(script.problems(text))
    read = []
    monkeypatch.setattr(lint, "parse", lambda source: read.append(source.text) or parse(source))
    assert len(script.problems(text.replace("x100 = 100", "x100 = (100)"))) == len(first)
    assert read == ["x100 = (100)\n"]
    read.clear()
    moved = script.problems(f"\n\n{text}")
    assert [problem.labels[0].origin.source.position(0)[0] for problem in moved] == [253, 504]


def test_a_change_of_a_definition_concerns_those_who_use_it():
    script = EditedScript("a.ag", NAMES)
    text = "def f(x) = x\n" + "a = 1\n" * 200 + "f(1)\nprint g\n"
    assert [problem.kind for problem in script.problems(text)] == ["name"]
    assert [problem.kind for problem in script.problems(text.replace("f(x)", "f(x, y)"))] == ["arity", "name"]
    (problem,) = script.problems(text.replace("a = 1", "gg = 1", 1))
    assert problem.fixes == ["give it one: g = 1"]
    (problem,) = script.problems(text.replace("a = 1", "G = 1", 1))
    assert problem.fixes == ["did you mean G?"]


def test_a_bracket_that_closes_far_below_is_no_mistake():
    script = EditedScript("a.ag", NAMES)
    text = "x = [\n" + "1,\n" * 100 + "1]\nprint y\n"
    for version in (text, text.replace("1]", "1")):
        agrees(script, "a.ag", version)


def test_a_file_that_is_loaded_may_change(tmp_path):
    script = EditedScript(str(tmp_path / "a.ag"), NAMES)
    (tmp_path / "b.ag").write_text("w = 2\n")
    assert script.problems('load "b.ag"\nprint w\n') == []
    (tmp_path / "b.ag").write_text("v = 2\n")
    assert [problem.kind for problem in script.problems('load "b.ag"\nprint w\n')] == ["name"]


@each("text", ["", "\n", "# only this", "  x = 1\ny = 2\n", "\ufeffx = 1\nprint y"])
def test_the_smallest_scripts(text):
    agrees(EditedScript("a.ag", NAMES), "a.ag", text)
