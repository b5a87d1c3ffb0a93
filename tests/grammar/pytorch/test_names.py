"""The table of names that PyTorch, NumPy and Python have, beside what is installed."""

import warnings
from pathlib import Path

import pytest

from agrad.engine.core.op import FUNCTIONS
from agrad.engine.errors import AgradError
from agrad.grammar.pytorch import names
from agrad.grammar.pytorch.libraries import CONSTANTS
from agrad.grammar.session.session import Session

ROOT = Path(__file__).parents[3]
USUAL = {"np": "numpy"}


TABLE = names.table()
# Releases of NumPy and PyTorch differ in these.
OF_SOME_RELEASES = {"long", "bool", "concat", "pow", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh"} | {
    "cross", "diagonal", "matmul", "outer", "trace",
}  # fmt: skip


@pytest.mark.parametrize("prefix", TABLE)
def test_the_names_are_those_of_the_library(prefix):
    head, _, rest = prefix.partition(".")
    module = pytest.importorskip(USUAL.get(head, head))
    for part in rest.split(".") if rest else ():
        module = getattr(module, part)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        missing = {name for name in TABLE[prefix] if not hasattr(module, name)}
    assert missing <= OF_SOME_RELEASES


@pytest.mark.parametrize("prefix", TABLE)
def test_each_name_of_the_table_is_read_and_is_what_it_says(prefix):
    for name, here in TABLE[prefix].items():
        found = names.function(prefix, name) or names.constant(prefix, name)
        assert found is not None, name
        if here in FUNCTIONS and "(" not in here:
            assert found in (FUNCTIONS[here].call, names.constant(prefix, name)), name
        else:
            assert here in CONSTANTS or here == "float64" or callable(found), name


def test_the_page_has_each_name_of_the_table():
    page = (ROOT / "docs" / "pytorch.md").read_text("utf-8")
    for prefix, there in TABLE.items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{prefix}` | `")]
        assert [name for name in there if f"`{name}`" not in row] == []


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("torch.foo.sin(1)", "PyTorch has no torch.foo.sin", "torch.sin(1)"),
        ("torch.foo.bar.sin(1)", "PyTorch has no torch.foo.bar.sin", "torch.sin(1)"),
        ("y = torch.interp(1, [1, 2], [3, 4])", "PyTorch has no torch.interp", "y = np.interp(1, [1, 2], [3, 4])"),
        ("np.relu(1)", "NumPy has no np.relu", "torch.relu(1)"),
        ("math.softplus(1)", "Python has no math.softplus", "torch.nn.functional.softplus(1)"),
        ("torch.enumerate([1])", "PyTorch has no torch.enumerate", "enumerate([1])"),
        ("F.cat((1, 2))", "PyTorch has no F.cat", "torch.cat((1, 2))"),
        ("torch.sni(1)", "agrad has no torch.sni", "did you mean sin?"),
    ],
)
def test_a_name_that_is_not_there_is_an_error_with_the_one_that_is(text, message, fix):
    with pytest.raises(AgradError) as caught:
        Session().run(text)
    assert (caught.value.message, caught.value.fixes[0]) == (message, fix)


def test_the_real_ones_are_read():
    Session().run(
        "assert torch.sin(1) == np.sin(1); assert math.pi == torch.pi; assert F.relu(-1) == 0\n"
        "assert torch.nn.functional.relu(2) == 2; assert torch.linalg.inv([[2]]) == [[0.5]]; assert torch.special.erf(0) == 0"
    )
