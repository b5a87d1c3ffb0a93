"""Every program in examples/ runs to its end: they assert what they compute."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from answers import answers
from rows import each

from agrad.grammar.session.session import Session

FOLDER = Path(__file__).parent.parent / "examples"
EXAMPLES = sorted(FOLDER.glob("*.ag"))


@each("file", EXAMPLES)
def test_example(file):
    Session().run(file.read_text(encoding="utf-8"), source=str(file), is_file=True)


SCRIPTS = {name: f"{lines}\n" for name, lines in answers(Path(__file__).with_name("examples.txt")).items()}


def test_every_script_has_its_output():
    assert {file.stem for file in FOLDER.glob("*.py")} == set(SCRIPTS)


@each("name", SCRIPTS)
def test_a_script_for_pytorch_runs_in_agrad(name, monkeypatch):
    monkeypatch.chdir(FOLDER)
    session, lines = Session(), []
    file = FOLDER / f"{name}.py"
    text = file.read_text(encoding="utf-8")
    session.run(text, lambda result: lines.append(result.text(session.settings)), source=str(file), is_file=True)
    assert "".join(f"{line}\n" for line in lines) == SCRIPTS[name]


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@each("name", SCRIPTS)
def test_a_script_prints_the_same_in_torch(name):
    assert subprocess.check_output([sys.executable, f"{name}.py"], cwd=FOLDER, text=True) == SCRIPTS[name]
