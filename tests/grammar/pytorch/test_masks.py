"""An array of truths selects as an index, however it was made; one of numbers names places."""

import numpy as np
import pytest

import agrad.engine as ag
from agrad.grammar.session.session import Session

START = "x = tensor([1, 2, 3]); m = x > 1.5"
# What stands in the brackets of x[…], and what it selects.
SELECTED = {
    "m": [2, 3],
    "torch.tensor(m)": [2, 3],
    "m.clone()": [2, 3],
    "m.bool()": [2, 3],
    "m.float()": [2, 3],
    "m.to(torch.bool)": [2, 3],
    "torch.cat([m[:1], m[1:]])": [2, 3],
    "torch.where(x > 2, m, m)": [2, 3],
    "torch.stack([m, m])[1]": [2, 3],
    "[True, False, True]": [1, 3],
    "[False, False, False]": [],
    "torch.tensor([True, False, True])": [1, 3],
    "torch.tensor([False, False, False])": [],
    "np.array([True, False, True])": [1, 3],
    "torch.tensor([1, 0, 1], dtype=torch.bool)": [1, 3],
    "torch.zeros(3, dtype=torch.bool)": [],
    "zeros(3, dtype=bool)": [],
    "torch.ones_like(x, dtype=torch.bool)": [1, 2, 3],
    "(x - 1).bool()": [2, 3],
    "(x - 1).to(torch.bool)": [2, 3],
    "(x - 1).to('cpu', torch.bool)": [2, 3],
    "(x - 1).type(torch.bool)": [2, 3],
    # places
    "[1, 0, 1]": [2, 1, 2],
    "torch.tensor([1, 0, 1])": [2, 1, 2],
    "m.to(torch.long)": [1, 2, 2],
    "m.to(dtype=torch.int64)": [1, 2, 2],
    "m*1": [1, 2, 2],
    "torch.cat([m[:1], tensor([1, 1])])": [1, 2, 2],
    "torch.tensor([1, 0, 1], dtype=torch.long)": [2, 1, 2],
}


@pytest.mark.parametrize("index", SELECTED)
def test_what_an_index_selects(index):
    session = Session()
    session.run(f"{START}; y = x[{index}]")
    assert np.asarray(session.names["y"].data).tolist() == SELECTED[index]


def test_a_mask_that_selects_nothing_has_no_mean():
    session = Session()
    session.run("var x = [1, 2]; y = mean(x[torch.tensor([False, False])])")
    assert np.isnan(session.names["y"].item())


def test_booleans_of_numpy_are_a_mask_in_python():
    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    mask = ag.tensor(np.array([False, True, True]))
    assert ag.sum(x[mask]).item() == 5.0
    assert ag.sum(x[ag.tensor(mask)]).item() == 5.0
    assert np.asarray((mask + mask).data).tolist() == [0.0, 2.0, 2.0]


def test_what_requires_grad_is_no_mask():
    x = ag.tensor([1.0, 2.0])
    w = ag.tensor([True, False], requires_grad=True)
    assert np.asarray(x[w].data).tolist() == [2.0, 1.0]
