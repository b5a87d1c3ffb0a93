"""What make runs, and in which environment: that of a user stays as a user has it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch_wheel
from mutants import read
from rows import each

ROOT = Path(__file__).parents[1]
TARGETS = re.findall(r"^# make (\w+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
# What a make that runs the tests hands on: its options, and the variables that it was given.
HANDED_ON = re.compile("MAKE.*|MFLAGS|PYTHON|TESTS|BOUNDS|CASES|ONLY")
needs_make = pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")


def commands(*words):
    """What make would run, if nothing were there yet."""
    kept = {name: text for name, text in os.environ.items() if not HANDED_ON.fullmatch(name)}
    command = ["make", "--always-make", "--dry-run", *words]
    return subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, check=True).stdout


@needs_make
@each("target", "test long check format explore docs site".split())
def test_tools_and_extras_stay_out_of_the_environment_of_a_user(target):
    made = commands(target)
    assert ".venv" not in made
    assert re.search(r"build/venv-test/bin/python -m pip install .*--editable '\.\[(test|dev|site)\]'", made)
    assert made.count("pip install") == 1


@needs_make
def test_every_test_is_run_by_make_test_or_make_long_and_each_names_its_slowest():
    for target, marked in [("test", "'not long'"), ("check", "'not long'"), ("long", "long")]:
        (run,) = re.findall(r"-m pytest (.*?)(?:;|$)", commands(target), re.MULTILINE)
        assert run.endswith(f" -m {marked}")
        assert "--durations=10" in run
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    assert re.findall(r"^(?:\w+=\w+ )?make .*?(\w+)$", ci, re.MULTILINE) == (
        ["check", "beside", "dist", "site", "run", "test", "long"]
    )


@needs_make
def test_the_environment_of_a_user_has_no_extras_and_another_python_environments_of_its_own():
    made = commands("run")
    assert "build/venv" not in made
    assert re.findall(r"pip install .*", made) == ["pip install --quiet --disable-pip-version-check --editable ."]
    assert "python3.13 -m venv build/venv-3.13\n" in commands("run", "PYTHON=python3.13")
    assert "python3.13 -m venv build/venv-test-3.13\n" in commands("test", "PYTHON=python3.13")


@needs_make
def test_the_tests_beside_pytorch_have_an_environment_of_their_own():
    made = commands("beside")
    assert "if build/venv-beside/bin/python tests/support/torch_wheel.py; then" in made
    assert re.search(r"build/venv-beside/bin/python -m pip install .*--editable '\.\[beside\]'", made)
    (tests,) = re.findall(r"build/venv-beside/bin/python -m pytest (.*);", made)
    asks = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(r'importorskip\("torch|find_spec\("torch', path.read_text("utf-8"))
    ]
    assert asks
    assert set(asks) - set(tests.split()) <= {"tests/test_makefile.py"}


@each("names, said", [
    (["torch", "sympy"], ""),
    (["torch", "nvidia-cublas", "triton"], "pip would install CUDA with it (2 packages)"),
    (None, "pip finds no wheel of it: No matching distribution"),
])  # fmt: skip
def test_pytorch_is_installed_only_without_cuda(names, said):
    report = None if names is None else {"install": [{"metadata": {"name": name}} for name in names]}
    assert torch_wheel.reason(report, "No matching distribution").startswith(said)
    assert bool(torch_wheel.reason(report)) is bool(said)
    assert torch_wheel.requirement() == "torch==2.13.0"


@needs_make
def test_the_lower_bounds_are_tested_in_an_environment_of_their_own():
    made = commands("bounds")
    assert "tests/support/lowest.py > build/lowest.txt" in made
    installed = re.search(r"build/venv-bounds/bin/python -m pip install .*", made)[0]
    assert "--constraint build/lowest.txt" in installed
    assert "build/venv-bounds/bin/python -m pytest" in made


@needs_make
def test_distributions_are_built_checked_and_installed_into_empty_environments():
    made = commands("dist")
    assert re.search(r"build/venv-dist/bin/python -m pip install .*--editable '\.\[dist\]'", made)
    steps = ["-m build", "twine check --strict", "check-wheel-contents", "tests/support/installed.py dist/*.whl"]
    places = [made.index(step) for step in steps]
    assert places == sorted(places)
    assert "installed.py dist/*.whl --each" in commands("installs")
    assert ".venv" not in made


@needs_make
@each("target", TARGETS)
def test_the_files_that_make_names_exist(target):
    place = r"(?:^|[\s=])((?:tests|docs|bench|examples|cli|grammar|engine)(?:/[\w.-]+)+)"
    assert [path for path in re.findall(place, commands(target)) if not (ROOT / path).exists()] == []


def test_every_target_is_described_and_every_description_has_one():
    rules = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(TARGETS) == rules - {"types"}
    told = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert [target for target in TARGETS if f"make {target}" not in told] == ["clean"]


def test_the_list_of_mutants_reads_and_most_of_them_are_noticed():
    ends = [end for *_, end in read() if end != "spare"]
    assert len(ends) == 300
    assert sum(end.startswith("killed by ") for end in ends) >= 255
