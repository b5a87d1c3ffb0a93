"""What a start loads, and the root of the command line."""

import subprocess
import sys

import pytest

PROBE = """
import sys
from agrad.cli.main import main
try:
    main()
finally:
    heavy = {"numpy", "prompt_toolkit", "lark", "difflib", "importlib.metadata", "json"}
    heavy |= {"pandas", "scipy.optimize", "scipy.special", "pyarrow.dataset", "pyarrow.compute", "email.message"}
    heavy |= {"agrad.engine.autodiff.gradcheck", "agrad.grammar.help.help"}
    print(*sorted(heavy & set(sys.modules)), file=sys.stderr)
"""


def loaded(environment, *arguments):
    """The heavy modules that `agrad ARGUMENTS` has loaded by its end."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], input="", capture_output=True, text=True, env=environment
    )
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("arguments", [["--version"], ["eval", "--help"], ["--help"]])
def test_help_and_version_load_neither_numpy_nor_prompt_toolkit(environment, arguments):
    assert not {"numpy", "prompt_toolkit"} & loaded(environment, *arguments)


def test_the_version_does_not_load_the_language(environment):
    assert loaded(environment, "--version") == set()


def test_a_scalar_with_its_gradient_loads_no_numpy(environment):
    assert loaded(environment, "eval", "x**2*sin(x)", "x=2", "--wrt", "x") == {"lark"}


def test_what_others_import_and_a_calculation_does_not_use_is_not_run(environment):
    command = [sys.executable, "-X", "importtime", "-m", "agrad.cli", "eval", "x**2", "x=2", "--wrt", "x"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.stdout == "4\nd/dx = 4\n"
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "lark.lexer" in imported and not {"lark.load_grammar", "random", "lzma"} & imported


def test_a_module_that_is_loaded_lazily_is_there_when_it_is_used(environment):
    code = """
import sys
from agrad.cli import __main__ as started
sys.meta_path.insert(0, started.Finder)
import hashlib, tempfile
import hashlib
assert type(hashlib) is not type(started)
print(hashlib.sha256(b"").hexdigest()[:8], tempfile.gettempdir() != "", type(hashlib) is type(started))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout == "e3b0c442 True True\n", done.stderr


def test_a_check_on_scalars_loads_no_numpy_either(environment):
    assert not {"numpy", "agrad.grammar.help.help"} & loaded(environment, "check", "x**2*sin(x)", "x=2")


def test_an_array_does_load_numpy(environment):
    assert "numpy" in loaded(environment, "eval", "sum([1, 2])")


def test_a_piped_repl_does_not_load_prompt_toolkit(environment):
    assert "prompt_toolkit" not in loaded(environment, "repl")


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ("csv", ["fit", "y ~ a*exp(b*x)", "--over", "a=1,b=1"]),
        ("parquet", ["fit", "y ~ a*exp(b*x)", "--over", "a=1,b=1", "--json"]),
        ("csv", ["map", "x*y", "--wrt", "x"]),
        ("parquet", ["map", "x*y", "-o", "out.parquet"]),
    ],
)
def test_of_pyarrow_and_scipy_nothing_is_loaded_that_is_not_used(environment, tmp_path, monkeypatch, ending, words):
    pa = pytest.importorskip("pyarrow")
    csv, parquet = pytest.importorskip("pyarrow.csv"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"x": [0.0, 0.5, 1.0, 1.5], "y": [2.0, 2.6, 3.1, 4.2]})
    (csv.write_csv if ending == "csv" else parquet.write_table)(table, tmp_path / f"data.{ending}")
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("scipy")
    known = {"numpy", "lark", "difflib", "json"}
    assert not loaded(environment, words[0], words[1], f"data.{ending}", *words[2:]) - known
