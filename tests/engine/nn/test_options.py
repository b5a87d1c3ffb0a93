"""Options of losses and optimisers, and hooks of modules, beside what NumPy computes by the definitions of PyTorch."""

import numpy as np
import pytest
from rows import each

import agrad.engine as ag
from agrad.engine.errors import AgradError

X = np.array([[2.0, 1.0, 0.1], [0.5, 2.5, 0.3], [0.3, -1.0, 1.5], [1.0, 1.0, 0.0]])


TARGET = np.array([0, 1, 2, 1])


def cross_entropy(x, target, reduction="mean", smoothing=0.0, weight=None, ignored=-100):
    """By the definition in PyTorch's documentation."""
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    count = x.shape[1]
    weight = np.ones(count) if weight is None else weight
    if target.ndim == 2:
        shares = target * (1 - smoothing) + smoothing / count
        losses = -(shares * weight * logs).sum(1)
        number = len(x)
    else:
        kept = target != ignored
        place = np.where(kept, target, 0)
        losses = -(1 - smoothing) * weight[place] * logs[range(len(x)), place]
        losses = np.where(kept, losses - smoothing / count * (weight * logs).sum(1), 0.0)
        number = weight[place][kept].sum()
    return {"mean": losses.sum() / number, "sum": losses.sum(), "none": losses}[reduction]


CASES = [
    {"smoothing": 0.1},
    {"weight": np.array([0.2, 1.0, 3.0])},
    {"ignored": 1},
    {"smoothing": 0.3, "weight": np.array([0.2, 1.0, 3.0]), "ignored": 0},
]


@each("reduction", ["mean", "sum", "none"])
@each("case", CASES)
def test_the_options_of_cross_entropy(case, reduction):
    loss = ag.nn.CrossEntropyLoss(
        weight=case.get("weight"),
        reduction=reduction,
        ignore_index=case.get("ignored", -100),
        label_smoothing=case.get("smoothing", 0.0),
    )
    x = ag.tensor(X, requires_grad=True)
    found = loss(x, ag.tensor(TARGET))
    assert np.allclose(np.asarray(found.value), cross_entropy(X, TARGET, reduction, **case), rtol=1e-13)
    ag.sum(found).backward()
    for place in ((0, 0), (1, 2), (3, 1)):
        ends = []
        for step in (1e-6, -1e-6):
            moved = X.copy()
            moved[place] += step
            ends.append(np.sum(cross_entropy(moved, TARGET, reduction, **case)))
        assert abs(x.grad.value[place] - (ends[0] - ends[1]) / 2e-6) < 1e-8


def test_smoothing_and_weights_of_probabilities():
    target, weight = np.array([[0.2, 0.5, 0.3]] * 4), np.array([0.2, 1.0, 3.0])
    found = ag.nn.CrossEntropyLoss(weight=weight, label_smoothing=0.2)(ag.tensor(X), ag.tensor(target))
    assert abs(found.item() - cross_entropy(X, target, smoothing=0.2, weight=weight)) < 1e-13


@each(
    "options, message",
    [
        ({"label_smoothing": 2}, "cross_entropy: label_smoothing is from 0 to 1, not 2"),
        ({"weight": [1.0, 2.0]}, "cross_entropy: weight has shape (2), and there are 3 classes"),
        (
            {"weight": ag.tensor([1.0, 2.0, 3.0], requires_grad=True)},
            "cross_entropy has no derivative wrt weight here",
        ),
    ],
)
def test_an_option_that_does_not_fit(options, message):
    with pytest.raises(AgradError) as caught:
        ag.nn.CrossEntropyLoss(**options)(ag.tensor(X), ag.tensor(TARGET))
    assert caught.value.message == message


@each("decay", [0.0, 0.1])
def test_amsgrad_divides_by_the_largest_mean_so_far(decay):
    w = ag.tensor([1.0, -2.0], requires_grad=True)
    optimizer = ag.nn.optim.Adam([w], lr=0.1, weight_decay=decay, amsgrad=True)
    x, m, v, top = np.array([1.0, -2.0]), 0.0, 0.0, np.zeros(2)
    for count in range(1, 8):
        optimizer.zero_grad()
        ag.sum(w**4 / count**3).backward()
        optimizer.step()
        g = 4 * x**3 / count**3 + decay * x
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        top = np.maximum(top, v)
        x = x - 0.1 / (1 - 0.9**count) * m / (np.sqrt(top) / np.sqrt(1 - 0.999**count) + 1e-8)
        assert np.allclose(w.value, x, rtol=1e-13)
