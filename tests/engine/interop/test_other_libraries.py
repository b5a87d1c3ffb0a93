"""agrad beside the real other libraries, which an environment of their own has: see `others`."""

import json
import re
import shutil
from pathlib import Path

import others
import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.long


@pytest.fixture
def script(tmp_path):
    shutil.copy(HERE / "typed_script.txt", tmp_path / "script.py")
    settings = {"extraPaths": [str(others.ROOT / "build/types")], "typeCheckingMode": "strict", "pythonVersion": "3.11"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    return tmp_path


CHECKERS = ["mypy", "pyright", "basedpyright"]  # of which pyright is fetched by npm when it first runs


def wrong_lines(checker, folder, name):
    """The numbers of the lines of a file in which a checker, strict, finds an error."""
    if checker == "mypy":
        told = others.run("-m", "mypy", "--strict", name, cwd=folder).stdout
        return {int(line.split(":")[1]) for line in told.splitlines() if ": error:" in line}
    done = others.run(checker, "--pythonpath", others.python(), "--outputjson", name, cwd=folder)
    if not done.stdout.lstrip().startswith("{"):
        pytest.skip(f"no {checker}: {done.stderr.strip().splitlines()[-1]}")
    told = json.loads(done.stdout)["generalDiagnostics"]
    return {one["range"]["start"]["line"] + 1 for one in told if one["severity"] == "error"}


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_script_of_a_user_is_typed(script, checker):
    assert len((script / "script.py").read_text("utf-8").splitlines()) >= 100
    assert wrong_lines(checker, script, "script.py") == set()


def test_a_script_of_a_user_runs(script):
    done = others.run("script.py", cwd=script, check=True)
    assert "array([0.99" in done.stdout or "array([1." in done.stdout


@pytest.mark.parametrize("checker", CHECKERS)
def test_misspellings_are_errors_of_types(script, checker):
    wrong = (
        "w.sinn() ag.sinn(1.0) ag.mean(w,axs=0) w.sum(axs=0) ag.sin(w,2) ag.Tensor() w.shap engine.sinn(1.0)".split()
    )
    head = ["import agrad as ag", "import agrad.engine as engine", "w = ag.tensor([1.0, 2.0])"]
    (script / "wrong.py").write_text("\n".join([*head, *(f"print({line})" for line in wrong), ""]))
    assert wrong_lines(checker, script, "wrong.py") == set(range(4, 4 + len(wrong)))


def test_the_recipes_for_other_libraries_hold_there(tmp_path):
    text = (others.ROOT / "docs/libraries.md").read_text("utf-8")
    (tmp_path / "recipes.txt").write_text("".join(re.findall(r"^```pycon\n(.*?)^```", text, re.MULTILINE | re.DOTALL)))
    done = others.run("-m", "doctest", tmp_path / "recipes.txt")
    assert (done.stdout, done.stderr) == ("", "")
