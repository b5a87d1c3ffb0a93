"""The table of names that PyTorch, NumPy and Python have, beside what is installed."""

import warnings
from pathlib import Path

import pytest
from rows import each

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.grammar.pytorch import CONSTANTS, names
from agrad.grammar.session.session import Session

ROOT = Path(__file__).parents[3]
USUAL = {"np": "numpy"}


TABLE = names.table()
# Releases of NumPy and PyTorch differ in these.
OF_SOME_RELEASES = {"long", "bool", "concat", "pow", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh"} | {
    "cross", "diagonal", "matmul", "outer", "trace",
}  # fmt: skip


@each("prefix", TABLE)
def test_the_names_are_those_of_the_library(prefix):
    head, _, rest = prefix.partition(".")
    module = pytest.importorskip(USUAL.get(head, head))
    for part in rest.split(".") if rest else ():
        module = getattr(module, part)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        missing = {name for name in TABLE[prefix] if not hasattr(module, name)}
    assert missing <= OF_SOME_RELEASES


@each("prefix", TABLE)
def test_each_name_of_the_table_is_read_and_is_what_it_says(prefix):
    for name, here in TABLE[prefix].items():
        found = names.function(prefix, name) or names.constant(prefix, name)
        assert found is not None, name
        if here in FUNCTIONS and "(" not in here:
            assert found in (FUNCTIONS[here].call, names.constant(prefix, name)), name
        else:
            assert here in CONSTANTS or here == "float64" or callable(found), name


def test_the_page_has_each_name_of_the_table():
    page = (ROOT / "docs" / "pytorch.md").read_text("utf-8").partition("## Other names")[0]
    for prefix, there in TABLE.items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{prefix}` | `")]
        assert [name for name in there if f"`{name}`" not in row] == []


@each(
    "line",
    ["from torch import {}", "from torch.nn.functional import {}", "from numpy import sin, {}", "from math import {}"],
)
@each("use", ["{}(2)", "print {} + 1", "def f(x) = {}(x)\nf(2)"])
def test_a_name_that_a_module_does_not_have_is_noted_where_it_is_imported_and_not_defined_by_a_fix(line, use):
    session, notes = Session(), []
    module = line.split()[1]
    session.run(line.format("frob"), lambda result: notes.append(result.note.message))
    assert notes == [f"agrad has no {module}.frob"]
    with pytest.raises(AgradError, match=f"^frob comes from {module}, and agrad has nothing of it") as caught:
        session.run(use.format("frob"))
    assert not caught.value.fixes
    session.run("frob = 3; frob")


@each(
    "line, use",
    [
        ("from torch import linalg", "linalg.norm([3, 4]) == 5"),
        ("from torch.nn import functional", "functional.relu(-2) == 0"),
        ("from numpy import linalg, sin", "linalg.det(eye(2)) == 1"),
    ],
)
def test_the_fix_of_an_imported_module_spells_it_out(line, use):
    session = Session()
    session.run(line)
    with pytest.raises(AgradError, match="an import gives no names to modules") as caught:
        session.run(f"assert {use}")
    session.run(caught.value.fixes[0])


def test_what_a_pasted_script_imports_is_known():
    names = "Tensor device no_grad manual_seed float32 nn optim autograd relu".split()
    session, notes = Session(), []
    session.run(f"from torch import {', '.join(names)}", notes.append)
    session.run("from torch.nn import functional as F, Module, Linear; from torch.optim import SGD", notes.append)
    session.run(
        "from torch.utils.data import DataLoader; from numpy import array, pi; from math import tau", notes.append
    )
    assert not notes
