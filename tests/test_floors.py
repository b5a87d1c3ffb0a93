"""cli -> grammar -> engine: each floor imports what lies below it, and nothing above."""

import ast
import re
import sys
import tomllib
from functools import partial
from pathlib import Path

from rows import each
from test_rooms import dotted

from agrad.engine import errors

ROOT = Path(__file__).parents[1]
FLOORS = {
    "engine": {"numpy", "wcwidth", "agrad.engine", "agrad.torch", "agrad.numpy"},  # its folders
    "grammar": {"lark", "agrad.engine", "agrad.grammar"},
    "cli": {"click", "prompt_toolkit", "agrad.engine", "agrad.grammar", "agrad.cli"},
}
# Folders that are loaded by, or for, other programs may import the libraries of those.
EXTRAS = {
    "cli/data/cluster.py": {"dask", "distributed"},
    "cli/integrations": {"pygments", "pygls", "lsprotocol", "ipykernel", "jupyter_client", "IPython", "papermill"},
}
# What cli may take from the engine: errors, types that it shows, numbers as text, the files that it reads, and the
# backends that are there.
FROM_ENGINE = """
    errors: AgradError Hint Label Note typed
    values: Array LOADING MANY Value format_bytes format_number format_shape format_value np
    extras: extra
    inspect.budget: budget
    inspect.json_values: plain plain_fields
    interop.notebook: framed given html_of of_parts pictures taken
    ops.data_files: load_matrix
    ops.solvers.least_squares: Fit Within fit
    ops.solvers.errors_in_x: METHODS at_true_values of_variance
    ops.solvers.fit_quality: COVERAGE Told derivatives of_points profile units_of
    ops.solvers.fitting: is_linear
    ops.solvers.losses: LOSSES Loss
    ops.solvers.refinement: of_linear
    ops.solvers.sums: Ask Sums joined summed
    compile.registry: AUTO CHOICES NATIVE REFERENCE described
    core.graph: Units
    core.op: FUNCTIONS
    core.tensor: Tensor
    autodiff.gradcheck: Finding
    struct: Struct
    units: shown
    units.quantity: Scale unit_of
    units.siunitx: macros
    units.unit: DIGITS name_of of_header without_zero
    text: Grid align as_name beside counted csv_lines display_width fit glued latex_name printable tables truncate wrap
    data.tables: Aggregates Column NAMES Piece WIDE Wanted as_text pyarrow require_pyarrow unreadable
    data.csv_tables: CsvTable TextForm
    data.formats: is_folder open_table require_files
    data.text_tables: ending_of
"""
FROM_ENGINE = (line.split(": ") for line in FROM_ENGINE.split("\n    ")[1:])
FROM_ENGINE = {f"agrad.engine.{module}": set(names.split()) for module, names in FROM_ENGINE}
FROM_ENGINE["agrad.engine.errors"] |= {one.__name__ for one in errors.Facts.__subclasses__()}
MODULES = [path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]


def imports(code):
    """Every module that the code imports, wherever it does so; `from .x` counts as a module called `.`"""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." if node.level else node.module
        elif name := dotted(node):
            yield name


def wrong_arrows(code, floor):
    allowed = FLOORS[floor]
    for name in imports(code):
        parts = name.split(".")
        package = ".".join(parts[:2]) if parts[0] == "agrad" else parts[0]
        if package not in allowed | {"agrad", "agrad.lazy"} and parts[0] not in sys.stdlib_module_names:
            yield name


@each("path", MODULES)
def test_a_floor_imports_only_what_lies_below(path):
    place = path.relative_to(ROOT).as_posix()
    others = {name for folder, names in EXTRAS.items() if place.startswith(folder) for name in names}
    found = wrong_arrows(path.read_text("utf-8"), place.partition("/")[0])
    assert [name for name in found if name.partition(".")[0] not in others] == []


in_engine, in_grammar, in_cli = (partial(wrong_arrows, floor=floor) for floor in ("engine", "grammar", "cli"))


def wrong_names(code):
    """What code imports from the engine and is not in FROM_ENGINE."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("agrad.engine"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("agrad.engine"):
            allowed = FROM_ENGINE.get(node.module, set())
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name not in allowed)
        elif (name := dotted(node)).startswith("agrad.engine."):
            module = max((one for one in FROM_ENGINE if name.startswith(f"{one}.")), key=len, default="")
            is_part = any(f"{one}.".startswith(f"{name}.") for one in FROM_ENGINE)  # what a longer name begins with
            if not is_part and name.removeprefix(f"{module}.").partition(".")[0] not in FROM_ENGINE.get(module, ()):
                yield name


@each("path", sorted((ROOT / "cli").rglob("*.py")))
def test_the_terminal_computes_nothing_itself(path):
    assert path.parent.name == "package" or list(wrong_names(path.read_text("utf-8"))) == []  # which has the engine's


@each("wrong, code", [
    (wrong_names, "import agrad.engine"),
    (wrong_names, "import agrad.engine.errors"),
    (wrong_names, "from agrad.engine import grad"),
    (wrong_names, "from agrad.engine.core.tensor import tensor"),
    (wrong_names, "def f():\n    from agrad.engine.compile import compile"),
    (wrong_names, "def f():\n    return agrad.engine.autodiff.transforms.grad"),
    (in_grammar, "def f():\n    return agrad.cli.main.read_text('a')"),
    (in_engine, "import agrad.grammar.syntax.parser"),
    (in_engine, "def f():\n    from agrad.cli import render"),
    (in_engine, "from lark import Lark"),
    (in_engine, "from ..grammar import parser"),
    (in_grammar, "from agrad.cli.main import main"),
    (in_grammar, "import numpy as np"),
    (in_grammar, "import click"),
    (in_cli, "import requests"),
])  # fmt: skip
def test_a_wrong_import_is_seen(wrong, code):
    assert list(wrong(code)) != []


def test_what_the_floors_need_is_required():
    """So `pip show agrad` lists these."""
    required = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    needed = {name for allowed in FLOORS.values() for name in allowed if not name.startswith("agrad.")}
    assert {re.split("[<>=]", line)[0] for line in required} == needed
    assert needed == {"numpy", "click", "prompt_toolkit", "wcwidth", "lark"}


def test_every_package_on_disk_is_installed():
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    names = {folder: package for package, folder in setup["package-dir"].items()}  # where another than on disk
    on_disk = [path.parent.relative_to(ROOT).as_posix() for path in MODULES if path.name == "__init__.py"]
    packages = {names.get(folder, f"agrad.{folder.replace('/', '.')}") for folder in on_disk}
    assert {*setup["packages"]} == packages | {"agrad.examples"}  # programs, without code
