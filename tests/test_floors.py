"""cli -> grammar -> engine: each floor imports what lies below it, and nothing above."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from agrad.engine import errors

ROOT = Path(__file__).parents[1]
FLOORS = {
    "engine": {"numpy", "agrad.engine"},
    "grammar": {"lark", "agrad.engine", "agrad.grammar"},
    "cli": {"click", "prompt_toolkit", "agrad.engine", "agrad.grammar", "agrad.cli"},
}
# Folders that are loaded by, or for, other programs may import the libraries of those.
EXTRAS = {
    "cli/data/cluster.py": {"dask", "distributed"},
    "cli/integrations": {"pygments", "pygls", "lsprotocol", "ipykernel", "jupyter_client", "IPython"},
}
# What cli may take from the engine: errors, types that it shows, numbers as text, the files that it reads, and the
# backends that are there.
FROM_ENGINE = {
    "agrad.engine.errors": {
        "AgradError",
        "Hint",
        "Label",
        "Note",
        *(one.__name__ for one in errors.Facts.__subclasses__()),
    },
    "agrad.engine.values": {
        "LOADING",
        "MANY",
        "Array",
        "Value",
        "format_bytes",
        "format_number",
        "format_shape",
        "format_value",
        "np",
    },
    "agrad.engine.lazy": {"Rows", "lazy", "pattern"},  # loading, which computes nothing
    "agrad.engine.extras": {"extra"},
    "agrad.engine.inspect.budget": {"budget"},
    "agrad.engine.inspect.budget_forms": {"fields"},
    "agrad.engine.inspect.json_values": {"plain"},
    "agrad.engine.interop.notebook": {"framed", "given", "html_of", "optional", "table", "taken"},
    "agrad.engine.ops.data_files": {"load_matrix"},
    "agrad.engine.ops.solvers.fit_forms": {"fields"},
    "agrad.engine.ops.solvers.fitting": {"Ask", "GROUP", "Sums", "fit", "joined", "summed"},
    "agrad.engine.compile.registry": {"AUTO", "CHOICES", "NATIVE", "REFERENCE", "described"},
    "agrad.engine.core.op": {"FUNCTIONS"},
    "agrad.engine.core.tensor": {"Tensor"},
    "agrad.engine.autodiff.gradcheck": {"Finding"},
    "agrad.engine.struct": {"Struct"},
    "agrad.engine.text": {
        "csv_lines",
        "display_width",
        "latex_name",
        "as_name",
        "align",
        "fit",
        "printable",
        "truncate",
    },
    "agrad.engine.data.tables": {
        "Aggregates",
        "Column",
        "NAMES",
        "Piece",
        "WIDE",
        "Wanted",
        "as_text",
        "pyarrow",
        "require_pyarrow",
        "unreadable",
    },
    "agrad.engine.data.csv_tables": {"CsvTable", "TextForm"},
    "agrad.engine.data.formats": {"files_of", "is_folder", "open_table"},
    "agrad.engine.data.text_tables": {"ending_of"},
}
MODULES = [path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]


def imports(code):
    """Every module that the code imports, wherever it does so; `from .x` counts as a module called `.`"""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." if node.level else node.module


def wrong_arrows(code, floor):
    allowed = FLOORS[floor]
    for name in imports(code):
        parts = name.split(".")
        package = ".".join(parts[:2]) if parts[0] == "agrad" else parts[0]
        if package not in allowed and parts[0] not in sys.stdlib_module_names:
            yield name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_floor_imports_only_what_lies_below(path):
    place = path.relative_to(ROOT).as_posix()
    others = {name for folder, names in EXTRAS.items() if place.startswith(folder) for name in names}
    found = wrong_arrows(path.read_text("utf-8"), place.partition("/")[0])
    assert [name for name in found if name.partition(".")[0] not in others] == []


def wrong_names(code):
    """What code imports from the engine and is not in FROM_ENGINE."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("agrad.engine"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("agrad.engine"):
            allowed = FROM_ENGINE.get(node.module, set())
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name not in allowed)


@pytest.mark.parametrize("path", sorted((ROOT / "cli").rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_terminal_computes_nothing_itself(path):
    assert list(wrong_names(path.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "code",
    [
        "import agrad.engine",
        "import agrad.engine.errors",
        "from agrad.engine import grad",
        "from agrad.engine.core.tensor import tensor",
        "def f():\n    from agrad.engine.compile import compile",
    ],
)
def test_a_function_of_the_engine_in_the_terminal_is_seen(code):
    assert list(wrong_names(code)) != []


@pytest.mark.parametrize(
    ("floor", "code"),
    [
        ("engine", "import agrad.grammar.syntax.parser"),
        ("engine", "def f():\n    from agrad.cli import render"),
        ("engine", "from lark import Lark"),
        ("engine", "from ..grammar import parser"),
        ("grammar", "from agrad.cli.main import main"),
        ("grammar", "import numpy as np"),
        ("grammar", "import click"),
        ("cli", "import requests"),
    ],
)
def test_a_wrong_arrow_is_seen(floor, code):
    assert list(wrong_arrows(code, floor)) != []


def test_what_the_floors_need_is_required():
    """So `pip show agrad` lists these."""
    required = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    needed = {name for allowed in FLOORS.values() for name in allowed if not name.startswith("agrad.")}
    assert {re.split("[<>=]", line)[0] for line in required} == needed == {"numpy", "click", "prompt_toolkit", "lark"}


def test_every_package_on_disk_is_installed():
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    names = {folder: package for package, folder in setup["package-dir"].items()}  # where another than on disk
    on_disk = [path.parent.relative_to(ROOT).as_posix() for path in MODULES if path.name == "__init__.py"]
    packages = {names.get(folder, f"agrad.{folder.replace('/', '.')}") for folder in on_disk}
    assert {*setup["packages"]} == packages | {"agrad.examples"}  # programs, without code
