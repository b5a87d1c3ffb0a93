"""Methods that mean something else in PyTorch: after `import torch` they are PyTorch's, and agrad's before."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

X = "x = tensor([[1, 5], [3, 4]])\n"

# (in PyTorch, without the import)
MEANINGS = {
    "x.std()": ("1.707825128", "1.479019946"),
    "x.var(0)": ("[2, 0.5]", "[1, 0.25]"),
    "x.std(dim=1, unbiased=False)": ("[2, 0.5]", None),
    "x.var(False)": ("2.1875", None),
    "x.max(1)": ("([5, 4], [1, 1])", "[5, 4]"),
    "x.max(dim=0, keepdim=True)": ("([[3, 5]], [[1, 0]])", "[[3, 5]]"),
    "x.min(0).values": ("[1, 4]", None),
    "x.min(0).indices": ("[0, 1]", None),
    "x.max(1)[1]": ("[1, 1]", "4"),
    "x.max()": ("5", "5"),
    "x.max(axis=1)": ("[5, 4]", "[5, 4]"),
    "x.sort(1)": ("([[1, 5], [3, 4]], [[0, 1], [0, 1]])", "[[1, 5], [3, 4]]"),
    "x.norm(1)": ("13", "9"),
    "len(arange(6).split(2))": ("3", "2"),
    "x.equal(x)": ("True", "[[1, 1], [1, 1]]"),
    "x.repeat(2, 1)": ("[[1, 5], [3, 4], [1, 5], [3, 4]]", "[[1, 1, 5, 5], [3, 3, 4, 4]]"),
    "tensor([1, 2]).repeat((2, 1))": ("[[1, 2], [1, 2]]", None),
    "x.median()": ("3", "3.5"),
    "'a b'.split()": ("['a', 'b']", "['a', 'b']"),
}


def shown(text):
    session, said = Session(), []
    session.run(text, lambda result: said.append(result.text(session.settings)))
    return "".join(said[-1].split("\n")).replace(",  [", ", [").replace(", [", ", [")


@pytest.mark.parametrize("import_", ["import torch", "import torch.nn as nn", "from torch import nn"])
@pytest.mark.parametrize("line", MEANINGS)
def test_after_the_import_a_method_is_that_of_pytorch(line, import_):
    assert shown(f"{import_}\n{X}{line}") == MEANINGS[line][0]


@pytest.mark.parametrize("line", [line for line, (_, ours) in MEANINGS.items() if ours is not None])
def test_before_it_is_agrads(line):
    assert shown(f"{X}{line}") == MEANINGS[line][1]
    assert shown(f"import numpy as np\n{X}{line}") == MEANINGS[line][1]


def test_it_is_also_in_loops_and_functions():
    loop = "for k in range(50):\n    x = x/x.std() + x.max(0)[0]*0\n\nx.std()"
    assert shown(f"import torch\n{X}{loop}") == "1"
    assert (
        shown(f"import torch\n{X}def f(x) = x.var()\n(f(x), round(grad(f)(x)*6))")
        == "(2.916666667, [[-9, 7], [-1, 3]])"
    )


BOTH = "import torch\nimport numpy as np\n" + X
AMBIGUOUS = {
    "x.std()": (
        ".std() of a tensor divides by n - 1, and of an array of NumPy by n: both are imported",
        ["torch.std(x)", "np.std(x)"],
    ),
    "x.var(0)": (
        ".var() of a tensor divides by n - 1, and of an array of NumPy by n: both are imported",
        ["torch.var(x, …)", "np.var(x, …)"],
    ),
    "x.max(1)": (
        ".max() of a tensor along an axis gives values and places, and of an array of NumPy the values alone: both are "
        "imported",
        ["x.max(dim=…)   or torch.max(x, …)", "x.max(axis=…)"],
    ),
    "x.repeat(2, 1)": (
        ".repeat() of a tensor repeats the whole, and of an array of NumPy each entry: both are imported",
        ["x.tile(…)   repeats the whole", "np.repeat(x, …)   repeats each entry"],
    ),
}


@pytest.mark.parametrize("line", AMBIGUOUS)
def test_where_both_are_imported_it_is_asked_which_is_meant(line):
    with pytest.raises(AgradError) as caught:
        Session().run(BOTH + line)
    assert (caught.value.message, caught.value.fixes) == AMBIGUOUS[line]


def test_what_is_advised_works():
    Session().run(
        BOTH + "assert x.max(dim=1)[1] == [1, 1]; assert x.max(axis=1) == [5, 4]; assert x.max() == 5\n"
        "assert torch.std(x) > np.std(x); assert x.std(ddof=1) == torch.std(x); assert x.tile(2, 1).shape == (4, 2)"
    )
