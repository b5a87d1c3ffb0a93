"""What PyTorch's backward gives after new data: from what it saved, stale products and views included."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from refused import leaf, named, refusal
from rows import each

import agrad.engine as ag
from agrad.engine.core.graph import collect
from agrad.engine.inspect.as_pytorch import as_pytorch

# Expressions of a = [1, 2, 3], or of the first entries as a matrix. as_pytorch.json has what torch 2.13 gives after
# `a.data.copy_([10, 20, 30])`, and after `a.data = [10, 20, 30]`.
OLD, NEW = [1.0, 2.0, 3.0], [10.0, 20.0, 30.0]
FOUND = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
EXPRESSIONS = [*FOUND]


def of_torch(torch, expression, way):
    a = torch.tensor(OLD, dtype=torch.float64, requires_grad=True)
    y = eval(expression, {"m": torch, "a": a})
    if way == "copied":
        a.data.copy_(torch.tensor(NEW, dtype=torch.float64))
    else:
        a.data = torch.tensor(NEW, dtype=torch.float64)
    y.backward()
    return a.grad.tolist()


@each("expression", EXPRESSIONS)
@each("way", ["copied", "replaced"])
def test_it_is_what_torch_gives(expression, way):
    a = leaf(OLD, "a")
    y = eval(expression, {"m": ag, "a": a})
    before = [(node.value, node.stamp, node.freed) for node in collect([y.node])]
    if way == "copied":
        a.set_(NEW)
    else:
        a.data = NEW
    compared = as_pytorch(y)
    np.testing.assert_allclose(compared.pytorch[0], FOUND[expression][way], rtol=1e-12)
    fresh = leaf(NEW)
    exact = ag.grad(eval(expression, {"m": ag, "a": fresh}), fresh)
    np.testing.assert_array_equal(compared.exact[0], exact.data)
    assert a.grad is None
    after = [(node.value, node.stamp, node.freed) for node in collect([y.node])]
    assert all(old[0] is new[0] and old[1:] == new[1:] for old, new in zip(before[:-1], after[:-1], strict=True))


@each("expression", EXPRESSIONS)
@each("way", ["copied", "replaced"])
def test_torch_gives_what_the_table_says(expression, way):
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(of_torch(torch, expression, way), FOUND[expression][way], rtol=1e-12)


def test_the_determinant():
    a = leaf([[1.0, 2.0], [3.0, 4.0]], "a")
    d = named("d", a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0])
    y = d * d
    a.set_([[1.0, 0.0], [0.0, 5.0]])
    found = as_pytorch(y)
    assert found.pytorch[0].tolist() == [[-20, 0], [0, -4]]  # 2*(4 - 6), times the new entries
    assert found.exact[0].tolist() == [[50, 0], [0, 10]]
    assert found.text().split("\n") == [
        "   PyTorch              exact",
        "a  [[-20, 0], [0, -4]]  [[50, 0], [0, 10]]",
        "d is stale: PyTorch reads -2, and it is 5 now",
    ]


def test_a_write_that_pytorch_counts():
    a = leaf(OLD, "a")
    y, z = (a * a).sum(), (a * 3).sum()
    same = ["   PyTorch    exact", "a  [2, 4, 6]  [2, 4, 6]", "PyTorch gives the same"]
    assert as_pytorch(y).text().split("\n") == same  # without new data
    with ag.no_grad():
        a.copy_([10.0, 20.0, 30.0])
    assert as_pytorch(y).text().split("\n") == [
        "   PyTorch  exact",
        "a  refused  [20, 40, 60]",
        "PyTorch refuses: a was modified in place by an earlier copy_",
    ]
    assert as_pytorch(z).text().split("\n")[-1] == "PyTorch gives the same"


def test_a_write_that_torch_counts():
    torch = pytest.importorskip("torch")
    a = torch.tensor(OLD, requires_grad=True)
    y, z = (a * a).sum(), (a * 3).sum()
    with torch.no_grad():
        a.mul_(10)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    z.backward()
    assert a.grad.tolist() == [3, 3, 3]


def test_a_branch_that_would_be_another():
    x = leaf(2.0, "x")
    y = named("y", x * x if x > 1 else x)
    x.set_(0.5)
    found = as_pytorch(y)
    assert (found.pytorch, found.exact) == ([1.0], [])
    assert found.text().split("\n")[1] == "x  1        unknown"
    assert "y cannot be replayed" in found.text()


def test_what_it_refuses():
    a = leaf(OLD, "a")
    y = named("y", (a * a).sum())
    y.backward()
    assert refusal(lambda: as_pytorch(y)).startswith("freed: y cannot be differentiated")
    assert refusal(lambda: as_pytorch(a * 2)).startswith("shape: ")
    assert refusal(lambda: as_pytorch(ag.tensor(2.0))).startswith("grad: ")


def main():
    import torch

    table = {one: {way: of_torch(torch, one, way) for way in ("copied", "replaced")} for one in EXPRESSIONS}
    text = ",\n".join(f"  {json.dumps(one)}: {json.dumps(found)}" for one, found in table.items())
    Path(__file__).with_suffix(".json").write_text(f"{{\n{text}\n}}\n", "utf-8")


if __name__ == "__main__":
    main()


# Torch's numbers: where(x > 0, sqrt(x), 0) at 0 is nan, by 0/0, and log(x) at -1 has the derivative -1.
@each(
    "make, at, pytorch, exact",
    [
        (lambda m, x: m.where(x > 0, m.sqrt(x), 0 * x).sum(), 0.0, math.nan, 0.0),
        (lambda m, x: m.where(x > 0, m.sqrt(x), 0 * x).sum(), [0.0, 4.0], [math.nan, 0.25], [0.0, 0.25]),
        (lambda m, x: m.sqrt(x)[x > 0].sum(), [0.0, 4.0], [math.nan, 0.25], [0.0, 0.25]),
        (lambda m, x: m.where(x > 0, m.log(x), 0 * x).sum(), [-1.0, 0.0, 2.0], [0.0, math.nan, 0.5], [0.0, 0.0, 0.5]),
        (lambda m, x: m.log(x).sum(), [-1.0, 0.0, 2.0], [-1.0, math.inf, 0.5], [math.nan, math.inf, 0.5]),
        (lambda m, x: m.log1p(x).sum(), [-3.0], [-0.5], [math.nan]),
        (lambda m, x: m.atanh(x).sum(), [2.0], [-1 / 3], [math.nan]),
        (lambda m, x: m.maximum(x, x**0.5).sum(), [-1.0, 4.0], [math.nan, 1.0], [math.nan, 1.0]),
        (lambda m, x: m.where(x > 1, x * x, 3 * x).sum(), [0.5, 2.0], [3.0, 4.0], [3.0, 4.0]),
    ],
)
def test_pytorch_goes_on_with_the_zeros_of_what_was_not_selected(make, at, pytorch, exact):
    x = leaf(at, "x")
    found = as_pytorch(make(ag, x))
    np.testing.assert_allclose(found.pytorch[0], pytorch, rtol=1e-15)
    np.testing.assert_allclose(found.exact[0], exact, rtol=1e-15)
    last = found.text().split("\n")[-1]
    same = np.array_equal(pytorch, exact, equal_nan=True)
    assert (last == "PyTorch gives the same") == same
    try:
        import torch
    except ImportError:
        return
    leaf_of_torch = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    make(torch, leaf_of_torch).backward()
    np.testing.assert_allclose(leaf_of_torch.grad.numpy(), pytorch, rtol=1e-15)
