"""PyTorch's meaning under PyTorch's full name, where NumPy's is another; and what is written otherwise."""

import pytest

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

X = "x = torch.tensor([[1., 5.], [3., 4.]])\n"

# As PyTorch computes them.
SAME = [
    "torch.norm(x, 1) == 13",
    "torch.norm(x) ~= 51**0.5",
    "torch.norm(x, 2) ~= 51**0.5",
    "torch.norm(x, p=inf) == 5",
    "torch.norm(x, 'fro') ~= 51**0.5",
    "torch.norm(x, 'nuc') ~= sum(svd(x)[1])",
    "torch.norm(x, 1, dim=0) == [4, 9]",
    "torch.norm(x, 1, (0, 1), True) == [[13]]",
    "torch.norm([3, 4]) == 5",
    "grad(torch.norm)([[3, 0], [0, 4]]) == [[0.6, 0], [0, 0.8]]",
    "torch.sort(x)[0] == [[1, 5], [3, 4]]",
    "torch.sort(x, dim=0, descending=True)[0] == [[3, 5], [1, 4]]",
    "torch.sort(x, dim=0, descending=True)[1] == [[1, 0], [0, 1]]",
    "torch.median([4, 1, 3, 2]) == 2",
    "isnan(torch.median([4, nan, 3, 2]))",
    "torch.median(x, dim=1)[0] == [1, 3]",
    "torch.median(x, 0, keepdim=True)[1] == [[0, 1]]",
    "grad(torch.median)([4, 1, 3, 2]) == [0, 0, 0, 1]",
    "torch.split(arange(6), 2) == ([0, 1], [2, 3], [4, 5])",
    "torch.split(arange(5), 2)[2] == [4]",
    "torch.split(arange(5), [1, 4])[1] == [1, 2, 3, 4]",
    "torch.split(x, 1, dim=1)[1] == [[5], [4]]",
    "torch.split(zeros(0), 2)[0].shape == (0,)",
    "torch.equal(x, x) == 1",
    "torch.equal(x, x + 1) == 0",
    "torch.equal(x, [1, 2, 3]) == 0",
    "torch.svd(x)[2] == svd(x)[2].T",
    "torch.clamp(x, min=2) == [[2, 5], [3, 4]]",
    "torch.clamp(x, max=3) == [[1, 3], [3, 3]]",
    "x.clamp(min=2, max=4) == [[2, 4], [3, 4]]",
    "torch.flip(x, [0]) == [[3, 4], [1, 5]]",
    "torch.flip(x, dims=[0, 1]) == [[4, 3], [5, 1]]",
    "torch.sum(x, dim=[0, 1]) == 13",
    "torch.roll(x, [1], [0]) == [[3, 4], [1, 5]]",
    "torch.tensor(data=[1, 2]) == [1, 2]",
    "tensor(2.7).int() == 2",
]


@pytest.mark.parametrize("line", SAME)
def test_it_is_what_pytorch_computes(line):
    Session().run(f"{X}assert {line}")


def test_a_pasted_sort_gives_values_and_places():
    Session().run(f"{X}v, i = torch.sort(x)\nassert v == x\nassert i == [[0, 1], [0, 1]]")


REFUSED = {
    "x.long()": ("agrad has no .long: every number is a float64", ".trunc()   cuts fractions off"),
    "x.int()": ("int takes one number, not an array of shape (2, 2): every number is a float64", "trunc(x)   cuts"),
    "x.unsqueeze_(0)": (".unsqueeze_ would change the shape, and agrad has no such method", "x = x.unsqueeze(…)"),
    "torch.split(x, 0)": ("torch.split: a piece has at least one entry, not 0", None),
    "torch.split(x, [1, 2])": ("torch.split: 2 entries cannot be cut into (1, 2)", None),
    "torch.norm(x, 'row')": ("norm: ", None),
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_is_written_otherwise_is_named(line):
    message, fix = REFUSED[line]
    with pytest.raises(AgradError) as caught:
        Session().run(X + line)
    assert caught.value.message.startswith(message)
    assert [given[: len(fix)] for given in caught.value.fixes] == [fix] if fix else not caught.value.fixes


def test_what_is_assigned_instead_writes_into_it():
    Session().run(f"{X}x[...] = x.clamp(0, 1)\nassert x == ones(2, 2)\nx[...] = 3\nassert x == 3*ones(2, 2)")
