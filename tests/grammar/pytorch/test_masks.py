"""An array of truths selects as an index, however it was made; one of numbers names places."""

import numpy as np

import agrad.engine as ag


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
