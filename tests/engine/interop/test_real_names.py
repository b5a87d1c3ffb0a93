"""The table of names that PyTorch, NumPy and Python have, beside what is installed."""

import warnings

import pytest

from agrad.engine.errors import AgradError
from agrad.engine.interop import real_names
from agrad.grammar.session.session import Session

USUAL = {"np": "numpy"}


@pytest.mark.parametrize("prefix", real_names.modules())
def test_the_names_are_those_of_the_library(prefix):
    head, _, rest = prefix.partition(".")
    module = pytest.importorskip(USUAL.get(head, head))
    for part in rest.split(".") if rest else ():
        module = getattr(module, part)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # releases of NumPy differ in the names of types, and NumPy 2 has new ones
        missing = [name for name in real_names.names_in(prefix) if not hasattr(module, name)]
    assert set(missing) <= {"long", "bool", "matrix_transpose", "vecdot", "concat", "permute_dims", "pow"} | {
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cross", "diagonal", "matmul", "outer", "trace",
    }  # fmt: skip


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
