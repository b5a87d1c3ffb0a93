"""A loss in which (n, 1) of a matrix product meets (n) is told at the first backward; spreading on purpose is not."""

import pytest

from agrad.grammar.results import Noted
from agrad.grammar.session.session import Session

START = "X = randn(5, 2); y = randn(5); var W = randn(2, 1); var b = 0; var v = [1, 2, 3]; m = nn.Linear(2, 1)"

SPREAD = [
    "backward mean((X @ W + b - y)**2)",
    "backward mean((y - (X @ W + b))**2)",
    "loss = ((m(X) - y)**2).mean(); loss.backward()",
    "backward sum(abs(sigmoid(X @ W) - y))",
    "for i in range(300):\n    loss = mean((X @ W - y)**2)\n    backward loss\n    step sgd W lr=0.01\n    zero_grad",
]
MEANT = [
    "backward mean((squeeze(X @ W, 1) - y)**2)",
    "backward mean((X @ W - y.reshape(5, 1))**2)",
    "backward sum((v[:, None] - v)**2)",
    "backward sum((v.reshape(3, 1) - v)**2)",
    "backward sum((unsqueeze(v, 1) - v)**2)",
    "backward sum((X[:1] @ W - y)**2)",
    "backward sum((X @ W)*y)",
]


def notes(text: str) -> list[str]:
    session, told = Session(), []
    session.run(START)
    session.run(text, lambda result: told.append(result.note.message) if isinstance(result, Noted) else None)
    return [note for note in told if "every pair" in note]


@pytest.mark.parametrize("text", SPREAD)
def test_a_loss_of_every_pair_is_told_once(text: str) -> None:
    (note,) = notes(text)
    assert note.endswith("is the difference of every pair of entries, of shape (5, 5)")


@pytest.mark.parametrize("text", MEANT)
def test_what_was_spread_on_purpose_is_not_told(text: str) -> None:
    assert notes(text) == []
