"""An array of truths selects as an index, however it was made; one of numbers names places."""

import numpy as np
import pytest

import agrad.engine as ag
from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

START = "x = tensor([1, 2, 3]); m = x > 1.5; var w = [1, -1, 1]"
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
    "torch.where(m, True, False)": [2, 3],
    "torch.where(m, False, m)": [],
    "torch.where(x > 2, m, True)": [1, 2, 3],
    "torch.zeros_like(m)": [],
    "torch.ones_like(m)": [1, 2, 3],
    "torch.full((3,), True)": [1, 2, 3],
    "torch.full_like(x, False)": [],
    "m[1:2].expand(3)": [1, 2, 3],
    "torch.tile(m[:1], 3)": [],
    "torch.tril(torch.stack([m, m, m]))[1]": [2],
    "torch.max(torch.stack([m, x > 2]), 0)[0]": [2, 3],
    "m.tolist()": [2, 3],
    "list(m)": [2, 3],
    "[*m]": [2, 3],
    "[m[0], m[1], m[2]]": [2, 3],
    "torch.stack([m[0], m[1], m[2]])": [2, 3],
    "torch.stack([t > 1.5 for t in x])": [2, 3],
    "[t > 0 for t in w]": [1, 3],
    "[w[0] > 0, w[1] > 0, isnan(w[2])]": [1],
    "[(w > 0)[0], (w > 0)[1], True]": [1, 3],
    "torch.stack([t > 0 for t in w])": [1, 3],
    "(w > 0)*m": [3],
    "maximum(w > 0, m)": [1, 2, 3],
    "m == 0": [1],
    "(1 - m).bool()": [1],
    "m + (w > 0) > 0": [1, 2, 3],
    # places
    "torch.where(m, 1, 0)": [1, 2, 2],
    "(1 - m)*1": [2, 1, 1],
    "(1 - m).to(torch.long)": [2, 1, 1],
    "m.cumsum(0)": [1, 2, 3],
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


# Numbers that were computed from masks: PyTorch refuses the sign, or gives a mask of other entries.
MIXED = [
    "1 - m",
    "m - 0",
    "m - (w > 0)",
    "m + m",
    "m + (w > 0)",
    "(m + m)*m",
    "-m",
    "abs(m)",
    "round(m)",
    "sqrt(m)",
    "(1 - m)[[0, 1, 2]]",
    "(1 - m).clone()",
    "torch.tensor(1 - m)",
    "torch.cat([m[:1], 1 - m[1:]])",
    "torch.where(m, m, 1 - m)",
    "1 - (w > 0)",
]


@pytest.mark.parametrize("index", MIXED)
def test_an_index_that_could_be_a_mask_or_places_is_refused(index):
    for statement in (f"y = x[{index}]", f"x[{index}] = 0", f"x[{index}] += 1", f"y = w[{index}]"):
        session = Session()
        session.run(START)
        with pytest.raises(AgradError, match="could be a mask, or places"):
            session.run(statement)


@pytest.mark.parametrize("write", ["m[0] = 5", "m += 1", "m *= 2", "m[0] = 0.5", "v = w > 0; m = v; m[0] = 5"])
def test_what_is_no_truth_makes_numbers_of_a_mask(write):
    session = Session()
    session.run(f"{START}; {write}")
    with pytest.raises(AgradError, match="could be a mask, or places"):
        session.run("y = x[m]")


@pytest.mark.parametrize("write", ["m[0] = True", "m[1:] = 0", "m *= x > 2", "m = w > 0; m[1] = 1", "m[x > 2] = False"])
def test_a_mask_into_which_truths_are_written_is_one(write):
    session = Session()
    session.run(f"{START}; {write}; n = m.tolist(); y = x[m]")
    chosen = [float(place + 1) for place, truth in enumerate(session.names["n"].parts) if truth]
    assert np.asarray(session.names["y"].data).tolist() == chosen


def test_numbers_from_masks_are_numbers_elsewhere():
    session = Session()
    session.run(
        f"{START}; a = (1 - m)*x; b = sum(m + m); c = where(1 - m, x, 0); d = x[(1 - m) > 0]; e = x[((1 - m)*x) > 0]"
    )
    found = [np.asarray(session.names[name].data).tolist() for name in "abcde"]
    assert found == [[1, 0, 0], 4, [1, 0, 0], [1], [1]]


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
