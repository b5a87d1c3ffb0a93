"""What `agrad.torch` gives where PyTorch reads data that are no longer those of the forward, or goes on with zeros."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from rows import each

from agrad import torch as ours

# Expressions of a = [1, 2, 3], with what torch 2.13 gives after `a.data.copy_([10, 20, 30])`, and after
# `a.data = [10, 20, 30]`.
FOUND = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
# `max` looks for its largest entry again.
DIFFERENT = {("a.max() * a[0]", "copied"), ("a.max() * a[0]", "replaced")}


def after_new_data(torch, expression, way):
    a = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    y = eval(expression, {"m": torch, "a": a})
    new = torch.tensor([10.0, 20.0, 30.0], dtype=torch.float64)
    if way == "copied":
        a.data.copy_(new)
    else:
        a.data = new
    y.backward()
    return a.grad.tolist()


def wrong(torch):
    pairs = [(expression, way) for expression in FOUND for way in ("copied", "replaced")]
    return {pair for pair in pairs if not np.allclose(after_new_data(torch, *pair), FOUND[pair[0]][pair[1]], 1e-12, 0)}


def test_a_rule_reads_what_pytorch_saved_though_the_data_are_others():
    assert wrong(ours) == DIFFERENT


def test_torch_gives_what_the_table_says():
    assert wrong(pytest.importorskip("torch")) == set()


# where(x > 0, sqrt(x), 0) at 0 is nan, by 0/0, and log(x) at -1 has the derivative -1.
@each(
    "make, at, expected",
    [
        (lambda m, x: m.where(x > 0, m.sqrt(x), 0 * x).sum(), 0.0, math.nan),
        (lambda m, x: m.where(x > 0, m.sqrt(x), 0 * x).sum(), [0.0, 4.0], [math.nan, 0.25]),
        (lambda m, x: m.sqrt(x)[x > 0].sum(), [0.0, 4.0], [math.nan, 0.25]),
        (lambda m, x: m.where(x > 0, m.log(x), 0 * x).sum(), [-1.0, 0.0, 2.0], [0.0, math.nan, 0.5]),
        (lambda m, x: m.log(x).sum(), [-1.0, 0.0, 2.0], [-1.0, math.inf, 0.5]),
        (lambda m, x: m.log1p(x).sum(), [-3.0], [-0.5]),
        (lambda m, x: m.atanh(x).sum(), [2.0], [-1 / 3]),
        (lambda m, x: m.maximum(x, x**0.5).sum(), [-1.0, 4.0], [math.nan, 1.0]),
        (lambda m, x: m.where(x > 1, x * x, 3 * x).sum(), [0.5, 2.0], [3.0, 4.0]),
    ],
)
def test_a_backward_goes_on_with_the_zeros_of_what_was_not_selected(make, at, expected):
    x = ours.tensor(at, dtype=ours.float64, requires_grad=True)
    make(ours, x).backward()
    np.testing.assert_allclose(x.grad.tolist(), expected, rtol=1e-15)
