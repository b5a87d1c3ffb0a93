"""docs/architecture.md: the changes that it shows can be applied, and do what it says; the files it names exist."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patches import apply, changes
from thinned import thinned

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FLOORS = ("cli", "grammar", "engine")
EXAMPLES = {part.split("\n")[0]: part for part in re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]}
BLOCK = re.compile(r"^```(console|agrad|pycon)\n(.*?)^```", re.MULTILINE | re.DOTALL)
REPLAY = "import sys; from transcript import replayed; sys.stdout.write(replayed(sys.stdin.read()))"
DOCTEST = """
import doctest, sys
lines = doctest.DocTestParser().get_doctest(sys.stdin.read(), {}, "docs/architecture.md", None, 0)
runner = doctest.DocTestRunner()
runner.run(lines)
assert runner.tries
"""
COMPLETE = """
import sys
from agrad.grammar.help.completion import completions
from agrad.grammar.session.session import Session
print(*(candidate.text for candidate in completions(sys.argv[1], Session())[1]))
"""


@pytest.fixture
def changed(tmp_path, request):
    """A copy of the source with a change of the page in it: where it is, and the environment to run it in."""
    for floor in FLOORS:
        shutil.copytree(ROOT / floor, tmp_path / "agrad" / floor, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "cli" / "package" / "__init__.py", tmp_path / "agrad")
    for file, hunks in changes(EXAMPLES[request.param]):
        apply(tmp_path / "agrad", file, hunks)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "agrad").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m agrad.cli "$@"\n', "utf-8")
    (tmp_path / "bin" / "agrad").chmod(0o755)
    found = {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "tests" / "support")]),
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    place = {"cwd": tmp_path, "env": os.environ | found, "text": True, "capture_output": True}
    if "`make table`" in EXAMPLES[request.param]:
        for name in ("grammar_table", "operations_index"):
            maker = ROOT / "tests" / "support" / f"{name}.py"
            subprocess.run([sys.executable, maker, tmp_path / "agrad"], check=True, **place)
    return place


def answers(kind, lines, place):
    """What comes out of a block: of commands of a shell, of a session, or of Python, whose answers doctest compares."""
    if kind == "agrad":
        done = subprocess.run([sys.executable, "-c", REPLAY], input=lines, **place)
        return done.stdout or done.stderr
    if kind == "pycon":
        done = subprocess.run([sys.executable, "-c", DOCTEST], input=lines, **place)
        return done.stdout + done.stderr or lines
    written = []
    for command in re.findall(r"^\$ (.*)$", lines, re.MULTILINE):
        done = subprocess.run(["sh", "-c", f"{command} 2>&1"], **place)
        written.append(f"$ {command}\n{done.stdout}")
    return "".join(written)


@pytest.mark.skipif(os.name == "nt", reason="the examples are for a Unix shell")
@pytest.mark.parametrize(("changed", "example"), [(name, name) for name in EXAMPLES], indirect=["changed"])
def test_a_change_does_what_the_page_says(changed, example):
    blocks = BLOCK.findall(EXAMPLES[example])
    assert blocks
    for kind, lines in blocks:
        assert answers(kind, lines, changed) == lines


@pytest.mark.parametrize(
    ("changed", "typed", "word"),
    thinned(
        [
            ("An operation", "y = haver", "haversin"),
            ("A command", "leav", "leaves"),
            ("A command", "leaves d v", "value"),
        ],
        3,
    ),
    indirect=["changed"],
)
def test_completion_knows_the_new_word(changed, typed, word):
    done = subprocess.run([sys.executable, "-c", COMPLETE, typed], **changed)
    assert done.stdout.split() == [word], done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("changed", "tests", "word"),
    [
        ("An operation", "engine/autodiff/test_gradients.py", "test_rule"),
        ("A message", "grammar/syntax/test_syntax_errors.py", "example"),
        ("A command", "grammar/commands/test_registry.py", "command or options"),
        ("A backend", "engine/compile/test_compile_functions.py", "interpret"),
    ],
    indirect=["changed"],
)
def test_the_tests_of_the_table_find_the_change(changed, tests, word):
    options = ["-k", word, "-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", "-c", ROOT / "pyproject.toml"]
    done = subprocess.run([sys.executable, "-m", "pytest", ROOT / "tests" / tests, *options], **changed)
    assert re.search(r"^\d+ passed", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_change_says_how_many_files_it_takes(example):
    files = {file for file, _ in changes(EXAMPLES[example])}
    count = {"One file": 1, "Two files": 2, "Three files": 3}[
        re.search(r"(One|Two|Three) files?", EXAMPLES[example])[0]
    ]
    assert len(files) == count


def test_every_file_that_is_named_exists():
    named = set(re.findall(r"`((?:cli|grammar|engine|tests|docs|bench)/[\w./]+)`", PAGE))
    assert len(named) >= 10
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_the_map_names_the_folders_there_are():
    told = set(re.findall(r"^    (\w+)/ ", PAGE, re.MULTILINE))
    there = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")}
    assert told <= there
    assert there - told <= {"build", "dist", "agrad.egg-info"}
